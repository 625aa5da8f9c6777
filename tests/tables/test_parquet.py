"""Parquet files that are damaged or unfold to gigabytes."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_helpers import message, write_table

from textspectra.tables import source
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat


def not_utf8(kind, values):
    """Return a column of strings that holds arbitrary bytes."""
    return pa.array(values, pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_bytes_that_are_no_text_are_named_with_their_column(tmp_path, kind):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "note": not_utf8(kind, [b"fine", b"\xff\xfe"])}), path)
    assert message(read_table, path) == (
        f"'{path}': the column 'note' holds bytes that are not valid UTF-8, or it is damaged otherwise. Write the file "
        "again, with texts in UTF-8."
    )


def test_a_column_name_that_is_no_text(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"], "NAME": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"NAME", b"\xff\xfe\xfdX"))
    expected = f"'{path}' has a column whose name is not valid UTF-8. Rename it, and write the file again."
    assert message(read_table, path) == expected


def test_strings_of_all_types_are_read_as_they_were(tmp_path):
    columns = {
        "text": pa.array(["a", None, "ä"]), "large": pa.array(["x", "x", None], pa.large_string()),
        "coded": pa.array(["p", "q", "p"]).dictionary_encode(), "raw": pa.array([b"\xff", None, b""]),
        "nested": pa.array([{"s": ["a"]}, {"s": []}, None]),
    }  # fmt: skip
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    found = read_table(tmp_path / "a.parquet", text_column="text").table
    assert found.schema.types == table.schema.types
    assert found.to_pylist() == table.to_pylist()


def test_objects_without_keys_are_written_as_json(tmp_path):
    table = pa.table({"text": ["a", "b"], "extra": pa.array([{}, None], pa.struct([]))})
    write_table(table, tmp_path / "a.parquet", TableFormat.PARQUET)
    assert pq.read_table(tmp_path / "a.parquet")["extra"].to_pylist() == ["{}", None]


EXTREME = {
    "day": pa.array([-(10**6), 0], pa.date32()),
    "moment": pa.array([10**18, 0], pa.timestamp("s")),
    "zone": pa.array([0, 1], pa.timestamp("ms", "Mars/Olympus")),
    "span": pa.array([10**18, 0], pa.duration("s")),
    "nested": pa.array([[10**18], []], pa.list_(pa.timestamp("s"))),
    "object": pa.array([{"t": 10**18}, None], pa.struct([("t", pa.timestamp("s", "No/Where"))])),
}


@pytest.mark.parametrize("name", EXTREME)
@pytest.mark.parametrize("form", [TableFormat.CSV, TableFormat.JSONL, TableFormat.XLSX])
def test_dates_that_python_cannot_express_are_written_all_the_same(tmp_path, form, name):
    pytest.importorskip("xlsxwriter")
    path = tmp_path / f"a.{form}"
    write_table(pa.table({"text": ["a", "b"], name: EXTREME[name]}), path, form)
    assert read_table(path).table.column_names == ["text", name]


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(source, "MAX_ROWS", 20_000)
    monkeypatch.setattr(source, "MAX_BYTES", 2**20)


INSTEAD = (
    "Split it into several files, and give a pattern in quotes such as 'folder/*.csv': they are read one after the "
    "other, however many there are."
)


@pytest.mark.usefixtures("small_limits")
def test_a_small_file_that_unfolds_to_many_rows_is_refused_before_it_does(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.DictionaryArray.from_arrays(pa.nulls(30_000, pa.int32()), ["a"])}), path)
    assert message(read_table, path) == f"'{path}' has more than 20,000 rows. {INSTEAD}"


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_a_small_file_that_unfolds_to_many_bytes_is_refused_before_it_does(tmp_path, kind):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array(["x" * 2000] * 1000, kind)}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    assert message(read_table, path) == f"'{path}' holds more than 1 MB once it is unpacked. {INSTEAD}"


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    "values",
    [
        pa.nulls(10_000, pa.binary(200)),
        pa.array([[0] * 200_000] * 1, pa.list_(pa.int64())),
        pa.array([["x" * 2000] * 1000], pa.list_(pa.string())),
        pa.array([{"a": ["x" * 2000] * 1000}]),
        pa.array([[("a", "x" * 2000)] * 1000], pa.map_(pa.string(), pa.large_string())),
    ],
    ids=["width", "list", "texts in a list", "texts in an object", "texts in a map"],
)
def test_values_inside_of_others_count_before_they_are_unfolded(tmp_path, values):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * len(values), "x": values}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    assert message(read_table, path) == f"'{path}' holds more than 1 MB once it is unpacked. {INSTEAD}"


def test_texts_in_an_encoding_that_can_hide_gigabytes_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"]}), path, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    expected = f"'{path}' has texts in the encoding DELTA_BYTE_ARRAY, which is not read. Write it with another."
    assert message(read_table, path) == expected
