"""Does a group fall in two? Halves of it agree on where."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .curve import PAIR
from .halves import half_agreement
from .reproducible import AXES, principal_axes, projected

SPLITS = 4
"""Random halves that have to agree on average."""

MOST_ROWS, FEWEST_ROWS = 1000, 40
"""Rows that are looked at, and how many are needed."""

SMALLER_PART = 0.15
"""The smaller of the two parts has at least this share of the rows; a few outliers are no group."""


def falls_in_two(units: NDArray[np.float32], rng: np.random.Generator) -> bool:
    """Tell whether random halves of unit rows, clustered separately, agree on two groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> two = np.eye(16)[np.arange(200) % 2] + 0.1 * rng.standard_normal((200, 16))
    >>> units = (two / np.linalg.norm(two, axis=1, keepdims=True)).astype(np.float32)
    >>> falls_in_two(units, rng), falls_in_two(units[::2], rng)
    (True, False)
    """
    rows = units[rng.permutation(len(units))[:MOST_ROWS]]
    basis = principal_axes(rows) if len(rows) >= FEWEST_ROWS else None
    if basis is None:
        return False
    points = projected(rows, basis, min(AXES[0], basis.axes.shape[1]))
    found = [half_agreement(points[rng.permutation(len(points))], np.array([2]), rng)[0] for _ in range(SPLITS)]
    if not np.mean(found) >= PAIR:
        return False
    along = points[:, 0]
    share = float((along > (along.min() + along.max()) / 2).mean())
    return min(share, 1 - share) >= SMALLER_PART
