"""Columns of a table: which one holds the texts, what the others hold, and the columns that a clustering adds."""

from __future__ import annotations

import difflib
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UsageError, UserError
from .headers import TEXT_NAMES, quoted_names
from .source import MAX_TEXT, TableFormat

# Metadata of a string column whose values are JSON, because no single Arrow type can hold them unchanged; and of a
# column of shares, which a spreadsheet shows as percentages.
JSON_MARK = {b"textspectra.values": b"json"}
SHARE_MARK = {b"textspectra.values": b"shares"}

SAMPLE_VALUES = 1000  # values per column that are examined, evenly spread over the table
MIN_WORDS = 3  # texts have at least this many words (median); names, categories and codes have fewer

# The letters that may occur in a date, and the signs that make a word an identifier, an address or a path.
CALENDAR = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(?:am|pm|utc|gmt|st|nd|rd|th)\b|(?<=\d)[tz](?=\d|$)",
    re.IGNORECASE,
)
CODE_SIGNS = re.compile(r"[\d_/@:\\]")

# Chinese, Japanese, Thai and some other languages have no spaces; two letters are about one word there.
UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u9fff]")


class RawTable(NamedTuple):
    """A table before its text column is chosen; the attributes are as in :class:`TextTable`."""

    table: pa.Table
    header_row: int | None = None
    notes: tuple[str, ...] = ()
    sheet: str | None = None


@dataclass(frozen=True)
class TextTable:
    """A table with its text column, the format of the file that it was read from, and notes on how it was read.

    The table has every original column, in order, unchanged. The delimiter is a comma for all formats but CSV and TSV,
    and the format of a data frame is Parquet. The header row counts from 1; 0 is none.
    """

    table: pa.Table
    text_column: str
    format: TableFormat
    compression: str | None = None
    delimiter: str = ","
    sheet: str | None = None
    header_row: int | None = None
    notes: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        """Return the texts, one per row; missing texts are empty strings, and very long ones are cut."""
        column = pc.fill_null(self.table.column(self.text_column).cast(pa.large_string()), "")
        if (pc.max(pc.binary_length(column)).as_py() or 0) > MAX_TEXT:
            column = pc.utf8_slice_codeunits(column, 0, MAX_TEXT)
        texts: list[str] = column.to_numpy().tolist()
        return texts


TYPICAL_COLUMNS = ("typical_text", "typical_text_2", "typical_text_3")  # of the table of clusters


class ClusterColumns(NamedTuple):
    """The label, name, cohesion, keywords and typical texts of each cluster, and whether it is mixed; labels ascend.

    `coarse` has the label and the name of each cluster at the coarse level, if there is one.
    """

    labels: list[int]
    names: list[str]
    cohesion: list[float | None]
    mixed: list[bool]
    keywords: list[str]
    typical_texts: list[list[str]]
    coarse: Sequence[tuple[int | None, str | None]] = ()

    def columns(
        self, labels: NDArray[np.intp], similarity: NDArray[np.float32] | None = None,
        points: NDArray[np.float32] | None = None,
    ) -> dict[str, pa.Array]:  # fmt: skip
        """Return the columns that a clustering adds to a table; rows without a cluster have missing values.

        `points` are the places of the rows on the map.
        """
        without = labels < 0
        places = pa.array(np.searchsorted(self.labels, labels), mask=without)
        columns = {"cluster": pa.array(labels, mask=without)}
        columns["cluster_name"] = pa.array(self.names, pa.string()).take(places)
        if any(self.mixed):
            columns["cluster_mixed"] = pa.array(self.mixed, pa.bool_()).take(places)
        if similarity is not None:
            columns["similarity"] = pa.array(similarity.astype(float).round(4), mask=without)
        if self.coarse:
            numbers, names = zip(*self.coarse, strict=True)
            columns["cluster_coarse"] = pa.array(numbers, pa.int64()).take(places)
            columns["cluster_coarse_name"] = pa.array(names, pa.string()).take(places)
        if points is not None:
            for name, values in zip(("map_x", "map_y"), points.T, strict=True):
                columns[name] = pa.array(values.astype(float).round(4), mask=without)
        return columns

    def count(self, labels: NDArray[np.intp]) -> pa.Table:
        """Return a table with one row per cluster, with its size and share among these labels.

        Clusters stand by their themes, the largest theme and its largest cluster first; those without a theme are last.
        """
        sizes = np.bincount(np.searchsorted(self.labels, labels[labels >= 0]), minlength=len(self.labels))
        numbers = [len(sizes) if number is None else number for number, _ in self.coarse]
        themes = np.array(numbers or [0] * len(sizes))
        totals = np.bincount(themes, sizes)
        totals[len(sizes) :] = -1  # of the clusters without a theme
        order = np.lexsort((-sizes, themes, -totals[themes]))
        typical = {
            name: pa.array([texts[place] if place < len(texts) else None for texts in self.typical_texts], pa.string())
            for place, name in enumerate(TYPICAL_COLUMNS)
        }
        columns = {
            **({"theme": pa.array([name for _, name in self.coarse], pa.string())} if self.coarse else {}),
            "cluster": self.labels, "name": self.names, "size": sizes, "share": sizes / max(sizes.sum(), 1),
            "cohesion": pa.array(self.cohesion, pa.float64()), "mixed": pa.array(self.mixed, pa.bool_()),
            "keywords": self.keywords, **typical,
        }  # fmt: skip
        table = pa.table(columns).take(order)
        place = table.column_names.index("share")
        return table.set_column(place, pa.field("share", pa.float64(), metadata=SHARE_MARK), table["share"])


