"""Write a table or embeddings to a file, completely or not at all."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import UsageError, require
from ..files import replacing_file
from .columns import TextTable
from .excel import check_sheet_size, write_workbook
from .frames import with_columns
from .lines import write_delimited, write_jsonlines
from .parquet import embedding_suffix, write_parquet
from .source import FORMAT_BY_SUFFIX, OTHER_WORKBOOKS, SUFFIXES, TableFormat, compressed, format_from_name

# Most columns that a clustering adds: cluster, cluster_name, cluster_mixed, similarity, cluster_coarse and its name.
ADDED = 6


def output_paths_free(paths: Iterable[Path], *, overwrite: bool) -> None:
    """Raise a UsageError if one of the paths exists and must not be replaced."""
    old_paths = [path for path in paths if os.path.lexists(path)]
    folders = [path for path in old_paths if path.is_dir()]
    if folders:
        raise UsageError(f"'{folders[0]}' is a folder; name a file in it")
    if old_paths and not overwrite:
        names, verb = ", ".join(f"'{path}'" for path in old_paths), "exists" if len(old_paths) == 1 else "exist"
        raise UsageError(f"{names} {verb} already; use --overwrite or another --out")


def name_parts(source: str, table: TextTable, chosen: TableFormat | None = None) -> tuple[str, str]:
    """Return the stem and the suffix of the name for a table with new columns, for which plain text has no place."""
    origin = Path("texts" if source == "-" else source)
    suffixes = origin.suffixes[-2:] if table.compression else origin.suffixes[-1:]
    stem = origin.name.removesuffix("".join(suffixes)) or origin.name
    form = chosen or (TableFormat.CSV if table.format is TableFormat.TEXT else table.format)
    is_kept = form is table.format and suffixes and suffixes[0].lower() not in OTHER_WORKBOOKS
    return stem, "".join(suffixes) if is_kept else SUFFIXES[form][0]


def output_format(path: Path, table: TextTable, chosen: TableFormat | None = None, n_added: int = ADDED) -> TableFormat:
    """Return the format of an output: the chosen one, or else the one of its name, or else the table's own.

    Raise a UserError if the name contradicts the choice, or if the table with `n_added` further columns does not fit.
    """
    named = format_from_name(path)[0]
    if named is TableFormat.XLSX and ".xlsx" not in (suffix.lower() for suffix in path.suffixes[-2:]):
        raise UsageError(f"'{path}': workbooks are written as .xlsx only. Give the output that name.")
    form = chosen or named or table.format
    if form is TableFormat.TEXT:
        raise UsageError(f"'{path}': plain text holds one column. Give the output a name that ends with .csv.")
    if named and named is not FORMAT_BY_SUFFIX[SUFFIXES[form][0]]:
        raise UsageError(f"'{path}' is the name of a {named} file, but the format is to be {form}. Choose one of them.")
    if form is TableFormat.XLSX:
        require("xlsxwriter", extra="excel")
        check_sheet_size(table.table.num_rows, table.table.num_columns + n_added)
    return form


def write_labeled(
    table: TextTable,
    columns: Mapping[str, Sized],
    path: Path,
    *,
    chosen: TableFormat | None = None,
    clusters: pa.Table | None = None,
    changes: pa.Table | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a table with further columns in its :func:`output_format`; `clusters` and `changes` are sheets of Excel.

    `spreadsheet_safe` is for CSV and TSV; reading does not remove its apostrophes, and CSV for Excel always has them.
    """
    form = output_format(path, table, chosen, len(columns))
    output_paths_free([path], overwrite=overwrite)
    wider = with_columns(table.table, columns)[0]
    compression = format_from_name(path)[1]
    with replacing_file(path) as temporary, temporary.open("wb") as file, compressed(file, compression, "wb") as stream:
        if form is TableFormat.PARQUET:
            write_parquet(wider, stream)
        elif form is TableFormat.JSONL:
            write_jsonlines(wider, stream)
        elif form is TableFormat.XLSX:
            sheets = {"texts": wider, "groups": clusters, "changes": changes}
            write_workbook({name: sheet for name, sheet in sheets.items() if sheet is not None}, stream)
        else:
            is_for_excel = form is TableFormat.EXCEL_CSV
            stream.write(codecs.BOM_UTF8 if is_for_excel else b"")
            delimiter = "\t" if form is TableFormat.TSV else table.delimiter if table.format is TableFormat.CSV else ","
            write_delimited(wider, stream, delimiter=delimiter, spreadsheet_safe=spreadsheet_safe or is_for_excel)


def write_embeddings(
    X: NDArray[np.generic], path: Path, *, texts: Sequence[str] | None = None, overwrite: bool = False
) -> None:
    """Write embeddings for :func:`read_embeddings`; ``.npy`` has no place for the texts."""
    suffix = embedding_suffix(path, "written to")
    output_paths_free([path], overwrite=overwrite)
    with replacing_file(path) as temporary, temporary.open("wb") as stream:
        if suffix == ".npy":
            np.save(stream, X, allow_pickle=False)
            return
        columns = {} if texts is None else {"text": pa.array(texts, pa.string())}
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(X)), X.shape[1])
        write_parquet(pa.table(columns), stream)
