"""Metrics of a clustering, with and without ground truth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import sparse

from . import F32, Array, Ints, Rows
from .cohesion import report_if_defined
from .rows import CountedRows, fold_blocks, fold_rows, sums_and_sizes, take_units
from .validation import RandomState, check_labeled, check_labels, make_generator

NOISE = (-1, "-1")  # labels of rows without a cluster; tables of text have the latter
OVERLAP_CELLS = 2**22  # pairs of centers in memory at the same time
NEAR_CENTERS = 1e-6  # squared distance of centers, below which a product of matrices is not exact enough
MAX_SILHOUETTE_ROWS = 10_000  # above this, the silhouette is computed on a random sample of this size
SILHOUETTE_SAMPLE = 2000  # and on one of this size for a verdict, or if it is computed for many cuts of a tree


def contingency(classes: Rows, n_classes: int, clusters: Rows, n_clusters: int) -> sparse.csr_array:
    """Count how many rows have each pair of labels, in one pass over both labelings."""

    def count(first_row: int, left: Ints, right: Ints) -> tuple[sparse.csr_array]:
        return (sparse.csr_array((np.ones(len(left), np.int64), (left, right)), shape=(n_classes, n_clusters)),)

    return fold_blocks(count, classes, clusters)[0]


def agreements(table: Array | sparse.csr_array) -> dict[str, float]:
    """Compare clusters with classes as scikit-learn does, from the counts of each class (row) and cluster (column)."""
    together = np.asarray(table.data if sparse.issparse(table) else table, np.float64).ravel()
    by_class, by_cluster = (np.asarray(table.sum(axis=axis), np.float64) for axis in (1, 0))
    of_class, of_cluster = entropy(by_class), entropy(by_cluster)
    shared = max(0.0, of_class + of_cluster - entropy(together))
    homogeneity = shared / of_class if of_class > 0 else 1.0
    completeness = shared / of_cluster if of_cluster > 0 else 1.0
    total = homogeneity + completeness

    both, in_class, in_cluster, every = (
        float((counts * (counts - 1)).sum()) for counts in (together, by_class, by_cluster, by_class.sum(keepdims=True))
    )
    by_chance = in_class * in_cluster / every if every else 0.0
    most = (in_class + in_cluster) / 2
    return {
        "ari": (both - by_chance) / (most - by_chance) if most != by_chance else 1.0,
        "nmi": 2 * homogeneity * completeness / total if total > 0 else 0.0,
        "homogeneity": homogeneity,
        "completeness": completeness,
        "fowlkes_mallows": float(np.sqrt(both / in_class) * np.sqrt(both / in_cluster)) if both else 0.0,
    }


def adjusted_information(table: sparse.csr_array) -> float:
    """Return the adjusted mutual information (AMI) of classes and clusters, from the counts of each pair."""
    from sklearn.metrics.cluster import expected_mutual_information  # late: the command line does without scikit-learn

    by_class, by_cluster = (np.asarray(table.sum(axis=axis), np.int64) for axis in (1, 0))
    of_class, of_cluster = entropy(by_class), entropy(by_cluster)
    shared = of_class + of_cluster - entropy(table.data)
    by_chance = float(expected_mutual_information(sparse.csr_matrix(table), int(by_class.sum())))
    most = (of_class + of_cluster) / 2
    # Both labelings have one label, or one label per row: then chance reaches the maximum.
    return (shared - by_chance) / (most - by_chance) if abs(most - by_chance) > np.finfo(float).eps else 1.0


def entropy(counts: Array) -> float:
    """Return the entropy of a labeling, in nats, from the size of each label."""
    share = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(share @ np.log(share))))


def evaluate(
    X: ArrayLike,
    labels: ArrayLike | Sequence[Hashable],
    truth: ArrayLike | Sequence[Hashable] | None = None,
    *,
    random_state: RandomState = 0,
) -> dict[str, float]:
    """Compute every metric that can be computed for a clustering.

    Distances are Euclidean, between rows scaled to length 1. Above 10,000 rows, the silhouette is computed on a
    random sample of 10,000 (see ``silhouette_rows``). Above 4,096 rows, the Cohesion Ratio is partly sampled (see
    ``cohesion_ratio_se``). All other metrics are exact at any n. At a million rows, ``ami`` takes longest: half a
    minute for 100 clusters, as in scikit-learn.

    Noise is treated as scikit-learn treats it: rows labeled -1, as HDBSCAN labels them, are one more cluster for every
    metric, but they do not count in ``n_clusters`` and ``k_relative_error``, and ``n_noise`` is their number. So an
    algorithm gains nothing by leaving rows out. To score the clustered rows alone, pass only these.

    Parameters
    ----------
    X, labels
        As in :func:`cohesion_ratio`.
    truth : sequence or Dask array of n hashable values, optional
        The true class of each row. It adds the metrics that need the ground truth.
    random_state : int, RandomState, Generator or None, default=0
        The seed for sampling. None is a random seed.

    Returns
    -------
    dict
        ``n_samples``, ``n_clusters``, ``n_noise``, ``cohesion_ratio``, ``cohesion_ratio_se``, ``silhouette``,
        ``silhouette_rows``, ``davies_bouldin``, ``calinski_harabasz``, and with `truth` ``n_classes``,
        ``k_relative_error``, ``ari``, ``nmi``, ``homogeneity``, ``completeness``, ``fowlkes_mallows``, ``ami``. A
        metric that is not defined, such as the silhouette of one cluster, is NaN.

    See Also
    --------
    cohesion_ratio : The score that needs no ground truth.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> row = ts.evaluate(X, [0, 0, 1, 1], truth=["a", "a", "b", "b"])
    >>> row["ari"], row["ami"], round(row["silhouette"], 2)
    (1.0, 1.0, 0.93)
    >>> row = ts.evaluate(X, [0, 0, 1, -1], truth=["a", "a", "b", "b"])
    >>> row["n_clusters"], row["n_noise"], round(row["ami"], 2)
    (2, 1, 0.57)
    """
    X, codes, names = check_labeled(X, labels)
    noise = next((code for code, name in enumerate(names) if name in NOISE), None)
    n_noise = 0 if noise is None else int((codes == noise).sum())
    n_clusters = len(names) - (noise is not None)
    rng = make_generator(random_state)
    report = report_if_defined(X, codes, len(names), random_state=rng)
    row: dict[str, float] = {
        "n_samples": len(X),
        "n_clusters": n_clusters,
        "n_noise": n_noise,
        "cohesion_ratio": report.ratio if report else float("nan"),
        "cohesion_ratio_se": report.standard_error if report else float("nan"),
        **_silhouette(X, codes, rng),
        **_dispersion(X, codes, len(names)),
    }
    if truth is not None:
        true, classes = check_labels(truth, X)
        row |= {"n_classes": len(classes), "k_relative_error": abs(n_clusters - len(classes)) / len(classes)}
        table = contingency(true, len(classes), codes, len(names))
        row |= agreements(table) | {"ami": adjusted_information(table)}
    return row


def _silhouette(X: Rows, codes: Rows, rng: Generator) -> dict[str, float]:
    rows = np.arange(len(X))
    if len(X) > MAX_SILHOUETTE_ROWS:
        rows = np.sort(rng.choice(len(X), MAX_SILHOUETTE_ROWS, replace=False, shuffle=False))
    value = CountedRows(X, None, codes).call(_silhouette_of, rows)
    return {"silhouette": value, "silhouette_rows": len(rows)}


def _silhouette_of(units: F32, codes: Ints) -> float:
    from sklearn.metrics import silhouette_score  # late: the command line does without scikit-learn

    is_defined = 2 <= len(np.unique(codes)) < len(codes)
    return float(silhouette_score(units, codes)) if is_defined else float("nan")


def _dispersion(X: Rows, codes: Rows, k: int) -> dict[str, float]:
    """Return the Davies-Bouldin and the Calinski-Harabasz index, from two passes over the rows."""
    n = len(X)
    if not 2 <= k < n:
        return {"davies_bouldin": float("nan"), "calinski_harabasz": float("nan")}
    sums, sizes = sums_and_sizes(X, codes, k)
    centers = sums / sizes[:, None]

    def distances_to_own_center(rows: F32, scale: F32, code: Ints) -> tuple[Array, float]:
        squares = np.square(rows * scale[:, None] - centers[code]).sum(axis=1)
        return np.bincount(code, np.sqrt(squares), k), float(squares.sum())

    distances, within = fold_rows(distances_to_own_center, X, codes)
    between = float((sizes * np.square(centers - sizes @ centers / n).sum(axis=1)).sum())
    spread = distances / sizes
    return {
        "davies_bouldin": 0.0 if np.allclose(spread, 0) else float(_worst_overlaps(centers, spread).mean()),
        "calinski_harabasz": between * (n - k) / (within * (k - 1)) if within > 0 else 1.0,
    }


def _worst_overlaps(centers: Array, spread: Array) -> Array:
    """Return for each cluster the highest ratio of two spreads to the distance of their centers, without equal ones."""
    k, squares = len(centers), np.square(centers).sum(axis=1)
    worst, step = np.zeros(k), max(1, OVERLAP_CELLS // k)
    for start in range(0, k, step):
        block = slice(start, start + step)
        gaps = squares[block, None] + squares - 2 * (centers[block] @ centers.T)
        # Rounding would make equal centers differ, so small distances are computed again.
        near, other = np.nonzero(gaps < NEAR_CENTERS)
        gaps[near, other] = np.square(centers[block][near] - centers[other]).sum(axis=1)
        gaps[gaps == 0] = np.inf
        worst[block] = ((spread[block, None] + spread) / np.sqrt(gaps)).max(axis=1)
    return worst


def silhouettes(X: Array, codes: Ints, spans: Ints, cuts: Sequence[Sequence[int]]) -> list[float]:
    """Return the mean silhouette of a sample for each cut; NaN if it is not defined.

    A cut is a list of nodes, and `spans` has the first code of each node, and one past its last. Rows with the code -1
    do not count. Distances between unit vectors are Euclidean, as in :func:`evaluate`.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) > SILHOUETTE_SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SILHOUETTE_SAMPLE, replace=False))
    units = take_units(X, rows)
    squares = 2 - 2 * (units @ units.T)
    np.fill_diagonal(squares, 0)
    members = (codes[rows] >= spans[:, :1]) & (codes[rows] < spans[:, 1:])
    sizes = members.sum(axis=1)
    distances = members.astype(np.float32) @ np.sqrt(np.maximum(squares, 0))
    # The mean distances of each row to the other rows of its node, and to the rows of other nodes.
    inside = distances / np.maximum(sizes - 1, 1)[:, None]
    outside = np.where(members, np.inf, distances / np.maximum(sizes, 1)[:, None])

    def mean(cut: Sequence[int]) -> float:
        nodes = np.array([node for node in cut if sizes[node]])
        if not 2 <= len(nodes) < len(rows):
            return float("nan")
        node_of = nodes[members[nodes].argmax(axis=0)]
        within, nearest = inside[node_of, np.arange(len(rows))], outside[nodes].min(axis=0)
        score = (nearest - within) / np.maximum(np.maximum(within, nearest), np.finfo(np.float32).tiny)
        return float(np.where(sizes[node_of] > 1, score, 0).mean())

    return [mean(cut) for cut in cuts]


def silhouette(X: Array, labels: Ints) -> float | None:
    """Return the mean silhouette of one clustering, as :func:`silhouettes` does; None if it is not defined."""
    clusters = np.arange(labels.max() + 1)
    (value,) = silhouettes(X, labels, clusters[:, None] + [0, 1], [clusters.tolist()])
    return None if np.isnan(value) else value
