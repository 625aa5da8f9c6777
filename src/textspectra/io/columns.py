"""Find the column that holds the texts."""

from __future__ import annotations

import difflib
import re
import statistics
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError, UserError
from .names import TEXT_NAMES, in_words
from .table import describe_values, holds_text, python_values

SAMPLE = 1000
"""Number of values per column that are examined, evenly spread over the table."""

LISTED = 3
"""Number of other columns that a note names."""

MIN_WORDS = 3
"""Texts have at least this many words (median); names, categories and codes have fewer."""

CALENDAR = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(?:am|pm|utc|gmt|st|nd|rd|th)\b|(?<=\d)[tz](?=\d|$)",
    re.IGNORECASE,
)
"""The letters that may occur in a date."""

CODE_SIGNS = re.compile(r"[\d_/@:\\]")
"""A word with one of these is an identifier, an address or a path."""


def choose_text_column(table: pa.Table, name: str | None = None, *, option: str = "--text-column") -> str:
    """Return the column that holds the texts: `name` if it is given, or else the obvious one.

    The rule for the obvious one, in this order:

    1. The only column, if it holds strings.
    2. A column of strings named ``text`` or ``texts``; else ``message``, ``sentence`` or ``utterance`` (or their
       plurals); else ``body``, ``title``, ``query``, ``question``, ``comment``, ``review``, ``content``,
       ``description`` or the like. Case does not matter. Of two names of the same rank, such as a title and a
       body, the one whose median length is at least twice that of every other.
    3. The only column of strings.
    4. The only column that reads like texts: a median of three words or more, at least half of the values distinct,
       and no dates. Among several such columns, the one whose median length is at least twice that of every other.

    Columns of numbers, dates, addresses (URLs) and identifiers are never chosen, whatever their name. Rule 4 does not
    choose categories either. A thousand values of each column are examined.

    If nothing decides, a UsageError lists the columns and tells the user to choose one with `option`.

    Examples
    --------
    >>> choose_text_column(pa.table({"id": ["a1", "a2"], "Message": ["hello", "bye"]}))
    'Message'
    """
    if name is not None:
        return _check_text_column(table, name, option)
    strings: list[str] = [field.name for field in table.schema if holds_text(field)]
    if table.num_columns == 1 and strings:
        return strings[0]
    traits = {name: _examine(table.column(name)) for name in strings}
    possible = [name for name in strings if not traits[name].codes]
    for group in TEXT_NAMES:
        named = [name for name in possible if name.strip().lower() in group]
        if named:
            return _longest(named, traits) or _only(named, table, option)
    if len(strings) == 1:
        return _only(possible, table, option)
    prose = [name for name in possible if traits[name].prose]
    return _longest(prose, traits) or _only(prose, table, option)


def notes_on_columns(table: pa.Table, chosen: str, *, option: str = "--text-column") -> tuple[str, ...]:
    """Return a note on columns that read like texts as the chosen one does.

    Examples
    --------
    >>> table = pa.table({"title": ["It is late"], "text": ["My parcel is late again, and nobody answers."]})
    >>> notes_on_columns(table, "text")
    ("The texts are from the column 'text'. To take 'title' instead, use --text-column 'title'.",)
    """
    others = [field.name for field in table.schema if field.name != chosen and holds_text(field)]
    others = [name for name in others if _examine(table.column(name)).prose]
    if not others:
        return ()
    which = f"To take {' or '.join(map(repr, others[:LISTED]))} instead, use "
    return (f"The texts are from the column {chosen!r}. {which}{option}{' ' * option.startswith('-')}{others[0]!r}.",)


def _longest(names: list[str], traits: dict[str, _Traits]) -> str | None:
    """Return the column whose values are at least twice as long as those of all others, if they read like texts."""
    ranked = sorted(names, key=lambda name: traits[name].length)
    if len(ranked) < 2 or not traits[ranked[-1]].prose or traits[ranked[-1]].length < 2 * traits[ranked[-2]].length:
        return None
    return ranked[-1]


def _check_text_column(table: pa.Table, name: str, option: str) -> str:
    field = find_column(table, name)
    if not holds_text(field):
        raise UserError(
            f"the column {name!r} holds {describe_values(field)}, not text. Choose another with {option}; the columns "
            f"are: {in_words(table.column_names)}"
        )
    return name


def find_column(table: pa.Table, name: str) -> pa.Field:
    """Return the field of a column, or raise a UserError with the most similar name and all others.

    Examples
    --------
    >>> find_column(pa.table({"text": ["a"], "n": [1]}), "txt")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: there is no column 'txt'; did you mean 'text'? The columns are: 'text', 'n'
    """
    if name in table.column_names:
        return table.schema.field(name)
    by_lower = {known.strip().lower(): known for known in table.column_names}
    near = difflib.get_close_matches(name.strip().lower(), by_lower, n=1, cutoff=0.5)
    guess = f"; did you mean {by_lower[near[0]]!r}?" if near else "."
    raise UserError(f"there is no column {name!r}{guess} The columns are: {in_words(table.column_names)}")


def column_values(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column as Python objects; missing values are None."""
    find_column(table, name)
    return python_values(table.column(name))


def as_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the values as strings without white space around them; blank ones are missing.

    Examples
    --------
    >>> as_strings(pa.array([7, None])).to_pylist(), as_strings(pa.array([" web ", " "])).to_pylist()
    (['7', None], ['web', None])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        strings = column.cast(pa.large_string())
    except pa.ArrowException:  # lists and objects
        strings = pa.array(
            [None if value is None else str(value) for value in python_values(column)], pa.large_string()
        )
    strings = pc.utf8_trim_whitespace(strings)
    return pc.if_else(pc.equal(strings, ""), pa.scalar(None, pa.large_string()), strings)


class _Traits(NamedTuple):
    """What a sample of the values of a column shows."""

    codes: bool
    prose: bool
    length: float


def _examine(column: pa.ChunkedArray) -> _Traits:
    rows = np.unique(np.linspace(0, max(len(column) - 1, 0), SAMPLE).astype(np.intp))
    sample = [column[int(row)].as_py() for row in rows] if len(column) else []
    values = [value.strip() for value in sample if value and not value.isspace()]
    if not values:
        return _Traits(codes=False, prose=False, length=0)
    codes = sum(map(_is_code, values)) > len(values) / 2
    worded = statistics.median(map(_count_words, values)) >= MIN_WORDS
    distinct = len(set(values)) >= len(values) / 2
    return _Traits(codes, worded and distinct and not codes, statistics.median(map(len, values)))


def _is_code(value: str) -> bool:
    """Tell whether a value is a number, date, time, address or identifier."""
    if len(value.split()) == 1 and value.isascii() and CODE_SIGNS.search(value):
        return True
    return not any(letter.isalpha() for letter in CALENDAR.sub("", value))


def _count_words(value: str) -> float:
    # Chinese, Japanese, Thai and some other languages have no spaces; two letters are about one word there.
    unspaced = sum("\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\u9fff" for letter in value)
    return max(len(value.split()), unspaced / 2)


def _only(candidates: list[str], table: pa.Table, option: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    raise (UsageError if candidates else UserError)(
        f"which column holds the texts? Choose with {option}; the columns are: {in_words(table.column_names)}"
    )
