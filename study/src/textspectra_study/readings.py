"""What the paper says about its rivals' settings, the Cohesion Ratio and run times, measured on one sample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score

from textspectra import UserError, cohesion_ratio, cohesion_report, laplacian_eigenvalues, spectral_k

from .algorithms import ALGORITHMS, DEFAULT, PAPERS_SIX
from .baselines import run_baseline
from .results import rounded
from .similarities import unit_rows

ROWS = 2000
"""Settings and readings use the first rows of a variant, which are a random sample of it."""

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "hdbscan": {str(size): {"min_cluster_size": size} for size in (2, 5, 10)},
    "optics": {str(size): {"min_samples": size} for size in (2, 5, 10)},
    "leiden": {"z-scored": {"zscore": True}, "raw": {"zscore": False}},
}
"""The settings that the paper compared for each rival (App. A); it chose the first."""

PERMUTATIONS = 99
SIMILAR_SHARE = 0.05
"""The share of all pairs that are similar, if similarity is yes or no."""

SINGLETON_SHARE = 0.1
"""The share of the rows that become clusters of one row, to see whether they change the ratio of the others."""

SIZES = (1000, 2000, 5000, 10_000, 20_000)
"""Numbers of rows at which times are measured; rows are repeated at most once."""

TAU, ALL_EIGENVALUES = 1000, 10_000
"""The paper's sample cap, and the number of rows of which all eigenvalues are computed for comparison."""

FEW_CLUSTERS, ROWS_PER_CLUSTER = 10, 20
"""Times are measured with few clusters, and with many of this size."""

Array = NDArray[np.float32]
Values = dict[str, Any]


