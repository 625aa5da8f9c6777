"""Place texts in groups: new texts by a model's rule, and each group described by its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.kmeans import labels_by
from ..core.rows import cluster_sums, cosines_to_centers
from ..embedding.cache import EmbeddingCache
from ..errors import UserError
from ..words.describe import Cluster, describe_clusters
from ..words.languages import language_shares
from ..words.names import EmbedPhrases, unique_name
from .clustered import ClusteredTexts
from .corpus import Corpus, EmbeddedTexts, Texts, embed_corpus
from .notes import note_on_model, notes_on_content, notes_on_lengths


class Placed(NamedTuple):
    """New texts with their vectors, the group of each distinct text (-1: none), notes on them, and their languages."""

    texts: EmbeddedTexts
    codes: NDArray[np.intp]
    notes: tuple[str, ...]
    languages: dict[str, float]


def place_texts(
    model: ClusteredTexts, texts: Texts, *, text_column: str | None = None, embeddings: ArrayLike | None = None,
    cache: EmbeddingCache | bool = True, progress: Callable[[int, int], None] | None = None,
) -> Placed:  # fmt: skip
    """Embed new texts as a model's texts were embedded, and assign them to its groups, by position in `clusters`."""
    corpus = Corpus.from_texts(texts, text_column, keep_all=model.corpus.keep_all)
    dimension = model.centers.shape[1]
    notes = notes_on_content(corpus.without_content())
    if not corpus.distinct:
        return Placed(EmbeddedTexts(corpus, np.zeros((0, dimension), np.float32)), np.zeros(0, np.intp), notes, {})
    encoder = model.load_encoder() if embeddings is None else None
    new = embed_corpus(corpus, encoder, embeddings, cache=cache, progress=progress)
    if new.X.shape[1] != dimension:
        raise UserError(
            f"These embeddings have {new.X.shape[1]} dimensions, but the clusters were found in {dimension}; use the "
            "same model."
        )
    codes = new.scatter(labels_by(new.vectors, model.rule), -1)
    languages = language_shares(corpus.distinct)
    on_model = note_on_model(languages, len(corpus.distinct), encoder)
    return Placed(new, codes, (*filter(None, [on_model]), *notes, *notes_on_lengths(corpus, encoder)), languages)


def mean_vectors(texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> NDArray[np.float32]:
    """Return the mean unit vector of each group, zeros for an empty one; a text counts as often as it occurs."""
    grouped, weights = codes[texts.counting], texts.weights
    sums = cluster_sums(texts.vectors, grouped, k, weights=weights)
    means: NDArray[np.float32] = (sums / np.maximum(np.bincount(grouped, weights, k), 1)[:, None]).astype(np.float32)
    return means


def similarity_to_clusters(
    texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each distinct text with the center of its group; NaN if it has none."""
    return texts.scatter(cosines_to_centers(texts.vectors, codes[texts.counting], centers), np.nan)


def describe_embedded(
    texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32], embed: EmbedPhrases | None,
    read: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float32], tuple[Cluster, ...]]:  # fmt: skip
    """Return the similarity of each distinct text to its center, and the description of each group.

    `read` says which of the distinct texts are read for the description, by default all; each group needs some.
    """
    corpus, counts, first_rows = texts.corpus, texts.corpus.counts, texts.corpus.first_rows
    similarity = cosines = similarity_to_clusters(texts, codes, centers)
    sizes = np.bincount(codes[texts.counting], texts.weights).astype(int)
    if read is not None:  # the phrases of the texts that are read, and not of their groups
        codes = np.where(read, codes, -1)
        rows = np.flatnonzero(codes >= 0)
        X = texts.X[rows]
        centers = cluster_sums(X, codes[rows], len(centers), weights=counts[rows]).astype(np.float32)
        cosines = similarity.copy()
        cosines[rows] = cosines_to_centers(X, codes[rows], centers)
    described = describe_clusters(corpus.distinct, texts.X, codes, centers, cosines, counts=counts, embed=embed)
    clusters = []
    for cluster in described:
        typical = tuple(int(first_rows[i]) for i in cluster.representatives)
        clusters.append(replace(cluster, size=int(sizes[cluster.label]), representatives=typical))
    return similarity, tuple(clusters)


def with_names(
    clusters: Sequence[Cluster], labels: Sequence[int], kept: Mapping[int, str], others: Iterable[str] = ()
) -> tuple[Cluster, ...]:
    """Give groups their labels, and some, by position, the names that they had.

    A new name that equals one of these, or one of the `others`, gets a number.
    """
    taken = {*kept.values(), *others}
    return tuple(
        replace(cluster, label=label, name=kept.get(position) or unique_name(cluster.name, taken))
        for position, (cluster, label) in enumerate(zip(clusters, labels, strict=True))
    )
