"""The top of a merge tree: the finest clusters that a report shows, and how they merge into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.ward import MergeTree
from ..texts.clustered import FINEST
from ..texts.corpus import Corpus
from ..texts.result import TextClustering


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

    def ancestors(self) -> list[list[int]]:
        """Return the nodes that contain each finest cluster, from itself to the root."""
        parent = {int(child): self.k + step for step, pair in enumerate(self.merges) for child in pair}
        paths = []
        for node in range(self.k):
            path = [node]
            while path[-1] in parent:
                path.append(parent[path[-1]])
            paths.append(path)
        return paths


def report_levels(result: TextClustering) -> tuple[Levels, NDArray[np.intp]]:
    """Return the levels that the report of a result shows, and the finest cluster of each distinct text, -1 for none.

    The same result always has the same.
    """
    hierarchy = result.with_hierarchy().hierarchy
    assert hierarchy is not None  # noqa: S101 - for the type checker
    suggested = [one.k for one in result.k_estimate.suggestions] if result.k_estimate else []
    levels = top_levels(hierarchy.tree, max(FINEST, result.n_clusters, *suggested))
    return levels, np.append(levels.codes, -1)[hierarchy.leaves]


def top_levels(tree: MergeTree, k: int) -> Levels:
    """Take the top of a tree: all cuts into `k` clusters or fewer."""
    n = tree.n_leaves
    k = min(k, n)
    cut = tree.cut(k)
    children = tree.linkage[:, :2].astype(int).tolist()
    some_leaf = list(range(n))
    for left, _ in children:
        some_leaf.append(some_leaf[left])
    first_top = 2 * n - k
    merges = [
        [k + child - first_top if child >= first_top else int(cut[some_leaf[child]]) for child in pair]
        for pair in children[n - k :]
    ]
    number, spans = _numbered_by_range(merges, k)
    shifted = np.append(number, np.arange(k, 2 * k - 1))
    return Levels(number[cut], shifted[np.array(merges, np.intp).reshape(-1, 2)], spans)


def _numbered_by_range(merges: list[list[int]], k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a number for each finest cluster, in the order of the tree's leaves, and the range of each node."""
    order: list[int] = []
    stack = [2 * k - 2]
    while stack:
        node = stack.pop()
        if node < k:
            order.append(node)
        else:
            stack += reversed(merges[node - k])
    number = np.empty(k, np.intp)
    number[order] = np.arange(k)
    spans = np.empty((2 * k - 1, 2), np.intp)
    spans[:k] = np.arange(k)[:, None] + [0, 1]
    for step, (one, other) in enumerate(merges):
        both = [spans[number[node] if node < k else node] for node in (one, other)]
        spans[k + step] = min(both[0][0], both[1][0]), max(both[0][1], both[1][1])
    return number, spans


MAX_POINTS = 100_000
"""Number of distinct texts on the map and in the lists; if there are more, a random sample is shown."""

MAX_CHARACTERS = 16_000_000
"""Number of characters of all texts together; if there are more, long texts are cut."""


class Shown(NamedTuple):
    """The distinct texts of a report, sorted so that every node of the levels covers a range of them."""

    order: NDArray[np.intp]  # the distinct text at each position
    ranges: NDArray[np.intp]  # the first position of each node, and one past its last


def choose_shown(result: TextClustering, levels: Levels, finest: NDArray[np.intp]) -> Shown:
    """Choose and sort the texts; `finest` is the finest cluster of each distinct text, -1 for none."""
    kept = np.flatnonzero(finest >= 0)
    if len(kept) > MAX_POINTS:
        rows = [row for cluster in result.clusters for row in cluster.representatives]
        must = np.unique(result.corpus.codes[rows])
        others = np.setdiff1d(kept, must)
        drawn = np.random.default_rng(0).choice(others, MAX_POINTS - len(must), replace=False)
        kept = np.sort(np.append(must, drawn))
    order = kept[np.argsort(finest[kept], kind="stable")]
    return Shown(order, np.searchsorted(finest[order], levels.spans))


class Rows(NamedTuple):
    """The rows of the data that the page exports."""

    numbers: NDArray[np.intp]  # their row numbers in the data
    positions: NDArray[np.intp]  # the position of the text of each row, first in the shown texts, then in `others`
    others: list[str]  # each distinct text without a group: blank, or one that the model could not represent


def exported_rows(corpus: Corpus, shown: Shown, grouped: NDArray[np.bool_]) -> Rows:
    """Find the rows whose text is shown, and those without a group."""
    n = len(shown.order)
    of_distinct = np.full(len(corpus.distinct), -1)
    of_distinct[shown.order] = np.arange(n)
    positions = corpus.spread(of_distinct, -1)
    ungrouped = np.flatnonzero(~corpus.spread(grouped, False))
    place: dict[str, int] = {}
    for row in ungrouped.tolist():
        positions[row] = n + place.setdefault(corpus.rows[row], len(place))
    numbers = np.flatnonzero(positions >= 0)
    return Rows(numbers, positions[numbers], list(place))


def cut_texts(texts: list[str], most: int) -> tuple[list[str], int | None]:
    """Cut the longest texts so that all of them have at most `most` characters; None if none had to be cut."""
    lengths = np.array([len(text) for text in texts], np.intp)
    limit = longest_text(lengths, most)
    if lengths.max(initial=0) <= limit:
        return texts, None
    return [text if len(text) <= limit else text[:limit] + "…" for text in texts], limit


def longest_text(lengths: NDArray[np.intp], most: int) -> int:
    """Return the number of characters to which long texts must be cut, so that all have at most `most` together."""
    lengths = np.sort(lengths)
    fewer = np.cumsum(np.append(0, lengths[:-1]))
    # total[i] is the sum of the lengths if all texts are cut to the length of the i-th shortest.
    total = fewer + lengths * np.arange(len(lengths), 0, -1)
    fits = int(np.searchsorted(total, most, side="right"))
    if fits == len(lengths):
        return int(lengths[-1]) if len(lengths) else 0
    return int((most - fewer[fits]) // (len(lengths) - fits))
