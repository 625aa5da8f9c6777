"""Fold, map and draw rows of Dask arrays; each chunk is read inside the task that uses it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_any
from contextlib import suppress
from functools import partial, reduce
from typing import TYPE_CHECKING
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import cull
from threadpoolctl import threadpool_limits

from ..errors import ExternalError
from .rows import Arguments, Array, CountIndex, Folded, Ints, MemberIndex, PerRow, Rows, fold_blocks, map_rows

if TYPE_CHECKING:
    from dask.typing import Key
    from distributed import Client
    from distributed import Future as DaskFuture


_Progress = Callable[[int, int], None]

PATIENCE = 30.0  # a run is given up after this many seconds without a worker
POLL = 0.5  # seconds between two checks of the workers during a run
TASKS_PER_THREAD = 8  # a task reads several small chunks, but each thread gets at least this many tasks per pass
GROUP_BYTES = 2**26  # maximum size of the chunks that one task reads
SPLIT_EVERY = 8  # statistics combined at a time: a tree, so that no worker holds the statistics of all chunks
DRAWN_BYTES = 2**27  # maximum size of the rows that are picked together: a worker may have to hold all of them
SHARE_BYTES = 2**24  # maximum size of a share: rows that one task joins for several requests


def active_client() -> Client | None:
    """Return the distributed client that Dask would use now, or None if it would work in this process."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    scheduler = dask.config.get("scheduler", None)
    if isinstance(scheduler, Client):
        return scheduler
    if scheduler not in (None, "dask.distributed", "distributed"):
        return None
    try:
        return Client.current()
    except ValueError:  # no client is open
        return None


def compute(
    tasks: Sequence[Delayed], kept: Sequence[Delayed] = (), *, progress: _Progress | None = None
) -> tuple[list[PerRow], list[Delayed]]:
    """Return the results of `tasks`, and `kept` as delayed values whose results stay on the workers.

    The work is done by whatever scheduler Dask is set to. On a cluster, `progress` is called with the number of
    finished tasks and of all tasks.
    """
    client = active_client()
    if client is None:
        with threadpool_limits(1, user_api="blas"):
            started = dask.persist(*tasks, *kept)
            return list(dask.compute(*started[: len(tasks)])), list(started[len(tasks) :])
    from distributed import futures_of

    # Centers of some megabytes in a graph are sent once, and survive the loss of a worker: no reason to warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        started = client.persist([*tasks, *kept])
    futures = futures_of(started)
    with ThreadPoolExecutor(1) as waiter:
        try:
            outcome = waiter.submit(_finished, client, futures[: len(tasks)], futures[len(tasks) :])
            _watch(client, outcome, futures, progress)
            return outcome.result(), list(started[len(tasks) :])
        except BaseException as error:
            with suppress(Exception):  # a lost scheduler has nothing to cancel
                client.cancel(futures)
            if message := _cluster_fault(error):
                raise ExternalError(message) from error
            raise


def _finished(client: Client, wanted: list[DaskFuture], kept: list[DaskFuture]) -> list[object]:
    """Wait until all tasks are finished, and return the results that are needed here."""
    from distributed import wait

    results = list(client.gather(wanted))
    if kept:
        wait(kept)
    for future in kept:
        if future.status == "error":
            future.result()
    return results


def _watch(
    client: Client, outcome: Future[list[object]], futures: Sequence[DaskFuture], progress: _Progress | None
) -> None:
    """Return once there is an outcome; give up after PATIENCE seconds without a worker: Dask waits forever."""
    last_seen = time.monotonic()
    while not wait_for_any([outcome], timeout=POLL).done:
        if progress is not None:
            progress(sum(future.status == "finished" for future in futures), len(futures))
        now = time.monotonic()
        if client.scheduler_info()["workers"]:
            last_seen = now
        elif now - last_seen > PATIENCE:
            raise ExternalError(
                f"The Dask cluster at {client.scheduler.address} has had no worker for {PATIENCE:.0f} seconds, so the "
                "run was given up. Start workers and run it again."
            )


def n_threads() -> int:
    """Return how many tasks can run at a time; a large number if no worker has arrived yet."""
    client = active_client()
    return os.cpu_count() or 1 if client is None else sum(client.nthreads().values()) or 2**20


