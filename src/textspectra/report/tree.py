"""The part of a merge tree that a report shows, the texts in it, and the metrics at each of its cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.metrics import agreements
from ..core.rows import SumsAndSizes, cluster_sums, sums_and_sizes, take_units
from ..core.spectral import cosine_graph
from ..core.ward import MergeTree
from ..texts.clustered import FINEST
from ..texts.result import TextClustering

MAX_POINTS = 100_000  # distinct texts on the map and in the lists; of more, a random sample is shown
MAX_TEXT_CHARACTERS = 16_000_000  # of all texts together; if there are more, long texts are cut
SILHOUETTE_SAMPLE = 2000  # random texts on which the silhouette is computed
MATRIX_SIDE = 240  # texts in the matrix
Z_LIMIT = 4.0  # standard deviations above the mean at the end of the color scale

Number = TypeVar("Number", np.float64, np.intp)


@dataclass(frozen=True, eq=False)
class Levels:
    """All cuts of a tree from k clusters to one. Each node covers a range of the finest clusters.

    Nodes 0 to k - 1 are the finest clusters, and merge number j joins two nodes into node k + j.
    """

    codes: NDArray[np.intp]  # the finest cluster of each leaf of the tree
    merges: NDArray[np.intp]  # the two nodes that each merge joins
    spans: NDArray[np.intp]  # the first finest cluster of each node, and one past its last

    @property
    def k(self) -> int:
        """Number of finest clusters."""
        return len(self.merges) + 1

    def nodes_at(self, n_clusters: int) -> list[int]:
        """Return the nodes that are the clusters of the cut into `n_clusters`, in the order of their ranges."""
        merged = self.k - n_clusters
        gone = set(self.merges[:merged].ravel().tolist())
        alive = [node for node in range(self.k + merged) if node not in gone]
        return sorted(alive, key=self.spans[:, 0].tolist().__getitem__)

    @cached_property
    def cuts(self) -> list[list[int]]:
        """The nodes of the cuts into 1, 2, ..., k clusters."""
        return [self.nodes_at(n_clusters) for n_clusters in range(1, self.k + 1)]

    def ancestors(self) -> list[list[int]]:
        """Return the nodes that contain each finest cluster, from itself to the root."""
        parent = {int(child): self.k + step for step, pair in enumerate(self.merges) for child in pair}
        paths = [[node] for node in range(self.k)]
        for path in paths:
            while path[-1] in parent:
                path.append(parent[path[-1]])
        return paths

    def total(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum over the finest clusters of each node."""
        return np.array([values[start:end].sum(axis=0) for start, end in self.spans])


def report_levels(result: TextClustering) -> tuple[Levels, NDArray[np.intp]]:
    """Return the levels in the report of a result, and the finest cluster of each distinct text, -1 for none."""
    hierarchy = result.with_hierarchy().hierarchy
    assert hierarchy is not None  # noqa: S101 - for the type checker
    suggested = [suggestion.k for suggestion in result.k_estimate.suggestions] if result.k_estimate else []
    levels = top_levels(hierarchy.tree, max(FINEST, result.n_clusters, *suggested))
    return levels, np.append(levels.codes, -1)[hierarchy.leaves]


def top_levels(tree: MergeTree, k: int) -> Levels:
    """Take the top of a tree: all cuts into `k` clusters or fewer."""
    n = tree.n_leaves
    k = min(k, n)
    cut = tree.cut(k)
    children = tree.linkage[:, :2].astype(int).tolist()
    any_leaf = list(range(n))
    for left, _ in children:
        any_leaf.append(any_leaf[left])
    first_top = 2 * n - k
    merges = [
        [k + child - first_top if child >= first_top else int(cut[any_leaf[child]]) for child in pair]
        for pair in children[n - k :]
    ]
    members = [[cluster] for cluster in range(k)]
    for left, right in merges:
        members.append(members[left] + members[right])
    number = np.argsort(members[-1])  # the finest clusters are numbered in the order of the tree's leaves
    starts = np.array([*range(k), *(number[clusters[0]] for clusters in members[k:])], np.intp)
    spans = np.column_stack([starts, starts + [len(clusters) for clusters in members]])
    shifted = np.append(number, np.arange(k, 2 * k - 1))
    return Levels(number[cut], shifted[np.array(merges, np.intp).reshape(-1, 2)], spans)


