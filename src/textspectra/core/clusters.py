"""Find the clusters of rows: K-Means with a tree around it, or Ward's tree alone; every level is a cut of one tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ..errors import UserError
from . import F32, F64, Arguments, Ints, PerRow, Rows, kmeans
from .cohesion import CohesionReport, report_if_defined
from .discriminants import n_nearest, refined_rule, smoothed_rows
from .estimate import KEstimate, Method, check_method, estimate_from_rows
from .kmeans import LinearRule, directions_of, nearest_rule
from .rows import (
    align,
    as_given,
    cluster_sums,
    fold_rows,
    keep,
    map_rows,
    map_unit_rows,
    recode,
    refuse_bad_rows,
    sum_by_code,
)
from .validation import Level, RandomState, check_n_clusters, check_weights, make_seed
from .ward import MergeTree, nested_tree, ward_tree, weighted_means

Algorithm = Literal["kmeans", "hac"]

EXACT_ROWS = 2000  # up to this many rows, each is a leaf of the tree around the clusters of K-Means
MICRO_CLUSTERS, LEAVES_PER_CLUSTER = 1000, 8  # leaves above that: in all, or for each cluster if that gives more
HAC_EXACT_ROWS, HAC_MICRO_CLUSTERS = 10_000, 4096  # the same for Ward's tree alone, which is cut anywhere
MICRO_CLUSTER_PASSES = 2  # of Lloyd's algorithm
SAME_HEIGHT = 1e-5  # leaves that merge below this height may be equal but for rounding
CLOSE = 0.01  # share of leaves so close to another cluster that other leaves may decide; see `cut_rule`


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows, numbered by size; the attributes of the estimators describe the fields."""

    labels: PerRow
    centers: F32
    rule: LinearRule
    known: tuple[F64, Ints] | None = None  # saves a pass over the rows
    inertia: float = float("nan")
    tree: MergeTree | None = None
    leaves: PerRow = None
    estimate: KEstimate | None = None  # None if the number of clusters was given
    cohesion: CohesionReport | None = None  # None if it is not defined


def find_clusters(
    X: Rows,
    sample_weight: ArrayLike | None = None,
    *,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    method: Method = "auto",
    refine: bool = True,
    hierarchy: bool = False,
    random_state: RandomState = 0,
) -> Clusters:
    """Find clusters of the rows of `X`, a checked array; the parameters are as in :class:`textspectra.AutoKMeans`.

    K-Means runs at the suggested number, and the other levels are cuts of the tree around its clusters, so each level
    nests in the next. With `hierarchy`, the tree and the estimate are always there: then a number within the levels is
    a cut of this tree, too. HAC cuts Ward's tree, whatever the number.
    """
    weights, largest = check_weights(sample_weight, X)
    asked = check_n_clusters(n_clusters, len(X))
    check_method(method)
    if not isinstance(refine, bool | np.bool_):
        raise UserError(f"refine must be True or False, but it is {refine!r}.")
    refuse_bad_rows(X)
    seed = make_seed(random_state)
    estimate = None
    if hierarchy or isinstance(asked, str):
        estimate = estimate_from_rows(X, weights, method, random_state=seed)
    k = base = estimate.at(asked) if estimate is not None and isinstance(asked, str) else int(asked)
    # A separate stream, so that the clusters at a given k do not depend on whether k was estimated.
    _, rng = np.random.default_rng(seed).spawn(2)
    relative = None if weights is None else weights / largest
    if algorithm == "hac":
        leaves = gather_leaves(X, relative, rng, exact_rows=HAC_EXACT_ROWS, n_leaves=max(HAC_MICRO_CLUSTERS, k))
        tree = ward_tree(leaves.means, leaves.mass)
        clusters = _clusters_at(leaves, tree, _cut(leaves, tree, k))
    else:
        if estimate is not None and estimate.suggestions[0].k <= k <= estimate.suggestions[-1].k:
            base = estimate.k  # further away, a fit is better than a cut; within the levels, both are as good
        clusters = cluster_by_kmeans(X, relative, base, rng, refine=bool(refine))
        if hierarchy or k != base:
            clusters = with_tree(X, relative, clusters, rng, k=None if k == base else k)
    n_found = len(clusters.centers)
    if n_found < k:
        from sklearn.exceptions import ConvergenceWarning  # late: the command line does without scikit-learn

        message = f"{k} clusters were asked for, but only {n_found} could be told apart; there are few distinct rows."
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    cohesion = report_if_defined(X, clusters.labels, n_found, random_state=seed, known=clusters.known)
    return replace(
        clusters,
        labels=as_given(clusters.labels, X),
        leaves=as_given(clusters.leaves, X),
        estimate=estimate,
        cohesion=cohesion,
    )


