"""JSON Lines: one object per line, with types, nested values and the order of keys preserved."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from typing import IO

import pyarrow as pa

from ..errors import UserError
from ..hygiene import without_surrogates
from .columns import JSON_MARK, holds_json, python_values
from .source import check_row_count

BATCH_ROWS = 10_000  # converted and written at a time
MAX_DEPTH = 100  # of the values of a line
MAX_KEYS = 20_000  # different keys in all lines, which become the columns
MAX_TABLE_CELLS = 200_000_000  # rows times columns, because every object can have keys of its own


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


def read_jsonlines(lines: Iterable[str], *, name: str) -> pa.Table:
    """Read one object per line; blank lines are skipped, and a missing key is a missing value.

    A column whose values fit no single Arrow type (numbers and strings, or objects with different keys) becomes a
    string column of JSON, which :func:`write_jsonlines` converts back. Half surrogate pairs become U+FFFD.
    """
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
            check_row_count(count, name)
            if len(columns) > MAX_KEYS or count * len(columns) > MAX_TABLE_CELLS:
                raise UserError(
                    f"{name}, line {number}: {len(columns):,} different keys so far, in {count:,} objects. That is too "
                    "much for a table; are some keys values? Put these objects into one field."
                )
    if count and not columns:
        raise UserError(f"{name}: the objects have no keys, so the table has no columns")
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return table_of(build_column(without_surrogates(key), values) for key, values in columns.items())


def _parse(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        if not line.lstrip().startswith("["):
            raise UserError(
                f"not valid JSON ({error.msg} at character {error.pos + 1}). Each line must hold one object."
            ) from None
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


def _is_deep(value: object) -> bool:
    """Return True if a value is nested more deeply than recursive functions can follow."""
    level: list[dict[str, object] | list[object]] = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return bool(level)


def table_of(columns: Iterable[tuple[pa.Field, pa.Array]]) -> pa.Table:
    """Return a table of columns from :func:`build_column`."""
    fields, arrays = zip(*columns, strict=True) if (columns := list(columns)) else ((), ())
    return pa.Table.from_arrays(list(arrays), schema=pa.schema(fields))


def build_column(name: str, values: list[object]) -> tuple[pa.Field, pa.Array]:
    """Return a column of the Arrow type that preserves the values, or of JSON if there is none."""
    try:
        array = pa.array(values)
        if not _has_struct(array.type) or all(map(_identical, array.to_pylist(), values)):
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


def _has_struct(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) or (pa.types.is_list(kind) and _has_struct(kind.value_type))


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
    for start in range(0, table.num_rows, BATCH_ROWS):
        part = table.slice(start, BATCH_ROWS)
        columns = map(_encoded, part.columns, table.schema)
        stream.write("".join(template % row for row in zip(*columns, strict=True)).encode())


def _encoded(column: pa.ChunkedArray, field: pa.Field) -> list[str]:
    if holds_json(field):
        return [value or "null" for value in column.to_pylist()]
    if pa.types.is_integer(field.type):
        return [value or "null" for value in column.cast(pa.string()).to_pylist()]
    return [to_json(value) for value in python_values(column)]
