"""Read a table from a file or from standard input."""

from __future__ import annotations

import glob
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import pyarrow as pa

from ..errors import NoRowsError, UsageError, UserError
from . import source as limits
from .columns import TextTable, choose_text_column, notes_on_columns
from .delimited import Delimited, read_delimited
from .excel import Sheet, read_workbook
from .jsonlines import read_jsonlines
from .parquet import read_parquet
from .source import (
    WESTERN,
    Source,
    TableFormat,
    UndecodableError,
    check_encoding,
    decode_sample,
    encoding_of,
    format_from_name,
    is_workbook,
    open_source,
    read_lines,
    sniff_delimiter,
    sniff_format,
)


def is_pattern(source: str) -> bool:
    """Tell whether a name is a pattern for several files."""
    return glob.has_magic(source) and not Path(source).exists()


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted by name."""
    files = sorted(name for name in glob.iglob(pattern, recursive=True) if Path(name).is_file())  # noqa: PTH207 - the pattern may be absolute
    if not files:
        raise UserError(f"no file matches '{pattern}'")
    return files


AS_WESTERN = (
    "It was read as cp1252, the encoding in which Excel saves CSV. If letters look wrong, name another one with "
    "--encoding."
)


class _Plain(NamedTuple):
    """A table without a row of names."""

    table: pa.Table
    header_row: int | None = None
    notes: tuple[str, ...] = ()


def read_table(
    source: str | Path,
    *,
    text_column: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    stdin: BinaryIO | None = None,
) -> TextTable:
    r"""Read a table of texts.

    The format follows from the file name (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.xlsx``, ``.txt`` and some
    synonyms), or else from the content. A workbook under another name, and another file that is named as a workbook,
    are refused. The compression follows from the first bytes. A byte order mark is dropped.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.
    text_column : str, optional
        The column that holds the texts; by default :func:`choose_text_column` decides.
    encoding : str, optional
        The encoding of a text file; by default that of its byte order mark, or UTF-8. A file that is not UTF-8 is read
        as cp1252 if that is plausible, with a note.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the visible one with the most texts.
    header_row : int, optional
        The row of a CSV file or a sheet that has the names of the columns, from 1; 0 if there is none. By default it is
        found: titles and merged cells may stand above it.
    stdin : binary file, optional
        The input to read for ``"-"``; standard input by default.

    Returns
    -------
    TextTable

    Raises
    ------
    UserError
        If the file cannot be read. The message says why, where, and what to do. A line (in CSV: a cell) may have up
        to 2**24 characters, and a file 5,000,000 rows and 1 GB once it is unpacked. A valid file without rows raises
        a NoRowsError, which is a UserError.

    Examples
    --------
    >>> import io
    >>> read_table("-", stdin=io.BytesIO(b"id,text\n007,NA\n")).table.to_pylist()
    [{'id': '007', 'text': 'NA'}]
    """
    checked = None if encoding is None else check_encoding(encoding)
    try:
        return _read_table(source, text_column, checked, sheet, header_row, stdin)
    except UndecodableError as error:
        if checked is not None or not error.is_western or str(source) == "-":
            raise
    return _read_table(source, text_column, WESTERN, sheet, header_row, stdin, is_guess=True)


def _read_table(
    source: str | Path, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None,
    stdin: BinaryIO | None, *, is_guess: bool = False,
) -> TextTable:  # fmt: skip
    with open_source(source, stdin=stdin) as opened:
        start = opened.stream.peek()
        named = format_from_name(opened.path)[0] if opened.path else None
        if not start:  # valid Parquet files and workbooks have bytes even without rows
            has_bytes = named in (TableFormat.PARQUET, TableFormat.XLSX)
            raise (UserError if has_bytes else NoRowsError)(f"{opened.name} is empty")
        codec = encoding or encoding_of(start)
        form = named or sniff_format(start, codec)
        if is_workbook(start) != (form is TableFormat.XLSX) and form is not TableFormat.PARQUET:
            _refuse_name(opened.name, form, sniff_format(start, codec))
        delimiter = _delimiter(form, start, codec)
        if header_row is not None and form not in (TableFormat.CSV, TableFormat.TSV, TableFormat.XLSX):
            raise UsageError(f"--header-row is for CSV, TSV and Excel; {opened.name} has no header row.")
        read: _Plain | Delimited | Sheet
        if form is TableFormat.XLSX:
            read = read_workbook(opened, sheet, header_row, text_column)
        else:
            read = _read(opened, form, codec, delimiter, header_row)
    if not read.table.num_rows:
        raise NoRowsError(f"{opened.name} has no rows")
    column = choose_text_column(read.table, text_column)
    notes = (*read.notes, *(notes_on_columns(read.table, column) if text_column is None else ()))
    if codec == WESTERN and (is_guess or encoding is None) and form not in (TableFormat.XLSX, TableFormat.PARQUET):
        notes = (f"{opened.name} is not UTF-8. {AS_WESTERN}", *notes)
    name = read.name if isinstance(read, Sheet) else None
    return TextTable(read.table, column, form, opened.compression, delimiter, name, read.header_row, notes)


def _refuse_name(name: str, named: TableFormat, found: TableFormat) -> NoReturn:
    if named is not TableFormat.XLSX:
        raise UserError(
            f"{name} is an Excel workbook or another archive, although its name says otherwise. Rename a workbook to "
            ".xlsx, or unpack the archive."
        )
    if found is TableFormat.TEXT:
        raise UserError(f"{name} is not a workbook, although its name says so. Save it as .xlsx or .csv again.")
    raise UserError(f"{name} is not a workbook, although its name says so. It reads like .{found}: rename it.")


def _delimiter(form: TableFormat, start: bytes, codec: str) -> str:
    if form is TableFormat.CSV:
        return sniff_delimiter(decode_sample(start, codec))
    return "\t" if form is TableFormat.TSV else ","


def _read(source: Source, form: TableFormat, codec: str, delimiter: str, header_row: int | None) -> _Plain | Delimited:
    if form is TableFormat.PARQUET:
        return _Plain(_read_parquet(source))
    lines = read_lines(source, codec)
    if form is TableFormat.TEXT:
        texts = [line.rstrip("\r\n") for line in islice(lines, limits.MAX_ROWS + 1)]
        limits.check_rows(len(texts), source.name)
        return _Plain(pa.table({"text": pa.array(texts, pa.string())}))
    if form is TableFormat.JSONL:
        return _Plain(read_jsonlines(lines, name=source.name))
    return read_delimited(lines, name=source.name, delimiter=delimiter, header_row=header_row)


def _read_parquet(source: Source) -> pa.Table:
    if not source.stream.peek().startswith(b"PAR1"):
        raise UserError(f"{source.name} is not a Parquet file")
    in_memory = source.path is None or source.compression is not None
    return read_parquet(pa.py_buffer(source.stream.read()) if in_memory else source.path, name=source.name)
