"""Write a table again with further columns: under which name, and in which format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .formats import TableFormat, format_from_name
from .frames import with_columns
from .table import TextTable
from .writing import write_table


def name_parts(source: str, table: TextTable) -> tuple[str, str]:
    """Return the stem and the suffix of the name for a table with new columns.

    The suffix is that of the input. Plain text becomes CSV, because it has no place for further columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> name_parts("data/tickets.txt", TextTable(pa.table({"text": ["a"]}), "text", TableFormat.TEXT))
    ('tickets', '.csv')
    """
    origin = Path("texts" if source == "-" else source)
    suffixes = origin.suffixes[-2:] if table.compression else origin.suffixes[-1:]
    stem = origin.name.removesuffix("".join(suffixes)) or origin.name
    if table.format is TableFormat.TEXT:
        return stem, ".csv"
    return stem, "".join(suffixes) or f".{table.format}"


def write_labelled(
    table: TextTable, columns: Mapping[str, Any], path: Path, *, spreadsheet_safe: bool = False, overwrite: bool = False
) -> None:
    """Write the table with further columns, in the format of the path's name, or else in its own."""
    form, compression = format_from_name(path)
    write_table(
        with_columns(table.table, columns)[0],
        path,
        format=form or table.format,
        compression=compression,
        overwrite=overwrite,
        spreadsheet_safe=spreadsheet_safe,
        delimiter=table.delimiter,
    )
