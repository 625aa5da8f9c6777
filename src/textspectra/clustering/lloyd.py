"""Lloyd's algorithm on unit rows, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..rows import map_row_blocks, sum_by_code

TOLERANCE = 1e-5
"""Lloyd's algorithm stops when a pass lowers the inertia by less than this share."""

MAX_PASSES = 100


class Pass(NamedTuple):
    """What one pass over the rows yields: each row's nearest centre, and the sums that move the centres."""

    labels: NDArray[np.intp]
    distances: NDArray[np.float32]
    sums: NDArray[Any]
    mass: NDArray[Any]
    inertia: float


def nearest_centers(
    rows: NDArray[np.float32], scale: NDArray[np.float32], centers: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the nearest centre of each scaled row, and the squared Euclidean distance to it.

    Examples
    --------
    >>> import numpy as np
    >>> centers = np.eye(2, dtype=np.float32)
    >>> nearest_centers(np.array([[5, 0], [0, 2]], np.float32), np.array([0.2, 0.5], np.float32), centers)
    (array([0, 1]), array([0., 0.], dtype=float32))
    """
    scores = rows @ centers.T
    scores *= scale[:, None]
    scores -= np.einsum("ij,ij->i", centers, centers) / 2
    labels = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), labels]
    return labels, np.maximum(1 - 2 * best, 0)


def lloyd_pass(
    X: NDArray[Any], weights: NDArray[np.float64], centers: NDArray[np.float32], *, n_jobs: int | None = None
) -> Pass:
    """Assign every row to its nearest centre and sum up what each centre got.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 4.0]])
    >>> lloyd_pass(X, np.ones(3), np.eye(2, dtype=np.float32)).labels
    array([0, 1, 1])
    """
    k = len(centers)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Pass:
        labels, distances = nearest_centers(rows, scale, centers)
        sums = sum_by_code(rows, labels, k, scale * weight.astype(np.float32))
        return Pass(labels, distances, sums, np.bincount(labels, weight, k), float(distances @ weight))

    parts = map_row_blocks(on_block, X, weights, n_jobs=n_jobs)
    sums = np.zeros(centers.shape)
    for part in parts:
        sums += part.sums
    return Pass(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.distances for part in parts]),
        sums,
        np.sum([part.mass for part in parts], axis=0),
        float(np.sum([part.inertia for part in parts])),
    )


def moved_centers(result: Pass, centers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the rows of each centre; a centre without rows stays where it is.

    Examples
    --------
    >>> import numpy as np
    >>> centers = np.eye(2, dtype=np.float32)
    >>> moved_centers(lloyd_pass(np.array([[1.0, 0.0], [4.0, 3.0]]), np.ones(2), centers), centers)
    array([[0.9, 0.3],
           [0. , 1. ]], dtype=float32)
    """
    mass = result.mass[:, None]
    return np.where(mass > 0, result.sums / np.maximum(mass, np.finfo(float).tiny), centers).astype(np.float32)


def train_centers(
    units: NDArray[np.float32],
    weights: NDArray[np.float64],
    centers: NDArray[np.float32],
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Run Lloyd's algorithm until it settles. A centre that loses all its rows moves to the row that fits worst.

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
        result = lloyd_pass(units, weights, centers, n_jobs=n_jobs)
        centers = moved_centers(result, centers)
        empty = np.flatnonzero(result.mass == 0)
        if len(empty):
            worst = np.argsort(-result.distances * (weights > 0), kind="stable")[: len(empty)]
            centers[empty[: len(worst)]] = units[worst]
        elif inertia - result.inertia <= TOLERANCE * result.inertia:
            break
        inertia = result.inertia
    return centers
