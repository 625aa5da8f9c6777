"""Parquet: what a file holds is checked before it is unfolded, since a small one can hold gigabytes of equal values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import UserError
from .jsonlines import to_json
from .limits import check_bytes, check_rows
from .table import JSON_MARK, python_values, refuse_duplicates


def read_parquet(file: Any, *, name: str) -> pa.Table:
    """Read a Parquet file, given by its path or an Arrow buffer; messages call it `name`.

    Strings are read as numbers and a list of the different ones first. So the memory that all of them need is known
    before it is used.
    """
    try:
        opened = pq.ParquetFile(file)
        schema = opened.schema_arrow
        names = schema.names
        check_rows(opened.metadata.num_rows, name)
        refuse_duplicates(names, name)
        strings = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
        folded = pq.ParquetFile(file, read_dictionary=strings)
        parts, n_bytes = [], 0
        for group in range(folded.num_row_groups):
            part = folded.read_row_group(group)
            n_bytes += sum(map(_unfolded_bytes, part.columns))
            check_bytes(n_bytes, name)
            parts.append(part.cast(schema))
    except UnicodeDecodeError:
        raise UserError(
            f"{name} has a column whose name is not valid UTF-8. Rename it, and write the file again."
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{name} is a Parquet file that is damaged or cut short. Fetch it again.") from error
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    for column in names:
        _check_values(table.column(column), column, name)
    return table


def write_parquet(table: pa.Table, stream: Any) -> None:
    """Write a table; objects without any key, which Parquet cannot hold, become JSON."""
    for place, field in enumerate(table.schema):
        if _has_empty_struct(field.type):
            dumped = [None if value is None else to_json(value) for value in python_values(table.column(place))]
            as_json = pa.field(field.name, pa.string(), metadata=JSON_MARK)
            table = table.set_column(place, as_json, pa.array(dumped, pa.string()))
    pq.write_table(table, stream, compression="zstd")


def _unfolded_bytes(column: pa.ChunkedArray) -> int:
    """Return how many bytes the values take, each as often as it occurs."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return sum(
        int(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0) + 8 * len(chunk)
        for chunk in column.chunks
    )


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
