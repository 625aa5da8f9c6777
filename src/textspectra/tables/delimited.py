"""CSV and TSV: every cell is a string, unchanged."""

from __future__ import annotations

import csv
import io
import re
import threading
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain, islice, zip_longest
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UserError
from ..hygiene import plural
from . import source
from .columns import RawTable, holds_json, holds_text, python_values, refuse_duplicates
from .headers import SAMPLE_ROWS, find_header
from .jsonlines import BATCH_ROWS, as_string, to_json
from .source import DELIMITERS, check_row_count

_PIECES = re.compile("([;\t\r\n])")  # where a spreadsheet may split a line into cells, whatever the file's delimiter
_SUSPICIOUS = re.compile(r"[=+\-@\t\r]|[^\x00-\x7f]")
_FIELD_LIMIT = threading.Lock()


def read_delimited(lines: Iterable[str], *, name: str, delimiter: str, header_row: int | None = None) -> RawTable:
    """Read CSV; blank lines, and titles above the header, are skipped.

    All columns are strings: ``007``, ``NA`` and empty cells are unchanged. Messages call the file `name`. The header is
    in row `header_row`, counted from 1 with blank lines; 0 is none, and None finds it.
    """
    with closing(_rows(lines, name, delimiter)) as rows:
        top = list(islice(rows, SAMPLE_ROWS if header_row is None else max(header_row, 1)))
        if not top:
            raise UserError(f"{name} is empty")
        cells = ([cell if cell.strip() else None for cell in row.cells] for row in top)
        padded = list(zip(*zip_longest(*cells), strict=True))
        header = find_header(padded, [row.number for row in top], header_row, name)
        names = top[max(header.position, 0)].cells
        if header.position < 0:
            names = [f"column {number}" for number, _ in enumerate(names, 1)]
        refuse_duplicates(names, name)
        parts = [_as_table([], names)]
        body = chain(top[header.position + 1 :], rows)
        while batch := list(islice(body, BATCH_ROWS)):
            for row in batch:
                if len(row.cells) != len(names):
                    raise UserError(
                        f"{name}, line {row.line}: {plural(len(row.cells), 'field')} found, but the header has "
                        f"{len(names)}. Put quotes around a text that holds the separator."
                    )
            parts.append(_as_table([row.cells for row in batch], names))
            check_row_count(sum(part.num_rows for part in parts), name)
    return RawTable(pa.concat_tables(parts[1:] or parts), header.number, header.notes)


class _Row(NamedTuple):
    """A row of cells, its number in the file, and the line where it begins; both from 1."""

    number: int
    line: int
    cells: list[str]


def _rows(lines: Iterable[str], name: str, delimiter: str) -> Generator[_Row, None, None]:
    """Yield the rows that are not blank."""
    ended = False

    def watched() -> Iterator[str]:
        nonlocal ended
        yield from lines
        ended = True

    reader = csv.reader(watched(), delimiter=delimiter)
    line = 1
    try:
        with _long_fields():
            for number, row in enumerate(reader, 1):
                if ended:  # the row was not finished when the lines ended
                    raise UserError(
                        f'{name}, line {line}: a quote (") opens here and is never closed. Close it, or, if it belongs '
                        'to the text, double it ("") inside quotes.'
                    )
                if row:
                    yield _Row(number, line, row)
                line = reader.line_num + 1
    except csv.Error:
        raise UserError(
            f'{name}, line {line}: a cell longer than {source.MAX_LINE:,} characters. Is a quote (") never closed?'
        ) from None


@contextmanager
def _long_fields() -> Iterator[None]:
    # The csv module has one limit for the whole process, and its default of 131,072 characters is too low.
    with _FIELD_LIMIT:
        before = csv.field_size_limit(source.MAX_LINE)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _as_table(rows: list[list[str]], header: list[str]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=header)


def write_delimited(table: pa.Table, stream: IO[bytes], *, delimiter: str, spreadsheet_safe: bool = False) -> None:
    """Write CSV in UTF-8 with LF line breaks and only the necessary quotes.

    Missing values are empty cells, and nested values are JSON. With `spreadsheet_safe`, strings and column names that
    a spreadsheet could run get an apostrophe, see :func:`made_safe`; numbers are unchanged.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # With "\r\n" as the line end, the csv module quotes cells with either character. With "\n", some versions do not
    # quote a lone CR, which readers take for a line break.
    new_writer = partial(csv.writer, _LineFeeds(text), delimiter=delimiter, lineterminator="\r\n")
    # Without quotes, a delimiter in a name would mislead readers that guess the delimiter from the header.
    is_misleading = any(sign in name for name in table.column_names for sign in DELIMITERS)
    header = made_safe(table.column_names) if spreadsheet_safe else table.column_names
    new_writer(quoting=csv.QUOTE_ALL if is_misleading else csv.QUOTE_MINIMAL).writerow(header)
    writer = new_writer()
    for start in range(0, table.num_rows, BATCH_ROWS):
        pairs = zip(table.slice(start, BATCH_ROWS).columns, table.schema, strict=True)
        columns = (_cells(column, field, safe=spreadsheet_safe) for column, field in pairs)
        writer.writerows(zip(*columns, strict=True))
    text.detach()


class _LineFeeds:
    """Ends each row with LF instead of CR LF; the csv module writes one row per call."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def write(self, row: str) -> int:
        return self._text.write(row[:-2] + "\n")


def _cells(column: pa.ChunkedArray, field: pa.Field, *, safe: bool) -> Iterable[str]:
    if holds_text(field) or holds_json(field):
        values: list[str] = pc.fill_null(column.cast(pa.large_string()), "").to_pylist()
        return made_safe(values) if safe else values
    if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type):
        return [value or "" for value in column.cast(pa.string()).to_pylist()]
    is_float, is_nested = pa.types.is_floating(field.type), pa.types.is_nested(field.type)
    convert = repr if is_float else to_json if is_nested else as_string
    return ["" if value is None else convert(value) for value in python_values(column)]


def made_safe(values: Iterable[str]) -> list[str]:
    """Put an apostrophe before everything that a spreadsheet could run; all else is unchanged."""
    return [_safe(value) if _SUSPICIOUS.search(value) else value for value in values]


def _safe(value: str) -> str:
    safe = "".join(f"'{piece}" if _is_formula(piece) else piece for piece in _PIECES.split(value))
    return f"'{safe}" if value.startswith(("\t", "\r")) else safe


def _is_formula(piece: str) -> bool:
    """Return True if the first visible character starts a formula, in any of its widths."""
    for letter in piece:
        if not letter.isspace() and unicodedata.category(letter)[0] not in "CZ":
            return unicodedata.normalize("NFKC", letter)[0] in "=+-@"
    return False
