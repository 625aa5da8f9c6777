"""Compare two labellings of the same rows by their table of counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..arrays.engine import Folded, fold_blocks


def contingency(one: Any, n_one: int, other: Any, n_other: int) -> sparse.csr_array:
    """Count how many rows have each pair of labels, in one pass over both labellings.

    Examples
    --------
    >>> import numpy as np
    >>> contingency(np.array([0, 0, 1]), 2, np.array([2, 2, 0]), 3).toarray()
    array([[0, 0, 2],
           [1, 0, 0]])
    """

    def count(first_row: int, left: NDArray[np.intp], right: NDArray[np.intp]) -> Folded:
        return Folded((sparse.csr_array((np.ones(len(left), np.int64), (left, right)), shape=(n_one, n_other)),))

    return fold_blocks(count, one, other).statistics[0]


class Agreements(NamedTuple):
    """How far clusters agree with classes, by the metrics of scikit-learn that have these names."""

    ari: float
    nmi: float
    homogeneity: float
    completeness: float
    fowlkes_mallows: float


def agreements(table: Any) -> Agreements:
    """Compare clusters with classes, from the counts of each class (row) and cluster (column)."""
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
    return Agreements(
        ari=(both - by_chance) / (most - by_chance) if most != by_chance else 1.0,
        nmi=2 * homogeneity * completeness / total if total > 0 else 0.0,
        homogeneity=homogeneity,
        completeness=completeness,
        fowlkes_mallows=float(np.sqrt(both / in_class) * np.sqrt(both / in_cluster)) if both else 0.0,
    )


def entropy(counts: NDArray[Any]) -> float:
    """Return the entropy of a labelling, in nats, from the size of each label."""
    share = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(share @ np.log(share))))
