"""Place the texts on a map: t-SNE of a sample; the other texts are placed among the sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..arrays.rows import map_unit_rows, take_units

LANDMARKS = 4000
"""Number of rows that t-SNE arranges; the other rows are placed among them."""

DIMENSIONS = 50
"""Number of principal components in which neighbours are searched."""

PERPLEXITY = 30

PHASES = ((50, 12.0, 0.5), (120, 1.0, 0.8))
"""Iterations, exaggeration and momentum of the two phases of t-SNE; twice as many keep no more of the neighbours."""

COARSENESS = 0.8
"""How coarsely forces between distant points are summed; 0.5 takes a quarter longer and keeps no more neighbours."""

PLACING = 30
"""Iterations for the points that are placed among the landmarks."""

REPORT_EVERY = 10
"""Iterations between two calls of the progress function."""

Progress = Callable[[int, int], None]


def project(
    X: NDArray[Any], rows: NDArray[np.intp], *, progress: Progress = lambda done, total: None
) -> NDArray[np.float32]:
    """Return a point in the plane for each of the `rows` of `X`; similar rows are close to each other.

    None of the rows may be all zeros. The same input gives the same map. The map is centred, its longer side is
    horizontal, as that of a screen, and its coordinates are between -1 and 1.
    """
    reduced = _principal_components(X, rows)
    if len(rows) <= 8:  # too few to have neighbourhoods
        return _centred(reduced[:, :2])
    rng = np.random.default_rng(0)
    landmarks = np.sort(rng.choice(len(rows), min(LANDMARKS, len(rows)), replace=False))
    others = np.setdiff1d(np.arange(len(rows)), landmarks)
    total = sum(iterations for iterations, _, _ in PHASES) + (PLACING if len(others) else 0)
    arranged = _arrange(reduced[landmarks], progress, total)
    points = np.empty((len(rows), 2))
    points[landmarks] = arranged
    if len(others):
        placed = arranged.prepare_partial(reduced[others], k=10, perplexity=5)
        placed.optimize(
            PLACING, learning_rate=0.1, exaggeration=1.5, momentum=0, max_grad_norm=0.25, inplace=True,
            negative_gradient_method="fft",
        )  # fmt: skip
        points[others] = placed
        progress(total, total)
    return _centred(points)


def _principal_components(X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    from sklearn.utils.extmath import randomized_svd

    sample = rows if len(rows) <= LANDMARKS else np.random.default_rng(1).choice(rows, LANDMARKS, replace=False)
    units = take_units(X, sample)
    n_components = min(DIMENSIONS, *units.shape)
    with threadpool_limits(1):  # more threads gain little here, and slow down on a busy machine
        mean = units.mean(axis=0)
        _, _, axes = randomized_svd(units - mean, n_components, random_state=0)
        along = map_unit_rows(lambda block, scale: (block * scale[:, None] - mean) @ axes.T, X[rows], dtype=np.float32)
    reduced = along.astype(np.float32)
    return np.pad(reduced, ((0, 0), (0, max(0, 2 - n_components))))


def _arrange(reduced: NDArray[np.float32], progress: Progress, total: int) -> Any:
    import openTSNE

    perplexity = min(PERPLEXITY, (len(reduced) - 1) / 3)
    # openTSNE would import every package that can search neighbours before it chose this one.
    neighbours = openTSNE.nearest_neighbors.Sklearn(reduced, k=int(3 * perplexity))
    affinities = openTSNE.affinity.PerplexityBasedNN(perplexity=perplexity, knn_index=neighbours)
    # Without some noise, points that start at the same place, or on a line, would stay there.
    start = reduced[:, :2].astype(np.float64) * (1e-4 / (float(reduced[:, 0].std()) or 1))
    start += np.random.default_rng(2).normal(scale=1e-6, size=start.shape)
    # One thread: more gain little on so few points, and slow down on a busy machine.
    embedding = openTSNE.TSNEEmbedding(
        start, affinities, negative_gradient_method="bh", theta=COARSENESS, n_jobs=1, random_state=0,
        callbacks_every_iters=REPORT_EVERY,
    )  # fmt: skip
    done = 0
    for iterations, exaggeration, momentum in PHASES:

        def on_iteration(iteration: int, _error: float, _embedding: Any, before: int = done) -> None:
            progress(before + iteration, total)

        embedding = embedding.optimize(
            iterations, exaggeration=exaggeration, momentum=momentum, callbacks=[on_iteration]
        )
        done += iterations
    return embedding


def _centred(points: NDArray[Any]) -> NDArray[np.float32]:
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points.T @ points)
    points = points @ (axes.T * np.where(axes.sum(axis=1) < 0, -1, 1))
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.abs(points - middle).max()
    centred: NDArray[np.float32] = ((points - middle) / (reach or 1)).astype(np.float32)
    return centred
