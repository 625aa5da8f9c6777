"""Metrics at every cut of the tree, the metric profiles of the paper, and a matrix of similarities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.metrics import agreements
from ..core.rows import take_units
from ..core.spectral import cosine_graph
from .tree import Levels

SILHOUETTE_SAMPLE = 2000  # random texts on which the silhouette is computed
MATRIX_SIDE = 240  # texts in the matrix
Z_LIMIT = 4.0  # standard deviations above the mean at the end of the color scale


def silhouettes(
    X: NDArray[np.floating], codes: NDArray[np.intp], spans: NDArray[np.intp], cuts: Sequence[Sequence[int]]
) -> list[float]:
    """Return the mean silhouette of a sample for each cut; NaN if it is not defined.

    A cut is a list of nodes, and `spans` has the first code of each node, and one past its last. Rows with the code -1
    do not count. Distances between unit vectors are Euclidean, as in :func:`textspectra.evaluate`.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) > SILHOUETTE_SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SILHOUETTE_SAMPLE, replace=False))
    units = take_units(X, rows)
    squares = 2 - 2 * (units @ units.T)
    np.fill_diagonal(squares, 0)
    members = (codes[rows] >= spans[:, :1]) & (codes[rows] < spans[:, 1:])
    sizes = members.sum(axis=1)
    distances = members.astype(np.float32) @ np.sqrt(np.maximum(squares, 0))
    # The mean distances of each row to the other rows of its node, and to the rows of other nodes.
    inside = distances / np.maximum(sizes - 1, 1)[:, None]
    outside = np.where(members, np.inf, distances / np.maximum(sizes, 1)[:, None])

    def mean(cut: Sequence[int]) -> float:
        nodes = np.array([node for node in cut if sizes[node]])
        if not 2 <= len(nodes) < len(rows):
            return float("nan")
        node_of = nodes[members[nodes].argmax(axis=0)]
        within, nearest = inside[node_of, np.arange(len(rows))], outside[nodes].min(axis=0)
        score = (nearest - within) / np.maximum(np.maximum(within, nearest), np.finfo(np.float32).tiny)
        return float(np.where(sizes[node_of] > 1, score, 0).mean())

    return [mean(cut) for cut in cuts]


def silhouette(X: NDArray[np.floating], labels: NDArray[np.intp]) -> float | None:
    """Return the mean silhouette of one clustering, as :func:`silhouettes` does; None if it is not defined."""
    clusters = np.arange(labels.max() + 1)
    (value,) = silhouettes(X, labels, clusters[:, None] + [0, 1], [clusters.tolist()])
    return None if np.isnan(value) else value


def agreement_curves(levels: Levels, finest: NDArray[np.intp], truth: NDArray[np.intp]) -> dict[str, list[float]]:
    """Return ARI, homogeneity, completeness and Fowlkes-Mallows index of the cuts into 1, 2, ... clusters.

    `finest` and `truth` are the finest cluster and the class of each row of the data.
    """
    classes, codes = np.unique(truth, return_inverse=True)
    table = np.zeros((levels.k, len(classes)))
    np.add.at(table, (finest, codes), 1)
    totals = levels.total(table)
    cuts = [agreements(totals[cut].T) for cut in levels.cuts]
    names = ("ari", "homogeneity", "completeness", "fowlkes_mallows")
    return {name: [getattr(cut, name) for cut in cuts] for name in names}


class SimilarityMatrix(NamedTuple):
    """Cosines of sampled texts, and the same z-scored and rectified, as shades from 0 to 255."""

    positions: NDArray[np.intp]  # of the texts, ascending, so that the groups of every cut lie along the diagonal
    low: float  # the cosine at shade 0 of `raw`
    high: float  # the cosine at shade 255
    raw: NDArray[np.uint8]
    rectified: NDArray[np.uint8]  # shade 255 is Z_LIMIT


def similarity_matrix(X: NDArray[np.floating], order: NDArray[np.intp]) -> SimilarityMatrix:
    """Compare a sample of the texts in this order."""
    n = len(order)
    positions = np.arange(n)
    if n > MATRIX_SIDE:
        positions = np.sort(np.random.default_rng(0).choice(n, MATRIX_SIDE, replace=False))
    units = take_units(X, order[positions])
    cosines = units @ units.T
    # The diagonal is 1. The scale leaves it out, to show more of the differences between texts.
    different = cosines[~np.eye(len(cosines), dtype=bool)]
    low, high = np.quantile(different, [0.01, 0.999]).tolist() if len(different) else (0.0, 1.0)
    shades = ((cosines - low) / max(high - low, 1e-6), cosine_graph(units, zscore=True) / Z_LIMIT)
    raw, rectified = (np.clip(shares * 255, 0, 255).round().astype(np.uint8) for shares in shades)
    return SimilarityMatrix(positions, low, high, raw, rectified)
