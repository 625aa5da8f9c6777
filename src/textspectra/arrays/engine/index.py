"""Find the j-th row of all rows that count, or of a cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class CountIndex:
    """Rows that occur several times: row i has ``counts[i]`` positions (one if None) under the only key, 0.

    `totals` has the number of positions of each key.

    Examples
    --------
    >>> import numpy as np
    >>> CountIndex(3, np.array([2, 0, 1])).find(0, np.array([0, 1, 2]))
    array([0, 0, 2])
    """

    def __init__(self, n_rows: int, counts: NDArray[np.intp] | None) -> None:
        self._last = None if counts is None else np.cumsum(counts)
        self.totals = np.array([n_rows if self._last is None else self._last[-1] if n_rows else 0], np.intp)

    def find(self, key: int | NDArray[np.intp], positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the row at each position; `key` is one key for all positions, or one per position."""
        return positions if self._last is None else np.searchsorted(self._last, positions, side="right")


ALL_ROWS = -1
"""The key of a MemberIndex for the rows of all clusters."""


class MemberIndex:
    """The rows of each cluster in order; the key is the cluster's code, from 0 to `n_codes` - 1, or ALL_ROWS.

    Examples
    --------
    >>> import numpy as np
    >>> MemberIndex(4, np.array([1, 0, 1, 1]), 2).find(1, np.array([0, 2]))
    array([0, 3])
    """

    def __init__(self, n_rows: int, codes: NDArray[np.intp], n_codes: int) -> None:
        sizes = np.bincount(codes, minlength=n_codes)
        self.totals = np.append(sizes, n_rows)
        self._order = np.append(np.argsort(codes, kind="stable"), np.arange(n_rows))
        self._starts = np.append(np.cumsum(sizes) - sizes, n_rows)

    def find(self, key: int | NDArray[np.intp], positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the row at each position of a cluster; `key` is as in :class:`CountIndex`."""
        rows: NDArray[np.intp] = self._order[self._starts[key] + positions]
        return rows


Index = CountIndex | MemberIndex
