"""Formats with a row per line: CSV and TSV, whose cells are strings, and JSON Lines, which preserve types and order."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
import threading
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice, zip_longest
from types import SimpleNamespace
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UserError
from ..hygiene import plural, without_surrogates
from . import source
from .columns import JSON_MARK, RawTable, holds_json, holds_text, python_values, refuse_duplicates
from .headers import SAMPLE_ROWS, find_header

BATCH_ROWS = 10_000  # converted and written at a time
MAX_DEPTH = 100  # of the values of a line of JSON
MAX_KEYS = 20_000  # different keys in all lines, which become the columns
MAX_TABLE_CELLS = 200_000_000  # rows times columns, because every object can have keys of its own

_PIECES = re.compile("([;\t\r\n])")  # where a spreadsheet may split a line into cells, whatever the file's delimiter
_SUSPICIOUS = re.compile(r"[=+\-@\t\r]|[^\x00-\x7f]")
_FIELD_LIMIT = threading.Lock()


def read_texts(lines: Iterable[str], *, name: str) -> RawTable:
    """Read a text per line."""
    texts = [line.rstrip("\r\n") for line in islice(lines, source.MAX_ROWS + 1)]
    source.check_row_count(len(texts), name)
    return RawTable(pa.table({"text": pa.array(texts, pa.string())}))


def read_delimited(lines: Iterable[str], *, name: str, delimiter: str, header_row: int | None = None) -> RawTable:
    """Read CSV as strings, so that ``007`` and ``NA`` are unchanged; blank lines, and titles above the header, go."""
    with closing(_rows(lines, name, delimiter)) as rows:
        top = list(islice(rows, SAMPLE_ROWS if header_row is None else max(header_row, 1)))
        if not top:
            raise UserError(f"{name} is empty")
        filled = ([cell if cell.strip() else None for cell in cells] for _, _, cells in top)
        padded = list(zip(*zip_longest(*filled), strict=True))
        header = find_header(padded, [number for number, _, _ in top], header_row, name)
        names = top[max(header.position, 0)][2]
        if header.position < 0:
            names = [f"column {number}" for number, _ in enumerate(names, 1)]
        refuse_duplicates(names, name)
        schema = pa.schema([(title, pa.string()) for title in names])
        parts = []
        n_rows = 0
        body = chain(top[header.position + 1 :], rows)
        while batch := list(islice(body, BATCH_ROWS)):
            for _, line, cells in batch:
                if len(cells) != len(names):
                    raise UserError(
                        f"{name}, line {line}: {plural(len(cells), 'field')} found, but the header has {len(names)}. "
                        "Put quotes around a text that holds the separator."
                    )
            columns = zip(*(cells for _, _, cells in batch), strict=True)
            parts.append(pa.table([pa.array(column, pa.string()) for column in columns], schema))
            n_rows += len(batch)
            source.check_row_count(n_rows, name)
    return RawTable(pa.concat_tables(parts) if parts else schema.empty_table(), header.number, header.notes)


def _rows(lines: Iterable[str], name: str, delimiter: str) -> Generator[tuple[int, int, list[str]]]:
    """Yield the number, the first line and the cells of each row that is not blank; numbers and lines are from 1."""
    ended = False

    def watched() -> Iterator[str]:
        nonlocal ended
        yield from lines
        ended = True

    reader = csv.reader(watched(), delimiter=delimiter)
    line = 1
    with _FIELD_LIMIT:  # the csv module has one limit for the whole process, and its default of 131,072 is too low
        before = csv.field_size_limit(source.MAX_LINE)
        try:
            for number, cells in enumerate(reader, 1):
                if ended:  # the row was not finished when the lines ended
                    raise UserError(
                        f'{name}, line {line}: a quote (") opens here and is never closed. Close it, or, if it belongs '
                        'to the text, double it ("") inside quotes.'
                    )
                if cells:
                    yield number, line, cells
                line = reader.line_num + 1
        except csv.Error:
            raise UserError(
                f'{name}, line {line}: a cell longer than {source.MAX_LINE:,} characters. Is a quote (") never closed?'
            ) from None
        finally:
            csv.field_size_limit(before)


def write_delimited(table: pa.Table, stream: IO[bytes], *, delimiter: str, spreadsheet_safe: bool = False) -> None:
    """Write CSV in UTF-8 with LF line breaks; missing values are empty cells, and nested values are JSON.

    With `spreadsheet_safe`, strings and column names that a spreadsheet could run get an apostrophe.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # With "\r\n" as the line end, the csv module quotes cells with either character. With "\n", some versions do not
    # quote a lone CR, which readers take for a line break. It writes one row per call.
    line_feeds = SimpleNamespace(write=lambda row: text.write(row[:-2] + "\n"))
    new_writer = partial(csv.writer, line_feeds, delimiter=delimiter, lineterminator="\r\n")
    # Without quotes, a delimiter in a name would mislead readers that guess the delimiter from the header.
    is_misleading = any(sign in name for name in table.column_names for sign in source.DELIMITERS)
    header = made_safe(table.column_names) if spreadsheet_safe else table.column_names
    new_writer(quoting=csv.QUOTE_ALL if is_misleading else csv.QUOTE_MINIMAL).writerow(header)
    writer = new_writer()
    for batch in batches(table):
        columns = (_cells(column, field, safe=spreadsheet_safe) for column, field in batch)
        writer.writerows(zip(*columns, strict=True))
    text.detach()


