"""Cluster numbers: the largest cluster is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import Folded, fold_blocks, keep, map_rows

NO_ROW = np.iinfo(np.intp).max
"""Stands for the first row of a cluster that has no rows."""


def label_sizes(labels: Any, n_labels: int) -> NDArray[np.float64]:
    """Return how many rows have each label.

    Examples
    --------
    >>> import numpy as np
    >>> label_sizes(np.array([2, 0, 2]), 3)
    array([1., 0., 2.])
    """
    return np.asarray(
        fold_blocks(lambda first_row, part: Folded((np.bincount(part, minlength=n_labels),)), labels).statistics[0],
        np.float64,
    )


def largest_first(labels: Any, mass: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """Renumber clusters from the heaviest to the lightest; of equal ones, the one that appears first comes first.

    Parameters
    ----------
    labels : array of int
        From 0 to ``len(mass) - 1``.
    mass : ndarray of numbers
        The size or the weight of each cluster.

    Returns
    -------
    labels : array of int
        The new numbers.
    order : ndarray of int
        The old number of each new cluster. Clusters without rows are left out.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([4, 2, 2, 0, 2, 0])
    >>> largest_first(labels, label_sizes(labels, 5))
    (array([2, 0, 0, 1, 0, 1]), array([2, 0, 4]))
    """
    # Rounded, because sums of fractions depend on the blocks, and a tie must stay a tie for all of them.
    rank = -(mass / max(mass.max(), np.finfo(float).tiny)).round(9)
    ties_or_empty = len(np.unique(rank)) < len(rank) or not mass.all()
    first = _first_rows(labels, len(mass)) if ties_or_empty else np.zeros(len(mass), np.intp)
    order = np.lexsort((first, rank))
    order = order[first[order] < NO_ROW]
    new_number = np.empty(len(mass), np.intp)
    new_number[order] = np.arange(len(order))
    return keep(map_rows(lambda first_row, label: new_number[label], labels)), order


def _first_rows(labels: Any, n_labels: int) -> NDArray[np.intp]:
    """Return the first row of each label, or NO_ROW."""

    def on_block(first_row: int, label: NDArray[np.intp]) -> Folded:
        first = np.full(n_labels, NO_ROW)
        first[label[::-1]] = np.arange(first_row + len(label) - 1, first_row - 1, -1)
        return Folded(first)

    found: NDArray[np.intp] = fold_blocks(on_block, labels, combine=np.minimum).statistics
    return found