def choose_text_column(table: pa.Table, name: str | None = None, *, option: str = "--text-column") -> str:
    """Return the column that holds the texts: `name` if it is given, or else the first of these that there is.

    1. The only column, if it holds strings.
    2. The column of strings with the most certain of the `TEXT_NAMES`, such as ``text``, ``message`` or ``title``.
    3. The only column of strings.
    4. The only column that reads like texts: a median of three words or more, at least half of the values distinct.

    Numbers, dates, addresses (URLs) and identifiers are never texts. Of several columns in 2 and 4, the one is taken
    whose median length is at least twice as long as every other's. If nothing decides, a UsageError names `option`.
    """
    listed = f"the columns are: {quoted_names(table.column_names)}"
    if name is not None:
        field = find_column(table, name)
        if not holds_text(field):
            problem = f"the column {name!r} holds {describe_values(field)}, not text"
            raise UserError(f"{problem}. Choose another with {option}; {listed}")
        return name
    strings: list[str] = [field.name for field in table.schema if holds_text(field)]
    if table.num_columns == 1 and strings:
        return strings[0]
    traits = {name: _examine(table.column(name)) for name in strings}
    possible = [name for name in strings if not traits[name].codes]
    ranks = ([name for name in possible if name.strip().lower() in known] for known in TEXT_NAMES)
    candidates = next(filter(None, ranks), None)
    if candidates is None:
        candidates = possible if len(strings) == 1 else [name for name in possible if traits[name].prose]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        *_, second, longest = sorted(candidates, key=lambda name: traits[name].length)
        if traits[longest].prose and traits[longest].length >= 2 * traits[second].length:
            return longest
    raise (UsageError if candidates else UserError)(f"which column holds the texts? Choose with {option}; {listed}")


def notes_on_columns(table: pa.Table, chosen: str) -> tuple[str, ...]:
    """Return a note on columns that read like texts as the chosen one does."""
    others = [field.name for field in table.schema if field.name != chosen and holds_text(field)]
    others = [name for name in others if _examine(table.column(name)).prose]
    if not others:
        return ()
    instead = f"To take {' or '.join(map(repr, others[:3]))} instead, use --text-column {others[0]!r}."
    return (f"The texts are from the column {chosen!r}. {instead}",)


class _Traits(NamedTuple):
    """What a sample of the values of a column shows."""

    codes: bool = False
    prose: bool = False
    length: float = 0


