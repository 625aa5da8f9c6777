"""Novelty: how much nearer new rows lie to each other than to the rows of a model."""

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

N_NEAREST = 10  # rows that a row is compared with, and over which its novelty is averaged
REFERENCE_ROWS = 10_000  # that a model keeps for comparisons
USUAL = 0.9  # share of the model's own rows whose novelty is below 1
SMALLEST_SQUARE = 0.02  # squared distance of unit rows; nearer rows say the same, however near they are
_FEWEST_KNOWN = 5 * N_NEAREST  # rows; with fewer, usual distances cannot be estimated
_NEW_ROWS = 2_500  # of a new file among which neighbors are searched
_LEAST_PER_CLUSTER = 10  # rows of each cluster in the sample of a model, or all that it has


class Known(NamedTuple):
    """A sample of the unit rows of a model, their clusters, and its number of clusters."""

    units: NDArray[np.float32]
    codes: NDArray[np.intp]
    k: int


def score_novelty(known: Known, units: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """Score how new unit rows are for a model; also return the score that one in a hundred of its own rows exceeds.

    A score of 0 is the median of the model's own rows, and nine tenths of these are below 1. All is NaN if the model
    has too few rows to tell.

    A row is new if its nearest rows in the model are farther than its nearest rows among the new ones, and farther than
    rows of the model are from each other there. The same is done with the model itself: some of its rows play the new
    ones. So chance, density and the spread of the model's own clusters do not look like news.
    """
    n_known, n, rng = len(known.units), len(units), np.random.default_rng(0)
    if n_known < _FEWEST_KNOWN or not n:
        return np.full(n, np.nan, np.float32), float("nan")
    # As many new rows as known ones at the most, so that a rehearsal has enough of both.
    chosen = np.sort(rng.permutation(n)[: min(n_known, _NEW_ROWS)])
    among = nearest_rows(known.units, known.units, 2 * N_NEAREST, np.arange(n_known))
    raw = _raw_novelty(nearest_rows(units, known.units, N_NEAREST), among.mean_logs(), units, chosen)
    n_played = max(n_known * len(chosen) // (n_known + len(chosen)), 1)
    rehearsed = []
    for _ in range(max(3, -(-500 // n_played))):  # at least three rehearsals, and 500 rows together
        is_played = rng.permutation(n_known) < n_played
        played = np.flatnonzero(is_played)
        far, spacing = Nearest(among.rows[played], among.logs[played]), among.mean_logs(~is_played)
        rehearsed.append(_raw_novelty(far, spacing, known.units[played], np.arange(n_played), ~is_played))
    middle, high, odd = np.quantile(np.concatenate(rehearsed), [0.5, USUAL, 0.99])
    width = max(high - middle, np.finfo(np.float32).tiny)
    return ((raw - middle) / width).astype(np.float32), float((odd - middle) / width)


def _raw_novelty(
    far: Nearest, spacing: NDArray[np.float32], units: NDArray[np.float32], chosen: NDArray[np.intp],
    usable: NDArray[np.bool_] | None = None,
) -> NDArray[np.float32]:  # fmt: skip
    """Return by what factors (as logarithms) the known rows are farther than usual, averaged over the nearest new rows.

    One factor compares with the distances among the chosen new rows, the other with the `spacing` of the nearest known
    rows. With too few new rows, only the second factor exists, and nothing is averaged.
    """
    distance = far.mean_logs(usable)
    beyond: NDArray[np.float32] = distance - spacing[far.rows[:, :N_NEAREST]].mean(axis=1)
    if len(chosen) <= N_NEAREST:
        return beyond
    near = nearest_rows(units, units[chosen], N_NEAREST, places_of(chosen, len(units)))
    factor = beyond + distance - near.mean_logs()
    return np.asarray((factor[chosen][near.rows].sum(axis=1) + factor) / (near.rows.shape[1] + 1))


class Nearest(NamedTuple):
    """The nearest other rows of each row, the nearest first, and the logarithms of their distances."""

    rows: NDArray[np.intp]
    logs: NDArray[np.float32]

    def mean_logs(self, usable: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return the mean log distance to the nearest rows; only the usable ones count, if any."""
        if usable is None:
            return np.asarray(self.logs[:, :N_NEAREST].mean(axis=1))
        counted = usable[self.rows]
        counted &= counted.cumsum(axis=1) <= N_NEAREST
        counted[~counted.any(axis=1), -1] = True
        return np.asarray((self.logs * counted).sum(axis=1) / counted.sum(axis=1), np.float32)


def nearest_rows(
    units: NDArray[np.float32], others: NDArray[np.float32], size: int, selves: NDArray[np.intp] | None = None
) -> Nearest:
    """Search the nearest of the other rows; `selves` has the place of each row among them, to skip it, or -1."""
    size = min(size, len(others) - (selves is not None))

    def on_block(start: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        cosines = units[start : start + SEARCH_ROWS] @ others.T
        if selves is not None:
            itself = selves[start : start + SEARCH_ROWS]
            cosines[np.flatnonzero(itself >= 0), itself[itself >= 0]] = -np.inf
        columns = highest_columns(cosines, size)
        cosine = np.take_along_axis(cosines, columns, axis=1)
        order = np.argsort(-cosine, axis=1)
        squares = np.maximum(2 - 2 * np.take_along_axis(cosine, order, axis=1), SMALLEST_SQUARE)
        return np.take_along_axis(columns, order, axis=1), np.log(squares) / 2

    parts = run_tasks(on_block, ((start,) for start in range(0, len(units), SEARCH_ROWS)))
    return Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def places_of(chosen: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the place of each of `n` rows among the chosen ones; -1 for the others."""
    places = np.full(n, -1)
    places[chosen] = np.arange(len(chosen))
    return places


def falls_in_two(units: NDArray[np.float32]) -> bool:
    """Return True if random halves of unit rows, clustered separately, agree on two groups."""
    rng = np.random.default_rng(0)
    rows = units[rng.permutation(len(units))[:1000]]
    basis = principal_axes(rows) if len(rows) >= 40 else None
    if basis is None:
        return False
    points = projected(rows, basis, min(AXES[0], basis.axes.shape[1]))
    agreements = [half_agreement(points[rng.permutation(len(points))], np.array([2]), rng)[0] for _ in range(4)]
    along = points[:, 0]
    share = float((along > (along.min() + along.max()) / 2).mean())
    return bool(np.mean(agreements) >= PAIR) and min(share, 1 - share) >= 0.15  # a few outliers are not a group


class Reference(NamedTuple):
    """The sample that a model keeps for comparisons: positions of distinct texts, and their unit vectors."""

    positions: NDArray[np.intp]
    units: NDArray[np.float32]


def known_rows(model: ClusteredTexts, reference: Reference | None = None) -> Known:
    """Return the rows of a model that new texts are compared with; the `reference` may be drawn already."""
    reference = reference or reference_of(model)
    return Known(reference.units, model.distinct_codes[reference.positions], model.n_clusters)


def reference_of(model: ClusteredTexts) -> Reference:
    """Return the sample that a model keeps, or draw it."""
    return model.reference or draw_reference(model.embedded(), model.distinct_codes)


def draw_reference(texts: EmbeddedTexts, codes: NDArray[np.intp]) -> Reference:
    """Draw the sample from all texts of a model; `codes` are the groups of the distinct texts (-1: none)."""
    share = min(1.0, REFERENCE_ROWS / max(len(texts.counting), 1))
    positions = texts.counting[_is_drawn(codes[texts.counting], share)]
    return Reference(positions, take_units(texts.X, positions))


def extend_reference(model: ClusteredTexts, new: Reference, codes: NDArray[np.intp]) -> Reference:
    """Join the sample of a model with all new texts, and draw again if there are too many.

    `codes` are the groups of all distinct texts. Old and new texts keep their proportion.
    """
    known, n_known = reference_of(model), int((model.distinct_codes >= 0).sum())
    share = min(1.0, REFERENCE_ROWS / (n_known + len(new.positions)))
    kept = np.random.default_rng(0).permutation(len(known.positions))[: max(round(share * n_known), 1)]
    # A group that would lose all its old texts keeps a few.
    kept = np.union1d(kept, np.flatnonzero(is_among_first(codes[known.positions], _LEAST_PER_CLUSTER)))
    chosen = _is_drawn(codes[new.positions], share)
    return Reference(
        np.concatenate([known.positions[kept], new.positions[chosen]]),
        np.concatenate([known.units[kept], new.units[chosen]]),
    )


def _is_drawn(codes: NDArray[np.intp], share: float) -> NDArray[np.bool_]:
    """Draw a share of the entries at random, with the first few of each code among them."""
    return (np.random.default_rng(0).random(len(codes)) < share) | is_among_first(codes, _LEAST_PER_CLUSTER)


def is_among_first(codes: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Return True for each entry that is among the first `n` of its code."""
    order = np.argsort(codes, kind="stable")
    first = np.zeros(len(codes), bool)
    first[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order]) < n
    return first
