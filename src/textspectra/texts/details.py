"""What else is known of each row: when it came, its segments, and columns that are shown with its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..core.validation import is_missing
from ..errors import UsageError, UserError
from ..tables.columns import as_strings, find_column
from ..tables.dates import Problem, Reading, check_dates, notes_on_dates, read_dates, survey
from ..tables.frames import as_table, is_data_frame
from ..tables.jsonlines import build_column

Period = Literal["day", "week", "month", "quarter", "year"]
Days = NDArray[np.datetime64]

MOST_PERIODS = 60
"""More periods than this are too many to look at."""

FEWEST_PERIODS = 4
"""Fewer periods than this hardly show a course; shorter ones are taken even if they have few texts."""

TEXTS_OF_A_CLUSTER = 5
"""What a group of mean size should have in a period, so that its share says something."""


def check_period(every: Any) -> None:
    """Raise if there is no such period."""
    if every is not None and every not in get_args(Period):
        names = ", ".join(get_args(Period))
        raise UserError(f"every must be one of {names}, but it is {every!r}.")


def choose_period(first: np.datetime64, last: np.datetime64, n_texts: int, n_clusters: int) -> Period:
    """Return the shortest period that suits the span of the dates and the number of texts."""
    number = {every: len(periods_between(first, last, every)) for every in get_args(Period)}
    few = [every for every in get_args(Period) if number[every] <= MOST_PERIODS] or ["year"]
    full = [every for every in few if n_texts >= TEXTS_OF_A_CLUSTER * n_clusters * number[every]]
    course = [every for every in few if number[every] >= FEWEST_PERIODS]
    suitable = [every for every in full if every in course]
    chosen: Period = suitable[0] if suitable else course[-1] if course else few[0]
    return chosen


def period_starts(days: Days, every: Period) -> Days:
    """Return the first day of the period of each day; weeks begin on Monday."""
    if every == "week":
        number = days.astype("datetime64[D]").astype(np.int64)
        return ((number + 3) // 7 * 7 - 3).astype("datetime64[D]")  # 1970 began on a Thursday
    if every == "quarter":
        months = days.astype("datetime64[M]").astype(np.int64)
        return (months // 3 * 3).astype("datetime64[M]").astype("datetime64[D]")
    unit = {"day": "D", "month": "M", "year": "Y"}[every]
    return days.astype(f"datetime64[{unit}]").astype("datetime64[D]")


def periods_between(first: np.datetime64, last: np.datetime64, every: Period) -> Days:
    """Return the first days of all periods from that of `first` to that of `last`."""
    days = np.arange(first.astype("datetime64[D]"), last.astype("datetime64[D]") + 1)
    return np.unique(period_starts(days, every))


def name_period(first: np.datetime64, last: np.datetime64, every: Period) -> str:
    """Return what a period is called, or the run of periods that begin on `first` and `last`."""
    one, other = _name(first, every), _name(last, every)
    if one == other:
        return f"week of {one}" if every == "week" else one
    head, _, year = one.rpartition(" ")
    name = f"{head} to {other}" if head and other.endswith(year) else f"{one} to {other}"
    return f"weeks of {name}" if every == "week" else name


def _name(start: np.datetime64, every: Period) -> str:
    day = start.astype("datetime64[D]").item()
    if every == "year":
        return f"{day.year}"
    if every == "quarter":
        return f"Q{(day.month + 2) // 3} {day.year}"
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[day.month - 1]
    return f"{month} {day.year}" if every == "month" else f"{day.day} {month} {day.year}"


MOST_VALUES = 50
"""Values of a segment that are told apart: those with the most rows. The others are one."""

MISSING, OTHER = "(missing)", "(other)"


class Wanted(NamedTuple):
    """The columns of which the result keeps more than the texts.

    Attributes
    ----------
    time : str or None
        The column of dates.
    by : tuple of str
        Segments that the groups are compared by.
    show : tuple of str
        Columns that are shown with the texts.
    every : {"day", "week", "month", "quarter", "year"} or None
        The period; None is chosen by the dates.
    """

    time: str | None = None
    by: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    every: Period | None = None

    def check(self) -> None:
        """Raise a UserError if the choice makes no sense."""
        check_period(self.every)
        if self.every and self.time is None:
            raise UsageError(f"{self.every}s need dates: name their column with --time (in Python, time=).")
        for names in ((*self.by, *filter(None, [self.time])), self.show):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise UsageError(f"the column {twice[0]!r} is named twice; each can be used once.")

    def check_columns(self, table: pa.Table) -> None:
        """Raise a UserError if a table has not all of the columns."""
        for name in (*filter(None, [self.time]), *self.by, *self.show):
            find_column(table, name)


class Segment(NamedTuple):
    """A column of categories: the values, and the position of that of each row."""

    codes: NDArray[np.int32]
    values: list[str]

    @staticmethod
    def of(column: pa.ChunkedArray) -> Segment:
        """Read a column; missing values are one more category."""
        encoded = pc.fill_null(as_strings(column), MISSING).dictionary_encode()
        return Segment(encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_pylist())

    def joined(self, other: Segment) -> Segment:
        """Append the rows of another segment with the same name."""
        code_of = {value: code for code, value in enumerate(self.values)}
        codes = np.array([code_of.setdefault(value, len(code_of)) for value in other.values], np.int32)
        return Segment(np.concatenate([self.codes, codes[other.codes]]), list(code_of)).in_order()

    def in_order(self) -> Segment:
        """Return it with the most frequent values first, and with the rarest as one if there are many."""
        values, place = frequent_values(self.values, np.bincount(self.codes, minlength=len(self.values)))
        return Segment(place[self.codes].astype(np.int32), values)


def frequent_values(values: Sequence[str], rows: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the values to tell apart, the most frequent first, and the position among them of each given one."""
    last = np.array([value in (MISSING, OTHER) for value in values], bool)
    order = np.lexsort((np.arange(len(values)), -np.asarray(rows), last))
    place = np.empty(len(values), np.intp)
    place[order] = np.arange(len(values))
    if len(values) <= MOST_VALUES + 1:
        return [values[i] for i in order], place
    return [*(values[i] for i in order[:MOST_VALUES]), OTHER], np.minimum(place, MOST_VALUES)