def _examine(column: pa.ChunkedArray) -> _Traits:
    rows = np.unique(np.linspace(0, max(len(column) - 1, 0), SAMPLE_VALUES).astype(np.intp))
    sample = [column[int(row)].as_py() for row in rows] if len(column) else []
    values = [value.strip() for value in sample if value and not value.isspace()]
    if not values:
        return _Traits()
    codes = sum(map(_is_code, values)) > len(values) / 2
    worded = (
        statistics.median(max(len(value.split()), len(UNSPACED.findall(value)) / 2) for value in values) >= MIN_WORDS
    )
    distinct = len(set(values)) >= len(values) / 2
    return _Traits(codes, worded and distinct and not codes, statistics.median(map(len, values)))


def _is_code(value: str) -> bool:
    """Return True if a value is a number, date, time, address or identifier."""
    is_word = len(value.split()) == 1 and value.isascii()
    return bool(is_word and CODE_SIGNS.search(value)) or not any(map(str.isalpha, CALENDAR.sub("", value)))


def find_column(table: pa.Table, name: str) -> pa.Field:
    """Return the field of a column, or raise a UserError with the most similar name and all others."""
    if name in table.column_names:
        return table.schema.field(name)
    by_lower = {known.strip().lower(): known for known in table.column_names}
    near = difflib.get_close_matches(name.strip().lower(), by_lower, n=1, cutoff=0.5)
    guess = f"; did you mean {by_lower[near[0]]!r}?" if near else "."
    raise UserError(f"unknown column {name!r}{guess} The columns are: {quoted_names(table.column_names)}")


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Raise a UserError if two columns have the same name."""
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise UserError(f"{where} has more than one column called {name!r}. Give each column a name of its own.")


def column_values(table: pa.Table, name: str) -> list[object]:
    """Return the values of a column as Python objects; missing values are None."""
    find_column(table, name)
    return python_values(table.column(name))


def python_values(column: pa.ChunkedArray | pa.Array) -> list[object]:
    """Return the values as Python objects; dates and times that Python cannot express become strings or numbers."""
    for instead in (None, pa.string(), pa.int64()):
        try:
            cast = column if instead is None else column.cast(_without_times(column.type, instead))
            values: list[object] = cast.to_pylist()
        except (pa.ArrowException, ValueError, OverflowError, KeyError, OSError):  # also unknown time zones
            continue
        return values
    raise UserError(f"values of the type {column.type} cannot be written in this format; use --format parquet.")


def _without_times(kind: pa.DataType, instead: pa.DataType) -> pa.DataType:
    """Return the type with another one in place of dates, times and durations, however deep they are."""
    if pa.types.is_temporal(kind):
        return instead
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(field.type, instead)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type, instead))
    return pa.large_list(_without_times(kind.value_type, instead)) if pa.types.is_large_list(kind) else kind


def as_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the values as strings without surrounding white space; blank ones are missing."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        strings = column.cast(pa.large_string())
    except pa.ArrowException:  # lists and objects
        values = python_values(column)
        strings = pa.array([None if value is None else str(value) for value in values], pa.large_string())
    strings = pc.utf8_trim_whitespace(strings)
    return pc.if_else(pc.equal(strings, ""), pa.scalar(None, pa.large_string()), strings)


def holds_json(field: pa.Field) -> bool:
    """Return True if the strings of a column are JSON."""
    return JSON_MARK.items() <= (field.metadata or {}).items()


def is_any(kind: pa.DataType, *names: str) -> bool:
    """Return True if one of the functions ``pyarrow.types.is_...`` with these names is true for a type."""
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def holds_text(field: pa.Field) -> bool:
    """Return True if the values of a column are strings, dictionary-encoded or not."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return is_any(kind, "string", "large_string", "string_view") and not holds_json(field)


def describe_values(field: pa.Field) -> str:
    """Say in plain English what a column holds."""
    if holds_json(field):
        return "JSON values of several kinds"
    kinds = {
        "null": "nothing but missing values", "boolean": "true and false", "integer": "numbers", "floating": "numbers",
        "decimal": "numbers", "temporal": "dates or times", "nested": "nested values",
    }  # fmt: skip
    other = next((words for kind, words in kinds.items() if is_any(field.type, kind)), "something else")
    return f"{'text' if holds_text(field) else other} ({field.type})"