def settings(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Score the rivals in each configuration that the paper compared."""
    X, truth = X[:ROWS], truth[:ROWS]
    return {
        name: {setting: _agreement(run_baseline(name, X, random_state=seed, **options).labels, truth)
               for setting, options in options_of.items()}
        for name, options_of in SETTINGS.items()
    }  # fmt: skip


def _agreement(labels: NDArray[np.intp], truth: NDArray[np.intp]) -> Values:
    return {
        "k": len(np.unique(labels[labels >= 0])),
        "ari": rounded(adjusted_rand_score(truth, labels)),
        "nmi": rounded(normalized_mutual_info_score(truth, labels)),
    }


def readings(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Read the Cohesion Ratio of the classes, of the paper's six algorithms and of the default as the paper does."""
    X, truth = X[:ROWS], truth[:ROWS]
    algorithms = {name: ALGORITHMS[name].compute for name in (*PAPERS_SIX, DEFAULT)}
    labels_of = {"classes": truth} | {name: compute(X, truth, seed).labels for name, compute in algorithms.items()}
    pairs = Pairs(X)
    return {"clusterings": [{"of": name, **_reading(pairs, labels, seed)} for name, labels in labels_of.items()]}


class Pairs:
    """The similarities of all unordered pairs of rows; negative cosines count as 0, as in the paper.

    Examples
    --------
    >>> pairs = Pairs(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32))
    >>> round(pairs.ratio(np.array([0, 0, 1, 1])), 6), pairs.ratio(np.array([0, 1, 2, 3]))
    (3.0, 1.0)
    """

    def __init__(self, X: Array) -> None:
        self.units = unit_rows(X)
        self._ends = np.triu_indices(len(X), 1)
        self.similarity = np.maximum(self.units @ self.units.T, 0)[self._ends].astype(np.float64)
        self.mean = float(self.similarity.mean())

    def same(self, labels: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which pairs share a cluster."""
        first, second = self._ends
        shared: NDArray[np.bool_] = labels[first] == labels[second]
        return shared

    def mean_of(self, chosen: NDArray[np.bool_]) -> float:
        """Return the mean similarity of some pairs; NaN if there are none."""
        return float(self.similarity[chosen].mean()) if chosen.any() else math.nan

    def ratio(self, labels: NDArray[np.intp]) -> float:
        """Return the Cohesion Ratio, summed literally; a cluster of one row is one pair of average similarity."""
        same = self.same(labels)
        singletons = int((np.unique(labels, return_counts=True)[1] == 1).sum())
        total = float(self.similarity[same].sum()) + singletons * self.mean
        return total / (int(same.sum()) + singletons) / self.mean


def _reading(pairs: Pairs, labels: NDArray[np.intp], seed: int) -> Values:
    rng = np.random.default_rng(seed)
    report, ratio = cohesion_report(pairs.units, labels), pairs.ratio(labels)
    permuted = np.array([pairs.ratio(rng.permutation(labels)) for _ in range(PERMUTATIONS)])
    scattered = labels.copy()
    rows = rng.choice(len(labels), round(SINGLETON_SHARE * len(labels)), replace=False)
    scattered[rows] = labels.max() + 1 + np.arange(len(rows))
    same, others = pairs.same(labels), pairs.same(scattered)
    nearest = pairs.similarity >= np.quantile(pairs.similarity, 1 - SIMILAR_SHARE)
    values = {
        "mu_global": report.mu_global,
        "mu_intra": report.mu_intra,
        "ratio": report.ratio,
        "ratio_unrectified": _ratio_unrectified(pairs.units, labels),
        "ratio_with_singletons": pairs.ratio(scattered),
        "ratio_without_singletons": pairs.mean_of(others) / pairs.mean,
        "permuted_mean": permuted.mean(),
        "permuted_low": np.quantile(permuted, 0.025),
        "permuted_high": np.quantile(permuted, 0.975),
        "permuted_p": (1 + np.sum(permuted >= ratio)) / (1 + PERMUTATIONS),
        "pmi_expected": math.log(pairs.mean_of(same) / pairs.mean) if pairs.mean_of(same) > 0 else math.nan,
        "pmi_nearest": _pmi(nearest, same),
        "silhouette": silhouette_score(pairs.units, labels) if 1 < len(np.unique(labels)) < len(labels) else math.nan,
    }
    return {name: rounded(float(value)) for name, value in values.items()}


def _ratio_unrectified(units: Array, labels: NDArray[np.intp]) -> float:
    """Return the ratio with negative cosines as they are, or NaN if it is not defined."""
    try:
        return cohesion_ratio(units, labels, rectify=False)
    except UserError:
        return math.nan


def _pmi(similar: NDArray[np.bool_], same: NDArray[np.bool_]) -> float:
    """Return the pointwise mutual information of "a pair is similar" and "it shares a cluster"; NaN if undefined."""
    joint = float((similar & same).mean())
    return math.log(joint / (float(similar.mean()) * float(same.mean()))) if joint > 0 else math.nan


def times(X: Array, truth: NDArray[np.intp], seed: int) -> Values:
    """Measure the CPU time of the Cohesion Ratio, the silhouette and the estimate of k at several n, in one run."""
    sizes = [n for n in SIZES if n <= 2 * len(X)]
    rows_of = {n: unit_rows(np.resize(X, (n, X.shape[1]))) for n in sizes}
    metrics = [_metric_times(rows_of[n], k) for n in sizes for k in (FEW_CLUSTERS, n // ROWS_PER_CLUSTER)]
    estimates = [_estimate_times(rows_of[n], seed) for n in sizes if n > TAU]
    return {"metrics": metrics, "estimates": estimates}


def _estimate_times(units: Array, seed: int) -> Values:
    n = len(units)
    row = {"n": n, "estimate": _seconds(lambda: spectral_k(units, random_state=seed, n_jobs=1), 1)}
    whole = {"all_eigenvalues": _seconds(lambda: laplacian_eigenvalues(units), 1)} if n == ALL_EIGENVALUES else {}
    return {**row, **whole}


def _metric_times(units: Array, k: int) -> Values:
    n = len(units)
    labels = np.arange(n) % k  # times hardly depend on which rows share a cluster
    repeats = 3 if n <= 5000 else 1
    row = {"n": n, "k": k, **_formula_times(units, labels, repeats)}
    row["ratio"] = _seconds(lambda: cohesion_ratio(units, labels), repeats)
    row["ratio_linear"] = _seconds(lambda: cohesion_ratio(units, labels, rectify=False), repeats)
    row["silhouette"] = _seconds(lambda: silhouette_score(units, labels), repeats)
    return row


def _formula_times(units: Array, labels: NDArray[np.intp], repeats: int) -> Values:
    """Measure both formulas on a matrix that is given; at 20,000 rows it takes 1.6 GB, so it is changed in place."""
    matrix = units @ units.T
    ratio = _seconds(lambda: ratio_by_formula(matrix, labels), repeats)
    np.multiply(matrix, -2, out=matrix)
    np.add(matrix, 2, out=matrix)
    np.sqrt(np.maximum(matrix, 0, out=matrix), out=matrix)
    return {
        "ratio_formula": ratio,
        "silhouette_formula": _seconds(lambda: silhouette_by_formula(matrix, labels), repeats),
    }


def _seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the lowest CPU time of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return round(min(seconds), 6)


def ratio_by_formula(cosines: Array, labels: NDArray[np.intp]) -> float:
    """Compute the Cohesion Ratio from a matrix as the paper defines it: one sum over all pairs, one per cluster.

    Examples
    --------
    >>> round(ratio_by_formula(np.array([[1, 0.8, 0.2], [0.8, 1, 0.2], [0.2, 0.2, 1]]), np.array([0, 0, 1])), 6)
    1.5
    """

    def pairs_of(matrix: Array) -> tuple[float, float]:
        n = len(matrix)
        return (float(matrix.sum(dtype=np.float64)) - float(np.trace(matrix))) / 2, n * (n - 1) / 2

    total, count = pairs_of(cosines)
    mean = total / count
    within = [pairs_of(cosines[np.ix_(rows, rows)]) for rows in _members(labels)]
    singletons = sum(count == 0 for _, count in within)
    inside = sum(total for total, _ in within) + singletons * mean
    return inside / (sum(count for _, count in within) + singletons) / mean


def silhouette_by_formula(distances: Array, labels: NDArray[np.intp]) -> float:
    """Compute the silhouette from a matrix as it is defined: a(i) and b(i), row by row.

    Examples
    --------
    >>> round(silhouette_by_formula(np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0]]), np.array([0, 0, 1])), 6)
    0.5
    """
    sizes = np.bincount(labels)
    total = 0.0
    for row, label in zip(distances, labels, strict=True):
        if sizes[label] == 1:  # by definition 0
            continue
        sums = np.bincount(labels, row, len(sizes))
        inside = sums[label] / (sizes[label] - 1)
        means = sums / sizes
        means[label] = np.inf
        outside = means.min()
        total += float((outside - inside) / max(inside, outside))
    return total / len(labels)


def _members(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each cluster."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
