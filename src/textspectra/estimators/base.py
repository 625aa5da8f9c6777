"""The base of both estimators: checks, the choice of k, the score, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..arrays.engine import as_given
from ..clustering.lloyd import LinearRule, center_distances, label_pass, labels_by, nearest_rule
from ..granularity.estimate import KEstimate
from ..grouping.find import Algorithm, Found, find_groups
from ..metrics.cohesion import CohesionReport
from ..validation import Level, RandomState, check_embeddings, check_weights


class AutoClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC):
    """Base class of :class:`AutoKMeans` and :class:`AutoAgglomerative`."""

    _algorithm: ClassVar[Algorithm]
    labels_: Any
    n_clusters_: int
    k_estimate_: KEstimate | None
    cohesion_ratio_: float
    cohesion_report_: CohesionReport | None
    cluster_centers_: NDArray[np.float32]
    rule_: LinearRule
    n_features_in_: int

    def __init__(
        self,
        n_clusters: int | Level = "auto",
        *,
        refine: bool = True,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.refine = refine
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the number of clusters, unless it is given, and find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings. They are not changed, and never copied as a whole. The rows of a Dask array stay on the
            workers, and `labels_` is a Dask array too.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each row counts, in sizes and centres. Refined groups, and k from 64 distinct rows on, are
            found among distinct rows: there a row counts once, or not at all if its weight is zero.

        Returns
        -------
        self
        """
        X = check_embeddings(X, estimator=self)
        found = find_groups(
            X, sample_weight, algorithm=self._algorithm, n_clusters=self.n_clusters, refine=self.refine,
            random_state=self.random_state, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.labels_, self.cluster_centers_, self.rule_ = found.labels, found.centers, found.rule
        self.n_clusters_, self.k_estimate_ = len(found.centers), found.estimate
        self.cohesion_report_ = found.cohesion
        self.cohesion_ratio_ = found.cohesion.ratio if found.cohesion else float("nan")
        self._keep(found)
        return self

    @abstractmethod
    def _keep(self, found: Found) -> None:
        """Set the attributes that only this algorithm has."""

    def predict(self, X: ArrayLike) -> Any:
        """Return the cluster of each row.

        It is the one whose centre is nearest or, with ``refine=True``, whose direction is nearest along the
        discriminants of the clusters. The rows seen in :meth:`fit` get their own labels. Only at the level "fine", and
        if the clusters are a cut of Ward's plain tree, a few may get another, because these need not be separable so.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings.

        Returns
        -------
        ndarray of int, shape (n,)
            For a Dask array, a Dask array, which is computed when it is needed.
        """
        X = self._check_new(X)
        return as_given(labels_by(X, self.rule_, n_jobs=self.n_jobs), X)

    def transform(self, X: ArrayLike) -> Any:
        """Return the distance of each row, scaled to length 1, to the centre of each cluster.

        With ``refine=True``, the nearest centre is not always that of the cluster from :meth:`predict`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings.

        Returns
        -------
        ndarray of float32, shape (n, k)
            For a Dask array, a Dask array, which is computed when it is needed.

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
        return -label_pass(X, weights, nearest_rule(self.cluster_centers_), labelled=False, n_jobs=self.n_jobs).inertia

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
