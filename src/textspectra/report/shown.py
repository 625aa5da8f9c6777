"""Choose the texts that a report shows, and their order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..texts.corpus import Corpus
from ..texts.result import TextClustering
from .levels import Levels

MAX_POINTS = 100_000
"""Number of distinct texts on the map and in the lists; if there are more, a random sample is shown."""

MAX_CHARACTERS = 16_000_000
"""Number of characters of all texts together; if there are more, long texts are cut."""


class Shown(NamedTuple):
    """The distinct texts of a report, sorted so that every node of the levels covers a range of them."""

    order: NDArray[np.intp]  # the distinct text at each position
    ranges: NDArray[np.intp]  # the first position of each node, and one past its last


def choose_shown(result: TextClustering, levels: Levels, finest: NDArray[np.intp]) -> Shown:
    """Choose and sort the texts; `finest` is the finest cluster of each distinct text, -1 for none."""
    kept = np.flatnonzero(finest >= 0)
    if len(kept) > MAX_POINTS:
        rows = [row for topic in result.topics for row in topic.representatives]
        must = np.unique(result.corpus.codes[rows])
        others = np.setdiff1d(kept, must)
        drawn = np.random.default_rng(0).choice(others, MAX_POINTS - len(must), replace=False)
        kept = np.sort(np.append(must, drawn))
    order = kept[np.argsort(finest[kept], kind="stable")]
    return Shown(order, np.searchsorted(finest[order], levels.spans))


class Rows(NamedTuple):
    """The rows of the data that the page exports."""

    numbers: NDArray[np.intp]  # their row numbers in the data
    positions: NDArray[np.intp]  # the position of the text of each row, first in the shown texts, then in `others`
    others: list[str]  # each distinct text without a group: blank, or one that the model could not represent


def exported_rows(corpus: Corpus, shown: Shown, grouped: NDArray[np.bool_]) -> Rows:
    """Find the rows whose text is shown, and those without a group.

    Examples
    --------
    >>> import numpy as np
    >>> corpus = Corpus.from_texts(["b", " ", "a", "b"])
    >>> shown = Shown(np.array([1, 0]), np.zeros((0, 2), int))
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


def cut_texts(texts: list[str], most: int) -> tuple[list[str], int | None]:
    """Cut the longest texts so that all of them have at most `most` characters; None if none had to be cut.

    Examples
    --------
    >>> cut_texts(["long text", "text"], 8)
    (['long…', 'text'], 4)
    """
    lengths = np.array([len(text) for text in texts], np.intp)
    limit = longest_text(lengths, most)
    if lengths.max(initial=0) <= limit:
        return texts, None
    return [text if len(text) <= limit else text[:limit] + "…" for text in texts], limit


def longest_text(lengths: NDArray[np.intp], most: int) -> int:
    """Return the number of characters to which long texts must be cut, so that all have at most `most` together."""
    lengths = np.sort(lengths)
    fewer = np.cumsum(np.append(0, lengths[:-1]))
    # total[i] is the sum of the lengths if all texts are cut to the length of the i-th shortest.
    total = fewer + lengths * np.arange(len(lengths), 0, -1)
    fits = int(np.searchsorted(total, most, side="right"))
    if fits == len(lengths):
        return int(lengths[-1]) if len(lengths) else 0
    return int((most - fewer[fits]) // (len(lengths) - fits))
