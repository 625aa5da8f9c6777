"""Columns of dates: recognized, read in the same order of day and month throughout, with a count of the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UserError
from ..hygiene import plural
from .columns import SAMPLE_VALUES, as_strings, holds_text, is_any

Order = Literal["day-first", "month-first"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
_MONTH += r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
_YEAR = r"(?P<year>\d{4}|\d{2})"
_TIME = (
    r"(?:(?:T|,?\s+|,?\s+at\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2}(?:[.,]\d+)?)?(?:\s*(?P<half>[ap])\.?m\.?)?"
    r"(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?(?:\s*\([A-Z]+\))?)?"
)
# Not `dateutil`: it takes eight times as long, and it reads "5", "12:30" and "2026-13-01" as dates, too.
SHAPES = [
    re.compile(shape + _TIME, re.IGNORECASE | re.ASCII)
    for shape in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        r"(?P<first>\d{1,2})(?P<sign>[/.-])(?P<second>\d{1,2})(?P=sign)" + _YEAR,
        _WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s./-]*" + _MONTH + r"[\s,./-]*" + _YEAR,
        _WEEKDAY + _MONTH + r"[\s./-]*(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s,./-]+" + _YEAR,
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})-(?P<month>\d{2})",
        _MONTH + r"[\s-]+(?P<year>\d{4})",
    )
]  # fmt: skip

# The range of numbers that can be dates in each unit, and the unit in words; no two ranges overlap.
UNITS: dict[str, tuple[float, float, str]] = {
    "year": (1900, 2101, "years"),
    "excel": (25_569, 73_051, "day numbers of Excel"),  # 1970 to 2100
    "yyyymmdd": (19_000_101, 21_001_232, "year, month and day"),
    "seconds": (100_000_000, 4_102_444_800, "seconds since 1970"),  # 1973 to 2100
    "milliseconds": (100_000_000_000, 4_102_444_800_000, "milliseconds since 1970"),
}

LEFT_OUT = {
    "unreadable": "no date that can be read",
    "future": "a date in the future, which is left out",
    "early": "a date before 1900, which is left out",
}
EARLIEST = np.datetime64("1900-01-01")  # earlier dates are the zero of a spreadsheet, or a slip


class Survey(NamedTuple):
    """What the values of a column say about how its dates are to be read; surveys of several files can be added.

    `filled` counts the values that are not missing, and `kinds` the dates among them: by unit if they are numbers.
    Otherwise they are "day-first" (31/12/2026), "month-first", "either/" (1/2/2026), "either" (1.2.2026) or "plain".
    """

    filled: int = 0
    kinds: Counter[str] = Counter()  # noqa: RUF012 - never changed
    example: str = ""  # the first value

    def __add__(self, other: Survey) -> Survey:  # type: ignore[override]
        return Survey(self.filled + other.filled, self.kinds + other.kinds, self.example or other.example)

    @property
    def readable(self) -> int:
        """Values that are dates in some order, or in the most likely unit."""
        dates = sum(n for kind, n in self.kinds.items() if kind not in UNITS)
        return dates + max(self.kinds[unit] for unit in UNITS)

    def reading(self) -> Reading:
        """Decide how all values are read."""
        kinds = self.kinds
        either = kinds["either"] + kinds["either/"]
        month_first = kinds["month-first"] > kinds["day-first"]
        if kinds["month-first"] == kinds["day-first"]:  # dates with slashes are mostly American
            month_first = 2 * kinds["either/"] > either
        unit = max(UNITS, key=lambda unit: kinds[unit])
        is_guess = either > 0 and not kinds["day-first"] and not kinds["month-first"]
        return Reading("month-first" if month_first else "day-first", unit if kinds[unit] else None, is_guess)


class Reading(NamedTuple):
    """How the dates of a column are read: the order, and the unit of numbers. In a guess, no date shows the order."""

    order: Order
    unit: str | None
    is_guess: bool


class Problem(NamedTuple):
    """Values of one kind that are left out: how many, and the row (from 1), value and file of the first."""

    rows: int
    first: int
    example: str
    file: str = ""


class Dates(NamedTuple):
    """The day of each row (NaT: none), and what was left out."""

    days: NDArray[np.datetime64]
    missing: int
    problems: dict[str, Problem]  # by the keys of LEFT_OUT


def survey(column: pa.ChunkedArray | pa.Array) -> Survey:
    """Count the kinds of dates in a column."""
    if is_any(column.type, "date", "timestamp"):
        filled = len(column) - column.null_count
        return Survey(filled, Counter(plain=filled))
    values, codes = _coded(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if values and isinstance(values[0], float):
        numbers = np.array(values)
        fits = {unit: (numbers >= low) & (numbers < high) for unit, (low, high, _) in UNITS.items()}
        kinds = Counter({unit: int(counts[where].sum()) for unit, where in fits.items()})
        return Survey(int(counts.sum()), kinds, f"{values[0]:g}")
    kinds = Counter()
    for value, count in zip(values, counts.tolist(), strict=True):
        if (kind := _order_of(value)) is not None:
            kinds[kind] += count
    return Survey(int(counts.sum()), kinds, next(iter(values), ""))


def read_dates(column: pa.ChunkedArray | pa.Array, reading: Reading, file: str = "") -> Dates:
    """Read the dates of a column in the way that was decided; those in the far past or the future are left out."""
    if is_any(column.type, "date", "timestamp"):
        seconds = column.cast(pa.timestamp("s", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        filled = ~np.asarray(seconds.is_null())
        days = np.floor_divide(pc.fill_null(seconds, 0).to_numpy(), 86_400).astype("datetime64[D]")
        days[~filled] = np.datetime64("NaT")
    else:
        values, codes = _coded(column)
        parsed = [
            _day_of_number(value, reading.unit) if isinstance(value, float) else parse_day(value, reading.order)
            for value in values
        ]
        days, filled = np.array([*parsed, None], "datetime64[D]")[codes], codes >= 0
    latest = np.datetime64(datetime.now(UTC).date() + timedelta(days=1))
    problems = {}
    for kind, wrong in zip(LEFT_OUT, (filled & np.isnat(days), days > latest, days < EARLIEST), strict=True):
        if wrong.any():
            row = int(wrong.argmax())
            problems[kind] = Problem(int(wrong.sum()), row + 1, str(column[row].as_py()), file)
            days[wrong] = np.datetime64("NaT")
    return Dates(days, int((~filled).sum()), problems)


def joined_problems(several: Iterable[dict[str, Problem]]) -> dict[str, Problem]:
    """Add up the problems of several files; the first one of the first file is the example."""
    joined: dict[str, Problem] = {}
    for kind, problem in chain.from_iterable(problems.items() for problems in several):
        known = joined.get(kind, problem._replace(rows=0))
        joined[kind] = known._replace(rows=known.rows + problem.rows)
    return joined


def notes_on_dates(name: str, reading: Reading, missing: int, problems: dict[str, Problem]) -> list[str]:
    """Say in words how a column of dates was read, and which of its rows are left out."""
    notes = []
    if reading.unit is not None:
        notes.append(f"The numbers in {name!r} were read as {UNITS[reading.unit][2]}.")
    elif reading.is_guess:
        order = "month/day/year" if reading.order == "month-first" else "day/month/year"
        notes.append(f"The dates in {name!r} were read as {order}; none of them shows which comes first.")
    for kind, meaning in LEFT_OUT.items():
        if problem := problems.get(kind):
            where = f"row {problem.first:,}" + (f" of '{problem.file}'" if problem.file else "")
            rows = plural(problem.rows, "row has", "rows have")
            notes.append(f"{rows} {meaning}, in {name!r}; the first is {problem.example!r} in {where}.")
    if missing:
        notes.append(f"{plural(missing, 'row has', 'rows have')} nothing in {name!r}.")
    return notes


def check_dates(table: pa.Table, name: str, surveyed: Survey) -> None:
    """Raise a UserError if no value of a column is a date; it names the columns that hold some."""
    if surveyed.readable:
        return
    others = [repr(field.name) for field in table.schema if field.name != name and _seems_dates(table, field)]
    first = f"its first value is {surveyed.example!r}" if surveyed.example else "all of its values are missing"
    where = f"Dates are in: {', '.join(others)}" if others else "No other column seems to hold dates either."
    raise UserError(f"the column {name!r} holds no dates; {first}. {where}")


def _seems_dates(table: pa.Table, field: pa.Field) -> bool:
    if not holds_text(field):
        return is_any(field.type, "date", "timestamp")
    surveyed = survey(table.column(field.name).slice(0, SAMPLE_VALUES))
    return surveyed.readable * 2 > surveyed.filled


def _coded(column: pa.ChunkedArray | pa.Array) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values, as floats if all are numbers and else as strings, and each row's place (-1: none)."""
    is_text = not is_any(column.type, "integer", "floating", "decimal")
    if is_text:
        column = as_strings(column)
    elif isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    values = encoded.dictionary
    # Texts may be numbers, too; eight digits are a date that is written without signs.
    if not is_text or pc.all(pc.match_substring_regex(values, r"^\d+(\.\d+)?$")).as_py():
        values = values.cast(pa.float64(), safe=False)
    return values.to_pylist(), codes


