"""Read a table from a file or from standard input."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from ..errors import NoRowsError, UsageError, UserError
from .columns import RawTable, TextTable, choose_text_column, notes_on_columns
from .excel import read_workbook
from .lines import read_delimited, read_jsonlines, read_texts
from .parquet import read_parquet
from .source import PARQUET_START, WESTERN, TableFormat, WesternError, open_source, read_lines, recognize


def is_pattern(source: str) -> bool:
    """Return True if a name is a pattern for several files."""
    return glob.has_magic(source) and not Path(source).exists()


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted by name."""
    files = sorted(name for name in glob.iglob(pattern, recursive=True) if Path(name).is_file())  # noqa: PTH207 - the pattern may be absolute
    if not files:
        raise UserError(f"no file matches '{pattern}'")
    return files


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
        The encoding of a text file; by default from its byte order mark, or UTF-8. A file that is not UTF-8 is read
        as cp1252 if that is plausible, with a note.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the visible one with the most texts.
    header_row : int, optional
        The row of a CSV file or a sheet that has the column names, from 1; 0 if there is none. By default it is
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

    See Also
    --------
    cluster_texts : Group the texts of a table.

    Examples
    --------
    >>> import io
    >>> read_table("-", stdin=io.BytesIO(b"id,text\n007,NA\n")).table.to_pylist()
    [{'id': '007', 'text': 'NA'}]
    """

    def read(guess: str | None = None) -> TextTable:
        with open_source(source, stdin=stdin) as opened:
            form, codec, delimiter = recognize(opened, encoding or guess)
            if header_row is not None and form not in (TableFormat.CSV, TableFormat.TSV, TableFormat.XLSX):
                raise UsageError(f"--header-row is for CSV, TSV and Excel; {opened.name} has no header row.")
            lines = read_lines(opened, codec)
            if form is TableFormat.XLSX:
                raw = read_workbook(opened, sheet, header_row, text_column)
            elif form is TableFormat.PARQUET:
                if not opened.stream.peek().startswith(PARQUET_START):
                    raise UserError(f"{opened.name} is not a Parquet file")
                is_plain = opened.path is not None and opened.compression is None
                file = opened.path if is_plain else pa.py_buffer(opened.stream.read())
                raw = RawTable(read_parquet(file, name=opened.name))
            elif form is TableFormat.JSONL:
                raw = read_jsonlines(lines, name=opened.name)
            elif form is TableFormat.TEXT:
                raw = read_texts(lines, name=opened.name)
            else:
                raw = read_delimited(lines, name=opened.name, delimiter=delimiter, header_row=header_row)
        if not raw.table.num_rows:
            raise NoRowsError(f"{opened.name} has no rows")
        column = choose_text_column(raw.table, text_column)
        notes = raw.notes
        if text_column is None:
            notes += notes_on_columns(raw.table, column)
        if codec == WESTERN and encoding is None and form not in (TableFormat.XLSX, TableFormat.PARQUET):
            note = (
                "It was read as cp1252, the encoding in which Excel saves CSV. If letters look wrong, name another one"
            )
            notes = (f"{opened.name} is not UTF-8. {note} with --encoding.", *notes)
        return TextTable(raw.table, column, form, opened.compression, delimiter, raw.sheet, raw.header_row, notes)

    try:
        return read()
    except WesternError:
        if encoding is not None or str(source) == "-":  # standard input cannot be read twice
            raise
    return read(WESTERN)