@dataclass(frozen=True, eq=False)
class ReportTree:
    """A result, the levels of its tree, and the distinct texts that the report shows.

    The texts are sorted so that every node covers a range of them.
    """

    result: TextClustering
    X: NDArray[np.floating]  # the embeddings of the distinct texts
    levels: Levels
    finest: NDArray[np.intp]  # the finest cluster of each distinct text, -1 for none
    order: NDArray[np.intp]  # the distinct text at each position
    ranges: NDArray[np.intp]  # the first position of each node, and one past its last

    def texts_of(self, node: int) -> NDArray[np.intp]:
        """Return the distinct texts of a node that are shown."""
        return self.order[slice(*self.ranges[node])]

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """The position of each distinct text, -1 if it is not shown."""
        positions = np.full(len(self.finest), -1)
        positions[self.order] = np.arange(len(self.order))
        return positions

    def nodes_of(self, codes: NDArray[np.intp]) -> list[int]:
        """Return the nodes that are the clusters of a cut, given for the distinct texts."""
        k = int(codes.max()) + 1
        node_from = {int(self.levels.spans[node, 0]): node for node in self.levels.nodes_at(k)}
        first = np.full(k, self.levels.k)
        grouped = self.finest >= 0
        np.minimum.at(first, codes[grouped], self.finest[grouped])
        return [node_from[start] for start in first.tolist()]

    @cached_property
    def base(self) -> list[int]:
        """The nodes that are the clusters of the result."""
        return self.nodes_of(self.result.distinct_codes)

    @cached_property
    def sums(self) -> tuple[SumsAndSizes, SumsAndSizes]:
        """The sums of the unit vectors of the finest clusters and their sizes: over rows, and over distinct texts."""
        kept = np.flatnonzero(self.finest >= 0)
        X, codes = (self.X, self.finest) if len(kept) == len(self.X) else (self.X[kept], self.finest[kept])
        counts = self.result.corpus.counts[kept].astype(float)
        rows = np.bincount(codes, counts, self.levels.k).astype(np.intp)
        weighted = SumsAndSizes(cluster_sums(X, codes, self.levels.k, weights=counts), rows)
        return weighted, sums_and_sizes(X, codes, self.levels.k)


def report_tree(result: TextClustering) -> ReportTree:
    """Choose and sort the texts that the report of a result shows."""
    levels, finest = report_levels(result)
    kept = np.flatnonzero(finest >= 0)
    if len(kept) > MAX_POINTS:
        must = np.unique(result.corpus.codes[[row for cluster in result.clusters for row in cluster.representatives]])
        others = np.setdiff1d(kept, must)
        drawn = np.random.default_rng(0).choice(others, MAX_POINTS - len(must), replace=False)
        kept = np.sort(np.append(must, drawn))
    order = kept[np.argsort(finest[kept], kind="stable")]
    return ReportTree(result, result.embedded().X, levels, finest, order, np.searchsorted(finest[order], levels.spans))


class ExportedRows(NamedTuple):
    """The rows of the data that the page exports."""

    numbers: NDArray[np.intp]  # their row numbers in the data
    positions: NDArray[np.intp]  # the position of the text of each row, first in the shown texts, then in `others`
    others: list[str]  # each distinct text without a group: blank, or one that the model could not represent


def exported_rows(tree: ReportTree) -> ExportedRows:
    """Find the rows whose text is shown, and those without a group."""
    corpus = tree.result.corpus
    positions = corpus.spread(tree.positions, -1)
    others: dict[str, int] = {}
    for row in np.flatnonzero(~corpus.spread(tree.finest >= 0, False)).tolist():
        positions[row] = len(tree.order) + others.setdefault(corpus.rows[row], len(others))
    numbers = np.flatnonzero(positions >= 0)
    return ExportedRows(numbers, positions[numbers], list(others))


def cut_texts(texts: Sequence[str], most: int) -> tuple[list[str], int | None]:
    """Cut the longest texts so that all of them have at most `most` characters; None if none had to be cut."""
    lengths = np.array([len(text) for text in texts], np.intp)
    limit = longest_text(lengths, most)
    if lengths.max(initial=0) <= limit:
        return list(texts), None
    return [text if len(text) <= limit else text[:limit] + "…" for text in texts], limit


