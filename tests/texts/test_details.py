"""Dates, segments and shown columns beside the texts."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.errors import UsageError, UserError
from textspectra.tables.frames import as_table
from textspectra.texts.details import (
    MISSING,
    MOST_VALUES,
    OTHER,
    Details,
    Segment,
    Wanted,
    details_like,
    details_of,
    name_period,
    periods_between,
    wanted_columns,
)


def day(text):
    return np.datetime64(text, "D")


@pytest.mark.parametrize(
    ("first", "last", "every", "name"),
    [
        ("2025-03-03", "2025-03-03", "day", "3 Mar 2025"),
        ("2025-03-03", "2025-03-03", "week", "week of 3 Mar 2025"),
        ("2025-03-03", "2025-03-17", "week", "weeks of 3 Mar to 17 Mar 2025"),
        ("2024-12-01", "2025-02-01", "month", "Dec 2024 to Feb 2025"),
        ("2025-01-01", "2025-07-01", "quarter", "Q1 to Q3 2025"),
        ("2024-01-01", "2025-01-01", "year", "2024 to 2025"),
    ],
)
def test_periods_have_names(first, last, every, name):
    assert name_period(day(first), day(last), every) == name


@given(st.dates(), st.integers(0, 900), st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_periods_have_no_gaps(first, n_days, every):
    start = np.datetime64(first)
    periods = periods_between(start, start + n_days, every)
    assert periods[0] <= start
    assert periods[-1] <= start + n_days
    lengths = {"day": (1, 1), "week": (7, 7), "month": (28, 31), "quarter": (90, 92), "year": (365, 366)}[every]
    assert all(lengths[0] <= gap <= lengths[1] for gap in np.diff(periods).astype(int))


def test_many_values_of_a_segment_become_one():
    values = [f"value {i}" for i in range(MOST_VALUES + 9) for _ in range(2 if i < MOST_VALUES else 1)] + [None]
    segment = Segment.of(pa.chunked_array([values])).in_order()
    assert len(segment.values) == MOST_VALUES + 1
    assert segment.values[-1] == OTHER
    assert np.bincount(segment.codes)[-1] == 10
    _, notes = details_of(pa.table({"id": values}), Wanted(by=("id",)))
    assert notes == [
        "'id' has 60 different values; the 50 with the most texts are compared, and the rest counts as (other)."
    ]


def test_rows_are_appended_and_absent_columns_are_missing():
    table = pa.table({"sent": ["2025-01-01", "2025-01-02"], "channel": ["web", "post"], "id": ["1", "2"]})
    details, _ = details_of(table, Wanted("sent", ("channel",), ("id",)))
    more = Details("sent", np.array(["2025-02-01"], "datetime64[D]"), {"channel": Segment(np.zeros(1, int), ["web"])})
    joined = details.joined(more, 1).joined(None, 1)
    assert joined.days.astype(str).tolist() == ["2025-01-01", "2025-01-02", "2025-02-01", "NaT"]
    channel = joined.segments["channel"]
    assert [channel.values[code] for code in channel.codes] == ["web", "post", "web", MISSING]
    assert joined.shown == {"id": ["1", "2", "", ""]}


def test_columns_of_a_model_are_taken_from_a_frame():
    known = Details("sent", None, {"channel": Segment(np.zeros(1, int), ["web"])}, {"id": ["1"]})
    frame = pa.table({"text": ["a b c", "d e f"], "channel": ["web", "app"]})
    details, notes = details_like(known, frame, "text")
    assert details.segments["channel"].values == ["web", "app"]
    assert notes == [f"The column {name!r} of the model is missing in these texts." for name in ("sent", "id")]
    assert details_like(known, ["a b c"], None) == (None, [])


def test_columns_come_by_name_and_as_values():
    frame = as_table(pa.table({"text": ["a b c", "d e f"], "channel": ["web", "app"], "sent": ["x", "y"]}), "text")
    table, wanted = wanted_columns(frame, 2, ["2025-01-01", "2025-01-02"], "channel", {"sent": [1, 2]}, "day")
    assert wanted == Wanted("time", ("channel",), ("sent",), "day")
    assert table["sent"].to_pylist() == [1, 2]
    assert wanted_columns(frame, 2, None, (), (), None)[1] == Wanted()
    with pytest.raises(UserError, match="'channel' names a column of a data frame, but texts is not one"):
        wanted_columns(["a b c"], 1, None, "channel", (), None)
    with pytest.raises(UsageError, match="the column 'id' is named twice"):
        wanted_columns(frame, 2, None, (), ["id", "id"], None)
    with pytest.raises(UserError, match="There are 2 texts but 3 values of 'channel'; give one per text"):
        wanted_columns(frame, 2, ["2025-01-01", "2025-01-02"], {"channel": ["a", "b", "c"]}, (), None)
