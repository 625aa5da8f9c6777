"""What is new: rows that lie nearer to each other than to the rows that a model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.agreement import AXES, PAIR, half_agreement, principal_axes, projected
from ..core.discriminants import SEARCH_ROWS, highest_columns
from ..core.rows import take_units
from ..parallel import run_tasks
from .corpus import EmbeddedTexts

if TYPE_CHECKING:
    from .clustered import ClusteredTexts

NEIGHBORS = 10
"""Nearest rows by which a row is compared with the model, and over which its novelty is averaged."""

REFERENCE_ROWS, NEW_ROWS = 10_000, 2_500
"""Rows that a model keeps, and rows of a new file among which neighbors are searched."""

FEWEST_ROWS = 5 * NEIGHBORS
"""A model with fewer rows cannot tell what is usual for it."""

SAME = 0.02
"""Smallest squared distance of unit rows that counts: nearer rows say the same, however near they are."""

USUAL, ODD = 0.9, 0.99
"""Shares of the model's own rows whose novelty is below 1, and below what is called odd."""

REHEARSALS, REHEARSED_ROWS = 3, 500
"""How often, and on how many rows together at least, the model's own rows are compared with each other."""


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
    """

    scores: NDArray[np.float32]
    odd: float


def score_novelty(known: Known, units: NDArray[np.float32], rng: np.random.Generator) -> Novelty:
    """Tell how new unit rows are for a model.

    A row is new if its nearest rows in the model are farther than its nearest rows among the new ones, and farther than
    rows of the model are from each other there. The same is done with the model itself: some of its rows play the new
    ones. So chance, density and the spread of the model's own clusters do not look like news.
    """
    n_known, n = len(known.units), len(units)
    if n_known < FEWEST_ROWS or not n:
        return Novelty(np.full(n, np.nan, np.float32), float("nan"))
    # As many new rows as known ones at the most, so that a rehearsal has enough of both.
    chosen = np.sort(rng.permutation(n)[: min(n_known, NEW_ROWS)])
    among = nearest_rows(known.units, known.units, 2 * NEIGHBORS, np.arange(n_known))
    raw = _raw_novelty(nearest_rows(units, known.units, NEIGHBORS), among.first(NEIGHBORS), units, chosen)
    n_played = max(n_known * len(chosen) // (n_known + len(chosen)), 1)
    n_rehearsals = max(REHEARSALS, -(-REHEARSED_ROWS // n_played))
    rehearsed = [_rehearsed(known.units, among, rng.permutation(n_known) < n_played) for _ in range(n_rehearsals)]
    middle, high, odd = np.quantile(np.concatenate(rehearsed), [0.5, USUAL, ODD])
    width = max(high - middle, np.finfo(np.float32).tiny)
    return Novelty(((raw - middle) / width).astype(np.float32), float((odd - middle) / width))


class Nearest(NamedTuple):
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


def nearest_rows(
    units: NDArray[np.float32], others: NDArray[np.float32], size: int, own: NDArray[np.intp] | None = None
) -> Nearest:
    """Search the nearest of the other rows; `own` has the one that each row is itself, to pass it over, or -1."""
    size = min(size, len(others) - (own is not None))

    def on_block(start: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        cosines = units[start : start + SEARCH_ROWS] @ others.T
        if own is not None:
            itself = own[start : start + SEARCH_ROWS]
            cosines[np.flatnonzero(itself >= 0), itself[itself >= 0]] = -np.inf
        found = highest_columns(cosines, size)
        cosine = np.take_along_axis(cosines, found, axis=1)
        order = np.argsort(-cosine, axis=1)
        squares = np.maximum(2 - 2 * np.take_along_axis(cosine, order, axis=1), SAME)
        return np.take_along_axis(found, order, axis=1), np.log(squares) / 2

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)), n_jobs=None)
    return Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def places_of(chosen: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the place of each of `n` rows among the chosen ones; -1 for the others."""
    places = np.full(n, -1)
    places[chosen] = np.arange(len(chosen))
    return places


