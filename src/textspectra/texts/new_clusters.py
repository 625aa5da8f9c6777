"""New groups: rows of a new file that are new together, and that no cluster of the model can claim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.discriminants import SEARCH_ROWS, separate_clusters
from ..core.kmeans import LinearRule, directions_of, labels_by
from ..core.rows import map_unit_rows
from ..core.ward import ward_tree
from ..parallel import run_tasks
from .novelty import NEIGHBORS, REFERENCE_ROWS, Known, nearest_rows, places_of

SMALLEST_CLUSTER = 10
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
"""Candidates are joined if so many of their neighbors are of each other, as a share of those expected in one group."""

NEW_SHARE = 0.85
"""Least share of a core that is more than what the model would send there."""

TAKEN = 0.2
"""The most of a cluster of the model that a core may have; with more, it is that cluster, which has grown."""

LASTING, BORDER = 0.4, 0.3
"""Least share of a candidate that is in its core, and of a row's nearest new rows for it to stay beside the core."""


class NewClusters(NamedTuple):
    """The new group of each row, numbered from 0, or -1; and whether each new group is loose: mixed."""

    codes: NDArray[np.intp]
    is_mixed: NDArray[np.bool_]


class _Neighbors(NamedTuple):
    """The nearest other new rows of each new row, and the squared distance of the farthest of them."""

    rows: NDArray[np.intp]
    squares: NDArray[np.float32]
    n: int
    """Rows among which they were searched."""


def find_new_clusters(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], scores: NDArray[np.float32]
) -> NewClusters:
    """Find the new group of each row; -1 for the rows that stay in a cluster of the model.

    Rows that are newer than usual form candidates. Candidates without many known rows among their own compete with the
    clusters of the model for all rows, those that mix are joined, and rows join the candidate of most of their
    neighbors. A candidate is a new group if it has a core in which halves of the rows agree, and where the model has
    hardly any rows. Its other rows stay if they are newer than usual and beside the core. `codes` are the clusters of
    the rows in the model, and `scores` their novelty.
    """
    nothing = NewClusters(np.full(len(units), -1), np.zeros(0, bool))
    if len(units) <= NEIGHBORS or np.isnan(scores).any():
        return nothing
    clusters = _candidates(known, units, scores)
    if clusters.max() < 0:
        return nothing
    near = _neighbors(units, np.arange(len(units)))
    clusters = _joined_where_mixed(_won_by_candidates(known, units, codes, clusters), near)
    clusters = _joined_by_neighbors(clusters, near)
    cores = _cores(known, units, codes, clusters)
    is_beside = (scores > 1) & ((cores[near.rows] == clusters[:, None]).mean(axis=1) >= BORDER)
    clusters = _kept(np.where((cores < 0) & is_beside, clusters, cores), np.bincount(cores + 1, minlength=2)[1:] > 0)
    mixed = [
        _is_mixed(units[clusters == cluster], cores[clusters == cluster] >= 0)
        for cluster in range(int(clusters.max()) + 1)
    ]
    return NewClusters(clusters, np.array(mixed, bool))


