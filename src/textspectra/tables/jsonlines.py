"""JSON Lines: one object per line, with types, nested values and the order of keys preserved."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from typing import IO, Any

import pyarrow as pa

from ..errors import UserError
from .columns import JSON_MARK, holds_json, python_values
from .source import MAX_CELLS, check_rows

BATCH_ROWS = 10_000
"""Number of rows that are converted and written at a time."""


MAX_DEPTH = 100
"""How deeply the values of a line may be nested."""

MAX_KEYS = 20_000
"""Different keys in all lines, which become the columns."""


def as_string(value: Any) -> str:
    """Convert what JSON cannot express to a string: bytes to base64, dates and decimals as Python prints them."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=as_string)
"""Created once, because ``json.dumps`` with options creates one for every call."""


def to_json(value: Any) -> str:
    """Return a value as JSON; NaN and infinity, which JSON lacks, become null."""
    try:
        return ENCODER.encode(value)
    except ValueError:
        return ENCODER.encode(_finite(value))


def read_jsonlines(lines: Iterable[str], *, name: str) -> pa.Table:
    r"""Read one object per line; blank lines are skipped, and a missing key is a missing value.

    A column whose values fit no single Arrow type (numbers and strings, or objects with different keys) becomes a
    string column of JSON, which :func:`write_jsonlines` converts back. Half of a surrogate pair, as in a text that
    was cut inside an emoji, becomes U+FFFD.
    """
    columns: dict[str, list[Any]] = {}
    count = 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        for key, value in _parse(line, name, number).items():
            column = columns.setdefault(key, [])
            if len(column) < count:
                column.extend([None] * (count - len(column)))
            column.append(value)
        count += 1
        if count % BATCH_ROWS == 0 or len(columns) > MAX_KEYS:
            check_rows(count, name)
            if len(columns) > MAX_KEYS or count * len(columns) > MAX_CELLS:
                raise UserError(
                    f"{name}, line {number}: {len(columns):,} different keys so far, in {count:,} objects. That is too "
                    "much for a table; are some keys values? Put such objects into one field."
                )
    if count and not columns:
        raise UserError(f"{name}: the objects have no keys, so there are no columns")
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    built = [build_column(_without_surrogates(key), columns[key]) for key in columns]
    return pa.Table.from_arrays([array for _, array in built], schema=pa.schema([field for field, _ in built]))


def _parse(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        if line.lstrip().startswith("["):
            value = []
        else:
            raise UserError(
                f"{name}, line {number}: not valid JSON ({error.msg} at character {error.pos + 1}). Each line must "
                "hold one object."
            ) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, objects in thousands of objects
        raise UserError(f"{name}, line {number}: this JSON has too long a number or is nested too deeply.") from None
    if line.count("[") + line.count("{") > MAX_DEPTH and _is_deep(value):
        raise UserError(f"{name}, line {number}: values are nested more than {MAX_DEPTH} deep.")
    if isinstance(value, dict):
        return value
    kinds = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    hint = " To turn an array into lines: jq -c '.[]'." if isinstance(value, list) else ""
    raise UserError(
        f'{name}, line {number}: {kinds.get(type(value), "a number")} instead of an object such as {{"text": "..."}}.'
        f"{hint}"
    )


def _is_deep(value: Any) -> bool:
    """Tell whether a value is nested more deeply than the functions that call themselves can follow."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for some in below for one in some if isinstance(one, dict | list)]
    return bool(level)


def build_column(name: str, values: list[Any]) -> tuple[pa.Field, pa.Array]:
    """Return a column of the Arrow type that preserves the values, or of JSON if there is none."""
    try:
        array = pa.array(values)
        if not _has_struct(array.type) or all(map(_identical, array.to_pylist(), values)):
            return pa.field(name, array.type), array
    except UnicodeEncodeError:
        return build_column(name, _without_surrogates(values))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass  # no single type fits
    dumped = [None if value is None else to_json(_without_surrogates(value)) for value in values]
    return pa.field(name, pa.string(), metadata=JSON_MARK), pa.array(dumped, pa.string())


def _has_struct(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return True
    return pa.types.is_list(kind) and _has_struct(kind.value_type)


def _identical(left: Any, right: Any) -> bool:
    """Compare like ``==``, but with the order of keys: Arrow gives every object all keys in one order."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(map(_identical, left.values(), right.values()))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    return bool(left == right)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {str(_without_surrogates(key)): _without_surrogates(item) for key, item in value.items()}
    return value


def write_jsonlines(table: pa.Table, stream: IO[bytes]) -> None:
    """Write one object per line in UTF-8."""
    keys = (ENCODER.encode(name).replace("%", "%%") for name in table.column_names)
    template = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"
    for start in range(0, table.num_rows, BATCH_ROWS):
        part = table.slice(start, BATCH_ROWS)
        columns = [_encoded(column, field) for column, field in zip(part.columns, table.schema, strict=True)]
        stream.write("".join(template % row for row in zip(*columns, strict=True)).encode())


def _encoded(column: pa.ChunkedArray, field: pa.Field) -> list[str]:
    if holds_json(field):
        return [value or "null" for value in column.to_pylist()]
    if pa.types.is_integer(field.type):
        return [value or "null" for value in column.cast(pa.string()).to_pylist()]
    return [to_json(value) for value in python_values(column)]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
