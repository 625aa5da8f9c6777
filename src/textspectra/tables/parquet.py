"""Parquet tables, and vectors in tables and files: columns of lists, series of arrays, NumPy and Parquet files.

A small Parquet file can hold gigabytes of equal values, so its size is checked before it is unfolded.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from ..errors import UserError
from .columns import TextTable, describe_values, find_column, is_any, python_values, refuse_duplicates
from .headers import quoted_names
from .lines import json_column, structs_in
from .source import INSTEAD, ZIP_START, check_bytes, check_row_count, open_file

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries

Vectors: TypeAlias = "str | ArrayLike | IntoSeries"  # a column of a data frame, an array, or a series of vectors


def read_parquet(file: Path | pa.Buffer, *, name: str, advice: str = INSTEAD) -> pa.Table:
    """Read a Parquet file, given by its path or an Arrow buffer; messages call it `name` and end with `advice`."""
    try:
        opened = pq.ParquetFile(file)
        refuse_duplicates(opened.schema_arrow.names, name)
        _check_size(opened, file, name, advice)
        table = opened.read()
    except UnicodeDecodeError:
        remedy = "Rename it, and write the file again."
        raise UserError(f"{name} has a column whose name is not valid UTF-8. {remedy}") from None
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{name} is a Parquet file that is damaged or cut short. Fetch it again.") from error
    for title in table.column_names:
        try:
            table.column(title).validate(full=True)
        except pa.ArrowException:
            damage = "holds bytes that are not valid UTF-8, or it is damaged otherwise"
            remedy = "Write the file again, with texts in UTF-8."
            raise UserError(f"{name}: the column {title!r} {damage}. {remedy}") from None
    return table


def check_table(table: pa.Table, name: str, advice: str) -> None:
    """Raise a UserError if :func:`read_parquet` would refuse the table."""
    check_row_count(table.num_rows, name, advice)
    check_bytes(sum(map(_text_bytes, table.columns)), name, advice)


def _check_size(opened: pq.ParquetFile, file: Path | pa.Buffer, name: str, advice: str) -> None:
    """Raise a UserError if a file has too many rows, or values that would take too much memory."""
    row_groups = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
    check_row_count(max(opened.metadata.num_rows, sum(part.num_rows for part in row_groups)), name, advice)
    leaves = [opened.schema.column(number) for number in range(len(opened.schema))]
    chunks = [(leaf, part.column(number)) for part in row_groups for number, leaf in enumerate(leaves)]
    # A value that is repeated takes no room in the file, so only the number of values says what they will take.
    n_bytes = sum(chunk.num_values * _width(leaf) for leaf, chunk in chunks)
    check_bytes(max(n_bytes, sum(chunk.total_uncompressed_size for _, chunk in chunks)), name, advice)
    if any(leaf.physical_type == "BYTE_ARRAY" and "DELTA_BYTE_ARRAY" in chunk.encodings for leaf, chunk in chunks):
        raise UserError(f"{name} has texts in the encoding DELTA_BYTE_ARRAY, which is not read. Write it with another.")
    # Texts are read as a list of the different ones first, so that the memory they need is known before it is used.
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    folded = pq.ParquetFile(file, read_dictionary=texts)
    for number in range(len(row_groups)):
        for path in texts:
            n_bytes += sum(map(_text_bytes, folded.read_row_group(number, columns=[path]).columns))
            check_bytes(n_bytes, name, advice)


def _width(leaf: pq.ColumnSchema) -> int:
    """Return how many bytes a value takes in memory; a text takes its number in the list of different ones."""
    if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return max(int(leaf.length), 1)
    return {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "BYTE_ARRAY": 4}.get(str(leaf.physical_type), 8)


def _text_bytes(column: pa.ChunkedArray | pa.Array) -> int:
    """Return how many bytes the texts of a column take, each as often as it occurs, however deep they are."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_text_bytes, column.chunks))
    if is_any(column.type, "struct"):
        return sum(_text_bytes(column.field(number)) for number in range(column.type.num_fields))
    if is_any(column.type, "map"):
        return _text_bytes(column.keys) + _text_bytes(column.items)
    if is_any(column.type, "nested"):
        return _text_bytes(column.flatten())
    is_coded = is_any(column.type, "dictionary")
    values = column.dictionary if is_coded else column
    if not is_any(values.type, "string", "large_string", "binary", "large_binary", "fixed_size_binary"):
        return 0
    lengths = pc.binary_length(values)
    return int(pc.sum(lengths.take(column.indices) if is_coded else lengths).as_py() or 0)


def write_parquet(table: pa.Table, stream: IO[bytes]) -> None:
    """Write a table; objects without any key, which Parquet cannot hold, become JSON."""
    for place, field in enumerate(table.schema):
        if any(not struct.num_fields for struct in structs_in(field.type)):
            table = table.set_column(place, *json_column(field.name, python_values(table.column(place))))
    pq.write_table(table, stream, compression="zstd")


