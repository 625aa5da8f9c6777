"""New groups: rows of a new file that are new together, and that no cluster of the model can claim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import map_unit_rows
from ..parallel import run_tasks
from .lloyd import LinearRule, directions_of, labels_by
from .novelty import NEIGHBOURS, REFERENCE_ROWS, Known, nearest_rows, places_of
from .refine import SEARCH_ROWS, separate_groups
from .tree import ward_tree

SMALLEST_GROUP = 10
"""Fewest distinct rows of a new group."""

CLEAR, COMPACT = 0.8, 0.4
"""A new group is mixed if less than this share of its rows is core, or if the mean cosine of its rows is less than this
share of the mean cosine of a row with its nearest in the group."""

SMOOTHED = 5
"""Nearest new rows over which a row is smoothed before candidates are cut."""

BROADEST = 50
"""Rows of a candidate, at most, if a file is small; twice the square root of its rows if it is large."""

CROWDED = 0.75
"""The most known rows among those of a candidate, as a share of those expected."""

MIXED = 0.12
"""Candidates are joined if so many of their neighbours are of each other, as a share of those expected in one group."""

NEW_SHARE = 0.85
"""Least share of a core that is more than what the model would send there."""

TAKEN = 0.2
"""The most of a cluster of the model that a core may have; with more, it is that cluster, which has grown."""

LASTING, BORDER = 0.4, 0.3
"""Least share of a candidate that is in its core, and of a row's nearest new rows for it to stay beside the core."""


class NewGroups(NamedTuple):
    """The new group of each row, numbered from 0, or -1; and whether each new group is loose: mixed."""

    codes: NDArray[np.intp]
    is_mixed: NDArray[np.bool_]


class _Neighbours(NamedTuple):
    """The nearest other new rows of each new row, and the squared distance of the farthest of them."""

    rows: NDArray[np.intp]
    squares: NDArray[np.float32]
    n: int
    """Rows among which they were searched."""


def find_new_groups(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], scores: NDArray[np.float32]
) -> NewGroups:
    """Find the new group of each row; -1 for the rows that stay in a cluster of the model.

    Rows that are newer than usual form candidates. Candidates without many known rows among their own compete with the
    clusters of the model for all rows, those that mix are joined, and rows join the candidate of most of their
    neighbours. A candidate is a new group if it has a core in which halves of the rows agree, and where the model has
    hardly any rows. Its other rows stay if they are newer than usual and beside the core. `codes` are the clusters of
    the rows in the model, and `scores` their novelty.

    Examples
    --------
    >>> from textspectra.clustering.novelty import score_novelty
    >>> rng = np.random.default_rng(0)
    >>> points = np.eye(8)[np.arange(900) % 3] + 0.1 * rng.standard_normal((900, 8))
    >>> points[860:] += np.eye(8)[5] * 3
    >>> units = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    >>> known = Known(units[:800], np.arange(800) % 3, 3)
    >>> scores = score_novelty(known, units[800:], rng).scores
    >>> found = find_new_groups(known, units[800:], np.arange(800, 900) % 3, scores)
    >>> np.bincount(found.codes + 1), bool((found.codes[60:] == 0).all()), found.is_mixed
    (array([60, 40]), True, array([False]))
    """
    nothing = NewGroups(np.full(len(units), -1), np.zeros(0, bool))
    if len(units) <= NEIGHBOURS or np.isnan(scores).any():
        return nothing
    groups = _candidates(known, units, scores)
    if groups.max() < 0:
        return nothing
    near = _neighbours(units, np.arange(len(units)))
    groups = _joined_where_mixed(_won_by_candidates(known, units, codes, groups), near)
    groups = _joined_by_neighbours(groups, near)
    cores = _cores(known, units, codes, groups)
    is_beside = (scores > 1) & ((cores[near.rows] == groups[:, None]).mean(axis=1) >= BORDER)
    groups = _kept(np.where((cores < 0) & is_beside, groups, cores), np.bincount(cores + 1, minlength=2)[1:] > 0)
    mixed = [_is_mixed(units[groups == group], cores[groups == group] >= 0) for group in range(int(groups.max()) + 1)]
    return NewGroups(groups, np.array(mixed, bool))