def _neighbors(units: NDArray[np.float32], rows: NDArray[np.intp]) -> _Neighbors:
    """Search the neighbors of some rows among all of them, or a sample."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(units))[:REFERENCE_ROWS])
    found = nearest_rows(units[rows], units[chosen], NEIGHBORS, places_of(chosen, len(units))[rows])
    return _Neighbors(chosen[found.rows], np.exp(2 * found.logs[:, -1]), len(chosen))


def _candidates(known: Known, units: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """Cut the rows that are newer than usual into candidates of the average size of a cluster.

    If a model has a few large clusters, candidates are smaller: news is not as broad as the model's clusters.
    """
    candidates = np.full(len(units), -1)
    novel = np.flatnonzero(scores > 1)[:REFERENCE_ROWS]
    k = round(len(novel) / max(min(len(units) / known.k, max(2 * np.sqrt(len(units)), BROADEST)), SMALLEST_CLUSTER))
    if not k:
        return candidates
    near = _neighbors(units, novel)
    smooth = directions_of(units[novel] + units[near.rows[:, :SMOOTHED]].sum(axis=1), units[novel])
    cut = ward_tree(smooth, np.ones(len(novel))).cut(k)
    size, crowding = np.bincount(cut), np.bincount(cut, _crowding(known, units[novel], near))
    candidates[novel] = _kept(cut, (size >= SMALLEST_CLUSTER) & (crowding < CROWDED * size))
    return candidates


def _crowding(known: Known, units: NDArray[np.float32], near: _Neighbors) -> NDArray[np.float64]:
    """Return how many known rows are as near as the new neighbors of a row, as a share of those expected.

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
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], clusters: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Let candidates and the clusters of the model compete for all new rows."""
    both, own = _together(known, units, codes, clusters)
    won = labels_by(units, separate_clusters(both, None, own, int(own.max()) + 1)) - known.k
    return _kept(np.maximum(won, -1), np.bincount(won[won >= 0]) > 0)


def _joined_where_mixed(clusters: NDArray[np.intp], near: _Neighbors) -> NDArray[np.intp]:
    """Join candidates whose rows are neighbors of each other, the most mixed first: they are pieces of one group."""
    k, inside = int(clusters.max()) + 1, np.flatnonzero(clusters >= 0)
    if k < 2:
        return clusters
    own, other = np.repeat(clusters[inside], near.rows.shape[1]), clusters[near.rows[inside]].ravel()
    links = np.bincount((own * k + other)[other >= 0], minlength=k * k).reshape(k, k).astype(float)
    sizes = np.bincount(clusters[inside], minlength=k).astype(float)
    place = np.arange(k)
    while True:
        mixing = _mixing(links, sizes)
        low, high = sorted(np.unravel_index(mixing.argmax(), mixing.shape))
        if mixing[low, high] < MIXED:
            return np.where(clusters >= 0, np.unique(place, return_inverse=True)[1][clusters], -1)
        links[low] += links[high]
        links[:, low] += links[:, high]
        sizes[low] += sizes[high]
        links[high] = links[:, high] = sizes[high] = 0
        place[place == high] = low


def _mixing(links: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much each pair of clusters mixes among neighbors: 0 if apart, 1 as if they were one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = links / (np.diag(links)[:, None] + links)
        expected = sizes / (sizes[:, None] + sizes)
        ratio = np.nan_to_num(share / expected, posinf=0)
    mixing: NDArray[np.float64] = (ratio + ratio.T) / 2
    np.fill_diagonal(mixing, 0)
    return mixing


def _joined_by_neighbors(clusters: NDArray[np.intp], near: _Neighbors) -> NDArray[np.intp]:
    """Let every row join the candidate that most of its neighbors are in."""
    nearest = np.sort(clusters[near.rows], axis=1)
    middle = nearest[:, nearest.shape[1] // 2]  # sorted, the code of a majority stands in the middle
    is_most = (nearest == middle[:, None]).sum(axis=1) > nearest.shape[1] / 2
    return np.where((middle >= 0) & is_most, middle, clusters)


def _cores(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], clusters: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the candidate in whose core each new row is, or -1; a candidate without a core is not new.

    One half of the new and of the known rows teaches a rule, which judges the other half. The core is the rows that it
    gives to the candidate by the widest margins, as many as go with few known rows: these say how many of the rows
    the model would have sent there. So a cluster of the model that has grown is not new.
    """
    n_new, n_known, sizes = len(units), len(known.units), np.bincount(clusters[clusters >= 0])
    known_sizes = np.bincount(known.codes, minlength=known.k)
    rows, own = _together(known, units, codes, clusters)
    rng, k = np.random.default_rng(0), known.k + len(sizes)
    is_first = np.concatenate([rng.permutation(n_known) % 2, rng.permutation(n_new) % 2]) == 0
    won, margins = np.empty(len(rows), np.intp), np.empty(len(rows), np.float32)
    for side in (is_first, ~is_first):
        rule = separate_clusters(rows[side], None, own[side], k)
        taught = np.flatnonzero(np.bincount(own[side], minlength=k))
        rule = rule.numbered(taught)
        won[~side], margins[~side] = taught[labels_by(rows[~side], rule)], _margins(rows[~side], rule)
    cores = np.full(n_new, -1)
    for cluster, size in enumerate(sizes):
        old, new = (np.flatnonzero(part == known.k + cluster) for part in np.split(won, [n_known]))
        old, new = old[np.argsort(-margins[old])], new[np.argsort(-margins[n_known + new], kind="stable")]
        n_old = np.searchsorted(-margins[old], -margins[n_known + new], side="right")
        # A standard error more, because few rows tell little.
        expected = (n_old + np.sqrt(n_old)) * n_new / n_known
        is_new = expected <= (1 - NEW_SHARE) * np.arange(1, len(new) + 1)
        core = new[: np.flatnonzero(is_new).max(initial=-1) + 1]
        if len(core) >= SMALLEST_CLUSTER and (clusters[core] == cluster).sum() >= LASTING * size:
            taken = np.bincount(known.codes[old[: n_old[len(core) - 1]]], minlength=known.k)
            cores[core] = cluster if (taken <= TAKEN * known_sizes).all() else -1
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
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], clusters: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return known and new rows, and their clusters; those of candidates come after those of the model."""
    own = np.where(clusters >= 0, known.k + clusters, codes)
    return np.concatenate([known.units, units]), np.concatenate([known.codes, own])


def _kept(clusters: NDArray[np.intp], is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the groups that are kept, numbered anew; -1 for the rows of others."""
    place = np.full(len(is_kept) + 1, -1)
    place[np.flatnonzero(is_kept)] = np.arange(is_kept.sum())
    kept: NDArray[np.intp] = place[clusters]
    return kept