def longest_text(lengths: NDArray[np.intp], most: int) -> int:
    """Return the number of characters to which long texts must be cut, so that all have at most `most` together."""
    lengths = np.sort(lengths)
    shorter = np.cumsum(np.append(0, lengths[:-1]))
    # total[i] is the sum of the lengths if all texts are cut to the length of the i-th shortest.
    total = shorter + lengths * np.arange(len(lengths), 0, -1)
    fits = int(np.searchsorted(total, most, side="right"))
    if fits == len(lengths):
        return int(lengths[-1]) if len(lengths) else 0
    return int((most - shorter[fits]) // (len(lengths) - fits))


def silhouettes(
    X: NDArray[np.floating], codes: NDArray[np.intp], spans: NDArray[np.intp], cuts: Sequence[Sequence[int]]
) -> list[float]:
    """Return the mean silhouette of a sample for each cut; NaN if it is not defined.

    A cut is a list of nodes, and `spans` has the first code of each node, and one past its last. Rows with the code -1
    do not count. Distances between unit vectors are Euclidean, as in :func:`textspectra.evaluate`.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) > SILHOUETTE_SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SILHOUETTE_SAMPLE, replace=False))
    units = take_units(X, rows)
    squares = 2 - 2 * (units @ units.T)
    np.fill_diagonal(squares, 0)
    members = (codes[rows] >= spans[:, :1]) & (codes[rows] < spans[:, 1:])
    sizes = members.sum(axis=1)
    distances = members.astype(np.float32) @ np.sqrt(np.maximum(squares, 0))
    # The mean distances of each row to the other rows of its node, and to the rows of other nodes.
    inside = distances / np.maximum(sizes - 1, 1)[:, None]
    outside = np.where(members, np.inf, distances / np.maximum(sizes, 1)[:, None])

    def mean(cut: Sequence[int]) -> float:
        nodes = np.array([node for node in cut if sizes[node]])
        if not 2 <= len(nodes) < len(rows):
            return float("nan")
        node_of = nodes[members[nodes].argmax(axis=0)]
        within, nearest = inside[node_of, np.arange(len(rows))], outside[nodes].min(axis=0)
        score = (nearest - within) / np.maximum(np.maximum(within, nearest), np.finfo(np.float32).tiny)
        return float(np.where(sizes[node_of] > 1, score, 0).mean())

    return [mean(cut) for cut in cuts]


def silhouette(X: NDArray[np.floating], labels: NDArray[np.intp]) -> float | None:
    """Return the mean silhouette of one clustering, as :func:`silhouettes` does; None if it is not defined."""
    clusters = np.arange(labels.max() + 1)
    (value,) = silhouettes(X, labels, clusters[:, None] + [0, 1], [clusters.tolist()])
    return None if np.isnan(value) else value


def agreement_curves(levels: Levels, finest: NDArray[np.intp], truth: NDArray[np.intp]) -> dict[str, list[float]]:
    """Return ARI, homogeneity, completeness and Fowlkes-Mallows index of the cuts into 1, 2, ... clusters.

    `finest` and `truth` are the finest cluster and the class of each row of the data.
    """
    classes, codes = np.unique(truth, return_inverse=True)
    table = np.zeros((levels.k, len(classes)))
    np.add.at(table, (finest, codes), 1)
    totals = levels.total(table)
    cuts = [agreements(totals[cut].T) for cut in levels.cuts]
    names = ("ari", "homogeneity", "completeness", "fowlkes_mallows")
    return {name: [cut[name] for cut in cuts] for name in names}


class SimilarityMatrix(NamedTuple):
    """Cosines of sampled texts, and the same z-scored and rectified, as shades from 0 to 255."""

    positions: NDArray[np.intp]  # of the texts, ascending, so that the groups of every cut lie along the diagonal
    low: float  # the cosine at shade 0 of `raw`
    high: float  # the cosine at shade 255
    raw: NDArray[np.uint8]
    rectified: NDArray[np.uint8]  # shade 255 is Z_LIMIT


def similarity_matrix(X: NDArray[np.floating], order: NDArray[np.intp]) -> SimilarityMatrix:
    """Compare a sample of the texts in this order."""
    n = len(order)
    positions = np.arange(n)
    if n > MATRIX_SIDE:
        positions = np.sort(np.random.default_rng(0).choice(n, MATRIX_SIDE, replace=False))
    units = take_units(X, order[positions])
    cosines = units @ units.T
    # The diagonal is 1. The scale leaves it out, to show more of the differences between texts.
    different = cosines[~np.eye(len(cosines), dtype=bool)]
    low, high = np.quantile(different, [0.01, 0.999]).tolist() if len(different) else (0.0, 1.0)
    shades = ((cosines - low) / max(high - low, 1e-6), cosine_graph(units, zscore=True) / Z_LIMIT)
    raw, rectified = (np.clip(shares * 255, 0, 255).round().astype(np.uint8) for shares in shades)
    return SimilarityMatrix(positions, low, high, raw, rectified)
