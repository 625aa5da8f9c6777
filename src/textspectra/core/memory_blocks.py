"""Blocks of rows of arrays in memory or in memory maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parallel import run_tasks, stream_tasks


class CountIndex:
    """Rows that occur several times: row i has ``counts[i]`` positions (one if None) under the only key, 0.

    `totals` has the number of positions of each key.
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
    """The rows of each cluster in order; the key is the cluster's code, from 0 to `n_codes` - 1, or ALL_ROWS."""

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


BLOCK_BYTES = 2**22
"""Size of a block of rows in float32: small enough for the cache of a core."""


class Folded(NamedTuple):
    """The result of a block: statistics to combine with those of other blocks, and one value per row or None."""

    statistics: Any
    per_row: Any = None


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield the slices of the blocks; they depend only on the shape."""
    step = max(1, BLOCK_BYTES // (4 * max(1, n_columns)))
    for start in range(0, max(n_rows, 1), step):
        yield slice(start, min(start + step, n_rows))


def fold_blocks(
    function: Callable[..., Folded],
    arrays: Sequence[NDArray[Any] | None],
    *,
    combine: Callable[[Any, Any], Any],
    n_jobs: int | None = None,
    first_row: int = 0,
) -> Folded:
    """Call ``function(first_row, *parts)`` for each block, combine the statistics, and join the values per row."""
    columns = int(np.prod(arrays[0].shape[1:], dtype=int)) if arrays[0] is not None else 1
    blocks = list(row_blocks(n_rows(arrays), columns))

    def on_block(block: slice) -> Folded:
        return function(first_row + block.start, *(None if array is None else array[block] for array in arrays))

    # For a single block, a pool of threads would cost more than it saves.
    results = stream_tasks(on_block, ((block,) for block in blocks), n_jobs=1 if len(blocks) == 1 else n_jobs)
    per_row: list[Any] = []

    def statistics() -> Iterator[Any]:
        for result in results:
            per_row.append(result.per_row)
            yield result.statistics

    total = reduce(combine, statistics())
    return Folded(total, None if per_row[0] is None else np.concatenate(per_row))


def map_rows(
    function: Callable[..., Any], arrays: Sequence[Any], *, n_jobs: int | None = None, first_row: int = 0
) -> NDArray[Any]:
    """Return ``function(first_row, *parts)`` of all blocks, joined: one entry per row."""

    def on_block(*block: Any) -> Folded:
        return Folded((), function(*block))

    mapped: NDArray[Any] = fold_blocks(
        on_block, arrays, combine=lambda one, other: (), n_jobs=n_jobs, first_row=first_row
    ).per_row
    return mapped


def n_rows(arrays: Sequence[Any]) -> int:
    """Return the length that aligned arrays share; some of them may be None."""
    return next(len(array) for array in arrays if array is not None)


class Draws:
    """Draw rows by their positions in an index, and call functions on them."""

    def __init__(self, arrays: Sequence[NDArray[Any] | None], index: Callable[..., Index], by: Any) -> None:
        self._arrays = arrays
        self._index = index(n_rows(arrays), by)
        self.totals = self._index.totals

    def take(self, key: int, positions: NDArray[np.intp]) -> list[Any]:
        """Return the numbers of the rows, and the rows of each array."""
        rows = self._index.find(key, positions)
        return [rows, *(None if array is None else array[rows] for array in self._arrays)]

    def map(
        self, function: Callable[..., Any], requests: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(rows, *parts, *rest)`` for each request ``(key, positions, *rest)``, results in order."""

        def drawn() -> Iterator[tuple[Any, ...]]:
            for key, positions, *rest in requests:
                yield *self.take(key, positions), *rest

        return run_tasks(function, drawn(), n_jobs=n_jobs)

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(*task)`` for each task, results in order."""
        return run_tasks(function, tasks, n_jobs=n_jobs)
