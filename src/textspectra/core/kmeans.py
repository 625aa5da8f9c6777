"""K-Means on unit rows: Lloyd's algorithm block by block, from the centers of a Ward tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import softmax

from . import F32, F64, Arguments, Array, Ints, PerRow, Rows
from .rows import CountedRows, fold_blocks, fold_rows, keep, map_unit_rows, recode, sum_by_code
from .ward import ward_tree, weighted_means

TOLERANCE, MAX_PASSES = 1e-4, 100  # training stops when a pass lowers the inertia by less than this share
SEED_ROWS = 2000  # the Ward tree of up to this many rows, cut at k, gives the first centers
MANY_ROWS = 2**13  # with more rows, training makes up for a rougher start from fewer seeds:
FEWER_SEEDS, SEEDS_PER_CENTER = 1000, 16  # in all, or for each center if that gives more
TRAINING_ROWS, ROWS_PER_CENTER = 2**14, 16  # to train centers: in all, or for each center if that gives more

TEMPERATURE = 0.75  # of probabilities, as a share of `score_scale`; ``benchmarks/soft.md`` measures it

NO_ROW = np.iinfo(np.intp).max  # stands for the first row of a cluster without rows


class LinearRule(NamedTuple):
    """Assign unit rows to clusters: the one with the highest ``row @ direction + offset`` wins.

    Both ways to describe clusters take this form: the nearest center (:func:`nearest_rule`), and the discriminants of
    :func:`~textspectra.core.discriminants.separate_clusters`. A cluster may have several directions, for example if it
    was merged from others; then `clusters` holds the cluster of each direction.
    """

    directions: F32
    offsets: F32
    clusters: Ints | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.offsets) if self.clusters is None else int(self.clusters.max()) + 1

    def merged(self, codes: Ints) -> LinearRule:
        """Return the rule after cluster i has become cluster ``codes[i]``; -1 leaves a cluster out."""
        clusters = codes if self.clusters is None else codes[self.clusters]
        kept = clusters >= 0
        return LinearRule(self.directions[kept], self.offsets[kept], clusters[kept])

    def numbered(self, order: Ints) -> LinearRule:
        """Return the rule for the clusters in `order`, without the others."""
        if self.clusters is None:
            return LinearRule(self.directions[order], self.offsets[order])
        codes = np.full(self.n_clusters, -1)
        codes[order] = np.arange(len(order))
        return self.merged(codes)

    def apply(self, rows: F32, scale: F32) -> tuple[Ints, F32]:
        """Return the cluster of each scaled row, and its score."""
        scores = self._scores_of_directions(rows, scale)
        best = scores.argmax(axis=1)
        return best if self.clusters is None else self.clusters[best], scores[np.arange(len(scores)), best]

    def scores(self, rows: F32, scale: F32) -> F32:
        """Return the score of each scaled row in each cluster: the highest among the directions of the cluster."""
        scores = self._scores_of_directions(rows, scale)
        if self.clusters is None:
            return scores
        order = np.argsort(self.clusters, kind="stable")
        starts = np.searchsorted(self.clusters[order], np.arange(self.n_clusters))
        highest: F32 = np.maximum.reduceat(scores[:, order], starts, axis=1)
        return highest

    def probabilities(self, scores: F32, centers: F32) -> F32:
        """Turn scores into probabilities: their softmax, at the temperature of the clusters with these centers."""
        softened: F32 = softmax(scores / max(TEMPERATURE * self.score_scale(centers), 1e-9), axis=1)
        return softened

    def score_scale(self, centers: F32) -> float:
        """Return how much scores differ between clusters, times the variance within clusters of rows of length 1."""
        spread = np.median(self.scores(centers, np.ones(len(centers), np.float32)).std(axis=1))
        return float(spread * max(1 - np.einsum("ij,ij->i", centers, centers).mean(), 0))

    def _scores_of_directions(self, rows: F32, scale: F32) -> F32:
        scores: F32 = rows @ self.directions.T
        scores *= scale[:, None]
        scores += self.offsets
        return scores


def nearest_rule(centers: F32) -> LinearRule:
    """Return the rule that assigns each row to its nearest center; a score is 1/2 - (squared distance) / 2."""
    return LinearRule(centers, np.einsum("ij,ij->i", centers, centers) / -2)


def labels_by(X: Rows, rule: LinearRule) -> PerRow:
    """Return the cluster of each row by a rule; on Dask it is computed when needed."""
    return map_unit_rows(lambda rows, scale: rule.apply(rows, scale)[0], X)


class Pass(NamedTuple):
    """The result of one pass over the rows: the sum and mass of each cluster, the sum of the scores, and the labels."""

    sums: F64
    mass: F64
    score: float
    labels: PerRow = None

    @property
    def inertia(self) -> float:
        """Sum of the squared distances to the centers, if each row was assigned to its nearest center."""
        return max(float(self.mass.sum()) - 2 * self.score, 0.0)

    def centers(self, otherwise: F32) -> F32:
        """Return the mean of the rows of each cluster; a cluster without rows takes its row of `otherwise`."""
        mass = self.mass[:, None]
        return np.where(mass > 0, self.sums / np.maximum(mass, np.finfo(float).tiny), otherwise).astype(np.float32)


def label_pass(X: Rows, weights: Rows | None, rule: LinearRule, *, labeled: bool = True) -> Pass:
    """Assign each row by a rule and sum up the rows of each cluster; with ``labeled=False``, drop the labels."""
    k = len(rule.directions)

    def on_block(rows: F32, scale: F32, weight: F64) -> Arguments:
        labels, scores = rule.apply(rows, scale)
        sums = sum_by_code(rows, labels, k, scale * weight.astype(np.float32)).astype(np.float64)
        return sums, np.bincount(labels, weight, k), float(scores @ weight), *([labels] if labeled else [])

    return Pass(*fold_rows(on_block, X, weights, per_row=labeled))


def train_centers(units: F32, weights: F64 | None, centers: F32, *, max_passes: int = MAX_PASSES) -> F32:
    """Run passes until the inertia settles. A center without rows moves to the row that is farthest from its center."""
    inertia = np.inf
    for _ in range(max_passes):
        rule = nearest_rule(centers)
        result = label_pass(units, weights, rule, labeled=False)
        centers = result.centers(centers)
        empty = np.flatnonzero(result.mass == 0)
        if len(empty):
            scores = map_unit_rows(lambda *block, rule=rule: rule.apply(*block)[1], units, dtype=np.float32)
            worst = np.argsort(scores, kind="stable")[: len(empty)]
            centers[empty[: len(worst)]] = units[worst]
        elif inertia - result.inertia <= TOLERANCE * result.inertia:
            break
        inertia = result.inertia
    return centers


def train_directions(units: F32, centers: F32, n_passes: int) -> F32:
    """Run a fixed number of passes with centers of length 1 (spherical K-Means), on few unit rows in one thread.

    Without lengths and inertia it is 1.4 times as fast as :func:`label_pass`. Estimates of k spend most time here.
    """
    ones = np.ones(len(units), np.float32)
    for _ in range(n_passes):
        nearest = (units @ centers.T).argmax(axis=1)
        centers = directions_of(sum_by_code(units, nearest, len(centers), ones), centers)
    return centers


def directions_of(sums: F32, otherwise: F32) -> F32:
    """Scale sums of rows to length 1; a sum without a direction is replaced by its row of `otherwise`."""
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return np.where(length > 1e-6, sums / np.maximum(length, 1e-6), otherwise).astype(np.float32)


def training_size(k: int) -> int:
    """Return the number of rows for the training of `k` centers."""
    return max(TRAINING_ROWS, ROWS_PER_CENTER * k)


def sample_centers(X: Rows, weights: Rows | None, k: int, rng: Generator, *, max_passes: int = MAX_PASSES) -> F32:
    """Train `k` centers on a random sample of the rows that count, or on all of them if there are few."""
    units, weight = draw_units(X, weights, training_size(k), rng)
    return seeded_centers(units, weight, k, rng, max_passes=max_passes)


def draw_units(X: Rows, weights: Rows | None, size: int, rng: Generator) -> list[Array]:
    """Draw `size` random rows that count, or all of them if there are fewer: scaled to length 1, and their weights."""
    draws = rows_that_count(X, weights)
    return draws.take(_draw(len(draws), size, rng))[1:]


def rows_that_count(X: Rows, weights: PerRow) -> CountedRows:
    """Prepare draws of the rows of positive weight, with their weights."""
    return CountedRows(X, None if weights is None else weights > 0, weights)


def seeded_centers(units: F32, weights: F64, k: int, rng: Generator, *, max_passes: int = MAX_PASSES) -> F32:
    """Train centers that start from the Ward tree of a sample; more than SEED_ROWS / 2 start from random rows."""
    if k > SEED_ROWS // 2:
        centers = units[_draw(len(units), k, rng)]
    else:
        enough = SEED_ROWS if len(units) < MANY_ROWS else max(FEWER_SEEDS, SEEDS_PER_CENTER * k)
        seeds = _draw(len(units), min(enough, SEED_ROWS), rng)
        k = min(k, len(seeds))
        centers = weighted_means(units[seeds], weights[seeds], ward_tree(units[seeds], weights[seeds]).cut(k), k)
    return train_centers(units, weights, centers, max_passes=max_passes)


def _draw(n: int, size: int, rng: Generator) -> Ints:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def label_sizes(labels: Rows, n_labels: int) -> F64:
    """Return how many rows have each label."""
    (sizes,) = fold_blocks(lambda first_row, part: (np.bincount(part, minlength=n_labels),), labels)
    return np.asarray(sizes, np.float64)


def largest_first(labels: Rows, mass: Array) -> tuple[PerRow, Ints]:
    """Renumber clusters from the heaviest to the lightest; ties are in the order of their first rows.

    Return the new labels, and the old number of each new cluster. Clusters without rows are left out.
    """

    def first_rows(first_row: int, label: Ints) -> tuple[Ints]:
        first = np.full(len(mass), NO_ROW)
        first[label[::-1]] = np.arange(first_row + len(label) - 1, first_row - 1, -1)
        return (first,)

    # Rounded, because sums of fractions depend on the blocks, and a tie must stay a tie for all of them.
    rank = -(mass / max(mass.max(), np.finfo(float).tiny)).round(9)
    first = np.zeros(len(mass), np.intp)
    if len(np.unique(rank)) < len(rank) or not mass.all():  # a pass over the labels, only if it is needed
        (first,) = fold_blocks(first_rows, labels, combine=np.minimum)
    order = np.lexsort((first, rank))
    order = order[first[order] < NO_ROW]
    new_number = np.empty(len(mass), np.intp)
    new_number[order] = np.arange(len(order))
    return keep(recode(labels, new_number)), order


def same_clusters(old_labels: Ints, new_labels: Ints) -> dict[int, int]:
    """Find the clusters that have exactly the same rows in two clusterings: the old number of each, by its new number.

    A label of -1 means that a row has no cluster.
    """
    n_new = int(new_labels.max(initial=-1)) + 2
    pairs = np.unique((old_labels.astype(np.int64) + 1) * n_new + new_labels + 1)
    old, new = np.divmod(pairs, n_new)
    # A cluster is the same if its rows go to one cluster only, and that one gets no other rows.
    same = (np.bincount(old)[old] == 1) & (np.bincount(new)[new] == 1) & (old > 0) & (new > 0)
    return dict(zip((new[same] - 1).tolist(), (old[same] - 1).tolist(), strict=True))
