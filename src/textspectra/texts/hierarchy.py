"""A merge tree for any grouping of texts, so that it can be cut at every number of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import cluster_sums, unit_rows
from ..clustering.tree import MergeTree, nested_tree
from ..estimators.base import nearest_labels
from ..estimators.kmeans import sample_centers
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
    clusters, groups are merged; with more, they are split. The same grouping gives the same tree.

    Examples
    --------
    >>> from textspectra.texts.corpus import Corpus
    >>> X = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]])
    >>> build_hierarchy(EmbeddedTexts(Corpus.from_texts(["a", "b", "c", "d"]), X), np.array([0, 0, 1, 1])).tree.cut(2)
    array([0, 0, 1, 1])
    """
    usable, points, weights = texts.counting, texts.vectors, texts.weights
    groups = labels[usable]
    if len(usable) <= EXACT_TEXTS:
        leaf_of_text, means, mass = np.arange(len(usable)), unit_rows(points, first_row=usable), weights
    else:
        centers = sample_centers(points, weights, MICRO_CLUSTERS, np.random.default_rng(0), max_passes=2)
        pairs, leaf_of_text = np.unique(groups * len(centers) + nearest_labels(points, centers), return_inverse=True)
        groups, mass = pairs // len(centers), np.bincount(leaf_of_text, weights).astype(float)
        means = (cluster_sums(points, leaf_of_text, len(pairs), weights=weights) / mass[:, None]).astype(np.float32)
    return Hierarchy(nested_tree(means, mass, groups), texts.scatter(leaf_of_text, -1))
