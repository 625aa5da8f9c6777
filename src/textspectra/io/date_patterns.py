"""The ways in which people and programs write a date."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Literal, get_args

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
    """Return the day that a text names, in UTC if it has an offset; None if it names none.

    Examples
    --------
    >>> [str(parse_day(text, "day-first")) for text in ("2026-12-31T23:30:00-02:00", "1/2/2026 5:30 PM", "soon")]
    ['2027-01-01', '2026-02-01', 'None']
    """
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

    Examples
    --------
    >>> [order_shown_by(text) for text in ("31.12.2026", "12/31/2026", "1/2/2026", "1.2.2026", "2026-01-02", "soon")]
    ['day-first', 'month-first', 'either/', 'either', 'plain', None]
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
