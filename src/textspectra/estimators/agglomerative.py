"""Ward's hierarchical clustering with its own k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..arrays.engine import align, count_draws, keep, map_rows
from ..arrays.rows import sum_by_code
from ..clustering.lloyd import lloyd_pass
from ..clustering.tree import MergeTree, ward_tree
from .base import AutoClusterer, label_sizes, largest_first, nearest_labels
from .kmeans import sample_centers, training_rows

EXACT_ROWS = 10_000
"""Up to this many rows, every row is a leaf of the tree."""

MICRO_CLUSTERS = 4096
"""Leaves of the tree above that."""

MICRO_PASSES = 2
"""Passes of Lloyd's algorithm that shape the micro-clusters."""


class AutoAgglomerative(AutoClusterer):
    """Ward's hierarchical clustering of unit vectors that needs no k and can be cut anywhere.

    Up to 10,000 rows the tree is Ward's, exactly. Above, rows are first gathered into 4,096
    micro-clusters by K-Means, and the tree is Ward's tree of these with their weights.

    Parameters
    ----------
    n_clusters : "auto" or int, default="auto"
        Number of clusters; by default that of :func:`estimate_k`.
    random_state : int, RandomState, Generator or None, default=0
        The seed. The same int gives the same labels for any `n_jobs`, and the k of :func:`estimate_k`. None is a
        random seed.
    n_jobs : int, optional
        Cores to use; all by default.

    Attributes
    ----------
    labels_ : ndarray or Dask array of int, shape (n,)
        The cluster of each row. Clusters are numbered by size, the largest is 0.
    n_clusters_ : int
        Number of clusters.
    k_estimate_ : KEstimate or None
        Where `n_clusters` comes from; None when it was given.
    cohesion_ratio_ : float
        :func:`cohesion_ratio` of the labels, each row counted once; NaN where no two rows are alike.
    cohesion_report_ : CohesionReport or None
        The parts of it, and the cohesion of each cluster.
    cluster_centers_ : ndarray of shape (n_clusters_, d)
        Means of the unit rows, to which :meth:`predict` compares new rows.
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
        leaves = _gather_leaves(X, weights, k, rng, self.n_jobs)
        self.leaves_ = leaves.of_row
        self.merge_tree_ = ward_tree(leaves.centers, leaves.mass)
        k = min(k, len(leaves.mass))
        codes = self.merge_tree_.cut(k)
        sums = sum_by_code(leaves.centers, codes, k, leaves.mass.astype(np.float32))
        mass = np.bincount(codes, leaves.mass)
        self.labels_, order = largest_first(_look_up(codes, self.leaves_), mass)
        self.cluster_centers_ = (sums / mass[:, None]).astype(np.float32)[order]

    def cut(self, n_clusters: int) -> Any:
        """Return the labels at another number of clusters, from the tree that is there already.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of leaves (4,096 where there were more than 10,000 rows).

        Returns
        -------
        ndarray or Dask array of int, shape (n,)
            Numbered by the number of rows, the largest is 0.

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


class _Leaves(NamedTuple):
    centers: NDArray[np.float32]
    mass: NDArray[np.float64]
    of_row: Any


def _look_up(table: NDArray[np.intp], codes: Any) -> Any:
    return map_rows(lambda first_row, part: table[part], codes)


def _gather_leaves(X: Any, weights: Any, k: int, rng: np.random.Generator, n_jobs: int | None) -> _Leaves:
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    counting = int(draws.totals[0])
    if counting <= EXACT_ROWS:
        own_leaf, centers, mass = training_rows(draws, np.arange(counting))
        if counting == len(X):
            return _Leaves(centers, mass, align(np.arange(counting), X))

        def leaf(first_row: int, weight: NDArray[np.float64], nearest: NDArray[np.intp]) -> NDArray[np.intp]:
            rows = np.arange(first_row, first_row + len(weight))
            return np.where(weight > 0, np.searchsorted(own_leaf, rows), nearest)

        return _Leaves(centers, mass, keep(map_rows(leaf, weights, nearest_labels(X, centers, n_jobs=n_jobs))))
    n_leaves = max(MICRO_CLUSTERS, k)
    centers = sample_centers(X, weights, n_leaves, rng, max_passes=MICRO_PASSES, n_jobs=n_jobs)
    result = lloyd_pass(X, weights, centers, n_jobs=n_jobs)
    filled = np.flatnonzero(result.mass)
    means = result.sums[filled] / result.mass[filled, None]
    if len(filled) < len(centers):
        of_row = keep(nearest_labels(X, centers[filled], n_jobs=n_jobs))
        return _Leaves(means.astype(np.float32), result.mass[filled], of_row)
    return _Leaves(means.astype(np.float32), result.mass, result.labels)
