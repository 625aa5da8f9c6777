"""The paper's rivals, which need no k, with one call signature and the settings of the paper's Appendix A."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from textspectra import UserError

from .similarities import cosine_moments, neighbor_distances, unit_rows, zscored_graph

NOISE = -1
"""The label of noise: rows that belong to no cluster."""


class Baseline(NamedTuple):
    """One rival.

    Attributes
    ----------
    title : str
        Its name in tables.
    cluster : callable
        ``cluster(units, seed)`` returns one label per row; settings are keyword arguments.
    packages : tuple of str
        The packages that implement it; their versions decide the outcome.
    max_rows : int
        Larger samples would take too much time or memory.
    """

    title: str
    cluster: Callable[..., NDArray[np.intp]]
    packages: tuple[str, ...]
    max_rows: int


class Clustering(NamedTuple):
    """One label per row, -1 for noise, and the number of clusters without the noise."""

    labels: NDArray[np.intp]
    k: int


def run_baseline(name: str, X: ArrayLike, *, random_state: int = 0, **settings: Any) -> Clustering:
    """Cluster embeddings with one of the paper's rivals, one of them on a graph of neighbors, or a later one.

    Rows are scaled to unit length first, so that Euclidean and cosine distances give the same neighbors.

    Parameters
    ----------
    name : str
        ``"hdbscan"`` (``min_cluster_size=2``), ``"optics"`` (``min_samples=2``, xi), ``"affinity_propagation"``
        (default preference), ``"leiden"`` (CPM at resolution 1 on the z-scored, rectified cosine graph); and, beyond
        the paper, ``"hdbscan_knn"`` and ``"leiden_knn"`` (on 15 nearest neighbors, for any number of rows), ``"evoc"``
        and ``"umap_hdbscan"`` (what BERTopic runs by default).
    X : array-like of shape (n, d)
        Embeddings, without rows of zeros.
    random_state : int, default=0
    **settings
        Other settings than those above: ``min_cluster_size`` of HDBSCAN, ``min_samples`` of OPTICS, ``zscore=False``
        for Leiden on the raw, rectified cosine graph.

    Returns
    -------
    Clustering
        ``labels`` and ``k``.

    Raises
    ------
    UserError
        If there is no such rival, or a row is all zeros.
    ModuleNotFoundError
        If a package is missing; the message says how to install it.

    Examples
    --------
    >>> import numpy as np
    >>> run_baseline("affinity_propagation", np.repeat(np.eye(3), 5, axis=0) + np.eye(15, 3) / 9).k
    3
    """
    if name not in BASELINES:
        raise UserError(f"There is no baseline {name!r}; there are {', '.join(BASELINES)}.")
    labels = BASELINES[name].cluster(unit_rows(X), random_state, **settings)
    return Clustering(labels, len(np.unique(labels[labels != NOISE])))


def _hdbscan(units: NDArray[np.float32], seed: int, *, min_cluster_size: int = 2) -> NDArray[np.intp]:
    from sklearn.cluster import HDBSCAN

    return _codes(HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(units))


def _optics(units: NDArray[np.float32], seed: int, *, min_samples: int = 2) -> NDArray[np.intp]:
    from sklearn.cluster import OPTICS

    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        # Equal rows have a reachability of zero, and OPTICS divides by it.
        warnings.simplefilter("ignore", RuntimeWarning)
        return _codes(OPTICS(min_samples=min_samples, cluster_method="xi").fit_predict(units))


def _affinity_propagation(units: NDArray[np.float32], seed: int) -> NDArray[np.intp]:
    from sklearn.cluster import AffinityPropagation

    with warnings.catch_warnings():
        # Without convergence, the labels of the last iteration are scored; rows without an exemplar are noise.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _codes(AffinityPropagation(random_state=seed).fit_predict(units))


def _leiden(units: NDArray[np.float32], seed: int, *, zscore: bool = True) -> NDArray[np.intp]:
    weights = np.triu(zscored_graph(units) if zscore else np.maximum(units @ units.T, 0), 1)
    edges = np.argwhere(weights)
    return _communities(len(units), edges, weights[edges[:, 0], edges[:, 1]], seed, "CPM")


def _communities(
    n: int, edges: NDArray[np.intp], weights: NDArray[np.floating], seed: int, objective: str
) -> NDArray[np.intp]:
    import igraph

    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311 - no secrets here
    partition = igraph.Graph(n, edges).community_leiden(
        objective_function=objective, weights=weights, resolution=1.0, n_iterations=2
    )
    return _codes(partition.membership)


def _hdbscan_knn(units: NDArray[np.float32], seed: int) -> NDArray[np.intp]:
    from sklearn.cluster import HDBSCAN

    return _codes(HDBSCAN(min_cluster_size=2, metric="precomputed", copy=True).fit_predict(_connected(units, seed)))


def _connected(units: NDArray[np.float32], seed: int) -> sparse.csr_array:
    """Return the graph of neighbors as HDBSCAN takes it: with each row in its own neighborhood, and in one piece.

    The pieces are joined at 2, the greatest distance of unit rows, so that no cluster spans two of them.
    """
    graph = neighbor_distances(units, seed).tocoo()
    starts = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
    joints, hub, itself = starts[1:], np.full(len(starts) - 1, starts[0]), np.arange(len(units))
    values = np.concatenate([graph.data, np.full(2 * len(joints), 2.0), np.zeros(len(units))])
    rows = np.concatenate([graph.row, joints, hub, itself])
    columns = np.concatenate([graph.col, hub, joints, itself])
    return sparse.csr_array((values, (rows, columns)), shape=graph.shape)


def _leiden_knn(units: NDArray[np.float32], seed: int) -> NDArray[np.intp]:
    """Maximize modularity, as is usual on neighbors; at a fixed resolution, CPM would cap the size of clusters."""
    edges = sparse.triu(neighbor_distances(units, seed), 1).tocoo()
    center, spread = cosine_moments(units)
    weights = np.maximum((1 - edges.data**2 / 2 - center) / max(spread, np.finfo(np.float32).eps), 0)
    return _communities(len(units), np.column_stack([edges.row, edges.col]), weights, seed, "modularity")


def _evoc(units: NDArray[np.float32], seed: int) -> NDArray[np.intp]:
    import evoc

    return _codes(evoc.EVoC(random_state=seed).fit_predict(units))


def _umap_hdbscan(units: NDArray[np.float32], seed: int) -> NDArray[np.intp]:
    import umap
    from sklearn.cluster import HDBSCAN

    with warnings.catch_warnings():
        # umap-learn warns that a seed means a single thread.
        warnings.simplefilter("ignore", UserWarning)
        flat = umap.UMAP(
            n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed
        ).fit_transform(units)
    return _codes(HDBSCAN(min_cluster_size=10, copy=True).fit_predict(flat))


def _codes(labels: Any) -> NDArray[np.intp]:
    return np.asarray(labels, np.intp)


BASELINES = {
    "hdbscan": Baseline("HDBSCAN", _hdbscan, ("scikit-learn",), 20_000),
    "optics": Baseline("OPTICS", _optics, ("scikit-learn",), 12_000),
    "affinity_propagation": Baseline("Aff. Prop.", _affinity_propagation, ("scikit-learn",), 12_000),
    "leiden": Baseline("Leiden", _leiden, ("igraph",), 12_000),
    "hdbscan_knn": Baseline("HDBSCAN (neighbors)", _hdbscan_knn, ("pynndescent", "scikit-learn"), 100_000),
    "leiden_knn": Baseline("Leiden (neighbors)", _leiden_knn, ("igraph", "pynndescent"), 100_000),
    "evoc": Baseline("EVoC", _evoc, ("evoc",), 100_000),
    "umap_hdbscan": Baseline("UMAP + HDBSCAN", _umap_hdbscan, ("scikit-learn", "umap-learn"), 5_000),
}
