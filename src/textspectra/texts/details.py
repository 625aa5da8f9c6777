"""The columns beside the texts: dates, segments to compare by, and columns that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..core.validation import is_missing
from ..errors import UsageError, UserError
from ..tables.columns import as_strings, find_column
from ..tables.dates import Problem, Reading, check_dates, notes_on_dates, read_dates, survey
from ..tables.frames import as_table, is_data_frame
from ..tables.lines import build_column

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries

    from .corpus import Texts

Period = Literal["day", "week", "month", "quarter", "year"]
Days = NDArray[np.datetime64]

Values: TypeAlias = "Iterable[object] | IntoSeries"
"""One value per text."""

Columns: TypeAlias = "str | Sequence[str] | Mapping[str, Values]"
"""Columns of a data frame by name, or values by the names of their columns."""

COURSE_PERIODS, MOST_PERIODS = 4, 60
"""Fewer periods hardly show a course, so shorter ones are taken even if they have few texts; more are hard to read."""

TEXTS_OF_A_CLUSTER = 5
"""Texts that a group of mean size should have in a period, so that its share means something."""

MOST_VALUES = 50
"""The values of a segment with the most rows are kept apart; the others become one."""

MISSING, OTHER = "(missing)", "(other)"


def choose_period(first: np.datetime64, last: np.datetime64, n_texts: int, n_clusters: int) -> Period:
    """Return the shortest period that suits the span of the dates and the number of texts."""
    number = {every: len(periods_between(first, last, every)) for every in get_args(Period)}
    few = [every for every in get_args(Period) if number[every] <= MOST_PERIODS] or ["year"]
    course = [every for every in few if number[every] >= COURSE_PERIODS]
    full = [every for every in course if n_texts >= TEXTS_OF_A_CLUSTER * n_clusters * number[every]]
    chosen: Period = full[0] if full else course[-1] if course else few[0]
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
    """Return the first day of every period that overlaps the days from `first` to `last`."""
    days = np.arange(first.astype("datetime64[D]"), last.astype("datetime64[D]") + 1)
    return np.unique(period_starts(days, every))


def name_period(first: np.datetime64, last: np.datetime64, every: Period) -> str:
    """Return the name of a period, or of the run of periods that begin on `first` and `last`."""
    start, end = _name(first, every), _name(last, every)
    if start == end:
        return f"week of {start}" if every == "week" else start
    head, _, year = start.rpartition(" ")
    name = f"{head} to {end}" if head and end.endswith(year) else f"{start} to {end}"
    return f"weeks of {name}" if every == "week" else name


def _name(start: np.datetime64, every: Period) -> str:
    day = start.astype("datetime64[D]").item()
    if every == "year":
        return f"{day.year}"
    if every == "quarter":
        return f"Q{(day.month + 2) // 3} {day.year}"
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[day.month - 1]
    return f"{month} {day.year}" if every == "month" else f"{day.day} {month} {day.year}"


class Wanted(NamedTuple):
    """The columns to keep beside the texts, by name; `every` is the length of a period (None: chosen by the dates)."""

    time: str | None = None
    by: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    every: Period | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns; one may be compared by and shown."""
        return (*filter(None, [self.time]), *self.by, *self.show)

    def check(self) -> None:
        """Raise a UserError if the choice makes no sense."""
        if self.every is not None and self.every not in get_args(Period):
            raise UserError(f"every must be one of {', '.join(get_args(Period))}, but it is {self.every!r}.")
        if self.every and self.time is None:
            raise UsageError(f"{self.every}s need dates: name their column with --time (in Python, time=).")
        for names in ((*self.by, *filter(None, [self.time])), self.show):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise UsageError(f"the column {twice[0]!r} is named twice; each can be used once.")

    def check_columns(self, table: pa.Table) -> None:
        """Raise a UserError if a table does not have all of the columns."""
        for name in self.names:
            find_column(table, name)


class Segment(NamedTuple):
    """A column of categories: the values, and the position of each row's value among them."""

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
        """Put the most frequent values first; if there are many, join the rarest."""
        values, place = frequent_values(self.values, np.bincount(self.codes, minlength=len(self.values)))
        return Segment(place[self.codes].astype(np.int32), values)


