"""How well two halves of the data, clustered separately, agree on k groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import sum_by_code
from ..clustering.lloyd import directions_of, train_directions
from ..clustering.tree import ward_tree
from ..metrics.contingency import entropy

MICRO_CLUSTERS, MICRO_PASSES = 512, 2
"""Each half is reduced to this many small clusters, in this many passes; their Ward tree gives the first centres."""

PASSES = 1
"""Passes of Lloyd's algorithm over a half for each k; a second one raises the agreement by about 0.01 only."""

JUDGED_ROWS = 2000
"""This many rows of each half are labelled by the centres of both."""

USED_SHARE = 0.9
"""A grouping is used only if at least this share of its centres has rows."""


def half_agreement(points: NDArray[np.float32], ks: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return for each k how well the two halves of `points` (unit rows in random order) agree on k groups.

    Each half is clustered by K-Means, which starts from the Ward tree of that half. Then the centres of both halves
    label the same rows. The agreement is the adjusted mutual information of the two labellings: 1 for the same
    groups, 0 for no more than chance. It is NaN if k groups cannot be told apart.

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
    """Return k centres of length 1 for each k, all from one Ward tree; fewer if there are fewer distinct rows."""
    sums, sizes = _micro_clusters(half)
    n = len(sums)
    means: NDArray[np.float32] = np.divide(sums, sizes[:, None], dtype=np.float32)
    merged = ward_tree(means, sizes).linkage[:, :2].astype(np.intp)
    sums = np.concatenate([sums, np.empty((n - 1, sums.shape[1]), np.float32)])
    parent = np.full(2 * n - 1, 2 * n)
    for step, (left, right) in enumerate(merged):
        sums[n + step] = sums[left] + sums[right]
        parent[left] = parent[right] = n + step
    found = []
    for k in np.minimum(ks, n):
        nodes = np.flatnonzero(parent[: 2 * n - k] >= 2 * n - k)
        found.append(train_directions(half, directions_of(sums[nodes], sums[nodes]), PASSES))
    return found


def _micro_clusters(half: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the sum of the rows of each small cluster, and its number of rows; they start from the first rows."""
    centers = train_directions(half, half[:MICRO_CLUSTERS], MICRO_PASSES)
    nearest = (half @ centers.T).argmax(axis=1)
    sizes = np.bincount(nearest, minlength=len(centers)).astype(np.float64)
    sums = sum_by_code(half, nearest, len(centers), np.ones(len(half), np.float32))
    return sums[sizes > 0], sizes[sizes > 0]


def _agreement(ours: NDArray[np.intp], theirs: NDArray[np.intp], k: int, order: NDArray[np.intp]) -> float:
    """Return the adjusted mutual information; one random permutation measures what chance gives."""
    sizes = [np.bincount(labels, minlength=k) for labels in (ours, theirs)]
    if min(np.count_nonzero(size) for size in sizes) < USED_SHARE * k:
        return float("nan")
    apart = [entropy(size) for size in sizes]
    shared = sum(apart) - entropy(np.bincount(ours * k + theirs))
    by_chance = sum(apart) - entropy(np.bincount(ours * k + theirs[order]))
    return float((shared - by_chance) / max(sum(apart) / 2 - by_chance, 1e-9))
