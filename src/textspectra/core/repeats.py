"""Near-duplicate rows: which rows nearly repeat an earlier one, and how many do."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ..parallel import run_tasks
from . import F32, Ints, Rows
from .rows import take_units

LATER_ROWS = 1024  # that are compared at once with a block of earlier ones
EARLIER_ROWS = 4096  # in such a block
BOUND_AXES, BOUND_SAMPLE = 64, 1000  # along which rows are compared first, and rows on which these axes are found
MANY_CANDIDATES = 0.002  # share of pairs that are left by then; with more, a product of whole blocks needs less memory
ROUNDING = 1e-6  # of a cosine in float32

SHARE_SAMPLE, SHARE_AMONG = 1000, 50_000  # rows whose nearest row is searched, and rows among which it is searched


class Duplicates(NamedTuple):
    """Rows that nearly repeat an earlier row, which is not among them; and the cosine of the two."""

    rows: Ints
    of: Ints
    similarity: F32


def near_duplicates(X: Rows, threshold: float, groups: Ints | None = None) -> Duplicates:
    """Find the rows that have a cosine of `threshold` or more with an earlier row that is kept.

    Rows are kept or not one after the other, in their order, so no two rows that are kept are that similar. With
    `groups`, only rows of the same group are compared. Memory grows with the number of rows, and time with its square.
    """
    parts = [np.arange(len(X))] if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
    of, similarity = np.full(len(X), -1), np.full(len(X), -1, np.float32)
    for rows in parts:
        nearest, similarity[rows] = _nearest_kept(take_units(X, rows), threshold - ROUNDING)
        of[rows] = np.where(nearest >= 0, rows[nearest], -1)
    repeating = np.flatnonzero(of >= 0)
    return Duplicates(repeating, of[repeating], similarity[repeating])


def repeated_share(X: Rows, threshold: float) -> float:
    """Return the share of rows that have a cosine of `threshold` or more with another row.

    It is estimated on a random sample; among very many rows, also the other ones are a sample, and the share is higher.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))[:SHARE_AMONG]
    units = take_units(X, order[:SHARE_SAMPLE])

    def highest(start: int) -> F32:
        cosines = units @ take_units(X, order[start : start + EARLIER_ROWS]).T
        np.fill_diagonal(cosines[start:], -1)  # the rows of the sample come first
        return np.asarray(cosines.max(axis=1))

    best = np.max(run_tasks(highest, ((start,) for start in range(0, len(order), EARLIER_ROWS))), axis=0)
    return float((best >= threshold - ROUNDING).mean())


def _nearest_kept(units: F32, threshold: float) -> tuple[Ints, F32]:
    """Return the nearest row that is kept before each row, and their cosine; -1 for a row that is kept."""
    of, similarity = np.full(len(units), -1), np.full(len(units), -1, np.float32)
    bounds = _bounds(units)
    kept = np.zeros(0, np.intp)
    for start in range(0, len(units), LATER_ROWS):
        block = np.arange(start, min(start + LATER_ROWS, len(units)))
        parts = ((block, kept[first : first + EARLIER_ROWS]) for first in range(0, len(kept), EARLIER_ROWS))
        for pairs in run_tasks(partial(_similar, units, bounds, threshold), parts):
            _take_nearest(of, similarity, *pairs)
        kept = np.append(kept, _keep_in_block(units[block], block, of, similarity, threshold))
    return of, np.minimum(similarity, 1)


def _bounds(units: F32) -> F32:
    """Return shorter rows whose products are at least the cosines of the rows: their places along a few axes.

    What is left of a row has a length, and two rests have no higher product than the product of their lengths.
    """
    if units.shape[1] <= 2 * BOUND_AXES:
        return units
    sample = units[np.random.default_rng(0).permutation(len(units))[:BOUND_SAMPLE]]
    along = units @ np.linalg.eigh(sample.T @ sample)[1][:, -BOUND_AXES:]
    rest = np.sqrt(np.maximum(1 - np.einsum("ij,ij->i", along, along), 0))
    return np.column_stack([along, rest])


def _similar(units: F32, bounds: F32, threshold: float, block: Ints, earlier: Ints) -> tuple[Ints, Ints, F32]:
    """Return the pairs of a row of the block and an earlier row that reach the threshold, and their cosines."""
    places = _at_least(bounds[block] @ bounds[earlier].T, threshold)
    if len(places[0]) <= MANY_CANDIDATES * len(block) * len(earlier):
        rows, others = block[places[0]], earlier[places[1]]
        cosines = np.einsum("ij,ij->i", units[rows], units[others])
        reached = cosines >= threshold
        return rows[reached], others[reached], cosines[reached]
    product = units[block] @ units[earlier].T
    places = _at_least(product, threshold)
    return block[places[0]], earlier[places[1]], product[places]


def _at_least(product: F32, threshold: float) -> tuple[Ints, Ints]:
    """Return the places of high values; several times as fast as `nonzero` of a matrix."""
    rows, columns = np.divmod(np.flatnonzero(product >= threshold), product.shape[1])
    return rows, columns


def _keep_in_block(units: F32, block: Ints, of: Ints, similarity: F32, threshold: float) -> Ints:
    """Go through the rows of a block in order, and return those that repeat none that was kept before."""
    cosines = np.tril(units @ units.T, -1)
    kept = of[block] < 0
    for place in np.flatnonzero((cosines >= threshold).any(axis=1)):
        earlier = np.flatnonzero(kept[:place] & (cosines[place, :place] >= threshold))
        if len(earlier):
            best = earlier[cosines[place, earlier].argmax()]
            kept[place] = False
            _take_nearest(of, similarity, block[[place]], block[[best]], cosines[[place], [best]])
    return block[kept]


def _take_nearest(of: Ints, similarity: F32, rows: Ints, earlier: Ints, cosines: F32) -> None:
    """Note the nearest earlier row of each row, if it is nearer than what was noted before."""
    order = np.lexsort((-earlier, cosines))  # of those equally near, the first is written last
    rows, earlier, cosines = rows[order], earlier[order], cosines[order]
    nearer = cosines > similarity[rows]
    of[rows[nearer]], similarity[rows[nearer]] = earlier[nearer], cosines[nearer]
