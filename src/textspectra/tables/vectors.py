"""Read and write matrices of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import UserError
from .columns import describe_values, find_column
from .headers import in_words
from .source import ZIP_START, open_file
from .write import output_paths_free, replacing


def read_embeddings(path: Path) -> NDArray[Any]:
    """Read a matrix of embeddings, one row per text, from ``.npy`` or ``.parquet``.

    A ``.npy`` file becomes a memory map. A Parquet file has one column of lists of numbers; with one row group it is
    not copied, and the matrix is read-only.
    """
    path = Path(path)
    suffix = _known_suffix(path, "read from")
    open_file(path).close()
    return _read_npy(path) if suffix == ".npy" else _read_parquet(path)


def _read_npy(path: Path) -> NDArray[Any]:
    with open_file(path) as file:
        if file.read(len(ZIP_START)) == ZIP_START:
            raise UserError(f"'{path}' holds several arrays. Write the one with numpy.save.")
    try:
        rows: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header, which is Python code, can raise anything
        raise UserError(
            f"'{path}' is not a .npy file of numbers, or it is cut short. Write it with numpy.save."
        ) from error
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise UserError(
            f"'{path}' must hold a matrix of numbers, but its shape is {rows.shape} and its type {rows.dtype}."
        )
    return rows


def _read_parquet(path: Path) -> NDArray[Any]:
    try:
        file = pq.ParquetFile(path)
        name = _embedding_column(file.schema_arrow, path)
        column = file.read(columns=[name]).column(name)
        column.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"'{path}' is not a Parquet file, or it is damaged or cut short.") from error
    if not len(column):
        raise UserError(f"'{path}' has no rows")
    return _as_matrix(column, f"'{path}': ", name)


def list_column(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a column of lists of numbers as a matrix; a column in one chunk is not copied."""
    field = find_column(table, name)
    if not _is_list_of_numbers(field.type):
        raise UserError(f"the column {name!r} holds {describe_values(field)}, not lists of numbers")
    return _as_matrix(table.column(name), "", name)


def write_embeddings(
    X: NDArray[Any], path: Path, *, texts: Sequence[str] | None = None, overwrite: bool = False
) -> None:
    """Write embeddings to a file for :func:`read_embeddings`, which appears complete or not at all.

    Parquet gets the columns ``text`` (if `texts` are given) and ``embedding``; ``.npy`` has no place for texts.
    """
    suffix = _known_suffix(path, "written to")
    output_paths_free([path], overwrite=overwrite)
    with replacing(path) as stream:
        if suffix == ".npy":
            np.save(stream, X, allow_pickle=False)
            return
        lists = pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(X)), X.shape[1])
        columns = {"embedding": lists} if texts is None else {"text": pa.array(texts, pa.string()), "embedding": lists}
        pq.write_table(pa.table(columns), stream, compression="zstd")


def _known_suffix(path: Path, verb: str) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".parquet", ".pq"):
        raise UserError(f"'{path}': embeddings are {verb} .npy and .parquet files")
    return suffix


def _as_matrix(column: pa.ChunkedArray, where: str, name: str) -> NDArray[Any]:
    if column.null_count:
        raise UserError(f"{where}row {_first(pc.is_null(column)):,} of {name!r} is missing")
    lengths = pc.list_value_length(column)
    width = lengths[0].as_py()
    uneven = pc.not_equal(lengths, width)
    if pc.any(uneven).as_py():
        row = _first(uneven)
        raise UserError(f"{where}row {row:,} of {name!r} has {lengths[row].as_py():,} numbers, but row 0 has {width:,}")
    if not width:
        raise UserError(f"{where}the lists of {name!r} are empty")
    parts = [chunk.flatten() for chunk in column.chunks if len(chunk)]
    if any(part.null_count for part in parts):
        raise UserError(f"{where}a number in {name!r} is missing. Embed such texts again, or remove them.")
    blocks = [part.to_numpy(zero_copy_only=True).reshape(-1, width) for part in parts]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _embedding_column(schema: pa.Schema, path: Path) -> str:
    fitting = [field.name for field in schema if _is_list_of_numbers(field.type)]
    if len(fitting) != 1:
        found = in_words(fitting) if fitting else "none"
        raise UserError(f"'{path}' must have exactly one column of lists of numbers; found: {found}")
    return str(fitting[0])


def _is_list_of_numbers(kind: pa.DataType) -> bool:
    types = pa.types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def _first(flags: pa.ChunkedArray) -> int:
    return int(pc.index(flags, True).as_py())