def _cluster_fault(error: BaseException) -> str:
    """Return the message for an error of the cluster itself, or an empty one for any other error."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    if isinstance(error, KilledWorker):
        return (
            f"Several workers of the Dask cluster died at the same task, the last one at {error.last_worker.address}. "
            "They probably ran out of memory: use smaller chunks, or workers with more memory."
        )
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "textspectra":
        return "A worker of the Dask cluster cannot import textspectra; install the same version of it on every worker."
    if isinstance(error, CommClosedError | CancelledError):
        return "The Dask scheduler was lost, or it has cancelled the work. Run it again once the scheduler is back."
    return ""


def check_workers() -> None:
    """Raise an error if a worker of the active cluster does not have this version of textspectra."""
    client = active_client()
    if client is None:
        return
    from .. import __version__ as ours

    def version() -> str:
        # Sent by value: a worker without the package can still run it.
        import importlib

        try:
            return str(importlib.import_module("textspectra").__version__)
        except ModuleNotFoundError:
            return ""

    for worker, theirs in sorted(client.run(version, on_error="return").items()):
        if isinstance(theirs, OSError):
            continue  # it has just died; Dask gives its work to others
        if isinstance(theirs, Exception):
            raise ExternalError(f"The Dask worker {worker} cannot import textspectra ({theirs}); fix its installation.")
        if theirs != ours:
            problem = f"has textspectra {theirs}, but {ours} is running here" if theirs else "does not have textspectra"
            cure = "the same version" if theirs else f"version {ours}"
            raise ExternalError(f"The Dask worker {worker} {problem}; install {cure} on every worker.")


class ChunkReader:
    """One or more adjacent chunks, read when rows of them are needed: an argument of a task that needs no other task.

    It holds the Dask graph and the key of each chunk, its number of rows, and an array like them without rows.
    """

    def __init__(
        self, graphs: Sequence[tuple[Mapping[Key, object], Key]], sizes: tuple[int, ...], sample: Array
    ) -> None:
        self._graphs = graphs
        self.sizes = sizes
        self._ends = np.cumsum(sizes)
        self._sample = sample
        self._last: tuple[int, Array] = -1, sample

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all chunks together."""
        return len(self), *self._sample.shape[1:]

    def __len__(self) -> int:
        return int(self._ends[-1])

    def open(self) -> Array | ChunkReader:
        """Return an array with the rows: the only chunk, or a copy of the reader."""
        # The chunk that a copy holds is released together with it, at the end of the task.
        return self._read(0) if len(self.sizes) == 1 else ChunkReader(self._graphs, self.sizes, self._sample)

    def __getitem__(self, rows: slice | Ints) -> Array:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            parts = [
                self._chunk(number)[max(0, start - first) : stop - first]
                for number, first, end in self._bounds()
                if first < stop and start < end
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([self._sample, *parts])
        picked = np.empty((len(rows), *self.shape[1:]), self._sample.dtype)
        for number, first, end in self._bounds():
            here = np.flatnonzero((rows >= first) & (rows < end))
            if len(here):
                picked[here] = self._chunk(number)[rows[here] - first]
        return picked

    def _bounds(self) -> Iterator[tuple[int, int, int]]:
        for number, (size, end) in enumerate(zip(self.sizes, self._ends.tolist(), strict=True)):
            yield number, end - size, end

    def _chunk(self, number: int) -> Array:
        # Only the last chunk is kept: rows are mostly read in order, and chunks may be large.
        if self._last[0] != number:
            self._last = number, self._read(number)
        return self._last[1]

    def _read(self, number: int) -> Array:
        graph, key = self._graphs[number]
        chunk: Array = dask.get(graph, key)
        return chunk


_Part = ChunkReader | Rows | None  # the chunk of an array, as a task gets it


def _opened(parts: Sequence[_Part]) -> list[PerRow]:
    """Return the arrays of the parts that a task was given."""
    return [part.open() if isinstance(part, ChunkReader) else part for part in parts]


def chunks_of(arrays: Sequence[da.Array], like: da.Array) -> list[tuple[int, list[ChunkReader | Delayed | None]]]:
    """Return the first row of each chunk of `like`, and the chunk of each array: a reader, a delayed array or None."""
    sizes = like.chunks[0]
    columns = [[None] * len(sizes) if array is None else _parts(in_chunks(array, sizes)) for array in arrays]
    first_rows = np.cumsum((0, *sizes[:-1])).tolist()
    return [(first_row, parts) for first_row, *parts in zip(first_rows, *columns, strict=True)]


def _parts(array: da.Array) -> list[ChunkReader | Delayed]:
    return _kept_parts(array) or list(array.to_delayed(optimize_graph=False).ravel())


def _kept_parts(array: da.Array) -> list[ChunkReader | Delayed] | None:
    """Return the chunks from which an array was made here, or None for any other array."""
    # An assignment such as array[3] = 0 changes a Dask array in place and gives it another name.
    name, parts = getattr(array, "textspectra_parts", (None, None))
    return parts if name == array.name else None


def in_chunks(array: Array | da.Array, sizes: tuple[int, ...]) -> da.Array:
    """Return an array in memory or a Dask array as a Dask array with chunks of these sizes."""
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return array if array.chunks[0] == sizes else array.rechunk({0: sizes})


def array_of(parts: Sequence[ChunkReader | Delayed], sizes: tuple[int, ...], sample: Array) -> da.Array:
    """Return the Dask array with these chunks, whose rows have the shape and type of `sample`."""
    name = f"rows-{uuid4().hex}"
    read = delayed(_read_all, pure=False)
    chunks = [read(part) if isinstance(part, ChunkReader) else part for part in parts]
    layer = {(name, number, *(0,) * (sample.ndim - 1)): chunk.key for number, chunk in enumerate(chunks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=chunks)
    array = da.Array(graph, name, (sizes, *((size,) for size in sample.shape[1:])), dtype=sample.dtype)
    array.textspectra_parts = name, list(parts)  # so that tasks made here depend on the parts directly
    return array


def _read_all(reader: ChunkReader) -> Array:
    return reader.open()[: len(reader)]


def no_rows_of(array: da.Array) -> Array:
    """Return an array in memory like a Dask array, but without rows."""
    return np.empty((0, *array.shape[1:]), array.dtype)


def with_known_chunks(array: da.Array) -> da.Array:
    """Return an array whose chunk sizes are known and whose chunks have all columns; small chunks are read together."""
    if np.isnan(array.shape[0]):
        first_column = array.to_delayed().reshape(array.numblocks[0], -1)[:, 0]
        sizes = tuple(compute([delayed(len, pure=False)(chunk) for chunk in first_column])[0])
        array = da.Array(array.dask, array.name, (sizes, *array.chunks[1:]), dtype=array.dtype)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    if _kept_parts(array) is not None:
        return array
    if "distributed" in sys.modules:
        from distributed import futures_of

        if futures_of(array):  # the workers of a cluster keep its chunks
            return array
    sizes, sample = array.chunks[0], no_rows_of(array)
    chunks = list(array.to_delayed().ravel())
    graph = dict(chunks[0].dask)
    graphs = [(cull(graph, chunk.key)[0], chunk.key) for chunk in chunks]
    if len(set().union(*(tasks for tasks, _ in graphs))) < sum(len(tasks) for tasks, _ in graphs):
        return array_of(chunks, sizes, sample)  # chunks share a task, which should run only once
    readers = [
        ChunkReader([graphs[number] for number in batch], tuple(sizes[number] for number in batch), sample)
        for batch in _batches(sizes, sample, TASKS_PER_THREAD * n_threads())
    ]
    return array_of(readers, tuple(len(reader) for reader in readers), sample)


def in_given_chunks(array: da.Array, like: da.Array) -> da.Array:
    """Return an array with the chunk sizes that `like` had before it was prepared."""
    sizes: list[int] = []
    for part, size in zip(_parts(like), like.chunks[0], strict=True):
        sizes += part.sizes if isinstance(part, ChunkReader) else [size]
    return in_chunks(array, tuple(sizes))


def _batches(sizes: Sequence[int], sample: Array, n_batches: int) -> list[list[int]]:
    """Batch adjacent chunks up to GROUP_BYTES, in at least `n_batches` batches if there are enough chunks."""
    row_bytes = sample.dtype.itemsize * int(np.prod(sample.shape[1:], dtype=int))
    most = max(1, len(sizes) // max(1, n_batches))
    batches: list[list[int]] = []
    n_bytes = 0
    for number, size in enumerate(sizes):
        if not batches or len(batches[-1]) == most or n_bytes + size * row_bytes > GROUP_BYTES:
            batches.append([])
            n_bytes = 0
        batches[-1].append(number)
        n_bytes += size * row_bytes
    return batches


def shared(value: object) -> Delayed:
    """Return a value that many tasks use and that is sent to each worker once."""
    return delayed(value, pure=False, traverse=False)


def fold_chunks(
    function: Callable[..., Folded], arrays: Sequence[da.Array], *, combine: Callable[..., object]
) -> Folded:
    """Fold each chunk on a worker and combine the statistics in a tree; the values per row stay on the workers."""
    sample = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).per_row
    fold = delayed(_fold_chunk if sample is not None else _chunk_statistics, pure=False)
    work, join = shared(function), shared(combine)
    folded = [fold(work, join, first_row, *parts) for first_row, parts in chunks_of(arrays, arrays[0])]
    statistics = folded if sample is None else [result[0] for result in folded]
    together = delayed(reduce, pure=False)
    while len(statistics) > 1:
        starts = range(0, len(statistics), SPLIT_EVERY)
        statistics = [together(join, statistics[start : start + SPLIT_EVERY]) for start in starts]
    if sample is None:
        return Folded(compute(statistics)[0][0])
    results, kept = compute(statistics, [result[1] for result in folded])
    return Folded(results[0], array_of(kept, arrays[0].chunks[0], sample))


def _fold_chunk(
    function: Callable[..., Folded], combine: Callable[..., object], first_row: int, *parts: _Part
) -> Folded:
    return fold_blocks(function, *_opened(parts), combine=combine, n_jobs=1, first_row=first_row)


def _chunk_statistics(
    function: Callable[..., Folded], combine: Callable[..., object], first_row: int, *parts: _Part
) -> object:
    return _fold_chunk(function, combine, first_row, *parts).statistics


def map_chunks(function: Callable[..., Array], arrays: Sequence[da.Array], *, dtype: type) -> da.Array:
    """Return a Dask array whose chunks are computed from the chunks of `arrays` when they are needed."""
    sample: Array = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).astype(dtype)
    work, on_chunk = shared(function), delayed(_map_chunk, pure=False)
    chunks = [on_chunk(work, first_row, *parts) for first_row, parts in chunks_of(arrays, arrays[0])]
    return array_of(chunks, arrays[0].chunks[0], sample)


def _map_chunk(function: Callable[..., Array], first_row: int, *parts: _Part) -> PerRow:
    return map_rows(function, *_opened(parts), n_jobs=1, first_row=first_row)


def keep_chunks(array: da.Array) -> da.Array:
    """Compute an array once and keep it where it was computed."""
    _, kept = compute([], list(array.to_delayed().ravel()))
    return array_of(kept, array.chunks[0], no_rows_of(array))


def call_each(
    function: Callable[..., object], tasks: Iterable[Arguments], progress: _Progress | None = None
) -> list[PerRow]:
    """Call ``function(*task)`` on a worker for each task, results in order."""
    work = shared(function)
    return compute([delayed(partial(_call, task), pure=False)(work) for task in tasks], progress=progress)[0]


def call_on_chunks(function: Callable[..., object], array: da.Array, arguments: Sequence[Arguments]) -> list[PerRow]:
    """Call ``function(*arguments, chunk)`` where each chunk is, results in order."""
    work, chunks = shared(function), chunks_of([array], array)
    calls = [
        delayed(partial(_call, before), pure=False)(work, *parts)
        for before, (_, parts) in zip(arguments, chunks, strict=True)
    ]
    return compute(calls)[0]


def _call(arguments: Arguments, function: Callable[..., object], *parts: _Part) -> object:
    return function(*arguments, *_opened(parts))


class DaskDraws:
    """The counterpart of :class:`~textspectra.core.rows.Draws` for Dask arrays."""

    def __init__(
        self, arrays: Sequence[da.Array], index: Callable[..., CountIndex | MemberIndex], by: da.Array | None
    ) -> None:
        self._index = shared(index)
        self._row_bytes = sum(
            array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays if array is not None
        )
        self._chunks = chunks_of([*arrays, by], arrays[0])
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            totals = delayed(_totals, pure=False)
            tasks = [totals(self._index, parts[-1]) for _, parts in self._chunks]
            self._in_chunk = np.array(compute(tasks)[0], np.intp)
        self._ends = self._in_chunk.cumsum(axis=0)
        self.totals = self._ends[-1]

    def take(self, key: int, positions: Ints) -> list[PerRow]:
        """Bring rows into this process: their numbers, and the rows of each array."""
        picks, ((places,),) = self._picks([[(key, positions)]])
        return _rows_at(places, _gather(0, compute(picks)[0]))

    def map(
        self, function: Callable[..., object], requests: Iterable[Arguments], *, n_jobs: int | None = None
    ) -> list[PerRow]:
        """Call ``function(rows, *parts, *rest)`` on a worker for each request ``(key, positions, *rest)``."""
        work = shared(function)
        results: list[Delayed] = []
        for batch in self._up_to(DRAWN_BYTES, requests):
            shares = list(self._up_to(SHARE_BYTES, batch))
            picks, places = self._picks(shares)
            for number, (share, places_of_share) in enumerate(zip(shares, places, strict=True)):
                rows = delayed(partial(_gather, number), pure=False)(picks)
                results += [
                    delayed(partial(_apply, at, rest), pure=False)(work, rows)
                    for (_, _, *rest), at in zip(share, places_of_share, strict=True)
                ]
        return compute(results)[0]

    def _up_to(self, n_bytes: int, requests: Iterable[Arguments]) -> Iterator[list[Arguments]]:
        """Batch adjacent requests up to this size; a larger request is alone."""
        together: list[Arguments] = []
        size = 0
        for request in requests:
            size += self._row_bytes * len(request[1])
            if together and size > n_bytes:
                yield together
                together, size = [], self._row_bytes * len(request[1])
            together.append(request)
        if together:
            yield together

    def _picks(self, shares: Sequence[Sequence[Arguments]]) -> tuple[list[Delayed], list[list[Ints]]]:
        """Return a task per chunk that picks its rows for all shares, and where in a share each request's rows are.

        If every request depended on every chunk, the graph would take longer to build than to compute.
        """
        wanted: dict[int, list[tuple[int, Ints, Ints]]] = {}
        places = []
        for share_number, share in enumerate(shares):
            sizes = [len(positions) for _, positions, *_ in share]
            keys = np.repeat([key for key, *_ in share], sizes)
            positions = np.concatenate([positions for _, positions, *_ in share])
            chunk = np.concatenate([np.searchsorted(self._ends[:, key], at, side="right") for key, at, *_ in share])
            inside = positions - (self._ends - self._in_chunk)[chunk, keys]
            order = np.argsort(chunk, kind="stable")
            distinct, starts = np.unique(chunk[order], return_index=True)
            for number, rows in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True):
                wanted.setdefault(number, []).append((share_number, keys[rows], inside[rows]))
            places.append(np.split(np.argsort(order), np.cumsum(sizes)[:-1]))
        picks = []
        for number in sorted(wanted):
            first_row, parts = self._chunks[number]
            picks.append(delayed(partial(_pick, wanted[number]), pure=False)(self._index, first_row, *parts))
        return picks, places


