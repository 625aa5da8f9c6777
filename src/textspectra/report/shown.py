"""Which texts a report shows, and in which order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..texts.corpus import Corpus
from ..texts.result import TextClustering
from .levels import Levels

MAX_POINTS = 100_000
"""Distinct texts on the map and in the lists; of more, so many are drawn at random."""

MAX_CHARACTERS = 16_000_000
"""Characters of all texts together; where there are more, long texts are cut."""


class Shown(NamedTuple):
    """The distinct texts of a report, sorted so that every node of the levels covers a range of them.

    Attributes
    ----------
    order : ndarray of int
        The distinct text at each position.
    ranges : ndarray of shape (n_nodes, 2)
        The first position of each node, and one past its last.
    n_left_out : int
        Distinct texts in groups that are not shown.
    """

    order: NDArray[np.intp]
    ranges: NDArray[np.intp]
    n_left_out: int


def choose_shown(result: TextClustering, levels: Levels, finest: NDArray[np.intp]) -> Shown:
    """Choose and sort; `finest` is the finest cluster of each distinct text, -1 for none."""
    usable = np.flatnonzero(finest >= 0)
    kept = usable
    if len(usable) > MAX_POINTS:
        rows = [row for topic in result.topics for row in topic.representatives]
        must = np.unique(result.corpus.codes[rows])
        others = np.setdiff1d(usable, must)
        drawn = np.random.default_rng(0).choice(others, MAX_POINTS - len(must), replace=False)
        kept = np.sort(np.append(must, drawn))
    order = kept[np.argsort(finest[kept], kind="stable")]
    ranges = np.searchsorted(finest[order], levels.spans)
    return Shown(order, ranges, len(usable) - len(kept))


class Rows(NamedTuple):
    """The rows of the data that a report can export.

    Attributes
    ----------
    numbers : ndarray of int
        Their numbers in the data.
    positions : ndarray of int
        Where the text of each is: a position of the shown texts or, counted on from their end, of the others.
    others : list of str
        Texts without a group, each once: blank ones, and those that the model could not represent.
    """

    numbers: NDArray[np.intp]
    positions: NDArray[np.intp]
    others: list[str]


def exported_rows(corpus: Corpus, shown: Shown, grouped: NDArray[np.bool_]) -> Rows:
    """Find the rows that have a shown text or no group.

    Examples
    --------
    >>> import numpy as np
    >>> corpus = Corpus.from_texts(["b", " ", "a", "b"])
    >>> shown = Shown(np.array([1, 0]), np.zeros((0, 2), int), 0)
    >>> exported_rows(corpus, shown, np.array([True, True]))
    Rows(numbers=array([0, 1, 2, 3]), positions=array([1, 2, 0, 1]), others=[' '])
    """
    n = len(shown.order)
    of_distinct = np.full(len(corpus.distinct), -1)
    of_distinct[shown.order] = np.arange(n)
    positions = corpus.spread(of_distinct, -1)
    ungrouped = np.flatnonzero(~corpus.spread(grouped, False))
    place: dict[str, int] = {}
    for row in ungrouped.tolist():
        positions[row] = n + place.setdefault(corpus.rows[row], len(place))
    numbers = np.flatnonzero(positions >= 0)
    return Rows(numbers, positions[numbers], list(place))


def longest_text(lengths: NDArray[np.intp]) -> int:
    """Return the number of characters to which texts of these lengths have to be cut to fit into the report.

    Examples
    --------
    >>> import numpy as np
    >>> longest_text(np.array([10, 30])), longest_text(np.array([10, 40_000_000]))
    (30, 15999990)
    """
    lengths = np.sort(lengths)
    fewer = np.cumsum(np.append(0, lengths[:-1]))
    # Cut to the length of the i-th, the texts before it would stay whole, and all from it on have that length.
    total = fewer + lengths * np.arange(len(lengths), 0, -1)
    fits = int(np.searchsorted(total, MAX_CHARACTERS, side="right"))
    if fits == len(lengths):
        return int(lengths[-1]) if len(lengths) else 0
    return int((MAX_CHARACTERS - fewer[fits]) // (len(lengths) - fits))
