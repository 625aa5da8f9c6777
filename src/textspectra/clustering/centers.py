"""K centres for K-Means, trained on a sample of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import count_draws
from ..arrays.rows import unit_rows
from .lloyd import MAX_PASSES, train_centers
from .tree import ward_tree, weighted_means

SEED_ROWS = 2000
"""The Ward tree of up to this many rows, cut at k, gives the first centres."""

FEWER_SEEDS = 1000
"""From MANY_ROWS on, training makes up for a rougher start: so many are enough, or SEEDS_PER_CENTER for each centre."""

SEEDS_PER_CENTER = 16

MANY_ROWS = 2**13

TRAINING_ROWS = 2**14
"""Centres are trained on this many rows, or on ROWS_PER_CENTER for each centre if that is more."""

ROWS_PER_CENTER = 16


def training_size(k: int) -> int:
    """Return the number of rows on which `k` centres are trained."""
    return max(TRAINING_ROWS, ROWS_PER_CENTER * k)


def sample_centers(
    X: Any,
    weights: Any,
    k: int,
    rng: np.random.Generator,
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Train `k` centres on a random sample of the rows that count, or on all of them if there are few.

    Examples
    --------
    >>> import numpy as np
    >>> sample_centers(np.eye(3), np.array([1.0, 0.0, 1.0]), 1, np.random.default_rng(0))
    array([[0.5, 0. , 0.5]], dtype=float32)
    """
    units, weight = draw_units(X, weights, training_size(k), rng)
    return seeded_centers(units, weight, k, rng, max_passes=max_passes, n_jobs=n_jobs)


def draw_units(
    X: Any, weights: Any, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Draw `size` random rows that count, or all of them if there are fewer: scaled to length 1, and their weights."""
    draws = count_draws([X, weights], None if weights is None else weights > 0)
    return training_rows(draws, _draw(int(draws.totals[0]), size, rng))[1:]


def seeded_centers(
    units: NDArray[np.float32],
    weights: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    *,
    max_passes: int = MAX_PASSES,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Train centres that start from the Ward tree of some rows; more than SEED_ROWS / 2 start from random rows."""
    if k > SEED_ROWS // 2:
        centers = units[_draw(len(units), k, rng)]
    else:
        enough = SEED_ROWS if len(units) < MANY_ROWS else max(FEWER_SEEDS, SEEDS_PER_CENTER * k)
        seeds = _draw(len(units), min(enough, SEED_ROWS), rng)
        k = min(k, len(seeds))
        centers = weighted_means(units[seeds], weights[seeds], ward_tree(units[seeds], weights[seeds]).cut(k), k)
    return train_centers(units, weights, centers, max_passes=max_passes, n_jobs=n_jobs)


def _draw(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def training_rows(
    draws: Any, positions: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float64]]:
    """Fetch rows by their positions: their numbers, the rows scaled to length 1, and their weights."""
    rows, part, weight = draws.take(0, positions)
    return rows, unit_rows(part, first_row=rows), np.ones(len(rows)) if weight is None else weight
