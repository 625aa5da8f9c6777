"""What the two clusterers share: input, the choice of k, prediction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..arrays.engine import Folded, as_given, fold_blocks, keep, map_rows
from ..arrays.rows import SumsAndSizes, check_rows, map_unit_rows
from ..clustering.lloyd import center_distances, lloyd_pass, nearest_centers
from ..granularity.estimate import KEstimate, count_rows, estimate_from_rows
from ..metrics.cohesion import CohesionReport, report_if_defined
from ..validation import RandomState, check_embeddings, check_n_clusters, check_weights, make_seed

NOWHERE = np.iinfo(np.intp).max
"""In place of the number of a row, where there is none."""


class AutoClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC):
    """Base class of the two clusterers: input, the choice of k, the score, prediction."""

    labels_: Any
    n_clusters_: int
    k_estimate_: KEstimate | None
    cohesion_ratio_: float
    cohesion_report_: CohesionReport | None
    cluster_centers_: NDArray[np.float32]
    n_features_in_: int

    def __init__(
        self, n_clusters: int | Literal["auto"] = "auto", *, random_state: RandomState = 0, n_jobs: int | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the number of clusters, unless it is given, and the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings. Neither copied as a whole nor changed. With a Dask array, rows stay where they are, and
            what has an entry a row (`labels_`) is a Dask array too.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each row counts. For the estimate of k a row counts as so many rows, rounded up.

        Returns
        -------
        self
        """
        X = check_embeddings(X, estimator=self)
        weights, largest = check_weights(sample_weight, X)
        k = check_n_clusters(self.n_clusters, len(X))
        check_rows(X, n_jobs=self.n_jobs)
        seed = make_seed(self.random_state)
        self.k_estimate_ = None
        if k is None:
            self.k_estimate_ = estimate_from_rows(count_rows(X, weights), random_state=seed, n_jobs=self.n_jobs)
            k = self.k_estimate_.k
        # Streams of their own, so that the clusters at a given k do not depend on whether k was estimated.
        _, for_clusters, for_score = np.random.default_rng(seed).spawn(3)
        known = self._cluster(X, None if weights is None else weights / largest, k, for_clusters)
        self.n_clusters_ = len(self.cluster_centers_)
        if self.n_clusters_ < k:
            warnings.warn(
                f"{k} clusters were asked for, but only {self.n_clusters_} could be told apart; X may have few "
                "distinct rows.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cohesion_report_ = report_if_defined(
            X, self.labels_, self.n_clusters_, random_state=for_score, known=known
        )
        self.cohesion_ratio_ = self.cohesion_report_.ratio if self.cohesion_report_ else float("nan")
        self.labels_ = as_given(self.labels_, X)
        return self

    @abstractmethod
    def _cluster(self, X: Any, weights: Any, k: int, rng: np.random.Generator) -> SumsAndSizes | None:
        """Find k clusters, set `labels_` and `cluster_centers_`, and return what is known of the clusters by then.

        Weights of None are ones.
        """

    def predict(self, X: ArrayLike) -> Any:
        """Return the cluster whose centre is nearest to each row.

        For K-Means that gives the training rows their own labels. For Ward's method it is an
        approximation, because a cluster of the tree need not hold all rows that are nearest to its centre.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings.

        Returns
        -------
        ndarray of int, shape (n,)
            For a Dask array another one, which is worked out when it is needed.
        """
        X = self._check_new(X)
        return as_given(nearest_labels(X, self.cluster_centers_, n_jobs=self.n_jobs), X)

    def transform(self, X: ArrayLike) -> Any:
        """Return the distance of each row, scaled to length 1, to the centre of each cluster.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings.

        Returns
        -------
        ndarray of float32, shape (n, n_clusters_)
            For a Dask array another one, which is computed when it is needed.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.AutoKMeans(2).fit([[2, 0], [2, 0], [0, 3]]).transform([[5, 0]]).round(2)
        array([[0.  , 1.41]], dtype=float32)
        """
        X = self._check_new(X)
        return as_given(center_distances(X, self.cluster_centers_, n_jobs=self.n_jobs), X)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the inertia of `X`: the larger, the nearer its rows are to the centres.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        float
            Minus the sum of the squared distances of the rows, scaled to length 1, to their nearest centres.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.AutoKMeans(2).fit([[2, 0], [2, 0], [0, 3]]).score([[5, 0], [0, 1], [-1, 0]])
        -2.0
        """
        X = self._check_new(X)
        weights, _ = check_weights(sample_weight, X)
        return -lloyd_pass(X, weights, self.cluster_centers_, labelled=False, n_jobs=self.n_jobs).inertia

    def _check_new(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return check_embeddings(X, minimum=1, estimator=self, reset=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # distances are float32, whatever comes in
        return tags


def nearest_labels(X: Any, centers: NDArray[np.float32], *, n_jobs: int | None = None) -> Any:
    """Return the nearest centre of each row.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_labels(np.array([[9.0, 1.0], [1.0, 2.0]]), np.eye(2, dtype=np.float32))
    array([0, 1])
    """
    return map_unit_rows(lambda rows, scale: nearest_centers(rows, scale, centers)[0], X, n_jobs=n_jobs)


def label_sizes(labels: Any, n_labels: int) -> NDArray[np.float64]:
    """Return how many rows have each label.

    Examples
    --------
    >>> import numpy as np
    >>> label_sizes(np.array([2, 0, 2]), 3)
    array([1., 0., 2.])
    """
    return np.asarray(
        fold_blocks(lambda first_row, part: Folded((np.bincount(part, minlength=n_labels),)), labels).statistics[0],
        np.float64,
    )


def largest_first(labels: Any, mass: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """Renumber clusters by falling mass, ties by first appearance.

    Parameters
    ----------
    labels : array of int
        From 0 to ``len(mass) - 1``.
    mass : ndarray of numbers
        The size or the weight of each cluster.

    Returns
    -------
    labels : array of int
        The new numbers.
    order : ndarray of int
        The old number of each new one; numbers that no row has are left out.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([4, 2, 2, 0, 2, 0])
    >>> largest_first(labels, label_sizes(labels, 5))
    (array([2, 0, 0, 1, 0, 1]), array([2, 0, 4]))
    """
    # Rounded, because sums of fractions depend on the blocks, and a tie must be one whatever they are.
    rank = -(mass / max(mass.max(), np.finfo(float).tiny)).round(9)
    in_doubt = len(np.unique(rank)) < len(rank) or not mass.all()
    first = _first_rows(labels, len(mass)) if in_doubt else np.zeros(len(mass), np.intp)
    order = np.lexsort((first, rank))
    order = order[first[order] < NOWHERE]
    new_number = np.empty(len(mass), np.intp)
    new_number[order] = np.arange(len(order))
    return keep(map_rows(lambda first_row, label: new_number[label], labels)), order


def _first_rows(labels: Any, n_labels: int) -> NDArray[np.intp]:
    """Return the first row with each label, or NOWHERE."""

    def on_block(first_row: int, label: NDArray[np.intp]) -> Folded:
        first = np.full(n_labels, NOWHERE)
        first[label[::-1]] = np.arange(first_row + len(label) - 1, first_row - 1, -1)
        return Folded(first)

    found: NDArray[np.intp] = fold_blocks(on_block, labels, combine=np.minimum).statistics
    return found
