from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.errors import UserError
from textspectra.tables.dates import Survey, check_dates, joined_problems, notes_on_dates, parse_day, read_dates, survey

moments = st.datetimes(datetime(1901, 1, 1), datetime(2025, 12, 31))
FORMATS = [
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%d-%m-%Y %H:%M:%S",
    "%d-%b-%Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y %I:%M %p",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y%m%d",
    "%d/%m/%Y %I:%M:%S %p",
]


def days_of(values):
    column = values if isinstance(values, pa.Array) else pa.array(values)
    reading = survey(column).reading()
    return read_dates(column, reading), reading


@given(moments, st.sampled_from(FORMATS))
def test_the_usual_formats_are_read(moment, form):
    assert parse_day(moment.strftime(form), "day-first") == moment.date()


@given(moments, st.integers(-14 * 60, 14 * 60))
def test_an_offset_makes_it_a_day_of_utc(moment, minutes):
    there = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_day(there.isoformat(), "day-first") == there.astimezone(UTC).date()


@pytest.mark.parametrize(
    "text",
    ["soon", "31/31/2026", "30.02.2026", "2026-13-01", "12:30", "1/2", "13/1/2026 13:00 PM", "1.2/2026", "٣/٤/٢٠٢٦"],
)
def test_what_is_no_date_is_none(text):
    assert parse_day(text, "day-first") is None
    assert parse_day(text, "month-first") is None


def test_the_order_is_decided_once_by_the_values_that_show_it():
    found, reading = days_of(["1/2/2025", "3/4/2025", "5/31/2025", None, " "])
    assert [str(day) for day in found.days] == ["2025-01-02", "2025-03-04", "2025-05-31", "NaT", "NaT"]
    assert (found.missing, found.problems, notes_on_dates("sent", reading, 0, {})) == (2, {}, [])


def test_values_against_the_order_of_most_cannot_be_read():
    found, _ = days_of(["13/1/2025", "14/1/2025", "1/15/2025", "2/1/2025"])
    assert [str(day) for day in found.days] == ["2025-01-13", "2025-01-14", "NaT", "2025-01-02"]
    assert found.problems["unreadable"][:3] == (1, 3, "1/15/2025")


def test_a_note_says_how_dates_without_a_clue_are_read():
    for value, order in {"1/2/2025": "month/day/year", "1.2.2025": "day/month/year"}.items():
        assert notes_on_dates("sent", days_of([value])[1], 0, {}) == [
            f"The dates in 'sent' were read as {order}; none of them shows which comes first."
        ]
    assert notes_on_dates("sent", days_of(["1/1/2025"])[1], 0, {}) == []


def test_files_decide_the_order_together():
    ambiguous, clear = pa.array(["1/2/2025"]), pa.array(["31/12/2024"])
    reading = (survey(ambiguous) + survey(clear)).reading()
    assert str(read_dates(ambiguous, reading).days[0]) == "2025-02-01"
    assert not reading.is_guess


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([45658, 45658.75, 45659.0], "day numbers of Excel"),
        (["45658", "45658.75", "45659"], "day numbers of Excel"),
        ([1735689600, 1735693200, 1735776000], "seconds since 1970"),
        ([1735689600000, 1735693200000, 1735776000000], "milliseconds since 1970"),
        ([20250101, 20250101, 20250102], "year, month and day"),
    ],
)
def test_plausible_numbers_are_dates(values, words):
    found, reading = days_of(values)
    assert [str(day) for day in found.days] == ["2025-01-01", "2025-01-01", "2025-01-02"]
    assert notes_on_dates("sent", reading, 0, {}) == [f"The numbers in 'sent' were read as {words}."]


def test_other_numbers_are_none():
    assert survey(pa.array([1, 2, 3])).readable == 0
    assert survey(pa.array([1.5, None, 3e15])).readable == 0


def test_arrow_dates_and_timestamps_are_taken_as_they_are():
    moment = datetime(2025, 1, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    columns = [
        pa.array([date(2025, 1, 2), None]),
        pa.array([datetime(2025, 1, 2, 3), None]),
        pa.array([datetime(2025, 1, 2), None], pa.timestamp("ns")),
        pa.array([moment, None], pa.timestamp("us", "America/New_York")),
        pa.array(["2025-01-02", None]).dictionary_encode(),
    ]
    for column in columns:
        found, _ = days_of(column)
        assert str(found.days[0]) == "2025-01-02"
        assert np.isnat(found.days[1])
        assert found.missing == 1
    before_1970 = read_dates(pa.array([datetime(1969, 12, 31, 23)]), Survey().reading())
    assert str(before_1970.days[0]) == "1969-12-31"


def test_dates_of_the_future_and_of_the_zero_of_excel_are_left_out_and_reported():
    found, reading = days_of(["2025-01-01", "2999-01-01", "1899-12-30", "n/a", "3000-01-01", None])
    assert np.isnat(found.days).tolist() == [False, True, True, True, True, True]
    assert notes_on_dates("sent", reading, found.missing, found.problems) == [
        "1 row has no date that can be read, in 'sent'; the first is 'n/a' in row 4.",
        "2 rows have a date in the future, which is left out, in 'sent'; the first is '2999-01-01' in row 2.",
        "1 row has a date before 1900, which is left out, in 'sent'; the first is '1899-12-30' in row 3.",
        "1 row has nothing in 'sent'.",
    ]


def test_problems_of_files_are_added_and_the_first_names_its_file():
    reading = Survey().reading()
    parts = [
        read_dates(pa.array(values), reading, file)
        for values, file in ((["2025-01-01"], "a"), (["x", "y"], "b"), (["z"], "c"))
    ]
    joined = joined_problems(part.problems for part in parts)
    assert notes_on_dates("sent", reading, 0, joined) == [
        "3 rows have no date that can be read, in 'sent'; the first is 'x' in row 1 of 'b'."
    ]


def test_a_column_without_dates_is_an_error_that_names_those_that_have_some():
    table = pa.table(
        {
            "text": ["hello you", "bye"],
            "channel": [None, "web"],
            "sent": ["1/2/2025", None],
            "at": [date(2025, 1, 1)] * 2,
            "n": [1, 2],
            "list": [[1], [2]],
            "none": pa.nulls(2),
        }
    )
    for name, first in {
        "channel": "its first value is 'web'", "n": "its first value is '1'", "list": "its first value is '[1]'",
        "none": "all of its values are missing",
    }.items():  # fmt: skip
        with pytest.raises(UserError) as error:
            check_dates(table, name, survey(table[name]))
        assert str(error.value) == f"the column {name!r} holds no dates; {first}. Dates are in: 'sent', 'at'"
    with pytest.raises(UserError, match=r"No other column seems to hold dates either\.$"):
        check_dates(table.select(["text"]), "text", survey(table["text"]))
