"""Groups that look alike: pairs that may be one group, by their names or by their texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.kmeans import directions_of
from ..hygiene import plural
from ..words.languages import DEFAULT_LANGUAGE, STOP_WORDS
from ..words.names import NUMBERED
from ..words.tokens import grammar, stemmer
from .novelty import N_NEAREST, known_rows, nearest_rows

if TYPE_CHECKING:
    from .clustered import ClusteredTexts

Reason = Literal["names", "texts"]

# Two groups look alike if each is the other's nearest, and the cosine of their centers times their mixing is at least
# this. It was chosen on 28 labeled sets, see benchmarks/similar.md.
SIMILAR_ENOUGH = 0.35
LINKS = frozenset(["of", "for"])  # "status of order" is "order status"
SAMPLED_ROWS = 4_000  # texts whose neighbors are searched
SAID = 3  # pairs in the summary


class SimilarPair(NamedTuple):
    """Two clusters that may be one group, by their positions in `clusters`; the first is the larger one.

    The similarity is the cosine of their centers, seen from the mean of all texts.
    """

    cluster: int
    other: int
    similarity: float
    reason: Reason


class Nearness(NamedTuple):
    """How near each cluster is to each other one: the cosine of the centers, and how much their texts mix.

    Texts mix by 0 if the nearest texts of each are in its own cluster, and by 1 if two clusters are as good as one.
    """

    cosine: NDArray[np.float64]
    mixing: NDArray[np.float64]

    @property
    def both(self) -> NDArray[np.float64]:
        """The product of the two; -1 for a cluster and itself."""
        product: NDArray[np.float64] = np.maximum(self.cosine, 0) * self.mixing
        np.fill_diagonal(product, -1)
        return product


def find_similar(result: ClusteredTexts) -> tuple[SimilarPair, ...]:
    """Return the pairs of groups that look alike, the most similar first; a mixed group is like no other."""
    if result.n_clusters < 2:
        return ()
    near = nearness_of(result)
    both, reasons = near.both, dict[tuple[int, int], Reason]()
    for first, second in enumerate(both.argmax(axis=1).tolist()):
        if first < second and both[second].argmax() == first and both[first, second] >= SIMILAR_ENOUGH:
            reasons[first, second] = "texts"
    reasons |= dict.fromkeys(NameWords.of(result).equal_pairs(), "names")
    clusters, pairs = result.clusters, []
    for (first, second), reason in reasons.items():
        if not (clusters[first].is_mixed or clusters[second].is_mixed):
            larger, smaller = sorted((first, second), key=lambda place: -clusters[place].size)
            pairs.append(SimilarPair(larger, smaller, round(float(near.cosine[first, second]), 4), reason))
    return tuple(sorted(pairs, key=lambda pair: -pair.similarity))


def nearness_of(result: ClusteredTexts) -> Nearness:
    """Compare the centers of all clusters, and the neighbors of a sample of their texts if their vectors are here."""
    sizes = np.array([cluster.size for cluster in result.clusters], float)
    centers = result.centers - np.average(result.centers, axis=0, weights=sizes)
    units = directions_of(centers.astype(np.float32), np.zeros_like(result.centers))
    cosine = (units @ units.T).astype(float)
    k = result.n_clusters
    if result.known_embeddings is None and result.reference is None:
        return Nearness(cosine, np.zeros((k, k)))
    known = known_rows(result)
    step = max(1, -(-len(known.codes) // SAMPLED_ROWS))
    rows, codes = known.units[::step], known.codes[::step]
    near = codes[nearest_rows(rows, rows, N_NEAREST, np.arange(len(rows))).rows]
    this = np.repeat(codes, near.shape[1])
    links = np.bincount(this * k + near.ravel(), minlength=k * k).reshape(k, k).astype(float)
    counts = np.bincount(codes, minlength=k).astype(float)
    across, inside = links + links.T, np.diag(links)
    share = across / np.maximum(inside[:, None] + inside + across, 1)
    expected = 2 * np.outer(counts, counts) / np.maximum(counts[:, None] + counts, 1) ** 2
    return Nearness(cosine, share / np.maximum(expected, 1 / max(len(codes), 1)))


class NameWords:
    """The words of names, and their stems without stop words; the first language of the texts says how to stem."""

    def __init__(self, names: Sequence[str], language: str) -> None:
        stem = stemmer(language)
        function = grammar(language if language in STOP_WORDS else DEFAULT_LANGUAGE)
        # "not" and "up" make a difference.
        stop_words = (function.stop_words - function.connectives - function.prepositions) | LINKS
        known = set(names)
        self.is_upper = [name.isupper() for name in names]
        bare = [NUMBERED.sub("", name) for name in names]
        # A number belongs to a name unless another group has the name without it.
        plain = [short if short in known else name for short, name in zip(bare, names, strict=True)]
        self.words = [re.findall(r"\w+", name.lower()) for name in plain]
        self.content = [[word for word in words if word not in stop_words] or words for words in self.words]
        self.stems = [frozenset(map(stem, words)) for words in self.content]

    @classmethod
    def of(cls, result: ClusteredTexts) -> NameWords:
        """Read the names of a result."""
        return cls(
            [cluster.name for cluster in result.clusters], next(iter(result.languages), DEFAULT_LANGUAGE).lower()
        )

    def equal_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of names with the same words in any form and order, and of a name with its initials."""
        by_stems: dict[frozenset[str], list[int]] = {}
        by_initials: dict[str, list[int]] = {}
        for place, stems in enumerate(self.stems):
            by_stems.setdefault(stems or frozenset([str(place)]), []).append(place)
            for words in (self.words[place], self.content[place]):
                if len(words) > 1:
                    by_initials.setdefault("".join(word[0] for word in words), []).append(place)
        for places in by_stems.values():
            yield from combinations(places, 2)
        for place, words in enumerate(self.words):
            if len(words) == 1 and self.is_upper[place]:  # in lower case, it is a word
                for other in by_initials.get(words[0], ()):
                    yield min(place, other), max(place, other)


def pairs_in_words(names: Sequence[tuple[str, str]]) -> list[str]:
    """Say which pairs of groups may be one, given their names; the first few are named."""
    lines = [f"“{first}” and “{second}” may be one group." for first, second in names[:SAID]]
    more = plural(len(names) - SAID, "more pair of groups may be one", "more pairs of groups may be one")
    return [*lines, f"And {more}."] if len(names) > SAID else lines
