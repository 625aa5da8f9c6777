"""The map of rows in the plane, by t-SNE: neighbors attract each other, and all points repel each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.sparse import csr_array

from ..parallel import one_blas_thread, run_tasks
from . import F32, Array, Ints, PerRow, Rows
from .discriminants import highest_columns
from .rows import map_unit_rows, take_units

LANDMARKS = 4000  # rows that t-SNE arranges; the other rows are placed among them
NEAREST, NEAREST_LANDMARKS = 13, 10  # neighbors that attract a landmark, itself among them, and another row
COMPONENTS, SPARE_COMPONENTS, POWER_ITERATIONS = 50, 10, 4
"""Principal components for the search of neighbors, random directions beyond them, and iterations to find them."""
SEARCH_BLOCK, PLACED_BLOCK = 512, 65_536  # rows whose neighbors are searched at a time, and that are placed at a time

PHASES = ((50, 12.0, 0.5), (120, 1.0, 0.8))
"""Iterations, exaggeration of the attraction, and momentum; twice as many keep no more of the neighbors."""
LONGEST_STEP = 5.0  # of a point in one iteration
PLACING, PLACING_RATE, PLACING_EXAGGERATION, PLACING_STEP = 30, 0.1, 1.5, 0.25
"""For points that are placed among others: iterations, step along the gradient, exaggeration, and longest gradient."""
BOX, FEWEST_BOXES = 1.5, 10
"""Largest width of a box within which the repulsion is interpolated, and the fewest boxes on a side. A width of 1 takes
twice as long and keeps no more neighbors, a width of 2 loses some."""
FARTHEST = 2000.0  # no step is long enough to bring a coordinate there


class RowMap:
    """The points of rows in the plane, each found when it is first asked for; similar rows are close to each other.

    A random sample, the landmarks, is arranged by t-SNE. Each other row is placed among landmarks, at a point that does
    not depend on the other rows that are placed. A point that was found stays, also if rows are added: they are placed
    among the `known` points (in the units of t-SNE; NaN for rows without one). The map is deterministic, its longer
    side is horizontal, as on a screen, and its coordinates are between -1 and 1. No row may be all zeros.
    """

    def __init__(self, known: F32 | None = None) -> None:
        self.known = known
        self._landmarks: Landmarks | None = None
        self._corner: F32 | None = None

    @property
    def corner(self) -> F32:
        """The highest coordinates of the map, whose middle is the origin, in the units of t-SNE."""
        if self._corner is not None:
            return self._corner
        points = np.zeros((1, 2), np.float32) if self.known is None else np.abs(self.known)
        return np.asarray(np.fmax.reduce(points, axis=0, initial=0))

    def has(self, rows: Ints) -> bool:
        """Return True if the points of all these rows are known."""
        return self.known is not None and not np.isnan(self.known[rows, 0]).any()

    def points(self, rows: Ints | None = None) -> F32:
        """Return the points of these rows, or of all, once they were found; NaN for rows without one."""
        assert self.known is not None  # noqa: S101 - for the type checker
        return self._scaled(self.known if rows is None else self.known[rows])

    def find(
        self, X: Rows, rows: Ints, wanted: Ints | None = None, *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:  # fmt: skip
        """Find the points of the `wanted` ones among the `rows` of `X`, or of all; known points stay.

        Every call must get the same `X` and `rows`, from which the landmarks are drawn. Nothing changes until all
        points are found: a map that is given up leaves none, and no other thread sees a part of it.
        """
        asked = rows if wanted is None else wanted
        if not self.has(asked):
            known = np.full((len(X), 2), np.nan, np.float32) if self.known is None else self.known.copy()
            with one_blas_thread():  # more threads would change the last bits, and with them the map
                landmarks = self._find(X, rows, asked[np.isnan(known[asked, 0])], known, progress)
            self.known, self._landmarks = known, landmarks

    def _find(self, X: Rows, rows: Ints, missing: Ints, known: F32, progress: Callable[[int, int], None]) -> Landmarks:
        """Write the `missing` points to `known`, and return the landmarks."""
        starts, landmarks = range(0, len(missing), PLACED_BLOCK), self._landmarks
        before = rows[~np.isnan(known[rows, 0])]
        is_first = landmarks is None and not len(before)
        total = len(starts) + (sum(iterations for iterations, _, _ in PHASES) if is_first else 0)
        steps = iter(range(1, total + 1))
        if landmarks is None:
            chosen = sample_landmarks(rows if is_first else before)
            units = take_units(X, chosen)
            if is_first:
                known[chosen] = arrange_rows(units, lambda: progress(next(steps), total))
            landmarks = Landmarks(units, known[chosen])
        for start in starts:
            block = missing[start : start + PLACED_BLOCK]
            block = block[np.isnan(known[block, 0])]
            if len(block):
                known[block] = landmarks.place_rows(X[block])
            progress(next(steps), total)
        return landmarks

    def beside(self, positions: Ints, rows: Ints, units: F32) -> RowMap:
        """Return a map of other rows among this one: with its corner, and its points at the `positions` (-1: none).

        The others are placed among some `rows` of this map, which have these `units`; without their points, it is a map
        of its own.
        """
        if self.known is None or not (has_point := ~np.isnan(self.known[rows, 0])).any():
            return RowMap()
        other = RowMap(np.append(self.known, np.full((1, 2), np.nan, np.float32), axis=0)[positions])
        other._landmarks, other._corner = Landmarks(units[has_point], self.known[rows[has_point]]), self.corner
        return other

    @property
    def is_beside(self) -> bool:
        """Whether the points are among those of another map."""
        return self._corner is not None

    def place(self, X: Rows) -> F32:
        """Return the points of rows that are not on the map, once :meth:`find` was called; `X` may be on Dask."""
        assert self._landmarks is not None  # noqa: S101 - for the type checker
        return self._scaled(np.asarray(self._landmarks.place_rows(X)))

    def _scaled(self, points: F32) -> F32:
        return np.asarray(points / (self.corner.max() or 1), np.float32)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Unit rows and their points, among which other rows are placed."""

    units: F32
    points: F32

    @cached_property
    def components(self) -> tuple[F32, F32, F32]:
        """The mean, the principal axes, and the components of the rows."""
        return principal_components(self.units)

    def place_rows(self, X: Rows) -> PerRow:
        """Return the points of other rows."""
        field = Field.of(self.points, self.points.min(axis=0), self.points.max(axis=0))
        size = min(NEAREST_LANDMARKS, len(self.points))
        mean, axes, among = self.components

        def place_block(block: F32, scale: F32) -> F32:
            components = np.asarray((block * scale[:, None] - mean) @ axes, np.float32)
            return place(_nearest(components, among, size), field)

        return map_unit_rows(place_block, X, dtype=np.float32)


