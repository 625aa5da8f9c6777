"""What a run produced: texts, their groups, and views of them by row and by group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.clusters import EXACT_ROWS, LEAVES_PER_CLUSTER, MICRO_CLUSTERS, gather_leaves, split_leaves, tree_around
from ..core.cohesion import CohesionReport
from ..core.estimate import KEstimate
from ..core.kmeans import LinearRule
from ..core.ward import MergeTree
from ..embedding.base import Backend
from ..embedding.cache import EmbeddingCache
from ..embedding.embed import embed_texts
from ..errors import UserError
from ..tables.columns import ClusterColumns
from ..tables.frames import is_data_frame, library_of, new_frame, with_columns
from ..words.describe import Cluster
from ..words.names import EmbedPhrases
from .corpus import Corpus, EmbeddedTexts, EmbeddingSource, Totals, embed_corpus
from .details import Details
from .history import Update, columns_of
from .notes import doubt_about_languages, reading_in_words
from .novelty import Reference
from .tally import Tally, by_segment, over_time

FINEST = 300
"""Highest number of clusters that a report shows; higher if the result, or one of its levels, has more."""


class Hierarchy(NamedTuple):
    """A merge tree, and the leaf of each distinct text (-1: none).

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [0.9, 0.1], [0, 1]]
    >>> ts.cluster_texts(["a", "b", "c"], embeddings=X, algorithm="hac", n_clusters=2).hierarchy.leaves
    array([0, 1, 2])
    """

    tree: MergeTree
    leaves: NDArray[np.intp]

    def cut(self, n_clusters: int) -> NDArray[np.intp]:
        """Return the cluster of each distinct text when the tree is cut into `n_clusters`, -1 for none."""
        return np.append(self.tree.cut(n_clusters), -1)[self.leaves]

    def of_leaves(self, codes: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return the cluster of each leaf, given those of the distinct texts; None if a leaf has texts of several."""
        found = np.zeros(self.tree.n_leaves, np.intp)
        leaves, codes = self.leaves[self.leaves >= 0], codes[self.leaves >= 0]
        found[leaves] = codes
        return found if (found[leaves] == codes).all() else None

    def has_cut(self, labels: NDArray[np.intp]) -> bool:
        """Return True if a labeling of the distinct texts is one of the cuts of the tree."""
        n_clusters = int(labels.max()) + 1
        if n_clusters > self.tree.n_leaves:
            return False
        codes = self.cut(n_clusters)
        return len(np.unique(np.column_stack([codes, labels]), axis=0)) == len(np.unique(labels))


def build_hierarchy(texts: EmbeddedTexts, labels: NDArray[np.intp]) -> Hierarchy:
    """Build a merge tree one of whose cuts is the grouping `labels` of the distinct texts (-1: none).

    It is for groups that no algorithm found, such as those that a reader made; the tree is made by the same rule
    (:func:`~textspectra.grouping.agglomerative.tree_around`). The same grouping gives the same tree.
    """
    vectors, clusters = texts.vectors, labels[texts.counting]
    rng = np.random.default_rng(0)
    n_leaves = max(MICRO_CLUSTERS, LEAVES_PER_CLUSTER * (int(clusters.max()) + 1))
    found = gather_leaves(vectors, None, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves)
    found = split_leaves(found, vectors, clusters)
    cluster_of_leaf = np.empty(len(found.mass), np.intp)
    cluster_of_leaf[found.of_row] = clusters
    return Hierarchy(tree_around(found, cluster_of_leaf), texts.scatter(found.of_row, -1))


EDITED = "edited by hand"
"""The entry `groups` of the recipe of a result whose groups are no longer the ones that were found."""


