"""Lloyd's algorithm on unit rows, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import count_draws, fold_blocks, keep, map_rows
from .memory_blocks import Folded
from .rows import fold_rows, map_unit_rows, sum_by_code, unit_rows
from .ward import ward_tree, weighted_means

NO_ROW = np.iinfo(np.intp).max
"""Stands for the first row of a cluster that has no rows."""


def label_sizes(labels: Any, n_labels: int) -> NDArray[np.float64]:
    """Return how many rows have each label."""
    counted = fold_blocks(lambda first_row, part: Folded((np.bincount(part, minlength=n_labels),)), labels)
    return np.asarray(counted.statistics[0], np.float64)


def largest_first(labels: Any, mass: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """Renumber clusters from the heaviest to the lightest; ties are in the order of their first rows.

    Return the new labels, and the old number of each new cluster. Clusters without rows are left out.
    """
    # Rounded, because sums of fractions depend on the blocks, and a tie must stay a tie for all of them.
    rank = -(mass / max(mass.max(), np.finfo(float).tiny)).round(9)
    ties_or_empty = len(np.unique(rank)) < len(rank) or not mass.all()
    first = _first_rows(labels, len(mass)) if ties_or_empty else np.zeros(len(mass), np.intp)
    order = np.lexsort((first, rank))
    order = order[first[order] < NO_ROW]
    new_number = np.empty(len(mass), np.intp)
    new_number[order] = np.arange(len(order))
    return keep(map_rows(lambda first_row, label: new_number[label], labels)), order


def _first_rows(labels: Any, n_labels: int) -> NDArray[np.intp]:
    """Return the first row of each label, or NO_ROW."""

    def on_block(first_row: int, label: NDArray[np.intp]) -> Folded:
        first = np.full(n_labels, NO_ROW)
        first[label[::-1]] = np.arange(first_row + len(label) - 1, first_row - 1, -1)
        return Folded(first)

    found: NDArray[np.intp] = fold_blocks(on_block, labels, combine=np.minimum).statistics
    return found


def same_clusters(old_labels: NDArray[np.intp], new_labels: NDArray[np.intp]) -> dict[int, int]:
    """Find the clusters that have exactly the same rows in two clusterings: the old number of each, by its new number.

    A label of -1 means that a row has no cluster.
    """
    n_new = int(new_labels.max(initial=-1)) + 2
    pairs = np.unique((old_labels.astype(np.int64) + 1) * n_new + new_labels + 1)
    old, new = np.divmod(pairs, n_new)
    # A cluster is the same if its rows go to one cluster only, and that one gets no other rows.
    same = (np.bincount(old)[old] == 1) & (np.bincount(new)[new] == 1) & (old > 0) & (new > 0)
    return dict(zip((new[same] - 1).tolist(), (old[same] - 1).tolist(), strict=True))


TOLERANCE = 1e-4
"""Training stops when a pass lowers the inertia by less than this share."""

MAX_PASSES = 100


class LinearRule(NamedTuple):
    """Assign unit rows to clusters: the one with the highest ``row @ direction + offset`` wins.

    Both ways to describe clusters take this form: the nearest center (:func:`nearest_rule`), and the discriminants
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
    """Return the rule that assigns each row to its nearest center; a score is 1/2 - (squared distance) / 2."""
    return LinearRule(centers, np.einsum("ij,ij->i", centers, centers) / -2)


class Pass(NamedTuple):
    """The result of one pass over the rows: their labels, the sum and mass of each cluster, the sum of the scores."""

    labels: Any
    sums: NDArray[np.float64]
    mass: NDArray[np.float64]
    score: float

    @property
    def inertia(self) -> float:
        """Sum of the squared distances to the centers, if the rule was that of the nearest center."""
        return max(float(self.mass.sum()) - 2 * self.score, 0.0)


def labels_by(X: Any, rule: LinearRule, *, n_jobs: int | None = None) -> Any:
    """Return the cluster of each row by a rule; on Dask it is computed when needed."""
    return map_unit_rows(lambda rows, scale: rule.apply(rows, scale)[0], X, n_jobs=n_jobs)