def _raw_novelty(
    far: Nearest, spacing: NDArray[np.float32], units: NDArray[np.float32], chosen: NDArray[np.intp],
    usable: NDArray[np.bool_] | None = None,
) -> NDArray[np.float32]:  # fmt: skip
    """Return by what factors (as logarithms) the known rows are farther than usual, averaged over the nearest new rows.

    One factor compares with the distances among the chosen new rows, the other with the `spacing` of the known rows
    that are nearest. With too few new rows, only the second one is there, and nothing is averaged.
    """
    distance = far.first(NEIGHBORS, usable)
    counted = far.rows[:, :NEIGHBORS]
    beyond: NDArray[np.float32] = distance - spacing[counted].mean(axis=1)
    if len(chosen) <= NEIGHBORS:
        return beyond
    near = nearest_rows(units, units[chosen], NEIGHBORS, places_of(chosen, len(units)))
    factor = beyond + distance - near.first(NEIGHBORS)
    averaged: NDArray[np.float32] = (factor[chosen][near.rows].sum(axis=1) + factor) / (near.rows.shape[1] + 1)
    return averaged


def _rehearsed(units: NDArray[np.float32], among: Nearest, is_played: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the novelty of some rows of a model that play new ones; `among` has the neighbors of all its rows."""
    played = np.flatnonzero(is_played)
    spacing = among.first(NEIGHBORS, ~is_played)
    far = Nearest(among.rows[played], among.logs[played])
    return _raw_novelty(far, spacing, units[played], np.arange(len(played)), ~is_played)


SPLITS = 4
"""Random halves that have to agree on average."""

MOST_ROWS, FEWEST_SPLIT = 1000, 40
"""Rows that are looked at, and how many are needed."""

SMALLER_PART = 0.15
"""The smaller of the two parts has at least this share of the rows; a few outliers are no group."""


def falls_in_two(units: NDArray[np.float32], rng: np.random.Generator) -> bool:
    """Tell whether random halves of unit rows, clustered separately, agree on two groups."""
    rows = units[rng.permutation(len(units))[:MOST_ROWS]]
    basis = principal_axes(rows) if len(rows) >= FEWEST_SPLIT else None
    if basis is None:
        return False
    points = projected(rows, basis, min(AXES[0], basis.axes.shape[1]))
    found = [half_agreement(points[rng.permutation(len(points))], np.array([2]), rng)[0] for _ in range(SPLITS)]
    if not np.mean(found) >= PAIR:
        return False
    along = points[:, 0]
    share = float((along > (along.min() + along.max()) / 2).mean())
    return min(share, 1 - share) >= SMALLER_PART


LEAST = 10
"""Texts of each group in the sample, or all that it has."""


class Reference(NamedTuple):
    """Positions of distinct texts, and their vectors, scaled to length 1."""

    positions: NDArray[np.intp]
    units: NDArray[np.float32]


def known_rows(model: ClusteredTexts) -> Known:
    """Return the rows of a model that new texts are compared with."""
    reference = model.reference or draw_reference(model.embedded(), model.distinct_codes)
    return Known(reference.units, model.distinct_codes[reference.positions], model.n_clusters)


def draw_reference(texts: EmbeddedTexts, codes: NDArray[np.intp]) -> Reference:
    """Draw the sample from all texts of a model; `codes` are the groups of the distinct texts (-1: none)."""
    positions = _drawn(texts.counting, codes[texts.counting])
    return Reference(positions, take_units(texts.X, positions))


def extend_reference(known: Reference, n_known: int, new: Reference, codes: NDArray[np.intp]) -> Reference:
    """Join the sample of `n_known` texts with all of some new texts, and draw again if there are too many.

    `codes` are the groups of all distinct texts. Old and new texts keep their proportion.
    """
    rng = np.random.default_rng(0)
    share = min(1.0, REFERENCE_ROWS / (n_known + len(new.positions)))
    kept = np.sort(rng.permutation(len(known.positions))[: max(round(share * n_known), 1)])
    chosen = np.searchsorted(new.positions, _drawn(new.positions, codes[new.positions], share))
    # A group of which no old text is left keeps a few.
    kept = np.union1d(kept, np.flatnonzero(is_among_first(codes[known.positions], LEAST)))
    return Reference(
        np.concatenate([known.positions[kept], new.positions[chosen]]),
        np.concatenate([known.units[kept], new.units[chosen]]),
    )


def _drawn(positions: NDArray[np.intp], codes: NDArray[np.intp], share: float | None = None) -> NDArray[np.intp]:
    """Draw positions at random, with the first few of each group among them."""
    share = min(1.0, REFERENCE_ROWS / max(len(positions), 1)) if share is None else share
    chosen = np.random.default_rng(0).random(len(positions)) < share
    drawn: NDArray[np.intp] = positions[chosen | is_among_first(codes, LEAST)]
    return drawn


def is_among_first(codes: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Tell whether each entry is among the first `n` of its code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered)
    first = np.zeros(len(codes), bool)
    first[order] = np.arange(len(codes)) - starts < n
    return first
