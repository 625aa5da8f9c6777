"""t-SNE in the plane: neighbors attract each other, and all points repel each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array

from ..core.discriminants import highest_columns
from ..core.rows import map_unit_rows, take_units
from ..parallel import one_blas_thread, run_tasks

PHASES = ((50, 12.0, 0.5), (120, 1.0, 0.8))
"""Iterations, exaggeration of the attraction, and momentum; twice as many keep no more of the neighbors."""

PLACING = 30
"""Iterations for points that are placed among others."""

PLACING_RATE, PLACING_EXAGGERATION, PLACING_STEP = 0.1, 1.5, 0.25
"""How far placed points move along their gradient, its exaggeration, and the longest gradient."""

LONGEST_STEP = 5.0
"""No point moves farther in one iteration."""

BOX = 1.5
"""Largest width of a box, within which the repulsion is interpolated; a width of 1 takes twice as long and keeps no
more neighbors, a width of 2 loses some."""

FEWEST_BOXES = 10

Progress = Callable[[], None]
Floats = NDArray[np.float32]


def arrange(neighbors: NDArray[np.intp], start: Floats, *, progress: Progress = lambda: None) -> Floats:
    """Move points from `start` until neighbors are close; row i of `neighbors` has the neighbors of point i.

    All neighbors count alike, which gives nearly the same map as weights of a fixed perplexity.
    """
    n = len(start)
    directed = _graph(neighbors, n)
    graph = csr_array(directed + directed.T)
    graph.data /= graph.data.sum()
    points = start.astype(np.float32)
    gains, step = np.ones_like(points), np.zeros_like(points)
    for iterations, exaggeration, momentum in PHASES:
        for _ in range(iterations):
            repulsion, near = _repulsion(points, points)
            gradient = exaggeration * _attraction(graph, points, points) - repulsion / max(float(near.sum()) - n, 1e-6)
            gains = np.maximum(np.where(gradient * step < 0, gains + 0.2, gains * 0.8), 0.01)
            step = momentum * step - n / exaggeration * gains * gradient
            points += _shortened(step, LONGEST_STEP)
            points -= points.mean(axis=0)
            progress()
    return points


def place(neighbors: NDArray[np.intp], among: Floats, *, progress: Progress = lambda: None) -> Floats:
    """Return points near their neighbors `among` points that stay where they are."""
    graph = _graph(neighbors, len(among))
    graph.data /= neighbors.shape[1]
    points = np.median(among[neighbors], axis=1).astype(np.float32)
    for _ in range(PLACING):
        repulsion, near = _repulsion(among, points)
        gradient = PLACING_EXAGGERATION * _attraction(graph, points, among) - repulsion / near[:, None]
        points -= PLACING_RATE * _shortened(gradient, PLACING_STEP)
        progress()
    return points


def _graph(neighbors: NDArray[np.intp], n: int) -> csr_array:
    starts = np.arange(0, neighbors.size + 1, neighbors.shape[1])
    return csr_array((np.ones(neighbors.size, np.float32), neighbors.ravel(), starts), shape=(len(neighbors), n))


def _shortened(steps: Floats, longest: float) -> Floats:
    length = np.sqrt(np.einsum("ij,ij->i", steps, steps))[:, None]
    shortened: Floats = steps * np.minimum(1, longest / np.maximum(length, longest))
    return shortened


def _attraction(graph: csr_array, points: Floats, targets: Floats) -> Floats:
    """Return for each point the sum of ``weight * (point - target) / (1 + squared distance)`` over its edges."""
    apart = np.repeat(points, np.diff(graph.indptr), axis=0) - targets[graph.indices]
    pull = graph.data / (1 + np.einsum("ij,ij->i", apart, apart))
    pulls = csr_array((pull, graph.indices, graph.indptr), shape=graph.shape)
    attraction: Floats = points * pulls.sum(axis=1)[:, None] - pulls @ targets
    return attraction


def _repulsion(sources: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return for each point the sums over all sources of ``(point - source) * q**2`` and of q.

    q is ``1 / (1 + squared distance)``. The sums are convolutions of a few charges with ``q**2``. As in FIt-SNE, the
    charges are spread over a regular grid, convolved there by the fast Fourier transform, and interpolated.
    """
    low = np.minimum(sources.min(axis=0), points.min(axis=0))
    extent = float((np.maximum(sources.max(axis=0), points.max(axis=0)) - low).max()) * 1.001 + 1e-6
    n_boxes = max(FEWEST_BOXES, int(np.ceil(extent / BOX)))
    spacing = extent / (3 * n_boxes)
    spread = _interpolation((sources - low) / spacing, 3 * n_boxes)
    read = spread if sources is points else _interpolation((points - low) / spacing, 3 * n_boxes)
    charges = np.column_stack([np.ones(len(sources), np.float32), sources, np.einsum("ij,ij->i", sources, sources)])
    mass, x, y, square = (read @ _convolved(spread.T @ charges, 3 * n_boxes, spacing)).T
    repulsion = points * mass[:, None] - np.column_stack([x, y])
    near = (1 + np.einsum("ij,ij->i", points, points)) * mass - 2 * (points[:, 0] * x + points[:, 1] * y) + square
    return repulsion, np.maximum(near, np.finfo(np.float32).tiny)


