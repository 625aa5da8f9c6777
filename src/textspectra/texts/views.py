"""The tables of a result: texts, groups, keywords, near-duplicates, the tree, time and segments."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..core.kmeans import same_clusters
from ..core.repeats import near_duplicates
from ..errors import UserError
from ..tables.frames import is_data_frame, library_of, new_frame, with_columns
from ..words.keywords import TermWeights, rank_terms, weigh_terms
from ..words.names import choose_name
from .clustered import ClusteredTexts
from .corpus import DataFrame
from .grouping import RegroupedTexts
from .history import columns_of
from .tally import CountColumns, Tally, by_segment, over_time

COMPARED_TEXTS = 50_000  # distinct texts; with more, only texts of the same group are compared for near-duplicates
ROOT_NAME = "all texts"
NODE_LEVELS = ("cluster", "merge", "suggested", "coarse", "root")
"""The levels of a hierarchy from the finest to the coarsest; of two nodes with the same texts, the coarser is above."""


def term_weights(result: ClusteredTexts) -> TermWeights:
    """Return the weights of the terms of each cluster, in the order of `clusters`."""
    return weigh_terms(result.corpus.read, _members(result), result.corpus.counts, stop_words=result.stop_words)


def _members(result: ClusteredTexts) -> list[NDArray[np.intp]]:
    """Return the distinct texts of each cluster."""
    return [np.flatnonzero(result.distinct_codes == code) for code in range(result.n_clusters)]


def keyword_columns(result: ClusteredTexts) -> dict[str, list[int] | list[str] | list[float]]:
    """Return the columns cluster, cluster_name, keyword and weight: one row per keyword, the best first."""
    pairs = zip(result.clusters, term_weights(result).forms, strict=True)
    rows = [(cluster, word, weights.get(word, 0.0)) for cluster, weights in pairs for word in cluster.keywords]
    return {
        "cluster": [cluster.label for cluster, _, _ in rows],
        "cluster_name": [cluster.name for cluster, _, _ in rows],
        "keyword": [word for _, word, _ in rows],
        "weight": [weight for _, _, weight in rows],
    }


class Node(NamedTuple):
    """A node of the hierarchy: its level, its name, and the positions of its clusters in `clusters`."""

    level: str
    name: str
    clusters: tuple[int, ...]


def hierarchy_columns(result: RegroupedTexts) -> dict[str, list[int] | list[int | None] | list[str]]:
    """Return the columns node, parent, size, name and level: one row per node, every parent before its children."""
    nodes = sorted(_nodes(result), key=lambda node: (len(node.clusters), NODE_LEVELS.index(node.level)))[::-1]
    others = iter(range(result.next_label, result.next_label + len(nodes)))
    numbers = [result.clusters[node.clusters[0]].label if node.level == "cluster" else next(others) for node in nodes]
    lowest: list[int | None] = [None] * result.n_clusters  # the node of each cluster that is the lowest so far
    parents: list[int | None] = []
    for number, node in zip(numbers, nodes, strict=True):
        parents.append(lowest[node.clusters[0]])
        for cluster in node.clusters:
            lowest[cluster] = number
    return {
        "node": numbers,
        "parent": parents,
        "size": [sum(result.clusters[cluster].size for cluster in node.clusters) for node in nodes],
        "name": [node.name for node in nodes],
        "level": [node.level for node in nodes],
    }


def _nodes(result: RegroupedTexts) -> list[Node]:
    everything = tuple(range(result.n_clusters))
    clusters = [Node("cluster", cluster.name, (code,)) for code, cluster in enumerate(result.clusters)]
    levels = [*_themes(result), *_suggested(result), Node("root", ROOT_NAME, everything)]
    merges = _merges(result)
    known = {node.clusters for node in levels}
    # After an update, the themes are as they were, and the tree around the groups may merge across them.
    is_nested = all(len(group) == 1 or group in merges for group in known)
    taken = [node.name for node in chain(clusters, levels)]
    between = [group for group in merges if group not in known] if is_nested else []
    return [*clusters, *_named(result, merges, between, taken), *levels]


def _themes(result: RegroupedTexts) -> list[Node]:
    nodes = []
    for theme in result.themes:
        group = tuple(sorted(result.position(label) for label in theme.clusters))
        nodes.append(Node("coarse", result.clusters[group[0]].name if len(group) == 1 else theme.name, group))
    return nodes


def _suggested(result: RegroupedTexts) -> list[Node]:
    """Return the groups of the suggested level, if the clusters are finer."""
    estimate, hierarchy = result.k_estimate, result.hierarchy
    if hierarchy is None or estimate is None or not len(result.themes) < estimate.k < result.n_clusters:
        return []
    level = result.describe_grouping(hierarchy.cut(estimate.k))
    pairs = np.unique(np.column_stack([level.codes, result.distinct_codes])[level.codes >= 0], axis=0)
    groups = [tuple(pairs[pairs[:, 0] == code, 1].tolist()) for code in range(len(level.clusters))]
    return [Node("suggested", cluster.name, group) for cluster, group in zip(level.clusters, groups, strict=True)]


def _merges(result: RegroupedTexts) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the clusters below each merge of the tree, the lowest first, and the two nodes that it joins."""
    hierarchy = result.with_hierarchy().hierarchy
    assert hierarchy is not None  # noqa: S101 - for the type checker
    cut, joined = hierarchy.tree.top(result.n_clusters)
    place_of = same_clusters(result.distinct_codes, np.append(cut, -1)[hierarchy.leaves])
    place = np.append([place_of[code] for code in range(result.n_clusters)], np.arange(len(joined)) + result.n_clusters)
    groups: list[tuple[int, ...]] = [(code,) for code in range(result.n_clusters)]
    merges = {}
    for left, right in place[joined].tolist():
        groups.append(tuple(sorted(groups[left] + groups[right])))
        merges[groups[-1]] = (left, right)
    return merges


