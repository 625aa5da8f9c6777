"""Lloyd's algorithm on unit rows, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import Folded
from ..arrays.rows import fold_rows, map_unit_rows, sum_by_code

TOLERANCE = 1e-4
"""Training stops when a pass lowers the inertia by less than this share."""

MAX_PASSES = 100


class LinearRule(NamedTuple):
    """Assign unit rows to clusters: the one with the highest ``row @ direction + offset`` wins.

    Both ways to describe clusters take this form: the nearest centre (:func:`nearest_rule`), and the discriminants
    of :func:`~textspectra.clustering.refine.separate_groups`. If a cluster has several directions, as one that was
    merged from others has, `clusters` holds the cluster of each direction.
    """

    directions: NDArray[np.float32]
    offsets: NDArray[np.float32]
    clusters: NDArray[np.intp] | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.offsets) if self.clusters is None else int(self.clusters.max()) + 1

    def merged(self, codes: NDArray[np.intp]) -> LinearRule:
        """Return the rule by which cluster i becomes cluster ``codes[i]``; -1 leaves a cluster out."""
        clusters = codes if self.clusters is None else codes[self.clusters]
        kept = clusters >= 0
        return LinearRule(self.directions[kept], self.offsets[kept], clusters[kept])

    def numbered(self, order: NDArray[np.intp]) -> LinearRule:
        """Return the rule for some clusters in another order."""
        if self.clusters is None:
            return LinearRule(self.directions[order], self.offsets[order])
        codes = np.full(self.n_clusters, -1)
        codes[order] = np.arange(len(order))
        return self.merged(codes)

    def apply(
        self, rows: NDArray[np.float32], scale: NDArray[np.float32]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the cluster of each scaled row, and its score."""
        scores = rows @ self.directions.T
        scores *= scale[:, None]
        scores += self.offsets
        best = scores.argmax(axis=1)
        return best if self.clusters is None else self.clusters[best], scores[np.arange(len(scores)), best]


def nearest_rule(centers: NDArray[np.float32]) -> LinearRule:
    """Return the rule that assigns each row to its nearest centre; a score is 1/2 - (squared distance) / 2."""
    return LinearRule(centers, np.einsum("ij,ij->i", centers, centers) / -2)


class Pass(NamedTuple):
    """The result of one pass over the rows: their labels, the sum and mass of each cluster, the sum of the scores."""

    labels: Any
    sums: NDArray[np.float64]
    mass: NDArray[np.float64]
    score: float

    @property
    def inertia(self) -> float:
        """Sum of the squared distances to the centres, if the rule was that of the nearest centre."""
        return max(float(self.mass.sum()) - 2 * self.score, 0.0)


def labels_by(X: Any, rule: LinearRule, *, n_jobs: int | None = None) -> Any:
    """Return the cluster of each row by a rule; on Dask it is computed when needed."""
    return map_unit_rows(lambda rows, scale: rule.apply(rows, scale)[0], X, n_jobs=n_jobs)


def center_distances(X: Any, centers: NDArray[np.float32], *, n_jobs: int | None = None) -> Any:
    """Return the distance of each row, scaled to length 1, to each centre; on Dask it is computed when needed."""
    # In float64: the square root would turn the rounding of float32 into errors of 0.0003 near 0.
    wide = centers.astype(np.float64)
    squares = np.einsum("ij,ij->i", wide, wide)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        units = rows * scale[:, None].astype(np.float64)
        found = squares + np.einsum("ij,ij->i", units, units)[:, None] - 2 * (units @ wide.T)
        distances: NDArray[np.float32] = np.sqrt(np.maximum(found, 0)).astype(np.float32)
        return distances

    return map_unit_rows(on_block, X, dtype=np.float32, n_jobs=n_jobs)


def label_pass(X: Any, weights: Any, rule: LinearRule, *, labelled: bool = True, n_jobs: int | None = None) -> Pass:
    """Assign each row by a rule and sum up the rows of each cluster; weights of None stand for ones.

    With ``labelled=False``, the labels are not kept.
    """
    k = len(rule.directions)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Folded:
        labels, scores = rule.apply(rows, scale)
        sums = sum_by_code(rows, labels, k, scale * weight.astype(np.float32)).astype(np.float64)
        return Folded((sums, np.bincount(labels, weight, k), float(scores @ weight)), labels if labelled else None)

    (sums, mass, score), labels = fold_rows(on_block, X, weights, n_jobs=n_jobs)
    return Pass(labels, sums, mass, score)


def moved_centers(result: Pass, centers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the rows of each centre; a centre without rows stays."""
    mass = result.mass[:, None]
    return np.where(mass > 0, result.sums / np.maximum(mass, np.finfo(float).tiny), centers).astype(np.float32)


def train_centers(
    units: NDArray[np.float32],
    weights: NDArray[np.float64] | None,
    centers: NDArray[np.float32],
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Run passes until the inertia settles. A centre without rows moves to the row that is farthest from its centre.

    Examples
    --------
    >>> import numpy as np
    >>> units = np.eye(3, dtype=np.float32)[[0, 0, 1, 2]]
    >>> train_centers(units, np.ones(4), units[[0, 1, 2]])
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """
    inertia = np.inf
    for _ in range(max_passes):
        result = label_pass(units, weights, nearest_rule(centers), labelled=False, n_jobs=n_jobs)
        before, centers = centers, moved_centers(result, centers)
        empty = np.flatnonzero(result.mass == 0)
        if len(empty):
            worst = _worst_rows(units, before, n_jobs)[: len(empty)]
            centers[empty[: len(worst)]] = units[worst]
        elif inertia - result.inertia <= TOLERANCE * result.inertia:
            break
        inertia = result.inertia
    return centers


def train_directions(units: NDArray[np.float32], centers: NDArray[np.float32], n_passes: int) -> NDArray[np.float32]:
    """Run a fixed number of passes with centres of length 1 (spherical K-Means), on few rows and in one thread.

    For rows that are known to have length 1 this needs neither their lengths nor the inertia, which makes it 1.4 times
    as fast as :func:`label_pass`. The estimate of k spends most of its time here.
    """
    ones = np.ones(len(units), np.float32)
    for _ in range(n_passes):
        nearest = (units @ centers.T).argmax(axis=1)
        centers = directions_of(sum_by_code(units, nearest, len(centers), ones), centers)
    return centers


def directions_of(sums: NDArray[np.float32], otherwise: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale sums of rows to length 1; where a sum has no direction, take the row of `otherwise`."""
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return np.where(length > 1e-6, sums / np.maximum(length, 1e-6), otherwise).astype(np.float32)


def _worst_rows(units: NDArray[np.float32], centers: NDArray[np.float32], n_jobs: int | None) -> NDArray[np.intp]:
    """Return the rows, the one farthest from its centre first."""
    rule = nearest_rule(centers)
    scores = map_unit_rows(lambda rows, scale: rule.apply(rows, scale)[1], units, dtype=np.float32, n_jobs=n_jobs)
    return np.argsort(scores, kind="stable")
