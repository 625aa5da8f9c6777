"""Leaves of a merge tree: single rows, or micro-clusters where there are too many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import Folded, align, count_draws, keep, map_rows
from ..arrays.rows import cluster_sums, fold_rows, map_unit_rows, sum_by_code
from .centers import sample_centers, training_rows
from .lloyd import LinearRule, nearest_rule

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

        nearest = map_unit_rows(_to_nearest(units, groups_of_means(units, rule), rule), X, n_jobs=n_jobs)
        return Leaves(units, mass, np.ones(counting), keep(map_rows(leaf, weights, nearest)))
    centers = sample_centers(X, weights, n_leaves, rng, max_passes=MICRO_PASSES, n_jobs=n_jobs)
    groups = groups_of_means(centers, rule)
    # A group without a centre gets one. It may lie anywhere, because it gets all rows of the group.
    without = np.setdiff1d(np.arange(len(rule.directions)), groups)
    centers, groups = np.concatenate([centers, rule.directions[without]]), np.append(groups, without)
    return _micro_clusters(X, weights, centers, groups, rule, n_jobs)


def groups_of_means(means: NDArray[np.float32], rule: LinearRule) -> NDArray[np.intp]:
    """Return the groups by a rule of the means of rows, if the rows of each mean are in one group.

    The unit rows of a group are those in a convex set, so their mean lies there too. It is not scaled to length 1.

    Examples
    --------
    >>> import numpy as np
    >>> groups_of_means(np.array([[0.9, 0.1], [0.2, 0.7]], np.float32), nearest_rule(np.eye(2, dtype=np.float32)))
    array([0, 1])
    """
    return rule.apply(means, np.ones(len(means), np.float32))[0]


def _micro_clusters(
    X: Any,
    weights: Any,
    centers: NDArray[np.float32],
    groups: NDArray[np.intp],
    rule: LinearRule,
    n_jobs: int | None,
) -> Leaves:
    """Make a leaf of the rows that are nearest to a centre, among those of their group."""
    assign = _to_nearest(centers, groups, rule)

    def gather(rows: NDArray[np.float32], scale: NDArray[np.float32], weight: NDArray[np.float64]) -> Folded:
        labels = assign(rows, scale)
        sums = sum_by_code(rows, labels, len(centers), scale * weight.astype(np.float32)).astype(np.float64)
        return Folded((sums, *(np.bincount(labels, one, len(centers)) for one in (weight, weight > 0))), labels)

    (sums, mass, n_rows), of_row = fold_rows(gather, X, weights, n_jobs=n_jobs)
    filled = np.flatnonzero(mass)
    if len(filled) < len(centers):
        of_row = keep(map_unit_rows(_to_nearest(centers[filled], groups[filled], rule), X, n_jobs=n_jobs))
    return Leaves((sums[filled] / mass[filled, None]).astype(np.float32), mass[filled], n_rows[filled], of_row)


def _to_nearest(centers: NDArray[np.float32], groups: NDArray[np.intp], rule: LinearRule) -> Assign:
    """Return what gives each row the nearest of the centres in its group, or of all if its group has none."""
    members = [np.flatnonzero(groups == group) for group in range(len(rule.directions))]
    members = [own if len(own) else np.arange(len(centers)) for own in members]
    within = [nearest_rule(centers[own]) for own in members]

    def assign(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.intp]:
        group_of_row = rule.apply(rows, scale)[0]
        nearest = np.empty(len(rows), np.intp)
        for group in np.unique(group_of_row):
            own = group_of_row == group
            nearest[own] = members[group][within[group].apply(rows[own], scale[own])[0]]
        return nearest

    return assign


def split_leaves(leaves: Leaves, X: Any, groups: NDArray[np.intp]) -> Leaves:
    """Split the leaves that hold rows of several groups (numbered from 0), so that each leaf lies in one group.

    Every row counts once.

    Examples
    --------
    >>> import numpy as np
    >>> both = Leaves(np.array([[0.5, 0.5]], np.float32), np.array([2.0]), np.array([2.0]), np.array([0, 0]))
    >>> split_leaves(both, np.eye(2), np.array([1, 0])).means
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    pairs, of_row = np.unique(groups * len(leaves.mass) + leaves.of_row, return_inverse=True)
    if len(pairs) == len(leaves.mass):
        return leaves
    n_rows = np.bincount(of_row).astype(np.float64)
    sums = cluster_sums(X, of_row, len(pairs))
    return Leaves((sums / n_rows[:, None]).astype(np.float32), n_rows, n_rows, of_row)