def batches(table: pa.Table) -> Iterator[list[tuple[pa.ChunkedArray, pa.Field]]]:
    """Yield the columns of a table and their fields for some rows at a time."""
    for start in range(0, table.num_rows, BATCH_ROWS):
        yield list(zip(table.slice(start, BATCH_ROWS).columns, table.schema, strict=True))


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
    pieces = _PIECES.split(value)
    for place, piece in enumerate(pieces):
        visible = (char for char in piece if not char.isspace() and unicodedata.category(char)[0] not in "CZ")
        if unicodedata.normalize("NFKC", next(visible, " "))[0] in "=+-@":  # in any of their widths
            pieces[place] = f"'{piece}"
    return "'" * value.startswith(("\t", "\r")) + "".join(pieces)


def as_string(value: object) -> str:
    """Convert a value that JSON lacks to a string: bytes to base64, dates and decimals as Python prints them."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


# Created once, because `json.dumps` with options creates one for every call.
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=as_string)


def to_json(value: object) -> str:
    """Return a value as JSON; NaN and infinity, which JSON lacks, become null."""
    try:
        return ENCODER.encode(value)
    except ValueError:
        return ENCODER.encode(_cleaned(value))


def _cleaned(value: object) -> object:
    """Return a value that every output can hold, without half surrogate pairs, NaN and infinity."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {str(_cleaned(key)): _cleaned(item) for key, item in value.items()}
    return value


def read_jsonlines(lines: Iterable[str], *, name: str) -> RawTable:
    """Read one object per line, with columns from :func:`build_column`; a missing key is a missing value."""
    columns: dict[str, list[object]] = {}
    count = 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = _parse(line)
        except UserError as error:
            raise UserError(f"{name}, line {number}: {error}") from None
        for key, value in row.items():
            column = columns.setdefault(key, [])
            if len(column) < count:  # earlier objects lack this key
                column.extend([None] * (count - len(column)))
            column.append(value)
        count += 1
        if count % BATCH_ROWS == 0 or len(columns) > MAX_KEYS:
            source.check_row_count(count, name)
            if len(columns) > MAX_KEYS or count * len(columns) > MAX_TABLE_CELLS:
                raise UserError(
                    f"{name}, line {number}: {len(columns):,} different keys so far, in {count:,} objects. That is too "
                    "much for a table; are some keys values? Put these objects into one field."
                )
    if count and not columns:
        raise UserError(f"{name}: the objects have no keys, so the table has no columns")
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return RawTable(table_of(build_column(without_surrogates(key), values) for key, values in columns.items()))


def _parse(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        if not line.lstrip().startswith("["):
            place = f"{error.msg} at character {error.pos + 1}"
            raise UserError(f"not valid JSON ({place}). Each line must hold one object.") from None
        value = []  # the first line of an array
    except (ValueError, RecursionError):  # numbers of thousands of digits, objects in thousands of objects
        raise UserError("this JSON has too long a number or is nested too deeply.") from None
    if line.count("[") + line.count("{") > MAX_DEPTH and _is_deep(value):
        raise UserError(f"values are nested more than {MAX_DEPTH} deep.")
    if isinstance(value, dict):
        return value
    kinds = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    hint = " To turn an array into lines: jq -c '.[]'." if isinstance(value, list) else ""
    kind = kinds.get(type(value), "a number")
    raise UserError(f'{kind} instead of an object such as {{"text": "..."}}.{hint}')


def _is_deep(value: object, levels: int = MAX_DEPTH + 1) -> bool:
    """Return True if a value is nested more deeply than recursive functions can follow."""
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (not levels or any(_is_deep(item, levels - 1) for item in value))


def table_of(columns: Iterable[tuple[pa.Field, pa.Array]]) -> pa.Table:
    """Return a table of columns from :func:`build_column`."""
    pairs = list(columns)
    return pa.table([array for _, array in pairs], pa.schema([field for field, _ in pairs]))


def build_column(name: str, values: list[object]) -> tuple[pa.Field, pa.Array]:
    """Return a column of the Arrow type that preserves the values, or of JSON if there is none.

    There is none for numbers and strings together, or for objects with different keys. Half surrogate pairs become
    U+FFFD.
    """
    try:
        array = pa.array(values)
        if not structs_in(array.type) or all(map(_identical, array.to_pylist(), values)):
            return pa.field(name, array.type), array
    except UnicodeEncodeError:
        return build_column(name, [_cleaned(value) for value in values])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass  # no single type fits
    return json_column(name, values)


def json_column(name: str, values: list[object]) -> tuple[pa.Field, pa.Array]:
    """Return a column of strings that are JSON."""
    dumped = [None if value is None else to_json(_cleaned(value)) for value in values]
    return pa.field(name, pa.string(), metadata=JSON_MARK), pa.array(dumped, pa.string())


def structs_in(kind: pa.DataType) -> list[pa.StructType]:
    """Return the types of objects in a type, however deep they are."""
    inner = [struct for i in range(kind.num_fields) for struct in structs_in(kind.field(i).type)]
    return [kind, *inner] if pa.types.is_struct(kind) else inner


def _identical(left: object, right: object) -> bool:
    """Compare like ``==``, but with the order of keys: Arrow gives every object all keys in one order."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(map(_identical, left.values(), right.values()))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    return bool(left == right)


def write_jsonlines(table: pa.Table, stream: IO[bytes]) -> None:
    """Write one object per line in UTF-8."""
    keys = (ENCODER.encode(name).replace("%", "%%") for name in table.column_names)
    template = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"
    for batch in batches(table):
        rows = zip(*(_encoded(column, field) for column, field in batch), strict=True)
        stream.write("".join(template % row for row in rows).encode())


def _encoded(column: pa.ChunkedArray, field: pa.Field) -> list[str]:
    if holds_json(field) or pa.types.is_integer(field.type):
        return [value or "null" for value in column.cast(pa.string()).to_pylist()]
    return [to_json(value) for value in python_values(column)]
