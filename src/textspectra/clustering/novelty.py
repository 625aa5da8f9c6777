"""What is new: rows that lie nearer to each other than to the rows that a model knows, and the groups they form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parallel import run_tasks
from .lloyd import LinearRule, labels_by
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

GROWTH = 4
"""A new group is at least so many times as frequent as rows like it are in the model; what grows less is no news."""

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


def score_novelty(known: Known, units: NDArray[np.float32], rng: np.random.Generator) -> Novelty:
    """Tell how new unit rows are for a model.

    A row is new if its nearest rows in the model are farther than its nearest rows among the new ones, and farther than
    rows of the model are from each other there. The same is done with the model itself: some of its rows play the new
    ones. So chance, density and the spread of the model's own clusters do not look like news.

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
    among = _nearest(known.units, known.units, 2 * NEIGHBOURS, np.arange(n_known))
    raw = _raw_novelty(_nearest(units, known.units, NEIGHBOURS), among.first(NEIGHBOURS), units, chosen)
    n_played = max(n_known * len(chosen) // (n_known + len(chosen)), 1)
    n_rehearsals = max(REHEARSALS, -(-REHEARSED_ROWS // n_played))
    rehearsals = [_rehearse(known, among, rng.permutation(n_known) < n_played) for _ in range(n_rehearsals)]
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
    played new ones, if it is found again in both halves of the rows, and if its share is several times what it would
    have been in the model. `codes` are the clusters of the rows in the model.

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
    clear = [code for code, mean in _means(novelty.scores, candidates).items() if mean > threshold]
    if not clear:
        return groups
    place = np.full(int(candidates.max()) + 2, -1)
    place[clear] = np.arange(len(clear))
    candidates = place[candidates]
    new = np.flatnonzero(_is_news(known, units, codes, candidates))
    place = np.full(len(clear) + 1, -1)
    place[new] = np.arange(len(new))
    found: NDArray[np.intp] = place[candidates]
    return found


def _is_news(
    known: Known, units: NDArray[np.float32], codes: NDArray[np.intp], candidates: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Tell which candidates are found again in both halves of the rows, and were hardly there in the model.

    One half of the new and of the known rows teaches a rule, which judges the other half. A candidate is news if the
    rule gives it at least half of its own rows there, and a share of the new rows that is several times that of the
    known ones.
    """
    k, n_new, n_known = int(candidates.max()) + 1, len(units), len(known.units)
    rows = np.concatenate([known.units, units])
    groups = np.concatenate([known.codes, np.where(candidates >= 0, known.k + candidates, codes)])
    is_new = np.arange(len(rows)) >= n_known
    rng = np.random.default_rng(0)
    is_first = np.concatenate([rng.permutation(n_known) % 2, rng.permutation(n_new) % 2]) == 0
    won = np.empty(len(rows), np.intp)
    for side in (is_first, ~is_first):
        rule = separate_groups(rows[side], None, groups[side], known.k + k)
        taught = np.bincount(groups[side], minlength=known.k + k) > 0
        won[~side] = labels_by(rows[~side], LinearRule(rule.directions, np.where(taught, rule.offsets, -np.inf)))
    size, again, after, before = (
        np.bincount(some, minlength=known.k + k)[known.k :]
        for some in (groups, groups[won == groups], won[is_new], won[~is_new])
    )
    highest = before + np.sqrt(before)  # a standard error more, because few rows tell little
    news: NDArray[np.bool_] = (again >= size / 2) & (after / n_new > GROWTH * highest / n_known)
    return news


class _Nearest(NamedTuple):
    """The nearest other rows of each row, the nearest first, and the logarithms of their distances."""

    rows: NDArray[np.intp]
    logs: NDArray[np.float32]

    def first(self, size: int, usable: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return the mean log distance to the nearest `size` rows; only the usable ones count, if some are."""
        if usable is None:
            mean: NDArray[np.float32] = self.logs[:, :size].mean(axis=1)
            return mean
        counted = usable[self.rows]
        counted &= counted.cumsum(axis=1) <= size
        counted[~counted.any(axis=1), -1] = True
        return np.asarray((self.logs * counted).sum(axis=1) / counted.sum(axis=1), np.float32)


def _nearest(
    units: NDArray[np.float32], others: NDArray[np.float32], size: int, own: NDArray[np.intp] | None = None
) -> _Nearest:
    """Search the nearest of the other rows; `own` has the row of `units` that each of these is, to pass it over."""
    size = min(size, len(others) - (own is not None))

    def on_block(start: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        cosines = units[start : start + SEARCH_ROWS] @ others.T
        if own is not None:
            low, high = np.searchsorted(own, [start, start + len(cosines)])
            cosines[own[low:high] - start, np.arange(low, high)] = -np.inf
        found = highest_columns(cosines, size)
        cosine = np.take_along_axis(cosines, found, axis=1)
        order = np.argsort(-cosine, axis=1)
        squares = np.maximum(2 - 2 * np.take_along_axis(cosine, order, axis=1), SAME)
        return np.take_along_axis(found, order, axis=1), np.log(squares) / 2

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)), n_jobs=None)
    return _Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def _raw_novelty(
    far: _Nearest, spacing: NDArray[np.float32], units: NDArray[np.float32], chosen: NDArray[np.intp],
    usable: NDArray[np.bool_] | None = None,
) -> NDArray[np.float32]:  # fmt: skip
    """Return by what factors (as logarithms) the known rows are farther than usual, averaged over the nearest new rows.

    One factor compares with the distances among the chosen new rows, the other with the `spacing` of the known rows
    that are nearest. With too few new rows, only the second one is there, and nothing is averaged.
    """
    distance = far.first(NEIGHBOURS, usable)
    counted = far.rows[:, :NEIGHBOURS]
    beyond: NDArray[np.float32] = distance - spacing[counted].mean(axis=1)
    if len(chosen) <= NEIGHBOURS:
        return beyond
    near = _nearest(units, units[chosen], NEIGHBOURS, chosen)
    factor = beyond + distance - near.first(NEIGHBOURS)
    averaged: NDArray[np.float32] = (factor[chosen][near.rows].sum(axis=1) + factor) / (near.rows.shape[1] + 1)
    return averaged


def _rehearse(known: Known, among: _Nearest, is_played: NDArray[np.bool_]) -> Rehearsal:
    """Let some rows of a model play new ones; `among` has the neighbours of all its rows."""
    played, rest = np.flatnonzero(is_played), np.flatnonzero(~is_played)
    spacing = among.first(NEIGHBOURS, ~is_played)
    far = _Nearest(among.rows[played], among.logs[played])
    units = known.units[played]
    raw = _raw_novelty(far, spacing, units, np.arange(len(played)), ~is_played)
    return Rehearsal(Known(known.units[rest], known.codes[rest], known.k), units, known.codes[played], raw)


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