def cluster_by_kmeans(X: Rows, weights: Rows | None, k: int, rng: Generator, *, refine: bool) -> Clusters:
    """Find `k` clusters as :class:`textspectra.AutoKMeans` describes; weights of None stand for ones."""
    rule = refined_rule(X, weights, k, rng) if refine else None
    if rule is None:
        centers = kmeans.sample_centers(X, weights, k, rng)
        rule = nearest_rule(centers)
        if len(X) > kmeans.training_size(k):
            rule = nearest_rule(kmeans.label_pass(X, weights, rule, labeled=False).centers(centers))
    result = kmeans.label_pass(X, weights, rule)
    labels, order = kmeans.largest_first(result.labels, result.mass)
    lengths = np.einsum("ij,ij->i", result.sums, result.sums)[order]
    mass = result.mass[order]
    return Clusters(
        labels,
        result.centers(rule.directions)[order],
        rule.numbered(order),
        known=(result.sums[order], mass.astype(np.intp)) if weights is None else None,
        inertia=max(float((mass - lengths / np.maximum(mass, np.finfo(float).tiny)).sum()), 0.0),
    )


def with_tree(X: Rows, weights: Rows | None, clusters: Clusters, rng: Generator, *, k: int | None) -> Clusters:
    """Build the tree around clusters; with `k`, return its cut into `k` clusters, which merges or splits them.

    A row that is repeated counts once here, as it does for refined clusters: otherwise it would be split off.
    """
    rule = clusters.rule
    n_leaves = max(MICRO_CLUSTERS, LEAVES_PER_CLUSTER * len(rule.directions))  # the same for every k
    leaves = gather_leaves(X, weights, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves, rule=rule)
    filled, codes = np.unique(clusters_of_means(leaves.means, rule), return_inverse=True)
    tree = tree_around(leaves, codes)
    if k is None and len(filled) == len(rule.directions):
        return replace(clusters, tree=tree, leaves=leaves.of_row)
    cut = codes if k is None else _cut(leaves, tree, k)
    # A cluster without a row that counts has no leaf.
    return _clusters_at(leaves, tree, cut, cut_rule(rule.numbered(filled), leaves.means, codes, cut))


class Leaves(NamedTuple):
    """The leaves of a tree: single rows, or micro-clusters if there are too many rows."""

    means: F32  # of the unit rows of each leaf
    mass: F64  # weight of each leaf
    n_rows: F64  # that count, in each leaf
    of_row: PerRow  # the leaf of each row


def gather_leaves(
    X: Rows, weights: Rows | None, rng: Generator, *, exact_rows: int, n_leaves: int, rule: LinearRule | None = None
) -> Leaves:
    """Make each row that counts a leaf; if more than `exact_rows` count, K-Means gathers them into `n_leaves` leaves.

    Empty leaves are left out. A row of weight 0 gets the nearest leaf. With a rule that assigns rows to clusters, each
    leaf lies in one cluster: a row gets the nearest leaf of its own cluster.
    """
    rule = rule or LinearRule(np.zeros((1, X.shape[1]), np.float32), np.zeros(1, np.float32))
    draws = kmeans.rows_that_count(X, weights)
    counting = len(draws)
    if counting <= exact_rows:
        rows, units, mass = draws.take(np.arange(counting))
        if counting == len(X):
            return Leaves(units, mass, np.ones(counting), align(rows, X))

        def leaf(first_row: int, weight: F64, nearest: Ints) -> Ints:
            numbers = np.arange(first_row, first_row + len(weight))
            return np.where(weight > 0, np.searchsorted(rows, numbers), nearest)

        nearest = map_unit_rows(_to_nearest(units, clusters_of_means(units, rule), rule), X)
        return Leaves(units, mass, np.ones(counting), keep(map_rows(leaf, weights, nearest)))
    centers = kmeans.sample_centers(X, weights, n_leaves, rng, max_passes=MICRO_CLUSTER_PASSES)
    clusters = clusters_of_means(centers, rule)
    # A cluster without a center gets one. It may lie anywhere, because it gets all rows of the cluster.
    without = np.setdiff1d(np.arange(len(rule.directions)), clusters)
    centers, clusters = np.concatenate([centers, rule.directions[without]]), np.append(clusters, without)
    assign = _to_nearest(centers, clusters, rule)

    def gather(rows: F32, scale: F32, weight: F64) -> Arguments:
        labels = assign(rows, scale)
        sums = sum_by_code(rows, labels, len(centers), scale * weight.astype(np.float32)).astype(np.float64)
        counts = (np.bincount(labels, values, len(centers)) for values in (weight, weight > 0))
        return sums, *counts, labels

    sums, mass, n_rows, of_row = fold_rows(gather, X, weights, per_row=True)
    filled = np.flatnonzero(mass)
    if len(filled) < len(centers):
        of_row = keep(map_unit_rows(_to_nearest(centers[filled], clusters[filled], rule), X))
    return Leaves((sums[filled] / mass[filled, None]).astype(np.float32), mass[filled], n_rows[filled], of_row)


def clusters_of_means(means: F32, rule: LinearRule) -> Ints:
    """Return the clusters of the means of rows, if the rows of each mean are in one cluster."""
    # The unit rows of a cluster lie in a convex set, and so does their mean. It is not scaled to length 1.
    return rule.apply(means, np.ones(len(means), np.float32))[0]