def _interpolation(places: Floats, size: int) -> csr_array:
    """Return the weights of 3 x 3 knots of the grid for each place: quadratic polynomials within boxes of 3 knots."""
    box = np.minimum(places // 3, size // 3 - 1).astype(np.intp)
    t = places - 3 * box
    weights = np.stack([(t - 1.5) * (t - 2.5) / 2, (t - 0.5) * (2.5 - t), (t - 0.5) * (t - 1.5) / 2])
    knots = 3 * box + np.arange(3)[:, None, None]
    both = (weights[:, None, :, 0] * weights[None, :, :, 1]).reshape(9, -1).T
    flat = (knots[:, None, :, 0] * size + knots[None, :, :, 1]).reshape(9, -1).T
    starts = np.arange(0, flat.size + 1, 9)
    return csr_array((both.ravel(), flat.ravel(), starts), shape=(len(places), size * size))


def _convolved(charges: Floats, size: int, spacing: float) -> Floats:
    """Convolve charges on the knots of the grid with ``1 / (1 + squared distance)**2``."""
    padded = fft.next_fast_len(2 * size, real=True)
    offset = np.arange(padded)
    squares = np.square(spacing * np.minimum(offset, padded - offset))
    kernel = (1 / np.square(1 + squares[:, None] + squares)).astype(np.float32)
    planes = charges.T.reshape(-1, size, size)
    found = fft.irfft2(fft.rfft2(planes, (padded, padded)) * fft.rfft2(kernel).real, (padded, padded))
    return np.ascontiguousarray(found[:, :size, :size].reshape(len(planes), -1).T)


LANDMARKS = 4000
"""Number of rows that t-SNE arranges; the other rows are placed among them."""

DIMENSIONS = 50
"""Number of principal components in which neighbors are searched."""

NEIGHBORS, NEAREST_LANDMARKS = 13, 10
"""Neighbors that attract a landmark, itself among them, and landmarks that attract another row."""

POWER, SPARE_AXES = 4, 10
"""Power iterations that find the principal components, and directions beyond those that are kept."""

SEARCH_ROWS = 512
"""Rows whose neighbors are searched at a time."""

MapProgress = Callable[[int, int], None]


def project(
    X: NDArray[Any], rows: NDArray[np.intp], *, progress: MapProgress = lambda done, total: None
) -> NDArray[np.float32]:
    """Return a point in the plane for each of the `rows` of `X`; similar rows are close to each other.

    None of the rows may be all zeros. The same input gives the same map. The map is centerd, its longer side is
    horizontal, as that of a screen, and its coordinates are between -1 and 1.
    """
    # One thread: more gain little on so few points, and slow down on a busy machine.
    with one_blas_thread():
        reduced = _principal_components(X, rows)
        if len(rows) <= 8:  # too few to have neighborhoods
            return _centerd(reduced[:, :2])
        rng = np.random.default_rng(0)
        landmarks = np.sort(rng.choice(len(rows), min(LANDMARKS, len(rows)), replace=False))
        others = np.setdiff1d(np.arange(len(rows)), landmarks)
        total = sum(iterations for iterations, _, _ in PHASES) + (PLACING if len(others) else 0)
        steps = iter(range(1, total + 1))

        def step() -> None:
            progress(next(steps), total)

        among = reduced[landmarks]
        # Without some noise, points that start at the same place, or on a line, would stay there.
        start = among[:, :2] * (1e-4 / (float(among[:, 0].std()) or 1))
        start += np.random.default_rng(2).normal(scale=1e-6, size=start.shape)
        points = np.empty((len(rows), 2), np.float32)
        points[landmarks] = arrange(_nearest(among, among, min(NEIGHBORS, len(among) // 4)), start, progress=step)
        if len(others):
            nearest = _nearest(reduced[others], among, min(NEAREST_LANDMARKS, len(among)))
            points[others] = place(nearest, points[landmarks], progress=step)
    return _centerd(points)


def _principal_components(X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    sample = rows if len(rows) <= LANDMARKS else np.random.default_rng(1).choice(rows, LANDMARKS, replace=False)
    units = take_units(X, sample)
    mean = units.mean(axis=0)
    axes = _leading_axes(units - mean, min(DIMENSIONS, *units.shape))
    along = map_unit_rows(lambda block, scale: (block * scale[:, None] - mean) @ axes, X[rows], dtype=np.float32)
    reduced: NDArray[np.float32] = np.pad(along, ((0, 0), (0, max(0, 2 - axes.shape[1]))))
    return reduced


def _leading_axes(centerd: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
    """Return the leading principal axes as columns, by power iterations of some more random directions."""
    n_directions = min(n_axes + SPARE_AXES, *centerd.shape)
    axes = np.random.default_rng(0).standard_normal((centerd.shape[1], n_directions), np.float32)
    for _ in range(POWER):
        axes, _ = np.linalg.qr(centerd.T @ (centerd @ axes))
    _, _, turned = np.linalg.svd(centerd @ axes, full_matrices=False)
    leading: NDArray[np.float32] = axes @ turned[:n_axes].T
    return leading


def _nearest(rows: NDArray[np.float32], among: NDArray[np.float32], size: int) -> NDArray[np.intp]:
    """Return the `size` nearest of the rows `among` for each row; a row itself counts."""
    squares = np.einsum("ij,ij->i", among, among)

    def search(start: int) -> NDArray[np.intp]:
        return highest_columns(2 * rows[start : start + SEARCH_ROWS] @ among.T - squares, size)

    return np.concatenate(run_tasks(search, ((start,) for start in range(0, len(rows), SEARCH_ROWS)), n_jobs=None))


def _centerd(points: NDArray[Any]) -> NDArray[np.float32]:
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points.T @ points)
    points = points @ (axes.T * np.where(axes.sum(axis=1) < 0, -1, 1))
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.abs(points - middle).max()
    centerd: NDArray[np.float32] = ((points - middle) / (reach or 1)).astype(np.float32)
    return centerd
