"""What a run produced, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import cluster_sums, nonzero_rows
from ..clustering.lloyd import nearest_labels
from ..clustering.numbering import largest_first
from ..clustering.tree import MergeTree
from ..embedding import EmbeddingCache
from ..errors import UserError
from ..granularity.estimate import KEstimate
from ..metrics.cohesion import CohesionReport, report_if_defined
from ..topics.describe import Topic
from ..validation import check_whole_number
from .corpus import Corpus
from .grouping import EmbeddingSource, embed_corpus, group_texts

if TYPE_CHECKING:
    from narwhals.typing import IntoSeries


class Hierarchy(NamedTuple):
    """A merge tree that has the result among its cuts, and the leaf of each distinct text (-1: none)."""

    tree: MergeTree
    leaves: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TextClustering:
    """Texts, their groups, and how good the grouping is.

    It is made by :func:`cluster_texts` and never changes: :meth:`rename`, :meth:`merge` and
    :meth:`cut` return a new one.

    Attributes
    ----------
    corpus : Corpus
        The texts.
    distinct_labels, distinct_similarity : ndarray
        Cluster and similarity of each distinct text; see `labels` and `similarity` for the rows.
    centers : ndarray of shape (n_clusters, d)
        Mean of the unit vectors of each cluster.
    topics : tuple of Topic
        Name, size, keywords and representative rows of each cluster.
    cohesion : CohesionReport or None
        Of the distinct texts; None where no two of them are alike, or there is one only.
    k_estimate : KEstimate or None
        What the data says about the number of clusters; None where the number was given.
    algorithm : str
        "kmeans" or "hac".
    source : EmbeddingSource
        What made the embeddings.
    hierarchy : Hierarchy or None
        The merge tree of "hac", or the one that :meth:`cut` or a report built.
    frame_backend, frame_index : str, object
        The data frame library of :meth:`to_frame`, and the index of the pandas series that the texts came in.
    recipe : dict
        How the result was made: the command or call, the seed, the date.
    known_embeddings : ndarray or None
        The vectors of the distinct texts, where they are in memory; see :meth:`embeddings`.

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
    distinct_labels: NDArray[np.intp]
    distinct_similarity: NDArray[np.float32]
    centers: NDArray[np.float32]
    topics: tuple[Topic, ...]
    cohesion: CohesionReport | None
    k_estimate: KEstimate | None
    algorithm: str
    source: EmbeddingSource
    hierarchy: Hierarchy | None = None
    frame_backend: str = ""
    frame_index: Any = None
    recipe: dict[str, str] = field(default_factory=dict)
    known_embeddings: NDArray[Any] | None = None

    def __repr__(self) -> str:
        score = f", Cohesion Ratio {self.cohesion.ratio:.2f}" if self.cohesion else ""
        groups = "group" if self.n_clusters == 1 else "groups"
        return f"{len(self.corpus.rows):,} texts in {self.n_clusters} {groups}{score}"

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
        """Cosine of each row with the centre of its cluster; NaN where it has none."""
        return self.corpus.spread(self.distinct_similarity, np.nan)

    @property
    def names(self) -> list[str | None]:
        """The name of the cluster of each row; None where it has none."""
        names = [*(topic.name for topic in self.topics), None]
        return [names[label] for label in self.labels]

    def to_frame(self) -> Any:
        """Return a data frame with a row a text: text, cluster, cluster_name, similarity.

        It is of the library whose series the texts came in; otherwise pandas, polars or pyarrow,
        the first of them that is installed.

        Examples
        --------
        >>> import pandas, textspectra as ts
        >>> texts = pandas.Series(["a b", "a c", "x y", "x z"])
        >>> result = ts.cluster_texts(texts, embeddings=[[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], n_clusters=2)
        >>> result.to_frame()["cluster"].tolist()
        [0, 0, 1, 1]
        """
        import narwhals

        backend: Any = self.frame_backend or next(name for name in ("pandas", "polars", "pyarrow") if find_spec(name))
        columns = {
            "text": self.corpus.rows,
            "cluster": self.labels,
            "cluster_name": self.names,
            "similarity": self.similarity,
        }
        frame = narwhals.from_dict(columns, backend=backend).to_native()
        if self.frame_index is not None:
            frame.index = self.frame_index
        return frame

    def predict(
        self,
        texts: Sequence[str | None] | IntoSeries,
        *,
        embeddings: ArrayLike | None = None,
        cache: EmbeddingCache | bool = True,
    ) -> NDArray[np.intp]:
        """Return the nearest cluster of new texts; -1 for a blank one or one the model cannot represent.

        Parameters
        ----------
        texts : sequence of str
            New texts.
        embeddings : array-like, optional
            Their embeddings; needed where the clustering was made from given ones.
        cache : bool or EmbeddingCache, default=True
            Whether embeddings are kept on disk.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.predict(["x z", ""], embeddings=[[0.2, 1], [0, 0]]).tolist() == [result.labels[1], -1]
        True
        """
        corpus = Corpus.from_texts(texts)
        if not corpus.distinct:
            return np.full(len(corpus.rows), -1)
        X = embed_corpus(corpus, self.source, embeddings, cache=cache)
        if X.shape[1] != self.centers.shape[1]:
            raise UserError(
                f"These embeddings have {X.shape[1]} dimensions, but the clusters were found in "
                f"{self.centers.shape[1]}; use the same model."
            )
        usable = nonzero_rows(X)
        labels = np.full(len(X), -1)
        labels[usable] = nearest_labels(X if usable.all() else X[usable], self.centers)
        return corpus.spread(labels, -1)

    def rename(self, label: int, name: str) -> TextClustering:
        """Give a cluster another name.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.rename(0, "first").topics[0].name
        'first'
        """
        self._check_label(label)
        if not isinstance(name, str) or not name.strip():
            raise UserError(f"A cluster's name must be a text that is not blank, but it is {name!r}.")
        taken = [topic.label for topic in self.topics if topic.name == name and topic.label != label]
        if taken:
            raise UserError(f"Cluster {taken[0]} is called {name!r} already; merge them, or choose another name.")
        topics = [replace(topic, name=name) if topic.label == label else topic for topic in self.topics]
        return replace(self, topics=tuple(topics))

    def merge(self, first: int, second: int) -> TextClustering:
        """Make one cluster of two; it keeps the name of the first. Clusters are numbered anew, by size.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3)
        >>> result.merge(0, 1).n_clusters
        2
        """
        self._check_label(first)
        self._check_label(second)
        if first == second:
            raise UserError(f"Cluster {first} cannot be merged with itself.")
        merged = np.where(self.distinct_labels == second, first, self.distinct_labels)
        labels = _numbered_by_size(merged, self.corpus.counts)
        kept = {int(new): self.topics[old].name for old, new in zip(merged, labels, strict=True) if old >= 0}
        return regroup(self, labels, names=kept)

    def cut(self, n_clusters: int) -> TextClustering:
        """Cut the merge tree at another number of clusters.

        After "hac" it is Ward's tree. After "kmeans" it is built from the groups: fewer clusters are groups
        merged, more are groups split.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, algorithm="hac", n_clusters=2)
        >>> result.cut(3).n_clusters
        3
        """
        from .hierarchy import hierarchy_of

        hierarchy = hierarchy_of(self)
        leaf_labels = hierarchy.tree.cut(n_clusters)
        labels = _numbered_by_size(np.append(leaf_labels, -1)[hierarchy.leaves], self.corpus.counts)
        return regroup(replace(self, hierarchy=hierarchy), labels, names={})

    def embeddings(self) -> NDArray[Any]:
        """Return the embeddings of the distinct texts, from memory, the cache or the model.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "a"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> result.embeddings().shape
        (2, 2)
        """
        if self.known_embeddings is not None:
            return self.known_embeddings
        return embed_corpus(self.corpus, self.source, None)

    def report(
        self,
        path: str | Path,
        *,
        truth: ArrayLike | Sequence[Hashable] | None = None,
        overwrite: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Write a page to explore the result in a browser: one HTML file that needs no network.

        It has a map of the texts, the groups at every number of clusters, and the evidence for the number
        that was chosen. Embeddings are needed for it, from memory, the cache or the model.

        Parameters
        ----------
        path : path
            The HTML file.
        truth : sequence with an entry a text, optional
            True classes; the page then shows how well every number of clusters agrees with them.
        overwrite : bool, default=False
            Replace a file that is there already.
        progress : callable, optional
            Called as ``progress(stage, done, total)``; the stages are "mapping" and "reporting".

        Examples
        --------
        >>> import tempfile, textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(f"{folder}/report.html")
        ...     Path(folder, "report.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        from ..report import write_report

        write_report(self, Path(path), truth=truth, overwrite=overwrite, progress=progress)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write everything but the embeddings to a folder: safetensors, Parquet and JSON.

        Parameters
        ----------
        folder : path
            Is made. The write is atomic: the folder is complete or not there.
        overwrite : bool, default=False
            Replace a folder that is there already.

        Examples
        --------
        >>> import tempfile, textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/model")
        ...     ts.TextClustering.load(f"{folder}/model")
        2 texts in 2 groups
        """
        from .storage import save_clustering

        save_clustering(self, Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path, *, embeddings: ArrayLike | None = None) -> TextClustering:
        """Read what :meth:`save` wrote; files that are missing, cut short or changed are named.

        Parameters
        ----------
        folder : path
            The model folder.
        embeddings : array-like of shape (n, d), optional
            The embeddings that the clustering was made from, where it was made from given ones: :meth:`cut`
            and :meth:`merge` need them.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.TextClustering.load("no/such/folder")
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: There is no model folder at no/such/folder.
        """
        from .storage import load_clustering

        loaded = load_clustering(Path(folder))
        if embeddings is None:
            return loaded
        return replace(loaded, known_embeddings=embed_corpus(loaded.corpus, loaded.source, embeddings))

    def _check_label(self, label: int) -> None:
        check_whole_number("label", label, low=0, high=self.n_clusters - 1)


def regroup(base: TextClustering, labels: NDArray[np.intp], *, names: dict[int, str]) -> TextClustering:
    """Describe the texts of `base` anew under other labels of the distinct texts (-1: none)."""
    X = base.embeddings()
    usable = np.flatnonzero(labels >= 0)
    points, codes = (X, labels) if len(usable) == len(X) else (X[usable], labels[usable])
    k = int(codes.max()) + 1
    centers = cluster_sums(points, codes, k, weights=base.corpus.counts[usable].astype(float))
    centers /= np.bincount(codes, base.corpus.counts[usable], k)[:, None]
    grouped = group_texts(base.corpus, X, labels, centers.astype(np.float32))
    topics = [replace(topic, name=names.get(topic.label, topic.name)) for topic in grouped.topics]
    return replace(
        base,
        distinct_labels=labels,
        distinct_similarity=grouped.similarity,
        centers=centers.astype(np.float32),
        topics=tuple(topics),
        cohesion=report_if_defined(points, codes, k, random_state=0),
    )


def _numbered_by_size(labels: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    usable = labels >= 0
    numbered = np.full(len(labels), -1)
    numbered[usable] = largest_first(labels[usable], np.bincount(labels[usable], counts[usable]))[0]
    return numbered
