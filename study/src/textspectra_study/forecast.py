"""What a cell will take, from cells of other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

HIGHEST_POWER = 1.5
"""A fit to small samples overestimates how fast time and memory grow."""


def value_at(size: int, measured: Sequence[tuple[int, float]], *, all_pairs: bool = False) -> float:
    """Estimate seconds or megabytes at a size from the three nearest sizes.

    Only the nearest count because some work, such as that of the estimators of k, stops growing at some size.

    Parameters
    ----------
    size : int
    measured : sequence of (size, value)
    all_pairs : bool, default=False
        Whether an algorithm compares all pairs of rows. Its values are a constant plus a square, and small samples show
        little but the constant. Otherwise they are a power of the size, which is 1 if there is only one size.

    Examples
    --------
    >>> round(value_at(4000, [(1000, 1.0), (2000, 2.0)])), round(value_at(4000, [(1000, 1.0)]))
    (4, 4)
    >>> round(value_at(4000, [(1000, 11.0), (2000, 14.0)], all_pairs=True))
    26
    """
    rows, values = np.array(measured, float).T
    sizes, place = np.unique(rows, return_inverse=True)
    means = np.bincount(place, values) / np.bincount(place)
    nearest = np.argsort(np.abs(np.log(sizes / size)), kind="stable")[:3]
    known, reference = sizes[nearest], means[nearest[0]]
    if all_pairs:
        slope = np.polyfit(known**2, means[nearest], 1)[0] if len(nearest) > 1 else reference / known[0] ** 2
        return float(max(0.0, reference + max(0.0, slope) * (size**2 - known[0] ** 2)))
    power = 1.0
    if len(nearest) > 1:
        fitted = np.polyfit(np.log(known), np.log(np.maximum(means[nearest], 1e-3)), 1)[0]
        power = float(np.clip(fitted, 0, HIGHEST_POWER))
    return float(reference * (size / known[0]) ** power)