def sample_landmarks(rows: Ints) -> Ints:
    """Return the rows that t-SNE arranges: all of them, or a random sample."""
    if len(rows) <= LANDMARKS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, LANDMARKS, replace=False))


def arrange_rows(units: F32, progress: Callable[[], None] = lambda: None) -> F32:
    """Find points for rows of length 1 by t-SNE; too few rows to have neighborhoods get their principal components."""
    _, axes, components = principal_components(units)
    start = np.pad(components[:, :2], ((0, 0), (0, max(0, 2 - axes.shape[1]))))
    if len(units) <= 8:
        return _centered(start)
    start *= 1e-4 / (float(start[:, 0].std()) or 1)
    # Without noise, points that start at the same place, or on a line, would stay there.
    start += np.random.default_rng(2).normal(scale=1e-6, size=start.shape)
    return _centered(arrange(_nearest(components, components, min(NEAREST, len(units) // 4)), start, progress))


def principal_components(units: F32) -> tuple[F32, F32, F32]:
    """Return the mean of rows, their leading principal axes, and their components on these."""
    mean = units.mean(axis=0)
    axes = _leading_axes(units - mean, min(COMPONENTS, *units.shape))
    return mean, axes, (units - mean) @ axes


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

    starts = range(0, max(len(rows), 1), SEARCH_BLOCK)
    return np.concatenate(run_tasks(search, ((start,) for start in starts), shared_memory=True))


def _centered(points: Array) -> F32:
    """Turn points so that their longest side is horizontal, and move the middle of their box to the origin."""
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points.T @ points)
    points = points @ (axes.T * np.where(axes.sum(axis=1) < 0, -1, 1))
    return np.asarray(points - (points.max(axis=0) + points.min(axis=0)) / 2, np.float32)


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
            repulsion, near = Field.of(points, points.min(axis=0), points.max(axis=0)).at(points)
            gradient = exaggeration * _attraction(graph, points, points) - repulsion / max(float(near.sum()) - n, 1e-6)
            gains = np.maximum(np.where(gradient * step < 0, gains + 0.2, gains * 0.8), 0.01)
            step = momentum * step - n / exaggeration * gains * gradient
            points += _shortened(step, LONGEST_STEP)
            points -= points.mean(axis=0)
            progress()
    return points


def place(neighbors: Ints, field: Field) -> F32:
    """Return points near their neighbors among the sources of a field, which stay where they are, and in its square."""
    among = field.sources
    graph = _graph(neighbors, len(among))
    graph.data /= neighbors.shape[1]
    low, high = among.min(axis=0), among.max(axis=0)
    points = np.median(among[neighbors], axis=1).astype(np.float32)
    for _ in range(PLACING):
        repulsion, near = field.at(points)
        gradient = PLACING_EXAGGERATION * _attraction(graph, points, among) - repulsion / near[:, None]
        points = np.clip(points - PLACING_RATE * _shortened(gradient, PLACING_STEP), low, high)
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


class Field(NamedTuple):
    """The repulsion of sources in a square, as convolutions of a few charges with ``q**2``.

    q is ``1 / (1 + squared distance)``. As in FIt-SNE, the charges are spread over a regular grid, convolved there by
    the fast Fourier transform, and interpolated.
    """

    sources: F32
    low: F32
    spacing: float
    size: int  # knots on a side
    spread: csr_array  # the weights of the knots for each source
    sums: F32  # the convolved charges at the knots

    @classmethod
    def of(cls, sources: F32, low: F32, high: F32) -> Field:
        """Return the field of sources in the square that has the corner `low` and holds the point `high`."""
        extent = float((high - low).max()) * 1.001 + 1e-6
        size = 3 * max(FEWEST_BOXES, int(np.ceil(extent / BOX)))
        spacing = extent / size
        spread = _interpolation((sources - low) / spacing, size)
        squares = np.einsum("ij,ij->i", sources, sources)
        charges = np.column_stack([np.ones(len(sources), np.float32), sources, squares])
        return cls(sources, low, spacing, size, spread, _convolved(spread.T @ charges, size, spacing))

    def at(self, points: F32) -> tuple[F32, F32]:
        """Return for each point the sums over all sources of ``(point - source) * q**2`` and of q."""
        is_own = points is self.sources
        read = self.spread if is_own else _interpolation((points - self.low) / self.spacing, self.size)
        mass, x, y, square = (read @ self.sums).T
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
