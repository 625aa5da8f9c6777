"""What a cell will take, from cells of other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

HIGHEST_POWER = 1.5
"""A fit to small samples overestimates how fast time and memory grow."""


def value_at(size: int, measured: Sequence[tuple[int, float]]) -> float:
    """Estimate seconds or megabytes at a size from the three nearest sizes, as a power; linear if there is only one.

    Only the nearest count because work on samples, as that of the estimators of k, stops to grow at some size.

    Examples
    --------
    >>> round(value_at(4000, [(1000, 1.0), (2000, 2.0)])), round(value_at(4000, [(1000, 1.0)]))
    (4, 4)
    """
    found, values = np.array(measured, float).T
    sizes, place = np.unique(found, return_inverse=True)
    means = np.bincount(place, values) / np.bincount(place)
    nearest = np.argsort(np.abs(np.log(sizes / size)), kind="stable")[:3]
    power = 1.0
    if len(nearest) > 1:
        fitted = np.polyfit(np.log(sizes[nearest]), np.log(np.maximum(means[nearest], 1e-3)), 1)[0]
        power = float(np.clip(fitted, 0, HIGHEST_POWER))
    return float(means[nearest[0]] * (size / sizes[nearest[0]]) ** power)
