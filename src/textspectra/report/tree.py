"""The part of a merge tree that a report shows, the texts in it, and the metrics at each of its cuts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core import Array, Ints
from ..core.metrics import SILHOUETTE_SAMPLE, agreements, silhouettes
from ..core.rows import SumsAndSizes, cluster_sums, sums_and_sizes, take_units
from ..core.spectral import cosine_graph
from ..core.validation import check_labels
from ..core.ward import MergeTree
from ..texts.clustered import FINEST
from ..texts.result import TextClustering
from .page import Section, none_if_nan, pack_array, pack_json

MAX_POINTS = 100_000  # distinct texts on the map and in the lists; of more, a random sample is shown
MAX_TEXT_CHARACTERS = 16_000_000  # of all texts together; if there are more, long texts are cut
MATRIX_SIDE = 240  # texts in the matrix
Z_LIMIT = 4.0  # standard deviations above the mean at the end of the color scale

Number = TypeVar("Number", np.float64, np.intp)


@dataclass(frozen=True, eq=False)
class Levels:
    """All cuts of a tree from k clusters to one. Each node covers a range of the finest clusters.

    Nodes 0 to k - 1 are the finest clusters, and merge number j joins two nodes into node k + j.
    """

    codes: Ints  # the finest cluster of each leaf of the tree
    merges: Ints  # the two nodes that each merge joins
    spans: Ints  # the first finest cluster of each node, and one past its last

    @property
    def k(self) -> int:
        """Number of finest clusters."""
        return len(self.merges) + 1

    @cached_property
    def cuts(self) -> list[list[int]]:
        """The nodes of the cuts into 1, 2, ..., k clusters, each in the order of their ranges."""
        cuts = [list(range(self.k))]
        for node, left in enumerate(self.merges[:, 0].tolist(), start=self.k):
            place = cuts[-1].index(left)  # the node that it is joined with comes next
            cuts.append([*cuts[-1][:place], node, *cuts[-1][place + 2 :]])
        return cuts[::-1]

    def total(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum over the finest clusters of each node."""
        return np.array([values[start:end].sum(axis=0) for start, end in self.spans])


def report_levels(result: TextClustering) -> tuple[Levels, Ints]:
    """Return the levels in the report of a result, and the finest cluster of each distinct text, -1 for none."""
    hierarchy = result.with_hierarchy().hierarchy
    assert hierarchy is not None  # noqa: S101 - for the type checker
    suggested = [suggestion.k for suggestion in result.k_estimate.suggestions] if result.k_estimate else []
    levels = top_levels(hierarchy.tree, max(FINEST, result.n_clusters, *suggested))
    return levels, np.append(levels.codes, -1)[hierarchy.leaves]


def top_levels(tree: MergeTree, k: int) -> Levels:
    """Take the top of a tree: all cuts into `k` clusters or fewer."""
    k = min(k, tree.n_leaves)
    cut, merges = tree.top(k)
    members = [[cluster] for cluster in range(k)]
    for left, right in merges.tolist():
        members.append(members[left] + members[right])
    number = np.argsort(members[-1])  # the finest clusters are numbered in the order of the tree's leaves
    starts = np.array([*range(k), *(number[clusters[0]] for clusters in members[k:])], np.intp)
    spans = np.column_stack([starts, starts + [len(clusters) for clusters in members]])
    return Levels(number[cut], np.append(number, np.arange(k, 2 * k - 1))[merges], spans)


@dataclass(frozen=True, eq=False)
class ReportTree:
    """A result, the levels of its tree, and the distinct texts that the report shows.

    The texts are sorted so that every node covers a range of them.
    """

    result: TextClustering
    X: Array  # the embeddings of the distinct texts
    levels: Levels
    finest: Ints  # the finest cluster of each distinct text, -1 for none
    order: Ints  # the distinct text at each position
    ranges: Ints  # the first position of each node, and one past its last

    def texts_of(self, node: int) -> Ints:
        """Return the distinct texts of a node that are shown."""
        return self.order[slice(*self.ranges[node])]

    @cached_property
    def positions(self) -> Ints:
        """The position of each distinct text, -1 if it is not shown."""
        positions = np.full(len(self.finest), -1)
        positions[self.order] = np.arange(len(self.order))
        return positions

    def nodes_of(self, codes: Ints) -> list[int]:
        """Return the nodes that are the clusters of a cut, given for the distinct texts."""
        clusters, texts = np.unique(codes, return_index=True)
        texts = texts[clusters >= 0]  # one of each cluster
        nodes = np.array(self.levels.cuts[len(texts) - 1])
        at = np.searchsorted(self.levels.spans[nodes, 0], self.finest[texts], side="right") - 1
        return [int(node) for node in nodes[at]]

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
    result = result.with_hierarchy()
    levels, finest = report_levels(result)
    kept = np.flatnonzero(finest >= 0)
    if len(kept) > MAX_POINTS:
        must = np.unique(result.corpus.codes[[row for cluster in result.clusters for row in cluster.representatives]])
        others = np.setdiff1d(kept, must)
        drawn = np.random.default_rng(0).choice(others, MAX_POINTS - len(must), replace=False)
        kept = np.sort(np.append(must, drawn))
    order = kept[np.argsort(finest[kept], kind="stable")]
    return ReportTree(result, result.embedded().X, levels, finest, order, np.searchsorted(finest[order], levels.spans))


