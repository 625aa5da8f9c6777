"""Metrics at every cut of the tree: the metric profiles of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.metrics import agreements
from ..core.rows import take_units
from ..core.spectral import cosine_graph
from .tree import Levels, Shown

SILHOUETTE_ROWS = 2000
"""Number of random texts on which the silhouette is computed."""


def silhouettes(X: NDArray[Any], levels: Levels, finest: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean silhouette of a sample, for the cuts into 1, 2, ... clusters; NaN where it is not defined.

    Distances between unit vectors are Euclidean, as in :func:`textspectra.evaluate`. `finest` is the finest cluster of
    each row, -1 for none.
    """
    rows, distances = _sampled_distances(X, finest)
    n_nodes = len(levels.spans)
    members = np.zeros((n_nodes, len(rows)), bool)
    for node, (start, end) in enumerate(levels.spans):
        members[node] = (finest[rows] >= start) & (finest[rows] < end)
    sizes = members.sum(axis=1)
    inside, outside = _mean_distances(members, sizes, distances)
    values = np.full(levels.k, np.nan)
    for k in range(2, levels.k + 1):
        alive = [node for node in levels.nodes_at(k) if sizes[node]]
        if 2 <= len(alive) < len(rows):
            own = np.array(alive)[members[alive].argmax(axis=0)]
            values[k - 1] = _silhouette(inside[own, np.arange(len(rows))], outside[alive].min(axis=0), sizes[own])
    return values


def silhouette(X: NDArray[Any], labels: NDArray[np.intp]) -> float | None:
    """Return the mean silhouette of a clustering on the sample of :func:`silhouettes`; None if it is not defined."""
    rows, distances = _sampled_distances(X, labels)
    found, own, sizes = np.unique(labels[rows], return_inverse=True, return_counts=True)
    if not 2 <= len(found) < len(rows):
        return None
    inside, outside = _mean_distances(own == np.arange(len(found))[:, None], sizes, distances)
    return _silhouette(inside[own, np.arange(len(rows))], outside.min(axis=0), sizes[own])


def _sampled_distances(X: NDArray[Any], labels: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return a sample of the rows with a label, and the distances between them."""
    rows = np.flatnonzero(labels >= 0)
    if len(rows) > SILHOUETTE_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, SILHOUETTE_ROWS, replace=False))
    units = take_units(X, rows)
    squares = 2 - 2 * (units @ units.T)
    np.fill_diagonal(squares, 0)
    return rows, np.sqrt(np.maximum(squares, 0))


def _mean_distances(
    members: NDArray[np.bool_], sizes: NDArray[np.intp], distances: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean distances of all rows to the other rows of each group.

    The first array is for rows in the group, and the second for rows that are not; there, members are infinitely far.
    """
    sums = members.astype(np.float32) @ distances
    outside = np.where(members, np.inf, sums / np.maximum(sizes, 1)[:, None])
    return sums / np.maximum(sizes - 1, 1)[:, None], outside


def _silhouette(inside: NDArray[Any], outside: NDArray[Any], sizes: NDArray[np.intp]) -> float:
    """Return the mean silhouette of rows in groups of these sizes."""
    score = (outside - inside) / np.maximum(np.maximum(inside, outside), np.finfo(np.float32).tiny)
    return float(np.where(sizes > 1, score, 0).mean())


def agreement(levels: Levels, finest: NDArray[np.intp], truth: NDArray[np.intp]) -> dict[str, list[float]]:
    """Return ARI, homogeneity, completeness and Fowlkes-Mallows index of the cuts into 1, 2, ... clusters.

    `finest` and `truth` are the finest cluster and the class of each row of the data.
    """
    classes, codes = np.unique(truth, return_inverse=True)
    table = np.zeros((levels.k, len(classes)))
    np.add.at(table, (finest, codes), 1)
    rows = [agreements(table.T) for table in _tables(levels, table)][::-1]
    names = ("ari", "homogeneity", "completeness", "fowlkes_mallows")
    return {name: [getattr(row, name) for row in rows] for name in names}


def _tables(levels: Levels, table: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield the contingency table of clusters and classes at every cut, from the finest to one cluster."""
    found = dict(enumerate(table))
    yield table
    for step, (one, other) in enumerate(levels.merges.tolist()):
        found[levels.k + step] = found.pop(one) + found.pop(other)
        yield np.array(list(found.values()))


SIDE = 240
"""Number of texts in the sample."""

Z_LIMIT = 4.0
"""Standard deviations above the mean at the end of the color scale."""


class SimilarityMatrix(NamedTuple):
    """Cosines of sampled texts, and the same z-scored and rectified, as shades from 0 to 255."""

    positions: NDArray[np.intp]  # of the texts, ascending, so that the groups of every cut lie along the diagonal
    low: float  # the cosine at shade 0 of `raw`
    high: float  # the cosine at shade 255
    raw: NDArray[np.uint8]
    rectified: NDArray[np.uint8]  # shade 255 is Z_LIMIT


def similarity_matrix(X: NDArray[Any], shown: Shown) -> SimilarityMatrix:
    """Draw a sample of the shown texts and compare them."""
    n = len(shown.order)
    positions = np.arange(n) if n <= SIDE else np.sort(np.random.default_rng(0).choice(n, SIDE, replace=False))
    units = take_units(X, shown.order[positions])
    cosines = units @ units.T
    # The diagonal is 1. The scale leaves it out, to show more of the differences between texts.
    different = cosines[~np.eye(len(cosines), dtype=bool)]
    low, high = (float(x) for x in np.quantile(different, [0.01, 0.999])) if len(different) else (0.0, 1.0)
    rectified = cosine_graph(units, zscore=True) / Z_LIMIT
    return SimilarityMatrix(positions, low, high, _shades((cosines - low) / max(high - low, 1e-6)), _shades(rectified))


def _shades(shares: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.clip(shares * 255, 0, 255).round().astype(np.uint8)
