"""Columns of dates: recognized, read in one way from the first row to the last, and counted where they cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UserError
from .columns import SAMPLE, as_strings, holds_text

Order = Literal["day-first", "month-first"]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
MONTH += r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
YEAR = r"(?P<year>\d{4}|\d{2})"
TIME = (
    r"(?:(?:T|,?\s+|,?\s+at\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2}(?:[.,]\d+)?)?(?:\s*(?P<half>[ap])\.?m\.?)?"
    r"(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?(?:\s*\([A-Z]+\))?)?"
)
SHAPES = [
    re.compile(shape + TIME, re.IGNORECASE | re.ASCII)
    for shape in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        r"(?P<first>\d{1,2})(?P<sign>[/.-])(?P<second>\d{1,2})(?P=sign)" + YEAR,
        WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s./-]*" + MONTH + r"[\s,./-]*" + YEAR,
        WEEKDAY + MONTH + r"[\s./-]*(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s,./-]+" + YEAR,
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})-(?P<month>\d{2})",
        MONTH + r"[\s-]+(?P<year>\d{4})",
    )
]  # fmt: skip


def parse_day(text: str, order: Order) -> date | None:
    """Return the day that a text names, in UTC if it has an offset; None if it names none."""
    found = _match(text)
    if found is None:
        return None
    parts = found.groupdict()
    if "first" in parts:
        day, month = (parts["first"], parts["second"])[:: 1 if order == "day-first" else -1]
    else:
        day, month = parts.get("day", "1"), parts["month"]
    number = int(month) if month.isdecimal() else MONTHS.index(month[:3].lower()) + 1
    try:
        moment = datetime(_year(parts["year"]), number, int(day), *_time(parts))
        return (moment - _offset(parts.get("zone"))).date()
    except (ValueError, OverflowError):
        return None


def order_shown_by(text: str) -> Order | Literal["plain", "either", "either/"] | None:
    """Tell which order of day and month a date shows; None if it is no date.

    "plain" has no such order, and "either" may be read in both; with slashes it is "either/".
    """
    orders = [order for order in get_args(Order) if parse_day(text, order)]
    if not orders:
        return None
    found = _match(text)
    assert found is not None  # noqa: S101 - for the type checker
    parts = found.groupdict()
    if "first" not in parts or parts["first"] == parts["second"]:
        return "plain"
    if len(orders) == 2:
        return "either/" if parts["sign"] == "/" else "either"
    return "day-first" if "day-first" in orders else "month-first"


def _match(text: str) -> re.Match[str] | None:
    return next(filter(None, (shape.fullmatch(text) for shape in SHAPES)), None)


def _year(digits: str) -> int:
    """Read two digits as a year from 1970 to 2069, as most spreadsheets do."""
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year < 70 else 1900)


def _time(parts: dict[str, str | None]) -> tuple[int, int]:
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    half = (parts["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError("no such hour")
    return (hour % 12 + 12 * (half == "p") if half else hour), minute


def _offset(zone: str | None) -> timedelta:
    if not zone or zone[0] not in "+-":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
    return timedelta(hours=hours, minutes=minutes) * (1 if zone[0] == "+" else -1)


Days = NDArray[np.datetime64]
Unit = Literal["excel", "seconds", "milliseconds", "yyyymmdd", "year"]

NUMBERS: dict[Unit, tuple[float, float]] = {
    "year": (1900, 2101),
    "excel": (25_569, 73_051),  # 1970 to 2100
    "yyyymmdd": (19_000_101, 21_001_232),
    "seconds": (100_000_000, 4_102_444_800),  # 1973 to 2100
    "milliseconds": (100_000_000_000, 4_102_444_800_000),
}
"""The range of numbers that can be dates in each unit; no two ranges overlap."""

UNITS: dict[Unit, str] = {
    "excel": "day numbers of Excel",
    "seconds": "seconds since 1970",
    "milliseconds": "milliseconds since 1970",
    "yyyymmdd": "year, month and day",
    "year": "years",
}
EARLIEST = np.datetime64("1900-01-01")
"""Earlier dates are the zero of a spreadsheet or a slip, and are left out."""


class Survey(NamedTuple):
    """What the values of a column say about how its dates are to be read; surveys of several files can be added."""

    filled: int = 0  # values that are not missing
    readable: int = 0  # values that are dates in some order or unit
    day_first: int = 0  # dates such as 31/12/2026, which only make sense with the day first
    month_first: int = 0
    either: int = 0  # dates such as 1/2/2026
    slashes: int = 0  # those of them that are written with slashes
    units: tuple[int, ...] = (0,) * len(NUMBERS)  # numbers that may be dates, by unit
    example: str = ""  # the first value

    def __add__(self, other: Survey) -> Survey:  # type: ignore[override]
        units = tuple(one + another for one, another in zip(self.units, other.units, strict=True))
        return Survey(
            self.filled + other.filled, self.readable + other.readable, self.day_first + other.day_first,
            self.month_first + other.month_first, self.either + other.either, self.slashes + other.slashes,
            units, self.example or other.example,
        )  # fmt: skip

    def reading(self) -> Reading:
        """Decide how all values are read."""
        by_default = self.slashes * 2 > self.either
        month_first = by_default if self.month_first == self.day_first else self.month_first > self.day_first
        unit: Unit | None = None
        if any(self.units):
            unit = list(NUMBERS)[int(np.argmax(self.units))]
        is_guess = self.either > 0 and not self.day_first and not self.month_first
        return Reading("month-first" if month_first else "day-first", unit, is_guess)


class Reading(NamedTuple):
    """How the dates of a column are read."""

    order: Order
    unit: Unit | None
    is_guess: bool  # no date shows the order

    def note(self, name: str) -> str:
        """Say how the dates were read, if that is not obvious."""
        if self.unit is not None:
            return f"The numbers in {name!r} were read as {UNITS[self.unit]}."
        if self.is_guess:
            order = "month/day/year" if self.order == "month-first" else "day/month/year"
            return f"The dates in {name!r} were read as {order}; none of them shows which comes first."
        return ""


class Problem(NamedTuple):
    """Values of one kind that are left out: how many, the row of the first (from 1), and what it is."""

    rows: int = 0
    first: int = 0
    example: str = ""
    file: str = ""

    def __add__(self, other: Problem) -> Problem:  # type: ignore[override]
        return (self if self.rows else other)._replace(rows=self.rows + other.rows)

    def where(self) -> str:
        """Say where the first one is."""
        return f"the first is {self.example!r} in row {self.first:,}" + (f" of '{self.file}'" if self.file else "")


class Dates(NamedTuple):
    """The day of each row (NaT: none), and what was left out."""

    days: Days
    missing: int
    problems: dict[str, Problem]  # "unreadable", "future", "early"


def survey(column: pa.ChunkedArray | pa.Array) -> Survey:
    """Look at the values of a column."""
    if _is_date_type(column.type):
        filled = len(column) - column.null_count
        return Survey(filled, filled)
    values, counts = _distinct(column)
    example = next(iter(values), "")
    if values and all(isinstance(value, float) for value in values):
        numbers = np.array(values)
        units = tuple(int(counts[(numbers >= low) & (numbers < high)].sum()) for low, high in NUMBERS.values())
        return Survey(int(counts.sum()), max(units), units=units, example=f"{example:g}")
    shown = [order_shown_by(str(value)) for value in values]
    of = {kind: sum(int(n) for n, one in zip(counts, shown, strict=True) if one == kind) for kind in set(shown)}
    either = of.get("either", 0) + of.get("either/", 0)
    readable = sum(n for kind, n in of.items() if kind is not None)
    return Survey(
        int(counts.sum()), readable, of.get("day-first", 0), of.get("month-first", 0), either, of.get("either/", 0),
        example=str(example),
    )  # fmt: skip


def read_dates(column: pa.ChunkedArray | pa.Array, reading: Reading, file: str = "") -> Dates:
    """Read the dates of a column in the way that was decided; times with an offset become days of UTC.

    Dates before 1900, and those more than a day in the future, are left out.
    """
    days, filled = _days_of(column, reading)
    latest = np.datetime64(datetime.now(UTC).date() + timedelta(days=1))
    out = {
        "unreadable": filled & np.isnat(days),
        "future": ~np.isnat(days) & (days > latest),
        "early": ~np.isnat(days) & (days < EARLIEST),
    }
    problems = {}
    for kind, wrong in out.items():
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = int(rows[0])
            problems[kind] = Problem(len(rows), row + 1, str(column[row].as_py()), file)
    days[out["future"] | out["early"]] = np.datetime64("NaT")
    return Dates(days, int((~filled).sum()), problems)


def check_dates(table: pa.Table, name: str, found: Survey) -> None:
    """Raise a UserError if no value of a column is a date; it names the columns that hold some."""
    if found.readable:
        return
    others = [repr(field.name) for field in table.schema if field.name != name and _seems_dates(table, field)]
    first = f"its first value is {found.example!r}" if found.example else "all of its values are missing"
    where = f"Dates are in: {', '.join(others)}" if others else "No other column seems to hold dates either."
    raise UserError(f"the column {name!r} holds no dates; {first}. {where}")


def notes_on_dates(name: str, reading: Reading, missing: int, problems: dict[str, Problem]) -> list[str]:
    """Say in words how a column of dates was read, and which of its rows are left out."""
    notes = [reading.note(name)]
    words = {
        "unreadable": "no date that can be read",
        "future": "a date in the future, which is left out",
        "early": "a date before 1900, which is left out",
    }
    for kind, meaning in words.items():
        if kind in problems:
            problem = problems[kind]
            rows = "1 row has" if problem.rows == 1 else f"{problem.rows:,} rows have"
            notes.append(f"{rows} {meaning}, in {name!r}; {problem.where()}.")
    if missing:
        notes.append(f"{'1 row has' if missing == 1 else f'{missing:,} rows have'} nothing in {name!r}.")
    return [note for note in notes if note]


def _is_date_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_number_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _seems_dates(table: pa.Table, field: pa.Field) -> bool:
    column = table.column(field.name).slice(0, SAMPLE)
    if _is_date_type(field.type):
        return True
    found = survey(column) if holds_text(field) else Survey()
    return found.readable * 2 > found.filled


def _distinct(column: pa.ChunkedArray | pa.Array) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values as floats if all of them are numbers, otherwise as strings, and how often each is."""
    values, codes = _coded(column)
    return values, np.bincount(codes[codes >= 0], minlength=len(values))


