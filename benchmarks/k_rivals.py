"""Other ways to find k: each is a function from vectors to labels or, if it only counts, to a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import textspectra as ts
from textspectra.core.discriminants import smoothed_rows
from textspectra.core.ward import ward_tree
from textspectra_study.baselines import run_baseline

NEIGHBORS = 10
PAPER_SAMPLES = 10
"""The paper's rule is averaged over this many samples of 1,000 rows."""


def unit(X: Any) -> Any:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def nearest_rows(X: Any, size: int = NEIGHBORS) -> Any:
    """Return the indices of the nearest other rows."""
    cosines = unit(X) @ unit(X).T
    np.fill_diagonal(cosines, -2)
    return np.argpartition(-cosines, size, axis=1)[:, :size]


def knn(X: Any) -> Any:
    """Return the graph in which two rows are joined if one is among the nearest of the other."""
    graph = np.zeros((len(X), len(X)), np.float32)
    np.put_along_axis(graph, nearest_rows(X), 1, axis=1)
    return np.maximum(graph, graph.T)


def papers_rule(*, zscore: bool) -> Callable[[Any], int]:
    def count(X: Any) -> int:
        return ts.spectral_k(X, n_replicates=PAPER_SAMPLES, zscore=zscore, n_jobs=1).k

    return count


def modularity_maximum(X: Any, size: int = NEIGHBORS) -> int:
    """Cut Ward's tree of smoothed rows where most neighbors share a cluster, beyond the sum of squared shares."""
    ones = np.ones(len(X))
    tree = ward_tree(smoothed_rows(unit(X).astype(np.float32), ones, size), ones)
    nearest = nearest_rows(X, size)

    def modularity(k: int) -> float:
        labels = tree.cut(k)
        together = (labels[nearest] == labels[:, None]).mean()
        return float(together - np.square(np.bincount(labels) / len(labels)).sum())

    return max(np.unique(np.geomspace(2, len(X) / 4, 80).astype(int)).tolist(), key=modularity)


def silhouette_maximum(X: Any) -> int:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    points = unit(X[:1500])
    ks = [k for k in np.unique(np.geomspace(2, 250, 18).round().astype(int)).tolist() if k < len(points) / 4]
    scores = [silhouette_score(points, KMeans(k, n_init=1, random_state=0).fit_predict(points)) for k in ks]
    return int(ks[int(np.argmax(scores))])


def leiden(X: Any) -> Any:
    import igraph
    import leidenalg

    graph = igraph.Graph(len(X), np.argwhere(np.triu(knn(X))).tolist())
    return np.array(leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0).membership)


def plscan(X: Any) -> Any:
    from fast_hdbscan import PLSCAN

    return PLSCAN(reproducible=True).fit(unit(X)).labels_


def baseline(name: str) -> Callable[[Any], Any]:
    return lambda X: run_baseline(name, X).labels


RIVALS: dict[str, Callable[[Any], Any]] = {
    "modularity maximum": modularity_maximum,
    "EVoC": baseline("evoc"),
    "Leiden (kNN 10, modularity)": leiden,
    "PLSCAN": plscan,
    "silhouette maximum": silhouette_maximum,
    "paper's rule": papers_rule(zscore=False),
    "paper's rule, z-scored": papers_rule(zscore=True),
    "UMAP + HDBSCAN": baseline("umap_hdbscan"),
}
