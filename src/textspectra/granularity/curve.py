"""Read the number of groups off a curve: how well two halves of the data agree at each k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POWER = 12
"""A k whose agreement is 10 % below the best has 0.9 to this power, 28 %, of its weight."""

POSITION = (0.4, 0.7)
"""The answer is the k up to which this share of the weight lies: the first for weak agreement, the last for strong."""

STRONG = (0.6, 0.8)
"""The best agreement at which it counts as weak, and as strong."""

EXACT = 0.75
"""As the best agreement rises from here to 1, the power goes to infinity: clear groups are counted exactly."""

MORE_BEHIND = 2.2
"""A coarse k counts for no more than a finer one at which the halves share this many times its information."""

PAIR = 0.95
"""A split in two is clear at this agreement or above: halves of any long cloud agree on where to cut it."""

BEYOND = 0.15
"""If halves agree on more than this share of what finer groups add to a clear split in two, only that counts.
Clear groups without groups inside stay below it."""

NEAR = 1.5
"""The confidence is the share of the weight within this factor of the answer, times the agreement there."""

ROUNDING = 1e-9


class Reading(NamedTuple):
    """The number of groups that a curve speaks for, and how clearly it does, from 0 to 1."""

    k: int
    confidence: float


def read_curve(ks: NDArray[np.intp], agreement: NDArray[np.float64]) -> Reading:
    """Return the number of groups that the agreement speaks for.

    Every k votes for itself, with a weight that is a power of its agreement. The answer is the k up to which 40 % of
    the weight lies if the halves hardly agree, and 70 % if they agree well: the clearer the groups, the finer we look.
    It lies between the given k if need be, and it moves little if the curve moves little, because no single k decides.
    """
    score = discounted(ks, agreement)
    best = float(score.max())
    finest_of_best = int(ks[score >= best - ROUNDING].max())
    if best <= 0 or len(ks) == 1:
        return Reading(finest_of_best, max(best, 0.0))
    if best >= 1 - ROUNDING:
        return Reading(finest_of_best, 1.0)
    power = POWER / min(1.0, (1 - best) / (1 - EXACT))
    logs = np.log(ks)
    # Each k stands for the stretch of ln k from halfway to the k before it to halfway to the next one.
    borders = np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2, logs[-1:]])
    weight = np.append(0.0, np.cumsum((np.maximum(score, 0) / best) ** power * np.diff(borders)))
    weight /= weight[-1]
    answer = np.interp(np.interp(best, STRONG, POSITION), weight, borders)
    low, high = np.interp(answer + np.array([-1, 1]) * np.log(NEAR), borders, weight)
    at_answer = float(np.clip(np.interp(answer, logs, agreement), 0, 1))
    return Reading(round(float(np.exp(answer))), float(high - low) * at_answer)


def discounted(ks: NDArray[np.intp], agreement: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower the agreement on coarse splits that leave most of the structure behind them.

    Halves nearly always agree on one split in two or three, such as texts with and without the name of a product. If
    they share far more information about finer groups, the coarse split scores no more than these. What finer groups
    repeat of a clear split in two says nothing about them.
    """
    information = agreement * np.log(ks)
    if ks[0] == 2 and agreement[0] >= PAIR and len(ks) > 1:
        added = (information[1:] - information[0]) / (np.log(ks[1:]) - np.log(2))
        if added.max() > BEYOND:
            agreement = np.append(0.0, np.minimum(np.maximum(added, 0), agreement[1:]))
            information = agreement * np.log(ks)
    score = agreement.copy()
    for i in range(len(ks) - 1):
        behind = agreement[i + 1 :][information[i + 1 :] >= MORE_BEHIND * information[i]]
        if len(behind):
            score[i] = min(score[i], behind.max())
    return score