def describe_shown_texts(tree: ReportTree) -> tuple[Ints, int | None, dict[str, str]]:
    """Return the rows that the page exports, the number of characters to which long texts are cut, and the blocks.

    A row is exported if its text is shown or has no group. These texts follow those that are shown: they are blank, or
    the model could not represent them.
    """
    corpus = tree.result.corpus
    positions = corpus.spread(tree.positions, -1)
    others: dict[str, int] = {}
    for row in np.flatnonzero(~corpus.spread(tree.finest >= 0, False)).tolist():
        positions[row] = len(tree.order) + others.setdefault(corpus.rows[row], len(others))
    rows = np.flatnonzero(positions >= 0)
    texts, cut_at = cut_texts([*(corpus.distinct[i] for i in tree.order), *others], MAX_TEXT_CHARACTERS)
    return rows, cut_at, {
        "counts": pack_array(corpus.counts[tree.order], "u4"),
        "rows": pack_array(np.concatenate([rows, positions[rows]]), "u4"),
        "texts": pack_json(texts),
    }  # fmt: skip


def cut_texts(texts: Sequence[str], most: int) -> tuple[list[str], int | None]:
    """Cut the longest texts so that all of them have at most `most` characters; None if none had to be cut."""
    lengths = np.array([len(text) for text in texts], np.intp)
    limit = longest_text(lengths, most)
    if lengths.max(initial=0) <= limit:
        return list(texts), None
    return [text if len(text) <= limit else text[:limit] + "…" for text in texts], limit


def longest_text(lengths: Ints, most: int) -> int:
    """Return the number of characters to which long texts must be cut, so that all have at most `most` together."""

    def total(limit: int) -> int:
        return int(np.minimum(lengths, limit).sum())

    return bisect_right(range(int(lengths.max(initial=0)) + 1), most, key=total) - 1


def describe_profile(tree: ReportTree, ratios: list[float], classes: list[Hashable] | None) -> dict[str, Any]:
    """Return the curves of the scores at 1, 2, ... clusters, by the name of the score, and what they are made from.

    `classes` has the ground truth of each row; rows without one have an empty string, which is a class of its own.
    """
    levels, finest, n_classes = tree.levels, tree.finest, None
    curves = {"cohesion": ratios, "silhouette": silhouettes(tree.X, finest, levels.spans, levels.cuts)}
    if classes is not None:
        of_row = tree.result.corpus.spread(finest, -1)
        grouped = np.flatnonzero(of_row >= 0)
        codes, names = check_labels([classes[row] for row in grouped], grouped)
        curves |= agreement_curves(levels, of_row[grouped], codes)
        n_classes = len(names)
    return {
        "curves": {name: none_if_nan(values) for name, values in curves.items()},
        "classes": n_classes,
        "silhouette_rows": min(SILHOUETTE_SAMPLE, int((finest >= 0).sum())),
    }


def agreement_curves(levels: Levels, finest: Ints, truth: Ints) -> dict[str, list[float]]:
    """Return ARI, homogeneity, completeness and Fowlkes-Mallows index of the cuts into 1, 2, ... clusters.

    `finest` and `truth` are the finest cluster of each row of the data, and the code of its class.
    """
    table = np.zeros((levels.k, truth.max() + 1))
    np.add.at(table, (finest, truth), 1)
    totals = levels.total(table)
    cuts = [agreements(totals[cut].T) for cut in levels.cuts]
    names = ("ari", "homogeneity", "completeness", "fowlkes_mallows")
    return {name: [cut[name] for cut in cuts] for name in names}


def describe_matrix(tree: ReportTree) -> Section:
    """Return the positions of sampled texts and the scale of their cosines, and the blocks with shades from 0 to 255.

    The shades stand for the cosines, and for the same z-scored and rectified. The positions are ascending, so that the
    groups of every cut lie along the diagonal.
    """
    n = len(tree.order)
    positions = np.arange(n)
    if n > MATRIX_SIDE:
        positions = np.sort(np.random.default_rng(0).choice(n, MATRIX_SIDE, replace=False))
    units = take_units(tree.X, tree.order[positions])
    cosines = units @ units.T
    # The diagonal is 1. The scale leaves it out, to show more of the differences between texts.
    different = cosines[~np.eye(len(cosines), dtype=bool)]
    low, high = np.quantile(different, [0.01, 0.999]).tolist() if len(different) else (0.0, 1.0)
    shades = {
        "raw": (cosines - low) / max(high - low, 1e-6),
        "rectified": cosine_graph(units, zscore=True) / Z_LIMIT,
    }
    blocks = {name: pack_array(np.clip(shares * 255, 0, 255).round(), "u1") for name, shares in shades.items()}
    return {"positions": positions.tolist(), "low": low, "high": high, "z": Z_LIMIT}, blocks
