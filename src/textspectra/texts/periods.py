"""Days, weeks, months, quarters and years: which of them suits the dates, and what each is called."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError

Period = Literal["day", "week", "month", "quarter", "year"]
Days = NDArray[np.datetime64]

MOST_PERIODS = 60
"""More periods than this are too many to look at."""

FEWEST_PERIODS = 4
"""Fewer periods than this hardly show a course; shorter ones are taken even if they have few texts."""

TEXTS_OF_A_GROUP = 5
"""What a group of mean size should have in a period, so that its share says something."""


def check_period(every: Any) -> None:
    """Raise if there is no such period."""
    if every is not None and every not in get_args(Period):
        names = ", ".join(get_args(Period))
        raise UserError(f"every must be one of {names}, but it is {every!r}.")


def choose_period(first: np.datetime64, last: np.datetime64, n_texts: int, n_groups: int) -> Period:
    """Return the shortest period that suits the span of the dates and the number of texts.

    Examples
    --------
    >>> begin, end = np.datetime64("2026-01-01"), np.datetime64("2026-06-30")
    >>> choose_period(begin, end, 5_000, 60), choose_period(begin, end, 50_000, 60)
    ('month', 'week')
    """
    number = {every: len(periods_between(first, last, every)) for every in get_args(Period)}
    few = [every for every in get_args(Period) if number[every] <= MOST_PERIODS] or ["year"]
    full = [every for every in few if n_texts >= TEXTS_OF_A_GROUP * n_groups * number[every]]
    course = [every for every in few if number[every] >= FEWEST_PERIODS]
    suitable = [every for every in full if every in course]
    chosen: Period = suitable[0] if suitable else course[-1] if course else few[0]
    return chosen


def period_starts(days: Days, every: Period) -> Days:
    """Return the first day of the period of each day; weeks begin on Monday.

    Examples
    --------
    >>> period_starts(np.array(["2026-05-20"], "datetime64[D]"), "quarter")
    array(['2026-04-01'], dtype='datetime64[D]')
    """
    if every == "week":
        number = days.astype("datetime64[D]").astype(np.int64)
        return ((number + 3) // 7 * 7 - 3).astype("datetime64[D]")  # 1970 began on a Thursday
    if every == "quarter":
        months = days.astype("datetime64[M]").astype(np.int64)
        return (months // 3 * 3).astype("datetime64[M]").astype("datetime64[D]")
    unit = {"day": "D", "month": "M", "year": "Y"}[every]
    return days.astype(f"datetime64[{unit}]").astype("datetime64[D]")


def periods_between(first: np.datetime64, last: np.datetime64, every: Period) -> Days:
    """Return the first days of all periods from that of `first` to that of `last`.

    Examples
    --------
    >>> periods_between(np.datetime64("2025-12-24"), np.datetime64("2026-01-01"), "month")
    array(['2025-12-01', '2026-01-01'], dtype='datetime64[D]')
    """
    days = np.arange(first.astype("datetime64[D]"), last.astype("datetime64[D]") + 1)
    return np.unique(period_starts(days, every))


def name_period(first: np.datetime64, last: np.datetime64, every: Period) -> str:
    """Return what a period is called, or the run of periods that begin on `first` and `last`.

    Examples
    --------
    >>> begin, end = np.datetime64("2026-01-05"), np.datetime64("2026-02-02")
    >>> [name_period(begin, end, every) for every in ("day", "week", "month", "quarter", "year")]
    ['5 Jan to 2 Feb 2026', 'weeks of 5 Jan to 2 Feb 2026', 'Jan to Feb 2026', 'Q1 2026', '2026']
    """
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
