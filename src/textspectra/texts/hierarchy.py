"""A merge tree for any grouping of texts, so that it can be cut at every number of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..clustering.leaves import gather_leaves, split_leaves
from ..clustering.tree import MergeTree
from ..grouping.agglomerative import EXACT_ROWS, LEAVES_PER_GROUP, MICRO_CLUSTERS, tree_around
from .embedded import EmbeddedTexts

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
        """Return True if a labelling of the distinct texts is one of the cuts of the tree."""
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
    vectors, groups = texts.vectors, labels[texts.counting]
    rng = np.random.default_rng(0)
    n_leaves = max(MICRO_CLUSTERS, LEAVES_PER_GROUP * (int(groups.max()) + 1))
    found = gather_leaves(vectors, None, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves)
    found = split_leaves(found, vectors, groups)
    group_of_leaf = np.empty(len(found.mass), np.intp)
    group_of_leaf[found.of_row] = groups
    return Hierarchy(tree_around(found, group_of_leaf), texts.scatter(found.of_row, -1))
