"""What the two clusterers share: input, the choice of k, prediction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..cohesion import CohesionReport, report_if_defined
from ..kestimate import KEstimate, estimate_from_rows
from ..rows import CountedRows, check_rows, map_row_blocks
from ..validation import RandomState, check_embeddings, check_n_clusters, check_weights, make_generator
from .lloyd import nearest_centers


class AutoClusterer(ClusterMixin, BaseEstimator, ABC):
    """Base class of the two clusterers: input, the choice of k, the score, prediction."""

    labels_: NDArray[np.intp]
    n_clusters_: int
    k_estimate_: KEstimate | None
    cohesion_ratio_: float
    cohesion_report_: CohesionReport | None
    cluster_centers_: NDArray[np.float32]
    n_features_in_: int

    def __init__(
        self, n_clusters: int | Literal["auto"] = "auto", *, random_state: RandomState = None, n_jobs: int | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the number of clusters, unless it is given, and the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings. Neither copied as a whole nor changed.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each row counts. For the estimate of k a row counts as so many rows, rounded up.

        Returns
        -------
        self
        """
        X = check_embeddings(X, estimator=self)
        weights = check_weights(sample_weight, len(X))
        k = check_n_clusters(self.n_clusters, len(X))
        check_rows(X, n_jobs=self.n_jobs)
        # A stream each, so that the clusters at a given k do not depend on whether k was estimated.
        for_k, for_clusters, for_score = make_generator(self.random_state).spawn(3)
        self.k_estimate_ = None
        if k is None:
            counts = np.ceil(weights).astype(np.intp)
            self.k_estimate_ = estimate_from_rows(CountedRows(X, counts), random_state=for_k, n_jobs=self.n_jobs)
            k = self.k_estimate_.k
        self._cluster(X, weights / weights.max(), k, for_clusters)
        self.n_clusters_ = len(self.cluster_centers_)
        if self.n_clusters_ < k:
            warnings.warn(
                f"{k} clusters were asked for, but only {self.n_clusters_} could be told apart; X may have few "
                "distinct rows.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cohesion_report_ = report_if_defined(X, self.labels_, random_state=for_score)
        self.cohesion_ratio_ = self.cohesion_report_.ratio if self.cohesion_report_ else float("nan")
        return self

    @abstractmethod
    def _cluster(self, X: NDArray[Any], weights: NDArray[np.float64], k: int, rng: np.random.Generator) -> None:
        """Find k clusters and set `labels_` and `cluster_centers_`."""

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
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
        """
        check_is_fitted(self)
        X = check_embeddings(X, minimum=1, estimator=self, reset=False)
        return nearest_labels(X, self.cluster_centers_, n_jobs=self.n_jobs)


def nearest_labels(X: NDArray[Any], centers: NDArray[np.float32], *, n_jobs: int | None = None) -> NDArray[np.intp]:
    """Return the nearest centre of each row.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_labels(np.array([[9.0, 1.0], [1.0, 2.0]]), np.eye(2, dtype=np.float32))
    array([0, 1])
    """
    parts = map_row_blocks(lambda rows, scale: nearest_centers(rows, scale, centers)[0], X, n_jobs=n_jobs)
    return np.concatenate(parts)


def largest_first(
    labels: NDArray[np.intp], weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Renumber clusters by falling size (or weight), ties by first appearance.

    Returns
    -------
    labels : ndarray of int
        The new numbers.
    order : ndarray of int
        The old number of each new one; numbers that no row has are left out.

    Examples
    --------
    >>> import numpy as np
    >>> largest_first(np.array([4, 2, 2, 0, 2, 0]))
    (array([2, 0, 0, 1, 0, 1]), array([2, 0, 4]))
    """
    old, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.lexsort((first, -np.bincount(codes, weights)))
    new_number = np.empty_like(order)
    new_number[order] = np.arange(len(order))
    return new_number[codes], old[order]
