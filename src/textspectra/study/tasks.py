"""What can be computed in one cell of a study: an algorithm with its scores, or the material of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..baselines import NOISE, Clustering
from ..clustering import AutoAgglomerative, AutoKMeans
from ..evaluation import evaluate
from ..kestimate import estimate_k
from ..rows import CountedRows, take_units
from ..similarity import cosine_graph
from ..spectral import Rule, read_spectrum
from ..spectrum import graph_spectrum
from .algorithms import ALGORITHMS, Algorithm
from .results import METRICS, Variant

TAUS = (200, 500, 1000, 2000)
WINDOWS = range(3, 16)

REPRESENTATIVE_SIZE = 5000
"""Ablations and profiles are made on the largest stratified sample up to this size, or the whole set."""

PROFILE_STEPS, PROFILE_HIGHEST = 14, 300
PROFILE_METRICS = (
    "ari", "nmi", "homogeneity", "completeness", "fowlkes_mallows", "silhouette", "cohesion_ratio",
)  # fmt: skip

MATRIX_ROWS, MATRIX_SIZE = 600, 100

Array = NDArray[np.float32]
Values = dict[str, Any]


class Task(NamedTuple):
    """Something to compute for the rows of one variant.

    Attributes
    ----------
    compute : callable
        ``compute(X, truth, seed)``; its time and memory are measured.
    tell : callable
        ``tell(outcome, X, truth, seed)`` turns what was computed into plain JSON values; not measured.
    packages : tuple of str
        Other packages whose versions decide the outcome.
    max_rows : int or None
        More rows are not tried.
    """

    compute: Callable[[Array, NDArray[np.intp], int], Any]
    tell: Callable[[Any, Array, NDArray[np.intp], int], Values]
    packages: tuple[str, ...] = ()
    max_rows: int | None = None


def representative(variants: Sequence[Variant]) -> list[Variant]:
    """Return one sample of each set: the largest stratified one of at most 5,000 rows, or the whole set.

    Examples
    --------
    >>> sizes = [Variant("a", "stratified", size, 4, 0) for size in (1000, 5000, 10_000)]
    >>> [variant.name for variant in representative([*sizes, Variant("b", "whole", 200, 17, 0)])]
    ['a-stratified-5000', 'b-whole-200']
    """
    chosen: dict[str, Variant] = {}
    for variant in variants:
        if variant.kind == "whole" or (variant.kind == "stratified" and variant.size <= REPRESENTATIVE_SIZE):
            chosen[variant.dataset] = max(variant, chosen.get(variant.dataset, variant), key=lambda one: one.size)
    return list(chosen.values())


def tasks_of(variant: Variant, variants: Sequence[Variant]) -> list[str]:
    """Return the names of the tasks for one of the variants of a study.

    Examples
    --------
    >>> bless = Variant("bless", "whole", 200, 17, 0)
    >>> len(tasks_of(bless, [bless])), len(tasks_of(bless._replace(kind="random"), [bless]))
    (27, 15)
    """
    names = list(ALGORITHMS)
    shown = representative(variants)
    if variant in shown:
        names += [name for name in TASKS if name not in ALGORITHMS and name != "spectrum"]
    if shown and variant == min(shown, key=lambda one: one.size):
        names.append("spectrum")
    return names


def _scores(found: Clustering, X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    row = evaluate(X, found.labels, truth, random_state=seed)
    n_classes = int(row["n_classes"])
    # Rows left out as noise are scored like a cluster of their own, but are not counted as one.
    row["k_relative_error"] = abs(found.k - n_classes) / n_classes
    scores = {metric: _rounded(row[metric]) for metric in METRICS}
    return {"k": found.k, "noise": _rounded(float(np.mean(found.labels == NOISE))), **scores}


def _sweep(X: Array, truth: NDArray[np.intp], seed: int, *, zscore: bool, tau: int) -> Values:
    """Read k off the same spectra with every window: the samples of the paper's estimator at one τ."""
    rule, rows, rng = Rule(), CountedRows(X, np.ones(len(X), np.intp)), np.random.default_rng(seed)
    size, repeats = (tau, round(10 * math.log2(len(X)))) if len(X) > tau else (len(X), 1)
    found: list[list[int | None]] = []
    for _ in range(repeats):
        spectrum = graph_spectrum(rows.draw(size, rng), zscore=zscore)
        found.append([read_spectrum(spectrum, window).jump for window in WINDOWS])
    windows = [
        {
            "window": window,
            "k": _rounded(float(np.mean([rule.fallback if k is None else k for k in jumps]))),
            "fallback": _rounded(float(np.mean([k is None for k in jumps]))),
        }
        for window, jumps in zip(WINDOWS, zip(*found, strict=True), strict=True)
    ]
    return {"zscore": zscore, "tau": tau, "windows": windows}