def _totals(index: Callable[..., CountIndex | MemberIndex], part: _Part) -> Ints:
    (by,) = _opened([part])
    return index(len(by), by[:]).totals


def _pick(
    wanted: list[tuple[int, Ints, Ints]], index: Callable[..., CountIndex | MemberIndex], first_row: int, *parts: _Part
) -> dict[int, list[PerRow]]:
    """Return the rows of a chunk that each share needs: their numbers, and the rows of each array."""
    *arrays, by = _opened(parts)
    of_chunk = index(len(arrays[0]), None if by is None else by[:])
    shares, keys, positions = zip(*wanted, strict=True)
    rows = of_chunk.find(np.concatenate(keys), np.concatenate(positions))
    ends = np.cumsum([len(part) for part in keys])[:-1]
    # In ascending order, so that each page of a memory map is read once.
    order = np.argsort(rows)
    back = np.argsort(order)
    picked = (None if array is None else np.asarray(array[rows[order]])[back] for array in arrays)
    columns = [first_row + rows, *picked]
    split = [[None] * len(shares) if column is None else np.split(column, ends) for column in columns]
    return dict(zip(shares, map(list, zip(*split, strict=True)), strict=True))


def _gather(share: int, picks: list[dict[int, list[PerRow]]]) -> list[PerRow]:
    """Join the rows of a share from all chunks."""
    columns = zip(*(pick[share] for pick in picks if share in pick), strict=True)
    return [None if column[0] is None else np.concatenate(column) for column in columns]


def _rows_at(places: Ints, share: list[PerRow]) -> list[PerRow]:
    return [None if column is None else column[places] for column in share]


def _apply(places: Ints, rest: list[object], function: Callable[..., object], share: list[PerRow]) -> object:
    return function(*_rows_at(places, share), *rest)
