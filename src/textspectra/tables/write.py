"""Write a table or embeddings to a file, completely or not at all."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UsageError, UserError, require
from ..files import replacing_file
from .columns import TextTable
from .delimited import write_delimited
from .excel import check_sheet_size, write_workbook
from .frames import with_columns
from .jsonlines import write_jsonlines
from .parquet import embedding_suffix, write_parquet
from .source import FORMAT_BY_SUFFIX, OTHER_WORKBOOKS, SUFFIXES, TableFormat, format_from_name

ADDED = 5
"""Most columns that a clustering adds: cluster, cluster_name, similarity, cluster_coarse and cluster_coarse_name."""

COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda file: gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0),
    "bz2": lambda file: bz2.BZ2File(file, "wb"),
    "xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 - the caller closes it
    "zstd": lambda file: pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd"),
}
"""They store no names or times, so that the same table gives the same bytes."""


def write_table(
    table: pa.Table,
    path: Path,
    *,
    format: TableFormat,  # noqa: A002 - the word that users know
    compression: str | None = None,
    overwrite: bool = False,
    spreadsheet_safe: bool = False,
    delimiter: str = ",",
    clusters: pa.Table | None = None,
    changes: pa.Table | None = None,
) -> None:
    """Write a table to a file, which appears complete or not at all.

    Plain text requires a single column and texts without line breaks. `spreadsheet_safe` is for CSV and TSV, see
    :func:`write_delimited`; reading does not remove its apostrophes. CSV for Excel always has them. TSV always has
    tabs, whatever the delimiter. `clusters` and `changes` are further sheets of a workbook; other formats ignore them.
    """
    if compression not in (None, *COMPRESSORS):
        raise ValueError(f"compression must be None or one of {', '.join(COMPRESSORS)}, but it is {compression!r}.")
    output_paths_free([path], overwrite=overwrite)
    with _replacing(path, compression) as stream:
        if format is TableFormat.PARQUET:
            write_parquet(table, stream)
        elif format is TableFormat.JSONL:
            write_jsonlines(table, stream)
        elif format is TableFormat.TEXT:
            stream.write(_plain_text(table))
        elif format is TableFormat.XLSX:
            sheets = {"texts": table, "groups": clusters, "changes": changes}
            write_workbook({name: sheet for name, sheet in sheets.items() if sheet is not None}, stream)
        else:
            if format is TableFormat.EXCEL_CSV:
                stream.write(codecs.BOM_UTF8)
            sign = "\t" if format is TableFormat.TSV else delimiter
            safe = spreadsheet_safe or format is TableFormat.EXCEL_CSV
            write_delimited(table, stream, delimiter=sign, spreadsheet_safe=safe)


def output_paths_free(paths: Iterable[Path], *, overwrite: bool) -> None:
    """Raise a UserError if one of the paths exists and must not be replaced."""
    there = [path for path in paths if os.path.lexists(path)]
    folders = [path for path in there if path.is_dir()]
    if folders:
        raise UsageError(f"'{folders[0]}' is a folder; name a file in it")
    if there and not overwrite:
        verb = "exists" if len(there) == 1 else "exist"
        names = ", ".join(f"'{path}'" for path in there)
        raise UsageError(f"{names} {verb} already; use --overwrite or another --out")


@contextmanager
def _replacing(path: Path, compression: str | None = None) -> Iterator[IO[bytes]]:
    """Yield a stream to a file that takes the place of `path` at the end, as in :func:`replacing_file`."""
    with (
        replacing_file(path) as temporary,
        temporary.open("wb") as file,
        COMPRESSORS[compression](file) if compression else nullcontext(file) as stream,
    ):
        yield stream


def _plain_text(table: pa.Table) -> bytes:
    if table.num_columns != 1:
        raise UserError(
            f"plain text holds one column, but the table has {table.num_columns}. Write .csv, .jsonl or .parquet "
            "instead."
        )
    texts: list[str] = pc.fill_null(table.column(0).cast(pa.large_string()), "").to_pylist()
    for row, text in enumerate(texts, 1):
        if "\n" in text or "\r" in text:
            raise UserError(
                f"the text in row {row:,} has a line break, so it cannot be written as plain text. Write .csv, .jsonl "
                "or .parquet instead."
            )
    return "".join(f"{text}\n" for text in texts).encode()


def name_parts(source: str, table: TextTable, chosen: TableFormat | None = None) -> tuple[str, str]:
    """Return the stem and the suffix of the name for a table with new columns.

    The suffix of the input is kept, unless another format is chosen. Plain text becomes CSV, because it has no place
    for further columns. Workbooks of other kinds become ``.xlsx``.
    """
    origin = Path("texts" if source == "-" else source)
    suffixes = origin.suffixes[-2:] if table.compression else origin.suffixes[-1:]
    stem = origin.name.removesuffix("".join(suffixes)) or origin.name
    form = chosen or (TableFormat.CSV if table.format is TableFormat.TEXT else table.format)
    is_kept = form is table.format and suffixes and suffixes[0].lower() not in OTHER_WORKBOOKS
    return stem, "".join(suffixes) if is_kept else SUFFIXES[form][0]


def output_format(path: Path, table: TextTable, chosen: TableFormat | None = None, n_added: int = ADDED) -> TableFormat:
    """Return the format of an output: the chosen one, or else the one of its name, or else the table's own.

    Raises a UserError, before any work is done, if the name contradicts the choice, or if the table with `n_added`
    further columns does not fit.
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
    columns: Mapping[str, Any],
    path: Path,
    *,
    chosen: TableFormat | None = None,
    clusters: pa.Table | None = None,
    changes: pa.Table | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
) -> None:
    """Write the table with further columns in its :func:`output_format`; a workbook gets the further sheets, too."""
    write_table(
        with_columns(table.table, columns)[0],
        path,
        format=output_format(path, table, chosen, len(columns)),
        compression=format_from_name(path)[1],
        overwrite=overwrite,
        spreadsheet_safe=spreadsheet_safe,
        delimiter=table.delimiter if table.format is TableFormat.CSV else ",",
        clusters=clusters,
        changes=changes,
    )


def write_embeddings(
    X: NDArray[Any], path: Path, *, texts: Sequence[str] | None = None, overwrite: bool = False
) -> None:
    """Write embeddings to a file for :func:`read_embeddings`, which appears complete or not at all.

    Parquet gets the columns ``text`` (if `texts` are given) and ``embedding``; ``.npy`` has no place for texts.
    """
    suffix = embedding_suffix(path, "written to")
    output_paths_free([path], overwrite=overwrite)
    with _replacing(path) as stream:
        if suffix == ".npy":
            np.save(stream, X, allow_pickle=False)
            return
        lists = pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(X)), X.shape[1])
        columns = {"embedding": lists} if texts is None else {"text": pa.array(texts, pa.string()), "embedding": lists}
        write_parquet(pa.table(columns), stream)
