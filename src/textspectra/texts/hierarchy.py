"""A merge tree for any result, so that it can be cut at every number of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..clustering.leaves import gather_leaves, split_leaves
from ..clustering.tree import nested_tree
from .result import Hierarchy, TextClustering

EXACT_TEXTS = 2000
"""Up to this many distinct texts, each is a leaf of the tree."""

MICRO_CLUSTERS = 1000
"""Above, texts that share a group and one of so many micro-clusters are a leaf together."""


def hierarchy_of(result: TextClustering) -> Hierarchy:
    """Return a merge tree one of whose cuts is the grouping of `result`.

    A tree that is there and has the grouping among its cuts stays. Otherwise, as after K-Means, one is built
    that completes each group before it merges any two (:func:`~textspectra.clustering.tree.nested_tree`): with
    fewer clusters, groups are merged; with more, they are split. The same result gives the same tree.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
    >>> hierarchy_of(ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, n_clusters=2)).tree.cut(2)
    array([0, 0, 1, 1])
    """
    if result.hierarchy is not None and _has_cut(result.hierarchy, result.distinct_labels, result.n_clusters):
        return result.hierarchy
    usable = np.flatnonzero(result.distinct_labels >= 0)
    labels = result.distinct_labels[usable]
    weights = result.corpus.counts[usable].astype(float)
    X = result.embeddings()
    points = X if len(usable) == len(X) else X[usable]
    rng = np.random.default_rng(0)
    found = gather_leaves(points, weights, rng, exact_rows=EXACT_TEXTS, n_leaves=MICRO_CLUSTERS)
    found = split_leaves(found, points, weights, labels)
    groups = np.empty(len(found.mass), np.intp)
    groups[found.of_row] = labels
    leaves = np.full(len(result.distinct_labels), -1)
    leaves[usable] = found.of_row
    return Hierarchy(nested_tree(found.means, found.mass, groups), leaves)


def _has_cut(hierarchy: Hierarchy, labels: NDArray[np.intp], n_clusters: int) -> bool:
    if n_clusters > hierarchy.tree.n_leaves:
        return False
    codes = np.append(hierarchy.tree.cut(n_clusters), -1)[hierarchy.leaves]
    return len(np.unique(np.column_stack([codes, labels]), axis=0)) == len(np.unique(labels))
