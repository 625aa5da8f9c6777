"""How many texts each group has in each period and segment, and which of these counts are significant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from . import details, shares

_Counts = NDArray[np.int64]
_Flags = NDArray[np.bool_]
CountColumns = dict[str, NDArray[Any]]  # of a table of counts; "group" has the position of each row's group

_FEWEST_TEXTS = 10  # that are needed to speak of a share: one text of one is 100%
_END = 0.1  # part of all texts that each end of a trend has, unless a single period has nearly all texts


class Crosstab(NamedTuple):
    """Texts of each group (row) that have each value of a segment (column)."""

    values: list[str]
    counts: _Counts


class Part(NamedTuple):
    """The counts of a part of the rows, by day and by the values of segments; the parts of a data set add up."""

    days: details.Days
    by_day: _Counts
    segments: dict[str, Crosstab]

    @staticmethod
    def of(columns: details.Details, codes: NDArray[np.intp], n_clusters: int) -> Part:
        """Count rows by their group (-1: none)."""

        def count(rows: NDArray[np.intp], places: NDArray[np.integer], n_columns: int) -> _Counts:
            usable = rows >= 0
            flat = np.bincount(rows[usable] * n_columns + places[usable], minlength=n_clusters * n_columns)
            return flat.reshape(n_clusters, n_columns).astype(np.int64)

        all_days = np.full(len(codes), "NaT", "datetime64[D]") if columns.days is None else columns.days
        is_dated = (codes >= 0) & ~np.isnat(all_days)
        days, of_day = np.unique(all_days[is_dated], return_inverse=True)
        segments = {
            name: Crosstab(segment.values, count(codes, segment.codes, len(segment.values)))
            for name, segment in columns.segments.items()
        }
        return Part(days, count(codes[is_dated], of_day, len(days)), segments)


@dataclass(frozen=True, eq=False)
class Tally:
    """How many texts each group has in each period and in each segment.

    The rows of all tables are the groups, in the order of the result's clusters.
    """

    time: str | None  # name of the column of dates
    every: details.Period | None  # None without dates
    periods: details.Days  # the first day of each period, without gaps
    by_period: _Counts
    segments: dict[str, Crosstab] = field(default_factory=dict)

    @staticmethod
    def of(parts: Sequence[Part], wanted: details.Wanted) -> Tally:
        """Add up parts, in periods of the wanted length or one that suits."""
        segments = {name: _joined([part.segments[name] for part in parts]) for name in wanted.by}
        days, n_clusters = np.concatenate([part.days for part in parts]), len(parts[0].by_day)
        if wanted.time is None or not len(days):
            return Tally(wanted.time, None, days[:0], np.zeros((n_clusters, 0), np.int64), segments)
        n_texts = sum(int(part.by_day.sum()) for part in parts)
        every = wanted.every or details.choose_period(days.min(), days.max(), n_texts, n_clusters)
        periods = details.periods_between(days.min(), days.max(), every)
        table = np.zeros((len(periods), n_clusters), np.int64)
        for part in parts:
            np.add.at(table, np.searchsorted(periods, details.period_starts(part.days, every)), part.by_day.T)
        return Tally(wanted.time, every, periods, np.ascontiguousarray(table.T), segments)

    @cached_property
    def trends(self) -> Trends:
        """How the groups change over the periods. The tests run once; terminal, tables and page share them."""
        return find_trends(self)

    def regrouped(self, before: NDArray[np.intp], after: NDArray[np.intp]) -> Tally | None:
        """Return the counts after texts move from groups to others (-1: none); None if a group is split."""
        usable = (before >= 0) & (after >= 0)
        pairs = np.unique(np.column_stack([before[usable], after[usable]]), axis=0)
        if len(np.unique(pairs[:, 0])) < len(pairs):
            return None
        join = np.zeros((int(after.max()) + 1, len(self.by_period)), np.int64)
        join[pairs[:, 1], pairs[:, 0]] = 1
        segments = {name: Crosstab(values, join @ counts) for name, (values, counts) in self.segments.items()}
        return replace(self, by_period=join @ self.by_period, segments=segments)

    def notes(self) -> list[str]:
        """Say what the counts cannot show."""
        if len(self.periods) != 1 or self.every is None:
            return []
        name = details.name_period(self.periods[0], self.periods[0], self.every)
        shorter = "" if self.every == "day" else ', unless periods are shorter: --every day (in Python, every="day")'
        return [f"All dates are in one {self.every} ({name}), which shows no change over time{shorter}."]


def tally_rows(
    columns: details.Details, codes: NDArray[np.intp], n_clusters: int, every: details.Period | None
) -> Tally | None:
    """Count the rows of one file; None if there is neither a column of dates nor a segment beside the texts."""
    if not columns.is_counted:
        return None
    wanted = details.Wanted(columns.time, tuple(columns.segments), every=every)
    return Tally.of([Part.of(columns, codes, n_clusters)], wanted)


def notes_on_segments(parts: Sequence[Part], names: Iterable[str]) -> list[str]:
    """Say which segments of several parts have too many values."""
    numbers = {name: len({value for part in parts for value in part.segments[name].values}) for name in names}
    return [note for name, number in numbers.items() for note in details.note_on_values(name, number)]


def _joined(tables: Sequence[Crosstab]) -> Crosstab:
    """Add up tables whose values may differ, and join the rarest values if there are many."""
    code_of: dict[str, int] = {}
    codes = [np.array([code_of.setdefault(value, len(code_of)) for value in table.values], np.intp) for table in tables]
    joined = np.zeros((len(code_of), len(tables[0].counts)), np.int64)
    for table, of_values in zip(tables, codes, strict=True):
        joined[of_values] += table.counts.T
    values, place = details.frequent_values(list(code_of), joined.sum(axis=1))
    counts = np.zeros((len(values), joined.shape[1]), np.int64)
    np.add.at(counts, place, joined)
    return Crosstab(values, np.ascontiguousarray(counts.T))


class Trends(NamedTuple):
    """How the share of each group changes over the periods, and which periods have unusually many or few texts.

    `before` and `after` are shares: in the first and the last third of the texts, in whole periods; of a burst,
    outside and inside it; of an uneven group, in the period `start` with its lowest share and the period `end` with its
    highest. `start` and `end` are otherwise the first days of the first and the last period, of a burst its own. The
    four counts are the numerators and denominators of the shares. `p` is shares.adjusted for all tests.
    """

    kind: list[Literal["growing", "shrinking", "burst", "uneven", "steady"]]
    texts_before: _Counts
    total_before: _Counts
    texts_after: _Counts
    total_after: _Counts
    start: details.Days
    end: details.Days
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


def find_trends(tally: Tally, totals: _Counts | None = None) -> Trends:
    """Test each group for a trend, a burst and any other difference, and each period for its number of texts.

    `totals` are the texts of each period; without them, the sums over the groups. One correction covers all tests.
    """
    counts = tally.by_period
    totals = counts.sum(axis=0) if totals is None else totals
    numbers, filled = np.arange(len(totals)), np.flatnonzero(totals)
    z, slope_p = shares.trend_test(counts, totals)
    first, last, run_p = shares.burst_test(counts, totals)
    low, high, variation_p = shares.variation_test(counts, totals)
    usual, volume_p = shares.volume_test(totals, season=7 if tally.every == "day" else 1)
    inside = (numbers >= first[:, None]) & (numbers <= last[:, None])
    early, late = _ends(totals)
    n_early, n_late = totals[early].sum(), totals[late].sum()
    trend_p = slope_p if min(n_early, n_late) >= _FEWEST_TEXTS else np.ones(len(counts))
    burst_p = np.where((totals * inside).sum(axis=1) >= _FEWEST_TEXTS, run_p, 1)

    # The smallest p-value of a group is corrected for its three tests, then all of them for their number.
    specific = 3 * np.minimum(trend_p, burst_p)
    of_clusters = np.minimum(specific, 3 * variation_p)
    of_volume = [volume_p.min()] if len(totals) >= shares.FEWEST_VOLUMES else []
    p = shares.adjusted(np.minimum(np.append(of_clusters, of_volume), 1))
    # A different p-value below the threshold would have passed as well: of another test of a group, of another period.
    threshold = shares.LEVEL * (p < shares.LEVEL).mean() if p.size else 0.0
    p = p[: len(counts)]

    # The highest run of periods may be the end of a rise, or the beginning of a fall.
    ends_rise = (last >= filled.max(initial=0)) & (z > 0)
    begins_fall = (first <= filled.min(initial=0)) & (z < 0)
    is_burst = (burst_p < trend_p) & ~((ends_rise | begins_fall) & (slope_p < shares.LEVEL))
    # A line may rise while the ends do not: that is a difference, but not growth.
    rises = counts[:, late].sum(axis=1) / max(n_late, 1) - counts[:, early].sum(axis=1) / max(n_early, 1)
    slope = np.where(z * rises <= 0, "uneven", np.where(z > 0, "growing", "shrinking"))
    kind = np.where(specific <= threshold, np.where(is_burst, "burst", slope), "uneven")
    kind = np.where(p < shares.LEVEL, kind, "steady")

    bursts, varies = kind == "burst", kind == "uneven"
    lowest, highest = numbers == low[:, None], numbers == high[:, None]
    before = np.where(bursts[:, None], ~inside, np.where(varies[:, None], lowest, early))
    after = np.where(bursts[:, None], inside, np.where(varies[:, None], highest, late))
    start = np.select([bursts, varies], [first, low], 0)
    end = np.select([bursts, varies], [last, high], len(totals) - 1)
    more = np.where(totals > usual, "more", "fewer")
    return Trends(
        kind.tolist(),
        (counts * before).sum(axis=1), (totals * before).sum(axis=1),
        (counts * after).sum(axis=1), (totals * after).sum(axis=1),
        tally.periods[start], tally.periods[end], p,
        usual, np.where(volume_p <= threshold, more, "usual"),
    )  # fmt: skip


def _ends(totals: _Counts) -> tuple[_Flags, _Flags]:
    """Return which periods have the first and the last third of the texts; an end with very few texts is extended."""
    filled, numbers = np.flatnonzero(totals), np.arange(len(totals))
    if len(filled) < 2:
        return numbers >= 0, numbers >= 0
    texts = totals[filled]
    before, n = texts.cumsum(), texts.sum()
    middle = before - texts / 2
    early = max(int((middle < n / 3).sum()), int((before < _END * n).sum()) + 1)
    late = max(int((middle > n * 2 / 3).sum()), int((texts[::-1].cumsum() < _END * n).sum()) + 1)
    late = min(late, len(filled) - 1)
    early = min(early, len(filled) - late)
    return numbers <= filled[early - 1], numbers >= filled[len(filled) - late]


def over_time(tally: Tally) -> CountColumns:
    """Return the columns of one row per group and period: counts, the share with its interval, and the volume."""
    counts, totals, trends = tally.by_period, tally.by_period.sum(axis=0), tally.trends
    low, high = shares.wilson_interval(counts, totals)
    has_texts = totals > 0
    share = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=has_texts)
    return _in_rows(counts.shape, {
        "group": np.arange(len(counts))[:, None], "period": tally.periods, "texts": counts, "total": totals,
        "usual_total": trends.usual, "volume": trends.volume, "share": share,
        "low": np.where(has_texts, low, np.nan), "high": np.where(has_texts, high, np.nan),
    })  # fmt: skip


def by_segment(tally: Tally, name: str) -> CountColumns:
    """Return the columns of one row per group and value of a segment: shares, their ratio, and its significance."""
    if name not in tally.segments:
        known = ", ".join(map(repr, tally.segments)) or "none"
        raise UserError(f"The segment {name!r} is unknown; the segments of this result are: {known}.")
    values, counts = tally.segments[name]
    totals, sizes = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    n = max(int(totals.sum()), 1)
    overall = sizes / n
    p = shares.adjusted(shares.compare_shares(counts, totals, sizes - counts, n - totals).ravel()).reshape(counts.shape)
    low, high = shares.wilson_interval(counts, totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts / totals
        lift, lift_low, lift_high = (ratio / overall for ratio in (share, low, high))
    return _in_rows(counts.shape, {
        "group": np.arange(len(counts))[:, None], "value": np.array(values, object), "texts": counts, "total": totals,
        "share": share, "overall": overall, "lift": lift, "lift_low": lift_low, "lift_high": lift_high, "p": p,
        "represented": np.where(p < shares.LEVEL, np.where(lift > 1, "over", "under"), "as expected"),
    })  # fmt: skip


def _in_rows(shape: tuple[int, ...], tables: CountColumns) -> CountColumns:
    """Turn tables of groups and periods or values into columns; a row or a column of a table stands for all of it."""
    return {name: np.broadcast_to(table, shape).ravel() for name, table in tables.items()}