def frequent_values(values: Sequence[str], rows: NDArray[np.integer]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the values to keep apart, the most frequent first, and the position among them of each given value."""
    last = np.array([value in (MISSING, OTHER) for value in values], bool)
    order = np.lexsort((np.arange(len(values)), -np.asarray(rows), last))
    place = np.empty(len(values), np.intp)
    place[order] = np.arange(len(values))
    if len(values) <= MOST_VALUES + 1:
        return [values[i] for i in order], place
    return [*(values[i] for i in order[:MOST_VALUES]), OTHER], np.minimum(place, MOST_VALUES)


def note_on_values(name: str, number: int) -> list[str]:
    """Return a note if a segment has too many values, and most of them count as one."""
    if number <= MOST_VALUES + 1:
        return []
    return [
        f"{name!r} has {number:,} different values; the {MOST_VALUES} with the most texts are compared, and the rest "
        f"counts as {OTHER}."
    ]


@dataclass(frozen=True, eq=False)
class Details:
    """The columns beside the texts, row by row.

    `time` is the name of the column of dates, and `days` has the day of each row (NaT: none). `segments` and `shown`
    have their columns by name; a missing value is a category of a segment, and empty in a shown column.
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
        """Append the details of `n_other` more rows; columns that these do not have are missing there."""
        more = other or Details()
        days = None
        if self.days is not None:
            none = np.full(n_other, np.datetime64("NaT"), "datetime64[D]")
            days = np.concatenate([self.days, none if more.days is None else more.days])
        absent = Segment(np.zeros(n_other, np.int32), [MISSING])
        segments = {name: known.joined(more.segments.get(name, absent)) for name, known in self.segments.items()}
        columns = {name: [*values, *more.shown.get(name, [""] * n_other)] for name, values in self.shown.items()}
        return Details(self.time, days, segments, columns)


class Extract(NamedTuple):
    """The details of a table, the number of missing dates, and the problems with others."""

    details: Details
    missing: int
    problems: dict[str, Problem]


def read_details(table: pa.Table, wanted: Wanted, reading: Reading | None, file: str = "") -> Extract:
    """Take the wanted columns from a table, with dates read in the given way."""
    segments = {name: Segment.of(table.column(name)) for name in wanted.by}
    columns = {name: pc.fill_null(as_strings(table.column(name)), "").to_pylist() for name in wanted.show}
    if wanted.time is None or reading is None:
        return Extract(Details(segments=segments, shown=columns), 0, {})
    dates = read_dates(table.column(wanted.time), reading, file)
    return Extract(Details(wanted.time, dates.days, segments, columns), dates.missing, dates.problems)


def details_of(table: pa.Table, wanted: Wanted, n_rows: int) -> tuple[Details, list[str]]:
    """Take the wanted columns from a table; return them with notes on their values."""
    check_lengths(table, n_rows)
    wanted.check_columns(table)
    reading, notes = None, []
    if wanted.time is not None:
        surveyed = survey(table.column(wanted.time))
        check_dates(table, wanted.time, surveyed)
        reading = surveyed.reading()
    details, missing, problems = read_details(table, wanted, reading)
    if wanted.time is not None and reading is not None:
        notes += notes_on_dates(wanted.time, reading, missing, problems)
    for name, segment in details.segments.items():
        notes += note_on_values(name, len(segment.values))
    ordered = {name: segment.in_order() for name, segment in details.segments.items()}
    return replace(details, segments=ordered), notes


def details_like(known: Details | None, texts: Texts, text_column: str | None) -> tuple[Details | None, list[str]]:
    """Take the columns of a model's details from a data frame; notes name the columns that it does not have."""
    if known is None or not is_data_frame(texts):
        return None, []
    table = as_table(texts, text_column).table
    names = set(table.column_names)
    wanted = Wanted(known.time, tuple(known.segments), tuple(known.shown))
    missing = [name for name in dict.fromkeys(wanted.names) if name not in names]
    by, show = (tuple(name for name in columns if name in names) for columns in (known.segments, known.shown))
    present = Wanted(known.time if known.time in names else None, by, show)
    details, notes = details_of(table, present, table.num_rows)
    return details, [*(f"The column {name!r} of the model is missing in these texts." for name in missing), *notes]


def wanted_columns(
    texts: Texts, text_column: str | None, time: str | Values | None, by: Columns, show: Columns, every: Period | None
) -> tuple[pa.Table, Wanted] | None:
    """Return a table of the columns that the arguments of :func:`cluster_texts` name or hold; None if there are none.

    A name stands for a column of the data frame `texts`. Values come as a series or a sequence; for segments and
    shown columns, in a mapping from their names.
    """
    given: dict[str, Values] = {}
    if time is not None and not isinstance(time, str):
        name = str(getattr(time, "name", None) or "time")
        given[name], time = time, name
    for columns in (by, show):
        given |= columns if isinstance(columns, Mapping) else {}
    of_segments, of_shown = ((names,) if isinstance(names, str) else tuple(names) for names in (by, show))
    wanted = Wanted(time, of_segments, of_shown, every)
    wanted.check()
    if wanted == Wanted():
        return None
    table = pa.table({name: _as_column(values) for name, values in given.items()})
    named = [name for name in wanted.names if name not in given]
    if not named:
        return table, wanted
    if not is_data_frame(texts):
        raise UserError(f"{named[0]!r} names a column of a data frame, but texts is not one; give its values instead.")
    frame = as_table(texts, text_column).table
    check_lengths(table, frame.num_rows)
    frame = frame.select([name for name in frame.column_names if name not in given])
    for name in table.column_names:
        frame = frame.append_column(name, table.column(name))
    return frame, wanted


def check_lengths(table: pa.Table, n_rows: int) -> None:
    """Raise a UserError unless the columns have a value for each text."""
    if table.num_columns and table.num_rows != n_rows:
        raise UserError(
            f"There are {n_rows:,} texts but {table.num_rows:,} values of {table.column_names[0]!r}; give one per text."
        )


def _as_column(values: Values) -> pa.Array:
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return build_column("", [None if is_missing(value) else value for value in values])[1]
