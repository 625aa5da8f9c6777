"""A table of texts in memory, and what its columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UserError
from .formats import TableFormat
from .limits import MAX_TEXT

JSON_MARK = {b"textspectra.values": b"json"}
"""Metadata of a string column whose values are JSON, because no single Arrow type can hold them unchanged."""


SHARE_MARK = {b"textspectra.values": b"shares"}
"""Metadata of a column of shares, which a spreadsheet shows in per cent."""


@dataclass(frozen=True)
class TextTable:
    r"""A table with its text column, and the format of the file that it was read from.

    Attributes
    ----------
    table : pyarrow.Table
        Every original column, in order, unchanged.
    text_column : str
        The name of the column that holds the texts.
    format : TableFormat
        The format of the file; Parquet for a data frame.
    compression : str or None
        ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"`` or None.
    delimiter : str
        The separator of cells in a CSV or TSV file; a comma for the other formats.
    sheet : str or None
        The sheet of a workbook.
    header_row : int or None
        The row of a CSV file or a sheet that has the names of the columns, from 1; 0 if there is none.
    notes : tuple of str
        What to know about how the file was read.

    Examples
    --------
    >>> import io
    >>> from textspectra.io import read_table
    >>> found = read_table("-", stdin=io.BytesIO(b"id;text\n007;hello\n008;\n"))
    >>> found.texts()
    ['hello', '']
    >>> found.text_column, str(found.format), found.delimiter
    ('text', 'csv', ';')
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
        """Return the texts, one per row; missing texts are empty strings, and very long ones are cut at `MAX_TEXT`.

        Examples
        --------
        >>> TextTable(pa.table({"text": ["a", None]}), "text", TableFormat.PARQUET).texts()
        ['a', '']
        """
        column = pc.fill_null(self.table.column(self.text_column).cast(pa.large_string()), "")
        if (pc.max(pc.binary_length(column)).as_py() or 0) > MAX_TEXT:
            column = pc.utf8_slice_codeunits(column, 0, MAX_TEXT)
        texts: list[str] = column.to_numpy().tolist()
        return texts


class Groups(NamedTuple):
    """The description of each cluster: its label, its name, its keywords and a typical text; labels ascend.

    `coarse` has the label and the name of each at the coarse level, or nothing if there is none.
    """

    labels: list[int]
    names: list[str]
    keywords: list[str]
    typical_texts: list[str]
    coarse: Sequence[tuple[int | None, str | None]] = ()

    def columns(
        self, labels: NDArray[np.intp], similarity: NDArray[np.floating[Any]] | None = None
    ) -> dict[str, pa.Array]:
        """Return the columns that a clustering adds to a table; rows without a cluster have missing values.

        Examples
        --------
        >>> groups = Groups([0, 4], ["billing", "login"], ["pay", "password"], ["My invoice?", "Cannot log in"])
        >>> groups.columns(np.array([4, -1]))["cluster_name"].to_pylist()
        ['login', None]
        """
        without = labels < 0
        places = pa.array(np.searchsorted(self.labels, labels), mask=without)
        columns = {
            "cluster": pa.array(labels, mask=without), "cluster_name": pa.array(self.names, pa.string()).take(places)
        }  # fmt: skip
        if similarity is not None:
            columns["similarity"] = pa.array(similarity.astype(float).round(4), mask=without)
        if self.coarse:
            numbers, names = zip(*self.coarse, strict=True)
            columns["cluster_coarse"] = pa.array(numbers, pa.int64()).take(places)
            columns["cluster_coarse_name"] = pa.array(names, pa.string()).take(places)
        return columns

    def count(self, labels: NDArray[np.intp]) -> pa.Table:
        """Return a table with one row per cluster, with its size and share among these labels.

        Examples
        --------
        >>> groups = Groups([0, 4], ["billing", "login"], ["pay", "password"], ["My invoice?", "Cannot log in"])
        >>> groups.count(np.array([4, 0, 4, -1, 4])).select(["cluster", "size", "share"]).to_pylist()
        [{'cluster': 0, 'size': 1, 'share': 0.25}, {'cluster': 4, 'size': 3, 'share': 0.75}]
        """
        sizes = np.bincount(np.searchsorted(self.labels, labels[labels >= 0]), minlength=len(self.labels))
        columns = {
            "cluster": self.labels, "name": self.names, "size": sizes, "share": sizes / max(sizes.sum(), 1),
            "keywords": self.keywords, "typical_text": self.typical_texts,
        }  # fmt: skip
        table = pa.table(columns)
        place = table.schema.get_field_index("share")
        return table.set_column(place, pa.field("share", pa.float64(), metadata=SHARE_MARK), table["share"])


def refuse_duplicates(names: list[str], where: str) -> None:
    """Raise a UserError if two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{where} has more than one column called {name!r}. Give each column a name of its own.")
        seen.add(name)


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values as Python objects; dates and times that Python cannot express become strings or numbers.

    Examples
    --------
    >>> python_values(pa.chunked_array([pa.array([-(10**6), 0], pa.date32())]))
    ['-0768-02-04', '1970-01-01']
    """
    for instead in (None, pa.string(), pa.int64()):
        try:
            cast = column if instead is None else column.cast(_without_times(column.type, instead))
            values: list[Any] = cast.to_pylist()
        except (pa.ArrowException, ValueError, OverflowError, KeyError, OSError):  # also unknown time zones
            continue
        return values
    raise UserError(f"values of the type {column.type} cannot be written in this format; use --format parquet.")


def _without_times(kind: pa.DataType, instead: pa.DataType) -> pa.DataType:
    """Return the type with another one in the place of dates, times and durations, however deep they are."""
    if pa.types.is_temporal(kind):
        return instead
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(field.type, instead)) for field in kind])
    for test, made in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if test(kind):
            return made(_without_times(kind.value_type, instead))
    return kind


def holds_json(field: pa.Field) -> bool:
    """Tell whether the strings of a column are JSON."""
    return JSON_MARK.items() <= (field.metadata or {}).items()


def holds_shares(field: pa.Field) -> bool:
    """Tell whether the numbers of a column are shares."""
    return SHARE_MARK.items() <= (field.metadata or {}).items()


def holds_text(field: pa.Field) -> bool:
    """Tell whether the values of a column are strings, dictionary-encoded or not."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return is_string and not holds_json(field)


def describe_values(field: pa.Field) -> str:
    """Say in plain English what a column holds."""
    if holds_json(field):
        return "JSON values of several kinds"
    kinds = pa.types
    words = (
        (lambda _: holds_text(field), "text"),
        (kinds.is_null, "nothing but missing values"),
        (kinds.is_boolean, "true and false"),
        (lambda kind: kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind), "numbers"),
        (kinds.is_temporal, "dates or times"),
        (kinds.is_nested, "nested values"),
    )
    plain = next((word for test, word in words if test(field.type)), "something else")
    return f"{plain} ({field.type})"
