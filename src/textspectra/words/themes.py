"""Names of themes: a phrase that several groups of a theme share, or else the names of its groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .languages import STOP_WORDS
from .names import KEYWORDS_IN_NAME, NUMBERED, SEPARATOR, Candidate
from .phrases import MAX_NAME
from .tokens import term_parts

if TYPE_CHECKING:
    from .describe import Cluster

SHARED_ROWS = 2 / 3  # of the rows of a theme are in groups that share the words of its name
NEARLY_BEST = 0.15  # a phrase that groups share may have a score this much below the best phrase
LEADING_KEYWORDS = 5  # keywords of a group that can be in the name of a theme; those after them are rare
MAX_ENDING = 2  # characters by which the forms of a word may differ at its end


def theme_phrases(phrases: Sequence[Candidate], parts: Sequence[Cluster], dimension: int) -> list[Candidate]:
    """Return what could name a theme of several clusters, the best first, given the phrases of all its texts.

    `dimension` is the length of their vectors. First come good phrases whose words are in the keywords or the names of
    clusters with two thirds of the rows, then the names of the largest clusters side by side, then the other phrases.
    None is the name of a cluster.
    """
    known = [(part.size, _words(part.name, *part.keywords[:LEADING_KEYWORDS])) for part in parts]
    names = [_words(part.name) for part in parts]
    total, best = sum(part.size for part in parts), max((phrase.score for phrase in phrases), default=0)

    def is_shared(phrase: Candidate) -> bool:
        sizes = [size for size, words in known if _covers(words, _words(phrase.text))]
        return phrase.score >= best - NEARLY_BEST and len(sizes) > 1 and sum(sizes) >= SHARED_ROWS * total

    fresh = [phrase for phrase in phrases if not any(_same(_words(phrase.text), name) for name in names)]
    shared = [phrase for phrase in fresh if is_shared(phrase)]
    others = [phrase for phrase in fresh if not is_shared(phrase)]
    return [*shared, *_side_by_side(parts, dimension), *others]


def _side_by_side(parts: Sequence[Cluster], dimension: int) -> list[Candidate]:
    """Return the names of the largest clusters in one, as far as there is room; each has a word of its own.

    The name of a mixed cluster says little about the theme, so it has no place there.
    """
    chosen: list[str] = []
    seen: set[str] = set()
    for part in sorted((part for part in parts if not part.is_mixed), key=lambda part: -part.size):
        name, words = NUMBERED.sub("", part.name), _words(part.name)
        if not _covers(seen, words) and len(SEPARATOR.join([*chosen, name])) <= MAX_NAME:
            chosen.append(name)
            seen |= words
        if len(chosen) == KEYWORDS_IN_NAME:
            break
    nothing = np.zeros(dimension)  # it cannot be taken for another name
    return [Candidate(SEPARATOR.join(chosen), 0.0, nothing)] if len(chosen) > 1 else []


@cache
def _stop_words() -> frozenset[str]:
    return frozenset().union(*STOP_WORDS.values())


def _words(*texts: str) -> frozenset[str]:
    """Return the words of names and keywords, without stop words of any language unless there are no others."""
    words = frozenset().union(*(term_parts(NUMBERED.sub("", text).casefold()) for text in texts)) - {"/"}
    return words - _stop_words() or words


def _same(words: frozenset[str], others: frozenset[str]) -> bool:
    return _covers(words, others) and _covers(others, words)


def _covers(words: Iterable[str], others: Iterable[str]) -> bool:
    return all(_is_among(other, words) for other in others)


def _is_among(word: str, words: Iterable[str]) -> bool:
    """Return True if a form of the word is among others: one begins with the other, and is hardly longer."""
    return any(
        abs(len(word) - len(other)) <= MAX_ENDING and (word.startswith(other) or other.startswith(word))
        for other in words
    )
