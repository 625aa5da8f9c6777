"""Groups found among neighbors, and the linear rule that tells groups apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular, svd
from scipy.sparse import csr_array

from ..parallel import one_blas_thread, run_tasks
from .kmeans import ROWS_PER_CENTER, LinearRule, directions_of, draw_units, labels_by, nearest_rule, seeded_centers
from .memory_blocks import Folded
from .rows import distinct_rows, fold_rows, sum_by_code

NEIGHBORS = 10
"""A row is smoothed over this many rows, itself among them; from 7 to 20, ARI changes by less than 0.01."""

FEWEST_REFINED = 128
"""Groups of fewer distinct rows are not refined: neighbors say too little there (``benchmarks/k_recovery.md``)."""

REFINED_ROWS = 2**13
"""Groups are refined on this many rows at most: the search for neighbors takes time in proportion to the square."""

SHRINKAGE = 0.3
"""Weight of a round covariance in that of the groups; from 0.1 to 0.5, ARI changes by less than 0.01."""

PASSES = 5
"""Passes of K-Means along the discriminants; more change nothing."""

LEAST_VARIANCE = 1e-4
"""Groups narrower than this share of the length of a row are taken to be this wide, because of rounding."""

SEARCH_ROWS = 512
"""Rows whose neighbors are searched at a time."""

STACK = 16
"""Columns of which only the maximum is compared at first, in the search for the highest values of a row."""


def refined_rule(
    X: Any, weights: Any, k: int, rng: np.random.Generator, *, n_jobs: int | None = None
) -> LinearRule | None:
    """Find `k` groups among the neighbors of sampled rows, and return the rule that tells them apart.

    Copies of a row do not count, nor do weights beyond zero or not: a row that is repeated would draw a
    center to itself.
    Return None if there are too few rows, or too few for this number of groups, or if a group would lose all its rows.
    """
    drawn, _ = draw_units(X, weights, REFINED_ROWS, rng)
    if len(drawn) == REFINED_ROWS and k * ROWS_PER_CENTER > REFINED_ROWS:
        return None
    units = distinct_rows(drawn)
    if k < 2 or k > len(units) or len(units) < FEWEST_REFINED:
        return None
    weight = np.ones(len(units))
    smooth = smoothed_rows(units, weight, n_nearest(len(units), k), n_jobs=n_jobs)
    centers = seeded_centers(smooth, weight, k, rng, n_jobs=n_jobs)
    codes = labels_by(smooth, nearest_rule(centers), n_jobs=n_jobs)
    rule = separate_clusters(units, weight, codes, k, n_passes=PASSES, n_jobs=n_jobs)
    return rule if len(np.unique(labels_by(units, rule, n_jobs=n_jobs))) == k else None


def n_nearest(n: int, k: int) -> int:
    """Return over how many of `n` rows each is smoothed: no more than a group has on average, nor a twentieth."""
    return min(NEIGHBORS, n // max(k, 20))


def smoothed_rows(
    units: NDArray[np.float32], weights: NDArray[np.float64], size: int, *, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Replace each row by the direction of the weighted mean of the `size` nearest rows, itself among them."""
    if size < 2:
        return units
    n, weight = len(units), weights.astype(np.float32)
    columns = np.ascontiguousarray(units.T)  # a twentieth faster than a transposed view

    def sums_of_nearest(start: int) -> NDArray[np.float32]:
        cosines = units[start : start + SEARCH_ROWS] @ columns
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = np.inf
        nearest = highest_columns(cosines, size).ravel()
        starts = np.arange(0, len(nearest) + 1, size)
        summed: NDArray[np.float32] = csr_array((weight[nearest], nearest, starts), shape=cosines.shape) @ units
        return summed

    parts = run_tasks(sums_of_nearest, ((start,) for start in range(0, n, SEARCH_ROWS)), n_jobs=n_jobs)
    return directions_of(np.concatenate(parts), units)


