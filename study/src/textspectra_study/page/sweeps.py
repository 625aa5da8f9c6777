"""The paper's estimate of k at other settings: window, sample cap, z-scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import stats

from ..results import Results
from .statistics import MIN_BLOCKS

DEFAULT_WINDOW = 3
DEFAULT_TAU = 1000
MODERATE_WINDOWS = range(3, 8)
"""The windows over which the paper compares z-scored with raw similarities."""


class SweepPoint(NamedTuple):
    """The estimate for one dataset and model at one setting.

    Attributes
    ----------
    dataset, model : str
    size, classes : int
        Rows and true classes of the variant.
    zscore : bool
    tau, window : int
    error : float
        Relative error of k.
    fallback : float
        Share of the samples without a jump.
    seconds : float
        Time of all windows at this cap together; they share their spectra.
    """

    dataset: str
    model: str
    size: int
    classes: int
    zscore: bool
    tau: int
    window: int
    error: float
    fallback: float
    seconds: float


def sweep_points(results: Results) -> list[SweepPoint]:
    """Return the estimates of all sweeps."""
    return [
        SweepPoint(
            cell.variant.dataset,
            cell.model,
            cell.variant.size,
            cell.variant.classes,
            cell.values["zscore"],
            cell.values["tau"],
            row["window"],
            abs(row["k"] - cell.variant.classes) / cell.variant.classes,
            row["fallback"],
            cell.seconds,
        )
        for cell in results.cells
        if cell.task.startswith("sweep-") and cell.ok
        for row in cell.values["windows"]
    ]


def window_points(points: Iterable[SweepPoint]) -> list[SweepPoint]:
    """Return the points with raw similarities and the default cap, which differ in the window."""
    return [point for point in points if not point.zscore and point.tau == DEFAULT_TAU]


def tau_points(points: Iterable[SweepPoint]) -> list[SweepPoint]:
    """Return the points with raw similarities and the default window, on variants larger than the smallest cap."""
    points = list(points)
    smallest = min((point.tau for point in points), default=0)
    return [p for p in points if not p.zscore and p.window == DEFAULT_WINDOW and p.size > smallest]


Key = Callable[[SweepPoint], Hashable]


def grouped(points: Iterable[SweepPoint], key: Key) -> dict[Hashable, list[SweepPoint]]:
    """Group points by a key; the keys are sorted."""
    clusters: dict[Hashable, list[SweepPoint]] = defaultdict(list)
    for point in points:
        clusters[key(point)].append(point)
    return dict(sorted(clusters.items()))


def mean_error(points: Iterable[SweepPoint]) -> float:
    """Return the mean relative error of k."""
    return fmean(point.error for point in points)


class PairTest(NamedTuple):
    """Raw against z-scored similarities at the same settings (Wilcoxon's signed-rank test).

    Attributes
    ----------
    raw, zscored : float
        Mean relative error of k.
    n : int
        Number of pairs. Caps above the number of rows give the same sample and count once.
    p : float or None
        None if there are too few pairs.
    """

    raw: float
    zscored: float
    n: int
    p: float | None


def zscore_test(points: Iterable[SweepPoint]) -> PairTest | None:
    """Compare z-scored with raw similarities over windows 3 to 7 and all caps; None if there is no pair."""
    sides: dict[Hashable, dict[bool, SweepPoint]] = defaultdict(dict)
    for point in points:
        if point.window in MODERATE_WINDOWS:
            sides[point.dataset, point.model, point.size, point.tau, point.window][point.zscore] = point
    pairs = [(side[False], side[True]) for side in sides.values() if len(side) == 2]
    if not pairs:
        return None
    distinct: dict[Hashable, tuple[float, float]] = {}
    for raw, zscored in pairs:
        key = (raw.dataset, raw.model, raw.size, min(raw.tau, raw.size), raw.window)
        distinct.setdefault(key, (raw.error, zscored.error))
    p = paired_p(*zip(*distinct.values(), strict=True))
    return PairTest(mean_error(raw for raw, _ in pairs), mean_error(z for _, z in pairs), len(distinct), p)


def paired_p(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the p-value of Wilcoxon's signed-rank test, or None if there are too few pairs.

    Examples
    --------
    >>> paired_p([1, 2, 3, 4, 5], [2, 4, 6, 8, 10]), paired_p([1], [2]), paired_p([1] * 5, [1] * 5)
    (0.0625, None, 1.0)
    """
    differences = np.subtract(x, y)
    if len(differences) < MIN_BLOCKS:
        return None
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
