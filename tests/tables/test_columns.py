"""The column that holds the texts."""

import numpy as np
import pyarrow as pa
import pytest
from io_helpers import message

from textspectra.tables.columns import ClusterColumns, TextTable, choose_text_column
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat

WHICH = "which column holds the texts? Choose with --text-column; the columns are: "
PROSE = ["my card was declined again", "where is my order today", "please cancel the whole thing"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"x": ["a1", "a2"]}, "x"),
        ({"id": ["a"], "TEXT ": ["b"]}, "TEXT "),
        ({"text": ["a"], "message": ["b"], "title": ["c"]}, "text"),
        ({"message": ["a"], "title": ["b"]}, "message"),
        ({"n": [1], "Review": ["good"]}, "Review"),
        ({"text": [1], "body": ["a"]}, "body"),
        ({"comment": ["12", "7"], "question": ["what is it", "who"]}, "question"),
        ({"n": [1, 2], "words": ["yes", "yes"]}, "words"),
        ({"id": ["u_1", "u_2", "u_3"], "said": PROSE, "kind": ["a", "b", "b"]}, "said"),
        ({"when": ["12 March 2024 10:00", "1 May 2023", "Mon, 3 Jun 2022"], "said": PROSE}, "said"),
        ({"url": ["https://a.b/c?d=1"] * 3, "who": ["Jo Doe", "Al Roe", "Cy Coe"], "said": PROSE}, "said"),
        ({"short": PROSE, "long": [text * 3 for text in PROSE]}, "long"),
        ({"a": ["今天天气很好我们去公园", "我的订单在哪里呢", "请取消我的订阅"], "b": ["好", "坏", "好"]}, "a"),
    ],
)
def test_obvious(columns, expected):
    assert choose_text_column(pa.table(columns)) == expected


@pytest.mark.parametrize(
    "columns",
    [
        {"title": ["a"], "body": ["b"]},
        {"Text": ["a"], "text": ["b"]},
        {"id": ["a1", "a2"], "n": [1, 2]},
        {"day": ["2024-01-01T10:00:00Z", "2024-01-02"], "n": [1, 2]},
        {"url": ["https://a.b/c", "www.a.b/d"], "n": [1, 2]},
        {"id": ["1", "2"], "kind": ["sport and leisure", "sport and leisure"]},
        {"kind": ["sport and leisure now"] * 30, "place": ["the north of it"] * 30},
        {"first": ["Jo", "Al"], "last": ["Doe", "Roe"]},
        {"left": PROSE, "right": PROSE},
        {"a": [1], "b": [2.5]},
        {"a": pa.nulls(1), "b": [""], "c": [" "]},
    ],
)
def test_not_obvious(columns):
    names = ", ".join(map(repr, columns))
    if columns.keys() == {"id", "kind"}:
        columns = {name: values * 20 for name, values in columns.items()}
    assert message(choose_text_column, pa.table(columns)) == WHICH + names


def test_no_such_column(save):
    name = save("a.csv", "id,Text\n1,a\n")
    assert message(read_table, name, text_column="text") == (
        "unknown column 'text'; did you mean 'Text'? The columns are: 'id', 'Text'"
    )
    assert message(read_table, name, text_column="price") == ("unknown column 'price'. The columns are: 'id', 'Text'")


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("1.5", "numbers (double)"),
        ("true", "true and false (bool)"),
        ("null", "nothing but missing values (null)"),
        ("[1]", "nested values (list<item: int64>)"),
    ],
)
def test_not_a_text_column(save, value, holds):
    name = save("a.jsonl", f'{{"x": {value}, "text": "a"}}\n')
    assert message(read_table, name, text_column="x") == (
        f"the column 'x' holds {holds}, not text. Choose another with --text-column; the columns are: 'x', 'text'"
    )


def test_mixed_values_are_no_texts(save):
    name = save("a.jsonl", '{"x": 1}\n{"x": "a"}\n')
    assert message(read_table, name) == f"{WHICH}'x'"
    assert "'x' holds JSON values of several kinds, not text." in message(read_table, name, text_column="x")


def test_an_explicit_choice_wins(save):
    assert read_table(save("a.csv", "id,text\n007,a\n"), text_column="id").texts() == ["007"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_any_string_type(kind):
    table = pa.table({"text": pa.array(["a", None, "b"]).cast(kind)})
    assert TextTable(table, choose_text_column(table), TableFormat.PARQUET).texts() == ["a", "", "b"]


def test_clusters_are_listed_by_their_themes_the_largest_first():
    coarse = [(0, "delivery"), (1, "account"), (None, None), (0, "delivery"), (1, "account")]
    names = ["late", "login", "new", "lost", "password"]
    columns = ClusterColumns([0, 1, 3, 5, 9], names, [1.0] * 5, [False] * 5, [""] * 5, [["text"]] * 5, coarse)
    table = columns.count(np.repeat([0, 1, 3, 5, 9, -1], [1, 2, 9, 2, 4, 7]))
    assert table.column_names[:6] == ["theme", "cluster", "name", "size", "share", "cohesion"]
    assert list(zip(table["theme"].to_pylist(), table["cluster"].to_pylist(), strict=True)) == [
        ("account", 9), ("account", 1), ("delivery", 5), ("delivery", 0), (None, 3)
    ]  # fmt: skip
    assert table["size"].to_pylist() == [4, 2, 2, 1, 9]
