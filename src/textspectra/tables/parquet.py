"""Parquet: what a file holds is checked before it is unfolded, since a small one can hold gigabytes of equal values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import UserError
from .columns import JSON_MARK, python_values, refuse_duplicates
from .jsonlines import to_json
from .source import INSTEAD, check_bytes, check_rows


def read_parquet(file: Any, *, name: str, advice: str = INSTEAD) -> pa.Table:
    """Read a Parquet file, given by its path or an Arrow buffer; messages call it `name` and end with `advice`.

    Strings are read as numbers and a list of the different ones first. So the memory that all of them need is known
    before it is used.
    """
    try:
        opened = pq.ParquetFile(file)
        refuse_duplicates(opened.schema_arrow.names, name)
        _check_size(opened, file, name, advice)
        table = opened.read()
    except UnicodeDecodeError:
        raise UserError(
            f"{name} has a column whose name is not valid UTF-8. Rename it, and write the file again."
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{name} is a Parquet file that is damaged or cut short. Fetch it again.") from error
    for column in table.column_names:
        _check_values(table.column(column), column, name)
    return table


def check_table(table: pa.Table, name: str, advice: str) -> None:
    """Raise a UserError if :func:`read_parquet` would refuse the table."""
    check_rows(table.num_rows, name, advice)
    check_bytes(sum(map(_text_bytes, table.columns)), name, advice)


def write_parquet(table: pa.Table, stream: Any) -> None:
    """Write a table; objects without any key, which Parquet cannot hold, become JSON."""
    for place, field in enumerate(table.schema):
        if _has_empty_struct(field.type):
            dumped = [None if value is None else to_json(value) for value in python_values(table.column(place))]
            as_json = pa.field(field.name, pa.string(), metadata=JSON_MARK)
            table = table.set_column(place, as_json, pa.array(dumped, pa.string()))
    pq.write_table(table, stream, compression="zstd")


def _check_size(opened: pq.ParquetFile, file: Any, name: str, advice: str) -> None:
    """Raise a UserError if a file has too many rows, or values that would take too much memory."""
    clusters = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
    check_rows(max(opened.metadata.num_rows, sum(cluster.num_rows for cluster in clusters)), name, advice)
    leaves = [opened.schema.column(number) for number in range(len(opened.schema))]
    chunks = [(leaf, cluster.column(number)) for cluster in clusters for number, leaf in enumerate(leaves)]
    check_bytes(sum(chunk.total_uncompressed_size for _, chunk in chunks), name, advice)
    # A value that is repeated takes no room in the file, so only the number of values says what they will take.
    n_bytes = sum(chunk.num_values * _width(leaf) for leaf, chunk in chunks)
    check_bytes(n_bytes, name, advice)
    if any(leaf.physical_type == "BYTE_ARRAY" and "DELTA_BYTE_ARRAY" in chunk.encodings for leaf, chunk in chunks):
        raise UserError(f"{name} has texts in the encoding DELTA_BYTE_ARRAY, which is not read. Write it with another.")
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    folded = pq.ParquetFile(file, read_dictionary=texts)
    for number in range(len(clusters)):
        for path in texts:
            n_bytes += sum(map(_text_bytes, folded.read_row_group(number, columns=[path]).columns))
            check_bytes(n_bytes, name, advice)


def _width(leaf: pq.ColumnSchema) -> int:
    """Return how many bytes a value takes in memory; of a text, this is its number in a list of different ones."""
    widths: dict[str, int] = {
        "BOOLEAN": 1,
        "INT32": 4,
        "FLOAT": 4,
        "BYTE_ARRAY": 4,
        "FIXED_LEN_BYTE_ARRAY": max(int(leaf.length), 1),
    }
    return widths.get(str(leaf.physical_type), 8)


def _text_bytes(column: pa.ChunkedArray | pa.Array) -> int:
    """Return how many bytes the texts of a column take, each as often as it occurs, however deep they are."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_text_bytes, column.chunks))
    kind = column.type
    if pa.types.is_dictionary(kind):
        lengths = _lengths(column.dictionary)
        return 0 if lengths is None else int(pc.sum(lengths.take(column.indices)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_text_bytes(column.field(number)) for number in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _text_bytes(column.keys) + _text_bytes(column.items)
    if pa.types.is_nested(kind):
        return _text_bytes(column.flatten())
    lengths = _lengths(column)
    return 0 if lengths is None else int(pc.sum(lengths).as_py() or 0)


def _lengths(values: pa.Array) -> pa.Array | None:
    kinds = pa.types
    is_text = kinds.is_string(values.type) or kinds.is_binary(values.type) or kinds.is_fixed_size_binary(values.type)
    is_large = kinds.is_large_string(values.type) or kinds.is_large_binary(values.type)
    return pc.binary_length(values) if is_text or is_large else None


def _check_values(column: pa.ChunkedArray, title: str, name: str) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowException:
        raise UserError(
            f"{name}: the column {title!r} holds bytes that are not valid UTF-8, or it is damaged otherwise. Write the "
            "file again, with texts in UTF-8."
        ) from None


def _has_empty_struct(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind) and not kind.num_fields:
        return True
    return any(_has_empty_struct(kind.field(i).type) for i in range(kind.num_fields))
