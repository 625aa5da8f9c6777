"""The material of the figures: the paper's ablations, and what is drawn of one sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textspectra.arrays.rows import CountedRows, take_units
from textspectra.estimators import AutoAgglomerative, AutoKMeans
from textspectra.granularity.estimate import estimate_k
from textspectra.granularity.laplacian import cosine_graph, graph_spectrum
from textspectra.granularity.spectral import Rule, read_spectrum, samples_behind_mean
from textspectra.metrics.evaluation import evaluate

from .results import rounded

TAUS = (200, 500, 1000, 2000)
WINDOWS = range(3, 16)

PROFILE_STEPS, PROFILE_HIGHEST = 14, 300
PROFILE_METRICS = (
    "ari", "nmi", "homogeneity", "completeness", "fowlkes_mallows", "silhouette", "cohesion_ratio",
)  # fmt: skip

MATRIX_ROWS, MATRIX_SIZE = 600, 100

Array = NDArray[np.float32]
Values = dict[str, Any]


def sweep(X: Array, truth: NDArray[np.intp], seed: int, *, zscore: bool, tau: int) -> Values:
    """Read k off the same spectra with every window: the samples of the paper's estimator at one τ."""
    rule, rows, rng = Rule(max_sample=tau), CountedRows(X), np.random.default_rng(seed)
    size, repeats = samples_behind_mean(len(X), rule)
    found: list[list[int | None]] = []
    for _ in range(repeats):
        eigenvalues = graph_spectrum(rows.draw(size, rng), zscore=zscore)
        found.append([read_spectrum(eigenvalues, window).jump for window in WINDOWS])
    windows = [
        {
            "window": window,
            "k": rounded(float(np.mean([rule.fallback if k is None else k for k in jumps]))),
            "fallback": rounded(float(np.mean([k is None for k in jumps]))),
        }
        for window, jumps in zip(WINDOWS, zip(*found, strict=True), strict=True)
    ]
    return {"zscore": zscore, "tau": tau, "windows": windows}


def kmeans_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    """Return K-Means as a function of k."""
    return lambda k: AutoKMeans(k, random_state=seed, n_jobs=1).fit_predict(X)


def hac_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    """Return the cuts of one Ward tree as a function of k."""
    return AutoAgglomerative(2, random_state=seed, n_jobs=1).fit(X).cut


def profile(
    X: Array, truth: NDArray[np.intp], seed: int, *, cuts: Callable[[Array, int], Callable[[int], NDArray[np.intp]]]
) -> Values:
    """Score one way to cluster at many k."""
    highest = min(PROFILE_HIGHEST, len(X) // 4)
    labels_at = cuts(X, seed)
    points = []
    for k in np.unique(np.geomspace(2, max(2, highest), PROFILE_STEPS).round().astype(int)).tolist():
        row = evaluate(X, labels_at(k), truth, random_state=seed)
        points.append({"k": k, **{metric: rounded(row[metric]) for metric in PROFILE_METRICS}})
    return {"points": points}


def spectrum(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Return what the paper's rule sees in the sample: its Figure 1."""
    estimate = estimate_k(X, method="spectral", random_state=seed, n_jobs=1)
    seen = estimate.spectrum
    if seen is None:
        raise AssertionError("the spectral method always keeps its spectrum")
    half = seen.eigenvalues[: len(seen.eigenvalues) // 2]
    return {
        "eigenvalues": [rounded(float(value)) for value in half],
        "deltas": [rounded(float(value)) for value in seen.deltas],
        "threshold": rounded(seen.threshold),
        "window": seen.window,
        "k": estimate.k,
    }


def similarity(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Average the similarities of rows sorted by class over a grid of at most 100 x 100 tiles; count negative ones."""
    rows = np.arange(min(len(X), MATRIX_ROWS))
    rows = rows[np.argsort(truth[rows], kind="stable")]
    units = take_units(X, rows)
    tiles = np.unique(np.linspace(0, len(rows), min(len(rows), MATRIX_SIZE), endpoint=False).astype(int))
    members = np.diff([*tiles, len(rows)])

    def averaged(matrix: Array) -> list[list[float]]:
        sums = np.add.reduceat(np.add.reduceat(matrix, tiles, axis=0), tiles, axis=1)
        return [[round(float(value), 3) for value in row] for row in sums / np.outer(members, members)]

    cosines = units @ units.T
    edges = np.flatnonzero(np.diff(truth[rows])) + 1
    return {
        "negative": rounded(float(np.mean(cosines < 0) * len(rows) / (len(rows) - 1))),
        "raw": averaged(cosines),
        "zscored": averaged(cosine_graph(units, zscore=True)),
        "edges": np.searchsorted(tiles, edges).tolist(),
    }
