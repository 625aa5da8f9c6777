"""Place the texts on a map: t-SNE of a sample; the other texts are placed among the sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import map_unit_rows, take_units
from ..clustering.refine import highest_columns
from ..parallel import one_blas_thread, run_tasks
from . import tsne

LANDMARKS = 4000
"""Number of rows that t-SNE arranges; the other rows are placed among them."""

DIMENSIONS = 50
"""Number of principal components in which neighbours are searched."""

NEIGHBOURS, NEAREST_LANDMARKS = 13, 10
"""Neighbours that attract a landmark, itself among them, and landmarks that attract another row."""

POWER, SPARE_AXES = 4, 10
"""Power iterations that find the principal components, and directions beyond those that are kept."""

SEARCH_ROWS = 512
"""Rows whose neighbours are searched at a time."""

Progress = Callable[[int, int], None]


def project(
    X: NDArray[Any], rows: NDArray[np.intp], *, progress: Progress = lambda done, total: None
) -> NDArray[np.float32]:
    """Return a point in the plane for each of the `rows` of `X`; similar rows are close to each other.

    None of the rows may be all zeros. The same input gives the same map. The map is centred, its longer side is
    horizontal, as that of a screen, and its coordinates are between -1 and 1.
    """
    # One thread: more gain little on so few points, and slow down on a busy machine.
    with one_blas_thread():
        reduced = _principal_components(X, rows)
        if len(rows) <= 8:  # too few to have neighbourhoods
            return _centred(reduced[:, :2])
        rng = np.random.default_rng(0)
        landmarks = np.sort(rng.choice(len(rows), min(LANDMARKS, len(rows)), replace=False))
        others = np.setdiff1d(np.arange(len(rows)), landmarks)
        total = sum(iterations for iterations, _, _ in tsne.PHASES) + (tsne.PLACING if len(others) else 0)
        steps = iter(range(1, total + 1))

        def step() -> None:
            progress(next(steps), total)

        among = reduced[landmarks]
        # Without some noise, points that start at the same place, or on a line, would stay there.
        start = among[:, :2] * (1e-4 / (float(among[:, 0].std()) or 1))
        start += np.random.default_rng(2).normal(scale=1e-6, size=start.shape)
        points = np.empty((len(rows), 2), np.float32)
        points[landmarks] = tsne.arrange(_nearest(among, among, min(NEIGHBOURS, len(among) // 4)), start, progress=step)
        if len(others):
            nearest = _nearest(reduced[others], among, min(NEAREST_LANDMARKS, len(among)))
            points[others] = tsne.place(nearest, points[landmarks], progress=step)
    return _centred(points)


def _principal_components(X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    sample = rows if len(rows) <= LANDMARKS else np.random.default_rng(1).choice(rows, LANDMARKS, replace=False)
    units = take_units(X, sample)
    mean = units.mean(axis=0)
    axes = _leading_axes(units - mean, min(DIMENSIONS, *units.shape))
    along = map_unit_rows(lambda block, scale: (block * scale[:, None] - mean) @ axes, X[rows], dtype=np.float32)
    reduced: NDArray[np.float32] = np.pad(along, ((0, 0), (0, max(0, 2 - axes.shape[1]))))
    return reduced


def _leading_axes(centred: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
    """Return the leading principal axes as columns, by power iterations of some more random directions."""
    n_directions = min(n_axes + SPARE_AXES, *centred.shape)
    axes = np.random.default_rng(0).standard_normal((centred.shape[1], n_directions), np.float32)
    for _ in range(POWER):
        axes, _ = np.linalg.qr(centred.T @ (centred @ axes))
    _, _, turned = np.linalg.svd(centred @ axes, full_matrices=False)
    leading: NDArray[np.float32] = axes @ turned[:n_axes].T
    return leading


def _nearest(rows: NDArray[np.float32], among: NDArray[np.float32], size: int) -> NDArray[np.intp]:
    """Return the `size` nearest of the rows `among` for each row; a row itself counts."""
    squares = np.einsum("ij,ij->i", among, among)

    def search(start: int) -> NDArray[np.intp]:
        return highest_columns(2 * rows[start : start + SEARCH_ROWS] @ among.T - squares, size)

    return np.concatenate(run_tasks(search, ((start,) for start in range(0, len(rows), SEARCH_ROWS)), n_jobs=None))


def _centred(points: NDArray[Any]) -> NDArray[np.float32]:
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points.T @ points)
    points = points @ (axes.T * np.where(axes.sum(axis=1) < 0, -1, 1))
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.abs(points - middle).max()
    centred: NDArray[np.float32] = ((points - middle) / (reach or 1)).astype(np.float32)
    return centred
