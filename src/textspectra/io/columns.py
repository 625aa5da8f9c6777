"""Which column holds the texts."""

from __future__ import annotations

import difflib
import re
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import UserError
from .names import TEXT_NAMES
from .table import describe_values, holds_text

SAMPLE = 1000
"""Values of a column that are looked at, evenly spread over the table."""

MIN_WORDS = 3
"""Texts have at least this many words in the median; names, categories and codes have fewer."""

CALENDAR = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(?:am|pm|utc|gmt|st|nd|rd|th)\b|(?<=\d)[tz](?=\d|$)",
    re.IGNORECASE,
)
"""The letters that a date may have."""

CODE_SIGNS = re.compile(r"[\d_/@:\\]")
"""A word with one of these is an identifier, an address or a path."""


def choose_text_column(table: pa.Table, *, option: str = "--text-column") -> str:
    """Return the name of the column that holds the texts, where that is obvious.

    The rule, in this order:

    1. The only column, if it holds strings.
    2. A column of strings named ``text`` or ``texts``; else ``message``, ``sentence`` or ``utterance`` (or their
       plurals); else ``body``, ``title``, ``query``, ``question``, ``comment``, ``review``, ``content``,
       ``description`` or the like. Upper and lower case are the same. Two names of the same rank, such as a title
       and a body, decide nothing.
    3. The only column of strings.
    4. The only column that reads like texts: three words or more in the median, at least half of the values different
       from each other, and not dates. If there are several, the one at least twice as long as every other in the
       median.

    Columns of numbers, dates, addresses (URLs) and identifiers are never chosen, whatever their name, and neither are
    categories by rule 4. A thousand values of each column are looked at.

    Parameters
    ----------
    table : pyarrow.Table
        With unique column names.
    option : str
        How the message tells the user to name the column.

    Returns
    -------
    str

    Raises
    ------
    UserError
        Where none of this decides; the message lists the columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> choose_text_column(pa.table({"id": ["a1", "a2"], "Message": ["hello", "bye"]}))
    'Message'
    """
    strings: list[str] = [field.name for field in table.schema if holds_text(field)]
    if table.num_columns == 1 and strings:
        return strings[0]
    looks = {name: _look(table.column(name)) for name in strings}
    possible = [name for name in strings if not looks[name].codes]
    for group in TEXT_NAMES:
        named = [name for name in possible if name.strip().lower() in group]
        if named:
            return _only(named, table, option)
    if len(strings) == 1:
        return _only(possible, table, option)
    prose = sorted((name for name in possible if looks[name].prose), key=lambda name: looks[name].length)
    if len(prose) > 1 and looks[prose[-1]].length >= 2 * looks[prose[-2]].length:
        return prose[-1]
    return _only(prose, table, option)


def check_text_column(table: pa.Table, name: str, *, option: str = "--text-column") -> str:
    """Return `name` if it is a column of strings, or say what it is instead.

    Examples
    --------
    >>> import pyarrow as pa
    >>> check_text_column(pa.table({"text": ["a"], "n": [1]}), "txt")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: there is no column 'txt'; did you mean 'text'? The columns are: 'text', 'n'
    """
    field = find_column(table, name)
    if not holds_text(field):
        raise UserError(
            f"the column {name!r} holds {describe_values(field)}, not text. Choose another with {option}; the columns "
            f"are: {_listed(table.column_names)}"
        )
    return name


def find_column(table: pa.Table, name: str) -> pa.Field:
    """Return the field of a column, or name the nearest one and all the others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> find_column(pa.table({"n": [1]}), "n").type
    DataType(int64)
    """
    if name in table.column_names:
        return table.schema.field(name)
    by_lower = {known.strip().lower(): known for known in table.column_names}
    near = difflib.get_close_matches(name.strip().lower(), by_lower, n=1, cutoff=0.5)
    guess = f"; did you mean {by_lower[near[0]]!r}?" if near else "."
    raise UserError(f"there is no column {name!r}{guess} The columns are: {_listed(table.column_names)}")


def column_values(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column as Python objects; a missing one is None.

    Parameters
    ----------
    table : pyarrow.Table
        With unique column names.
    name : str
        One of them; otherwise a UserError lists them.

    Returns
    -------
    list

    Examples
    --------
    >>> import pyarrow as pa
    >>> column_values(pa.table({"label": ["a", None]}), "label")
    ['a', None]
    """
    find_column(table, name)
    values: list[Any] = table.column(name).to_pylist()
    return values


class _Look(NamedTuple):
    """What the sample of a column shows."""

    codes: bool
    prose: bool
    length: float


def _look(column: pa.ChunkedArray) -> _Look:
    rows = np.unique(np.linspace(0, max(len(column) - 1, 0), SAMPLE).astype(np.intp))
    sample = [column[int(row)].as_py() for row in rows] if len(column) else []
    values = [value.strip() for value in sample if value and not value.isspace()]
    if not values:
        return _Look(codes=False, prose=False, length=0)
    codes = sum(map(_is_code, values)) > len(values) / 2
    worded = statistics.median(map(_count_words, values)) >= MIN_WORDS
    distinct = len(set(values)) >= len(values) / 2
    return _Look(codes, worded and distinct and not codes, statistics.median(map(len, values)))


def _is_code(value: str) -> bool:
    """Tell numbers, dates, times, addresses and identifiers from words."""
    if len(value.split()) == 1 and value.isascii() and CODE_SIGNS.search(value):
        return True
    return not any(letter.isalpha() for letter in CALENDAR.sub("", value))


def _count_words(value: str) -> float:
    # Chinese, Japanese, Thai and their neighbours set no spaces; two letters make about one word there.
    unspaced = sum("\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\u9fff" for letter in value)
    return max(len(value.split()), unspaced / 2)


def _only(candidates: list[str], table: pa.Table, option: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    raise UserError(
        f"which column holds the texts? Choose with {option}; the columns are: {_listed(table.column_names)}"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
