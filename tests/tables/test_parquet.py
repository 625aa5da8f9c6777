"""Parquet files that are damaged or unfold to gigabytes; vectors in files, columns and series."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_helpers import files_here, message, write_table

from textspectra.tables import source
from textspectra.tables.columns import column_values
from textspectra.tables.frames import as_table
from textspectra.tables.parquet import given_vectors, list_column, read_embeddings
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat
from textspectra.tables.write import write_embeddings


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


ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_npy_is_a_memory_map(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    rows = read_embeddings(tmp_path / "a.npy")
    assert isinstance(rows, np.memmap)
    np.testing.assert_array_equal(rows, ROWS)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float16())])
@pytest.mark.parametrize("row_group_size", [None, 2])
def test_parquet(tmp_path, kind, row_group_size):
    column = pa.array(ROWS.astype(kind.value_type.to_pandas_dtype()).tolist(), kind)
    pq.write_table(pa.table({"id": list("abcd"), "v": column}), tmp_path / "a.parquet", row_group_size=row_group_size)
    rows = read_embeddings(tmp_path / "a.parquet")
    assert rows.dtype == kind.value_type.to_pandas_dtype()
    np.testing.assert_array_equal(rows, ROWS)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": [1.0]}, "'a.parquet' must have exactly one column of lists of numbers; found: none"),
        ({"a": [[1]], "b": [[2]]}, "'a.parquet' must have exactly one column of lists of numbers; found: 'a', 'b'"),
        ({"a": [[1.0], None]}, "'a.parquet': row 1 of 'a' is missing"),
        ({"a": [[1.0], [2.0, 3.0]]}, "'a.parquet': row 1 of 'a' has 2 numbers, but row 0 has 1"),
        ({"a": [[], []], "n": [1, 2]}, "'a.parquet' must have exactly one column of lists of numbers; found: none"),
        ({"a": pa.array([[]], pa.list_(pa.int8()))}, "'a.parquet': the lists of 'a' are empty"),
        ({"a": [[1.0, None]]}, "'a.parquet': a number in row 0 of 'a' is missing. Embed this text again."),
        ({"a": pa.array([], pa.list_(pa.float32()))}, "'a.parquet' has no rows"),
    ],
)
def test_bad_parquet(save, columns, expected):
    pq.write_table(pa.table(columns), save("a.parquet", ""))
    assert message(read_embeddings, Path("a.parquet")) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (np.zeros(3), "'a.npy' must hold a matrix of numbers, but its shape is (3,) and its type float64."),
        (np.full((1, 2), "x"), "'a.npy' must hold a matrix of numbers, but its shape is (1, 2) and its type <U1."),
    ],
)
def test_npy_without_a_matrix(save, rows, expected):
    np.save(save("a.npy", ""), rows)
    assert message(read_embeddings, Path("a.npy")) == expected


def test_damaged_files(save):
    np.save(save("a.npy", ""), ROWS)
    not_npy = "'b.npy' is not a .npy file of numbers, or it is cut short. Write it with numpy.save."
    for content in (Path("a.npy").read_bytes()[:-5], b"", b"hello", Path("a.npy").read_bytes()[:40]):
        assert message(read_embeddings, Path(save("b.npy", content))) == not_npy
    np.save("b.npy", np.array([[None]]), allow_pickle=True)
    assert message(read_embeddings, Path("b.npy")) == not_npy
    np.savez("c.npz", a=ROWS)
    Path("c.npz").rename("c.npy")
    assert message(read_embeddings, Path("c.npy")) == "'c.npy' holds several arrays. Write the one with numpy.save."
    expected = "'a.parquet' is not a Parquet file, or it is damaged or cut short."
    assert message(read_embeddings, Path(save("a.parquet", b"PAR1 and more"))) == expected
    assert message(read_embeddings, Path("no.npy")) == "file not found: 'no.npy'"
    assert message(read_embeddings, Path("a.h5")) == "'a.h5': embeddings are read from .npy and .parquet files"


@pytest.mark.parametrize("name", ["a.npy", "a.parquet"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_written_and_read(save, name, dtype):
    rows = np.asfortranarray(ROWS.astype(dtype))
    write_embeddings(rows, Path(name), texts=list("abcd"))
    found = read_embeddings(Path(name))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, rows)
    expected = f"'{name}' exists already; use --overwrite or another --out"
    assert message(write_embeddings, rows, Path(name)) == expected
    write_embeddings(rows[:2], Path(name), overwrite=True)
    assert (read_embeddings(Path(name)).shape, files_here()) == ((2, 3), [name])
    assert message(write_embeddings, rows, Path("a.h5")) == "'a.h5': embeddings are written to .npy and .parquet files"


def test_columns_of_a_table(save):
    table = read_table(save("a.jsonl", '{"text": "a", "v": [1, 0.5]}\n{"text": "b", "v": [2, 1]}\n')).table
    np.testing.assert_array_equal(list_column(table, "v"), [[1, 0.5], [2, 1]])
    np.testing.assert_array_equal(list_column(table.slice(1), "v"), [[2, 1]])
    assert message(list_column, table, "text") == "the column 'text' holds text (string), not lists of numbers"
    assert message(list_column, pa.table({"v": [[1], [1, 2]]}), "v") == "row 1 of 'v' has 2 numbers, but row 0 has 1"
    assert column_values(table, "text") == ["a", "b"]
    expected = "unknown column 'txt'; did you mean 'text'? The columns are: 'text', 'v'"
    assert message(column_values, table, "txt") == expected


SERIES = {
    "pandas": pd.Series(list(ROWS), name="v"),
    "polars list": pl.Series("v", ROWS.tolist()),
    "polars array": pl.Series("v", ROWS.tolist(), dtype=pl.Array(pl.Float32, 3)),
    "arrow": pa.array(ROWS.tolist()),
    "arrow chunks": pa.chunked_array([ROWS[:1].tolist(), ROWS[1:].tolist()]),
    "fixed size": pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 3),
    "objects": np.array([*list(ROWS), None], object)[:-1],
    "list": list(ROWS),
}


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_series_of_vectors(series):
    np.testing.assert_array_equal(given_vectors(series), ROWS)


def test_arrays_are_not_touched():
    assert given_vectors(ROWS) is ROWS


FRAMES = {
    "pandas": pd.DataFrame({"text": list("abcd"), "v": list(ROWS)}),
    "polars": pl.DataFrame({"text": list("abcd"), "v": SERIES["polars array"]}),
    "arrow": pa.table({"text": list("abcd"), "v": SERIES["fixed size"]}),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_columns_of_a_data_frame(frame):
    np.testing.assert_array_equal(given_vectors("v", as_table(frame, "text")), ROWS)


RAGGED = [ROWS[0], ROWS[1][:2], ROWS[2]]


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ("v", "embeddings='v' names a column of a data frame, but texts is not one; give the vectors themselves."),
        (pd.Series(RAGGED, name="v"), "row 1 of 'v' has 2 numbers, but row 0 has 3"),
        (pl.Series([row.tolist() for row in RAGGED]), "row 1 of 'embeddings' has 2 numbers, but row 0 has 3"),
        (RAGGED, "row 1 of 'embeddings' has 2 numbers, but row 0 has 3"),
        (pd.Series([ROWS[0], None]), "row 1 of 'embeddings' is missing"),
        (pd.Series([None, ROWS[0]]), "row 0 of 'embeddings' is missing"),
        (
            pa.chunked_array([[[1.0]], [[2.0], [None]]]),
            "a number in row 2 of 'embeddings' is missing. Embed this text again.",
        ),
        (pl.Series("v", ["a", "b"]), "the column 'v' holds text (large_string), not lists of numbers"),
    ],
    ids=["name", "pandas", "polars", "list", "missing", "first", "null", "texts"],
)  # fmt: skip
def test_the_first_bad_row_is_named(vectors, expected):
    assert message(given_vectors, vectors) == expected
