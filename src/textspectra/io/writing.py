"""Write a table to a file, completely or not at all."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..atomic import replacing_file
from ..errors import UsageError, UserError
from .delimited import write_delimited
from .excel import write_workbook
from .formats import TableFormat
from .jsonlines import write_jsonlines
from .parquet import write_parquet

COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda file: gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0),
    "bz2": lambda file: bz2.BZ2File(file, "wb"),
    "xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 - the caller closes it
    "zstd": lambda file: pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd"),
}
"""They store no names and times, so that the same table gives the same bytes."""


def write_table(
    table: pa.Table,
    path: Path,
    *,
    format: TableFormat,  # noqa: A002 - the word that users know
    compression: str | None = None,
    overwrite: bool = False,
    spreadsheet_safe: bool = False,
    delimiter: str = ",",
    groups: pa.Table | None = None,
    changes: pa.Table | None = None,
) -> None:
    r"""Write a table to a file, which appears complete or not at all.

    Plain text requires a single column and texts without line breaks. `spreadsheet_safe` is for CSV and TSV, see
    :func:`write_delimited`; reading does not remove its apostrophes. CSV for Excel always has them. TSV always has
    tabs, whatever the delimiter. `groups` and `changes` are further sheets of an Excel workbook; other formats have no
    place for them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "out.csv")
    ...     write_table(pa.table({"text": ["a", "b"], "cluster": [0, 1]}), path, format=TableFormat.CSV)
    ...     path.read_text()
    'text,cluster\na,0\nb,1\n'
    """
    if compression not in (None, *COMPRESSORS):
        raise ValueError(f"compression must be None or one of {', '.join(COMPRESSORS)}, but it is {compression!r}.")
    output_paths_free([path], overwrite=overwrite)
    with replacing(path, compression) as stream:
        if format is TableFormat.PARQUET:
            write_parquet(table, stream)
        elif format is TableFormat.JSONL:
            write_jsonlines(table, stream)
        elif format is TableFormat.TEXT:
            stream.write(_plain_text(table))
        elif format is TableFormat.XLSX:
            sheets = {"texts": table, "groups": groups, "changes": changes}
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
def replacing(path: Path, compression: str | None = None) -> Iterator[IO[bytes]]:
    """Yield a stream to a file that takes the place of `path` at the end, as in :func:`replacing_file`."""
    with replacing_file(path) as temporary, temporary.open("wb") as file:
        if compression is None:
            yield file
        else:
            with COMPRESSORS[compression](file) as stream:
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
