"""CSV and TSV: every cell is a string, unchanged."""

from __future__ import annotations

import csv
import io
import re
import threading
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import IO, Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UserError
from . import source
from .columns import holds_json, holds_text, python_values, refuse_duplicates
from .headers import SAMPLE_ROWS, find_header, given_header, note_on_header
from .jsonlines import BATCH_ROWS, as_string, to_json
from .source import DELIMITERS, check_rows

SIGNS = frozenset("=+-@")
"""A formula starts with one of these, or with a form of it that has another width."""

SPLITS = ";\t\r\n"
"""Where a spreadsheet may split a line into cells, whatever the delimiter of the file is."""

_PIECES = re.compile(f"([{SPLITS}])")
_SUSPICIOUS = re.compile(r"[=+\-@\t\r]|[^\x00-\x7f]")


def made_safe(values: Iterable[str]) -> list[str]:
    """Put an apostrophe before everything that a spreadsheet could run; all else is unchanged."""
    return [_safe(value) if _SUSPICIOUS.search(value) else value for value in values]


def _safe(value: str) -> str:
    safe = "".join(f"'{piece}" if _is_formula(piece) else piece for piece in _PIECES.split(value))
    return f"'{safe}" if value.startswith(("\t", "\r")) else safe


def _is_formula(piece: str) -> bool:
    """Tell whether the first visible character of a piece is a sign that starts a formula."""
    for letter in piece:
        if not letter.isspace() and unicodedata.category(letter)[0] not in "CZ":
            return unicodedata.normalize("NFKC", letter)[0] in SIGNS
    return False


_FIELD_LIMIT = threading.Lock()


class Delimited(NamedTuple):
    """What a CSV file holds: the table, the row of its header from 1 (0: none), and a note if that is not sure."""

    table: pa.Table
    header_row: int
    notes: tuple[str, ...]


def read_delimited(lines: Iterable[str], *, name: str, delimiter: str, header_row: int | None = None) -> Delimited:
    r"""Read CSV; blank lines, and titles above the header, are skipped.

    All columns are strings: ``007``, ``NA`` and empty cells are unchanged. Messages call the file `name`. The header is
    in row `header_row`, counted from 1 with blank lines; 0 is none, and None finds it.
    """
    with closing(_rows(lines, name, delimiter)) as rows:
        top = list(islice(rows, SAMPLE_ROWS if header_row is None else max(header_row, 1)))
        if not top:
            raise UserError(f"{name} is empty")
        cells = [[cell if cell.strip() else None for cell in row.cells] for row in top]
        width = max(map(len, cells))
        padded = [row + [None] * (width - len(row)) for row in cells]
        numbers = [row.number for row in top]
        header = find_header(padded) if header_row is None else given_header(numbers, header_row, name)
        first = top[max(header.position, 0)]
        has_names = header.position >= 0
        names = first.cells if has_names else [f"column {number}" for number, _ in enumerate(first.cells, 1)]
        refuse_duplicates(names, name)
        table = _read_body(chain(top[header.position + 1 :], rows), names, name)
    notes = note_on_header(padded, header, name) if header_row is None else ()
    return Delimited(table, first.number if has_names else 0, notes)


def _read_body(rows: Iterator[_Row], names: list[str], file: str) -> pa.Table:
    parts: list[pa.Table] = []
    while batch := list(islice(rows, BATCH_ROWS)):
        ragged = next((row for row in batch if len(row.cells) != len(names)), None)
        if ragged is not None:
            _refuse_ragged(file, ragged.line, len(ragged.cells), len(names))
        parts.append(_as_table([row.cells for row in batch], names))
        check_rows(sum(part.num_rows for part in parts), file)
    return pa.concat_tables(parts) if parts else _as_table([], names)


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
                    _refuse_open_quote(name, line)
                if row:
                    yield _Row(number, line, row)
                line = reader.line_num + 1
    except csv.Error:
        raise UserError(
            f'{name}, line {line}: a cell longer than {source.MAX_LINE:,} characters. Is a quote (") never closed?'
        ) from None


def _refuse_open_quote(name: str, line: int) -> NoReturn:
    raise UserError(
        f'{name}, line {line}: a quote (") opens here and is never closed. Close it, or, where it belongs to the text, '
        'double it ("") inside quotes.'
    )


def _refuse_ragged(name: str, line: int, found: int, expected: int) -> NoReturn:
    fields = "field" if found == 1 else "fields"
    raise UserError(
        f"{name}, line {line}: {found} {fields} found, but the header has {expected}. Put quotes around a text that "
        "holds the separator."
    )


def _as_table(rows: list[list[str]], header: list[str]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=header)


@contextmanager
def _long_fields() -> Iterator[None]:
    # The csv module has one limit for the whole process, and its default of 131,072 characters is too low.
    with _FIELD_LIMIT:
        before = csv.field_size_limit(source.MAX_LINE)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def write_delimited(table: pa.Table, stream: IO[bytes], *, delimiter: str, spreadsheet_safe: bool = False) -> None:
    """Write CSV in UTF-8 with LF line breaks and only the necessary quotes.

    Missing values are empty cells, and nested values are JSON. With `spreadsheet_safe`, strings and column names that
    a spreadsheet could run get an apostrophe, see :func:`made_safe`; numbers are unchanged.
    """
    # Without quotes, a delimiter in a name would mislead readers that guess the delimiter from the header.
    misleading = any(sign in name for name in table.column_names for sign in DELIMITERS)
    header = made_safe(table.column_names) if spreadsheet_safe else table.column_names
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    _writer(text, delimiter, csv.QUOTE_ALL if misleading else csv.QUOTE_MINIMAL).writerow(header)
    writer = _writer(text, delimiter, csv.QUOTE_MINIMAL)
    for start in range(0, table.num_rows, BATCH_ROWS):
        part = table.slice(start, BATCH_ROWS)
        pairs = zip(part.columns, table.schema, strict=True)
        columns = (_cells(column, field, safe=spreadsheet_safe) for column, field in pairs)
        writer.writerows(zip(*columns, strict=True))
    text.detach()


def _writer(text: io.TextIOWrapper, delimiter: str, quoting: Any) -> Any:
    # With "\r\n" as the line end, the csv module quotes cells with either character. With "\n", some versions do not
    # quote a lone CR, which readers take for a line break.
    return csv.writer(_LineFeeds(text), delimiter=delimiter, quoting=quoting, lineterminator="\r\n")


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
    if pa.types.is_floating(field.type):
        return ["" if value is None else repr(value) for value in column.to_pylist()]
    if pa.types.is_nested(field.type):
        return ["" if value is None else to_json(value) for value in python_values(column)]
    if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type):
        return [value or "" for value in column.cast(pa.string()).to_pylist()]
    return ["" if value is None else as_string(value) for value in python_values(column)]
