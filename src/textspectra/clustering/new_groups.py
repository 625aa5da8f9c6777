"""New groups: rows of a new file that are new together, and that no cluster of the model can claim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parallel import run_tasks
from .lloyd import LinearRule, directions_of, labels_by
from .novelty import NEIGHBOURS, REFERENCE_ROWS, Known, Nearest, nearest_rows, places_of
from .refine import SEARCH_ROWS, separate_groups
from .tree import ward_tree

SMALLEST_GROUP = 10
"""Fewest distinct rows of a new group."""

CORE_NEIGHBOURS, LENIENCE = 5, 0.04
"""Nearest core rows that a row of a new group is compared with, a fifth of the core at most; and by how much its mean
cosine with rows of the model may be higher."""

STAYED = 0.5
"""Least share of a new group's rows that are near enough to its core; otherwise it is no group."""

CLEAR, COMPACT = 0.8, 0.4
"""A new group is mixed if fewer of its rows are nearer to its core than to the model, or if the mean cosine of its
rows is less than this share of the mean cosine of a row with its nearest in the group."""

SMOOTHED = 5
"""Nearest new rows over which a row is smoothed before candidates are cut."""

BROADEST = 50
"""Rows of a candidate, at most, if a file is small; twice the square root of its rows if it is large."""

NOVEL, CROWDED = 1.3, 0.75
"""Least mean novelty of a candidate, and the most known rows among its own, as a share of those expected."""

MIXED = 0.12
"""Candidates are joined if so many of their neighbours are of each other, as a share of those expected in one group."""

GROWTH = 2.5
"""A new group is at least so many times as frequent as rows like it are in the model; what grows less is no news."""

AGAIN = 0.25
"""Share of a new group that a rule taught by the other half of all rows gives back to it."""

TAKEN, SURELY_NEW = 0.2, 6.0
"""A candidate that would take more than this share of a cluster of the model is that cluster, which has grown; unless
it is this many times as frequent as rows like it are in the model."""


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
    neighbours. A candidate is a new group if halves of the rows agree that it is one, and that the model hardly had
    it. In the end, a new group has the rows that are nearer to its core, the rows that are newer than usual, than to
    rows of the model. `codes` are the clusters of the rows in the model, and `scores` their novelty.

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
    groups = _news(known, units, codes, _joined_by_neighbours(groups, near))
    groups, is_near = _nearest_cores(known, units, scores, groups)
    mixed = [_is_mixed(units[groups == group], is_near[groups == group]) for group in range(int(groups.max()) + 1)]
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
    size = np.bincount(cut)
    novelty, crowding = (
        np.bincount(cut, some) / size for some in (scores[novel], _crowding(known, units[novel], near))
    )
    candidates[novel] = _kept(cut, (size >= SMALLEST_GROUP) & (novelty > NOVEL) & (crowding < CROWDED))
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


def _news(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], groups: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Keep the candidates that are found again in both halves of the rows, and were hardly there in the model.

    One half of the new and of the known rows teaches a rule, which judges the other half.
    """
    k, n_new, n_known = int(groups.max()) + 1, len(units), len(known.units)
    rows, own = _together(known, units, codes, groups)
    rng = np.random.default_rng(0)
    is_first = np.concatenate([rng.permutation(n_known) % 2, rng.permutation(n_new) % 2]) == 0
    won = np.empty(len(rows), np.intp)
    for side in (is_first, ~is_first):
        rule = separate_groups(rows[side], None, own[side], known.k + k)
        taught = np.bincount(own[side], minlength=known.k + k) > 0
        won[~side] = labels_by(rows[~side], LinearRule(rule.directions, np.where(taught, rule.offsets, -np.inf)))
    size, again, after = (
        np.bincount(some, minlength=known.k + k)[known.k :] for some in (own, own[won == own], won[n_known:])
    )
    lost = won[:n_known] >= known.k
    taken = np.zeros((k, known.k))
    np.add.at(taken, (won[:n_known][lost] - known.k, known.codes[lost]), 1)
    before = taken.sum(axis=1)
    # A standard error more, because few rows tell little.
    growth = after / n_new / np.maximum((before + np.sqrt(before)) / n_known, 1 / n_known)
    share = (taken / np.maximum(np.bincount(known.codes, minlength=known.k), 1)).max(axis=1)
    is_found = (size >= SMALLEST_GROUP) & (again >= AGAIN * size)
    return _kept(groups, is_found & (growth > np.where(share > TAKEN, SURELY_NEW, GROWTH)))


def _nearest_cores(
    known: Known, units: NDArray[np.float32], scores: NDArray[np.float32], groups: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Give each row to the group with the nearest core, unless rows of the model are nearer than that.

    Return the groups, and whether each row is nearer to a core than to the model, without any lenience.
    """
    k = int(groups.max()) + 1
    if not k:
        return groups, groups >= 0
    chosen = np.sort(np.random.default_rng(0).permutation(len(units))[:REFERENCE_ROWS])
    # The more rows a file has, the nearer are the nearest: so as many are compared as the model has for each new row.
    ratio = len(known.units) / len(chosen)
    to_model = _cosines(nearest_rows(units, known.units, max(round(CORE_NEIGHBOURS * ratio), 1)))
    best, home = np.full(len(units), -LENIENCE), np.full(len(units), -1)
    for group in range(k):
        members = chosen[groups[chosen] == group]
        core = members[scores[members] > 1]
        core = core if len(core) > CORE_NEIGHBOURS else members
        if not len(core):  # a sample may miss it
            continue
        size = int(np.clip(len(core) // CORE_NEIGHBOURS, 1, CORE_NEIGHBOURS))
        to_core = _cosines(nearest_rows(units, units[core], size, places_of(core, len(units)))).mean(axis=1)
        nearer = to_core - to_model[:, : max(round(size * ratio), 1)].mean(axis=1)
        home[nearer > best] = group
        best = np.maximum(nearer, best)
    before, after, stayed = (
        np.bincount(codes[codes >= 0], minlength=k) for codes in (groups, home, np.where(home == groups, home, -1))
    )
    return _kept(home, (after >= SMALLEST_GROUP) & (stayed >= STAYED * before)), best > 0


def _is_mixed(units: NDArray[np.float32], is_near: NDArray[np.bool_]) -> bool:
    """Return True if a new group is loose: at its border, or because it has many themes that are not alike."""
    rows = units[:REFERENCE_ROWS]
    n, total = len(rows), rows.sum(axis=0, dtype=float)
    cosine = (total @ total - n) / (n * (n - 1))
    nearest = _cosines(nearest_rows(rows, rows, CORE_NEIGHBOURS, np.arange(n))).mean()
    return bool(is_near.mean() < CLEAR or cosine < COMPACT * nearest)


def _cosines(near: Nearest) -> NDArray[np.float32]:
    return np.asarray(1 - np.exp(2 * near.logs) / 2, np.float32)


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
