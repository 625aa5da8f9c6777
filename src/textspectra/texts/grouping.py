"""What can be said about a corpus once it has vectors and labels."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import cosines_to_centers
from ..embedding import EmbeddingCache, embed_texts, load_backend
from ..errors import UserError
from ..topics.describe import Topic, describe_clusters
from ..validation import check_embeddings
from .corpus import Corpus


class EmbeddingSource(NamedTuple):
    """What made the embeddings; `model` is None where the user gave them."""

    model: str | None
    settings: dict[str, Any]


class Grouped(NamedTuple):
    """What is said about labels once they are there."""

    similarity: NDArray[np.float32]
    topics: tuple[Topic, ...]


def group_texts(corpus: Corpus, X: NDArray[Any], labels: NDArray[np.intp], centers: NDArray[np.float32]) -> Grouped:
    """Work out names, keywords, representatives and similarities for labels of distinct texts."""
    usable = np.flatnonzero(labels >= 0)
    everything = len(usable) == len(X)
    points, codes = (X, labels) if everything else (X[usable], labels[usable])
    similarity = np.full(len(X), np.nan, np.float32)
    similarity[usable] = cosines_to_centers(points, codes, centers)
    first_rows = corpus.first_rows
    sizes = np.bincount(codes, corpus.counts[usable]).astype(int)
    topics = tuple(
        replace(
            topic,
            size=int(sizes[topic.label]),
            representatives=tuple(int(first_rows[i]) for i in topic.representatives),
        )
        for topic in describe_clusters(corpus.distinct, X, labels)
    )
    return Grouped(similarity, topics)


def embed_corpus(
    corpus: Corpus, source: EmbeddingSource, given: ArrayLike | None, *, cache: EmbeddingCache | bool = True
) -> NDArray[Any]:
    """Return a vector for each distinct text, from `given` rows or from the model of `source`."""
    if given is not None:
        X = check_embeddings(given, minimum=1)
        if len(X) != len(corpus.rows):
            raise UserError(f"There are {len(corpus.rows):,} texts but {len(X):,} rows of embeddings.")
        return X if len(corpus.distinct) == len(X) else X[corpus.first_rows]
    if source.model is None:
        raise UserError(
            "This clustering was made from given embeddings, which are not saved with it: give embeddings= to predict, "
            "and to load before you cut or merge."
        )
    backend = load_backend(source.model)
    if json.dumps(dict(backend.settings), sort_keys=True) != json.dumps(source.settings, sort_keys=True):
        warnings.warn(
            f"{source.model} is not exactly the model that made this clustering (its files or settings differ), so "
            "texts may land in other clusters than they would have then.",
            stacklevel=3,
        )
    return embed_texts(corpus.distinct, backend, cache=cache)
