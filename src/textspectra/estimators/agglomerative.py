"""Ward's hierarchical clustering that estimates k itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..arrays.engine import as_given, map_rows
from ..clustering.leaves import gather_leaves, groups_of_means
from ..clustering.lloyd import LinearRule, directions_of, nearest_rule
from ..clustering.numbering import label_sizes, largest_first
from ..clustering.refine import n_nearest, refined_rule, smoothed_rows
from ..clustering.tree import MergeTree, nested_tree, ward_tree, weighted_means
from .base import AutoClusterer

EXACT_ROWS = 10_000
"""Up to this many rows, every row is a leaf of the tree."""

MICRO_CLUSTERS = 4096
"""Number of leaves above that."""


class AutoAgglomerative(AutoClusterer):
    """Ward's hierarchical clustering of unit vectors that estimates k itself and can be cut anywhere.

    The clusters at k are those of :class:`AutoKMeans`, and a tree is built around them by Ward's rule: it completes
    each of these clusters before it merges any two. So a cut at fewer clusters merges them, and a cut at more splits
    them. Each leaf of the tree is replaced by the mean of its 10 nearest leaves before. With ``refine=False``, it is
    the plain algorithm: Ward's tree of the leaves as they are, cut at k. Where `AutoKMeans` falls back to plain K-Means
    (more than 512 clusters of more than 8,192 rows, or hardly any rows), it is Ward's tree of the smoothed leaves.

    Up to 10,000 rows, each row is a leaf of the tree. Above, K-Means first gathers the rows into 4,096
    micro-clusters, and these, with their weights, are the leaves; each lies in one cluster.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "fine"} or int, default="auto"
        Number of clusters; "auto" takes that of :func:`estimate_k`, and "coarse" and "fine" its other suggestions.
    refine : bool, default=True
        Find groups among neighbours, which agrees better with human labels. False is the plain algorithm.
    random_state : int, RandomState, Generator or None, default=0
        The seed; None is a random one. An int gives the same labels for any `n_jobs`, and the k of `estimate_k`.
    n_jobs : int, optional
        Cores to use; all by default.

    Attributes
    ----------
    labels_, n_clusters_, k_estimate_, cohesion_ratio_, cohesion_report_, cluster_centers_, rule_
        As in :class:`AutoKMeans`.
    merge_tree_ : MergeTree
        The whole hierarchy.
    leaves_ : ndarray or Dask array of int, shape (n,)
        The leaf of the tree that each row belongs to.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.repeat(np.eye(8), 20, axis=0)
    >>> model = ts.AutoAgglomerative(random_state=0).fit(X)
    >>> model.n_clusters_
    8
    >>> len(set(model.cut(3)))
    3
    """

    merge_tree_: MergeTree
    leaves_: Any

    def _cluster(self, X: Any, weights: Any, k: int, rng: np.random.Generator) -> None:
        rule = refined_rule(X, weights, k, rng, n_jobs=self.n_jobs) if self.refine else None
        leaves = gather_leaves(
            X, weights, rng, exact_rows=EXACT_ROWS, n_leaves=max(MICRO_CLUSTERS, k), rule=rule, n_jobs=self.n_jobs
        )
        self.leaves_ = as_given(leaves.of_row, X)
        points = leaves.means
        if self.refine:
            units = directions_of(leaves.means, np.ones_like(leaves.means))
            points = smoothed_rows(units, leaves.mass, n_nearest(len(units), k), n_jobs=self.n_jobs)
        if rule is None:
            self.merge_tree_ = ward_tree(points, leaves.mass)
            codes = self.merge_tree_.cut(min(k, len(leaves.mass)))
        else:
            filled, codes = np.unique(groups_of_means(leaves.means, rule), return_inverse=True)
            rule = LinearRule(rule.directions[filled], rule.offsets[filled])
            self.merge_tree_ = nested_tree(points, leaves.mass, codes)
        mass = np.bincount(codes, leaves.mass)
        self.labels_, order = largest_first(_look_up(codes, leaves.of_row), mass)
        self.cluster_centers_ = weighted_means(leaves.means, leaves.mass, codes, len(mass))[order]
        self.rule_ = (
            nearest_rule(self.cluster_centers_)
            if rule is None
            else LinearRule(rule.directions[order], rule.offsets[order])
        )

    def cut(self, n_clusters: int) -> Any:
        """Return the labels at another number of clusters, without fitting again.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of leaves, which is about 4,096 above 10,000 rows.

        Returns
        -------
        ndarray or Dask array of int, shape (n,)
            Clusters are numbered by size, the largest is 0.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> model = ts.AutoAgglomerative(n_clusters=2).fit([[1, 0], [1, 0.1], [0, 1], [0.3, 1]])
        >>> model.cut(3)
        array([0, 0, 1, 2])
        """
        check_is_fitted(self)
        labels = _look_up(self.merge_tree_.cut(n_clusters), self.leaves_)
        return largest_first(labels, label_sizes(labels, n_clusters))[0]


def _look_up(table: NDArray[np.intp], codes: Any) -> Any:
    return map_rows(lambda first_row, part: table[part], codes)
