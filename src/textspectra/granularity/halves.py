"""Whether two halves of the data, grouped apart, find the same groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import sum_by_code
from ..clustering.tree import ward_tree
from ..metrics.contingency import entropy

SEED_ROWS = 1000
"""Rows of a half whose Ward tree gives the first centres."""

PASSES = 5
"""Passes of Lloyd's algorithm over a half; more of them change the agreement by less than its error."""

JUDGED_ROWS = 2000
"""Rows of each half that are labelled by both halves' centres."""

USED_SHARE = 0.9
"""A grouping counts only if this share of its centres is the nearest one of some row."""


def half_agreement(points: NDArray[np.float32], ks: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return for each k how well the two halves of `points` (unit rows, in random order) agree on k groups.

    Each half is grouped by itself: K-Means, started from its Ward tree. The centres of both halves then
    label the same rows, and the two labellings are compared by their mutual information, adjusted for chance:
    1 means the same groups, 0 no more in common than random ones. NaN where k groups cannot be told apart.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> points = np.eye(3, dtype=np.float32)[rng.integers(3, size=60)]
    >>> half_agreement(points, np.array([3, 5]), rng)
    array([ 1., nan])
    """
    middle = len(points) // 2
    halves = points[:middle], points[middle:]
    judged = np.concatenate([half[:JUDGED_ROWS] for half in halves])
    order = rng.permutation(len(judged))
    labellings = [[(judged @ centers.T).argmax(axis=1) for centers in _half_centers(half, ks)] for half in halves]
    return np.array(
        [_agreement(ours, theirs, k, order) for ours, theirs, k in zip(*labellings, ks.tolist(), strict=True)]
    )


def _half_centers(half: NDArray[np.float32], ks: NDArray[np.intp]) -> list[NDArray[np.float32]]:
    """Return k centres of unit length for each k, from one Ward tree."""
    seeds = half[:SEED_ROWS]
    merged = ward_tree(seeds, np.ones(len(seeds))).linkage[:, :2].astype(np.intp)
    n = len(seeds)
    sums = np.concatenate([seeds, np.empty((n - 1, seeds.shape[1]), np.float32)])
    parent = np.full(2 * n - 1, 2 * n)
    for step, (left, right) in enumerate(merged):
        sums[n + step] = sums[left] + sums[right]
        parent[left] = parent[right] = n + step
    found = []
    for k in ks:
        nodes = np.flatnonzero(parent[: 2 * n - k] >= 2 * n - k)
        found.append(_lloyd(half, _unit_centers(sums[nodes], sums[nodes])))
    return found


def _lloyd(half: NDArray[np.float32], centers: NDArray[np.float32]) -> NDArray[np.float32]:
    ones = np.ones(len(half), np.float32)
    for _ in range(PASSES):
        nearest = (half @ centers.T).argmax(axis=1)
        centers = _unit_centers(sum_by_code(half, nearest, len(centers), ones), centers)
    return centers


def _unit_centers(sums: NDArray[np.float32], otherwise: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale sums to length 1; a sum without direction leaves the centre as it was."""
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return np.where(length > 1e-6, sums / np.maximum(length, 1e-6), otherwise).astype(np.float32)


def _agreement(ours: NDArray[np.intp], theirs: NDArray[np.intp], k: int, order: NDArray[np.intp]) -> float:
    """Return the adjusted mutual information; what chance gives is measured on one random permutation."""
    sizes = [np.bincount(labels, minlength=k) for labels in (ours, theirs)]
    if min(np.count_nonzero(size) for size in sizes) < USED_SHARE * k:
        return float("nan")
    apart = [entropy(size) for size in sizes]
    shared = sum(apart) - entropy(np.bincount(ours * k + theirs))
    by_chance = sum(apart) - entropy(np.bincount(ours * k + theirs[order]))
    return float((shared - by_chance) / max(sum(apart) / 2 - by_chance, 1e-9))