def _neighbours(units: NDArray[np.float32], rows: NDArray[np.intp]) -> _Neighbours:
    """Search the neighbours of some rows among all of them, or a sample."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(units))[:REFERENCE_ROWS])
    found = nearest_rows(units[rows], units[chosen], NEIGHBOURS, places_of(chosen, len(units))[rows])
    return _Neighbours(chosen[found.rows], np.exp(2 * found.logs[:, -1]), len(chosen))


def _candidates(known: Known, units: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """Cut the rows that are newer than usual into candidates of the average size of a cluster.

    If a model has a few large clusters, candidates are smaller: news is not as broad as the model's clusters.
    """
    candidates = np.full(len(units), -1)
    novel = np.flatnonzero(scores > 1)[:REFERENCE_ROWS]
    k = round(len(novel) / max(min(len(units) / known.k, max(2 * np.sqrt(len(units)), BROADEST)), SMALLEST_GROUP))
    if not k:
        return candidates
    near = _neighbours(units, novel)
    smooth = directions_of(units[novel] + units[near.rows[:, :SMOOTHED]].sum(axis=1), units[novel])
    cut = ward_tree(smooth, np.ones(len(novel))).cut(k)
    size, crowding = np.bincount(cut), np.bincount(cut, _crowding(known, units[novel], near))
    candidates[novel] = _kept(cut, (size >= SMALLEST_GROUP) & (crowding < CROWDED * size))
    return candidates


def _crowding(known: Known, units: NDArray[np.float32], near: _Neighbours) -> NDArray[np.float64]:
    """Return how many known rows are as near as the new neighbours of a row, as a share of those expected.

    It is 1 at the most, so that a few rows in a crowd do not outweigh the others.
    """
    expected = near.rows.shape[1] * len(known.units) / near.n

    def on_block(start: int) -> NDArray[np.intp]:
        block = slice(start, start + SEARCH_ROWS)
        nearer: NDArray[np.intp] = (2 - 2 * units[block] @ known.units.T < near.squares[block, None]).sum(axis=1)
        return nearer

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)), n_jobs=None)
    crowding: NDArray[np.float64] = np.minimum(np.concatenate(parts) / expected, 1)
    return crowding


def _won_by_candidates(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], groups: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Let candidates and the clusters of the model compete for all new rows."""
    both, own = _together(known, units, codes, groups)
    won = labels_by(units, separate_groups(both, None, own, int(own.max()) + 1)) - known.k
    return _kept(np.maximum(won, -1), np.bincount(won[won >= 0]) > 0)


def _joined_where_mixed(groups: NDArray[np.intp], near: _Neighbours) -> NDArray[np.intp]:
    """Join candidates whose rows are neighbours of each other, the most mixed first: they are pieces of one group."""
    k, inside = int(groups.max()) + 1, np.flatnonzero(groups >= 0)
    if k < 2:
        return groups
    own, other = np.repeat(groups[inside], near.rows.shape[1]), groups[near.rows[inside]].ravel()
    links = np.bincount((own * k + other)[other >= 0], minlength=k * k).reshape(k, k).astype(float)
    sizes = np.bincount(groups[inside], minlength=k).astype(float)
    place = np.arange(k)
    while True:
        mixing = _mixing(links, sizes)
        low, high = sorted(np.unravel_index(mixing.argmax(), mixing.shape))
        if mixing[low, high] < MIXED:
            return np.where(groups >= 0, np.unique(place, return_inverse=True)[1][groups], -1)
        links[low] += links[high]
        links[:, low] += links[:, high]
        sizes[low] += sizes[high]
        links[high] = links[:, high] = sizes[high] = 0
        place[place == high] = low


