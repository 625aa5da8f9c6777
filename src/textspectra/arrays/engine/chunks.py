"""Chunks of Dask arrays: how they are read inside the task that uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import cull
from numpy.typing import NDArray

from .supervision import compute, kept_by_workers, n_threads

TASKS_PER_THREAD = 8
"""One task reads several small chunks, but each thread still gets at least this many tasks per pass."""

GROUP_BYTES = 2**26
"""Maximal size of the chunks that one task reads."""


class ChunkReader:
    """One or more adjacent chunks, read when rows of them are needed.

    A reader is an argument of a task and holds the Dask graph and the key of each chunk, so reading needs no task of
    its own. `sizes` has the number of rows of each chunk, and `sample` is an array like the chunks, but without rows.

    Examples
    --------
    >>> graphs = [({"chunk": (np.arange, 3)}, "chunk"), ({"chunk": (np.arange, 2)}, "chunk")]
    >>> reader = ChunkReader(graphs, (3, 2), np.empty(0, int))
    >>> reader[1:4], reader[np.array([4, 0])]
    (array([1, 2, 0]), array([1, 0]))
    """

    def __init__(self, graphs: Sequence[tuple[Mapping[Any, Any], Any]], sizes: tuple[int, ...], sample: Any) -> None:
        self._graphs = graphs
        self.sizes = sizes
        self._ends = np.cumsum(sizes)
        self._sample = sample
        self._last: tuple[int, Any] = -1, None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of all chunks together."""
        return len(self), *self._sample.shape[1:]

    def __len__(self) -> int:
        return int(self._ends[-1])

    def open(self) -> Any:
        """Return an array with the rows: the only chunk, or a copy of the reader.

        The chunk that a copy holds is released together with it, at the end of the task.
        """
        return self._read(0) if len(self.sizes) == 1 else ChunkReader(self._graphs, self.sizes, self._sample)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            parts = [
                self._chunk(number)[max(0, start - first) : stop - first]
                for number, first, end in self._bounds()
                if first < stop and start < end
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([self._sample, *parts])
        found = np.empty((len(rows), *self.shape[1:]), self._sample.dtype)
        for number, first, end in self._bounds():
            here = np.flatnonzero((rows >= first) & (rows < end))
            if len(here):
                found[here] = self._chunk(number)[rows[here] - first]
        return found

    def _bounds(self) -> Iterator[tuple[int, int, int]]:
        for number, (size, end) in enumerate(zip(self.sizes, self._ends.tolist(), strict=True)):
            yield number, end - size, end

    def _chunk(self, number: int) -> Any:
        # Only the last chunk is kept: rows are mostly read in order, and chunks may be large.
        if self._last[0] != number:
            self._last = number, self._read(number)
        return self._last[1]

    def _read(self, number: int) -> Any:
        graph, key = self._graphs[number]
        return dask.get(graph, key)


class Chunk(NamedTuple):
    """The number of the first row of a chunk, and the chunk of each array: a reader, a delayed array or None."""

    first_row: int
    parts: list[Any]


def opened(parts: Sequence[Any]) -> list[Any]:
    """Return the arrays of the parts that a task was given."""
    return [part.open() if isinstance(part, ChunkReader) else part for part in parts]


def chunks_of(arrays: Sequence[Any], like: da.Array) -> list[Chunk]:
    """Return the chunks of aligned arrays, with the chunk sizes of `like`."""
    sizes = like.chunks[0]
    columns = [[None] * len(sizes) if array is None else _parts(in_chunks(array, sizes)) for array in arrays]
    first_rows = np.cumsum((0, *sizes[:-1])).tolist()
    return [Chunk(first_row, parts) for first_row, *parts in zip(first_rows, *columns, strict=True)]


def _parts(array: da.Array) -> list[Any]:
    return _own_parts(array) or list(array.to_delayed(optimize_graph=False).ravel())


def _own_parts(array: da.Array) -> list[Any] | None:
    """Return the chunks from which an array was made here, or None for any other array."""
    # An assignment such as array[3] = 0 changes a Dask array in place and gives it another name.
    name, parts = getattr(array, "textspectra_parts", (None, None))
    return parts if name == array.name else None


def in_chunks(array: Any, sizes: tuple[int, ...]) -> da.Array:
    """Return an array in memory or a Dask array as a Dask array with chunks of these sizes."""
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return array if array.chunks[0] == sizes else array.rechunk({0: sizes})


def array_of(parts: Sequence[ChunkReader | Delayed], sizes: tuple[int, ...], sample: NDArray[Any]) -> da.Array:
    """Return the Dask array with these chunks, whose rows are like those of `sample`.

    It keeps the parts, so that tasks made here depend on them directly.
    """
    name = f"rows-{uuid4().hex}"
    read = dask.delayed(_read_all, pure=False)
    chunks = [read(part) if isinstance(part, ChunkReader) else part for part in parts]
    layer = {(name, number, *(0,) * (sample.ndim - 1)): chunk.key for number, chunk in enumerate(chunks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=chunks)
    array = da.Array(graph, name, (sizes, *((size,) for size in sample.shape[1:])), dtype=sample.dtype)
    array.textspectra_parts = name, list(parts)
    return array


def _read_all(reader: ChunkReader) -> Any:
    return reader.open()[: len(reader)]


def no_rows_of(array: Any) -> NDArray[Any]:
    """Return an array in memory like a Dask array, but without rows."""
    return np.empty((0, *array.shape[1:]), array.dtype)


def with_known_chunks(array: da.Array) -> da.Array:
    """Return an array whose chunk sizes are known and whose chunks have all columns; small chunks are read together."""
    if np.isnan(array.shape[0]):
        array = _with_known_sizes(array)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    if _own_parts(array) is not None or kept_by_workers(array):
        return array
    sizes, sample = array.chunks[0], no_rows_of(array)
    chunks = list(array.to_delayed().ravel())
    graphs = _separate_graphs(chunks)
    if graphs is None:
        return array_of(chunks, sizes, sample)
    readers = [
        ChunkReader([graphs[number] for number in group], tuple(sizes[number] for number in group), sample)
        for group in _groups(sizes, sample, TASKS_PER_THREAD * n_threads())
    ]
    return array_of(readers, tuple(len(reader) for reader in readers), sample)


def as_given(array: da.Array, like: da.Array) -> da.Array:
    """Return an array with the chunk sizes that `like` had before it was prepared.

    Examples
    --------
    >>> given = da.ones((6, 2), chunks=(1, 2))
    >>> as_given(da.zeros(6), with_known_chunks(given)).chunks
    ((1, 1, 1, 1, 1, 1),)
    """
    sizes: list[int] = []
    for part, size in zip(_parts(like), like.chunks[0], strict=True):
        sizes += part.sizes if isinstance(part, ChunkReader) else [size]
    return in_chunks(array, tuple(sizes))


def _with_known_sizes(array: da.Array) -> da.Array:
    first_column = array.to_delayed().reshape(array.numblocks[0], -1)[:, 0]
    sizes = tuple(compute([dask.delayed(len, pure=False)(chunk) for chunk in first_column]))
    return da.Array(array.dask, array.name, (sizes, *array.chunks[1:]), dtype=array.dtype)


def _separate_graphs(chunks: Sequence[Delayed]) -> list[tuple[Mapping[Any, Any], Any]] | None:
    """Return the graph and the key of each chunk; None if chunks share a task, which should run only once."""
    graph = dict(chunks[0].dask)
    graphs = [(cull(graph, chunk.key)[0], chunk.key) for chunk in chunks]
    n_tasks = len(set().union(*(tasks for tasks, _ in graphs)))
    return graphs if n_tasks == sum(len(tasks) for tasks, _ in graphs) else None


def _groups(sizes: Sequence[int], sample: NDArray[Any], n_groups: int) -> list[list[int]]:
    """Group adjacent chunks up to GROUP_BYTES, into at least `n_groups` groups if there are enough chunks.

    Examples
    --------
    >>> _groups([2] * 5, np.empty(0), 2)
    [[0, 1], [2, 3], [4]]
    """
    row_bytes = sample.dtype.itemsize * int(np.prod(sample.shape[1:], dtype=int))
    most = max(1, len(sizes) // max(1, n_groups))
    groups: list[list[int]] = []
    n_bytes = 0
    for number, size in enumerate(sizes):
        if not groups or len(groups[-1]) == most or n_bytes + size * row_bytes > GROUP_BYTES:
            groups.append([])
            n_bytes = 0
        groups[-1].append(number)
        n_bytes += size * row_bytes
    return groups
