"""Ward's tree around the groups of K-Means, or Ward's plain tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import as_given, map_rows
from ..clustering.leaves import gather_leaves, groups_of_means
from ..clustering.lloyd import LinearRule, directions_of, nearest_rule
from ..clustering.numbering import largest_first
from ..clustering.refine import n_nearest, refined_rule, smoothed_rows
from ..clustering.tree import nested_tree, ward_tree, weighted_means
from .groups import Groups

EXACT_ROWS = 10_000
"""Up to this many rows, every row is a leaf of the tree."""

MICRO_CLUSTERS = 4096
"""Number of leaves above that."""

SAME = 1e-5
"""Leaves that merge below this height may be equal but for rounding."""


def group_by_tree(
    X: Any, weights: Any, k: int, rng: np.random.Generator, *, refine: bool, n_jobs: int | None
) -> Groups:
    """Find `k` groups as :class:`textspectra.AutoAgglomerative` describes; weights of None stand for ones."""
    rule = refined_rule(X, weights, k, rng, n_jobs=n_jobs) if refine else None
    leaves = gather_leaves(
        X, weights, rng, exact_rows=EXACT_ROWS, n_leaves=max(MICRO_CLUSTERS, k), rule=rule, n_jobs=n_jobs
    )
    points, size = leaves.means, leaves.mass
    if refine:
        # As for the refined groups, a row that is repeated counts once.
        units, size = directions_of(leaves.means, np.ones_like(leaves.means)), leaves.n_rows
        points = smoothed_rows(units, size, n_nearest(len(units), k), n_jobs=n_jobs)
    if rule is None:
        tree = ward_tree(points, size)
        k = min(k, len(leaves.mass))
        if k > 1 and tree.linkage[1 - k, 2] < SAME:  # equal rows stay together
            k = min(k, len(np.unique(leaves.means.round(6), axis=0)))
        codes = tree.cut(k)
    else:
        filled, codes = np.unique(groups_of_means(leaves.means, rule), return_inverse=True)
        rule = LinearRule(rule.directions[filled], rule.offsets[filled])
        tree = nested_tree(points, size, codes)
    mass = np.bincount(codes, leaves.mass)
    labels, order = largest_first(labels_of_leaves(codes, leaves.of_row), mass)
    centers = weighted_means(leaves.means, leaves.mass, codes, len(mass))[order]
    return Groups(
        labels,
        centers,
        nearest_rule(centers) if rule is None else LinearRule(rule.directions[order], rule.offsets[order]),
        tree=tree,
        leaves=as_given(leaves.of_row, X),
    )


def labels_of_leaves(codes: NDArray[np.intp], leaves: Any) -> Any:
    """Return the code of each row's leaf."""
    return map_rows(lambda first_row, part: codes[part], leaves)
