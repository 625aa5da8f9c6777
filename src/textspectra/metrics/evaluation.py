"""Every metric of the paper for one clustering, as one row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import metrics

from ..arrays.engine import Folded, count_draws, fold_blocks
from ..arrays.rows import fold_rows, sums_and_sizes, unit_rows
from ..validation import RandomState, check_embeddings, check_labels, make_generator
from .cohesion import report_if_defined

SILHOUETTE_ROWS = 10_000
"""Above this many rows the silhouette is computed on a random sample of so many."""


def evaluate(
    X: ArrayLike,
    labels: ArrayLike | Sequence[Hashable],
    truth: ArrayLike | Sequence[Hashable] | None = None,
    *,
    random_state: RandomState = 0,
) -> dict[str, float]:
    """Compute every metric that can be computed for a clustering.

    Geometry is that of unit rows with Euclidean distance. Above 10,000 rows the silhouette is
    taken on a random sample of 10,000, and above 4,096 the rectified Cohesion Ratio is partly
    sampled; ``silhouette_rows`` and ``cohesion_ratio_se`` say so. All others are exact at any n.

    Parameters
    ----------
    X : array-like or Dask array of shape (n, d)
        Embeddings.
    labels : sequence or Dask array of n hashable values
        The cluster of each row. -1 is a label like any other.
    truth : sequence or Dask array of n hashable values, optional
        The true class of each row; adds the metrics that need it.
    random_state : int, RandomState, Generator or None, default=0
        The seed for what is sampled. None is a random seed.

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
    codes, names = check_labels(labels, X)
    rng = make_generator(random_state)
    row: dict[str, float] = {"n_samples": len(X), "n_clusters": len(names)}
    report = report_if_defined(X, codes, len(names), random_state=rng)
    row |= {
        "cohesion_ratio": report.ratio if report else float("nan"),
        "cohesion_ratio_se": report.standard_error if report else float("nan"),
    }
    row |= _silhouette(X, codes, rng)
    row |= _dispersion(X, codes, len(names))
    if truth is not None:
        row |= _agreement(codes, len(names), *check_labels(truth, X))
    return row


def _silhouette(X: Any, codes: Any, rng: np.random.Generator) -> dict[str, float]:
    rows = np.arange(min(len(X), SILHOUETTE_ROWS))
    if len(X) > SILHOUETTE_ROWS:
        rows = np.sort(rng.choice(len(X), SILHOUETTE_ROWS, replace=False, shuffle=False))
    value = count_draws([X, codes]).map(_silhouette_of, [(0, rows)], n_jobs=1)[0]
    return {"silhouette": value, "silhouette_rows": len(rows)}


def _silhouette_of(rows: NDArray[np.intp], part: NDArray[Any], codes: NDArray[np.intp]) -> float:
    defined = 2 <= len(np.unique(codes)) < len(codes)
    return float(metrics.silhouette_score(unit_rows(part, first_row=rows), codes)) if defined else float("nan")


def _dispersion(X: Any, codes: Any, k: int) -> dict[str, float]:
    """Davies-Bouldin and Calinski-Harabasz from two passes over the rows, nothing of size n in memory."""
    n = len(X)
    if not 2 <= k < n:
        return {"davies_bouldin": float("nan"), "calinski_harabasz": float("nan")}
    sums, sizes = sums_and_sizes(X, codes, k)
    centers = sums / sizes[:, None]

    def distances_to_own_center(rows: NDArray[np.float32], scale: NDArray[np.float32], code: Any) -> Folded:
        squares = np.square(rows * scale[:, None] - centers[code]).sum(axis=1)
        return Folded((np.bincount(code, np.sqrt(squares), k), float(squares.sum())))

    distances, within = fold_rows(distances_to_own_center, X, codes).statistics
    between = float((sizes * np.square(centers - sizes @ centers / n).sum(axis=1)).sum())
    return {
        "davies_bouldin": _davies_bouldin(centers, distances / sizes),
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


def _agreement(codes: Any, n_clusters: int, truth: Any, classes: list[Hashable]) -> dict[str, float]:
    """Compare two labellings by their table of counts, which one pass over both gives."""
    shape = len(classes), n_clusters

    def count(first_row: int, code: NDArray[np.intp], true: NDArray[np.intp]) -> Folded:
        return Folded((sparse.csr_array((np.ones(len(code), np.int64), (true, code)), shape=shape),))

    table = fold_blocks(count, codes, truth).statistics[0]
    together, by_class, by_cluster = (
        np.asarray(counts, np.float64) for counts in (table.data, table.sum(1), table.sum(0))
    )
    homogeneity, completeness, nmi = _shared_information(together, by_class, by_cluster)
    ari, fowlkes_mallows = _shared_pairs(together, by_class, by_cluster)
    return {
        "n_classes": len(classes),
        "k_relative_error": abs(n_clusters - len(classes)) / len(classes),
        "ari": ari,
        "nmi": nmi,
        "homogeneity": homogeneity,
        "completeness": completeness,
        "fowlkes_mallows": fowlkes_mallows,
    }


def _shared_information(
    together: NDArray[np.float64], by_class: NDArray[np.float64], by_cluster: NDArray[np.float64]
) -> tuple[float, float, float]:
    joint, of_class, of_cluster = (_entropy(counts) for counts in (together, by_class, by_cluster))
    shared = max(0.0, of_class + of_cluster - joint)
    homogeneity = shared / of_class if of_class > 0 else 1.0
    completeness = shared / of_cluster if of_cluster > 0 else 1.0
    total = homogeneity + completeness
    return homogeneity, completeness, 2 * homogeneity * completeness / total if total > 0 else 0.0


def _entropy(counts: NDArray[np.float64]) -> float:
    share = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(share @ np.log(share))))


def _shared_pairs(
    together: NDArray[np.float64], by_class: NDArray[np.float64], by_cluster: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the adjusted Rand and the Fowlkes-Mallows index, from the pairs that share class, cluster or both."""
    both, in_class, in_cluster, every = (
        float((counts * (counts - 1)).sum()) for counts in (together, by_class, by_cluster, by_class.sum(keepdims=True))
    )
    by_chance = in_class * in_cluster / every if every else 0.0
    most = (in_class + in_cluster) / 2
    ari = (both - by_chance) / (most - by_chance) if most != by_chance else 1.0
    return ari, float(np.sqrt(both / in_class) * np.sqrt(both / in_cluster)) if both else 0.0
