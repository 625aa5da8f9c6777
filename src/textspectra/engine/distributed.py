"""Blocks of rows of Dask arrays: a chunk is folded where it is, by the code for arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from . import local
from .index import Index
from .local import Folded
from .supervision import compute, kept_by_workers, persist

OURS = "textspectra-"
"""How the names of arrays begin that were made or prepared here: nothing is left to do about their chunks and graph."""

SPLIT_EVERY = 8
"""Statistics that are combined at a time, so that they meet in a tree and no worker holds those of all chunks."""

GROUP_BYTES = 2**27
"""Rows drawn together are at most so large: a worker may have to hold them all."""


def fold_blocks(
    function: Callable[..., Folded], arrays: Sequence[Any], *, combine: Callable[[Any, Any], Any]
) -> Folded:
    """Fold each chunk on a worker, combine the statistics in a tree, and keep what each row got on the workers."""
    shared = _shared((function, combine))
    sample = function(0, *(None if array is None else _empty(array) for array in arrays)).per_row
    if sample is None:
        alone = [delayed(_statistics_of_chunk)(shared, start, *parts) for start, parts in _chunks(arrays)]
        return Folded(compute([_in_a_tree(shared, alone)])[0])
    folded = [delayed(_fold_chunk)(shared, start, *parts) for start, parts in _chunks(arrays)]
    statistics = _in_a_tree(shared, [chunk[0] for chunk in folded])
    per_row, statistics = persist(_joined([chunk[1] for chunk in folded], arrays[0], sample), statistics)
    return Folded(compute([statistics])[0], per_row)


def map_rows(function: Callable[..., Any], arrays: Sequence[Any], *, dtype: type) -> da.Array:
    """Return an array whose chunks are made from those of `arrays`, once they are asked for."""
    shared = _shared(function)
    made = [delayed(_map_chunk)(shared, start, *parts) for start, parts in _chunks(arrays)]
    return _joined(made, arrays[0], np.empty(0, dtype))


def with_known_chunks(array: da.Array) -> da.Array:
    """Return the array with the sizes of its chunks worked out, each row whole in one chunk, and its graph optimized.

    Examples
    --------
    >>> ones = da.ones((6, 2), chunks=(2, 1))
    >>> with_known_chunks(ones[ones.sum(axis=1) > 0]).chunks
    ((2, 2, 2), (2,))
    """
    if array.name.startswith(OURS):
        return array
    # Once, here: a graph that is optimized again has other tasks under the same keys. And not where workers
    # keep results: optimizing drops the references to them, and they would be forgotten.
    if not kept_by_workers(array):
        (array,) = dask.optimize(array)
    if np.isnan(array.shape[0]):
        first_column = array.to_delayed(optimize_graph=False).reshape(len(array.chunks[0]), -1)[:, 0]
        sizes = tuple(compute([delayed(len)(block) for block in first_column]))
        array = da.Array(array.dask, array.name, (sizes, *array.chunks[1:]), meta=array._meta)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    return _joined(list(array.to_delayed(optimize_graph=False).ravel()), array, _empty(array))


class DaskDraws:
    """The counterpart of :class:`textspectra.engine.local.Draws`; only rows that are drawn leave their chunk."""

    def __init__(self, arrays: Sequence[Any], index: Callable[..., Index], by: Any) -> None:
        self._arrays = [*arrays, by]
        self._index = index
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            tables = [delayed(_totals)(index, part) for _, (part,) in _chunks([by], like=arrays[0])]
            self._in_chunk = np.array(compute(tables), np.intp)
        self._ends = self._in_chunk.cumsum(axis=0)
        self.totals = self._ends[-1]

    def map(
        self, function: Callable[..., Any], requests: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(rows, *parts, *rest)`` on a worker for each request ``(key, positions, *rest)``."""
        shared = _shared(function)
        chunks = list(_chunks(self._arrays))
        tasks = [task for group in self._groups(requests) for task in self._tasks(shared, chunks, group)]
        return compute(tasks)

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(*task)`` on a worker for each task."""
        return compute([delayed(function, pure=False)(*task) for task in tasks])

    def _groups(self, requests: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
        row_bytes = sum(
            array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in self._arrays if array is not None
        )
        group: list[tuple[Any, ...]] = []
        size = 0
        for request in requests:
            size += row_bytes * len(request[1])
            if group and size > GROUP_BYTES:
                yield group
                group, size = [], row_bytes * len(request[1])
            group.append(request)
        if group:
            yield group

    def _tasks(
        self, shared: Delayed, chunks: list[tuple[int, list[Any]]], group: list[tuple[Any, ...]]
    ) -> Iterator[Delayed]:
        """Let each chunk pick its rows for all requests of a group, and each request take its share of them.

        All that was picked is one task in between: a graph in which every request knows every chunk takes longer to
        build than to work off.
        """
        sizes = [len(positions) for _, positions, *_ in group]
        keys = np.repeat([key for key, *_ in group], sizes)
        positions = np.concatenate([positions for _, positions, *_ in group])
        number = np.concatenate([np.searchsorted(self._ends[:, key], some, side="right") for key, some, *_ in group])
        inside = positions - (self._ends - self._in_chunk)[number, keys]
        order = np.argsort(number, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        distinct, starts = np.unique(number[order], return_index=True)
        picks = [
            delayed(_pick)(self._index, chunks[chunk][0], keys[rows], inside[rows], *chunks[chunk][1])
            for chunk, rows in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)
        ]
        picked = delayed(_gather)(picks)
        for (_, _, *rest), mine in zip(group, np.split(place, np.cumsum(sizes)[:-1]), strict=True):
            yield delayed(_apply)(shared, picked, mine, *rest)


def _chunks(arrays: Sequence[Any], *, like: da.Array | None = None) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of the first row of each chunk, and the chunk of each array, cut like the first one."""
    sizes = (arrays[0] if like is None else like).chunks[0]
    columns = [_blocks(array, sizes) for array in arrays]
    starts = np.cumsum((0, *sizes[:-1])).tolist()
    for start, *parts in zip(starts, *columns, strict=True):
        yield start, parts


