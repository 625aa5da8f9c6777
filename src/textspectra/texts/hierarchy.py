"""A merge tree for any grouping of texts, so that it can be cut at every number of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..clustering.leaves import gather_leaves, split_leaves
from ..clustering.tree import MergeTree, nested_tree
from .embedded import EmbeddedTexts

EXACT_TEXTS = 2000
"""Up to this many distinct texts, each is a leaf of the tree."""

MICRO_CLUSTERS = 1000
"""Above, the texts of one group that share one of so many micro-clusters are a leaf."""


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

    def has_cut(self, labels: NDArray[np.intp]) -> bool:
        """Say whether a labelling of the distinct texts is one of the cuts of the tree.

        Examples
        --------
        >>> from textspectra.clustering.tree import ward_tree
        >>> tree = ward_tree(np.array([[0.0], [1.0], [9.0]], np.float32), np.ones(3))
        >>> [Hierarchy(tree, np.arange(3)).has_cut(np.array(labels)) for labels in ([0, 0, 1], [0, 1, 1])]
        [True, False]
        """
        n_clusters = int(labels.max()) + 1
        if n_clusters > self.tree.n_leaves:
            return False
        codes = np.append(self.tree.cut(n_clusters), -1)[self.leaves]
        return len(np.unique(np.column_stack([codes, labels]), axis=0)) == len(np.unique(labels))


def build_hierarchy(texts: EmbeddedTexts, labels: NDArray[np.intp]) -> Hierarchy:
    """Build a merge tree one of whose cuts is the grouping `labels` of the distinct texts (-1: none).

    Each group is completed before any two are merged (:func:`~textspectra.clustering.tree.nested_tree`): with fewer
    clusters, groups are merged; with more, they are split. The same grouping gives the same tree. Every distinct text
    counts once: a text that is repeated would be split off as a group of its own.
    """
    vectors, groups = texts.vectors, labels[texts.counting]
    rng = np.random.default_rng(0)
    found = gather_leaves(vectors, None, rng, exact_rows=EXACT_TEXTS, n_leaves=MICRO_CLUSTERS)
    found = split_leaves(found, vectors, groups)
    group_of_leaf = np.empty(len(found.mass), np.intp)
    group_of_leaf[found.of_row] = groups
    return Hierarchy(nested_tree(found.means, found.mass, group_of_leaf), texts.scatter(found.of_row, -1))
