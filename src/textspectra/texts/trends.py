"""Which groups grow, shrink or burst, and where groups are over- and under-represented."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..metrics.shares import adjusted, burst_test, compare_shares, trend_test, wilson_interval
from .periods import Days
from .tally import Tally

Kind = Literal["growing", "shrinking", "burst", "steady"]

LEVEL = 0.05
"""False discovery rate: of the changes that are reported, this share is expected to be chance."""


class Changes(NamedTuple):
    """How the share of each group changes over the periods.

    `before` and `after` are the shares in the first and the last third of the periods; of a burst, the shares outside
    and inside it. `start` and `end` are the first days of the first and the last period, of a burst of its own. `p` is
    adjusted for the number of groups.
    """

    kind: list[Kind]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    start: Days
    end: Days
    p: NDArray[np.float64]


def find_changes(tally: Tally, totals: NDArray[np.int64] | None = None) -> Changes:
    """Test each group for a trend and for a burst.

    `totals` are the texts of each period; without them, the sums over the groups.
    """
    counts = tally.by_period
    totals = counts.sum(axis=0) if totals is None else totals
    n_periods = len(totals)
    trend, burst = trend_test(counts, totals), burst_test(counts, totals)
    p = adjusted(np.minimum(2 * np.minimum(trend.p, burst.p), 1))
    is_burst = (burst.p < trend.p) & ~_is_part_of_trend(burst.first, burst.last, trend.z, trend.p, totals)
    rising = np.where(trend.z > 0, "growing", "shrinking")
    kind = np.where(p >= LEVEL, "steady", np.where(is_burst, "burst", rising))

    third = max(1, n_periods // 3)
    numbers = np.arange(n_periods)
    inside = (numbers >= burst.first[:, None]) & (numbers <= burst.last[:, None])
    bursting = (kind == "burst")[:, None]
    early = np.where(bursting, ~inside, numbers < third)
    late = np.where(bursting, inside, numbers >= n_periods - third)
    start, end = np.where(kind == "burst", burst.first, 0), np.where(kind == "burst", burst.last, n_periods - 1)
    return Changes(
        kind.tolist(), _share(counts, totals, early), _share(counts, totals, late),
        tally.periods[start], tally.periods[end], p,
    )  # fmt: skip


def _is_part_of_trend(
    first: NDArray[np.intp], last: NDArray[np.intp], z: NDArray[np.float64], p: NDArray[np.float64], totals: Any
) -> NDArray[np.bool_]:
    """Tell whether the highest run of periods is the end of a rise, or the beginning of a fall."""
    filled = np.flatnonzero(totals)
    ends = (last >= filled.max(initial=0)) & (z > 0) | (first <= filled.min(initial=0)) & (z < 0)
    part: NDArray[np.bool_] = ends & (p < LEVEL)
    return part


def _share(counts: NDArray[Any], totals: NDArray[Any], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    texts, n = (counts * chosen).sum(axis=1), (totals * chosen).sum(axis=1)
    share: NDArray[np.float64] = np.divide(texts, n, out=np.zeros(len(texts)), where=n > 0)
    return share


def over_time(tally: Tally) -> dict[str, NDArray[Any]]:
    """Return the columns of one row per group and period: the number of the group, and the share with its interval."""
    k, n_periods = tally.by_period.shape
    totals = tally.by_period.sum(axis=0)
    low, high = wilson_interval(tally.by_period, totals)
    known = totals > 0
    share = np.divide(tally.by_period, totals, out=np.full((k, n_periods), np.nan), where=known)
    return {
        "group": np.repeat(np.arange(k), n_periods),
        "period": np.tile(tally.periods, k),
        "texts": tally.by_period.ravel(),
        "total": np.tile(totals, k),
        "share": share.ravel(),
        "low": np.where(known, low, np.nan).ravel(),
        "high": np.where(known, high, np.nan).ravel(),
    }


def by_segment(tally: Tally, name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of one row per group and value of a segment: shares, their ratio, and whether it is chance."""
    if name not in tally.segments:
        there = ", ".join(map(repr, tally.segments)) or "none"
        raise UserError(f"There is no segment {name!r}; the segments of this result are: {there}.")
    values, counts = tally.segments[name]
    totals, sizes = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    n = max(int(totals.sum()), 1)
    overall = sizes / n
    p = adjusted(compare_shares(counts, totals, sizes - counts, n - totals).ravel())
    low, high = wilson_interval(counts, totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts / totals
        ratios = [value / overall for value in (share, low, high)]
    lift, lift_low, lift_high = (ratio.ravel() for ratio in ratios)
    where = np.where(lift > 1, "over", "under")
    return {
        "group": np.repeat(np.arange(len(counts)), len(values)),
        "value": np.tile(np.array(values, object), len(counts)),
        "texts": counts.ravel(),
        "total": np.tile(totals, len(counts)),
        "share": share.ravel(),
        "overall": np.repeat(overall[:, 0], len(values)),
        "lift": lift,
        "lift_low": lift_low,
        "lift_high": lift_high,
        "p": p,
        "represented": np.where(p < LEVEL, where, "as expected"),
    }
