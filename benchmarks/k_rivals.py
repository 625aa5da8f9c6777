"""Other ways to find k, each a function from vectors to a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from textspectra.granularity.spectral import read_spectrum
from textspectra_study.baselines import run_baseline

SAMPLE, SAMPLES, NEIGHBOURS = 1000, 5, 10


def unit(X: Any) -> Any:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def cosines(X: Any) -> Any:
    S = unit(X) @ unit(X).T
    np.fill_diagonal(S, 0)
    return S


def neighbour_graph(X: Any) -> Any:
    S = cosines(X)
    np.fill_diagonal(S, -1)
    nearest = np.argpartition(-S, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    graph = np.zeros_like(S)
    np.put_along_axis(graph, nearest, 1, axis=1)
    return graph


def eigenvalues(W: Any) -> Any:
    degree = W.sum(axis=1, dtype=np.float64)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    return np.linalg.eigvalsh(np.eye(len(W)) - W * scale[:, None] * scale)


def rectified(X: Any) -> Any:
    return np.maximum(cosines(X), 0)


def zscored(X: Any) -> Any:
    S = cosines(X)
    W = np.maximum((S - S.mean()) / S.std(), 0)
    np.fill_diagonal(W, 0)
    return W


def knn(X: Any) -> Any:
    graph = neighbour_graph(X)
    return np.maximum(graph, graph.T)


def mutual_knn(X: Any) -> Any:
    graph = neighbour_graph(X)
    return graph * graph.T


def locally_scaled(X: Any) -> Any:
    distances = np.maximum(2 - 2 * cosines(X).astype(np.float64), 0)
    np.fill_diagonal(distances, np.inf)
    width = np.sqrt(np.partition(distances, 6, axis=1)[:, 6])
    W = np.exp(-distances / np.maximum(np.outer(width, width), 1e-12))
    np.fill_diagonal(W, 0)
    return W


def samples(X: Any, size: int = SAMPLE) -> list[Any]:
    rng = np.random.default_rng(0)
    return [X[rng.permutation(len(X))[:size]] for _ in range(SAMPLES)]


def jump(spectrum: Any, window: int = 3) -> int:
    return read_spectrum(spectrum, window).jump or 5


def papers_rule_on(graph: Callable[[Any], Any]) -> Callable[[Any], float]:
    return lambda X: float(np.mean([jump(eigenvalues(graph(sample))) for sample in samples(X)]))


def window_by_stability(X: Any) -> float:
    """Use the window, 3 to 15, whose estimates spread least over the samples."""
    spectra = [eigenvalues(rectified(sample)) for sample in samples(X)]
    readings = np.array([[jump(spectrum, window) for spectrum in spectra] for window in range(3, 16)])
    return float(readings[(readings.std(axis=1) / readings.mean(axis=1)).argmin()].mean())


def sample_size_by_stability(X: Any) -> float:
    """Use the sample size, 200 to 2,000, whose estimates spread least over the samples."""
    readings = np.array(
        [[jump(eigenvalues(rectified(sample))) for sample in samples(X, size)] for size in (200, 500, 1000, 2000)]
    )
    return float(readings[(readings.std(axis=1) / readings.mean(axis=1)).argmin()].mean())


def eigengap(X: Any) -> float:
    gaps = [np.diff(eigenvalues(rectified(sample))[: SAMPLE // 2]) for sample in samples(X)]
    return float(np.mean([gap[1:].argmax() + 2 for gap in gaps]))


def silhouette_maximum(X: Any) -> int:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    points = unit(X[:2000])
    ks = [k for k in np.unique(np.geomspace(2, 250, 22).round().astype(int)).tolist() if k < len(points) / 4]
    scores = [silhouette_score(points, KMeans(k, n_init=1, random_state=0).fit_predict(points)) for k in ks]
    return int(ks[int(np.argmax(scores))])


def leiden(X: Any) -> int:
    import igraph
    import leidenalg

    edges = np.argwhere(np.triu(knn(X)))
    graph = igraph.Graph(len(X), edges.tolist())
    return len(leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0))


def plscan(X: Any) -> int:
    from fast_hdbscan import PLSCAN

    return max(1, int(PLSCAN(reproducible=True).fit(unit(X)).labels_.max()) + 1)


def baseline(name: str) -> Callable[[Any], int]:
    return lambda X: max(1, run_baseline(name, X).k)


RIVALS: dict[str, Callable[[Any], float]] = {
    "paper's rule, z-score graph": papers_rule_on(zscored),
    "paper's rule, kNN graph": papers_rule_on(knn),
    "paper's rule, mutual kNN graph": papers_rule_on(mutual_knn),
    "paper's rule, local scaling": papers_rule_on(locally_scaled),
    "paper's rule, w by stability": window_by_stability,
    "paper's rule, τ by stability": sample_size_by_stability,
    "eigengap": eigengap,
    "silhouette maximum": silhouette_maximum,
    "Leiden, kNN 10, modularity": leiden,
    "EVoC": baseline("evoc"),
    "PLSCAN": plscan,
    "UMAP + HDBSCAN": baseline("umap_hdbscan"),
}