def _blocks(array: Any, sizes: tuple[int, ...]) -> list[Any]:
    if array is None:
        return [None] * len(sizes)
    if not isinstance(array, da.Array):
        array = da.from_array(array, chunks=(sizes, *array.shape[1:]))
    if array.chunks[0] != sizes:
        array = array.rechunk({0: sizes})
    return list(array.to_delayed(optimize_graph=False).ravel())


def _shared(value: Any) -> Delayed:
    """Make one node of the graph of what every chunk needs, so that it is sent to a worker once."""
    return delayed(value, pure=False, traverse=False)


def _empty(array: Any) -> NDArray[Any]:
    return np.empty((0, *array.shape[1:]), array.dtype)


def _joined(blocks: list[Delayed], like: da.Array, sample: NDArray[Any]) -> da.Array:
    name = f"{OURS}{uuid4().hex}"
    further = (0,) * (sample.ndim - 1)
    layer = {(name, number, *further): block.key for number, block in enumerate(blocks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
    chunks = (like.chunks[0], *((size,) for size in sample.shape[1:]))
    return da.Array(graph, name, chunks, dtype=sample.dtype)


def _in_a_tree(shared: Delayed, statistics: list[Any]) -> Any:
    while len(statistics) > 1:
        statistics = [
            delayed(_combine)(shared, statistics[start : start + SPLIT_EVERY])
            for start in range(0, len(statistics), SPLIT_EVERY)
        ]
    return statistics[0]


def _fold_chunk(shared: tuple[Any, Any], start: int, *parts: Any) -> Folded:
    function, combine = shared
    return local.fold_blocks(function, parts, combine=combine, n_jobs=1, first_row=start)


def _statistics_of_chunk(shared: tuple[Any, Any], start: int, *parts: Any) -> Any:
    return _fold_chunk(shared, start, *parts).statistics


def _map_chunk(function: Callable[..., Any], start: int, *parts: Any) -> Any:
    fold = lambda *block: Folded((), function(*block))  # noqa: E731
    return local.fold_blocks(fold, parts, combine=lambda one, other: (), n_jobs=1, first_row=start).per_row


def _combine(shared: tuple[Any, Any], statistics: list[Any]) -> Any:
    return reduce(shared[1], statistics)


def _totals(index: Callable[..., Index], by: Any) -> NDArray[np.intp]:
    return index(len(by), by).totals


def _pick(
    index: Callable[..., Index], start: int, keys: NDArray[np.intp], positions: NDArray[np.intp], *parts: Any
) -> tuple[Any, ...]:
    *arrays, by = parts
    rows = index(local.n_rows(arrays), by).find(keys, positions)
    return start + rows, *(None if array is None else np.asarray(array[rows]) for array in arrays)


def _gather(picks: list[tuple[Any, ...]]) -> list[Any]:
    return [None if column[0] is None else np.concatenate(column) for column in zip(*picks, strict=True)]


def _apply(function: Callable[..., Any], picked: list[Any], mine: NDArray[np.intp], *rest: Any) -> Any:
    return function(*(None if column is None else column[mine] for column in picked), *rest)
