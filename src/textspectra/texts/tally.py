"""How many texts each group has in each period and in each segment: sums over rows, so parts of a data set add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .details import (
    Days,
    Details,
    Period,
    Wanted,
    choose_period,
    frequent_values,
    name_period,
    note_on_values,
    period_starts,
    periods_between,
)

Counts = NDArray[np.int64]


class Crosstab(NamedTuple):
    """Texts of each group (row) that have each value of a segment (column)."""

    values: list[str]
    counts: Counts


class Part(NamedTuple):
    """The counts of a part of the rows: texts of each group on each day, and by the values of segments."""

    days: Days
    by_day: Counts
    segments: dict[str, Crosstab]

    @staticmethod
    def of(details: Details, labels: NDArray[np.intp], n_clusters: int) -> Part:
        """Count rows by their group (-1: none)."""
        dated = np.zeros(len(labels), bool) if details.days is None else (labels >= 0) & ~np.isnat(details.days)
        days, codes = np.zeros(0, "datetime64[D]"), np.zeros(0, np.intp)
        if details.days is not None:
            days, codes = np.unique(details.days[dated], return_inverse=True)
        segments = {
            name: Crosstab(segment.values, _count(labels, segment.codes, n_clusters, len(segment.values)))
            for name, segment in details.segments.items()
        }
        return Part(days, _count(labels[dated], codes, n_clusters, len(days)), segments)


@dataclass(frozen=True, eq=False)
class Tally:
    """How many texts each group has in each period and in each segment.

    The rows of all tables are the groups, in the order of the topics.

    Attributes
    ----------
    time : str or None
        The name of the column of dates.
    every : {"day", "week", "month", "quarter", "year"} or None
        The length of a period; None without dates.
    periods : ndarray of datetime64[D]
        The first day of each period, without gaps.
    by_period : ndarray of int, shape (n_groups, n_periods)
        Texts of each group in each period.
    segments : dict of str to Crosstab
        Texts of each group by the values of each segment.
    """

    time: str | None
    every: Period | None
    periods: Days
    by_period: Counts
    segments: dict[str, Crosstab] = field(default_factory=dict)

    @staticmethod
    def of(parts: Sequence[Part], wanted: Wanted) -> Tally:
        """Add up parts, in periods of the wanted length or one that suits."""
        segments = {name: _joined([part.segments[name] for part in parts]) for name in wanted.by}
        days = np.concatenate([part.days for part in parts])
        if wanted.time is None or not len(days):
            none = np.zeros((len(parts[0].by_day), 0), np.int64)
            return Tally(wanted.time, None, days[:0], none, segments)
        n_texts, n_clusters = sum(int(part.by_day.sum()) for part in parts), len(parts[0].by_day)
        every = wanted.every or choose_period(days.min(), days.max(), n_texts, n_clusters)
        periods = periods_between(days.min(), days.max(), every)
        table = np.zeros((len(periods), n_clusters), np.int64)
        for part in parts:
            np.add.at(table, np.searchsorted(periods, period_starts(part.days, every)), part.by_day.T)
        return Tally(wanted.time, every, periods, np.ascontiguousarray(table.T), segments)

    def regrouped(self, before: NDArray[np.intp], after: NDArray[np.intp]) -> Tally | None:
        """Return the counts of other groups of the same texts; None if a group was split, because that is not known.

        `before` and `after` are the groups of the same texts (-1: none).
        """
        n_before, n_after = len(self.by_period), int(after.max()) + 1
        usable = (before >= 0) & (after >= 0)
        pairs = np.unique(np.column_stack([before[usable], after[usable]]), axis=0)
        if len(np.unique(pairs[:, 0])) < len(pairs):
            return None
        join = np.zeros((n_after, n_before), np.int64)
        join[pairs[:, 1], pairs[:, 0]] = 1
        segments = {name: Crosstab(one.values, join @ one.counts) for name, one in self.segments.items()}
        return replace(self, by_period=join @ self.by_period, segments=segments)

    def notes(self) -> list[str]:
        """Say what the counts cannot show."""
        if len(self.periods) != 1 or self.every is None:
            return []
        name = name_period(self.periods[0], self.periods[0], self.every)
        shorter = "" if self.every == "day" else ', unless periods are shorter: --every day (in Python, every="day")'
        return [f"All dates are in one {self.every} ({name}), which shows no change over time{shorter}."]


def tally_rows(details: Details, labels: NDArray[np.intp], n_clusters: int, every: Period | None) -> Tally | None:
    """Count the rows of one file; None if there is neither a column of dates nor a segment."""
    if not details.is_counted:
        return None
    wanted = Wanted(details.time, tuple(details.segments), every=every)
    return Tally.of([Part.of(details, labels, n_clusters)], wanted)


def notes_on_segments(parts: Iterable[Part], names: Iterable[str]) -> list[str]:
    """Say which segments of several parts have too many values."""
    several = list(parts)
    return [
        note
        for name in names
        for note in note_on_values(name, len({value for part in several for value in part.segments[name].values}))
    ]


def _joined(tables: Sequence[Crosstab]) -> Crosstab:
    """Add up tables whose values may differ, and join the rarest values if there are many."""
    code_of: dict[str, int] = {}
    codes = [np.array([code_of.setdefault(value, len(code_of)) for value in one.values], np.intp) for one in tables]
    joined = np.zeros((len(code_of), len(tables[0].counts)), np.int64)
    for one, of_values in zip(tables, codes, strict=True):
        joined[of_values] += one.counts.T
    values, place = frequent_values(list(code_of), joined.sum(axis=1))
    counts = np.zeros((len(values), joined.shape[1]), np.int64)
    np.add.at(counts, place, joined)
    return Crosstab(values, np.ascontiguousarray(counts.T))


def _count(labels: NDArray[np.intp], codes: NDArray[np.integer], n_labels: int, n_codes: int) -> Counts:
    usable = labels >= 0
    flat = labels[usable] * n_codes + codes[usable]
    return np.bincount(flat, minlength=n_labels * n_codes).reshape(n_labels, n_codes).astype(np.int64)
