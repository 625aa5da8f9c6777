"""Describe the groups of embedded texts: similarity to the centre, size, keywords, typical rows, name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import cluster_sums, cosines_to_centers
from ..topics.describe import Topic, describe_clusters
from ..topics.names import EmbedPhrases, unique_name
from .embedded import EmbeddedTexts


def mean_vectors(texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> NDArray[np.float32]:
    """Return the mean of the unit vectors of each group, in which a text counts as often as it occurs.

    `codes` are the groups of the distinct texts (-1: none). A group without texts has zeros.
    """
    grouped = codes[texts.counting]
    sums = cluster_sums(texts.vectors, grouped, k, weights=texts.weights)
    means: NDArray[np.float32] = (sums / np.maximum(np.bincount(grouped, texts.weights, k), 1)[:, None]).astype(
        np.float32
    )
    return means


def with_names(
    topics: Sequence[Topic], labels: Sequence[int], kept: Mapping[int, str], others: Iterable[str] = ()
) -> tuple[Topic, ...]:
    """Give topics their labels, and some the names that they had.

    A new name that equals one of these, or one of the `others`, gets a number.
    """
    taken = {*kept.values(), *others}
    return tuple(
        replace(topic, label=label, name=kept.get(position) or unique_name(topic.name, taken))
        for position, (topic, label) in enumerate(zip(topics, labels, strict=True))
    )


def describe_groups(
    texts: EmbeddedTexts,
    labels: NDArray[np.intp],
    centers: NDArray[np.float32],
    embed: EmbedPhrases | None,
    read: NDArray[np.bool_] | Literal[True] = True,
) -> tuple[NDArray[np.float32], tuple[Topic, ...]]:
    """Return the similarity of each distinct text to its centre, and the topic of each group.

    `read` tells which of the distinct texts are read for that; it must be some of each group.
    """
    corpus, usable = texts.corpus, texts.counting
    similarity = texts.scatter(cosines_to_centers(texts.vectors, labels[usable], centers), np.nan)
    sizes = np.bincount(labels[usable], corpus.counts[usable]).astype(int)
    first_rows = corpus.first_rows
    topics = tuple(
        replace(
            topic,
            size=int(sizes[topic.label]),
            representatives=tuple(int(first_rows[i]) for i in topic.representatives),
        )
        for topic in describe_clusters(
            corpus.distinct, texts.X, np.where(read, labels, -1), counts=corpus.counts, embed=embed
        )
    )
    return similarity, topics
