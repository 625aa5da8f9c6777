"""The one hierarchy: a tree around groups, whose cuts are the levels; or Ward's plain tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import as_given, map_rows
from ..clustering.leaves import Leaves, gather_leaves, groups_of_means
from ..clustering.lloyd import LinearRule, directions_of, nearest_rule
from ..clustering.numbering import largest_first
from ..clustering.refine import n_nearest, smoothed_rows
from ..clustering.tree import MergeTree, nested_tree, ward_tree, weighted_means
from .groups import Groups

EXACT_ROWS = 2000
"""Up to this many rows, every row is a leaf of the tree around groups."""

MICRO_CLUSTERS = 1000
"""Number of leaves above that, or LEAVES_PER_GROUP for each group if that is more."""

LEAVES_PER_GROUP = 8

PLAIN_EXACT_ROWS, PLAIN_MICRO_CLUSTERS = 10_000, 4096
"""The same for Ward's plain tree, which knows no groups."""

SAME = 1e-5
"""Leaves that merge below this height may be equal but for rounding."""

CLOSE = 0.01
"""Share of leaves so close to another group that other leaves may decide; see `cut_rule`."""


def group_by_ward(X: Any, weights: Any, k: int, rng: np.random.Generator, *, n_jobs: int | None) -> Groups:
    """Cut Ward's plain tree into `k` groups; weights of None stand for ones."""
    leaves = gather_leaves(
        X, weights, rng, exact_rows=PLAIN_EXACT_ROWS, n_leaves=max(PLAIN_MICRO_CLUSTERS, k), n_jobs=n_jobs
    )
    tree = ward_tree(leaves.means, leaves.mass)
    return _groups_at(X, leaves, tree, _cut(leaves, tree, k))


def with_tree(
    X: Any, weights: Any, groups: Groups, rng: np.random.Generator, *, k: int | None = None, n_jobs: int | None
) -> Groups:
    """Build the tree around groups; with `k`, return its cut into so many, for which groups are merged or split.

    A row that is repeated counts once here, as it does for refined groups: otherwise it would be split off.
    """
    rule = groups.rule
    n_leaves = max(MICRO_CLUSTERS, LEAVES_PER_GROUP * len(rule.directions))  # the same for every k
    leaves = gather_leaves(X, weights, rng, exact_rows=EXACT_ROWS, n_leaves=n_leaves, rule=rule, n_jobs=n_jobs)
    filled, codes = np.unique(groups_of_means(leaves.means, rule), return_inverse=True)
    tree = tree_around(leaves, codes, n_jobs=n_jobs)
    if k is None and len(filled) == len(rule.directions):
        return replace(groups, tree=tree, leaves=as_given(leaves.of_row, X))
    cut = codes if k is None else _cut(leaves, tree, k)
    # A group in which no row counts has no leaf.
    return _groups_at(X, leaves, tree, cut, cut_rule(rule.numbered(filled), leaves.means, codes, cut))


def cut_rule(
    rule: LinearRule, means: NDArray[np.float32], groups: NDArray[np.intp], codes: NDArray[np.intp]
) -> LinearRule:
    """Return the rule for a cut of the tree around groups, given the rule of the groups and the mean of each leaf.

    `groups` and `codes` are the group and the cluster of each leaf. Clusters that are groups merged keep the directions
    of these. Otherwise a row gets the cluster of the nearest leaf in its group: the scores of the groups weigh so much
    that the leaves hardly ever decide between groups.
    """
    pairs = np.unique(np.column_stack([groups, codes]), axis=0)
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


def _groups_at(
    X: Any, leaves: Leaves, tree: MergeTree, codes: NDArray[np.intp], rule: LinearRule | None = None
) -> Groups:
    """Return the groups of the leaves; without a rule, it is that of the nearest center."""
    mass = np.bincount(codes, leaves.mass)
    labels, order = largest_first(labels_of_leaves(codes, leaves.of_row), mass)
    centers = weighted_means(leaves.means, leaves.mass, codes, len(mass))[order]
    spread = mass[order] * (1 - np.einsum("ij,ij->i", centers, centers, dtype=np.float64))
    return Groups(
        labels,
        centers,
        nearest_rule(centers) if rule is None else rule.numbered(order),
        inertia=max(float(spread.sum()), 0.0),
        tree=tree,
        leaves=as_given(leaves.of_row, X),
    )


def tree_around(leaves: Leaves, groups: NDArray[np.intp], *, n_jobs: int | None = None) -> MergeTree:
    """Build the tree of leaves, smoothed over their neighbours, that completes each group before it merges any two."""
    units = directions_of(leaves.means, np.ones_like(leaves.means))
    near = n_nearest(len(units), int(groups.max()) + 1)
    return nested_tree(smoothed_rows(units, leaves.n_rows, near, n_jobs=n_jobs), leaves.n_rows, groups)


def labels_of_leaves(codes: NDArray[np.intp], leaves: Any) -> Any:
    """Return the code of each row's leaf."""
    return map_rows(lambda first_row, part: codes[part], leaves)