def _named(
    result: ClusteredTexts, merges: dict[tuple[int, ...], tuple[int, int]], wanted: list[tuple[int, ...]],
    taken: list[str],
) -> list[Node]:  # fmt: skip
    """Name merges by their keywords, in comparison with the groups that exist at the same time."""
    if not wanted:
        return []
    keywords, _ = rank_terms(
        result.corpus.read, _members(result), result.corpus.counts, list(merges.values()), stop_words=result.stop_words
    )
    words_of = dict(zip(merges, keywords[result.n_clusters :], strict=True))
    nodes = []
    for group in wanted:
        largest = max((result.clusters[code] for code in group), key=lambda cluster: cluster.size)
        nodes.append(Node("merge", choose_name([], words_of[group], largest.name, taken), group))
        taken = [*taken, nodes[-1].name]
    return nodes


def duplicate_columns(result: ClusteredTexts, threshold: float) -> dict[str, object]:
    """Return the columns of a table of near-duplicates, one row for each distinct text that repeats an earlier one."""
    is_number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not is_number or not 0 < threshold <= 1:
        raise UserError(f"threshold must be a number above 0 and at most 1, but it is {threshold!r}.")
    texts, first_rows = result.embedded(), result.corpus.first_rows
    groups = result.distinct_codes[texts.counting] if len(texts.counting) > COMPARED_TEXTS else None
    repeats = near_duplicates(texts.vectors, float(threshold), groups)
    repeating, repeated = texts.counting[repeats.rows], texts.counting[repeats.of]
    return {
        "row": first_rows[repeating],
        "duplicate_of": first_rows[repeated],
        "similarity": repeats.similarity,
        "text": [result.corpus.distinct[place] for place in repeating],
    }


