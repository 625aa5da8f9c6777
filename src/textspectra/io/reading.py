"""Any table from a file or from standard input."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import NoRowsError, UserError
from .columns import check_text_column, choose_text_column
from .delimited import read_delimited
from .formats import (
    SAMPLE_BYTES,
    TableFormat,
    decode_sample,
    encoding_of,
    format_from_name,
    sniff_delimiter,
    sniff_format,
)
from .jsonlines import read_jsonlines
from .source import Source, check_encoding, open_source, read_lines
from .table import TextTable, refuse_duplicates


def read_table(
    source: str | Path,
    *,
    text_column: str | None = None,
    encoding: str | None = None,
    stdin: BinaryIO | None = None,
) -> TextTable:
    r"""Read a table of texts.

    The format follows from the name (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.txt`` and some synonyms) and is
    guessed from the content where the name says nothing. Compression follows from the first bytes. A byte order mark
    is understood and dropped.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.
    text_column : str, optional
        The column that holds the texts; by default :func:`choose_text_column` decides.
    encoding : str, optional
        Of a text file; by default what its byte order mark says, or UTF-8.
    stdin : binary file, optional
        What to read for ``"-"``; the standard input by default.

    Returns
    -------
    TextTable

    Raises
    ------
    UserError
        Where the file cannot be read; the message says why, where, and what to do. A line (in CSV: a cell) of
        more than 2**24 characters is refused as soon as that much of it has been read. A file that is in order, but
        has no rows, gets a NoRowsError, which is a UserError.

    Examples
    --------
    >>> import io
    >>> read_table("-", stdin=io.BytesIO(b"id,text\n007,NA\n")).table.to_pylist()
    [{'id': '007', 'text': 'NA'}]
    """
    checked = None if encoding is None else check_encoding(encoding)
    with open_source(source, stdin=stdin) as opened:
        start = opened.stream.peek(SAMPLE_BYTES)
        named = format_from_name(opened.path)[0] if opened.path else None
        if not start:  # which no Parquet file is, rows or not
            raise (UserError if named is TableFormat.PARQUET else NoRowsError)(f"{opened.name} is empty")
        codec = checked or encoding_of(start)
        form = named or sniff_format(start, codec)
        if form is not TableFormat.PARQUET and start.startswith(b"PK\x03\x04"):
            raise UserError(
                f"{opened.name} is a zip archive or an Excel workbook. Save the table as CSV (UTF-8) first."
            )
        delimiter = _delimiter(form, start, codec)
        table = _read(opened, form, codec, delimiter)
    if not table.num_rows:
        raise NoRowsError(f"{opened.name} has no rows")
    column = choose_text_column(table) if text_column is None else check_text_column(table, text_column)
    return TextTable(table, column, form, opened.compression, delimiter)


def _delimiter(form: TableFormat, start: bytes, codec: str) -> str:
    if form is TableFormat.CSV:
        return sniff_delimiter(decode_sample(start, codec))
    return "\t" if form is TableFormat.TSV else ","


def _read(source: Source, form: TableFormat, codec: str, delimiter: str) -> pa.Table:
    if form is TableFormat.PARQUET:
        return _read_parquet(source)
    lines = read_lines(source, codec)
    if form is TableFormat.TEXT:
        return pa.table({"text": pa.array([line.rstrip("\r\n") for line in lines], pa.string())})
    if form is TableFormat.JSONL:
        return read_jsonlines(lines, name=source.name)
    return read_delimited(lines, name=source.name, delimiter=delimiter)


def _read_parquet(source: Source) -> pa.Table:
    if source.stream.peek(4) != b"PAR1":
        raise UserError(f"{source.name} is not a Parquet file")
    in_memory = source.path is None or source.compression is not None
    try:
        table = pq.ParquetFile(pa.BufferReader(source.stream.read()) if in_memory else source.path).read()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{source.name} is a Parquet file that is damaged or cut short. Fetch it again.") from error
    refuse_duplicates(table.column_names, source.name)
    return table
