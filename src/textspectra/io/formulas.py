"""Cells that a spreadsheet would run as a formula."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

SIGNS = frozenset("=+-@")
"""A formula starts with one of these, or with a form of it that has another width."""

SPLITS = ";\t\r\n"
"""Where a spreadsheet may split a line into cells, whatever the delimiter of the file is."""

_PIECES = re.compile(f"([{SPLITS}])")
_SUSPICIOUS = re.compile(r"[=+\-@\t\r]|[^\x00-\x7f]")


def made_safe(values: Iterable[str]) -> list[str]:
    """Put an apostrophe before everything that a spreadsheet could run; all else is unchanged.

    Examples
    --------
    >>> made_safe(["=1+1", "one + one", "\u200b =1", "\uff1d1", "yes;=1", "2 - 1"])
    ["'=1+1", 'one + one', "'\u200b =1", "'\uff1d1", "yes;'=1", '2 - 1']
    """
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
