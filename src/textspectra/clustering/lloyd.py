"""Lloyd's algorithm on unit rows, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import Folded
from ..arrays.rows import fold_rows, map_unit_rows, sum_by_code

TOLERANCE = 1e-5
"""Training stops when a pass lowers the inertia by less than this share."""

MAX_PASSES = 100


class Pass(NamedTuple):
    """The result of one pass over the rows: the nearest centre of each row, and the sums that move the centres."""

    labels: Any
    sums: NDArray[np.float64]
    mass: NDArray[np.float64]
    inertia: float


def nearest_centers(
    rows: NDArray[np.float32], scale: NDArray[np.float32], centers: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the nearest centre of each scaled row, and the squared Euclidean distance to it."""
    scores = rows @ centers.T
    scores *= scale[:, None]
    scores -= np.einsum("ij,ij->i", centers, centers) / 2
    labels = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), labels]
    return labels, np.maximum(1 - 2 * best, 0)


def nearest_labels(X: Any, centers: NDArray[np.float32], *, n_jobs: int | None = None) -> Any:
    """Return the number of the nearest centre of each row; on Dask it is computed when needed."""
    return map_unit_rows(lambda rows, scale: nearest_centers(rows, scale, centers)[0], X, n_jobs=n_jobs)


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


def lloyd_pass(
    X: Any, weights: Any, centers: NDArray[np.float32], *, labelled: bool = True, n_jobs: int | None = None
) -> Pass:
    """Assign each row to its nearest centre and sum up the rows of each centre; weights of None stand for ones.

    With ``labelled=False``, the labels are not kept.
    """
    k = len(centers)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Folded:
        labels, distances = nearest_centers(rows, scale, centers)
        sums = sum_by_code(rows, labels, k, scale * weight.astype(np.float32)).astype(np.float64)
        return Folded((sums, np.bincount(labels, weight, k), float(distances @ weight)), labels if labelled else None)

    (sums, mass, inertia), labels = fold_rows(on_block, X, weights, n_jobs=n_jobs)
    return Pass(labels, sums, mass, inertia)


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
        result = lloyd_pass(units, weights, centers, labelled=False, n_jobs=n_jobs)
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
    as fast as :func:`lloyd_pass`. The estimate of k spends most of its time here.
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
    distances = map_unit_rows(
        lambda rows, scale: nearest_centers(rows, scale, centers)[1], units, dtype=np.float32, n_jobs=n_jobs
    )
    return np.argsort(-distances, kind="stable")
