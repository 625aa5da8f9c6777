"""Parquet files that are damaged or unfold to gigabytes, and values that other formats cannot express."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_helpers import message

from textspectra.tables import source as limits
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat
from textspectra.tables.vectors import read_embeddings
from textspectra.tables.write import write_table


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
    write_table(table, tmp_path / "a.parquet", format=TableFormat.PARQUET)
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
    write_table(pa.table({"text": ["a", "b"], name: EXTREME[name]}), path, format=form)
    assert read_table(path).table.column_names == ["text", name]


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(limits, "MAX_ROWS", 20_000)
    monkeypatch.setattr(limits, "MAX_BYTES", 2**20)


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


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("suffix", "line", "n_lines", "what"),
    [
        (".txt.gz", "\n", 30_000, "more than 20,000 rows"),
        (".csv.gz", "1,a\n", 30_001, "more than 20,000 rows"),
        (".jsonl.gz", '{"text":""}\n', 30_000, "more than 20,000 rows"),
        (".txt.gz", "x" * 1000 + "\n", 2000, "holds more than 1 MB once it is unpacked"),
        (".csv.gz", "1," + "x" * 1000 + "\n", 2000, "holds more than 1 MB once it is unpacked"),
    ],
)
def test_a_stream_is_read_up_to_the_limit(tmp_path, suffix, line, n_lines, what):
    import gzip

    path = tmp_path / f"a{suffix}"
    header = "id,text\n" if "csv" in suffix else ""
    path.write_bytes(gzip.compress((header + line * n_lines).encode()))
    assert what in message(read_table, path)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 10**400)}",
        b"{'descr': ('<f4', -9), 'fortran_order': False, 'shape': (2, 3)}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}",
        b"{'descr': [], 'fortran_order': False, 'shape': (2, 3), 'x': " + b"(" * 3000 + b")" * 3000 + b"}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': ('a', 3)}",
        b"\x00\x00 'unclosed",
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_damaged_npy_header_is_a_message(tmp_path, header, version):
    path = tmp_path / "a.npy"
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + header + bytes(24))
    assert "is not a .npy file of numbers, or it is cut short" in message(read_embeddings, path)


def test_an_archive_is_not_opened(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"PK\x03\x04" + bytes(40))
    assert "holds several arrays" in message(read_embeddings, tmp_path / "a.npy")


@pytest.mark.parametrize("depth", [101, 500, 900, 5000, 200_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_json_that_is_nested_too_deeply_is_a_message(depth, brackets):
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    line = '{"text": "a", "x": ' + opening * depth + "1" + closing * depth + "}"
    assert "nested" in message(read_table, "-", stdin=io.BytesIO(line.encode()))


def test_json_nested_as_deeply_as_allowed_is_kept(tmp_path):
    nested = "[" * 98 + "1" + "]" * 98
    lines = '{"text": "a", "x": %s}\n{"text": "b", "x": {"y": %s}}\n' % (nested, nested)  # noqa: UP031
    table = read_table("-", stdin=io.BytesIO(lines.encode())).table
    for form in (TableFormat.JSONL, TableFormat.CSV, TableFormat.PARQUET):
        write_table(table, tmp_path / f"a.{form}", format=form)
    assert json.loads(Path(tmp_path, "a.jsonl").read_text().splitlines()[0])["x"] == json.loads(nested)


def test_json_whose_keys_are_values_is_a_message(monkeypatch):
    from textspectra.tables import jsonlines

    monkeypatch.setattr(jsonlines, "MAX_KEYS", 50)
    lines = "".join(f'{{"text": "a", "key {i}": 1}}\n' for i in range(100))
    assert message(read_table, "-", stdin=io.BytesIO(lines.encode())) == (
        "standard input, line 50: 51 different keys so far, in 50 objects. That is too much for a table; are some keys "
        "values? Put such objects into one field."
    )
