"""Describe clusters: keywords, typical texts and a name for each, by phrases of its texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core import F32, Array, Bools, Ints
from ..core.rows import cluster_sums, take_units
from .keywords import Keyword, rank_terms
from .names import EmbedPhrases, choose_names, score_phrases
from .phrases import MAX_NAME
from .themes import theme_phrases
from .tokens import clean_text

MIXED_SPREAD, MIXED_MEDIAN = 0.15, 0.7
"""A mixed cluster is nearer to the others than this share of the spread, and of the median over the clusters."""
THEME_TEXTS, THEME_SHARE = 3, 0.2  # a keyword that this many texts and this share of them have is a theme
TYPICAL_TEXTS = 5  # per cluster
CENTRAL = 50  # most central distinct texts, from which the typical ones are chosen
RELEVANCE = 0.7  # weight of similarity to the center in that choice, beside being different from each other
OUTSTANDING, REPEATED = 0.05, 3
"""The most frequent text stands out with this share of the rows, and this many times the rows of the median text."""


@dataclass(frozen=True)
class Cluster:
    """The description of one cluster.

    Attributes
    ----------
    label : int
        The label of the cluster.
    size : int
        The number of rows in the cluster.
    keywords : tuple of str
        Words and two-word phrases that distinguish the cluster, the best first.
    representatives : tuple of int
        The positions of typical texts that differ from each other, the most typical first.
    name : str
        A phrase of the texts; without a model, up to three keywords; a typical text if there are none. Unique among
        the clusters.
    is_mixed : bool
        Whether the cluster has no common theme. It keeps this mark if it gets another name.
    color : int
        The number of its color in the report. A cluster keeps it, and no other cluster has it.

    Examples
    --------
    >>> Cluster(label=0, size=2, keywords=("refund",), representatives=(1, 0), name="refund").size
    2
    """

    label: int
    size: int
    keywords: tuple[str, ...]
    representatives: tuple[int, ...]
    name: str
    is_mixed: bool = False
    color: int = 0


def describe_clusters(
    texts: Sequence[str], X: Array, codes: Ints, centers: F32, cosines: F32, *, counts: Ints,
    embed: EmbedPhrases | None, parts: Mapping[int, Sequence[Cluster]] | None = None, taken: Sequence[str] = (),
    stop_words: Collection[str] = (),
) -> list[Cluster]:  # fmt: skip
    """Describe each cluster that occurs in `codes` by keywords, typical texts and a name.

    `centers` are the centers of all clusters, and `cosines` has the cosine of each text with its own. Texts with the
    code -1 are ignored. `counts` says how often each text was sent: keywords, names and typical texts follow that.
    Without `embed`, a name is a list of up to three keywords. A cluster that joins several `parts`, which are described
    already, is named as a theme. No name is `taken`. `stop_words` are neither keywords nor ends of names.
    """
    order = np.argsort(codes, kind="stable")
    labels, starts = np.unique(codes[order], return_index=True)
    pairs = zip(labels.tolist(), np.split(order, starts[1:]), strict=True)
    members = {label: rows for label, rows in pairs if label >= 0}
    if not members:
        return []
    keywords, phrases = rank_terms(texts, list(members.values()), counts, stop_words=stop_words)
    typical = [typical_rows(texts, X, rows, cosines, counts) for rows in members.values()]
    candidates = score_phrases(phrases, centers[list(members)], embed)
    examples = [
        clean_text(texts[rows[0]], limit=MAX_NAME) or f"group {label}"
        for label, rows in zip(members, typical, strict=True)
    ]
    mixed = _mixed_among(X, list(members.values()), counts, keywords)
    for place, label in enumerate(members):
        if parts and len(parts.get(label, ())) > 1:
            candidates[place], mixed[place] = theme_phrases(candidates[place], parts[label], X.shape[1]), False
    names = choose_names(candidates, keywords, examples, mixed, taken)
    return [
        Cluster(label, len(rows), tuple(keyword.text for keyword in words), tuple(chosen), name, is_mixed, label)
        for (label, rows), words, chosen, name, is_mixed in zip(
            members.items(), keywords, typical, names, mixed, strict=True
        )
    ]


def _mixed_among(X: Array, members: Sequence[Ints], counts: Ints, keywords: Sequence[Sequence[Keyword]]) -> list[bool]:
    rows, sizes = np.concatenate(members), np.array([len(part) for part in members])
    sums = cluster_sums(X[rows], np.repeat(np.arange(len(sizes)), sizes), len(sizes))
    flags = zip(are_mixed(sums, sizes).tolist(), keywords, members, strict=True)
    return [flag and not has_theme(words, counts[part]) for flag, words, part in flags]


def are_mixed(sums: Array, sizes: Ints) -> Bools:
    """Return which clusters have no common theme: their texts are about everything that the others are about.

    `sums` are the sums of the unit vectors of the clusters. The measure is the squared distance from the center of a
    cluster to the mean of all other texts, as a share of the spread of all texts. It is small if the texts of a cluster
    go in all directions. None of two clusters is mixed, because nothing tells what is usual.
    """
    n = sizes.sum()
    if len(sizes) <= 2:
        return np.zeros(len(sizes), bool)
    others = (sums.sum(axis=0) - sums) / (n - sizes)[:, None]
    distance = ((sums / sizes[:, None] - others) ** 2).sum(axis=1)
    spread = 1 - float(((sums.sum(axis=0) / n) ** 2).sum())
    return np.asarray(distance < min(MIXED_SPREAD * spread, MIXED_MEDIAN * float(np.median(distance))))


def has_theme(keywords: Sequence[Keyword], counts: Ints) -> bool:
    """Return True if many texts of a cluster have a keyword, or if one text is most of it."""
    least = max(THEME_SHARE, THEME_TEXTS / max(1, len(counts)))
    return any(word.share >= least for word in keywords) or bool(2 * counts.max(initial=0) > counts.sum())


def typical_rows(texts: Sequence[str], X: Array, rows: Ints, cosines: F32, counts: Ints) -> list[int]:
    """Choose typical rows of a cluster by maximal marginal relevance: near the center, and different from each other.

    `cosines` has the cosine of each row with its center. A row that is far more frequent than the others comes first.
    """
    ordered = rows[np.argsort(-cosines[rows], kind="stable")]
    times = counts[ordered]
    frequent = ordered[times.argmax()]
    stands_out = times.max() >= max(OUTSTANDING * times.sum(), REPEATED * np.median(times))
    if stands_out:
        ordered = np.concatenate([[frequent], ordered[ordered != frequent]])
    central = _distinct(texts, ordered)
    units = take_units(X, central)
    likeness = np.full(len(central), -1, np.float32)
    relevance = RELEVANCE * cosines[central]
    chosen: list[int] = []
    for _ in range(min(TYPICAL_TEXTS, len(central))):
        gain = relevance - (1 - RELEVANCE) * likeness
        gain[chosen] = -np.inf
        chosen.append(0 if stands_out and not chosen else int(gain.argmax()))
        likeness = np.maximum(likeness, units @ units[chosen[-1]])
    return [int(row) for row in central[chosen]]


def _distinct(texts: Sequence[str], ordered: Ints) -> Ints:
    """Return the first rows with distinct texts; a row with an empty text only if all are empty."""
    rows: dict[str, int] = {}
    for row in ordered.tolist():
        key = clean_text(texts[row]).casefold()
        if key:
            rows.setdefault(key, row)
        if len(rows) == CENTRAL:
            break
    return np.array(list(rows.values()) or ordered[:1], np.intp)
