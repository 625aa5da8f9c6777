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
from .novelty import N_NEAREST, REFERENCE_ROWS, Known, nearest_rows, places_of

_Units = NDArray[np.float32]
_Codes = NDArray[np.intp]

_SMALLEST_CLUSTER = 10  # distinct rows of a new group
_SMOOTHED = 5  # nearest new rows over which a row is smoothed before candidates are cut
_BROADEST = 50  # rows of a candidate in a small file; in a large one, twice the square root of its rows
_CROWDED = 0.75  # most known rows among the rows of a candidate, as a share of the expected number
_MIXED = 0.12  # candidates are joined if they share more neighbors, as a share of the number expected in one group
_NEW_SHARE = 0.85  # least share of a core beyond the rows that the model would send there
_TAKEN = 0.2  # most of a cluster of the model that a core may have; with more, it is that cluster, which has grown
_LASTING = 0.4  # least share of a candidate that is in its core
_BORDER = 0.3  # least share of the core among a row's nearest new rows for it to stay beside the core
_CLEAR, _COMPACT = 0.8, 0.4  # least share of core rows, and of mean cosine over nearest cosine, if a group is not mixed


class _Neighbors(NamedTuple):
    """The nearest other new rows of each new row, and the squared distance of the farthest of them."""

    rows: _Codes
    squares: _Units
    n: int  # rows that were searched


