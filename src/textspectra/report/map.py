"""The map of the texts: t-SNE in the plane, where neighbors attract each other and all points repel each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import fft
from scipy.sparse import csr_array

from ..core import F32, Array, Ints
from ..core.discriminants import highest_columns
from ..core.rows import map_unit_rows, take_units
from ..parallel import run_tasks

LANDMARKS = 4000  # rows that t-SNE arranges; the other rows are placed among them
NEAREST, NEAREST_LANDMARKS = 13, 10  # neighbors that attract a landmark, itself among them, and another row
COMPONENTS, SPARE_COMPONENTS, POWER_ITERATIONS = 50, 10, 4
"""Principal components for the search of neighbors, random directions beyond them, and iterations to find them."""
SEARCH_BLOCK = 512  # rows whose neighbors are searched at a time

PHASES = ((50, 12.0, 0.5), (120, 1.0, 0.8))
"""Iterations, exaggeration of the attraction, and momentum; twice as many keep no more of the neighbors."""
LONGEST_STEP = 5.0  # of a point in one iteration
PLACING, PLACING_RATE, PLACING_EXAGGERATION, PLACING_STEP = 30, 0.1, 1.5, 0.25
"""For points that are placed among others: iterations, step along the gradient, exaggeration, and longest gradient."""
BOX, FEWEST_BOXES = 1.5, 10
"""Largest width of a box within which the repulsion is interpolated, and the fewest boxes on a side. A width of 1 takes
twice as long and keeps no more neighbors, a width of 2 loses some."""


def project(X: Array, rows: Ints, *, progress: Callable[[int, int], None] = lambda done, total: None) -> F32:
    """Return a point in the plane for each of the `rows` of `X`; similar rows are close to each other.

    No row may be all zeros. The map is deterministic and centered, its longer side is horizontal, as on a screen, and
    its coordinates are between -1 and 1.
    """
    reduced = _principal_components(X, rows)
    if len(rows) <= 8:  # too few to have neighborhoods
        return _centered(reduced[:, :2])
    landmarks = np.sort(np.random.default_rng(0).choice(len(rows), min(LANDMARKS, len(rows)), replace=False))
    others = np.setdiff1d(np.arange(len(rows)), landmarks)
    total = sum(iterations for iterations, _, _ in PHASES) + (PLACING if len(others) else 0)
    steps = iter(range(1, total + 1))

    def step() -> None:
        progress(next(steps), total)

    among = reduced[landmarks]
    # Without noise, points that start at the same place, or on a line, would stay there.
    start = among[:, :2] * (1e-4 / (float(among[:, 0].std()) or 1))
    start += np.random.default_rng(2).normal(scale=1e-6, size=start.shape)
    points = np.empty((len(rows), 2), np.float32)
    points[landmarks] = arrange(_nearest(among, among, min(NEAREST, len(among) // 4)), start, step)
    if len(others):
        nearest = _nearest(reduced[others], among, min(NEAREST_LANDMARKS, len(among)))
        points[others] = place(nearest, points[landmarks], step)
    return _centered(points)


def _principal_components(X: Array, rows: Ints) -> F32:
    sample = rows if len(rows) <= LANDMARKS else np.random.default_rng(1).choice(rows, LANDMARKS, replace=False)
    units = take_units(X, sample)
    mean = units.mean(axis=0)
    axes = _leading_axes(units - mean, min(COMPONENTS, *units.shape))
    along = map_unit_rows(lambda block, scale: (block * scale[:, None] - mean) @ axes, X[rows], dtype=np.float32)
    return np.asarray(np.pad(along, ((0, 0), (0, max(0, 2 - axes.shape[1])))))


def _leading_axes(centered: F32, n_axes: int) -> F32:
    """Return the leading principal axes as columns, by power iterations of random directions."""
    n_directions = min(n_axes + SPARE_COMPONENTS, *centered.shape)
    axes = np.random.default_rng(0).standard_normal((centered.shape[1], n_directions), np.float32)
    for _ in range(POWER_ITERATIONS):
        axes, _ = np.linalg.qr(centered.T @ (centered @ axes))
    _, _, turned = np.linalg.svd(centered @ axes, full_matrices=False)
    return np.asarray(axes @ turned[:n_axes].T)


def _nearest(rows: F32, among: F32, size: int) -> Ints:
    """Return the `size` nearest of the rows `among` for each row, itself included."""
    squares = np.einsum("ij,ij->i", among, among)

    def search(start: int) -> Ints:
        return highest_columns(2 * rows[start : start + SEARCH_BLOCK] @ among.T - squares, size)

    return np.concatenate(run_tasks(search, ((start,) for start in range(0, len(rows), SEARCH_BLOCK))))


def _centered(points: Array) -> F32:
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points.T @ points)
    points = points @ (axes.T * np.where(axes.sum(axis=1) < 0, -1, 1))
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.abs(points - middle).max()
    return np.asarray((points - middle) / (reach or 1), np.float32)


def arrange(neighbors: Ints, start: F32, progress: Callable[[], None]) -> F32:
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


def place(neighbors: Ints, among: F32, progress: Callable[[], None]) -> F32:
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


def _graph(neighbors: Ints, n: int) -> csr_array:
    starts = np.arange(0, neighbors.size + 1, neighbors.shape[1])
    return csr_array((np.ones(neighbors.size, np.float32), neighbors.ravel(), starts), shape=(len(neighbors), n))


def _shortened(steps: F32, longest: float) -> F32:
    length = np.sqrt(np.einsum("ij,ij->i", steps, steps))[:, None]
    return np.asarray(steps * np.minimum(1, longest / np.maximum(length, longest)))


def _attraction(graph: csr_array, points: F32, targets: F32) -> F32:
    """Return for each point the sum of ``weight * (point - target) / (1 + squared distance)`` over its edges."""
    apart = np.repeat(points, np.diff(graph.indptr), axis=0) - targets[graph.indices]
    pull = graph.data / (1 + np.einsum("ij,ij->i", apart, apart))
    pulls = csr_array((pull, graph.indices, graph.indptr), shape=graph.shape)
    return np.asarray(points * pulls.sum(axis=1)[:, None] - pulls @ targets)


def _repulsion(sources: F32, points: F32) -> tuple[F32, F32]:
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


def _interpolation(places: F32, size: int) -> csr_array:
    """Return the weights of 3 x 3 knots of the grid for each place: quadratic polynomials within boxes of 3 knots."""
    box = np.minimum(places // 3, size // 3 - 1).astype(np.intp)
    t = places - 3 * box
    weights = np.stack([(t - 1.5) * (t - 2.5) / 2, (t - 0.5) * (2.5 - t), (t - 0.5) * (t - 1.5) / 2])
    knots = 3 * box + np.arange(3)[:, None, None]
    both = (weights[:, None, :, 0] * weights[None, :, :, 1]).reshape(9, -1).T
    flat = (knots[:, None, :, 0] * size + knots[None, :, :, 1]).reshape(9, -1).T
    starts = np.arange(0, flat.size + 1, 9)
    return csr_array((both.ravel(), flat.ravel(), starts), shape=(len(places), size * size))


def _convolved(charges: F32, size: int, spacing: float) -> F32:
    """Convolve charges on the knots of the grid with ``1 / (1 + squared distance)**2``."""
    padded = fft.next_fast_len(2 * size, real=True)
    offset = np.arange(padded)
    squares = np.square(spacing * np.minimum(offset, padded - offset))
    kernel = (1 / np.square(1 + squares[:, None] + squares)).astype(np.float32)
    planes = charges.T.reshape(-1, size, size)
    convolved = fft.irfft2(fft.rfft2(planes, (padded, padded)) * fft.rfft2(kernel).real, (padded, padded))
    return np.ascontiguousarray(convolved[:, :size, :size].reshape(len(planes), -1).T)
