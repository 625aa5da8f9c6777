"""The data behind the figures: the paper's ablations, metrics over k, one spectrum, similarity matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textspectra import AutoAgglomerative, AutoKMeans, evaluate, k_from_spectrum, laplacian_eigenvalues, spectral_k

from .results import rounded
from .similarities import unit_rows, zscored_graph

TAUS = (200, 500, 1000, 2000)
WINDOWS = range(3, 16)
FALLBACK = 5
"""The paper's k where a spectrum has no jump."""

PROFILE_STEPS, PROFILE_HIGHEST = 20, 300
PROFILE_METRICS = (
    "ari", "nmi", "homogeneity", "completeness", "fowlkes_mallows", "silhouette", "cohesion_ratio",
)  # fmt: skip

MATRIX_ROWS, MATRIX_SIZE = 600, 100

Array = NDArray[np.float32]
Values = dict[str, Any]


def sweep(X: Array, truth: NDArray[np.intp], seed: int, *, zscore: bool, tau: int) -> Values:
    """Estimate k as the paper does, with one sample cap τ and every window; all windows share the spectra."""
    n, rng = len(X), np.random.default_rng(seed)
    jumps_by_sample: list[list[int | None]] = []
    for _ in range(1 if n <= tau else round(10 * math.log2(n))):
        sample = X if n <= tau else X[rng.choice(n, tau, replace=False, shuffle=False)]
        eigenvalues = laplacian_eigenvalues(sample, zscore=zscore)
        jumps_by_sample.append([_jump(eigenvalues, window) for window in WINDOWS])
    windows = [
        {
            "window": window,
            "k": rounded(fmean(FALLBACK if k is None else k for k in jumps)),
            "fallback": rounded(fmean(k is None for k in jumps)),
        }
        for window, jumps in zip(WINDOWS, zip(*jumps_by_sample, strict=True), strict=True)
    ]
    return {"zscore": zscore, "tau": tau, "windows": windows}


def _jump(eigenvalues: Array, window: int) -> int | None:
    """Return the k at the jump of a spectrum, or None if it has none."""
    # A jump lies in the first half of the spectrum, so k = n can only be the fallback.
    k = k_from_spectrum(eigenvalues, window=window, fallback=len(eigenvalues))
    return None if k == len(eigenvalues) else k


def kmeans_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    """Return a function from k to the labels of K-Means."""
    return lambda k: AutoKMeans(k, refine=False, random_state=seed, n_jobs=1).fit_predict(X)


def hac_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    """Return a function from k to the labels of one Ward tree cut at k."""
    return AutoAgglomerative(2, random_state=seed, n_jobs=1).fit(X).cut


def profile(
    X: Array, truth: NDArray[np.intp], seed: int, *, cuts: Callable[[Array, int], Callable[[int], NDArray[np.intp]]]
) -> Values:
    """Score one clustering algorithm at many k."""
    highest = min(PROFILE_HIGHEST, len(X) // 4)
    labels_at = cuts(X, seed)
    points = []
    for k in np.unique(np.geomspace(2, max(2, highest), PROFILE_STEPS).round().astype(int)).tolist():
        row = evaluate(X, labels_at(k), truth, random_state=seed)
        points.append({"k": k, **{metric: rounded(row[metric]) for metric in PROFILE_METRICS}})
    return {"points": points}


def spectrum(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Return eigenvalues, differences and threshold behind the paper's estimate: its Figure 1."""
    estimate = spectral_k(X, random_state=seed, n_jobs=1)
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
    """Sort rows by class, average their similarities over at most 100 x 100 tiles, and measure the contrast."""
    rows = np.arange(min(len(X), MATRIX_ROWS))
    rows = rows[np.argsort(truth[rows], kind="stable")]
    units = unit_rows(X[rows])
    tiles = np.unique(np.linspace(0, len(rows), min(len(rows), MATRIX_SIZE), endpoint=False).astype(int))
    members = np.diff([*tiles, len(rows)])

    def averaged(matrix: Array) -> list[list[float]]:
        sums = np.add.reduceat(np.add.reduceat(matrix, tiles, axis=0), tiles, axis=1)
        return [[round(float(value), 3) for value in row] for row in sums / np.outer(members, members)]

    cosines, zscored = units @ units.T, zscored_graph(units)
    return {
        "negative": rounded(float(np.mean(cosines < 0) * len(rows) / (len(rows) - 1))),
        "raw": averaged(cosines),
        "zscored": averaged(zscored),
        "contrast_raw": rounded(contrast(cosines, truth[rows])),
        "contrast_zscored": rounded(contrast(zscored, truth[rows])),
    }


def contrast(similarities: Array, classes: NDArray[np.intp]) -> float:
    """Return the mean similarity of two rows of a class minus that of two other rows, in standard deviations.

    It is NaN if there are no such pairs or all similarities are equal.

    Examples
    --------
    >>> round(contrast(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], np.float32), np.array([0, 0, 1])), 3)
    2.121
    """
    same = classes[:, None] == classes
    pairs = ~np.eye(len(classes), dtype=bool)  # a row is most similar to itself, whatever its class
    inside, across, spread = similarities[same & pairs], similarities[~same], similarities[pairs].std()
    if not len(inside) or not len(across) or spread == 0:
        return math.nan
    return float((inside.mean() - across.mean()) / spread)
