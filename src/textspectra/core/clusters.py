"""Leaves of a merge tree: single rows, or micro-clusters where there are too many rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .blocks import align, as_given, count_draws, keep, map_rows
from .cohesion import CohesionReport, report_if_defined
from .discriminants import n_nearest, refined_rule, smoothed_rows
from .estimate import KEstimate, count_rows, estimate_from_rows
from .kmeans import (
    LinearRule,
    directions_of,
    label_pass,
    largest_first,
    moved_centers,
    nearest_rule,
    sample_centers,
    training_rows,
    training_size,
)
from .memory_blocks import Folded
from .rows import SumsAndSizes, check_rows, cluster_sums, fold_rows, map_unit_rows, sum_by_code
from .validation import Level, RandomState, check_n_clusters, check_n_jobs, check_weights, make_seed
from .ward import MergeTree, nested_tree, ward_tree, weighted_means


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of rows, numbered by size; the attributes of the estimators say what each field is."""

    labels: Any
    centers: NDArray[np.float32]
    rule: LinearRule
    known: SumsAndSizes | None = None  # saves a pass over the rows
    inertia: float = float("nan")
    tree: MergeTree | None = None
    leaves: Any = None


MICRO_PASSES = 2
"""Passes of Lloyd's algorithm that shape the micro-clusters."""

Assign = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.intp]]
"""Gives each row of a block, with the factor that scales it to length 1, the number of its leaf."""


class Leaves(NamedTuple):
    """The mean of the unit rows of each leaf, its weight, its number of rows that count, and the leaf of each row."""

    means: NDArray[np.float32]
    mass: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    of_row: Any


def gather_leaves(
    X: Any,
    weights: Any,
    rng: np.random.Generator,
    *,
    exact_rows: int,
    n_leaves: int,
    rule: LinearRule | None = None,
    n_jobs: int | None = None,
) -> Leaves:
    """Make each row that counts a leaf; if more than `exact_rows` count, K-Means gathers them into `n_leaves` leaves.

    Empty leaves are left out. A row of weight 0 gets the nearest leaf. With a rule that assigns rows to groups, each
    leaf lies in one group: a row gets the nearest leaf of its own group.
    """
    rule = rule or LinearRule(np.zeros((1, X.shape[1]), np.float32), np.zeros(1, np.float32))
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    counting = int(draws.totals[0])
    if counting <= exact_rows:
        rows, units, mass = training_rows(draws, np.arange(counting))
        if counting == len(X):
            return Leaves(units, mass, np.ones(counting), align(rows, X))

        def leaf(first_row: int, weight: NDArray[np.float64], nearest: NDArray[np.intp]) -> NDArray[np.intp]:
            numbers = np.arange(first_row, first_row + len(weight))
            return np.where(weight > 0, np.searchsorted(rows, numbers), nearest)

        nearest = map_unit_rows(_to_nearest(units, clusters_of_means(units, rule), rule), X, n_jobs=n_jobs)
        return Leaves(units, mass, np.ones(counting), keep(map_rows(leaf, weights, nearest)))
    centers = sample_centers(X, weights, n_leaves, rng, max_passes=MICRO_PASSES, n_jobs=n_jobs)
    clusters = clusters_of_means(centers, rule)
    # A group without a center gets one. It may lie anywhere, because it gets all rows of the group.
    without = np.setdiff1d(np.arange(len(rule.directions)), clusters)
    centers, clusters = np.concatenate([centers, rule.directions[without]]), np.append(clusters, without)
    return _micro_clusters(X, weights, centers, clusters, rule, n_jobs)


def clusters_of_means(means: NDArray[np.float32], rule: LinearRule) -> NDArray[np.intp]:
    """Return the groups by a rule of the means of rows, if the rows of each mean are in one group.

    The unit rows of a group are those in a convex set, so their mean lies there too. It is not scaled to length 1.
    """
    return rule.apply(means, np.ones(len(means), np.float32))[0]


