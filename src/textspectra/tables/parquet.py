"""Parquet tables.

A small Parquet file can hold gigabytes of equal values, so its size is checked before it is unfolded.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import UserError
from .columns import is_any, python_values, refuse_duplicates
from .lines import json_column, structs_in
from .source import INSTEAD, check_bytes, check_row_count


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
