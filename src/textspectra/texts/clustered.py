"""What a run produced: texts, their groups, and views of them by row and by group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clustering.lloyd import LinearRule
from ..embedding import Backend, EmbeddingCache, embed_texts
from ..errors import UserError
from ..granularity.estimate import KEstimate
from ..io import Groups, is_data_frame, with_columns
from ..metrics.cohesion import CohesionReport
from ..topics.describe import Topic
from ..topics.names import EmbedPhrases
from .corpus import Corpus, Totals
from .details import Details
from .embedded import EmbeddedTexts, EmbeddingSource, embed_corpus
from .frames import library_of, new_frame
from .hierarchy import Hierarchy
from .history import Update, columns_of
from .reference import Reference
from .tally import Tally
from .trends import by_segment, find_changes, over_time

EDITED = "edited by hand"
"""The entry `groups` of the recipe of a result whose groups are no longer the ones that were found."""


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
    topics: tuple[Topic, ...]
    next_label: int
    cohesion: CohesionReport | None
    k_estimate: KEstimate | None
    algorithm: str
    source: EmbeddingSource
    hierarchy: Hierarchy | None = None
    recipe: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    encoder: Backend | None = None
    cache: EmbeddingCache | bool = True
    known_embeddings: NDArray[Any] | None = None
    frame: Any = None
    details: Details | None = None
    tally: Tally | None = None
    reference: Reference | None = None
    history: tuple[Update, ...] = ()

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
        return self.corpus.spread(self.labels_of(self.distinct_codes), -1)

    @property
    def similarity(self) -> NDArray[np.float32]:
        """Cosine of each row with the centre of its cluster; NaN if it has no cluster."""
        return self.corpus.spread(self.distinct_similarity, np.nan)

    @property
    def names(self) -> list[str | None]:
        """The name of the cluster of each row; None if it has no cluster."""
        names = [*(topic.name for topic in self.topics), None]
        return [names[code] for code in self.corpus.spread(self.distinct_codes, -1)]

    def labels_of(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the labels of clusters, given their positions in `topics`; -1 stays -1.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3).merge(0, 1)
        >>> result.labels_of(np.array([0, 1, -1]))
        array([ 0,  2, -1])
        """
        return np.append([topic.label for topic in self.topics], -1)[codes]

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
        columns: dict[str, list[Any]] = {
            "cluster": [topic.label for topic in self.topics],
            "name": [topic.name for topic in self.topics],
            "size": [topic.size for topic in self.topics],
            "share": [topic.size / self.totals.grouped for topic in self.topics],
            "cohesion": self.ratios,
            "keywords": [list(topic.keywords) for topic in self.topics],
            "typical_texts": [self.typical_texts(topic) for topic in self.topics],
        }
        return new_frame(columns, like=self.frame)

    @property
    def ratios(self) -> list[float | None]:
        """The cohesion of each cluster, in the order of `topics`; None if it is not defined."""
        return [part.ratio for part in self.cohesion.per_cluster] if self.cohesion else [None] * self.n_clusters

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

    def over_time(self) -> Any:
        """Return a data frame with one row per group and period.

        Its columns are cluster, cluster_name, period (its first day), texts, total (of all groups), share, and low and
        high, the 95 % interval of the share. A period without texts has no share. It needs the argument `time` of
        :func:`cluster_texts`.

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
        return self._frame_of_groups(over_time(self._tally_over_time()))

    def trends(self) -> Any:
        """Return a data frame with one row per group: whether its share grows, shrinks or bursts.

        Its columns are cluster, cluster_name, kind ("growing", "shrinking", "burst" or "steady"), before and after (the
        shares in the first and the last third of the periods; of a burst, outside and inside it), change (their
        difference), start and end (the first days of the first and the last period; of a burst, of its own), and p,
        adjusted for the number of groups so that at most 5 % of the changes are expected to be chance.

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
        found = find_changes(self._tally_over_time())
        return self._frame_of_groups({
            "group": np.arange(self.n_clusters), "kind": found.kind, "before": found.before, "after": found.after,
            "change": found.after - found.before, "start": found.start, "end": found.end, "p": found.p,
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
        return self._frame_of_groups(by_segment(self.tally, segment))

    def _tally_over_time(self) -> Tally:
        """Return the counts of the groups in the periods, or raise a UserError if there are none."""
        if self.tally is None or self.tally.every is None:
            raise UserError("The groups of this result were not counted over time; name a column with time= (--time).")
        return self.tally

    def _frame_of_groups(self, columns: dict[str, Any]) -> Any:
        groups = columns.pop("group")
        named = {
            "cluster": np.array([topic.label for topic in self.topics], np.intp)[groups],
            "cluster_name": [self.topics[group].name for group in groups],
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


def groups_of(result: ClusteredTexts) -> Groups:
    """Return how the groups are described in tables."""
    return Groups(
        labels=[topic.label for topic in result.topics],
        names=[topic.name for topic in result.topics],
        keywords=[", ".join(topic.keywords) for topic in result.topics],
        typical_texts=["".join(result.typical_texts(topic)[:1]) for topic in result.topics],
    )