def _micro_clusters(
    X: Any,
    weights: Any,
    centers: NDArray[np.float32],
    clusters: NDArray[np.intp],
    rule: LinearRule,
    n_jobs: int | None,
) -> Leaves:
    """Make a leaf of the rows that are nearest to a center, among those of their group."""
    assign = _to_nearest(centers, clusters, rule)

    def gather(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Folded:
        labels = assign(rows, scale)
        sums = sum_by_code(rows, labels, len(centers), scale * weight.astype(np.float32)).astype(np.float64)
        return Folded((sums, *(np.bincount(labels, one, len(centers)) for one in (weight, weight > 0))), labels)

    (sums, mass, n_rows), of_row = fold_rows(gather, X, weights, n_jobs=n_jobs)
    filled = np.flatnonzero(mass)
    if len(filled) < len(centers):
        of_row = keep(map_unit_rows(_to_nearest(centers[filled], clusters[filled], rule), X, n_jobs=n_jobs))
    return Leaves((sums[filled] / mass[filled, None]).astype(np.float32), mass[filled], n_rows[filled], of_row)


def _to_nearest(centers: NDArray[np.float32], clusters: NDArray[np.intp], rule: LinearRule) -> Assign:
    """Return what gives each row the nearest of the centers in its group, or of all if its group has none."""
    members = [np.flatnonzero(clusters == cluster) for cluster in range(len(rule.directions))]
    members = [own if len(own) else np.arange(len(centers)) for own in members]
    within = [nearest_rule(centers[own]) for own in members]

    def assign(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.intp]:
        cluster_of_row = rule.apply(rows, scale)[0]
        nearest = np.empty(len(rows), np.intp)
        for cluster in np.unique(cluster_of_row):
            own = cluster_of_row == cluster
            nearest[own] = members[cluster][within[cluster].apply(rows[own], scale[own])[0]]
        return nearest

    return assign


def split_leaves(leaves: Leaves, X: Any, clusters: NDArray[np.intp]) -> Leaves:
    """Split the leaves that hold rows of several groups (numbered from 0), so that each leaf lies in one group.

    Every row counts once.
    """
    pairs, of_row = np.unique(clusters * len(leaves.mass) + leaves.of_row, return_inverse=True)
    if len(pairs) == len(leaves.mass):
        return leaves
    n_rows = np.bincount(of_row).astype(np.float64)
    sums = cluster_sums(X, of_row, len(pairs))
    return Leaves((sums / n_rows[:, None]).astype(np.float32), n_rows, n_rows, of_row)


EXACT_ROWS = 2000
"""Up to this many rows, every row is a leaf of the tree around groups."""

MICRO_CLUSTERS = 1000
"""Number of leaves above that, or LEAVES_PER_GROUP for each group if that is more."""

LEAVES_PER_CLUSTER = 8

PLAIN_EXACT_ROWS, PLAIN_MICRO_CLUSTERS = 10_000, 4096
"""The same for Ward's plain tree, which knows no groups."""

SAME = 1e-5
"""Leaves that merge below this height may be equal but for rounding."""

CLOSE = 0.01
"""Share of leaves so close to another group that other leaves may decide; see `cut_rule`."""


def cluster_by_ward(X: Any, weights: Any, k: int, rng: np.random.Generator, *, n_jobs: int | None) -> Clusters:
    """Cut Ward's plain tree into `k` groups; weights of None stand for ones."""
    leaves = gather_leaves(
        X, weights, rng, exact_rows=PLAIN_EXACT_ROWS, n_leaves=max(PLAIN_MICRO_CLUSTERS, k), n_jobs=n_jobs
    )
    tree = ward_tree(leaves.means, leaves.mass)
    return _clusters_at(X, leaves, tree, _cut(leaves, tree, k))


def with_tree(
    X: Any, weights: Any, clusters: Clusters, rng: np.random.Generator, *, k: int | None = None, n_jobs: int | None
) -> Clusters:
    """Build the tree around groups; with `k`, return its cut into so many, for which groups are merged or split.

    A row that is repeated counts once here, as it does for refined groups: otherwise it would be split off.
    """
    rule = clusters.rule
    n_leaves = max(MICRO_CLUSTERS, LEAVES_PER_CLUSTER * len(rule.directions))  # the same for every k
    leaves = gather_leaves(X, weights, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves, rule=rule, n_jobs=n_jobs)
    filled, codes = np.unique(clusters_of_means(leaves.means, rule), return_inverse=True)
    tree = tree_around(leaves, codes, n_jobs=n_jobs)
    if k is None and len(filled) == len(rule.directions):
        return replace(clusters, tree=tree, leaves=as_given(leaves.of_row, X))
    cut = codes if k is None else _cut(leaves, tree, k)
    # A group in which no row counts has no leaf.
    return _clusters_at(X, leaves, tree, cut, cut_rule(rule.numbered(filled), leaves.means, codes, cut))


def cut_rule(
    rule: LinearRule, means: NDArray[np.float32], clusters: NDArray[np.intp], codes: NDArray[np.intp]
) -> LinearRule:
    """Return the rule for a cut of the tree around groups, given the rule of the groups and the mean of each leaf.

    `groups` and `codes` are the group and the cluster of each leaf. Clusters that are groups merged keep the directions
    of these. Otherwise a row gets the cluster of the nearest leaf in its group: the scores of the groups weigh so much
    that the leaves hardly ever decide between groups.
    """
    pairs = np.unique(np.column_stack([clusters, codes]), axis=0)
    if len(pairs) == rule.n_clusters:
        return rule.merged(pairs[:, 1])
    scores = means @ rule.directions.T + rule.offsets
    best = scores.argmax(axis=1)
    runners_up = np.partition(scores, -2, axis=1)[:, -2] if scores.shape[1] > 1 else scores[:, 0] - 1
    gaps = scores.max(axis=1) - runners_up
    weight = 2 / max(float(np.quantile(gaps, CLOSE)), SAME)
    near = nearest_rule(means)
    directions, offsets = rule.directions[best] * weight, rule.offsets[best] * weight
    return LinearRule(directions + near.directions, offsets + near.offsets, codes)


def _cut(leaves: Leaves, tree: MergeTree, k: int) -> NDArray[np.intp]:
    """Cut a tree into `k` groups, or fewer: equal rows stay together."""
    k = min(k, tree.n_leaves)
    if k > 1 and tree.linkage[1 - k, 2] < SAME:
        k = min(k, len(np.unique(leaves.means.round(6), axis=0)))
    return tree.cut(k)


def _clusters_at(
    X: Any, leaves: Leaves, tree: MergeTree, codes: NDArray[np.intp], rule: LinearRule | None = None
) -> Clusters:
    """Return the groups of the leaves; without a rule, it is that of the nearest center."""
    mass = np.bincount(codes, leaves.mass)
    labels, order = largest_first(labels_of_leaves(codes, leaves.of_row), mass)
    centers = weighted_means(leaves.means, leaves.mass, codes, len(mass))[order]
    spread = mass[order] * (1 - np.einsum("ij,ij->i", centers, centers, dtype=np.float64))
    return Clusters(
        labels,
        centers,
        nearest_rule(centers) if rule is None else rule.numbered(order),
        inertia=max(float(spread.sum()), 0.0),
        tree=tree,
        leaves=as_given(leaves.of_row, X),
    )


def tree_around(leaves: Leaves, clusters: NDArray[np.intp], *, n_jobs: int | None = None) -> MergeTree:
    """Build the tree of leaves, smoothed over their neighbors, that completes each group before it merges any two."""
    units = directions_of(leaves.means, np.ones_like(leaves.means))
    near = n_nearest(len(units), int(clusters.max()) + 1)
    return nested_tree(smoothed_rows(units, leaves.n_rows, near, n_jobs=n_jobs), leaves.n_rows, clusters)


def labels_of_leaves(codes: NDArray[np.intp], leaves: Any) -> Any:
    """Return the code of each row's leaf."""
    return map_rows(lambda first_row, part: codes[part], leaves)


def cluster_by_kmeans(
    X: Any, weights: Any, k: int, rng: np.random.Generator, *, refine: bool, n_jobs: int | None
) -> Clusters:
    """Find `k` groups as :class:`textspectra.AutoKMeans` describes; weights of None stand for ones."""
    rule = refined_rule(X, weights, k, rng, n_jobs=n_jobs) if refine else None
    if rule is None:
        centers = sample_centers(X, weights, k, rng, n_jobs=n_jobs)
        rule = nearest_rule(centers)
        if len(X) > training_size(k):
            moved = label_pass(X, weights, rule, labeled=False, n_jobs=n_jobs)
            rule = nearest_rule(moved_centers(moved, centers))
    result = label_pass(X, weights, rule, n_jobs=n_jobs)
    labels, order = largest_first(result.labels, result.mass)
    lengths = np.einsum("ij,ij->i", result.sums, result.sums)[order]
    mass = result.mass[order]
    return Clusters(
        labels,
        moved_centers(result, rule.directions)[order],
        rule.numbered(order),
        known=SumsAndSizes(result.sums[order], mass.astype(np.intp)) if weights is None else None,
        inertia=max(float((mass - lengths / np.maximum(mass, np.finfo(float).tiny)).sum()), 0.0),
    )


Algorithm = Literal["kmeans", "hac"]


@dataclass(frozen=True, eq=False)
class Found(Clusters):
    """Groups, with the estimate behind their number (None if it was given) and their cohesion (None if undefined)."""

    estimate: KEstimate | None = None
    cohesion: CohesionReport | None = None


def find_clusters(
    X: Any,
    sample_weight: Any = None,
    *,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    refine: bool = True,
    hierarchy: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Found:
    """Find groups of the rows of `X`, a checked array; the parameters are those of :class:`textspectra.AutoKMeans`.

    Groups are found at the suggested number, and the other levels are cuts of the tree around them, so that each level
    nests in the next. With `hierarchy`, the tree and the estimate are there in any case: then a number within the
    levels is a cut of the same tree, too, and the tree of any other number is around the groups found at it.
    """
    weights, largest = check_weights(sample_weight, X)
    asked = check_n_clusters(n_clusters, len(X))
    if not isinstance(refine, bool | np.bool_):
        raise UserError(f"refine must be True or False, but it is {refine!r}.")
    check_n_jobs(n_jobs)
    check_rows(X, n_jobs=n_jobs)
    seed = make_seed(random_state)
    estimate = None
    if hierarchy or isinstance(asked, str):
        estimate = estimate_from_rows(count_rows(X, weights), random_state=seed, n_jobs=n_jobs)
    k, base = _numbers(asked, estimate)
    # Streams of their own, so that the clusters at a given k do not depend on whether k was estimated.
    _, rng = np.random.default_rng(seed).spawn(2)
    relative = None if weights is None else weights / largest
    if algorithm == "hac" and not refine:
        clusters = cluster_by_ward(X, relative, k, rng, n_jobs=n_jobs)
    else:
        clusters = cluster_by_kmeans(X, relative, base, rng, refine=bool(refine), n_jobs=n_jobs)
        if hierarchy or algorithm == "hac" or k != base:
            clusters = with_tree(X, relative, clusters, rng, k=None if k == base else k, n_jobs=n_jobs)
    if len(clusters.centers) < k:
        _warn_of_fewer(len(clusters.centers), k)
    cohesion = report_if_defined(X, clusters.labels, len(clusters.centers), random_state=seed, known=clusters.known)
    return Found(**{**vars(clusters), "labels": as_given(clusters.labels, X)}, estimate=estimate, cohesion=cohesion)


def _numbers(asked: int | Level, estimate: KEstimate | None) -> tuple[int, int]:
    """Return the number of groups to return, and the number at which they are found, before they are merged or split.

    Far from the suggested number, a fit is better than a cut; within the levels, both are as good.
    """
    if estimate is None:
        return int(asked), int(asked)
    k = estimate.at(asked) if isinstance(asked, str) else asked
    levels = [suggestion.k for suggestion in estimate.suggestions]
    return k, estimate.k if min(levels) <= k <= max(levels) else k


def _warn_of_fewer(found: int, asked: int) -> None:
    from sklearn.exceptions import ConvergenceWarning  # late: the command line does without scikit-learn

    warnings.warn(
        f"{asked} clusters were asked for, but only {found} could be told apart; there are few distinct rows.",
        ConvergenceWarning,
        stacklevel=4,
    )