class TabulatedTexts(RegroupedTexts):
    """The tables of a result: its texts, its groups, and what belongs to them."""

    def to_frame(self) -> DataFrame:
        """Return a data frame with one row per text.

        A data frame that was given comes back with the columns cluster, cluster_name and similarity, with
        cluster_mixed if a group has no common theme, and with cluster_coarse and cluster_coarse_name if a level is
        coarser than the clusters. For other texts it also has the column text, and is of the library of the series that
        was given; otherwise of pandas, polars or pyarrow, whichever is installed first.

        Examples
        --------
        >>> import pandas, textspectra as ts
        >>> tickets = pandas.DataFrame({"id": [7, 8, 9], "text": ["a b c", "a b d", "x y z"]})
        >>> result = ts.cluster_texts(tickets, embeddings=[[1, 0], [0.9, 0.1], [0, 1]], n_clusters=2)
        >>> result.to_frame()[["id", "cluster"]].values.tolist()
        [[7, 0], [8, 0], [9, 1]]
        """
        columns: dict[str, Any] = {"cluster": self.labels, "cluster_name": self.names}
        mixed = np.array([*(cluster.is_mixed for cluster in self.clusters), False])
        if mixed.any():
            columns["cluster_mixed"] = mixed[self.codes]
        columns["similarity"] = self.similarity
        if self.themes:
            numbers, names = zip(*self.coarse, (None, None), strict=True)
            columns["cluster_coarse"] = np.array([-1 if number is None else number for number in numbers])[self.codes]
            columns["cluster_coarse_name"] = [names[code] for code in self.codes]
        given: Any = self.frame
        if is_data_frame(given):
            widened: DataFrame = with_columns(given, columns)[0]
            return widened
        return self._frame_of_texts({"text": self.corpus.rows, **columns})

    def map(self) -> DataFrame:
        """Return a data frame with one row per text: x and y, its place on the map of the report.

        Similar texts are close to each other, and the coordinates are between -1 and 1. Texts without a group have
        missing values. The map is computed once, from the embeddings, and is part of the model: a text keeps its place
        after edits and updates.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["where is my parcel", "my parcel is late", "reset my password", ""]
        >>> result = ts.cluster_texts(texts, embeddings=[[1, 0], [0.9, 0.1], [0, 1], [0, 0]], n_clusters=2)
        >>> result.map()["x"].round().tolist()
        [-1.0, -1.0, 1.0, nan]
        """
        x, y = self.map_points().T
        return self._frame_of_texts({"x": x, "y": y})

    def cluster_table(self) -> DataFrame:
        """Return a data frame with one row per group.

        Its columns are theme (if a level is coarser than the clusters), cluster, name, size, share (of all rows in a
        group), cohesion, mixed (whether it has no common theme), keywords, typical_texts, and typical_counts, the
        number of rows with each typical text.
        """
        return self._frame({
            **({"theme": [name for _, name in self.coarse]} if self.themes else {}),
            "cluster": [cluster.label for cluster in self.clusters],
            "name": [cluster.name for cluster in self.clusters],
            "size": [cluster.size for cluster in self.clusters],
            "share": [cluster.size / self.totals.grouped for cluster in self.clusters],
            "cohesion": self.ratios,
            "mixed": [cluster.is_mixed for cluster in self.clusters],
            "keywords": [list(cluster.keywords) for cluster in self.clusters],
            "typical_texts": [self.typical_texts(cluster) for cluster in self.clusters],
            "typical_counts": [self.typical_counts(cluster) for cluster in self.clusters],
        })  # fmt: skip

    def similar_clusters(self) -> DataFrame:
        """Return a data frame of pairs of groups that look alike and may be one, the most similar first.

        Its columns are cluster and cluster_name (the larger group), other and other_name, similarity (the cosine of
        the two centers, seen from the mean of all texts) and reason: "names" if the names have the same words, or one
        has the initials of the other, and "texts" if the texts of both are so close that they mix. :meth:`merge` makes
        one group of a pair. On labeled sets, two of three pairs have the same class.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["cancel my order", "order cancelled", "my card", "card lost"]
        >>> result = ts.cluster_texts(texts, embeddings=[[1, 0], [1, 0.1], [0, 1], [0.1, 1]], n_clusters=2)
        >>> alike = result.rename({0: "cash on delivery", 1: "COD"}).similar_clusters()
        >>> alike[["cluster_name", "other_name", "reason"]].values.tolist()
        [['cash on delivery', 'COD', 'names']]
        """
        pairs, clusters = self.similar_pairs, self.clusters
        return self._frame({
            "cluster": [clusters[pair.cluster].label for pair in pairs],
            "cluster_name": [clusters[pair.cluster].name for pair in pairs],
            "other": [clusters[pair.other].label for pair in pairs],
            "other_name": [clusters[pair.other].name for pair in pairs],
            "similarity": [pair.similarity for pair in pairs],
            "reason": [pair.reason for pair in pairs],
        })  # fmt: skip

    def duplicates(self, threshold: float = 0.95) -> DataFrame:
        """Return a data frame of the texts that nearly repeat an earlier text.

        Its columns are row, duplicate_of (the row of the most similar earlier text, which is not in the list itself),
        similarity (the cosine of the two) and text. Of identical texts, which are one text for the groups, only the
        first row is listed. Without the listed texts, no two different texts have a cosine of `threshold` or more.

        All texts are compared; if more than 50,000 are different, only with texts of the same group. Time grows with
        the square of their number; 50,000 take 5 s of CPU time. Which cosine means the same depends on the model.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["my parcel is late", "my parcel is late!", "reset my password", "my parcel is late"]
        >>> X = [[1, 0], [0.99, 0.1], [0, 1], [1, 0]]
        >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
        >>> result.duplicates()[["row", "duplicate_of", "text"]].values.tolist()
        [[1, 0, 'my parcel is late!']]
        >>> frame = result.to_frame()
        >>> frame[~frame["text"].isin(result.duplicates()["text"])].drop_duplicates("text")["text"].tolist()
        ['my parcel is late', 'reset my password']
        """
        return self._frame(duplicate_columns(self, threshold))

    def keywords(self) -> DataFrame:
        """Return a data frame with one row per keyword of each group, the best first.

        Its columns are cluster, cluster_name, keyword, and weight, the class-based TF-IDF by which keywords are ranked:
        the share of the group's texts that have the term, times the log ratio of this share to the mean over all
        groups, an empty one included. It is 0 for a keyword that an update has made common or rare.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
        >>> result.keywords()[["cluster", "keyword", "weight"]].round(2).values.tolist()[:3]
        [[0, 'parcel', 1.1], [0, 'parcel late', 0.55], [1, 'password', 1.1]]
        >>> matrix, terms = result.term_matrix()
        >>> matrix.shape, terms[:3]
        ((2, 8), ['forgotten', 'late', 'parcel'])
        """
        return self._frame(keyword_columns(self))

    def term_matrix(self) -> tuple[csr_array, list[str]]:
        """Return the weight of every term that could be a keyword of a group, and the terms of the columns.

        The matrix has a row for each of :attr:`clusters`, and its weights are the ones of :meth:`keywords`. The terms
        are words and two-word phrases; the forms of a word share a column, which has the name of the most frequent one.
        """
        weights = term_weights(self)
        return weights.matrix, weights.terms

    def hierarchy_frame(self) -> DataFrame:
        """Return a data frame of the tree of the groups, with one row per node and every parent before its children.

        Its columns are node, parent (missing for the root), size (the number of rows), name and level: "root",
        "coarse" (the themes), "suggested" if the groups are finer than the suggested ones, "merge" (a step of the merge
        tree between these, named by its keywords) and "cluster" (the groups; `node` is their label). The sizes of the
        children of a node add up to its own. After an update, new clusters have no theme, and merges may be missing.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y", "x z"], embeddings=[[1, 0], [0, 1], [0.1, 1]], n_clusters=2)
        >>> result.hierarchy_frame()[["node", "size", "level"]].values.tolist()
        [[2, 3, 'root'], [1, 1, 'cluster'], [0, 2, 'cluster']]
        """
        return self._frame(hierarchy_columns(self))

    def over_time(self) -> DataFrame:
        """Return a data frame with one row per group and period.

        Its columns are cluster, cluster_name, period (its first day), texts, total (of all groups), usual_total (of a
        usual period), volume ("more" or "fewer" if the total is significantly different from that, or "usual"), share,
        and low and high, the 95% interval of the share. A period without texts has no share. It needs the argument
        `time` of :func:`cluster_texts`.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(
        ...     ["a b", "x y", "a b"], embeddings=[[1, 0], [0, 1], [1, 0]], n_clusters=2,
        ...     time=["2025-01-30", "2025-02-01", "2025-02-03"], every="month", by={"channel": ["web", "web", "phone"]},
        ... )
        >>> result.over_time()[["cluster", "texts", "share"]].values.tolist()
        [[0.0, 1.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [1.0, 1.0, 0.5]]
        >>> result.trends()["kind"].tolist()
        ['steady', 'steady']
        >>> result.by("channel")[["cluster", "value", "texts"]].values.tolist()
        [[0, 'web', 1], [0, 'phone', 1], [1, 'web', 1], [1, 'phone', 0]]
        """
        return self._frame_of_clusters(over_time(self._tally_over_time()))

    def trends(self) -> DataFrame:
        """Return a data frame with one row per group: whether its share grows, shrinks, bursts or varies.

        Its columns are cluster, cluster_name, kind ("growing", "shrinking", "burst", "uneven" or "steady"), before and
        after (shares), texts_before, total_before, texts_after and total_after (the counts behind them), change (the
        difference of the shares), start and end (days), and p.

        The shares are from the first and the last third of the texts, in whole periods, and the days are the first
        days of the first and the last period. For a burst, the shares are from outside and inside it, and the days
        are its own. An uneven group neither rises nor falls steadily, but its share differs between periods: it is
        lowest in the period that begins on the day start, and highest in the one that begins on the day end. The
        p-values are adjusted for all tests, of shares and of numbers of texts, so that at most 5% of the reported
        changes are expected to be chance.
        """
        changes = self._tally_over_time().trends
        columns = ("kind", "before", "after", "texts_before", "total_before", "texts_after", "total_after")
        return self._frame_of_clusters({
            "group": np.arange(self.n_clusters), **{name: getattr(changes, name) for name in columns},
            "change": changes.after - changes.before, "start": changes.start, "end": changes.end, "p": changes.p,
        })  # fmt: skip

    def by(self, segment: str) -> DataFrame:
        """Return a data frame with one row per group and value of a segment, one of `by` in :func:`cluster_texts`.

        Its columns are cluster, cluster_name, value, texts, total (all texts with this value), share (of these),
        overall (the share of the group among all texts), lift (share over overall) with its 95% interval lift_low to
        lift_high, p (against all other texts, adjusted for the number of rows), and represented ("over", "under" or "as
        expected").
        """
        if self.tally is None:
            raise UserError("The groups of this result were not counted by segments; name columns with by= (--by).")
        return self._frame_of_clusters(by_segment(self.tally, segment))

    @property
    def changes(self) -> DataFrame:
        """A data frame of what the last update changed, one row per group, with the columns of `Comparison.changes`."""
        return self._frame(columns_of(self.history[-1].changes if self.history else ()))

    def _tally_over_time(self) -> Tally:
        if self.tally is None or self.tally.every is None:
            raise UserError("The groups of this result were not counted over time; name a column with time= (--time).")
        return self.tally

    def _frame_of_clusters(self, columns: CountColumns) -> DataFrame:
        clusters = columns.pop("group")
        names = [self.clusters[cluster].name for cluster in clusters]
        return self._frame({"cluster": self.labels_of(clusters), "cluster_name": names, **columns})

    def _frame_of_texts(self, columns: Mapping[str, object]) -> DataFrame:
        """Return a frame with a row per text; in pandas it has the index of what was given."""
        frame, given = self._frame(columns), cast("Any", self.frame)
        if library_of(given) == "pandas":
            frame.index = given.index  # type: ignore[union-attr]
        return frame

    def _frame(self, columns: Mapping[str, object]) -> DataFrame:
        frame: DataFrame = new_frame(columns, like=self.frame)
        return frame
