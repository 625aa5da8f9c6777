"""The base of both estimators: checks, the choice of k, the score, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .blocks import as_given
from .clusters import Algorithm, Found, find_clusters, labels_of_leaves
from .cohesion import CohesionReport
from .estimate import KEstimate
from .kmeans import LinearRule, center_distances, label_pass, label_sizes, labels_by, largest_first, nearest_rule
from .validation import Level, RandomState, check_embeddings, check_weights
from .ward import MergeTree


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
            How often each row counts, in sizes and centers. Refined groups, and k from 64 distinct rows on, are
            found among distinct rows: there a row counts once, or not at all if its weight is zero.

        Returns
        -------
        self
        """
        X = check_embeddings(X, estimator=self)
        found = find_clusters(
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

        It is the one whose center is nearest or, with ``refine=True``, whose direction is nearest along the
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
        """Return the distance of each row, scaled to length 1, to the center of each cluster.

        With ``refine=True``, the nearest center is not always that of the cluster from :meth:`predict`.

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
        return -label_pass(X, weights, nearest_rule(self.cluster_centers_), labeled=False, n_jobs=self.n_jobs).inertia

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


class AutoAgglomerative(AutoClusterer):
    """Ward's hierarchical clustering of unit vectors that estimates k itself and can be cut anywhere.

    The clusters are those of :class:`AutoKMeans`, and a tree is built around them by Ward's rule: it completes each of
    these clusters before it merges any two. So a cut at fewer clusters merges them, and a cut at more splits them. Each
    leaf of the tree is replaced by the mean of its 10 nearest leaves before. Up to 2,000 rows, each row is a leaf.
    Above, K-Means first gathers the rows into 1,000 micro-clusters, or 8 for each cluster if that is more, and these
    are the leaves; each lies in one cluster.

    With ``refine=False``, it is the plain algorithm: Ward's tree of the leaves as they are, cut at k. There each row is
    a leaf up to 10,000 rows, and above, the leaves are 4,096 micro-clusters with their weights.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        Number of clusters; "auto" and "suggested" take that of :func:`estimate_k`. "coarse" merges these clusters, and
        "fine" splits them, along one tree. A UserError says that a level does not exist.
    refine : bool, default=True
        Find groups among neighbors, which agrees better with human labels. False is the plain algorithm.
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

    _algorithm = "hac"
    merge_tree_: MergeTree
    leaves_: Any

    def _keep(self, found: Found) -> None:
        assert found.tree is not None  # noqa: S101 - for the type checker
        self.merge_tree_, self.leaves_ = found.tree, found.leaves

    def cut(self, n_clusters: int) -> Any:
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
        labels = labels_of_leaves(self.merge_tree_.cut(n_clusters), self.leaves_)
        return largest_first(labels, label_sizes(labels, n_clusters))[0]


class AutoKMeans(AutoClusterer):
    """K-Means on unit vectors that estimates k itself.

    K-Means runs where groups are clearest: on up to 8,192 random rows, each replaced by the mean of its 10 nearest
    rows. Linear discriminant analysis then finds the directions that tell these groups apart, K-Means runs once more
    along them, and one pass assigns all rows. With more than 512 clusters of more than 8,192 rows, and with
    ``refine=False``, it is plain K-Means on up to 16,384 random rows, and two passes over all rows.

    The first centers come from the Ward tree of up to 2,000 random rows, cut at k. So no restarts are needed, and
    the result hardly depends on the seed (up to 2,000 rows, not at all). Above 1,000 clusters, the first centers
    are random rows.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        Number of clusters; "auto" and "suggested" take that of :func:`estimate_k`. "coarse" merges these clusters, and
        "fine" splits them, along one tree. A UserError says that a level does not exist.
    refine : bool, default=True
        Find groups among neighbors, which agrees better with human labels. False is the plain algorithm.
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
        What :meth:`predict` uses: the cluster with the highest ``x @ direction + offset`` wins, for x of length 1.
    inertia_ : float
        Sum of squared distances of unit rows to their centers, weighted in proportion to `sample_weight`
        with a largest weight of 1.

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

    _algorithm = "kmeans"
    inertia_: float

    def _keep(self, found: Found) -> None:
        self.inertia_ = found.inertia