class Theme(NamedTuple):
    """A group of the coarse level: its number there (0 is the largest), its name, and the labels of its clusters."""

    label: int
    name: str
    clusters: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClusteredTexts:
    """Texts, their groups, and how good the grouping is: the data of a :class:`TextClustering`.

    The attributes are described there.
    """

    corpus: Corpus
    totals: Totals
    distinct_codes: NDArray[np.intp]
    distinct_similarity: NDArray[np.float32]
    centers: NDArray[np.float32]
    rule: LinearRule
    clusters: tuple[Cluster, ...]
    next_label: int
    cohesion: CohesionReport | None
    k_estimate: KEstimate | None
    algorithm: str
    source: EmbeddingSource
    hierarchy: Hierarchy | None = None
    recipe: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    languages: dict[str, float] = field(default_factory=dict)
    encoder: Backend | None = None
    cache: EmbeddingCache | bool = True
    known_embeddings: NDArray[Any] | None = None
    frame: Any = None
    details: Details | None = None
    tally: Tally | None = None
    reference: Reference | None = None
    history: tuple[Update, ...] = ()
    themes: tuple[Theme, ...] = ()

    def __repr__(self) -> str:
        score = f", Cohesion Ratio {self.cohesion.ratio:.2f}" if self.cohesion else ""
        clusters = "group" if self.n_clusters == 1 else "groups"
        return f"{self.totals.rows:,} texts in {self.n_clusters} {clusters}{score}"

    def __len__(self) -> int:
        return len(self.corpus.rows)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    @property
    def language_doubt(self) -> str:
        """Why the groups say little: most texts are in languages that the model does not read. Empty otherwise."""
        return doubt_about_languages(self.languages, self.source.model)

    @property
    def reading(self) -> str:
        """What was read, in a sentence: the file, the column, the number of rows and their languages."""
        where, updates = self.recipe.get("read", ""), len(self.history)
        if where and updates:
            where += f", and {updates} {'update' if updates == 1 else 'updates'}"
        return reading_in_words(where, self.totals.rows, self.languages)

    @property
    def is_estimated(self) -> bool:
        """Whether the number of clusters is the estimated one."""
        return self.k_estimate is not None and self.k_estimate.k == self.n_clusters

    @property
    def labels(self) -> NDArray[np.intp]:
        """The cluster of each row; -1 for a blank text or one that the model could not represent."""
        return self.corpus.spread(self.labels_of(self.distinct_codes), -1)

    @property
    def similarity(self) -> NDArray[np.float32]:
        """Cosine of each row with the center of its cluster; NaN if it has no cluster."""
        return self.corpus.spread(self.distinct_similarity, np.nan)

    @property
    def names(self) -> list[str | None]:
        """The name of the cluster of each row; None if it has no cluster."""
        names = [*(cluster.name for cluster in self.clusters), None]
        return [names[code] for code in self.corpus.spread(self.distinct_codes, -1)]

    def labels_of(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the labels of clusters, given their positions in `clusters`; -1 stays -1.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3).merge(0, 1)
        >>> result.labels_of(np.array([0, 1, -1]))
        array([ 0,  2, -1])
        """
        return np.append([cluster.label for cluster in self.clusters], -1)[codes]

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
        return embed_corpus(self.corpus, self.load_encoder(), cache=self.cache)

    def embed_phrases(self) -> EmbedPhrases | None:
        """Return the function that embeds phrases as the texts were embedded; None if the embeddings were given.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.cluster_texts(["red wine", "red wines"], model="wordllama").embed_phrases()(["red"]).shape
        (1, 256)
        """
        if self.encoder is None and self.source.model is None:
            return None
        return lambda phrases: embed_texts(phrases, self.load_encoder(), cache=self.cache)

    def to_frame(self) -> Any:
        """Return a data frame with one row per text.

        A data frame that was given comes back with the columns cluster, cluster_name and similarity, and
        cluster_coarse and cluster_coarse_name if there is a level coarser than the clusters. For other
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
        if self.themes:
            coarse = self.coarse
            codes = self.corpus.spread(self.distinct_codes, -1)
            columns["cluster_coarse"] = np.array([-1 if label is None else label for label, _ in coarse] + [-1])[codes]
            columns["cluster_coarse_name"] = [coarse[code][1] if code >= 0 else None for code in codes]
        if is_data_frame(self.frame):
            return with_columns(self.frame, columns)[0]
        frame = new_frame({"text": self.corpus.rows, **columns}, like=self.frame)
        if library_of(self.frame) == "pandas":
            frame.index = self.frame.index
        return frame

    def cluster_table(self) -> Any:
        """Return a data frame with one row per group.

        Its columns are cluster, name, size, share (of all rows in a group), cohesion, keywords, typical_texts, and
        typical_counts, the number of rows with each typical text.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> result.cluster_table()["typical_texts"].tolist()
        [['a b'], ['x y']]
        """
        columns: dict[str, list[Any]] = {
            "cluster": [cluster.label for cluster in self.clusters],
            "name": [cluster.name for cluster in self.clusters],
            "size": [cluster.size for cluster in self.clusters],
            "share": [cluster.size / self.totals.grouped for cluster in self.clusters],
            "cohesion": self.ratios,
            "keywords": [list(cluster.keywords) for cluster in self.clusters],
            "typical_texts": [self.typical_texts(cluster) for cluster in self.clusters],
            "typical_counts": [self.typical_counts(cluster) for cluster in self.clusters],
        }
        return new_frame(columns, like=self.frame)

    @property
    def ratios(self) -> list[float | None]:
        """The cohesion of each cluster, in the order of `clusters`; None if it is not defined."""
        return [part.ratio for part in self.cohesion.per_cluster] if self.cohesion else [None] * self.n_clusters

    @property
    def coarse(self) -> list[tuple[int | None, str | None]]:
        """The number and the name of each cluster's theme, in the order of `clusters`; None for a later cluster."""
        of = {cluster: theme for theme in self.themes for cluster in theme.clusters}
        found: list[tuple[int | None, str | None]] = []
        for cluster in self.clusters:
            theme = of.get(cluster.label)
            if theme is None:
                found.append((None, None))
            else:  # a theme of one cluster has the name of the cluster, which may have been changed
                found.append((theme.label, theme.name if len(theme.clusters) > 1 else cluster.name))
        return found

    def typical_texts(self, cluster: Cluster) -> list[str]:
        """Return the texts that are typical of a group, the most typical first.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.typical_texts(result.clusters[1])
        ['x y']
        """
        return [self.corpus.rows[row] for row in cluster.representatives]

    def typical_counts(self, cluster: Cluster) -> list[int | None]:
        """Return how many rows have each of the typical texts of a group; None if there is only a sample of the texts.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2)
        >>> [result.typical_counts(cluster) for cluster in result.clusters]
        [[2], [1]]
        """
        if len(self.corpus.distinct) < self.totals.distinct:
            return [None] * len(cluster.representatives)
        counts: list[int | None] = self.corpus.counts[self.corpus.codes[list(cluster.representatives)]].tolist()
        return counts

    def over_time(self) -> Any:
        """Return a data frame with one row per group and period.

        Its columns are cluster, cluster_name, period (its first day), texts, total (of all groups), usual_total (of a
        usual period), volume ("more" or "fewer" if the total is significantly different from that, or "usual"), share,
        and low and high, the 95 % interval of the share. A period without texts has no share. It needs the argument
        `time` of :func:`cluster_texts`.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(
        ...     ["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2,
        ...     time=["2025-01-30", "2025-02-01", "2025-02-03"], every="month",
        ... )
        >>> result.over_time()[["cluster", "texts", "share"]].values.tolist()
        [[0.0, 1.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [1.0, 1.0, 0.5]]
        """
        return self._frame_of_clusters(over_time(self._tally_over_time()))

    def trends(self) -> Any:
        """Return a data frame with one row per group: whether its share grows, shrinks, bursts or varies.

        Its columns are cluster, cluster_name, kind ("growing", "shrinking", "burst", "uneven" or "steady"), before and
        after (shares), texts_before, total_before, texts_after and total_after (the counts behind them), change (the
        difference of the shares), start and end (days), and p.

        The shares are from the first and the last third of the texts, in whole periods, and the days are the first
        days of the first and the last period. For a burst, they are from outside and inside it, and the days are its
        own. An uneven group neither rises nor falls steadily, but its share differs between periods; it is lowest in
        the period that begins on the day start, and highest in the one that begins on the day end. The p-values are
        adjusted for all tests, of shares and of numbers of texts, so that at most 5 % of the reported changes are
        expected to be chance.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(
        ...     ["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2,
        ...     time=["2025-01-30", "2025-02-01", "2025-02-03"], every="month",
        ... )
        >>> result.trends()["kind"].tolist()
        ['steady', 'steady']
        """
        trends = self._tally_over_time().trends
        columns = ("kind", "before", "after", "texts_before", "total_before", "texts_after", "total_after")
        return self._frame_of_clusters({
            "group": np.arange(self.n_clusters), **{name: getattr(trends, name) for name in columns},
            "change": trends.after - trends.before, "start": trends.start, "end": trends.end, "p": trends.p,
        })  # fmt: skip

    def by(self, segment: str) -> Any:
        """Return a data frame with one row per group and value of a segment, one of `by` in :func:`cluster_texts`.

        Its columns are cluster, cluster_name, value, texts, total (all texts with this value), share (of these),
        overall (the share of the group among all texts), lift (share over overall) with its 95 % interval lift_low to
        lift_high, p (against all other texts, adjusted for the number of rows), and represented ("over", "under" or "as
        expected").

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(
        ...     ["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2,
        ...     by={"channel": ["web", "web", "phone"]},
        ... )
        >>> result.by("channel")[["cluster", "value", "texts"]].values.tolist()
        [[0, 'web', 1], [0, 'phone', 1], [1, 'web', 1], [1, 'phone', 0]]
        """
        if self.tally is None:
            raise UserError("The groups of this result were not counted by segments; name columns with by= (--by).")
        return self._frame_of_clusters(by_segment(self.tally, segment))

    def _tally_over_time(self) -> Tally:
        """Return the counts of the groups in the periods, or raise a UserError if there are none."""
        if self.tally is None or self.tally.every is None:
            raise UserError("The groups of this result were not counted over time; name a column with time= (--time).")
        return self.tally

    def _frame_of_clusters(self, columns: dict[str, Any]) -> Any:
        clusters = columns.pop("group")
        named = {
            "cluster": np.array([cluster.label for cluster in self.clusters], np.intp)[clusters],
            "cluster_name": [self.clusters[cluster].name for cluster in clusters],
        }
        return new_frame({**named, **columns}, like=self.frame)

    @property
    def changes(self) -> Any:
        """A data frame of what the last update changed, one row per group; the columns are those of `Comparison`.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> len(result.changes)
        0
        """
        return new_frame(columns_of(self.history[-1].changes if self.history else ()), like=self.frame)

    def load_encoder(self) -> Backend:
        """Return the model that made the embeddings; it is loaded if it is not in memory."""
        return self.source.load() if self.encoder is None else self.encoder


def clusters_of(result: ClusteredTexts) -> ClusterColumns:
    """Return how the groups are described in tables."""
    return ClusterColumns(
        labels=[cluster.label for cluster in result.clusters],
        names=[cluster.name for cluster in result.clusters],
        keywords=[", ".join(cluster.keywords) for cluster in result.clusters],
        typical_texts=["".join(_with_counts(result, cluster)[:1]) for cluster in result.clusters],
        coarse=result.coarse if result.themes else [],
    )


def _with_counts(result: ClusteredTexts, cluster: Cluster) -> list[str]:
    return [
        with_count(text, times)
        for text, times in zip(result.typical_texts(cluster), result.typical_counts(cluster), strict=True)
    ]


def with_count(text: str, times: int | None) -> str:
    """Put the number of its rows before a text that repeats: '5,000 × Thank you'."""
    return f"{times:,} × {text}" if times and times > 1 else text
