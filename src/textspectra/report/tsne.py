"""t-SNE in the plane: neighbours attract each other, and all points repel each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array

PHASES = ((50, 12.0, 0.5), (120, 1.0, 0.8))
"""Iterations, exaggeration of the attraction, and momentum; twice as many keep no more of the neighbours."""

PLACING = 30
"""Iterations for points that are placed among others."""

PLACING_RATE, PLACING_EXAGGERATION, PLACING_STEP = 0.1, 1.5, 0.25
"""How far placed points move along their gradient, its exaggeration, and the longest gradient."""

LONGEST_STEP = 5.0
"""No point moves farther in one iteration."""

BOX = 1.5
"""Largest width of a box, within which the repulsion is interpolated; a width of 1 takes twice as long and keeps no
more neighbours, a width of 2 loses some."""

FEWEST_BOXES = 10

Progress = Callable[[], None]
Floats = NDArray[np.float32]


def arrange(neighbours: NDArray[np.intp], start: Floats, *, progress: Progress = lambda: None) -> Floats:
    """Move points from `start` until neighbours are close; row i of `neighbours` has the neighbours of point i.

    All neighbours count alike, which gives nearly the same map as weights of a fixed perplexity.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    >>> two_groups = np.arange(20) // 10 * 10
    >>> points = arrange(two_groups[:, None] + np.arange(10), start)
    >>> apart = np.abs(points[:10].mean(axis=0) - points[10:].mean(axis=0)).max()
    >>> bool(apart > 2 * points[:10].std(axis=0).max())
    True
    """
    n = len(start)
    directed = _graph(neighbours, n)
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


def place(neighbours: NDArray[np.intp], among: Floats, *, progress: Progress = lambda: None) -> Floats:
    """Return points near their neighbours `among` points that stay where they are."""
    graph = _graph(neighbours, len(among))
    graph.data /= neighbours.shape[1]
    points = np.median(among[neighbours], axis=1).astype(np.float32)
    for _ in range(PLACING):
        repulsion, near = _repulsion(among, points)
        gradient = PLACING_EXAGGERATION * _attraction(graph, points, among) - repulsion / near[:, None]
        points -= PLACING_RATE * _shortened(gradient, PLACING_STEP)
        progress()
    return points


def _graph(neighbours: NDArray[np.intp], n: int) -> csr_array:
    starts = np.arange(0, neighbours.size + 1, neighbours.shape[1])
    return csr_array((np.ones(neighbours.size, np.float32), neighbours.ravel(), starts), shape=(len(neighbours), n))


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
