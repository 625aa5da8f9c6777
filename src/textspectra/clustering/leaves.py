"""Leaves of a merge tree: single rows, or micro-clusters where there are too many rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import align, count_draws, keep, map_rows
from ..arrays.rows import cluster_sums
from .centers import sample_centers, training_rows
from .lloyd import label_pass, labels_by, nearest_rule

MICRO_PASSES = 2
"""Passes of Lloyd's algorithm that shape the micro-clusters."""


class Leaves(NamedTuple):
    """The mean of the unit rows of each leaf, the weight of each leaf, and the leaf of each row."""

    means: NDArray[np.float32]
    mass: NDArray[np.float64]
    of_row: Any


def gather_leaves(
    X: Any, weights: Any, rng: np.random.Generator, *, exact_rows: int, n_leaves: int, n_jobs: int | None = None
) -> Leaves:
    """Make each row that counts a leaf; if more than `exact_rows` count, K-Means gathers them into `n_leaves` leaves.

    Empty leaves are left out. A row of weight 0 gets the nearest leaf.
    """
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    counting = int(draws.totals[0])
    if counting <= exact_rows:
        rows, units, mass = training_rows(draws, np.arange(counting))
        if counting == len(X):
            return Leaves(units, mass, align(rows, X))

        def leaf(first_row: int, weight: NDArray[np.float64], nearest: NDArray[np.intp]) -> NDArray[np.intp]:
            numbers = np.arange(first_row, first_row + len(weight))
            return np.where(weight > 0, np.searchsorted(rows, numbers), nearest)

        return Leaves(units, mass, keep(map_rows(leaf, weights, labels_by(X, nearest_rule(units), n_jobs=n_jobs))))
    centers = sample_centers(X, weights, n_leaves, rng, max_passes=MICRO_PASSES, n_jobs=n_jobs)
    labels, sums, mass, _ = label_pass(X, weights, nearest_rule(centers), n_jobs=n_jobs)
    filled = np.flatnonzero(mass)
    if len(filled) < len(centers):
        labels = keep(labels_by(X, nearest_rule(centers[filled]), n_jobs=n_jobs))
    return Leaves((sums[filled] / mass[filled, None]).astype(np.float32), mass[filled], labels)


def split_leaves(leaves: Leaves, X: Any, weights: NDArray[np.float64], groups: NDArray[np.intp]) -> Leaves:
    """Split the leaves that hold rows of several groups (numbered from 0), so that each leaf lies in one group.

    Examples
    --------
    >>> import numpy as np
    >>> both = Leaves(np.array([[0.5, 0.5]], np.float32), np.array([3.0]), np.array([0, 0]))
    >>> split_leaves(both, np.eye(2), np.array([1.0, 2.0]), np.array([1, 0]))
    Leaves(means=array([[0., 1.],
           [1., 0.]], dtype=float32), mass=array([2., 1.]), of_row=array([1, 0]))
    """
    pairs, of_row = np.unique(groups * len(leaves.mass) + leaves.of_row, return_inverse=True)
    if len(pairs) == len(leaves.mass):
        return leaves
    mass = np.bincount(of_row, weights).astype(np.float64)
    sums = cluster_sums(X, of_row, len(pairs), weights=weights)
    return Leaves((sums / mass[:, None]).astype(np.float32), mass, of_row)
