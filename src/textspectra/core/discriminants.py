"""Clusters found among neighbors, and the linear rule that tells clusters apart."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.linalg import cholesky, solve_triangular, svd
from scipy.sparse import csr_array

from ..parallel import one_blas_thread, run_tasks
from . import F32, F64, Arguments, Array, Ints, PerRow, Rows
from .kmeans import ROWS_PER_CENTER, LinearRule, directions_of, draw_units, labels_by, nearest_rule, seeded_centers
from .rows import distinct_rows, fold_rows, sum_by_code

SMOOTHED_OVER = 10  # rows, the row itself among them; from 7 to 20, ARI changes by less than 0.01
FEWEST_REFINED = 128  # among fewer distinct rows, neighbors say too little (``benchmarks/k_recovery.md``)
REFINED_ROWS = 2**13  # at most, because the search for neighbors takes time in proportion to the square
SHRINKAGE = 0.3  # weight of a round covariance in the common one; from 0.1 to 0.5, ARI changes by less than 0.01
DISCRIMINANT_PASSES = 5  # of K-Means along the discriminants; more change nothing
LEAST_VARIANCE = 1e-4  # clusters narrower than this share of the length of a row are taken to be this wide: rounding
SEARCH_ROWS = 512  # rows whose neighbors are searched at a time
STACK = 16  # columns of which only the maximum is compared at first, in the search for the highest values of a row


def refined_rule(X: Rows, weights: Rows | None, k: int, rng: Generator) -> LinearRule | None:
    """Find `k` clusters among the neighbors of sampled rows, and return the rule that tells them apart.

    Copies of a row count once, as does any positive weight: a row that is repeated would draw a center to itself.
    Return None if there are too few rows for this number of clusters, or if a cluster would lose all its rows.
    """
    drawn, _ = draw_units(X, weights, REFINED_ROWS, rng)
    if len(drawn) == REFINED_ROWS and k * ROWS_PER_CENTER > REFINED_ROWS:
        return None
    units = distinct_rows(drawn)
    if k < 2 or k > len(units) or len(units) < FEWEST_REFINED:
        return None
    weight = np.ones(len(units))
    smooth = smoothed_rows(units, weight, n_nearest(len(units), k))
    centers = seeded_centers(smooth, weight, k, rng)
    codes = labels_by(smooth, nearest_rule(centers))
    rule = separate_clusters(units, weight, codes, k, n_passes=DISCRIMINANT_PASSES)
    return rule if len(np.unique(labels_by(units, rule))) == k else None


def n_nearest(n: int, k: int) -> int:
    """Return over how many of `n` rows each is smoothed: at most the mean size of a cluster, and a twentieth."""
    return min(SMOOTHED_OVER, n // max(k, 20))


def smoothed_rows(units: F32, weights: F64, size: int) -> F32:
    """Replace each row by the direction of the weighted mean of the `size` nearest rows, itself among them."""
    if size < 2:
        return units
    n, weight = len(units), weights.astype(np.float32)
    columns = np.ascontiguousarray(units.T)  # a twentieth faster than a transposed view

    def sums_of_nearest(start: int) -> F32:
        cosines = units[start : start + SEARCH_ROWS] @ columns
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = np.inf
        nearest = highest_columns(cosines, size).ravel()
        starts = np.arange(0, len(nearest) + 1, size)
        summed: F32 = csr_array((weight[nearest], nearest, starts), shape=cosines.shape) @ units
        return summed

    parts = run_tasks(sums_of_nearest, ((start,) for start in range(0, n, SEARCH_ROWS)))
    return directions_of(np.concatenate(parts), units)


def highest_columns(values: F32, size: int) -> Ints:
    """Return the columns of the `size` highest values of each row, in any order.

    The maximum of each stack of columns is cheap, and the `size` stacks with the highest maxima hold all these
    columns. So most columns need no partition.
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


def separate_clusters(X: Rows, weights: Rows | None, codes: PerRow, k: int, *, n_passes: int = 0) -> LinearRule:
    """Return the linear rule that tells `k` clusters apart, after `n_passes` of K-Means along their discriminants.

    Rows are seen from the mean of the centers and projected on the axes of linear discriminant analysis. There each
    cluster has a direction, and a row belongs to the cluster whose direction is nearest to its own.
    """

    def moments(rows: F32, scale: F32, weight: F64, code: Ints) -> Arguments:
        # In float32, clusters that are nearly points would get negative variances.
        units = (rows * scale[:, None]).astype(np.float64)
        return (units * weight[:, None]).T @ units, sum_by_code(units, code, k, weight), np.bincount(code, weight, k)

    with one_blas_thread():
        projection, origin = _discriminants(*fold_rows(moments, X, weights, codes))

    def projected_sums(rows: Array, scale: Array, weight: Array, code: Ints) -> tuple[F64]:
        projected = (rows * scale[:, None] - origin) @ projection
        units = directions_of(projected, np.zeros_like(projected))
        return (sum_by_code(units, code, k, weight.astype(np.float32)).astype(np.float64),)

    directions = np.zeros((k, projection.shape[1]), np.float32)
    for step in range(n_passes + 1):
        (sums,) = fold_rows(projected_sums, X, weights, codes)
        directions = directions_of(sums.astype(np.float32), directions)
        along = directions @ projection.T
        rule = LinearRule(along, (along @ -origin).astype(np.float32))
        if step < n_passes:
            codes = labels_by(X, rule)
    return rule


def _discriminants(second: F64, sums: F64, mass: F64) -> tuple[F32, F32]:
    """Return the discriminants of clusters as columns, and the mean of their centers, from sums over unit rows."""
    d, total = len(second), mass.sum()
    mean, means = sums.sum(axis=0) / total, sums[mass > 0] / mass[mass > 0, None]
    between = (means - mean) * np.sqrt(mass[mass > 0, None] / total)
    within = second / total - np.outer(mean, mean) - between.T @ between
    variance = max(np.trace(within), LEAST_VARIANCE) / d
    root = cholesky((1 - SHRINKAGE) * within + SHRINKAGE * variance * np.eye(d), lower=True)
    axes, strength, _ = svd(solve_triangular(root, between.T, lower=True), full_matrices=False)
    columns = solve_triangular(root, axes[:, strength > 1e-6 * strength[0]], lower=True, trans="T")
    # The scale does not matter; near 1 it loses nothing in float32.
    columns = columns / np.abs(columns).max(initial=np.finfo(float).tiny)
    return columns.astype(np.float32), means.mean(axis=0).astype(np.float32)
