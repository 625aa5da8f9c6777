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
from ..tables.columns import TextTable, as_strings, find_column
from ..tables.dates import Problem, Reading, check_dates, notes_on_dates, read_dates, survey
from ..tables.lines import build_column
from .corpus import Texts, open_texts

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries

Period = Literal["day", "week", "month", "quarter", "year"]
Days = NDArray[np.datetime64]

Values: TypeAlias = "Iterable[object] | IntoSeries"  # one value per text
Columns: TypeAlias = "str | Sequence[str] | Mapping[str, Values]"  # names of columns, or values by these names

COURSE_PERIODS = 4  # fewer hardly show a course, so shorter periods are taken even if they have few texts
MOST_PERIODS = 60  # more are hard to read
TEXTS_OF_A_CLUSTER = 5  # that a group of mean size should have in a period, so that its share means something
MOST_VALUES = 50  # of a segment that are kept apart, those with the most rows; the others become one
MISSING, OTHER = "(missing)", "(other)"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


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
    return np.asarray(pc.floor_temporal(pa.array(days), unit=every), "datetime64[D]")


def periods_between(first: np.datetime64, last: np.datetime64, every: Period) -> Days:
    """Return the first day of every period that overlaps the days from `first` to `last`."""
    return np.unique(period_starts(np.arange(first, last + 1, dtype="datetime64[D]"), every))


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
    month = MONTHS[day.month - 1]
    names = {"month": f"{month} {day.year}", "quarter": f"Q{(day.month + 2) // 3} {day.year}", "year": f"{day.year}"}
    return names.get(every, f"{day.day} {month} {day.year}")


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
    kept = f"the {MOST_VALUES} with the most texts are compared, and the rest counts as {OTHER}."
    return [f"{name!r} has {number:,} different values; {kept}"] if number > MOST_VALUES + 1 else []


@dataclass(frozen=True, eq=False)
class Details:
    """The columns beside the texts, row by row."""

    time: str | None = None  # the name of the column of dates
    days: NDArray[np.datetime64] | None = None  # the day of each row; NaT if it has none
    segments: dict[str, Segment] = field(default_factory=dict)  # a missing value is a category
    shown: dict[str, list[str]] = field(default_factory=dict)  # a missing value is empty

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


def read_details(
    table: pa.Table, wanted: Wanted, reading: Reading | None, file: str = ""
) -> tuple[Details, int, dict[str, Problem]]:
    """Take the wanted columns from a table; also return the number of missing dates, and the problems with others."""
    segments = {name: Segment.of(table.column(name)) for name in wanted.by}
    columns = {name: pc.fill_null(as_strings(table.column(name)), "").to_pylist() for name in wanted.show}
    if wanted.time is None or reading is None:
        return Details(segments=segments, shown=columns), 0, {}
    dates = read_dates(table.column(wanted.time), reading, file)
    return Details(wanted.time, dates.days, segments, columns), dates.missing, dates.problems


def details_of(table: pa.Table, wanted: Wanted) -> tuple[Details, list[str]]:
    """Take the wanted columns from a table; return them with notes on their values."""
    wanted.check_columns(table)
    reading = None
    if wanted.time is not None:
        surveyed = survey(table.column(wanted.time))
        check_dates(table, wanted.time, surveyed)
        reading = surveyed.reading()
    details, missing, problems = read_details(table, wanted, reading)
    notes = notes_on_dates(wanted.time, reading, missing, problems) if wanted.time and reading else []
    for name, segment in details.segments.items():
        notes += note_on_values(name, len(segment.values))
    ordered = {name: segment.in_order() for name, segment in details.segments.items()}
    return replace(details, segments=ordered), notes


def details_like(known: Details | None, texts: Texts, text_column: str | None) -> tuple[Details | None, list[str]]:
    """Take the columns of a model's details from a data frame; notes name the columns that it does not have."""
    opened = None if known is None else open_texts(texts, text_column)
    if known is None or not isinstance(opened, TextTable):
        return None, []
    names = set(opened.table.column_names)
    wanted = Wanted(known.time, tuple(known.segments), tuple(known.shown))
    missing = [name for name in dict.fromkeys(wanted.names) if name not in names]
    by, show = (tuple(name for name in columns if name in names) for columns in (wanted.by, wanted.show))
    details, notes = details_of(opened.table, Wanted(known.time if known.time in names else None, by, show))
    return details, [*(f"The column {name!r} of the model is missing in these texts." for name in missing), *notes]


def wanted_columns(
    texts: Texts, n_rows: int, time: str | Values | None, by: Columns, show: Columns, every: Period | None
) -> tuple[pa.Table, Wanted]:
    """Return a table with the columns that the arguments of :func:`cluster_texts` name or hold, and which these are."""
    given: dict[str, Values] = {}
    if time is not None and not isinstance(time, str):
        name = str(getattr(time, "name", None) or "time")
        given[name], time = time, name
    for columns in (by, show):
        given |= columns if isinstance(columns, Mapping) else {}
    of_segments, of_shown = ((names,) if isinstance(names, str) else tuple(names) for names in (by, show))
    wanted = Wanted(time, of_segments, of_shown, every)
    wanted.check()
    table = {name: _as_column(values) for name, values in given.items()}
    for name, column in table.items():
        if len(column) != n_rows:
            raise UserError(f"There are {n_rows:,} texts but {len(column):,} values of {name!r}; give one per text.")
    named = [name for name in wanted.names if name not in given]
    if isinstance(texts, TextTable):
        table = dict(zip(texts.table.column_names, texts.table.columns, strict=True)) | table
    elif named:
        raise UserError(f"{named[0]!r} names a column of a data frame, but texts is not one; give its values instead.")
    return pa.table(table), wanted


def _as_column(values: Values) -> pa.Array:
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return build_column("", [None if is_missing(value) else value for value in values])[1]
