"""The texts of one run: every row as it came, and each distinct text once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..validation import is_missing

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries


@dataclass(frozen=True, eq=False)
class Corpus:
    """Rows of texts, and the distinct texts behind them.

    Attributes
    ----------
    rows : list of str
        The texts, in order; a missing one is empty.
    distinct : list of str
        Each different text once, in order of appearance, without those that are blank.
    codes : ndarray of int, shape (n_rows,)
        Where in `distinct` the text of each row is; -1 for a blank one.

    Examples
    --------
    >>> corpus = Corpus.from_texts(["hello", " ", "bye", "hello", None])
    >>> corpus.distinct, corpus.codes
    (['hello', 'bye'], array([ 0, -1,  1,  0, -1]))
    """

    rows: list[str]
    distinct: list[str]
    codes: NDArray[np.intp]

    @classmethod
    def from_texts(cls, texts: Sequence[str | None] | IntoSeries) -> Corpus:
        """Take in a sequence or a pandas or polars series of texts.

        Examples
        --------
        >>> Corpus.from_texts(["b", "a", "b"]).counts
        array([2, 1])
        """
        if isinstance(texts, str):
            raise UserError("texts must be a sequence of texts, not a single text.")
        values: list[Any] = texts.to_list() if hasattr(texts, "to_list") else list(texts)
        rows = [_as_text(value, row) for row, value in enumerate(values)]
        code_of: dict[str, int] = {}
        codes = np.array([code_of.setdefault(row, len(code_of)) if row.strip() else -1 for row in rows], np.intp)
        return cls(rows, list(code_of), codes)

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows have each distinct text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row that has each distinct text."""
        first = np.empty(len(self.distinct), np.intp)
        filled = np.flatnonzero(self.codes >= 0)[::-1]
        first[self.codes[filled]] = filled
        return first

    def spread(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Give each row the value of its text, and `blank` to rows without one.

        Examples
        --------
        >>> import numpy as np
        >>> Corpus.from_texts(["b", "", "a", "b"]).spread(np.array([7, 8]), blank=-1)
        array([ 7, -1,  8,  7])
        """
        return np.append(values, np.asarray(blank, values.dtype))[self.codes]


def _as_text(value: Any, row: int) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise UserError(f"The text of row {row} is {value!r}, a {type(value).__name__}; every text must be a str.")
