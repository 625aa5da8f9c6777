"""What is new: rows that lie nearer to each other than to the rows that a model knows, and the groups they form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parallel import run_tasks
from .lloyd import labels_by
from .refine import SEARCH_ROWS, highest_columns, separate_groups
from .tree import ward_tree

NEIGHBOURS = 10
"""Nearest rows by which a row is compared with the model, and over which its novelty is averaged."""

REFERENCE_ROWS, NEW_ROWS = 10_000, 2_500
"""Rows that a model keeps, and rows of a new file among which neighbours are searched."""

FEWEST_ROWS = 5 * NEIGHBOURS
"""A model with fewer rows cannot tell what is usual for it."""

SAME = 0.02
"""Smallest squared distance of unit rows that counts: nearer rows say the same, however near they are."""

USUAL, ODD = 0.9, 0.99
"""Shares of the model's own rows whose novelty is below 1, and below what is called odd."""

REHEARSALS, REHEARSED_ROWS = 3, 500
"""How often, and on how many rows together at least, the model's own rows are compared with each other."""

SMALLEST_GROUP = 10
"""Fewest distinct rows of a new group."""

PASSES = 2
"""Passes of K-Means in which candidates for new groups and the groups of the model compete for rows."""


class Known(NamedTuple):
    """What a model keeps for comparisons: a sample of its unit rows, their clusters, and its number of clusters."""

    units: NDArray[np.float32]
    codes: NDArray[np.intp]
    k: int


class Novelty(NamedTuple):
    """How new rows are.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        0 is the median of the model's own rows, and nine tenths of these are below 1. NaN if the model has too few
        rows to tell.
    odd : float
        The score that one in a hundred of the model's own rows exceeds; NaN if it is not known.
    rehearsals : list
        Rows of the model that played new ones, for :func:`find_new_groups`.
    """

    scores: NDArray[np.float32]
    odd: float
    rehearsals: list[Rehearsal]


class Rehearsal(NamedTuple):
    """Rows of a model that play new ones: what stays known, these rows, their clusters, and their novelty."""

    known: Known
    units: NDArray[np.float32]
    codes: NDArray[np.intp]
    scores: NDArray[np.float32]

    @staticmethod
    def of(known: Known, order: NDArray[np.intp], n_played: int) -> Rehearsal:
        """Let the first rows of an order play."""
        played, rest = order[:n_played], order[n_played:]
        units, others = known.units[played], known.units[rest]
        raw = _raw_novelty(others, units, np.arange(n_played))
        return Rehearsal(Known(others, known.codes[rest], known.k), units, known.codes[played], raw)