def note_on_values(name: str, number: int) -> list[str]:
    """Say that a segment has so many values that most of them count as one."""
    if number <= MOST_VALUES + 1:
        return []
    return [
        f"{name!r} has {number:,} different values; the {MOST_VALUES} with the most texts are compared, and the rest "
        f"counts as {OTHER}."
    ]


@dataclass(frozen=True, eq=False)
class Details:
    """What else is known of each row of the input.

    Attributes
    ----------
    time : str or None
        The name of the column of dates.
    days : ndarray of datetime64[D] or None
        The day of each row; NaT if it has none.
    segments : dict of str to Segment
        The segments, by the names of their columns.
    shown : dict of str to list of str
        The columns that are shown with the texts; a missing value is empty.
    """

    time: str | None = None
    days: NDArray[np.datetime64] | None = None
    segments: dict[str, Segment] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_counted(self) -> bool:
        """Whether there is something to count the groups by."""
        return self.days is not None or bool(self.segments)

    def joined(self, other: Details | None, n_other: int) -> Details:
        """Append the details of `n_other` more rows; what they do not have is missing."""
        more = other or Details()
        days = None
        if self.days is not None:
            none = np.full(n_other, np.datetime64("NaT"), "datetime64[D]")
            days = np.concatenate([self.days, none if more.days is None else more.days])
        absent = Segment(np.zeros(n_other, np.int32), [MISSING])
        segments = {name: one.joined(more.segments.get(name, absent)) for name, one in self.segments.items()}
        shown = {name: [*values, *more.shown.get(name, [""] * n_other)] for name, values in self.shown.items()}
        return Details(self.time, days, segments, shown)


class Read(NamedTuple):
    """The details of a table, and what was left out of its dates."""

    details: Details
    missing: int
    problems: dict[str, Problem]