def find_new_clusters(
    known: Known, units: _Units, codes: _Codes, scores: NDArray[np.float32]
) -> tuple[_Codes, NDArray[np.bool_]]:
    """Find the new group of each row, -1 if it stays in a cluster of the model, and which new groups are mixed: loose.

    Rows that are newer than usual form candidates. Candidates with few known rows among their own compete with the
    clusters of the model for all rows, mixing candidates are joined, and rows join the candidate of most of their
    neighbors. A candidate is a new group if it has a core: its halves agree, and the model has hardly any rows there.
    Its other rows stay if they are newer than usual and beside the core. `codes` are the clusters of the rows in the
    model, and `scores` their novelty.
    """
    nothing = np.full(len(units), -1), np.zeros(0, bool)
    if len(units) <= N_NEAREST or np.isnan(scores).any():
        return nothing
    clusters = _candidates(known, units, scores)
    if clusters.max() < 0:
        return nothing
    near = _neighbors(units, np.arange(len(units)))
    # Candidates and the clusters of the model compete for all new rows.
    rows, both = _together(known, units, codes, clusters)
    won = labels_by(units, separate_clusters(rows, None, both, int(both.max()) + 1)) - known.k
    clusters = _kept(np.maximum(won, -1), np.bincount(won[won >= 0]) > 0)
    clusters = _joined_if_mixing(clusters, near)
    # Every row joins the candidate of most of its neighbors. Sorted, the code of a majority stands in the middle.
    nearest = np.sort(clusters[near.rows], axis=1)
    middle = nearest[:, nearest.shape[1] // 2]
    is_most = (nearest == middle[:, None]).mean(axis=1) > 0.5
    clusters = np.where((middle >= 0) & is_most, middle, clusters)
    cores = _cores(known, units, codes, clusters)
    is_beside = (scores > 1) & ((cores[near.rows] == clusters[:, None]).mean(axis=1) >= _BORDER)
    clusters = _kept(np.where((cores < 0) & is_beside, clusters, cores), np.bincount(cores + 1, minlength=2)[1:] > 0)
    members = [clusters == cluster for cluster in range(int(clusters.max()) + 1)]
    return clusters, np.array([_is_mixed(units[rows], cores[rows] >= 0) for rows in members], bool)


def _neighbors(units: _Units, rows: _Codes) -> _Neighbors:
    """Search the neighbors of some rows among all of them, or a sample."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(units))[:REFERENCE_ROWS])
    nearest = nearest_rows(units[rows], units[chosen], N_NEAREST, places_of(chosen, len(units))[rows])
    return _Neighbors(chosen[nearest.rows], np.exp(2 * nearest.logs[:, -1]), len(chosen))


def _candidates(known: Known, units: _Units, scores: NDArray[np.float32]) -> _Codes:
    """Cut the rows that are newer than usual into candidates of the average size of a cluster.

    If a model has a few large clusters, candidates are smaller: news is not as broad as the model's clusters.
    """
    candidates = np.full(len(units), -1)
    novel = np.flatnonzero(scores > 1)[:REFERENCE_ROWS]
    size = min(len(units) / known.k, max(2 * np.sqrt(len(units)), _BROADEST))
    k = round(len(novel) / max(size, _SMALLEST_CLUSTER))
    if not k:
        return candidates
    near = _neighbors(units, novel)
    smooth = directions_of(units[novel] + units[near.rows[:, :_SMOOTHED]].sum(axis=1), units[novel])
    cut = ward_tree(smooth, np.ones(len(novel))).cut(k)
    sizes, crowding = np.bincount(cut), np.bincount(cut, _crowding(known, units[novel], near))
    candidates[novel] = _kept(cut, (sizes >= _SMALLEST_CLUSTER) & (crowding < _CROWDED * sizes))
    return candidates


def _crowding(known: Known, units: _Units, near: _Neighbors) -> NDArray[np.float64]:
    """Return how many known rows are as near as the new neighbors of a row, as a share of the expected number."""
    expected = near.rows.shape[1] * len(known.units) / near.n

    def on_block(start: int) -> _Codes:
        block = slice(start, start + SEARCH_ROWS)
        return np.asarray((2 - 2 * units[block] @ known.units.T < near.squares[block, None]).sum(axis=1))

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)))
    # At most 1, so that a few rows in a crowd do not outweigh the others.
    return np.asarray(np.minimum(np.concatenate(parts) / expected, 1))


def _joined_if_mixing(clusters: _Codes, near: _Neighbors) -> _Codes:
    """Join candidates whose rows are neighbors of each other, the most mixing first: they are pieces of one group."""
    k, inside = int(clusters.max()) + 1, np.flatnonzero(clusters >= 0)
    if k < 2:
        return clusters
    this, other = np.repeat(clusters[inside], near.rows.shape[1]), clusters[near.rows[inside]].ravel()
    links = np.bincount((this * k + other)[other >= 0], minlength=k * k).reshape(k, k).astype(float)
    sizes = np.bincount(clusters[inside], minlength=k).astype(float)
    place = np.arange(k)
    while True:
        # How much each pair mixes among neighbors: 0 if apart, 1 as if they were one.
        with np.errstate(invalid="ignore", divide="ignore"):
            share, expected = links / (np.diag(links)[:, None] + links), sizes / (sizes[:, None] + sizes)
            ratio = np.nan_to_num(share / expected, posinf=0)
        mixing = (ratio + ratio.T) / 2
        np.fill_diagonal(mixing, 0)
        low, high = sorted(np.unravel_index(mixing.argmax(), mixing.shape))
        if mixing[low, high] < _MIXED:
            return np.where(clusters >= 0, np.unique(place, return_inverse=True)[1][clusters], -1)
        links[low] += links[high]
        links[:, low] += links[:, high]
        sizes[low] += sizes[high]
        links[high] = links[:, high] = sizes[high] = 0
        place[place == high] = low


def _cores(known: Known, units: _Units, codes: _Codes, clusters: _Codes) -> _Codes:
    """Return the candidate whose core has each new row, or -1; a candidate without a core is not new.

    One half of the new and of the known rows teaches a rule, which judges the other half. The core is the rows that it
    gives to the candidate by the widest margins, as many as go with few known rows: these say how many of the rows
    the model would have sent there. So a cluster of the model that has grown is not new.
    """
    n_new, n_known, sizes = len(units), len(known.units), np.bincount(clusters[clusters >= 0])
    known_sizes = np.bincount(known.codes, minlength=known.k)
    rows, both = _together(known, units, codes, clusters)
    rng, k = np.random.default_rng(0), known.k + len(sizes)
    is_first = np.concatenate([rng.permutation(n_known) % 2, rng.permutation(n_new) % 2]) == 0
    won, margins = np.empty(len(rows), np.intp), np.empty(len(rows), np.float32)
    for side in (is_first, ~is_first):
        taught = np.flatnonzero(np.bincount(both[side], minlength=k))
        rule = separate_clusters(rows[side], None, both[side], k).numbered(taught)
        won[~side], margins[~side] = taught[labels_by(rows[~side], rule)], _margins(rows[~side], rule)
    cores = np.full(n_new, -1)
    for cluster, size in enumerate(sizes):
        old, new = (np.flatnonzero(part == known.k + cluster) for part in np.split(won, [n_known]))
        old, new = old[np.argsort(-margins[old])], new[np.argsort(-margins[n_known + new], kind="stable")]
        n_old = np.searchsorted(-margins[old], -margins[n_known + new], side="right")
        # A standard error more, because few rows tell little.
        expected = (n_old + np.sqrt(n_old)) * n_new / n_known
        is_new = expected <= (1 - _NEW_SHARE) * np.arange(1, len(new) + 1)
        core = new[: np.flatnonzero(is_new).max(initial=-1) + 1]
        if len(core) >= _SMALLEST_CLUSTER and (clusters[core] == cluster).sum() >= _LASTING * size:
            taken = np.bincount(known.codes[old[: n_old[len(core) - 1]]], minlength=known.k)
            cores[core] = cluster if (taken <= _TAKEN * known_sizes).all() else -1
    return cores


def _margins(units: _Units, rule: LinearRule) -> NDArray[np.float32]:
    """Return by how much the best cluster of each row has a higher score than the second."""

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.partition(rows @ rule.directions.T * scale[:, None] + rule.offsets, -2, axis=1)
        return np.asarray(scores[:, -1] - scores[:, -2], np.float32)

    return np.asarray(map_unit_rows(on_block, units, dtype=np.float32))


def _is_mixed(units: _Units, is_core: NDArray[np.bool_]) -> bool:
    """Return True if a new group is loose: at its border, or because it has many different themes."""
    rows = units[:REFERENCE_ROWS]
    n, total = len(rows), rows.sum(axis=0, dtype=float)
    cosine = (total @ total - n) / (n * (n - 1))
    nearest = 1 - np.exp(2 * nearest_rows(rows, rows, _SMOOTHED, np.arange(n)).logs).mean() / 2
    return bool(is_core.mean() < _CLEAR or cosine < _COMPACT * nearest)


def _together(known: Known, units: _Units, codes: _Codes, clusters: _Codes) -> tuple[_Units, _Codes]:
    """Return known and new rows, and their clusters; candidates are numbered after the clusters of the model."""
    joined = np.where(clusters >= 0, known.k + clusters, codes)
    return np.concatenate([known.units, units]), np.concatenate([known.codes, joined])


def _kept(clusters: _Codes, is_kept: NDArray[np.bool_]) -> _Codes:
    """Renumber the groups that are kept; -1 for the rows of the others."""
    place = np.append(places_of(np.flatnonzero(is_kept), len(is_kept)), -1)
    return np.asarray(place[clusters])
