"""Write a table again with further columns: under which name, and in which format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..packages import require
from .excel import check_sheet_size
from .formats import OTHER_WORKBOOKS, TableFormat, format_from_name
from .frames import with_columns
from .table import TextTable
from .writing import write_table

SUFFIXES = {TableFormat.TEXT: ".txt", TableFormat.EXCEL_CSV: ".csv"}
"""The suffixes of formats whose name is another word."""

ADDED = 5
"""Most columns that a clustering adds: cluster, cluster_name, similarity, cluster_coarse and cluster_coarse_name."""


def name_parts(source: str, table: TextTable, chosen: TableFormat | None = None) -> tuple[str, str]:
    """Return the stem and the suffix of the name for a table with new columns.

    The suffix is that of the input, unless another format is chosen. Plain text becomes CSV, because it has no place
    for further columns. Workbooks of other kinds become ``.xlsx``.

    Examples
    --------
    >>> table = TextTable(pa.table({"text": ["a"]}), "text", TableFormat.TEXT)
    >>> name_parts("data/tickets.txt", table), name_parts("data/tickets.txt", table, TableFormat.XLSX)
    (('tickets', '.csv'), ('tickets', '.xlsx'))
    """
    origin = Path("texts" if source == "-" else source)
    suffixes = origin.suffixes[-2:] if table.compression else origin.suffixes[-1:]
    stem = origin.name.removesuffix("".join(suffixes)) or origin.name
    form = chosen or (TableFormat.CSV if table.format is TableFormat.TEXT else table.format)
    is_kept = form is table.format and suffixes and suffixes[0].lower() not in OTHER_WORKBOOKS
    return stem, "".join(suffixes) if is_kept else SUFFIXES.get(form, f".{form}")


def output_format(path: Path, table: TextTable, chosen: TableFormat | None = None, n_added: int = ADDED) -> TableFormat:
    """Return the format in which the table is to be written: the chosen one, or that of the path's name, or its own.

    A UserError says, before any work is done, that the name contradicts the choice, or that the table does not fit with
    its `n_added` further columns.

    Examples
    --------
    >>> output_format(Path("a.jsonl"), TextTable(pa.table({"text": ["a"]}), "text", TableFormat.CSV))
    <TableFormat.JSONL: 'jsonl'>
    """
    named = format_from_name(path)[0]
    if named is TableFormat.XLSX and ".xlsx" not in (suffix.lower() for suffix in path.suffixes[-2:]):
        raise UsageError(f"'{path}': workbooks are written as .xlsx only. Give the output that name.")
    form = chosen or named or table.format
    if form is TableFormat.TEXT:
        raise UsageError(f"'{path}': plain text holds one column. Give the output a name that ends with .csv.")
    if named and named is not format_from_name(f"a{SUFFIXES.get(form, f'.{form}')}")[0]:
        raise UsageError(f"'{path}' is the name of a {named} file, but the format is to be {form}. Choose one of them.")
    if form is TableFormat.XLSX:
        require("xlsxwriter", extra="excel")
        check_sheet_size(table.table.num_rows, table.table.num_columns + n_added)
    return form


def write_labelled(
    table: TextTable,
    columns: Mapping[str, Any],
    path: Path,
    *,
    chosen: TableFormat | None = None,
    groups: pa.Table | None = None,
    changes: pa.Table | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
) -> None:
    """Write the table with further columns, as :func:`output_format` says; a workbook gets the further sheets, too."""
    write_table(
        with_columns(table.table, columns)[0],
        path,
        format=output_format(path, table, chosen, len(columns)),
        compression=format_from_name(path)[1],
        overwrite=overwrite,
        spreadsheet_safe=spreadsheet_safe,
        delimiter=table.delimiter if table.format is TableFormat.CSV else ",",
        groups=groups,
        changes=changes,
    )
