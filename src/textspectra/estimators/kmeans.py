"""K-Means with its own k."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import count_draws
from ..arrays.rows import SumsAndSizes, sum_by_code, unit_rows
from ..clustering.lloyd import MAX_PASSES, lloyd_pass, moved_centers, train_centers
from ..clustering.tree import ward_tree
from .base import AutoClusterer, largest_first

SEED_ROWS = 2000
"""Rows whose Ward tree, cut at k, gives the first centres."""

TRAINING_ROWS = 2**16
"""Rows on which centres are trained before they meet all rows; at least ROWS_A_CENTER for each centre."""

ROWS_A_CENTER = 16


class AutoKMeans(AutoClusterer):
    """K-Means on unit vectors that needs no k.

    The first centres come from the Ward tree of up to 2,000 random rows, cut at k, so there
    are no restarts, and the inertia hardly depends on the seed (up to 2,000 rows nothing does).
    Up to 65,536 rows, Lloyd's algorithm runs on all of them; above, on a random sample of that size, and then once more
    on everything. (From 1,000 clusters on, random rows are the first centres.)

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
        Means of the unit rows.
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

    inertia_: float

    def _cluster(self, X: Any, weights: Any, k: int, rng: np.random.Generator) -> SumsAndSizes | None:
        centers = sample_centers(X, weights, k, rng, n_jobs=self.n_jobs)
        if len(X) > training_size(k):
            centers = moved_centers(lloyd_pass(X, weights, centers, labelled=False, n_jobs=self.n_jobs), centers)
        result = lloyd_pass(X, weights, centers, n_jobs=self.n_jobs)
        self.labels_, order = largest_first(result.labels, result.mass)
        self.cluster_centers_, self.inertia_ = centers[order], result.inertia
        return SumsAndSizes(result.sums[order], result.mass[order].astype(np.intp)) if weights is None else None


def training_size(k: int) -> int:
    """Return the number of rows on which `k` centres are trained.

    Examples
    --------
    >>> training_size(10), training_size(10_000)
    (65536, 160000)
    """
    return max(TRAINING_ROWS, ROWS_A_CENTER * k)


def sample_centers(
    X: Any,
    weights: Any,
    k: int,
    rng: np.random.Generator,
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Train `k` centres on a random sample of the rows that count, or on all of them if they are few.

    Examples
    --------
    >>> import numpy as np
    >>> sample_centers(np.eye(3), np.array([1.0, 0.0, 1.0]), 1, np.random.default_rng(0))
    array([[0.5, 0. , 0.5]], dtype=float32)
    """
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    _, units, weight = training_rows(draws, _draw(int(draws.totals[0]), training_size(k), rng))
    if k > SEED_ROWS // 2:
        centers = units[_draw(len(units), k, rng)]
    else:
        seeds = _draw(len(units), SEED_ROWS, rng)
        centers = _ward_centers(units[seeds], weight[seeds], min(k, len(seeds)))
    return train_centers(units, weight, centers, max_passes=max_passes, n_jobs=n_jobs)


def _draw(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def training_rows(
    draws: Any, positions: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float64]]:
    """Bring rows here, wherever they are: their numbers, the rows scaled to length 1, and their weights.

    Examples
    --------
    >>> import numpy as np
    >>> training_rows(count_draws([np.array([[3.0, 0.0], [0.0, 2.0]]), None]), np.array([1]))
    (array([1]), array([[0., 1.]], dtype=float32), array([1.]))
    """
    rows, part, weight = draws.take(0, positions)
    return rows, unit_rows(part, first_row=rows), np.ones(len(rows)) if weight is None else weight


def _ward_centers(units: NDArray[np.float32], weights: NDArray[np.float64], k: int) -> NDArray[np.float32]:
    codes = ward_tree(units, weights).cut(k)
    sums = sum_by_code(units, codes, k, weights.astype(np.float32))
    return (sums / np.bincount(codes, weights)[:, None]).astype(np.float32)