def _coded(column: pa.ChunkedArray | pa.Array) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values, and the position of that of each row; -1 for a missing one."""
    if not _is_number_type(column.type):
        column = as_strings(column)
    elif isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    values = encoded.dictionary
    if values.type != pa.float64() and (_is_number_type(values.type) or _all_digits(values)):
        values = values.cast(pa.float64(), safe=False)
    return values.to_pylist(), codes


def _all_digits(values: pa.Array) -> bool:
    """Tell whether all strings are numbers; eight digits are a date that is written without signs."""
    return len(values) > 0 and bool(pc.all(pc.match_substring_regex(values, r"^\d+(\.\d+)?$")).as_py())


def _days_of(column: pa.ChunkedArray | pa.Array, reading: Reading) -> tuple[Days, NDArray[np.bool_]]:
    """Return the day of each row, NaT if it has none, and whether the row has a value."""
    if _is_date_type(column.type):
        seconds = column.cast(pa.timestamp("s", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        filled = ~np.asarray(seconds.is_null())
        numbers = pc.fill_null(seconds, 0).to_numpy()
        days = np.floor_divide(numbers, 86_400).astype("datetime64[D]")
        days[~filled] = np.datetime64("NaT")
        return days, filled
    values, codes = _coded(column)
    found = [_day_of_number(value, reading.unit) if isinstance(value, float) else parse_day(value, reading.order)
             for value in values]  # fmt: skip
    return np.array([*found, None], "datetime64[D]")[codes], codes >= 0


def _day_of_number(value: float, unit: Unit | None) -> date | None:
    if unit is None or not NUMBERS[unit][0] <= value < NUMBERS[unit][1]:
        return None
    if unit == "yyyymmdd":
        return parse_day(str(int(value)), "day-first")
    if unit == "year":
        return date(int(value), 1, 1)
    since = {"excel": date(1899, 12, 30), "seconds": date(1970, 1, 1), "milliseconds": date(1970, 1, 1)}[unit]
    length = {"excel": 1, "seconds": 86_400, "milliseconds": 86_400_000}[unit]
    return since + timedelta(days=int(value // length))


def joined_problems(several: Iterable[dict[str, Problem]]) -> dict[str, Problem]:
    """Add up the problems of several files; the first one of the first file is the example."""
    joined: dict[str, Problem] = {}
    for problems in several:
        for kind, problem in problems.items():
            joined[kind] = joined.get(kind, Problem()) + problem
    return joined
