"""Ward's hierarchical clustering that estimates k itself."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..clustering.numbering import label_sizes, largest_first
from ..clustering.tree import MergeTree
from ..grouping.agglomerative import labels_of_leaves
from ..grouping.find import Found
from .base import AutoClusterer


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