def given_vectors(embeddings: Vectors, texts: object = None) -> Any:
    """Return embeddings as an array, one row per text.

    They may be the name of a column of `texts`, a series of lists or arrays, or an Arrow array of lists. Anything else
    is returned as it is: the caller checks arrays. An error names the first row that cannot be used.
    """
    if isinstance(embeddings, str):
        if not isinstance(texts, TextTable):
            instead = "but texts is not one; give the vectors themselves."
            raise UserError(f"embeddings={embeddings!r} names a column of a data frame, {instead}")
        return list_column(texts.table, embeddings)
    name = str(getattr(embeddings, "name", None) or "embeddings")
    if isinstance(embeddings, pa.Array | pa.ChunkedArray):
        return list_column(pa.table({name: embeddings}), name)
    library = type(embeddings).__module__.partition(".")[0]
    if library == "polars" and type(embeddings).__name__ == "Series":
        return list_column(pa.table({name: embeddings.to_arrow()}), name)  # type: ignore[union-attr]
    is_series = library == "pandas" and type(embeddings).__name__ == "Series"
    if is_series or (isinstance(embeddings, np.ndarray) and embeddings.dtype == object and embeddings.ndim == 1):
        return _stacked(list(embeddings), name)  # type: ignore[arg-type]
    if isinstance(embeddings, list | tuple):
        return _stacked(embeddings, name)
    return embeddings


def _stacked(rows: Any, name: str) -> ArrayLike:
    """Stack vectors, one per row; what is not a list of vectors is left to the check of arrays."""
    sizes = [len(row) if hasattr(row, "__len__") and not isinstance(row, str | bytes) else -1 for row in rows]
    if not sizes or max(sizes) < 0:
        return np.asarray(rows)
    for row, size in enumerate(sizes):
        if size < 0:
            raise UserError(f"row {row:,} of {name!r} is missing")
        if size != sizes[0] >= 0:
            raise UserError(f"row {row:,} of {name!r} has {size:,} numbers, but row 0 has {sizes[0]:,}")
    return np.stack([np.asarray(row) for row in rows])


def read_embeddings(path: Path) -> NDArray[np.generic]:
    """Map a matrix of embeddings from ``.npy``, or read it from the only column of lists of numbers in Parquet."""
    suffix = embedding_suffix(path, "read from")
    with open_file(path) as file:
        is_archive = file.read(len(ZIP_START)) == ZIP_START
    if suffix == ".npy":
        if is_archive:
            raise UserError(f"'{path}' holds several arrays. Write the one with numpy.save.")
        return _read_npy(path)
    try:
        parquet = pq.ParquetFile(path)
        fitting = [field.name for field in parquet.schema_arrow if _is_list_of_numbers(field.type)]
        if len(fitting) != 1:
            listed = quoted_names(fitting) if fitting else "none"
            raise UserError(f"'{path}' must have exactly one column of lists of numbers; found: {listed}")
        column = parquet.read(columns=fitting).column(fitting[0])
        column.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"'{path}' is not a Parquet file, or it is damaged or cut short.") from error
    if not len(column):
        raise UserError(f"'{path}' has no rows")
    return _as_matrix(column, f"'{path}': ", fitting[0])


def embedding_suffix(path: Path, verb: str) -> str:
    """Return the suffix of a file of embeddings, or raise a UserError if it is another kind of file."""
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".parquet", ".pq"):
        raise UserError(f"'{path}': embeddings are {verb} .npy and .parquet files")
    return suffix


def _read_npy(path: Path) -> NDArray[np.generic]:
    try:
        rows: NDArray[np.generic] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header, which is Python code, can raise anything
        advice = "Write it with numpy.save."
        raise UserError(f"'{path}' is not a .npy file of numbers, or it is cut short. {advice}") from error
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        content = f"its shape is {rows.shape} and its type {rows.dtype}"
        raise UserError(f"'{path}' must hold a matrix of numbers, but {content}.")
    return rows


def list_column(table: pa.Table, name: str) -> NDArray[np.generic]:
    """Return a column of lists of numbers as a matrix; a column in one chunk is not copied."""
    field = find_column(table, name)
    if not _is_list_of_numbers(field.type):
        raise UserError(f"the column {name!r} holds {describe_values(field)}, not lists of numbers")
    return _as_matrix(table.column(name), "", name)


def _is_list_of_numbers(kind: pa.DataType) -> bool:
    is_list = is_any(kind, "list", "large_list", "fixed_size_list")
    return is_list and is_any(kind.value_type, "floating", "integer")


def _as_matrix(column: pa.ChunkedArray, where: str, name: str) -> NDArray[np.generic]:
    if column.null_count:
        raise UserError(f"{where}row {pc.index(column.is_null(), True).as_py():,} of {name!r} is missing")
    lengths = pc.list_value_length(column)
    width = lengths[0].as_py()
    row = pc.index(pc.not_equal(lengths, width), True).as_py()
    if row >= 0:
        raise UserError(f"{where}row {row:,} of {name!r} has {lengths[row].as_py():,} numbers, but row 0 has {width:,}")
    if not width:
        raise UserError(f"{where}the lists of {name!r} are empty")
    parts = [chunk.flatten() for chunk in column.chunks if len(chunk)]
    start = 0
    for part in parts:
        if part.null_count:
            row = start + pc.index(part.is_null(), True).as_py() // width
            raise UserError(f"{where}a number in row {row:,} of {name!r} is missing. Embed this text again.")
        start += len(part) // width
    blocks = [part.to_numpy(zero_copy_only=True).reshape(-1, width) for part in parts]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
