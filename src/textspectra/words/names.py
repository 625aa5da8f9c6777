"""Names of clusters: of the phrases that set a cluster apart, the one that is nearest to it in meaning."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..core import F32, Array
from ..tables.source import MAX_CLUSTER_NAME
from .keywords import Keyword
from .phrases import MAX_NAME, Phrase

KEYWORD_WEIGHT = 0.1  # weight of the logarithm of a phrase's score, beside its cosine with the cluster
KEYWORDS_IN_NAME = 3
SAME_MEANING = 0.8  # two names with a higher cosine would be taken for the same
SACRIFICE = 0.15  # by how much the score of a name may be lower, so that it is not taken for another
MIXED = "Mixed: "  # the beginning of the name of a cluster without a common theme
SEPARATOR = " / "  # between the keywords in a name

NUMBERED = re.compile(r" \(\d+\)$")  # what :func:`unique_name` adds to a name that is taken

EmbedPhrases = Callable[[list[str]], F32]
"""A function from phrases to their vectors, by the model of the texts."""


class Candidate(NamedTuple):
    """A phrase that could name a cluster, its score as a name, and its meaning as a unit vector."""

    text: str
    score: float
    meaning: Array


def score_phrases(
    phrases: Sequence[Sequence[Phrase]], centers: Array, embed: EmbedPhrases | None
) -> list[list[Candidate]]:
    """Return the phrases of each cluster that could name it, the best first; without a model there are none.

    The score of a name is a cosine plus the weighted logarithm of the phrase's score. The cosine favors what the
    texts mean. It compares the phrase, less the mean of all phrases, with the center of the cluster, less the mean of
    all centers: what all clusters share sets none apart. The logarithm favors what many texts say and other clusters
    do not. All phrases are embedded in one call. If that fails, a warning says so.
    """
    distinct = list(dict.fromkeys(phrase.text for candidates in phrases for phrase in candidates))
    if embed is None or not distinct:
        return [[] for _ in phrases]
    try:
        vectors = np.array(embed(distinct), np.float32)
        if vectors.shape != (len(distinct), centers.shape[1]):
            raise ValueError(f"the vectors of {len(distinct):,} phrases have the shape {vectors.shape}.")
    except Exception as error:  # names are optional: no problem with them may cost the user the result
        problem = f"The groups are named by keywords, because the model could not embed phrases: {error}"
        warnings.warn(problem, stacklevel=2)
        return [[] for _ in phrases]
    row_of = {text: row for row, text in enumerate(distinct)}
    contrast = 1 - 1 / len(centers)  # a single cluster has nothing to be set apart from
    units = (unit_vectors(vectors), unit_vectors(centers))
    meanings, directions = (unit_vectors(rows - contrast * rows.mean(axis=0)) for rows in units)
    scored = []
    for of_cluster, direction in zip(phrases, directions, strict=True):
        rows = [row_of[phrase.text] for phrase in of_cluster]
        names = [
            Candidate(text, cosine + KEYWORD_WEIGHT * math.log(score), units[0][row])
            for (text, score), cosine, row in zip(of_cluster, (meanings[rows] @ direction).tolist(), rows, strict=True)
        ]
        scored.append(sorted(names, key=lambda name: -name.score))
    return scored


def unit_vectors(X: Array) -> Array:
    """Return the rows scaled to length 1; a row of zeros, such as the vector of an unknown phrase, stays."""
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny))


def choose_names(
    candidates: Sequence[Sequence[Candidate]], keywords: Sequence[Sequence[Keyword]], examples: Sequence[str],
    mixed: Sequence[bool], taken: Sequence[str] = (),
) -> list[str]:  # fmt: skip
    """Return a name for each cluster that is not taken; if two have the same best phrase, the better match gets it.

    A phrase that means the same as the name of another cluster is passed over, if there is another that is nearly as
    good. A mixed cluster is named by keywords.
    """
    best = [options[0].score if options else -math.inf for options in candidates]
    names: dict[int, str] = {}
    meanings: dict[int, Array] = {}
    by_match = sorted(range(len(best)), key=lambda cluster: -best[cluster])
    # The second time, all other names are known.
    for cluster in by_match + by_match:
        others = [name for other, name in names.items() if other != cluster]
        if cluster in names and not _is_part(names[cluster], others):
            continue
        meanings.pop(cluster, None)
        options = _set_apart(candidates[cluster], others, list(meanings.values()))
        name = choose_name(options, keywords[cluster], examples[cluster], [*taken, *others], is_mixed=mixed[cluster])
        names[cluster] = name
        meanings.update((cluster, option.meaning) for option in options if option.text == name)
    return [name for _, name in sorted(names.items())]


def _is_part(name: str, others: Sequence[str]) -> bool:
    """Return True if another name has all the words of a name and more, so that the name could mean both."""
    words = set(name.casefold().split())
    return any(words < set(other.casefold().split()) for other in others if not other.startswith(MIXED))


def _set_apart(candidates: Sequence[Candidate], names: Sequence[str], meanings: Sequence[Array]) -> list[Candidate]:
    """Put the first candidate that cannot be taken for one of the names first, if it is nearly as good."""

    def is_apart(option: Candidate) -> bool:
        is_same = any(float(option.meaning @ meaning) > SAME_MEANING for meaning in meanings)
        return not (is_same or _is_part(option.text, names))

    enough = candidates[0].score - SACRIFICE if candidates else 0
    apart = next((option for option in candidates if option.score >= enough and is_apart(option)), None)
    return list(candidates) if apart is None else [apart, *(option for option in candidates if option is not apart)]


def choose_name(
    candidates: Sequence[Candidate], keywords: Sequence[Keyword], example: str, taken: Iterable[str],
    *, is_mixed: bool = False,
) -> str:  # fmt: skip
    """Return a name that is not taken: the best phrase, else the best keywords, or the example if there are none.

    The keywords of a mixed cluster follow the word "Mixed", so that nobody takes them for its theme.
    """
    folded_names = {name.casefold() for name in taken}
    short = _readable(keywords)
    more = [keyword.text for keyword in keywords if keyword.text not in short]
    start, separator = (MIXED, ", ") if is_mixed else ("", SEPARATOR)
    lists = [start + separator.join([*short, *more[:n]]) for n in range(len(more) + 1)] if short else []
    phrases = [] if is_mixed else [candidate.text for candidate in candidates]
    names = [name for name in (*phrases, *lists) if len(name) <= MAX_CLUSTER_NAME]
    free = (name for name in names if name.casefold() not in folded_names)
    return next(free, "") or unique_name(names[0] if names else start + example, folded_names)


def _readable(keywords: Sequence[Keyword]) -> list[str]:
    """Return the first keywords that have no word in common and are short enough together."""
    chosen: list[str] = []
    seen: set[str] = set()
    for text, stems, _ in keywords:
        if seen.isdisjoint(stems) and (not chosen or len(SEPARATOR.join([*chosen, text])) <= MAX_NAME):
            chosen.append(text)
            seen |= stems
        if len(chosen) == KEYWORDS_IN_NAME:
            break
    return chosen


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, followed by a number if it is taken; case does not matter."""
    folded_names = {other.casefold() for other in taken}
    number, candidate = 1, name
    while candidate.casefold() in folded_names:
        number += 1
        end = f" ({number})"
        candidate = name[: MAX_CLUSTER_NAME - len(end)] + end
    return candidate
