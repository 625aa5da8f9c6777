"""The texts of a run: every row as it came, and each distinct text once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..io import MAX_TEXT, as_table, is_data_frame
from ..topics.content import has_content
from ..validation import is_missing

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoSeries

Texts: TypeAlias = "Iterable[str | None] | IntoSeries | IntoDataFrame"
"""What :func:`cluster_texts` takes: texts, or a data frame with a column of texts."""


class Totals(NamedTuple):
    """How many rows the input has.

    Attributes
    ----------
    rows : int
        All rows.
    distinct : int
        Different texts among those that are in a group.
    blank : int
        Rows without text.
    unknown : int
        Rows with a text that the model could not represent.
    without_content : int
        Rows with a text that says nothing, such as "n/a".

    Examples
    --------
    >>> Totals(rows=10, distinct=6, blank=1, unknown=2).grouped
    7
    """

    rows: int
    distinct: int
    blank: int
    unknown: int
    without_content: int = 0

    @property
    def grouped(self) -> int:
        """Rows that are in a group."""
        return self.rows - self.blank - self.unknown - self.without_content


@dataclass(frozen=True, eq=False)
class Corpus:
    """Rows of texts, and the distinct texts behind them.

    Attributes
    ----------
    rows : list of str
        The texts, in order; a missing text is empty, and of a very long one there is only the beginning.
    distinct : list of str
        Each different text once, in order of appearance, without those that do not count: blank ones, and ones that
        say nothing (:func:`has_content`).
    codes : ndarray of int, shape (n_rows,)
        The position in `distinct` of the text of each row; -1 for a text that does not count.
    counts : ndarray of int
        How many rows of the input have each distinct text. Of many files, `rows` are only the distinct texts, or a
        sample of them.
    keep_all : bool
        Whether texts that say nothing count too.

    Examples
    --------
    >>> corpus = Corpus.from_texts(["hello", " ", "bye", "hello", "n/a"])
    >>> corpus.distinct, corpus.codes, corpus.counts
    (['hello', 'bye'], array([ 0, -1,  1,  0, -1]), array([2, 1]))
    """

    rows: list[str]
    distinct: list[str]
    codes: NDArray[np.intp]
    counts: NDArray[np.intp]
    keep_all: bool = False

    @classmethod
    def from_texts(cls, texts: Texts, text_column: str | None = None, *, keep_all: bool = False) -> Corpus:
        """Take in a sequence or a series of texts, or a data frame with a column of texts.

        Parameters
        ----------
        texts : iterable of str, or a series, array, data frame or table of pandas, polars, NumPy or pyarrow
            None and missing values are blank texts.
        text_column : str, optional
            The column of a data frame that holds the texts. It is found by the rules of the command line otherwise.
        keep_all : bool, default=False
            Let texts count that say nothing, too.

        Examples
        --------
        >>> Corpus.from_texts(["b", "a", "b"]).counts
        array([2, 1])
        """
        rows = [_as_text(value, row) for row, value in enumerate(_values(texts, text_column))]
        counting = {row for row in set(rows) if (row.strip() if keep_all else has_content(row))}
        return cls.from_rows(rows, [row in counting for row in rows], keep_all=keep_all)

    @classmethod
    def from_rows(cls, rows: list[str], counting: Iterable[bool], *, keep_all: bool) -> Corpus:
        """Take in rows of texts if it is known which of them count."""
        code_of: dict[str, int] = {}
        pairs = zip(rows, counting, strict=True)
        codes = np.array([code_of.setdefault(row, len(code_of)) if counts else -1 for row, counts in pairs], np.intp)
        counts = np.bincount(codes[codes >= 0], minlength=len(code_of))
        return cls(rows, list(code_of), codes, counts, keep_all)

    @classmethod
    def from_counts(cls, texts: list[str], counts: NDArray[np.intp], *, keep_all: bool = False) -> Corpus:
        """Take in distinct texts and how many rows of the input each of them stands for.

        Examples
        --------
        >>> Corpus.from_counts(["a", "b"], np.array([70, 30])).counts
        array([70, 30])
        """
        return cls(texts, texts, np.arange(len(texts)), counts, keep_all)

    def joined(self, other: Corpus) -> tuple[Corpus, NDArray[np.intp]]:
        """Append the rows of another corpus; return the position of each of its distinct texts too.

        Examples
        --------
        >>> both, positions = Corpus.from_texts(["a", "b"]).joined(Corpus.from_texts(["c", "b"]))
        >>> both.distinct, both.counts, positions
        (['a', 'b', 'c'], array([1, 2, 1]), array([2, 1]))
        """
        code_of = {text: code for code, text in enumerate(self.distinct)}
        positions = np.array([code_of.setdefault(text, len(code_of)) for text in other.distinct], np.intp)
        distinct, counts = list(code_of), np.zeros(len(code_of), np.intp)
        counts[: len(self.counts)] = self.counts
        counts[positions] += other.counts
        if not (self.has_all_rows and other.has_all_rows):
            return Corpus.from_counts(distinct, counts, keep_all=self.keep_all), positions
        codes = np.concatenate([self.codes, np.append(positions, -1)[other.codes]])
        return Corpus(self.rows + other.rows, distinct, codes, counts, self.keep_all), positions

    @property
    def has_all_rows(self) -> bool:
        """Whether `rows` are the rows that `counts` counts."""
        return int(self.counts.sum()) == int((self.codes >= 0).sum())

    def check_content(self) -> None:
        """Raise a UserError if no text counts."""
        if not self.distinct and any(map(str.strip, self.rows)):
            commonest = self.without_content().most_common(1)[0][0][:20]
            raise UserError(
                f"None of the {len(self.rows):,} texts says anything: they are blank, or like {commonest!r}. To "
                "group them all the same, use --keep-all (in Python, keep_all=True)."
            )
        if not self.distinct:
            raise UserError(f"None of the {len(self.rows):,} texts holds anything but white space.")

    def without_content(self) -> Counter[str]:
        """Return the texts that say nothing, with their numbers of rows; blank ones are not among them."""
        return Counter(row for row in (self.rows[i].strip() for i in np.flatnonzero(self.codes < 0)) if row)

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row that has each distinct text."""
        first = np.empty(len(self.distinct), np.intp)
        filled = np.flatnonzero(self.codes >= 0)[::-1]
        first[self.codes[filled]] = filled
        return first

    def spread(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Give each row the value of its text; rows whose text does not count get `blank`.

        Examples
        --------
        >>> Corpus.from_texts(["b", "", "a", "b"]).spread(np.array([7, 8]), blank=-1)
        array([ 7, -1,  8,  7])
        """
        return np.concatenate([values, np.full((1, *values.shape[1:]), blank, values.dtype)])[self.codes]


def _values(texts: Any, text_column: str | None) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise UserError("texts must be a sequence of texts, not a single text.")
    if is_data_frame(texts):
        return as_table(texts, text_column).texts()
    if text_column is not None:
        raise UserError(f"text_column={text_column!r} names a column of a data frame, but texts is none.")
    if isinstance(texts, Mapping):
        raise UserError("texts is a mapping; give a list of texts, or a data frame with a column of texts.")
    if isinstance(texts, np.ndarray) and texts.ndim != 1:
        raise UserError(f"texts must be one-dimensional, but its shape is {texts.shape}.")
    for convert in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        if hasattr(texts, convert):
            values: Iterable[Any] = getattr(texts, convert)()
            return values
    return list(texts)


def _as_text(value: Any, row: int) -> str:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if is_missing(value):
        return ""
    raise UserError(f"The text of row {row} is {value!r}, a {type(value).__name__}; every text must be a str.")
