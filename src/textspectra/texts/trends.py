"""Which groups grow, shrink, burst or vary, and where groups are over- and under-represented."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .details import Days
from .shares import (
    FEWEST_VOLUMES,
    Trends,
    adjusted,
    burst_test,
    compare_shares,
    trend_test,
    variation_test,
    volume_test,
    wilson_interval,
)
from .tally import Tally

Kind = Literal["growing", "shrinking", "burst", "uneven", "steady"]

LEVEL = 0.05
"""False discovery rate: of the changes that are reported, this share is expected to be chance."""

N_TESTS = 3
"""Tests of a group, for which its smallest p-value is corrected: trend, burst and any other difference."""

FEWEST_TEXTS = 10
"""Texts that are needed to speak of a share: one text of one is 100 %."""

END = 0.1
"""Part of all texts that each end of a trend has, if a single period does not have nearly all texts."""


class Changes(NamedTuple):
    """How the share of each group changes over the periods, and which periods have unusually many or few texts.

    `before` and `after` are shares: in the first and the last third of the texts, in whole periods; of a burst,
    outside and inside it; of an uneven group, in the period `start` where it is rarest and the period `end` where it is
    most frequent. `start` and `end` are otherwise the first days of the first and the last period, of a burst its own.
    The four counts are what the shares are made of. `p` is adjusted for all tests.
    """

    kind: list[Kind]
    texts_before: NDArray[np.int64]
    total_before: NDArray[np.int64]
    texts_after: NDArray[np.int64]
    total_after: NDArray[np.int64]
    start: Days
    end: Days
    p: NDArray[np.float64]
    usual: NDArray[np.float64]  # texts of each period
    volume: NDArray[np.str_]  # of each period: "more", "fewer" or "usual"

    @property
    def before(self) -> NDArray[np.float64]:
        """The share before."""
        return self.texts_before / np.maximum(self.total_before, 1)

    @property
    def after(self) -> NDArray[np.float64]:
        """The share after."""
        return self.texts_after / np.maximum(self.total_after, 1)


def find_changes(tally: Tally, totals: NDArray[np.int64] | None = None) -> Changes:
    """Test each group for a trend, a burst and any other difference, and each period for its number of texts.

    `totals` are the texts of each period; without them, the sums over the groups. One correction covers all tests.
    """
    counts = tally.by_period
    totals = counts.sum(axis=0) if totals is None else totals
    numbers = np.arange(len(totals))
    trend, burst, variation = trend_test(counts, totals), burst_test(counts, totals), variation_test(counts, totals)
    inside = (numbers >= burst.first[:, None]) & (numbers <= burst.last[:, None])
    early, late = _ends(totals)
    trend_p = trend.p if min(totals[early].sum(), totals[late].sum()) >= FEWEST_TEXTS else np.ones(len(counts))
    burst_p = np.where((totals * inside).sum(axis=1) >= FEWEST_TEXTS, burst.p, 1)
    volume = volume_test(totals, season=7 if tally.every == "day" else 1)

    specific = N_TESTS * np.minimum(trend_p, burst_p)
    of_clusters = np.minimum(specific, N_TESTS * variation.p)
    of_volume = [volume.p.min()] if len(totals) >= FEWEST_VOLUMES else []
    p = adjusted(np.minimum(np.append(of_clusters, of_volume), 1))
    # Whatever is below it would have passed as well: another test of a group, another period.
    threshold = LEVEL * (p < LEVEL).mean() if p.size else 0.0
    p = p[: len(counts)]
    is_burst = (burst_p < trend_p) & ~_is_part_of_trend(burst.first, burst.last, trend, totals)
    rises = _share(counts, totals, late) - _share(counts, totals, early)
    # A line may rise while the ends do not: that is a difference, but not growth.
    slope = np.where(trend.z * rises <= 0, "uneven", np.where(trend.z > 0, "growing", "shrinking"))
    kind = np.where(specific <= threshold, np.where(is_burst, "burst", slope), "uneven")
    kind = np.where(p < LEVEL, kind, "steady")

    bursts, varies = (kind == "burst")[:, None], (kind == "uneven")[:, None]
    rarest, densest = numbers == variation.low[:, None], numbers == variation.high[:, None]
    before = np.where(bursts, ~inside, np.where(varies, rarest, early))
    after = np.where(bursts, inside, np.where(varies, densest, late))
    last = len(totals) - 1
    start = np.select([bursts[:, 0], varies[:, 0]], [burst.first, variation.low], 0)
    end = np.select([bursts[:, 0], varies[:, 0]], [burst.last, variation.high], last)
    more = np.where(totals > volume.usual, "more", "fewer")
    return Changes(
        kind.tolist(),
        (counts * before).sum(axis=1), (totals * before).sum(axis=1),
        (counts * after).sum(axis=1), (totals * after).sum(axis=1),
        tally.periods[start], tally.periods[end], p,
        volume.usual, np.where(volume.p <= threshold, more, "usual"),
    )  # fmt: skip


def _ends(totals: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which periods have the first and the last third of the texts; an end with very few texts is extended."""
    filled = np.flatnonzero(totals)
    numbers = np.arange(len(totals))
    if len(filled) < 2:
        return numbers >= 0, numbers >= 0
    texts = totals[filled]
    before, n = texts.cumsum(), texts.sum()
    middle = before - texts / 2
    early = max(int((middle < n / 3).sum()), int((before < END * n).sum()) + 1)
    late = max(int((middle > n * 2 / 3).sum()), int((texts[::-1].cumsum() < END * n).sum()) + 1)
    late = min(late, len(filled) - 1)
    early = min(early, len(filled) - late)
    return numbers <= filled[early - 1], numbers >= filled[len(filled) - late]


def _is_part_of_trend(
    first: NDArray[np.intp], last: NDArray[np.intp], trend: Trends, totals: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return True where the highest run of periods is the end of a rise, or the beginning of a fall."""
    filled = np.flatnonzero(totals)
    ends = (last >= filled.max(initial=0)) & (trend.z > 0) | (first <= filled.min(initial=0)) & (trend.z < 0)
    part: NDArray[np.bool_] = ends & (trend.p < LEVEL)
    return part


def _share(counts: NDArray[Any], totals: NDArray[Any], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = counts[:, chosen].sum(axis=1) / max(totals[chosen].sum(), 1)
    return share


def over_time(tally: Tally) -> dict[str, NDArray[Any]]:
    """Return the columns of one row per group and period: counts, the share with its interval, and the volume."""
    k, n_periods = tally.by_period.shape
    changes = find_changes(tally)
    totals = tally.by_period.sum(axis=0)
    low, high = wilson_interval(tally.by_period, totals)
    known = totals > 0
    share = np.divide(tally.by_period, totals, out=np.full((k, n_periods), np.nan), where=known)
    return {
        "group": np.repeat(np.arange(k), n_periods),
        "period": np.tile(tally.periods, k),
        "texts": tally.by_period.ravel(),
        "total": np.tile(totals, k),
        "usual_total": np.tile(changes.usual, k),
        "volume": np.tile(changes.volume, k),
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
