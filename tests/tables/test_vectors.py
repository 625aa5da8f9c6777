"""Matrices of embeddings in files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_helpers import files_here, message

from textspectra.tables.columns import column_values
from textspectra.tables.read import read_table
from textspectra.tables.vectors import list_column, read_embeddings, write_embeddings

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
        ({"a": [[1.0, None]]}, "'a.parquet': a number in 'a' is missing. Embed such texts again, or remove them."),
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
    assert message(read_embeddings, Path("no.npy")) == "there is no file 'no.npy'"
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
    expected = "there is no column 'txt'; did you mean 'text'? The columns are: 'text', 'v'"
    assert message(column_values, table, "txt") == expected
