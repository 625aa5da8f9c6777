"""What a cell will take, from cells of other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

HIGHEST_POWER = 1.5
"""A fit to small samples overestimates how fast time and memory grow."""


def value_at(size: int, measured: Sequence[tuple[int, float]]) -> float:
    """Estimate seconds or megabytes at a size from other sizes, as a power of it; linear if they all have one size.

    Examples
    --------
    >>> round(value_at(4000, [(1000, 1.0), (2000, 2.0)])), round(value_at(4000, [(1000, 1.0)]))
    (4, 4)
    """
    sizes, values = np.array(measured, float).T
    power = 1.0
    if len(np.unique(sizes)) > 1:
        fitted = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-3)), 1)[0]
        power = float(np.clip(fitted, 0, HIGHEST_POWER))
    nearest = np.argsort(np.abs(np.log(sizes / size)), kind="stable")[:3]
    return float(np.mean(values[nearest] * (size / sizes[nearest]) ** power))