def highest_columns(values: NDArray[np.float32], size: int) -> NDArray[np.intp]:
    """Return the columns of the `size` highest values of each row, in any order.

    The maximum of each stack of columns is cheap, and the `size` stacks with the highest maxima hold all columns
    looked for. So most columns need no partition.
    """
    n = values.shape[1]
    if n < 2 * STACK * size:
        return np.argpartition(values, n - size, axis=1)[:, n - size :]
    width, rest = n // STACK, np.arange(n - n % STACK, n)
    maxima = values[:, : n - len(rest)].reshape(len(values), STACK, width).max(axis=1)
    stacks = np.argpartition(maxima, width - size, axis=1)[:, None, width - size :]
    stacked = (stacks + width * np.arange(STACK)[:, None]).reshape(len(values), -1)
    candidates = np.hstack([stacked, np.broadcast_to(rest, (len(values), len(rest)))])
    best = highest_columns(np.take_along_axis(values, candidates, axis=1), size)
    return np.take_along_axis(candidates, best, axis=1)


def separate_clusters(
    X: Any, weights: Any, codes: NDArray[np.intp], k: int, *, n_passes: int = 0, n_jobs: int | None = None
) -> LinearRule:
    """Return the linear rule that tells `k` groups apart, after some passes of K-Means along their discriminants.

    The rows are seen from the mean of the centers and projected on the discriminants of linear discriminant analysis.
    There each group has a direction, and a row belongs to the group whose direction is nearest to its own.
    """

    def moments(rows: Any, scale: Any, weight: Any, code: Any) -> Folded:
        # In float32, groups that are nearly points would get negative variances.
        units = (rows * scale[:, None]).astype(np.float64)
        return Folded(
            ((units * weight[:, None]).T @ units, sum_by_code(units, code, k, weight), np.bincount(code, weight, k))
        )

    with one_blas_thread():
        projection, origin = _discriminants(*fold_rows(moments, X, weights, codes, n_jobs=n_jobs).statistics)

    def projected_sums(rows: Any, scale: Any, weight: Any, code: Any) -> Folded:
        projected = (rows * scale[:, None] - origin) @ projection
        units = directions_of(projected, np.zeros_like(projected))
        return Folded((sum_by_code(units, code, k, weight.astype(np.float32)).astype(np.float64),))

    directions = np.zeros((k, projection.shape[1]), np.float32)
    for step in range(n_passes + 1):
        sums = fold_rows(projected_sums, X, weights, codes, n_jobs=n_jobs).statistics[0]
        directions = directions_of(sums.astype(np.float32), directions)
        along = directions @ projection.T
        rule = LinearRule(along, (along @ -origin).astype(np.float32))
        if step < n_passes:
            codes = labels_by(X, rule, n_jobs=n_jobs)
    return rule


def _discriminants(
    second: NDArray[np.float64], sums: NDArray[np.float64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the discriminants of groups as columns, and the mean of the centers, from the sums over unit rows."""
    d, total = len(second), mass.sum()
    mean, means = sums.sum(axis=0) / total, sums[mass > 0] / mass[mass > 0, None]
    between = (means - mean) * np.sqrt(mass[mass > 0, None] / total)
    within = second / total - np.outer(mean, mean) - between.T @ between
    variance = max(np.trace(within), LEAST_VARIANCE) / d
    root = cholesky((1 - SHRINKAGE) * within + SHRINKAGE * variance * np.eye(d), lower=True)
    axes, strength, _ = svd(solve_triangular(root, between.T, lower=True), full_matrices=False)
    found = solve_triangular(root, axes[:, strength > 1e-6 * strength[0]], lower=True, trans="T")
    # The scale does not matter; near 1 it loses nothing in float32.
    found = found / np.abs(found).max(initial=np.finfo(float).tiny)
    return found.astype(np.float32), means.mean(axis=0).astype(np.float32)
