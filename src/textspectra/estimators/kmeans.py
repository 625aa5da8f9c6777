"""K-Means that estimates k itself."""

from __future__ import annotations

from ..grouping.find import Found
from .base import AutoClusterer


class AutoKMeans(AutoClusterer):
    """K-Means on unit vectors that estimates k itself.

    K-Means runs where groups are clearest: on up to 8,192 random rows, each replaced by the mean of its 10 nearest
    rows. Linear discriminant analysis then finds the directions that tell these groups apart, K-Means runs once more
    along them, and one pass assigns all rows. With more than 512 clusters of more than 8,192 rows, and with
    ``refine=False``, it is plain K-Means on up to 16,384 random rows, and two passes over all rows.

    The first centres come from the Ward tree of up to 2,000 random rows, cut at k. So no restarts are needed, and
    the result hardly depends on the seed (up to 2,000 rows, not at all). Above 1,000 clusters, the first centres
    are random rows.

    Parameters
    ----------
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        Number of clusters; "auto" and "suggested" take that of :func:`estimate_k`. "coarse" merges these clusters, and
        "fine" splits them, along one tree. A UserError says that a level does not exist.
    refine : bool, default=True
        Find groups among neighbours, which agrees better with human labels. False is the plain algorithm.
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
        Sum of squared distances of unit rows to their centres, weighted in proportion to `sample_weight`
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