def _kmeans_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    return lambda k: AutoKMeans(k, random_state=seed, n_jobs=1).fit_predict(X)


def _hac_cuts(X: Array, seed: int) -> Callable[[int], NDArray[np.intp]]:
    return AutoAgglomerative(2, random_state=seed, n_jobs=1).fit(X).cut


def _profile(
    X: Array, truth: NDArray[np.intp], seed: int, *, cuts: Callable[[Array, int], Callable[[int], NDArray[np.intp]]]
) -> Values:
    highest = min(PROFILE_HIGHEST, len(X) // 4)
    labels_at = cuts(X, seed)
    points = []
    for k in np.unique(np.geomspace(2, max(2, highest), PROFILE_STEPS).round().astype(int)).tolist():
        row = evaluate(X, labels_at(k), truth, random_state=seed)
        points.append({"k": k, **{metric: _rounded(row[metric]) for metric in PROFILE_METRICS}})
    return {"points": points}


def _spectrum(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    estimate = estimate_k(X, method="spectral", random_state=seed, n_jobs=1)
    spectrum = estimate.spectrum
    if spectrum is None:
        raise AssertionError("the spectral method always keeps its spectrum")
    half = spectrum.eigenvalues[: len(spectrum.eigenvalues) // 2]
    return {
        "eigenvalues": [_rounded(float(value)) for value in half],
        "deltas": [_rounded(float(value)) for value in spectrum.deltas],
        "threshold": _rounded(spectrum.threshold),
        "window": spectrum.window,
        "k": estimate.k,
    }


def _similarity(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Average the similarities of rows sorted by class over a grid of at most 100 x 100 tiles."""
    rows = np.arange(min(len(X), MATRIX_ROWS))
    rows = rows[np.argsort(truth[rows], kind="stable")]
    units = take_units(X, rows)
    tiles = np.unique(np.linspace(0, len(rows), min(len(rows), MATRIX_SIZE), endpoint=False).astype(int))
    members = np.diff([*tiles, len(rows)])

    def averaged(matrix: Array) -> list[list[float]]:
        sums = np.add.reduceat(np.add.reduceat(matrix, tiles, axis=0), tiles, axis=1)
        return [[round(float(value), 3) for value in row] for row in sums / np.outer(members, members)]

    edges = np.flatnonzero(np.diff(truth[rows])) + 1
    return {
        "raw": averaged(units @ units.T),
        "zscored": averaged(cosine_graph(units, zscore=True)),
        "edges": np.searchsorted(tiles, edges).tolist(),
    }


def _rounded(value: float) -> float | None:
    """Cut off what differs between machines; JSON has no NaN."""
    return None if math.isnan(value) else float(f"{value:.6g}")


def _as_it_is(outcome: Values, X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    return outcome


def _of(algorithm: Algorithm) -> Task:
    def compute(X: Array, truth: NDArray[np.intp], seed: int) -> Clustering:
        return algorithm.cluster(X, len(np.unique(truth)), seed)

    return Task(compute, _scores, algorithm.packages, algorithm.max_rows)


TASKS = {
    **{name: _of(algorithm) for name, algorithm in ALGORITHMS.items()},
    **{
        f"sweep-{'zscore' if zscore else 'raw'}-{tau}": Task(partial(_sweep, zscore=zscore, tau=tau), _as_it_is)
        for zscore in (False, True)
        for tau in TAUS
    },
    "profile-kmeans": Task(partial(_profile, cuts=_kmeans_cuts), _as_it_is),
    "profile-hac": Task(partial(_profile, cuts=_hac_cuts), _as_it_is),
    "similarity": Task(_similarity, _as_it_is),
    "spectrum": Task(_spectrum, _as_it_is),
}
