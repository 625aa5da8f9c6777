"""The top of a merge tree: the finest clusters that a report shows, and how they merge into one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..clustering.tree import MergeTree
from ..texts.hierarchy import FINEST
from ..texts.result import TextClustering


@dataclass(frozen=True, eq=False)
class Levels:
    """All cuts of a tree from k clusters to one. Each node covers a range of the finest clusters.

    Nodes 0 to k - 1 are the finest clusters, and merge number j joins two nodes into node k + j.

    Examples
    --------
    >>> import numpy as np
    >>> from textspectra.clustering.tree import ward_tree
    >>> levels = top_levels(ward_tree(np.array([[0.0], [9.0], [1.0], [5.0]], np.float32), np.ones(4)), 3)
    >>> levels.codes, levels.spans.tolist()
    (array([0, 1, 0, 2]), [[0, 1], [1, 2], [2, 3], [1, 3], [0, 3]])
    >>> levels.nodes_at(2)
    [0, 3]
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