def _mixing(links: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much each pair of groups mixes, from the numbers of neighbours: 0 apart, 1 as if they were one group.

    Examples
    --------
    >>> _mixing(np.array([[60.0, 20], [10, 30]]), np.array([8.0, 4])).round(2)
    array([[0.  , 0.56],
           [0.56, 0.  ]])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = links / (np.diag(links)[:, None] + links)
        expected = sizes / (sizes[:, None] + sizes)
        ratio = np.nan_to_num(share / expected, posinf=0)
    mixing: NDArray[np.float64] = (ratio + ratio.T) / 2
    np.fill_diagonal(mixing, 0)
    return mixing


def _joined_by_neighbours(groups: NDArray[np.intp], near: _Neighbours) -> NDArray[np.intp]:
    """Let every row join the candidate that most of its neighbours are in."""
    nearest = np.sort(groups[near.rows], axis=1)
    middle = nearest[:, nearest.shape[1] // 2]  # sorted, the code of a majority stands in the middle
    is_most = (nearest == middle[:, None]).sum(axis=1) > nearest.shape[1] / 2
    return np.where((middle >= 0) & is_most, middle, groups)


def _cores(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], groups: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the candidate in whose core each new row is, or -1; a candidate without a core is not new.

    One half of the new and of the known rows teaches a rule, which judges the other half. The core is the rows that it
    gives to the candidate by the widest margins, as many as go with few known rows: these say how many of the rows
    the model would have sent there. So a cluster of the model that has grown is not new.
    """
    n_new, n_known, sizes = len(units), len(known.units), np.bincount(groups[groups >= 0])
    known_sizes = np.bincount(known.codes, minlength=known.k)
    rows, own = _together(known, units, codes, groups)
    rng, k = np.random.default_rng(0), known.k + len(sizes)
    is_first = np.concatenate([rng.permutation(n_known) % 2, rng.permutation(n_new) % 2]) == 0
    won, margins = np.empty(len(rows), np.intp), np.empty(len(rows), np.float32)
    for side in (is_first, ~is_first):
        rule = separate_groups(rows[side], None, own[side], k)
        taught = np.flatnonzero(np.bincount(own[side], minlength=k))
        rule = rule.numbered(taught)
        won[~side], margins[~side] = taught[labels_by(rows[~side], rule)], _margins(rows[~side], rule)
    cores = np.full(n_new, -1)
    for group, size in enumerate(sizes):
        old, new = (np.flatnonzero(part == known.k + group) for part in np.split(won, [n_known]))
        old, new = old[np.argsort(-margins[old])], new[np.argsort(-margins[n_known + new], kind="stable")]
        n_old = np.searchsorted(-margins[old], -margins[n_known + new], side="right")
        # A standard error more, because few rows tell little.
        expected = (n_old + np.sqrt(n_old)) * n_new / n_known
        is_new = expected <= (1 - NEW_SHARE) * np.arange(1, len(new) + 1)
        core = new[: np.flatnonzero(is_new).max(initial=-1) + 1]
        if len(core) >= SMALLEST_GROUP and (groups[core] == group).sum() >= LASTING * size:
            taken = np.bincount(known.codes[old[: n_old[len(core) - 1]]], minlength=known.k)
            cores[core] = group if (taken <= TAKEN * known_sizes).all() else -1
    return cores


def _margins(units: NDArray[np.float32], rule: LinearRule) -> NDArray[np.float32]:
    """Return by how much the best cluster of each row has a higher score than the second."""

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.partition(rows @ rule.directions.T * scale[:, None] + rule.offsets, -2, axis=1)
        return np.asarray(scores[:, -1] - scores[:, -2], np.float32)

    margins: NDArray[np.float32] = map_unit_rows(on_block, units, dtype=np.float32)
    return margins


def _is_mixed(units: NDArray[np.float32], is_core: NDArray[np.bool_]) -> bool:
    """Return True if a new group is loose: at its border, or because it has many themes that are not alike."""
    rows = units[:REFERENCE_ROWS]
    n, total = len(rows), rows.sum(axis=0, dtype=float)
    cosine = (total @ total - n) / (n * (n - 1))
    nearest = 1 - np.exp(2 * nearest_rows(rows, rows, SMOOTHED, np.arange(n)).logs).mean() / 2
    return bool(is_core.mean() < CLEAR or cosine < COMPACT * nearest)


def _together(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], groups: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return known and new rows, and their clusters; those of candidates come after those of the model."""
    own = np.where(groups >= 0, known.k + groups, codes)
    return np.concatenate([known.units, units]), np.concatenate([known.codes, own])


def _kept(groups: NDArray[np.intp], is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the groups that are kept, numbered anew; -1 for the rows of others.

    Examples
    --------
    >>> _kept(np.array([0, 1, -1, 2]), np.array([False, True, True]))
    array([-1,  0, -1,  1])
    """
    place = np.full(len(is_kept) + 1, -1)
    place[np.flatnonzero(is_kept)] = np.arange(is_kept.sum())
    kept: NDArray[np.intp] = place[groups]
    return kept
