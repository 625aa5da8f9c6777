"""The algorithms that a study compares: the paper's six, and references by which a reader can judge them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from textspectra import AutoAgglomerative, AutoKMeans, estimate_k, evaluate, laplacian_eigenvalues, spectral_k

from .baselines import BASELINES, Clustering, run_baseline
from .results import METRICS, rounded
from .similarities import unit_rows

RIVALS = ("hdbscan", "optics", "affinity_propagation", "leiden")
"""The algorithms with which the paper compares its own; they compare all pairs of rows."""

PAPERS_SIX = (*RIVALS, "kmeans_kest", "hac_kest")
"""The algorithms of the paper's tables."""

DEFAULT = "default"
"""What textspectra does by default: its own k, and refined groups."""

CONSTANT = 12
"""A k that does not depend on the data."""

EIGENGAP_SAMPLES, EIGENGAP_ROWS = 10, 1000

SILHOUETTE_ROWS, SILHOUETTE_STEPS, SILHOUETTE_HIGHEST = 2000, 20, 250

REFERENCE_ROWS = 20_000
"""Larger samples are skipped for references that answer no question about the sample size."""

Array = NDArray[np.float32]


class Algorithm(NamedTuple):
    """A clustering algorithm that may know the number of classes, but not the classes.

    Attributes
    ----------
    title : str
    cluster : callable
        ``cluster(X, n_classes, seed)`` returns a :class:`~textspectra_study.baselines.Clustering`.
    packages : tuple of str
        Other packages whose versions decide the outcome.
    max_rows : int or None
        Larger samples are skipped.
    """

    title: str
    cluster: Callable[[Array, int, int], Clustering]
    packages: tuple[str, ...] = ()
    max_rows: int | None = None

    def compute(self, X: Array, truth: NDArray[np.intp], seed: int) -> Clustering:
        """Cluster the rows of a variant."""
        return self.cluster(X, len(np.unique(truth)), seed)


def paper_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the paper's k."""
    return spectral_k(X, random_state=seed, n_jobs=1).k


def auto_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the k that textspectra uses by default."""
    return estimate_k(X, random_state=seed, n_jobs=1).k


def true_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the number of classes; no other reference knows it."""
    return n_classes


def eigengap_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the k ≥ 2 with the widest gap between eigenvalues k and k + 1; the mean over random samples.

    Examples
    --------
    >>> eigengap_k(np.repeat(np.eye(4, dtype=np.float32), 5, axis=0), 0, 0)
    4
    """
    rng = np.random.default_rng(seed)
    size, repeats = (EIGENGAP_ROWS, EIGENGAP_SAMPLES) if len(X) > EIGENGAP_ROWS else (len(X), 1)
    estimates = []
    for _ in range(repeats):
        spectrum = laplacian_eigenvalues(X[rng.choice(len(X), size, replace=False)])
        estimates.append(int(np.diff(spectrum[: max(3, size // 2)])[1:].argmax()) + 2)
    return round(float(np.mean(estimates)))


def silhouette_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the k on a logarithmic grid at which K-Means has the best silhouette; on at most 2,000 rows.

    Examples
    --------
    >>> rows = np.repeat(np.eye(4), 5, axis=0) + np.random.default_rng(0).normal(0, 0.05, (20, 4))
    >>> silhouette_k(rows.astype(np.float32), 0, 0)
    4
    """
    rng = np.random.default_rng(seed)
    units = unit_rows(X if len(X) <= SILHOUETTE_ROWS else X[rng.choice(len(X), SILHOUETTE_ROWS, False)])
    highest = min(SILHOUETTE_HIGHEST, len(units) // 4)
    grid = np.unique(np.geomspace(2, max(2, highest), SILHOUETTE_STEPS).round().astype(int)).tolist()

    def score(k: int) -> float:
        return float(
            silhouette_score(units, AutoKMeans(k, refine=False, random_state=seed, n_jobs=1).fit_predict(units))
        )

    return int(max(grid, key=score))


def constant_k(X: Array, n_classes: int, seed: int) -> int:
    """Return the same k for all data."""
    return CONSTANT


def scores(found: Clustering, X: Array, truth: NDArray[np.intp], seed: int) -> dict[str, Any]:
    """Return k, the share of noise and every metric of a clustering."""
    row = evaluate(X, found.labels, truth, random_state=seed)
    metrics = {metric: rounded(row[metric]) for metric in METRICS}
    return {"k": found.k, "noise": rounded(row["n_noise"] / len(X)), **metrics}


def by_default(X: Array, n_classes: int, seed: int) -> Clustering:
    """Cluster as textspectra does if nothing is chosen."""
    fitted = AutoKMeans(random_state=seed, n_jobs=1).fit(X)
    return Clustering(fitted.labels_, fitted.n_clusters_)


plain_kmeans = partial(AutoKMeans, refine=False)


def _at(
    model: Callable[..., AutoKMeans | AutoAgglomerative], choose: Callable[[Array, int, int], int]
) -> Callable[[Array, int, int], Clustering]:
    def cluster(X: Array, n_classes: int, seed: int) -> Clustering:
        k = min(len(X), choose(X, n_classes, seed))
        fitted = model(k, random_state=seed, n_jobs=1).fit(X)
        return Clustering(fitted.labels_, fitted.n_clusters_)

    return cluster


def _rival(name: str) -> Algorithm:
    baseline = BASELINES[name]

    def cluster(X: Array, n_classes: int, seed: int) -> Clustering:
        return run_baseline(name, X, random_state=seed)

    return Algorithm(baseline.title, cluster, baseline.packages, baseline.max_rows)


ALGORITHMS = {
    "hdbscan": _rival("hdbscan"),
    "optics": _rival("optics"),
    "affinity_propagation": _rival("affinity_propagation"),
    "leiden": _rival("leiden"),
    "kmeans_kest": Algorithm("K-Means (k-est)", _at(plain_kmeans, paper_k)),
    "hac_kest": Algorithm("HAC (k-est)", _at(AutoAgglomerative, paper_k)),
    DEFAULT: Algorithm("Default", by_default),
    "kmeans_auto": Algorithm("K-Means (auto k)", _at(plain_kmeans, auto_k), max_rows=REFERENCE_ROWS),
    "hac_auto": Algorithm("HAC (auto k)", _at(AutoAgglomerative, auto_k), max_rows=REFERENCE_ROWS),
    "kmeans_true": Algorithm("K-Means (true k)", _at(plain_kmeans, true_k)),
    "hac_true": Algorithm("HAC (true k)", _at(AutoAgglomerative, true_k), max_rows=REFERENCE_ROWS),
    "kmeans_eigengap": Algorithm("K-Means (eigengap k)", _at(plain_kmeans, eigengap_k), max_rows=REFERENCE_ROWS),
    "kmeans_silhouette": Algorithm("K-Means (silhouette k)", _at(plain_kmeans, silhouette_k), max_rows=REFERENCE_ROWS),
    "kmeans_constant": Algorithm(f"K-Means (k = {CONSTANT})", _at(plain_kmeans, constant_k)),
    "hdbscan_knn": _rival("hdbscan_knn"),
    "leiden_knn": _rival("leiden_knn"),
    "evoc": _rival("evoc"),
    "umap_hdbscan": _rival("umap_hdbscan"),
}
"""In the order of the tables: the paper's six algorithms, then the references."""

TITLES = {name: algorithm.title for name, algorithm in ALGORITHMS.items()}
