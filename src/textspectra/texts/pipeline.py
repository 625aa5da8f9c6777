"""Texts in, groups out: the one function that walks through the whole house."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import nonzero_rows
from ..embedding import DEFAULT_MODEL, Backend, EmbeddingCache, embed_texts, load_backend
from ..errors import UserError
from ..estimators import AutoAgglomerative, AutoKMeans
from ..validation import RandomState
from .corpus import Corpus
from .grouping import EmbeddingSource, embed_corpus, group_texts
from .result import Hierarchy, TextClustering

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries

ALGORITHMS = {"kmeans": AutoKMeans, "hac": AutoAgglomerative}
FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")

Stage = Literal["embedding", "grouping", "describing"]
Progress = Callable[[Stage, int, int], None]


def cluster_texts(
    texts: Sequence[str | None] | IntoSeries,
    *,
    model: str | Backend = DEFAULT_MODEL,
    embeddings: ArrayLike | None = None,
    algorithm: Literal["kmeans", "hac"] = "kmeans",
    n_clusters: int | Literal["auto"] = "auto",
    random_state: RandomState = 0,
    cache: EmbeddingCache | bool = True,
    progress: Progress | None = None,
) -> TextClustering:
    """Find out how many groups a pile of texts has, what they are, and which text is in which.

    Identical texts are embedded once, count as often as they occur, and share a cluster. Blank
    texts, and texts that the model cannot represent (a zero vector), stay in the result with
    the label -1.

    Parameters
    ----------
    texts : sequence of str, or a pandas or polars series
        None and missing values count as blank.
    model : str or Backend, default="wordllama"
        What embeds the texts; ``textspectra models`` lists what can be used.
    embeddings : array-like of shape (n, d), optional
        Used in place of a model: one row a text.
    algorithm : {"kmeans", "hac"}, default="kmeans"
        "hac" is Ward's method, whose result can be cut anywhere.
    n_clusters : "auto" or int, default="auto"
        An int overrules the estimate.
    random_state : int, RandomState, Generator or None, default=0
        The same int gives the same result.
    cache : bool or EmbeddingCache, default=True
        Whether embeddings are kept on disk for the next time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    TextClustering

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten", ""]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [0, 0]]
    >>> ts.cluster_texts(texts, embeddings=X, n_clusters=2).labels
    array([ 0,  0,  1,  1, -1])
    """
    if algorithm not in ALGORITHMS:
        raise UserError(f'algorithm must be "kmeans" or "hac", but it is {algorithm!r}.')
    tell: Progress = progress or (lambda stage, done, total: None)
    corpus = Corpus.from_texts(texts)
    if not corpus.distinct:
        raise UserError(f"None of the {len(corpus.rows):,} texts holds anything but white space.")
    if embeddings is not None:
        source = EmbeddingSource(None, {})
        X = embed_corpus(corpus, source, embeddings)
    else:
        backend = load_backend(model) if isinstance(model, str) else model
        source = EmbeddingSource(backend.name, dict(backend.settings))
        tell("embedding", 0, len(corpus.distinct))
        X = embed_texts(corpus.distinct, backend, cache=cache, progress=lambda *step: tell("embedding", *step))
    usable = np.flatnonzero(nonzero_rows(X))
    if not len(usable):
        raise UserError("The model could represent none of the texts (all vectors are zero); try another model.")
    if n_clusters != "auto" and isinstance(n_clusters, int) and n_clusters > len(usable):
        raise UserError(f"{n_clusters:,} clusters were asked for, but there are {len(usable):,} different texts.")
    tell("grouping", 0, 1)
    fitted = _fit(ALGORITHMS[algorithm](n_clusters, random_state=random_state), X, usable, corpus.counts)
    labels = _scatter(fitted.labels_, usable, len(X))
    tell("describing", 0, 1)
    grouped = group_texts(corpus, X, labels, fitted.cluster_centers_)
    tell("describing", 1, 1)
    library = type(texts).__module__.partition(".")[0]
    return TextClustering(
        corpus=corpus,
        distinct_labels=labels,
        distinct_similarity=grouped.similarity,
        centers=fitted.cluster_centers_,
        topics=grouped.topics,
        cohesion=fitted.cohesion_report_ if len(usable) > 1 else None,
        k_estimate=fitted.k_estimate_,
        algorithm=algorithm,
        source=source,
        hierarchy=Hierarchy(fitted.merge_tree_, _scatter(fitted.leaves_, usable, len(X)))
        if isinstance(fitted, AutoAgglomerative)
        else None,
        frame_backend=library if library in FRAME_LIBRARIES else "",
        frame_index=getattr(texts, "index", None) if library == "pandas" else None,
        recipe=_recipe(source.model, algorithm, n_clusters, random_state),
        known_embeddings=X,
    )


def _recipe(model: str | None, algorithm: str, n_clusters: int | str, random_state: RandomState) -> dict[str, str]:
    seed = str(random_state) if isinstance(random_state, int | np.integer) else "not fixed"
    vectors = "embeddings=X" if model is None else f"model={model!r}"
    options = f"algorithm={algorithm!r}, n_clusters={n_clusters!r}, random_state={seed}"
    call = f"textspectra.cluster_texts(texts, {vectors}, {options})"
    return {"command": call, "seed": seed, "date": datetime.now(UTC).date().isoformat()}


def _fit(
    estimator: AutoKMeans | AutoAgglomerative, X: NDArray[Any], usable: NDArray[np.intp], counts: NDArray[np.intp]
) -> AutoKMeans | AutoAgglomerative:
    points = X if len(usable) == len(X) else X[usable]
    weights = counts[usable].astype(float)
    if len(points) == 1:
        # A single text is one cluster; the estimators want two rows to compare.
        points, weights = np.repeat(points, 2, axis=0), np.append(weights, 0)
    return estimator.fit(points, sample_weight=weights)


def _scatter(values: NDArray[np.intp], positions: NDArray[np.intp], length: int) -> NDArray[np.intp]:
    spread = np.full(length, -1)
    spread[positions] = values[: len(positions)]
    return spread
