"""The two estimators in the form of scikit-learn: `AutoKMeans` and `AutoAgglomerative`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..parallel import use_jobs
from . import F32, Array, PerRow
from .clusters import Algorithm, find_clusters
from .estimate import Method
from .kmeans import label_pass, label_sizes, labels_by, largest_first, nearest_rule
from .rows import as_given, map_unit_rows, recode
from .validation import Level, RandomState, check_embeddings, check_weights
from .ward import MergeTree


class AutoClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base class of :class:`AutoKMeans` and :class:`AutoAgglomerative`."""

    _algorithm: Algorithm
    _fields: dict[str, str]  # attributes that only this algorithm sets, and the fields of `Clusters` they come from

    def __init__(
        self,
        n_clusters: int | Level = "auto",
        *,
        method: Method = "auto",
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the number of clusters, unless it is given, and find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Embeddings. They are not changed, and never copied as a whole. The rows of a Dask array stay on the
            workers, and `labels_` is a Dask array too.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each row counts, in sizes and centers, and in Ward's tree. The number of clusters (if 64 rows or
            more are distinct) and refined clusters are found among distinct rows: there a row counts once, or not at
            all if its weight is zero.

        Returns
        -------
        self
        """
        params = self.get_params()
        with use_jobs(params.pop("n_jobs")):
            X = check_embeddings(X, estimator=self)
            clusters = find_clusters(X, sample_weight, algorithm=self._algorithm, **params)
        self.labels_, self.cluster_centers_, self.rule_ = clusters.labels, clusters.centers, clusters.rule
        self.n_clusters_, self.k_estimate_ = len(clusters.centers), clusters.estimate
        self.cohesion_report_ = clusters.cohesion
        self.cohesion_ratio_ = clusters.cohesion.ratio if clusters.cohesion else float("nan")
        for attribute, field in self._fields.items():
            setattr(self, attribute, getattr(clusters, field))
        return self

    def predict(self, X: ArrayLike) -> PerRow:
        """Return the cluster of each row.

        It is the one whose center is nearest or, if :class:`AutoKMeans` has refined the clusters, whose direction is
        nearest along their discriminants. The rows seen in :meth:`fit` get their own labels, except that a few may get
        another at the level "fine" of :class:`AutoKMeans`, and more of them from :class:`AutoAgglomerative`: the
        clusters of Ward's tree are not regions around their centers.

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
        with use_jobs(self.n_jobs):
            return as_given(labels_by(X, self.rule_), X)

    def decision_function(self, X: ArrayLike) -> PerRow:
        """Return the score of each row in each cluster; :meth:`predict` takes the highest.

        Scores are linear in the rows, scaled to length 1. Only differences between the scores of a row have a meaning.

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
        >>> ts.AutoKMeans(2).fit([[2, 0], [2, 0], [0, 3]]).decision_function([[5, 0]])
        array([[ 0.5, -0.5]], dtype=float32)
        """
        check_is_fitted(self)
        return self._map(self.rule_.scores, X)

    def predict_proba(self, X: ArrayLike) -> PerRow:
        """Return the probability of each cluster for each row: the softmax of the scores.

        It estimates how often another clustering, which includes the row, would put it in that cluster. On held-out
        rows of labeled sets, the probability of the predicted cluster is off by 0.10 on average (0.12 with
        ``refine=False``, 0.09 for :class:`AutoAgglomerative`), and by up to 0.2 on a set. It cannot say that a row fits
        no cluster, because the probabilities of a row add up to 1.

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
        >>> ts.AutoKMeans(2).fit([[2, 0], [2, 1], [0, 2], [1, 2]]).predict_proba([[1, 0], [1, 1]]).round(2)
        array([[1. , 0. ],
               [0.5, 0.5]], dtype=float32)
        """
        check_is_fitted(self)
        rule, centers = self.rule_, self.cluster_centers_
        return self._map(lambda rows, scale: rule.probabilities(rule.scores(rows, scale), centers), X)

    def transform(self, X: ArrayLike) -> PerRow:
        """Return the distance of each row, scaled to length 1, to the center of each cluster.

        The nearest center is not always the center of the cluster from :meth:`predict` if clusters are refined.

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
        check_is_fitted(self)
        # In float64: the square root would turn the rounding of float32 into errors of 0.0003 near 0.
        centers = self.cluster_centers_.astype(np.float64)
        squares = np.einsum("ij,ij->i", centers, centers)

        def distances(rows: F32, scale: F32) -> F32:
            units = rows * scale[:, None].astype(np.float64)
            squared = squares + np.einsum("ij,ij->i", units, units)[:, None] - 2 * (units @ centers.T)
            return np.asarray(np.sqrt(np.maximum(squared, 0)), np.float32)

        return self._map(distances, X)

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the inertia of `X`: the larger, the nearer its rows are to the centers.

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
            Minus the sum of the squared distances of the rows, scaled to length 1, to their nearest centers.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.AutoKMeans(2).fit([[2, 0], [2, 0], [0, 3]]).score([[5, 0], [0, 1], [-1, 0]])
        -2.0
        """
        X = self._check_new(X)
        weights, _ = check_weights(sample_weight, X)
        with use_jobs(self.n_jobs):
            return -label_pass(X, weights, nearest_rule(self.cluster_centers_), labeled=False).inertia

    def _map(self, function: Callable[[F32, F32], F32], X: ArrayLike) -> PerRow:
        """Return the values of a function of rows and their scales, one row of float32 for each."""
        X = self._check_new(X)
        with use_jobs(self.n_jobs):
            return as_given(map_unit_rows(function, X, dtype=np.float32), X)

    def _check_new(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return check_embeddings(X, minimum=1, estimator=self, reset=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # distances are float32, whatever comes in
        return tags


class AutoKMeans(AutoClusterer):
    """K-Means on unit vectors that estimates k itself.

    K-Means runs where clusters are clearest: on up to 8,192 random rows, each replaced by the mean of its 10 nearest
    rows. Linear discriminant analysis then finds the directions that tell these clusters apart, K-Means runs once more
    along them, and one pass assigns all rows. With more than 512 clusters of more than 8,192 rows, and with
    ``refine=False``, it is plain K-Means on up to 16,384 random rows, and two passes over all rows.

    The first centers come from the Ward tree of up to 2,000 random rows, cut at k. So no restarts are needed, and
    the result hardly depends on the seed (up to 2,000 rows, not at all). Above 1,000 clusters, the first centers
    are random rows.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        Number of clusters; "auto" and "suggested" take k from :func:`estimate_k`. "coarse" merges these clusters, and
        "fine" splits them, along a tree around them. A level that does not exist is a UserError.
    method : {"auto", "spectral"} or callable, default="auto"
        How k is found, as in :func:`estimate_k`: "spectral" is the paper's rule, and a callable your own.
    refine : bool, default=True
        Find clusters among neighbors, which agrees better with human labels. False is the plain algorithm.
    random_state : int, RandomState, Generator or None, default=0
        The seed; None is a random one. An int gives the same labels for any `n_jobs`, and the k of `estimate_k`.
    n_jobs : int, optional
        Cores to use; all by default.

    Attributes
    ----------
    labels_ : ndarray or Dask array of int, shape (n,)
        The cluster of each row. Clusters are numbered by size, the largest is 0.
    n_clusters_ : int
        Number of clusters.
    k_estimate_ : KEstimate or None
        The estimate behind `n_clusters_`; None if the number was given.
    cohesion_ratio_ : float
        :func:`cohesion_ratio` of the labels, each row counted once; NaN if no two rows are alike.
    cohesion_report_ : CohesionReport or None
        The parts of that ratio, and the cohesion of each cluster.
    cluster_centers_ : ndarray of shape (k, d)
        Mean of the unit rows of each cluster.
    rule_ : LinearRule
        The rule of :meth:`predict`: the cluster with the highest ``x @ direction + offset`` wins, for x of length 1.
    inertia_ : float
        Sum of squared distances of unit rows to their centers, weighted in proportion to `sample_weight` with a
        largest weight of 1.

    See Also
    --------
    AutoAgglomerative : Hierarchical clustering that estimates k.
    estimate_k : The number of clusters alone.
    cluster_texts : The same for texts, with names and a report.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.repeat(np.eye(8), 20, axis=0)
    >>> model = ts.AutoKMeans(random_state=0).fit(X)
    >>> model.n_clusters_, round(model.cohesion_ratio_, 2)
    (8, 8.37)
    >>> bool(model.predict([[0, 0, 9, 0, 0, 0, 0, 0]])[0] == model.labels_[40])
    True
    """

    inertia_: float
    _algorithm, _fields = "kmeans", {"inertia_": "inertia"}

    def __init__(
        self,
        n_clusters: int | Level = "auto",
        *,
        method: Method = "auto",
        refine: bool = True,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_clusters, method=method, random_state=random_state, n_jobs=n_jobs)
        self.refine = refine


class AutoAgglomerative(AutoClusterer):
    """Ward's hierarchical clustering (HAC) of unit vectors that estimates k itself and can be cut anywhere.

    The clusters are Ward's tree of the rows, cut at k. Up to 10,000 rows, the tree is exact. Above, K-Means gathers the
    rows into 4,096 micro-clusters, or k if that is more, and the tree is built on these with their weights.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        Number of clusters; "auto" and "suggested" take k from :func:`estimate_k`. "coarse" merges these clusters, and
        "fine" splits them, because all levels are cuts of one tree. A level that does not exist is a UserError.
    method : {"auto", "spectral"} or callable, default="auto"
        How k is found, as in :func:`estimate_k`: "spectral" is the paper's rule, and a callable your own.
    random_state : int, RandomState, Generator or None, default=0
        The seed; None is a random one. An int gives the same labels for any `n_jobs`, and the k of `estimate_k`.
    n_jobs : int, optional
        Cores to use; all by default.

    Attributes
    ----------
    labels_, n_clusters_, k_estimate_, cohesion_ratio_, cohesion_report_, cluster_centers_, rule_
        As in :class:`AutoKMeans`; the rule is the nearest center.
    merge_tree_ : MergeTree
        The whole hierarchy.
    leaves_ : ndarray or Dask array of int, shape (n,)
        The leaf of the tree that each row belongs to.

    See Also
    --------
    AutoKMeans : K-Means that estimates k; its clusters agree better with human labels.
    estimate_k : The number of clusters alone.

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
    leaves_: PerRow
    _algorithm, _fields = "hac", {"merge_tree_": "tree", "leaves_": "leaves"}

    def cut(self, n_clusters: int) -> PerRow:
        """Return the labels at another number of clusters, without fitting again.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of leaves.

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
        labels = recode(self.leaves_, self.merge_tree_.cut(n_clusters))
        return largest_first(labels, label_sizes(labels, n_clusters))[0]
