"""Colours for hundreds of clusters, distinct also for colour-blind readers, on white and on black."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

FIRST = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
"""The colours of Okabe and Ito, without black and without yellow, which is too pale on white."""

LIGHTNESS = (0.5, 0.8)
"""Range of the OKLab lightness of the colours: visible on white and on black."""

TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
DICHROMACY = {
    "protan": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deutan": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}
"""Linear RGB as seen by people who lack one kind of cone cells (Viénot, Brettel and Mollon 1999)."""


@cache
def palette(n: int) -> tuple[str, ...]:
    """Return `n` colours, each as different as possible from those before it.

    After the first six, each colour is the candidate that is farthest from all colours before it. The distance of two
    colours is the smallest over normal vision and, with half the weight, the two frequent kinds of colour blindness.

    Examples
    --------
    >>> palette(3)
    ('#0072b2', '#e69f00', '#009e73')
    """
    steps = np.linspace(0, 255, 18).round()
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    lightness = oklab(_linear(grid))[:, 0]
    grid = grid[(lightness >= LIGHTNESS[0]) & (lightness <= LIGHTNESS[1])]
    first = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in FIRST], float)
    candidates = np.vstack([first, grid])
    seen = appearances(candidates)
    gap = np.full(len(candidates), np.inf)
    chosen: list[int] = []
    for number in range(n):
        best = number if number < len(first) else int(gap.argmax())
        chosen.append(best)
        gap = np.minimum(gap, color_distances(seen, seen[:, best]))
    return tuple("#" + "".join(f"{int(part):02x}" for part in candidates[i]) for i in chosen)


def oklab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert linear RGB to OKLab, where equal distances look about equally large."""
    lab: NDArray[np.float64] = np.cbrt(np.maximum(linear, 0) @ TO_LMS.T) @ TO_LAB.T
    return lab


def appearances(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return RGB colours (0 to 255) in OKLab for three kinds of colour vision, shape (3, n, 3)."""
    linear = _linear(colors)
    return np.stack([oklab(linear), *(oklab(linear @ view.T) for view in DICHROMACY.values())])


def color_distances(seen: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of colours to another one, for the kind of colour vision that separates them worst."""
    gaps = np.linalg.norm(seen - other[:, None], axis=2)
    # Colour blindness leaves less room for hundreds of colours, so half the distance has to be enough.
    distances: NDArray[np.float64] = np.minimum(gaps[0], 2 * gaps[1:].min(axis=0))
    return distances


def _linear(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    share = colors / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