def _to_nearest(centers: F32, clusters: Ints, rule: LinearRule) -> Callable[[F32, F32], Ints]:
    """Return a function that gives each row the nearest of the centers in its cluster, or of all if it has none."""
    members = [np.flatnonzero(clusters == cluster) for cluster in range(len(rule.directions))]
    members = [inside if len(inside) else np.arange(len(centers)) for inside in members]
    within = [nearest_rule(centers[inside]) for inside in members]

    def assign(rows: F32, scale: F32) -> Ints:
        cluster_of_row = rule.apply(rows, scale)[0]
        nearest = np.empty(len(rows), np.intp)
        for cluster in np.unique(cluster_of_row):
            here = cluster_of_row == cluster
            nearest[here] = members[cluster][within[cluster].apply(rows[here], scale[here])[0]]
        return nearest

    return assign


def split_leaves(X: Rows, leaf_of_row: PerRow, clusters: Ints) -> Leaves:
    """Split the leaves with rows of several clusters (numbered from 0); every row counts once."""
    pairs, of_row = np.unique(clusters * (int(leaf_of_row.max()) + 1) + leaf_of_row, return_inverse=True)
    n_rows = np.bincount(of_row).astype(np.float64)
    sums = cluster_sums(X, of_row, len(pairs))
    return Leaves((sums / n_rows[:, None]).astype(np.float32), n_rows, n_rows, of_row)


def tree_of_clusters(X: Rows, clusters: Ints, known: Ints | None = None) -> tuple[MergeTree, Ints]:
    """Build the tree around given clusters of rows (numbered from 0); also return the leaf of each row.

    The leaves that are `known`, such as those of the tree of other clusters, are split where the clusters need it.
    """
    least = LEAVES_PER_CLUSTER * (int(clusters.max()) + 1)
    if known is None or known.max() + 1 < min(least, len(X)):
        rng, n_leaves = np.random.default_rng(0), max(MICRO_CLUSTERS, least)
        known = gather_leaves(X, None, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves).of_row
    leaves = split_leaves(X, known, clusters)
    of_leaf = np.empty(len(leaves.mass), np.intp)
    of_leaf[leaves.of_row] = clusters
    return tree_around(leaves, of_leaf), leaves.of_row


def tree_around(leaves: Leaves, clusters: Ints) -> MergeTree:
    """Build the tree of leaves, smoothed over their neighbors, that completes each cluster before it merges any two."""
    units = directions_of(leaves.means, np.ones_like(leaves.means))
    near = n_nearest(len(units), int(clusters.max()) + 1)
    return nested_tree(smoothed_rows(units, leaves.n_rows, near), leaves.n_rows, clusters)


def cut_rule(rule: LinearRule, means: F32, clusters: Ints, codes: Ints) -> LinearRule:
    """Return the rule for a cut of the tree around clusters, from the rule of the clusters and the mean of each leaf.

    `clusters` and `codes` are the cluster of each leaf before and after the cut. Merged clusters keep their directions.
    Otherwise a row gets the code of the nearest leaf in its cluster.
    """
    pairs = np.unique(np.column_stack([clusters, codes]), axis=0)
    if len(pairs) == rule.n_clusters:
        return rule.merged(pairs[:, 1])
    scores = means @ rule.directions.T + rule.offsets
    best = scores.argmax(axis=1)
    runners_up = np.partition(scores, -2, axis=1)[:, -2] if scores.shape[1] > 1 else scores[:, 0] - 1
    gaps = scores.max(axis=1) - runners_up
    # The scores of the clusters weigh so much that the leaves hardly ever decide between clusters.
    weight = 2 / max(float(np.quantile(gaps, CLOSE)), SAME_HEIGHT)
    near = nearest_rule(means)
    directions, offsets = rule.directions[best] * weight, rule.offsets[best] * weight
    return LinearRule(directions + near.directions, offsets + near.offsets, codes)


def _cut(leaves: Leaves, tree: MergeTree, k: int) -> Ints:
    """Cut a tree into `k` clusters, or fewer: equal rows stay together."""
    k = min(k, tree.n_leaves)
    if k > 1 and tree.linkage[1 - k, 2] < SAME_HEIGHT:
        k = min(k, len(np.unique(leaves.means.round(6), axis=0)))
    return tree.cut(k)


def _clusters_at(leaves: Leaves, tree: MergeTree, codes: Ints, rule: LinearRule | None = None) -> Clusters:
    """Return the clusters of the leaves; by default, the rule is the nearest center."""
    mass = np.bincount(codes, leaves.mass)
    labels, order = kmeans.largest_first(recode(leaves.of_row, codes), mass)
    centers = weighted_means(leaves.means, leaves.mass, codes, len(mass))[order]
    spread = mass[order] * (1 - np.einsum("ij,ij->i", centers, centers, dtype=np.float64))
    return Clusters(
        labels,
        centers,
        nearest_rule(centers) if rule is None else rule.numbered(order),
        inertia=max(float(spread.sum()), 0.0),
        tree=tree,
        leaves=leaves.of_row,
    )