def score_novelty(known: Known, units: NDArray[np.float32], rng: np.random.Generator) -> Novelty:
    """Tell how new unit rows are for a model.

    A row is new if its nearest rows among the new ones are nearer than its nearest rows in the model. The same is done
    with the model itself: some of its rows play the new ones. So chance, density and the spread of the model's own
    clusters do not look like news.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = np.eye(8)[np.arange(900) % 3] + 0.1 * rng.standard_normal((900, 8))
    >>> points[860:] += np.eye(8)[5] * 3
    >>> units = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    >>> found = score_novelty(Known(units[:800], np.arange(800) % 3, 3), units[800:], rng)
    >>> bool(np.median(found.scores[:60]) < 1), bool(found.scores[60:].min() > found.odd)
    (True, True)
    """
    n_known, n = len(known.units), len(units)
    if n_known < FEWEST_ROWS or not n:
        return Novelty(np.full(n, np.nan, np.float32), float("nan"), [])
    # As many new rows as known ones at the most, so that a rehearsal has enough of both.
    chosen = np.sort(rng.permutation(n)[: min(n_known, NEW_ROWS)])
    raw = _raw_novelty(known.units, units, chosen)
    n_played = max(n_known * len(chosen) // (n_known + len(chosen)), 1)
    n_rehearsals = max(REHEARSALS, -(-REHEARSED_ROWS // n_played))
    rehearsals = [Rehearsal.of(known, rng.permutation(n_known), n_played) for _ in range(n_rehearsals)]
    middle, high, odd = np.quantile(np.concatenate([one.scores for one in rehearsals]), [0.5, USUAL, ODD])
    width = max(high - middle, np.finfo(np.float32).tiny)
    scaled = [one._replace(scores=(one.scores - middle) / width) for one in rehearsals[:REHEARSALS]]
    return Novelty(((raw - middle) / width).astype(np.float32), float((odd - middle) / width), scaled)


def find_new_groups(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], novelty: Novelty
) -> NDArray[np.intp]:
    """Return the new group of each row, numbered from 0; -1 for the rows that stay in a cluster of the model.

    Rows that are newer than usual form candidates, which compete with the clusters of the model for all rows. A
    candidate is a new group if its mean novelty is above that of every candidate among the rows of the model that
    played new ones. `codes` are the clusters of the rows in the model.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = np.eye(8)[np.arange(900) % 3] + 0.1 * rng.standard_normal((900, 8))
    >>> points[860:] += np.eye(8)[5] * 3
    >>> units = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    >>> known = Known(units[:800], np.arange(800) % 3, 3)
    >>> novelty = score_novelty(known, units[800:], rng)
    >>> found = find_new_groups(known, units[800:], np.arange(800, 900) % 3, novelty)
    >>> np.bincount(found + 1), bool((found[60:] == 0).all())
    (array([60, 40]), True)
    """
    groups = np.full(len(units), -1)
    if len(units) <= NEIGHBOURS or not novelty.rehearsals:
        return groups
    threshold = 1.0
    for played in novelty.rehearsals:
        candidates = _candidates(played.known, played.units, played.codes, played.scores)
        threshold = max([threshold, *_means(played.scores, candidates).values()])
    candidates = _candidates(known, units, codes, novelty.scores)
    new = [code for code, mean in _means(novelty.scores, candidates).items() if mean > threshold]
    for number, code in enumerate(new):
        groups[candidates == code] = number
    return groups


def _raw_novelty(
    known: NDArray[np.float32], units: NDArray[np.float32], chosen: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return by what factor (as a logarithm) the nearest known rows are farther than the nearest of the chosen rows.

    It is averaged over the nearest chosen rows. With too few of them, it is the distance to the nearest known rows.
    """
    far, _ = _nearest(units, known)
    if len(chosen) <= NEIGHBOURS:
        return far
    near, neighbours = _nearest(units, units[chosen], chosen)
    factor = far - near
    averaged: NDArray[np.float32] = (factor[chosen][neighbours].sum(axis=1) + factor) / (neighbours.shape[1] + 1)
    return averaged


def _nearest(
    units: NDArray[np.float32], others: NDArray[np.float32], own: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return the mean log distance of each row to the nearest of the other rows, and which these are.

    `own` has the row of `units` that each of the others is, so that no row is its own neighbour.
    """
    size = min(NEIGHBOURS, len(others) - (own is not None))

    def on_block(start: int) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        cosines = units[start : start + SEARCH_ROWS] @ others.T
        if own is not None:
            low, high = np.searchsorted(own, [start, start + len(cosines)])
            cosines[own[low:high] - start, np.arange(low, high)] = -np.inf
        found = highest_columns(cosines, size)
        squares = np.maximum(2 - 2 * np.take_along_axis(cosines, found, axis=1), SAME)
        return np.log(squares).mean(axis=1) / 2, found

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)), n_jobs=None)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _candidates(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], scores: NDArray[np.floating]
) -> NDArray[np.intp]:
    """Return the candidate group of each row, numbered from 0; -1 for rows that a cluster of the model won.

    Rows that are newer than usual are cut into candidates that have, on average, as many rows as a cluster.
    """
    candidates = np.full(len(units), -1)
    novel = np.flatnonzero(scores > 1)[:REFERENCE_ROWS]
    k = round(len(novel) / max(len(units) / known.k, SMALLEST_GROUP))
    if not k:
        return candidates
    proposed = codes.copy()
    proposed[novel] = known.k + ward_tree(units[novel], np.ones(len(novel))).cut(k)
    both, groups = np.concatenate([known.units, units]), np.concatenate([known.codes, proposed])
    won = labels_by(units, separate_groups(both, None, groups, known.k + k, n_passes=PASSES))
    return np.where(won >= known.k, won - known.k, -1)


def _means(scores: NDArray[np.floating], candidates: NDArray[np.intp]) -> dict[int, float]:
    """Return the mean score of each candidate that has enough rows."""
    sizes = np.bincount(candidates + 1)[1:]
    sums = np.bincount(candidates + 1, scores)[1:]
    return {int(code): sums[code] / sizes[code] for code in np.flatnonzero(sizes >= SMALLEST_GROUP)}
