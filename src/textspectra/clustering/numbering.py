"""Cluster numbers: the largest cluster is 0, and a cluster that stays the same keeps its number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.engine import Folded, fold_blocks, keep, map_rows

NO_ROW = np.iinfo(np.intp).max
"""Stands for the first row of a cluster that has no rows."""


def label_sizes(labels: Any, n_labels: int) -> NDArray[np.float64]:
    """Return how many rows have each label."""
    counted = fold_blocks(lambda first_row, part: Folded((np.bincount(part, minlength=n_labels),)), labels)
    return np.asarray(counted.statistics[0], np.float64)


def largest_first(labels: Any, mass: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """Renumber clusters from the heaviest to the lightest; ties are in the order of their first rows.

    Return the new labels, and the old number of each new cluster. Clusters without rows are left out.

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


def same_clusters(old_labels: NDArray[np.intp], new_labels: NDArray[np.intp]) -> dict[int, int]:
    """Find the clusters that have exactly the same rows in two clusterings: the old number of each, by its new number.

    A label of -1 means that a row has no cluster.

    Examples
    --------
    >>> import numpy as np
    >>> same_clusters(np.array([0, 0, 1, 2, -1]), np.array([1, 1, 0, 0, -1]))
    {1: 0}
    """
    n_new = int(new_labels.max(initial=-1)) + 2
    pairs = np.unique((old_labels.astype(np.int64) + 1) * n_new + new_labels + 1)
    old, new = np.divmod(pairs, n_new)
    # A cluster is the same if its rows go to one cluster only, and that one gets no other rows.
    same = (np.bincount(old)[old] == 1) & (np.bincount(new)[new] == 1) & (old > 0) & (new > 0)
    return dict(zip((new[same] - 1).tolist(), (old[same] - 1).tolist(), strict=True))
