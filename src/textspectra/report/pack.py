"""Pack data for the page: compressed, then in base64, which needs no escaping in HTML."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(data: bytes) -> str:
    """Compress with zlib (`deflate` in a browser) and encode in base64."""
    return base64.b64encode(zlib.compress(data, 6)).decode()


def pack_json(value: Any) -> str:
    r"""Pack any JSON value; half a surrogate pair, which is not a valid character, is escaped.

    Examples
    --------
    >>> zlib.decompress(base64.b64decode(pack_json(["é", "\ud800"]))).decode()
    '["é","\\ud800"]'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return pack(text.encode("utf-8", "backslashreplace"))


def pack_array(array: NDArray[Any], kind: str) -> str:
    """Pack an array as little-endian numbers of a type such as ``"u2"``."""
    return pack(np.ascontiguousarray(array, f"<{kind}").tobytes())


def shares_as_u2(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Map numbers from -1 to 1 to whole numbers from 0 to 65,535.

    Examples
    --------
    >>> shares_as_u2(np.array([-1.0, 0.0, 1.0]))
    array([    0, 32768, 65535], dtype=uint16)
    """
    return np.clip(np.round((np.asarray(values, np.float64) + 1) * 32767.5), 0, 65535).astype(np.uint16)


def none_if_nan(values: NDArray[Any] | list[float]) -> list[float | None]:
    """Return rounded numbers for JSON, which has no NaN."""
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]
