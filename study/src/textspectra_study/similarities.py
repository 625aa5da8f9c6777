"""Cosine similarities as the tasks of a study use them: of all pairs, or of nearest neighbors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from textspectra import UserError

NEIGHBORS = 15
"""The nearest rows that a graph of neighbors joins each row with, as many as UMAP takes by default."""

EXACT_ROWS = 10_000
"""The largest sample whose neighbors are found by comparing all pairs."""

SMALLEST = 1e-6
"""The distance of equal rows in a graph of neighbors; a zero would be no edge."""


def unit_rows(X: ArrayLike) -> NDArray[np.float32]:
    """Scale every row to length 1.

    Raises
    ------
    UserError
        If a row is all zeros; the message names the row.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 2.0]])
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
    rows: NDArray[np.float32] = check_array(X, dtype=np.float32, input_name="X")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if not lengths.all():
        raise UserError(f"X is all zeros in row {int(lengths.argmin())} (counting from 0), so it has no direction.")
    units: NDArray[np.float32] = rows * (1 / lengths)[:, None]
    return units


def zscored_graph(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Standardize the cosines of unit rows over the whole matrix, and set negative values to zero.

    Examples
    --------
    >>> zscored_graph(np.eye(2, dtype=np.float32))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    cosines: NDArray[np.float32] = units @ units.T
    center, spread = cosines.mean(dtype=np.float64), cosines.std(dtype=np.float64)
    cosines -= center
    cosines /= max(spread, np.finfo(np.float32).eps)
    np.maximum(cosines, 0, out=cosines)
    return cosines


def neighbor_distances(units: NDArray[np.float32], seed: int) -> sparse.csr_array:
    """Return the distances of each row to its nearest rows as a symmetric graph.

    Up to 10,000 rows the neighbors are exact. Beyond, nearest-neighbor descent finds most of them, in less than
    quadratic time; UMAP does the same.

    Examples
    --------
    >>> neighbor_distances(np.eye(3, dtype=np.float32), 0).toarray().round(3)
    array([[0.   , 1.414, 1.414],
           [1.414, 0.   , 1.414],
           [1.414, 1.414, 0.   ]])
    """
    count = min(len(units) - 1, NEIGHBORS)
    if len(units) <= EXACT_ROWS:
        distances, nearest = NearestNeighbors(n_neighbors=count, algorithm="brute", n_jobs=1).fit(units).kneighbors()
    else:
        from pynndescent import NNDescent  # slow to import, and compiled on first use

        index = NNDescent(units, n_neighbors=count + 1, metric="euclidean", random_state=seed, n_jobs=1)
        nearest, distances = index.neighbor_graph  # with each row as its own neighbor
    rows = np.broadcast_to(np.arange(len(units))[:, None], nearest.shape)
    is_edge = (nearest >= 0) & (nearest != rows)
    edges = np.maximum(distances[is_edge], SMALLEST).astype(np.float64)
    graph = sparse.csr_array((edges, (rows[is_edge], nearest[is_edge])), shape=(len(units), len(units)))
    return sparse.csr_array(graph.maximum(graph.T))


def cosine_moments(units: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and the standard deviation of the cosines of all pairs of rows, in linear time.

    Examples
    --------
    >>> cosine_moments(np.eye(2, dtype=np.float32))
    (0.5, 0.5)
    """
    rows = units.astype(np.float64)
    mean = float(np.square(rows.sum(axis=0)).sum() / len(rows) ** 2)
    square = float(np.square(rows.T @ rows).sum() / len(rows) ** 2)
    return mean, float(np.sqrt(max(square - mean**2, 0)))
