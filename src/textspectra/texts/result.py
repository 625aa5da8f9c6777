"""What a run produced, and what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import cluster_sums, cosines_to_centers
from ..clustering.numbering import relabel_like
from ..embedding import Backend, EmbeddingCache, as_backend
from ..errors import UserError
from ..estimators.base import largest_first, nearest_labels
from ..granularity.estimate import KEstimate
from ..io import is_data_frame, with_columns
from ..metrics.cohesion import CohesionReport, report_if_defined
from ..topics.describe import Topic, describe_clusters
from ..validation import check_whole_number
from .corpus import Corpus, Totals
from .embedded import EmbeddedTexts, EmbeddingSource, embed_corpus
from .frames import library_of, new_frame
from .hierarchy import Hierarchy, build_hierarchy
from .storage import load_fields, save_clustering

if TYPE_CHECKING:
    from ..embedding import Encoder
    from .corpus import Texts


@dataclass(frozen=True, eq=False)
class TextClustering:
    """Texts, their groups, and how good the grouping is.

    It is made by :func:`cluster_texts` and never changes: :meth:`rename`, :meth:`merge` and
    :meth:`cut` return a new one.

    Attributes
    ----------
    corpus : Corpus
        The texts. For many files it may be a sample of them.
    totals : Totals
        How many rows the input has, and how many of them are blank or unknown to the model.
    distinct_labels, distinct_similarity : ndarray
        Cluster and similarity of each distinct text; `labels` and `similarity` have those of the rows.
    centers : ndarray of shape (n_clusters, d)
        Mean of the unit vectors of each cluster.
    topics : tuple of Topic
        Name, size, keywords and typical rows of each cluster.
    cohesion : CohesionReport or None
        Of the distinct texts; None if there is only one, or if no two of them are alike.
    k_estimate : KEstimate or None
        What the data says about the number of clusters; None if the number was given.
    algorithm : str
        "kmeans" or "hac".
    source : EmbeddingSource
        What made the embeddings.
    hierarchy : Hierarchy or None
        The merge tree of "hac", or the one of :meth:`with_hierarchy`.
    recipe : dict
        How the result was made: the command or call, the seed, the date.
    encoder : Backend or None
        The model, if it is in memory.
    known_embeddings : ndarray or None
        The vectors of the distinct texts, if they are in memory.
    frame : data frame, series or None
        What the texts came in.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
    >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
    >>> result
    4 texts in 2 groups, Cohesion Ratio 2.46
    """

    corpus: Corpus
    totals: Totals
    distinct_labels: NDArray[np.intp]
    distinct_similarity: NDArray[np.float32]
    centers: NDArray[np.float32]
    topics: tuple[Topic, ...]
    cohesion: CohesionReport | None
    k_estimate: KEstimate | None
    algorithm: str
    source: EmbeddingSource
    hierarchy: Hierarchy | None = None
    recipe: dict[str, str] = field(default_factory=dict)
    encoder: Backend | None = None
    known_embeddings: NDArray[Any] | None = None
    frame: Any = None

    def __repr__(self) -> str:
        score = f", Cohesion Ratio {self.cohesion.ratio:.2f}" if self.cohesion else ""
        groups = "group" if self.n_clusters == 1 else "groups"
        return f"{self.totals.rows:,} texts in {self.n_clusters} {groups}{score}"

    def __len__(self) -> int:
        return len(self.corpus.rows)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.topics)

    @property
    def labels(self) -> NDArray[np.intp]:
        """The cluster of each row; -1 for a blank text or one that the model could not represent."""
        return self.corpus.spread(self.distinct_labels, -1)

    @property
    def similarity(self) -> NDArray[np.float32]:
        """Cosine of each row with the centre of its cluster; NaN if it has no cluster."""
        return self.corpus.spread(self.distinct_similarity, np.nan)

    @property
    def names(self) -> list[str | None]:
        """The name of the cluster of each row; None if it has no cluster."""
        names = [*(topic.name for topic in self.topics), None]
        return [names[label] for label in self.labels]

    def embeddings(self) -> NDArray[Any]:
        """Return the embedding of each row, from memory, the cache or the model; zeros for a blank text.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "a"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> result.embeddings().shape
        (3, 2)
        """
        return self.embedded().vectors_of_rows()

    def embedded(self) -> EmbeddedTexts:
        """Return the distinct texts with their vectors, from memory, the cache or the model.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "a"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> result.embedded().X.shape
        (2, 2)
        """
        if self.known_embeddings is not None:
            return EmbeddedTexts(self.corpus, self.known_embeddings)
        return embed_corpus(self.corpus, self._encoder())

    def to_frame(self) -> Any:
        """Return a data frame with one row per text.

        A data frame that was given comes back with the columns cluster, cluster_name and similarity. For other
        texts it also has the column text, and is of the library of the series that was given; otherwise of
        pandas, polars or pyarrow, the first of them that is installed.

        Examples
        --------
        >>> import pandas, textspectra as ts
        >>> tickets = pandas.DataFrame({"id": [7, 8, 9], "text": ["a b c", "a b d", "x y z"]})
        >>> result = ts.cluster_texts(tickets, embeddings=[[1, 0], [0.9, 0.1], [0, 1]], n_clusters=2)
        >>> result.to_frame()[["id", "cluster"]].values.tolist()
        [[7, 0], [8, 0], [9, 1]]
        """
        columns = {"cluster": self.labels, "cluster_name": self.names, "similarity": self.similarity}
        if is_data_frame(self.frame):
            return with_columns(self.frame, columns)[0]
        frame = new_frame({"text": self.corpus.rows, **columns}, like=self.frame)
        if library_of(self.frame) == "pandas":
            frame.index = self.frame.index
        return frame

    def topics_frame(self) -> Any:
        """Return a data frame with one row per group.

        Its columns are cluster, name, size, share (of all rows in a group), cohesion, keywords and typical_texts.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> result.topics_frame()["typical_texts"].tolist()
        [['a b'], ['x y']]
        """
        ratios = {part.label: part.ratio for part in self.cohesion.per_cluster} if self.cohesion else {}
        columns: dict[str, list[Any]] = {
            "cluster": [topic.label for topic in self.topics],
            "name": [topic.name for topic in self.topics],
            "size": [topic.size for topic in self.topics],
            "share": [topic.size / self.totals.grouped for topic in self.topics],
            "cohesion": [ratios.get(topic.label) for topic in self.topics],
            "keywords": [list(topic.keywords) for topic in self.topics],
            "typical_texts": [self.typical_texts(topic) for topic in self.topics],
        }
        return new_frame(columns, like=self.frame)

    def typical_texts(self, topic: Topic) -> list[str]:
        """Return the texts that are typical of a group, the most typical first.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.typical_texts(result.topics[1])
        ['x y']
        """
        return [self.corpus.rows[row] for row in topic.representatives]

    @overload
    def predict(
        self,
        texts: Texts,
        *,
        text_column: str | None = ...,
        embeddings: ArrayLike | None = ...,
        return_similarity: Literal[False] = ...,
        cache: EmbeddingCache | bool = ...,
    ) -> NDArray[np.intp]: ...

    @overload
    def predict(
        self,
        texts: Texts,
        *,
        text_column: str | None = ...,
        embeddings: ArrayLike | None = ...,
        return_similarity: Literal[True],
        cache: EmbeddingCache | bool = ...,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]: ...

    def predict(
        self,
        texts: Texts,
        *,
        text_column: str | None = None,
        embeddings: ArrayLike | None = None,
        return_similarity: bool = False,
        cache: EmbeddingCache | bool = True,
    ) -> NDArray[np.intp] | tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the nearest cluster of new texts; -1 for a blank text or one that the model cannot represent.

        Parameters
        ----------
        texts : sequence or series of str, or data frame
            New texts, as in :func:`cluster_texts`.
        text_column : str, optional
            The column of a data frame that holds the texts.
        embeddings : array-like of shape (n, d), optional
            Their embeddings; needed if the clustering was made from given ones.
        return_similarity : bool, default=False
            Return the cosine of each text with the centre of its cluster too; NaN if it has no cluster.
        cache : bool or EmbeddingCache, default=True
            Whether embeddings are kept on disk.

        Returns
        -------
        labels : ndarray of int, shape (n,)
        similarity : ndarray of float32, shape (n,)
            Only with ``return_similarity=True``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.predict(["x z", ""], embeddings=[[0.2, 1], [0, 0]]).tolist() == [result.labels[1], -1]
        True
        """
        corpus = Corpus.from_texts(texts, text_column)
        labels, similarity = np.full(len(corpus.distinct), -1), np.full(len(corpus.distinct), np.nan, np.float32)
        if corpus.distinct:
            new = embed_corpus(corpus, self._encoder() if embeddings is None else None, embeddings, cache=cache)
            if new.X.shape[1] != self.centers.shape[1]:
                raise UserError(
                    f"These embeddings have {new.X.shape[1]} dimensions, but the clusters were found in "
                    f"{self.centers.shape[1]}; use the same model."
                )
            nearest = nearest_labels(new.vectors, self.centers)
            labels = new.scatter(nearest, -1)
            similarity = new.scatter(cosines_to_centers(new.vectors, nearest, self.centers), np.nan)
        of_rows = corpus.spread(labels, -1)
        return (of_rows, corpus.spread(similarity, np.nan)) if return_similarity else of_rows

    def rename(self, label: int | Mapping[int, str], name: str | None = None) -> TextClustering:
        """Give a cluster another name, or several: ``rename(3, "refunds")``, ``rename({3: "refunds", 5: "login"})``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> [topic.name for topic in result.rename({0: "first", 1: "second"}).topics]
        ['first', 'second']
        """
        given: Mapping[int, Any] = label if isinstance(label, Mapping) else {label: name}
        for one, new in given.items():
            self._check_label(one)
            if not isinstance(new, str) or not new.strip():
                raise UserError(f"A cluster's name must be a text that is not blank, but it is {new!r}.")
        names = [given.get(topic.label, topic.name) for topic in self.topics]
        taken = [new for new in given.values() if names.count(new) > 1]
        if taken:
            first, second = [number for number, other in enumerate(names) if other == taken[0]][:2]
            raise UserError(
                f"Clusters {first} and {second} would both be called {taken[0]!r}; merge them, or choose another name."
            )
        topics = [replace(topic, name=new) for topic, new in zip(self.topics, names, strict=True)]
        return replace(self, topics=tuple(topics))

    def merge(self, *labels: int | Iterable[int]) -> TextClustering:
        """Make one cluster of two or more: ``merge(3, 7)`` or ``merge([3, 7, 9])``.

        It keeps the name of the first one and the lowest of their numbers. The other clusters keep their numbers;
        only numbers that would be too high for the smaller number of clusters fill the gaps.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3)
        >>> result.merge(0, 1).n_clusters
        2
        """
        chosen = [one for some in labels for one in (some if isinstance(some, Iterable) else [some])]
        for one in chosen:
            self._check_label(one)
        if len(set(chosen)) < len(chosen):
            twice = next(one for one in chosen if chosen.count(one) > 1)
            raise UserError(f"Cluster {twice} cannot be merged with itself.")
        if len(chosen) < 2:
            raise UserError("merge needs two clusters or more.")
        merged = np.where(np.isin(self.distinct_labels, chosen), min(chosen), self.distinct_labels)
        gapless = np.where(merged < 0, -1, np.searchsorted(np.unique(merged[merged >= 0]), merged))
        new_labels = relabel_like(self.distinct_labels, gapless)
        name_of = {**{topic.label: topic.name for topic in self.topics}, min(chosen): self.topics[chosen[0]].name}
        names = {int(new): name_of[int(old)] for old, new in zip(merged, new_labels, strict=True) if old >= 0}
        return self.regroup(new_labels, names=names)

    def cut(self, n_clusters: int) -> TextClustering:
        """Cut the merge tree at another number of clusters.

        After "hac" it is Ward's tree. After "kmeans" it is built from the groups: fewer clusters are groups
        merged, more are groups split. Clusters are numbered by size.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, algorithm="hac", n_clusters=2)
        >>> result.cut(3).n_clusters
        3
        """
        base = self.with_hierarchy()
        assert base.hierarchy is not None  # noqa: S101 - for the type checker
        labels = np.append(base.hierarchy.tree.cut(n_clusters), -1)[base.hierarchy.leaves]
        usable = labels >= 0
        sizes = np.bincount(labels[usable], self.corpus.counts[usable])
        labels[usable] = largest_first(labels[usable], sizes)[0]
        return base.regroup(labels, names={})

    def with_hierarchy(self) -> TextClustering:
        """Return the same result with a merge tree that has its grouping among its cuts.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, n_clusters=2).with_hierarchy()
        >>> result.hierarchy.tree.cut(2)
        array([0, 0, 1, 1])
        """
        if self.hierarchy is not None and self.hierarchy.has_cut(self.distinct_labels):
            return self
        return replace(self, hierarchy=build_hierarchy(self.embedded(), self.distinct_labels))

    def regroup(self, labels: NDArray[np.intp], *, names: Mapping[int, str]) -> TextClustering:
        """Describe the same texts under other labels of the distinct texts (-1: none); `names` are kept as they are.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "c"], embeddings=[[1, 0], [1, 1], [0, 1]], n_clusters=3)
        >>> result.regroup(np.array([0, 0, 1]), names={0: "both"}).topics[0].name
        'both'
        """
        texts = self.embedded()
        codes, k = labels[texts.counting], int(labels.max()) + 1
        sums = cluster_sums(texts.vectors, codes, k, weights=texts.weights)
        centers = (sums / np.bincount(codes, texts.weights, k)[:, None]).astype(np.float32)
        similarity, topics = describe_groups(texts, labels, centers)
        return replace(
            self,
            distinct_labels=labels,
            distinct_similarity=similarity,
            centers=centers,
            topics=tuple(replace(topic, name=names.get(topic.label, topic.name)) for topic in topics),
            cohesion=report_if_defined(texts.vectors, codes, k, random_state=0),
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write everything but the embeddings to a folder: safetensors, Parquet and JSON.

        Parameters
        ----------
        folder : path
            It is created. The write is atomic: the folder is complete or not there.
        overwrite : bool, default=False
            Replace a model folder that exists.

        Examples
        --------
        >>> import tempfile, textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/model")
        ...     ts.TextClustering.load(f"{folder}/model")
        2 texts in 2 groups
        """
        save_clustering(self, Path(folder), overwrite=overwrite)

    @classmethod
    def load(
        cls, folder: str | Path, *, model: Encoder | None = None, embeddings: ArrayLike | None = None
    ) -> TextClustering:
        """Read what :meth:`save` wrote; an error names files that are missing, cut short or changed.

        Parameters
        ----------
        folder : path
            The model folder.
        model : str, Backend, object with ``encode``, or callable, optional
            What embeds new texts, if the clustering was made with an encoder that cannot be loaded by name.
        embeddings : array-like of shape (n, d), optional
            The embeddings that the clustering was made from, if it was made from given ones: :meth:`cut`
            and :meth:`merge` need them.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.TextClustering.load("no/such/folder")
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: There is no model folder at no/such/folder.
        """
        loaded = cls(**load_fields(Path(folder)))
        if model is not None:
            loaded = replace(loaded, encoder=as_backend(model))
        if embeddings is None:
            return loaded
        return replace(loaded, known_embeddings=embed_corpus(loaded.corpus, None, embeddings).X)

    def _encoder(self) -> Backend:
        return self.source.load() if self.encoder is None else self.encoder

    def _check_label(self, label: int) -> None:
        check_whole_number("label", label, low=0, high=self.n_clusters - 1)


def describe_groups(
    texts: EmbeddedTexts, labels: NDArray[np.intp], centers: NDArray[np.float32]
) -> tuple[NDArray[np.float32], tuple[Topic, ...]]:
    """Return the similarity of each distinct text to its centre, and the topic of each group."""
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
        for topic in describe_clusters(corpus.distinct, texts.X, labels)
    )
    return similarity, topics