def _day_of_number(value: float, unit: str | None) -> date | None:
    if unit is None or not UNITS[unit][0] <= value < UNITS[unit][1]:
        return None
    if unit in ("year", "yyyymmdd"):
        return parse_day(f"{int(value)}-01" if unit == "year" else str(int(value)), "day-first")
    days = value - 25_569 if unit == "excel" else value // (86_400 if unit == "seconds" else 86_400_000)
    return date(1970, 1, 1) + timedelta(days=int(days))


def _order_of(text: str) -> str | None:
    """Return the order of day and month that a date shows, as in :class:`Survey`; None if it is not a date."""
    day_first, month_first = parse_day(text, "day-first"), parse_day(text, "month-first")
    if day_first == month_first:
        return None if day_first is None else "plain"
    if day_first and month_first:
        return "either/" if "/" in text else "either"
    return "day-first" if day_first else "month-first"


def parse_day(text: str, order: Order) -> date | None:
    """Return the day that a text names, in UTC if it has an offset; None if it is not a date."""
    match = next(filter(None, (shape.fullmatch(text) for shape in SHAPES)), None)
    if match is None:
        return None
    parts = match.groupdict()
    day, month = parts.get("day", "1"), parts.get("month")
    if month is None:
        day, month = (parts["first"], parts["second"])[:: 1 if order == "day-first" else -1]
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    year, hour, minute = int(parts["year"]), int(parts["hour"] or 0), int(parts["minute"] or 0)
    if len(parts["year"]) == 2:  # 1970 to 2069, as in most spreadsheets
        year += 2000 if year < 70 else 1900
    if parts["half"]:  # 24 is not an hour
        hour = hour % 12 + 12 * (parts["half"] in "pP") if 1 <= hour <= 12 else 24
    offset, zone = timedelta(), parts["zone"]
    if zone and zone[0] in "+-":
        offset = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[-2:]) if len(zone) > 3 else 0)
    try:
        return (datetime(year, number, int(day), hour, minute) - offset).date()
    except (ValueError, OverflowError):
        return None
