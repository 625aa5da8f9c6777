"""Compare two clusterings of the same rows: which clusters are the same, and numbers that stay with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def same_clusters(old_labels: NDArray[np.intp], new_labels: NDArray[np.intp]) -> dict[int, int]:
    """Find the clusters that have exactly the same rows in two clusterings.

    Parameters
    ----------
    old_labels, new_labels : ndarray of n int
        Cluster numbers from 0 up; -1 for rows without a cluster.

    Returns
    -------
    dict of int to int
        The old number of each such cluster, by its new number.

    Examples
    --------
    >>> import numpy as np
    >>> same_clusters(np.array([0, 0, 1, 2, -1]), np.array([1, 1, 0, 0, -1]))
    {1: 0}
    """
    n_new = int(new_labels.max(initial=-1)) + 2
    pairs = np.unique((old_labels.astype(np.int64) + 1) * n_new + new_labels + 1)
    old, new = np.divmod(pairs, n_new)
    # A cluster is the same if its rows go to one cluster only, and that one gets no other rows.
    same = (np.bincount(old)[old] == 1) & (np.bincount(new)[new] == 1) & (old > 0) & (new > 0)
    return dict(zip((new[same] - 1).tolist(), (old[same] - 1).tolist(), strict=True))


def relabel_like(old_labels: NDArray[np.intp], new_labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Renumber `new_labels` so that a cluster that is also in `old_labels` keeps its number.

    With k new clusters, an unchanged cluster keeps its number if that is below k. All other clusters take the
    lowest free numbers, in the order of `new_labels`.

    Parameters
    ----------
    old_labels, new_labels : ndarray of n int
        Cluster numbers from 0 up, without gaps in `new_labels`; -1 for rows without a cluster.

    Returns
    -------
    ndarray of n int

    Examples
    --------
    >>> import numpy as np
    >>> relabel_like(np.array([0, 0, 1, 2, -1]), np.array([2, 2, 0, 1, -1]))
    array([ 0,  0,  1,  2, -1])
    >>> relabel_like(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 0]))  # 1 and 2 are merged
    array([0, 0, 1, 1])
    """
    k = int(new_labels.max(initial=-1)) + 1
    kept = {new: old for new, old in same_clusters(old_labels, new_labels).items() if old < k}
    free = iter(sorted(set(range(k)) - set(kept.values())))
    numbers = [kept[label] if label in kept else next(free) for label in range(k)]
    return np.array([*numbers, -1], np.intp)[new_labels]
