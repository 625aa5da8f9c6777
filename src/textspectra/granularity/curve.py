"""Read k off a curve: the score of each number of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POWER = 14
"""A k whose score is 10 % below the best has 0.9 to this power, 23 %, of its weight."""

POSITION = 0.8
"""The answer is the k up to which this share of the weight lies."""

EXACT_SCORE = 0.75
"""From this score on, the groups become clear, and k below the best lose their weight; at 1 they have none."""

ROUNDING = 1e-9
"""Scores that differ by less are equal."""


def read_curve(ks: NDArray[np.intp], score: NDArray[np.float64], position: float = POSITION) -> int:
    """Return the number of groups that the scores speak for.

    Every k votes for itself. Its weight is its score, as a share of the best score, to the power 14, times the stretch
    of ln k that it stands for. So a broad plateau counts more than a sharp peak. The answer is the k up to which four
    fifths of the weight lie. It moves little if the scores move little, because no single k decides. As the best score
    goes from 0.75 to 1, the power goes to infinity: clear groups are counted exactly.

    Examples
    --------
    >>> import numpy as np
    >>> read_curve(np.array([2, 3, 4, 5]), np.array([0.8, 0.9, 1.0, 0.7]))
    4
    >>> ks = np.array([2, 3, 4, 6, 8, 11, 16, 23, 32, 45])
    >>> read_curve(ks, np.array([0.1, 0.2, 0.52, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.2]))
    23
    """
    best = float(score.max())
    finest_of_best = int(ks[score >= best - ROUNDING].max())
    if best <= 0 or best >= 1 - ROUNDING or len(ks) == 1:
        return finest_of_best
    power = POWER / min(1.0, (1 - best) / (1 - EXACT_SCORE))
    weight = np.cumsum((np.maximum(score, 0) / best) ** power * _stretches(ks))
    return int(ks[np.searchsorted(weight, position * weight[-1])])


def smooth(ks: NDArray[np.intp], score: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Average the scores over ln k, with Gaussian weights of standard deviation `width`.

    Examples
    --------
    >>> import numpy as np
    >>> smooth(np.array([2, 4, 8]), np.array([0.0, 0.6, 0.0]), 0.4).round(2)
    array([0.18, 0.49, 0.18])
    """
    if len(ks) == 1:
        return score
    logs = np.log(ks)
    weights = np.exp(-0.5 * ((logs[:, None] - logs) / width) ** 2) * _stretches(ks)
    averaged: NDArray[np.float64] = weights @ score / weights.sum(axis=1)
    return averaged


def _stretches(ks: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the stretch of ln k that each k stands for: from the middle between it and one neighbour to the other."""
    logs = np.log(ks)
    return np.diff((logs[1:] + logs[:-1]) / 2, prepend=logs[0], append=logs[-1])
