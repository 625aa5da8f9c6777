"""All metrics of one clustering, as one row of a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics

from ..arrays.engine import Folded, count_draws
from ..arrays.rows import fold_rows, sums_and_sizes, unit_rows
from ..validation import RandomState, check_embeddings, check_labels, make_generator
from .cohesion import report_if_defined
from .contingency import agreements, contingency

SILHOUETTE_ROWS = 10_000
"""Above this many rows, the silhouette is computed on a random sample of this size."""


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
    ``cohesion_ratio_se``). All other metrics are exact at any n.

    Parameters
    ----------
    X, labels
        As in :func:`cohesion_ratio`.
    truth : sequence or Dask array of n hashable values, optional
        The true class of each row. It adds the metrics that need the ground truth.
    random_state : int, RandomState, Generator or None, default=0
        The seed for what is sampled. None is a random seed.

    Returns
    -------
    dict
        ``n_samples``, ``n_clusters``, ``cohesion_ratio``, ``cohesion_ratio_se``, ``silhouette``,
        ``silhouette_rows``, ``davies_bouldin``, ``calinski_harabasz``, and with `truth` ``n_classes``,
        ``k_relative_error``, ``ari``, ``nmi``, ``homogeneity``, ``completeness``,
        ``fowlkes_mallows``. A metric that is not defined, such as the silhouette of one cluster, is NaN.

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
        true, classes = check_labels(truth, X)
        row |= {"n_classes": len(classes), "k_relative_error": abs(len(names) - len(classes)) / len(classes)}
        row |= agreements(contingency(true, len(classes), codes, len(names)))._asdict()
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
    """Return the Davies-Bouldin and the Calinski-Harabasz index, from two passes over the rows."""
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
