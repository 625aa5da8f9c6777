"""Every metric of the paper for one clustering, as one row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics

from .cohesion import report_if_defined
from .rows import cluster_sums, map_row_blocks, take_units
from .validation import RandomState, check_embeddings, check_labels, make_generator

SILHOUETTE_ROWS = 10_000
"""Above this many rows the silhouette is computed on a random sample of so many."""


def evaluate(
    X: ArrayLike,
    labels: ArrayLike | Sequence[Hashable],
    truth: ArrayLike | Sequence[Hashable] | None = None,
    *,
    random_state: RandomState = None,
) -> dict[str, float]:
    """Compute every metric that can be computed for a clustering.

    Geometry is that of unit rows with Euclidean distance. Above 10,000 rows the silhouette is
    taken on a random sample of 10,000, and above 4,096 the rectified Cohesion Ratio is partly
    sampled; ``silhouette_rows`` and ``cohesion_ratio_se`` say so. All others are exact at any n.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings.
    labels : sequence of n hashable values
        The cluster of each row. -1 is a label like any other.
    truth : sequence of n hashable values, optional
        The true class of each row; adds the metrics that need it.
    random_state : int, RandomState, Generator or None
        For what is sampled.

    Returns
    -------
    dict
        ``n_samples``, ``n_clusters``, ``cohesion_ratio``, ``cohesion_ratio_se``, ``silhouette``,
        ``silhouette_rows``, ``davies_bouldin``, ``calinski_harabasz``, and with `truth` ``n_classes``,
        ``k_relative_error``, ``ari``, ``nmi``, ``homogeneity``, ``completeness``,
        ``fowlkes_mallows``. A metric that is not defined (the silhouette of one cluster) is NaN.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> row = ts.evaluate(X, [0, 0, 1, 1], truth=["a", "a", "b", "b"])
    >>> row["ari"], round(row["silhouette"], 2)
    (1.0, 0.93)
    """
    X = check_embeddings(X)
    codes, names = check_labels(labels, len(X))
    rng = make_generator(random_state)
    row: dict[str, float] = {"n_samples": len(X), "n_clusters": len(names)}
    report = report_if_defined(X, codes, random_state=rng)
    row |= {
        "cohesion_ratio": report.ratio if report else float("nan"),
        "cohesion_ratio_se": report.standard_error if report else float("nan"),
    }
    row |= _silhouette(X, codes, rng)
    row |= _dispersion(X, codes, len(names))
    if truth is not None:
        row |= _agreement(codes, *check_labels(truth, len(X)))
    return row


def _silhouette(X: NDArray[Any], codes: NDArray[np.intp], rng: np.random.Generator) -> dict[str, float]:
    rows = np.arange(len(X))
    if len(rows) > SILHOUETTE_ROWS:
        rows = np.sort(rng.choice(len(X), SILHOUETTE_ROWS, replace=False, shuffle=False))
    defined = 2 <= len(np.unique(codes[rows])) < len(rows)
    value = metrics.silhouette_score(take_units(X, rows), codes[rows]) if defined else float("nan")
    return {"silhouette": float(value), "silhouette_rows": len(rows)}


def _dispersion(X: NDArray[Any], codes: NDArray[np.intp], k: int) -> dict[str, float]:
    """Davies-Bouldin and Calinski-Harabasz from two passes over the rows, nothing of size n in memory."""
    n = len(X)
    if not 2 <= k < n:
        return {"davies_bouldin": float("nan"), "calinski_harabasz": float("nan")}
    sizes = np.bincount(codes, minlength=k)
    centers = cluster_sums(X, codes, k) / sizes[:, None]

    def distances_to_own_center(rows: NDArray[np.float32], scale: NDArray[np.float32], code: NDArray[np.intp]) -> Any:
        squares = np.square(rows * scale[:, None] - centers[code]).sum(axis=1)
        return np.bincount(code, np.sqrt(squares), k), float(squares.sum())

    parts = map_row_blocks(distances_to_own_center, X, codes)
    within = sum(squares for _, squares in parts)
    between = float((sizes * np.square(centers - sizes @ centers / n).sum(axis=1)).sum())
    spread = np.sum([distances for distances, _ in parts], axis=0) / sizes
    return {
        "davies_bouldin": _davies_bouldin(centers, spread),
        "calinski_harabasz": between * (n - k) / (within * (k - 1)) if within > 0 else 1.0,
    }


def _davies_bouldin(centers: NDArray[np.float64], spread: NDArray[np.float64]) -> float:
    if np.allclose(spread, 0):
        return 0.0
    worst = np.empty(len(centers))
    for i, center in enumerate(centers):
        gaps = np.sqrt(np.square(centers - center).sum(axis=1))
        gaps[gaps == 0] = np.inf
        worst[i] = ((spread + spread[i]) / gaps).max()
    return float(worst.mean())


def _agreement(codes: NDArray[np.intp], truth: NDArray[np.intp], classes: list[Hashable]) -> dict[str, float]:
    homogeneity, completeness, nmi = metrics.homogeneity_completeness_v_measure(truth, codes)
    n_clusters, n_classes = len(np.unique(codes)), len(classes)
    return {
        "n_classes": n_classes,
        "k_relative_error": abs(n_clusters - n_classes) / n_classes,
        "ari": float(metrics.adjusted_rand_score(truth, codes)),
        "nmi": float(nmi),
        "homogeneity": float(homogeneity),
        "completeness": float(completeness),
        "fowlkes_mallows": float(metrics.fowlkes_mallows_score(truth, codes)),
    }