def read_details(table: pa.Table, wanted: Wanted, reading: Reading | None, file: str = "") -> Read:
    """Take the wanted columns from a table, with dates read in the given way."""
    segments = {name: Segment.of(table.column(name)) for name in wanted.by}
    shown = {name: pc.fill_null(as_strings(table.column(name)), "").to_pylist() for name in wanted.show}
    if wanted.time is None or reading is None:
        return Read(Details(segments=segments, shown=shown), 0, {})
    dates = read_dates(table.column(wanted.time), reading, file)
    return Read(Details(wanted.time, dates.days, segments, shown), dates.missing, dates.problems)


def details_of(table: pa.Table, wanted: Wanted, n_rows: int) -> tuple[Details, list[str]]:
    """Take the wanted columns from a table; return them with notes on what they hold."""
    check_lengths(table, n_rows)
    wanted.check_columns(table)
    reading, notes = None, []
    if wanted.time is not None:
        found = survey(table.column(wanted.time))
        check_dates(table, wanted.time, found)
        reading = found.reading()
    details, missing, problems = read_details(table, wanted, reading)
    if wanted.time is not None and reading is not None:
        notes += notes_on_dates(wanted.time, reading, missing, problems)
    for name, segment in details.segments.items():
        notes += note_on_values(name, len(segment.values))
    ordered = {name: segment.in_order() for name, segment in details.segments.items()}
    return replace(details, segments=ordered), notes


def details_like(known: Details | None, texts: Any, text_column: str | None) -> tuple[Details | None, list[str]]:
    """Take the columns that the details of a model have from a data frame; a note names those that it has not."""
    if known is None or not is_data_frame(texts):
        return None, []
    table = as_table(texts, text_column).table
    names = [*filter(None, [known.time]), *known.segments, *known.shown]
    missing = [name for name in dict.fromkeys(names) if name not in table.column_names]
    notes = [f"The column {name!r} of the model is missing in these texts." for name in missing]
    wanted = Wanted(
        None if known.time in missing else known.time,
        tuple(name for name in known.segments if name not in missing),
        tuple(name for name in known.shown if name not in missing),
    )
    details, more = details_of(table, wanted, table.num_rows)
    return details, notes + more


def wanted_columns(
    texts: Any, text_column: str | None, time: Any, by: Any, show: Any, every: Any
) -> tuple[pa.Table, Wanted] | None:
    """Return a table of what the arguments of :func:`cluster_texts` name or hold; None if they ask for nothing.

    A name is that of a column of the data frame `texts`. Values come as a series or a sequence; those of segments and
    shown columns in a mapping from their names.
    """
    given: dict[str, Any] = {}
    if time is not None and not isinstance(time, str):
        name = str(getattr(time, "name", None) or "time")
        given[name], time = time, name
    names = [(some,) if isinstance(some, str) else tuple(some) for some in (by, show)]
    for some in (by, show):
        given |= some if isinstance(some, Mapping) else {}
    wanted = Wanted(time, names[0], names[1], every)
    wanted.check()
    if wanted == Wanted():
        return None
    table = pa.table({name: _as_column(values) for name, values in given.items()})
    named = [name for name in (wanted.time, *wanted.by, *wanted.show) if name and name not in given]
    if named and not is_data_frame(texts):
        raise UserError(f"{named[0]!r} names a column of a data frame, but texts is none; give its values instead.")
    if named:
        others = as_table(texts, text_column).table
        check_lengths(table, others.num_rows)
        kept = others.select([name for name in others.column_names if name not in given])
        for name in table.column_names:
            kept = kept.append_column(name, table.column(name))
        table = kept
    return table, wanted


def check_lengths(table: pa.Table, n_rows: int) -> None:
    """Raise a UserError unless the columns have a value for each text."""
    if table.num_columns and table.num_rows != n_rows:
        raise UserError(
            f"There are {n_rows:,} texts but {table.num_rows:,} values of {table.column_names[0]!r}; give one per text."
        )


def _as_column(values: Any) -> Any:
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return build_column("", [None if is_missing(value) else value for value in values])[1]
