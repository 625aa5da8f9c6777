"""Data frames as input: which column is taken, what is kept, and what is refused."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from io_helpers import message

from textspectra.errors import NoRowsError
from textspectra.tables.columns import choose_text_column
from textspectra.tables.frames import as_table, is_data_frame, with_columns

COLUMNS = {"id": [7, 8, 9], "Message": ["my card was declined", None, "where is it"], "kind": ["a", "b", "a"]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def test_the_text_column_is_found(make):
    found = as_table(make(COLUMNS))
    assert is_data_frame(make(COLUMNS))
    assert (found.text_column, found.texts()) == ("Message", ["my card was declined", "", "where is it"])
    assert found.table.to_pydict() == COLUMNS


def test_the_text_column_is_named(make):
    assert as_table(make(COLUMNS), "kind").texts() == ["a", "b", "a"]


def test_the_messages_are_those_of_the_command_line_but_for_the_option(make):
    columns = {"title": ["a"], "body": ["b"], "n": [1]}
    listed = "the columns are: 'title', 'body', 'n'"
    found = message(as_table, make(columns))
    assert found == f"which column holds the texts? Choose with text_column=; {listed}"
    assert found.replace("text_column=", "--text-column") == message(choose_text_column, pa.table(columns))
    assert message(as_table, make(columns), "n") == (
        f"the column 'n' holds numbers (int64), not text. Choose another with text_column=; {listed}"
    )
    assert message(as_table, make(columns), "tilte") == (
        "unknown column 'tilte'; did you mean 'title'? The columns are: 'title', 'body', 'n'"
    )


def test_no_rows(make):
    with pytest.raises(NoRowsError, match=r"^the data frame has no rows$"):
        as_table(make({"text": []}))


@pytest.mark.parametrize(
    "data",
    [pd.DataFrame([["a", "b"]], columns=["x", "x"]), pa.Table.from_arrays([pa.array(["a"])] * 2, names=["x", "x"])],
)
def test_two_columns_of_one_name(data):
    expected = "the data frame has more than one column called 'x'. Give each column a name of its own."
    assert message(as_table, data) == expected


@pytest.mark.parametrize("data", [["a", "b"], np.array(["a"]), pl.LazyFrame({"text": ["a"]}), pd.Series(["a"])])
def test_what_is_no_data_frame(data):
    expected = f"a data frame of pandas, polars or pyarrow is needed, but this is a {type(data).__qualname__}."
    is_lazy = isinstance(data, pl.LazyFrame)
    assert is_data_frame(data) is is_lazy
    assert message(as_table, data) == expected + is_lazy * " Its values are not computed yet: pass .collect() of it."


def test_odd_columns_do_not_stand_in_the_way():
    frame = pd.DataFrame(
        {
            "text": pd.Series(["a", "b \ud83d", np.nan], [5, 5, 9], object),
            "mixed": [1, "x", {("a", 1): {2}}],
            "day": [datetime.date(2024, 2, 29), None, None],
            3: pd.Categorical(["u", "v", "u"]),
        },
        index=[5, 5, 9],
    )
    found = as_table(frame)
    assert found.texts() == ["a", "b \ufffd", ""]
    assert found.table.column_names == ["text", "mixed", "day", "3"]
    assert found.table.column("day").to_pylist() == [datetime.date(2024, 2, 29), None, None]
    assert "'mixed' holds JSON values of several kinds, not text." in message(as_table, frame, "mixed")
    assert as_table(frame, "3").texts() == ["u", "v", "u"]


def test_added_columns_leave_the_others_as_they_are():
    frame = pd.DataFrame({"text": ["a", "b"], "cluster": [{1}, "x"], 3: pd.Categorical(["u", "v"])}, index=[5, 5])
    before = frame.copy()
    wider, names = with_columns(frame, {"cluster": np.array([0, 1]), "name": ["n", None]})
    assert names == {"cluster": "cluster_2", "name": "name"}
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(wider[["text", "cluster", 3]], before)
    assert wider["cluster_2"].tolist() == [0, 1]
    assert wider["name"].iloc[0] == "n"


def test_added_columns_in_every_library(make):
    frame = make({"cluster": ["x"], "cluster_2": ["y"]})
    wider, names = with_columns(frame, {"cluster": np.array([0]), "name": pa.array(["n"]), "cluster_3": [1]})
    assert type(wider) is type(frame)
    assert as_table(wider, "name").table.to_pydict() == {
        "cluster": ["x"],
        "cluster_2": ["y"],
        "cluster_3": [0],
        "name": ["n"],
        "cluster_3_2": [1],
    }
    assert names == {"cluster": "cluster_3", "name": "name", "cluster_3": "cluster_3_2"}


def test_an_added_column_of_the_wrong_length(make):
    expected = "the column 'c' has 2 values but the table has 1 row; they must have the same length."
    with pytest.raises(ValueError, match=re.escape(expected)):
        with_columns(make({"a": [1]}), {"c": [1, 2]})
