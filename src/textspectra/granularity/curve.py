"""Read k off a curve: the score of each number of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SMOOTHING = 0.4
"""Standard deviation, in ln k, of the Gaussian weights that smooth the scores."""

TOLERANCE = 0.03
"""The plateau: all k around the best one whose smoothed score falls short of the best by at most this share."""

POSITION = 0.75
"""The answer lies at this share of the length of the plateau in ln k, counted from its coarse end."""

ROUNDING = 1e-9
"""Scores that differ by less are equal."""


def read_curve(ks: NDArray[np.intp], score: NDArray[np.float64], tolerance: float = TOLERANCE) -> int:
    """Return the number of groups that the scores speak for.

    The scores are smoothed over ln k, so that a broad plateau counts more than a sharp peak of the same height. The
    plateau is the stretch around the best smoothed score that is within 3 % of it. The answer is the k at three
    quarters of its length in ln k. As the best score goes from 0.75 to 1, the groups become clear: smoothing and
    tolerance go to 0, and the answer moves to the finest k of the best score.

    Examples
    --------
    >>> import numpy as np
    >>> read_curve(np.array([2, 3, 4, 5]), np.array([0.8, 0.9, 1.0, 0.7]))
    4
    >>> ks = np.array([2, 3, 4, 6, 8, 11, 16, 23, 32, 45])
    >>> read_curve(ks, np.array([0.1, 0.2, 0.52, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.2]))
    23
    """
    doubt = min(1.0, 4 * max(0.0, 1 - float(score.max())))
    smoothed = smooth(ks, score, SMOOTHING * doubt)
    highest = smoothed.max()
    best = np.flatnonzero(smoothed >= highest - ROUNDING).max()
    below = np.flatnonzero(smoothed < highest - abs(highest) * tolerance * doubt - ROUNDING)
    first = below[below < best].max(initial=-1) + 1
    last = below[below > best].min(initial=len(ks)) - 1
    logs = np.log(ks)
    answer = logs[last] - (1 - POSITION) * doubt * (logs[last] - logs[first])
    return int(ks[np.abs(logs - answer).argmin()])


def smooth(ks: NDArray[np.intp], score: NDArray[np.float64], width: float = SMOOTHING) -> NDArray[np.float64]:
    """Average the scores over ln k with Gaussian weights of this standard deviation; 0 leaves them as they are.

    Each k also counts by the stretch of ln k that it stands for, because the k are not evenly spaced.

    Examples
    --------
    >>> import numpy as np
    >>> smooth(np.array([2, 4, 8]), np.array([0.0, 0.6, 0.0])).round(2)
    array([0.18, 0.49, 0.18])
    """
    if width < ROUNDING or len(ks) < 2:
        return score
    logs = np.log(ks)
    between = (logs[1:] + logs[:-1]) / 2
    stretch = np.diff(between, prepend=logs[0], append=logs[-1])
    weights = np.exp(-0.5 * ((logs[:, None] - logs) / width) ** 2) * stretch
    averaged: NDArray[np.float64] = weights @ score / weights.sum(axis=1)
    return averaged