def center_distances(X: Any, centers: NDArray[np.float32], *, n_jobs: int | None = None) -> Any:
    """Return the distance of each row, scaled to length 1, to each center; on Dask it is computed when needed."""
    # In float64: the square root would turn the rounding of float32 into errors of 0.0003 near 0.
    wide = centers.astype(np.float64)
    squares = np.einsum("ij,ij->i", wide, wide)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        units = rows * scale[:, None].astype(np.float64)
        found = squares + np.einsum("ij,ij->i", units, units)[:, None] - 2 * (units @ wide.T)
        distances: NDArray[np.float32] = np.sqrt(np.maximum(found, 0)).astype(np.float32)
        return distances

    return map_unit_rows(on_block, X, dtype=np.float32, n_jobs=n_jobs)


def label_pass(X: Any, weights: Any, rule: LinearRule, *, labeled: bool = True, n_jobs: int | None = None) -> Pass:
    """Assign each row by a rule and sum up the rows of each cluster; weights of None stand for ones.

    With ``labeled=False``, the labels are not kept.
    """
    k = len(rule.directions)

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Folded:
        labels, scores = rule.apply(rows, scale)
        sums = sum_by_code(rows, labels, k, scale * weight.astype(np.float32)).astype(np.float64)
        return Folded((sums, np.bincount(labels, weight, k), float(scores @ weight)), labels if labeled else None)

    (sums, mass, score), labels = fold_rows(on_block, X, weights, n_jobs=n_jobs)
    return Pass(labels, sums, mass, score)


def moved_centers(result: Pass, centers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the rows of each center; a center without rows stays."""
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
    """Run passes until the inertia settles. A center without rows moves to the row that is farthest from its center."""
    inertia = np.inf
    for _ in range(max_passes):
        result = label_pass(units, weights, nearest_rule(centers), labeled=False, n_jobs=n_jobs)
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
    """Run a fixed number of passes with centers of length 1 (spherical K-Means), on few rows and in one thread.

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
    """Return the rows, the one farthest from its center first."""
    rule = nearest_rule(centers)
    scores = map_unit_rows(lambda rows, scale: rule.apply(rows, scale)[1], units, dtype=np.float32, n_jobs=n_jobs)
    return np.argsort(scores, kind="stable")


SEED_ROWS = 2000
"""The Ward tree of up to this many rows, cut at k, gives the first centers."""

FEWER_SEEDS = 1000
"""From MANY_ROWS on, training makes up for a rougher start: so many are enough, or SEEDS_PER_CENTER for each center."""

SEEDS_PER_CENTER = 16

MANY_ROWS = 2**13

TRAINING_ROWS = 2**14
"""Centers are trained on this many rows, or on ROWS_PER_CENTER for each center if that is more."""

ROWS_PER_CENTER = 16


def training_size(k: int) -> int:
    """Return the number of rows on which `k` centers are trained."""
    return max(TRAINING_ROWS, ROWS_PER_CENTER * k)


def sample_centers(
    X: Any,
    weights: Any,
    k: int,
    rng: np.random.Generator,
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Train `k` centers on a random sample of the rows that count, or on all of them if there are few."""
    units, weight = draw_units(X, weights, training_size(k), rng)
    return seeded_centers(units, weight, k, rng, max_passes=max_passes, n_jobs=n_jobs)


def draw_units(
    X: Any, weights: Any, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Draw `size` random rows that count, or all of them if there are fewer: scaled to length 1, and their weights."""
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    return training_rows(draws, _draw(int(draws.totals[0]), size, rng))[1:]


def seeded_centers(
    units: NDArray[np.float32],
    weights: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Train centers that start from the Ward tree of some rows; more than SEED_ROWS / 2 start from random rows."""
    if k > SEED_ROWS // 2:
        centers = units[_draw(len(units), k, rng)]
    else:
        enough = SEED_ROWS if len(units) < MANY_ROWS else max(FEWER_SEEDS, SEEDS_PER_CENTER * k)
        seeds = _draw(len(units), min(enough, SEED_ROWS), rng)
        k = min(k, len(seeds))
        centers = weighted_means(units[seeds], weights[seeds], ward_tree(units[seeds], weights[seeds]).cut(k), k)
    return train_centers(units, weights, centers, max_passes=max_passes, n_jobs=n_jobs)


def _draw(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def training_rows(
    draws: Any, positions: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float64]]:
    """Fetch rows by their positions: their numbers, the rows scaled to length 1, and their weights."""
    rows, part, weight = draws.take(0, positions)
    return rows, unit_rows(part, first_row=rows), np.ones(len(rows)) if weight is None else weight
