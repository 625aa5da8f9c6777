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
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar
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
from ..parallel import use_jobs
from . import Arguments, Array, Ints, PerRow, Rows
from .rows import Index, fold_blocks, map_rows

if TYPE_CHECKING:
    from dask.typing import Key
    from distributed import Client
    from distributed import Future as DaskFuture

Item = TypeVar("Item")
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
    if scheduler in (None, "dask.distributed", "distributed"):
        with suppress(ValueError):  # no client is open
            return Client.current()
    return scheduler if isinstance(scheduler, Client) else None


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
    from distributed import futures_of, wait

    # Centers of some megabytes in a graph are sent once, and survive the loss of a worker: no reason to warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        started = client.persist([*tasks, *kept])
    futures = futures_of(started)

    def finished() -> list[PerRow]:
        results = list(client.gather(futures[: len(tasks)]))
        wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
        return results

    with ThreadPoolExecutor(1) as waiter:
        try:
            outcome = waiter.submit(finished)
            _watch(client, outcome, futures, progress)
            return outcome.result(), list(started[len(tasks) :])
        except BaseException as error:
            with suppress(Exception):  # a lost scheduler has nothing to cancel
                client.cancel(futures)
            if message := _cluster_fault(error):
                raise ExternalError(message) from error
            raise


def _watch(
    client: Client, outcome: Future[list[PerRow]], futures: Sequence[DaskFuture], progress: _Progress | None
) -> None:
    """Return once there is an outcome; give up after PATIENCE seconds without a worker: Dask waits forever."""
    last_seen = time.monotonic()
    while not wait_for_any([outcome], timeout=POLL).done:
        if progress is not None:
            progress(sum(future.status == "finished" for future in futures), len(futures))
        if client.scheduler_info()["workers"]:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > PATIENCE:
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

    for worker, reply in sorted(client.run(version, on_error="return").items()):
        if isinstance(reply, OSError):
            continue  # it has just died; Dask gives its work to others
        if isinstance(reply, Exception):
            raise ExternalError(f"The Dask worker {worker} cannot import textspectra ({reply}); fix its installation.")
        if reply != ours:
            problem = f"has textspectra {reply}, but {ours} is running here" if reply else "does not have textspectra"
            cure = "the same version" if reply else f"version {ours}"
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
        self._sample = sample
        self._last: tuple[int, Array] = -1, sample
        self.shape = len(self), *sample.shape[1:]

    def __len__(self) -> int:
        return sum(self.sizes)

    def open(self) -> PerRow:
        """Return an array with the rows: the only chunk, or a copy of the reader."""
        # The chunk that a copy holds is released together with it, at the end of the task.
        if len(self.sizes) == 1:
            return dask.get(*self._graphs[0])
        return ChunkReader(self._graphs, self.sizes, self._sample)

    def __getitem__(self, rows: slice | Ints) -> Array:
        bounds = enumerate(pairwise(np.cumsum([0, *self.sizes]).tolist()))
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            parts = [
                self._chunk(number)[max(0, start - first) : stop - first]
                for number, (first, end) in bounds
                if first < stop and start < end
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([self._sample, *parts])
        picked = np.empty((len(rows), *self.shape[1:]), self._sample.dtype)
        for number, (first, end) in bounds:
            here = np.flatnonzero((rows >= first) & (rows < end))
            if len(here):
                picked[here] = self._chunk(number)[rows[here] - first]
        return picked

    def _chunk(self, number: int) -> Array:
        # Only the last chunk is kept: rows are mostly read in order, and chunks may be large.
        if self._last[0] != number:
            self._last = number, dask.get(*self._graphs[number])
        return self._last[1]


def task(function: object, *parts: object, before: Arguments = ()) -> Delayed:
    """Return a task that calls ``function(*before, *parts)``, where each reader among the parts is opened first."""
    return delayed(partial(_call, before), pure=False)(function, *parts)


def _call(before: Arguments, function: Callable[..., object], *parts: object) -> object:
    return function(*before, *(part.open() if isinstance(part, ChunkReader) else part for part in parts))


def chunks_of(arrays: Sequence[da.Array], like: da.Array) -> list[tuple[int, list[ChunkReader | Delayed | None]]]:
    """Return the first row of each chunk of `like`, and the chunk of each array: a reader, a delayed array or None."""
    sizes = like.chunks[0]
    columns = [[None] * len(sizes) if array is None else _parts(in_chunks(array, sizes)) for array in arrays]
    first_rows = np.cumsum((0, *sizes[:-1])).tolist()
    return [(first_row, parts) for first_row, *parts in zip(first_rows, *columns, strict=True)]


def _parts(array: da.Array) -> list[ChunkReader | Delayed]:
    """Return the chunks from which an array was made here; of any other array, its delayed chunks."""
    return list(array.textspectra_parts[1] if _made_here(array) else array.to_delayed(optimize_graph=False).ravel())


def _made_here(array: da.Array) -> bool:
    # An assignment such as array[3] = 0 changes a Dask array in place and gives it another name.
    return bool(getattr(array, "textspectra_parts", (None,))[0] == array.name)


def in_chunks(array: Array | da.Array, sizes: tuple[int, ...]) -> da.Array:
    """Return an array in memory or a Dask array as a Dask array with chunks of these sizes."""
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return array if array.chunks[0] == sizes else array.rechunk({0: sizes})


def array_of(parts: Sequence[ChunkReader | Delayed], sizes: tuple[int, ...], sample: Array) -> da.Array:
    """Return the Dask array with these chunks, whose rows have the shape and type of `sample`."""
    name = f"rows-{uuid4().hex}"
    chunks = [task(_read_all, part) if isinstance(part, ChunkReader) else part for part in parts]
    layer = {(name, number, *(0,) * (sample.ndim - 1)): chunk.key for number, chunk in enumerate(chunks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=chunks)
    array = da.Array(graph, name, (sizes, *((size,) for size in sample.shape[1:])), dtype=sample.dtype)
    array.textspectra_parts = name, list(parts)  # so that tasks made here depend on the parts directly
    return array


def _read_all(rows: Array) -> Array:
    return rows[:]


def no_rows_of(array: da.Array | None) -> PerRow:
    """Return an array in memory like a Dask array, but without rows; None for None."""
    return None if array is None else np.empty((0, *array.shape[1:]), array.dtype)


def row_bytes(array: da.Array | None) -> int:
    """Return the size of a row."""
    return 0 if array is None else array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=int))


def with_known_chunks(array: da.Array) -> da.Array:
    """Return an array whose chunk sizes are known and whose chunks have all columns; small chunks are read together."""
    if np.isnan(array.shape[0]):
        first_column = array.to_delayed().reshape(array.numblocks[0], -1)[:, 0]
        sizes = tuple(compute([delayed(len, pure=False)(chunk) for chunk in first_column])[0])
        array = da.Array(array.dask, array.name, (sizes, *array.chunks[1:]), dtype=array.dtype)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    if _made_here(array):
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
    most = max(1, len(sizes) // (TASKS_PER_THREAD * n_threads()))
    size, pairs = row_bytes(array), zip(graphs, sizes, strict=True)
    batches = _batches(pairs, lambda pair: pair[1] * size, GROUP_BYTES, most)
    readers = [ChunkReader([graph for graph, _ in batch], tuple(n for _, n in batch), sample) for batch in batches]
    return array_of(readers, tuple(len(reader) for reader in readers), sample)


def in_given_chunks(array: da.Array, like: da.Array) -> da.Array:
    """Return an array with the chunk sizes that `like` had before it was prepared."""
    sizes: list[int] = []
    for part, size in zip(_parts(like), like.chunks[0], strict=True):
        sizes += part.sizes if isinstance(part, ChunkReader) else [size]
    return in_chunks(array, tuple(sizes))


def _batches(
    items: Iterable[Item], size_of: Callable[[Item], int], limit: int, most: int = sys.maxsize
) -> Iterator[list[Item]]:
    """Batch adjacent items: at most `most` of them, and up to a total size, but a larger item is alone."""
    batch: list[Item] = []
    total = 0
    for item in items:
        size = size_of(item)
        if batch and (len(batch) == most or total + size > limit):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def shared(function: Callable[..., object], *arguments: object) -> Delayed:
    """Bind arguments to a function that many tasks call and that is sent to each worker once."""
    return delayed(partial(function, *arguments), pure=False, traverse=False)


def fold_chunks(
    function: Callable[..., Arguments], arrays: Sequence[da.Array], *, combine: Callable[..., object], per_row: bool
) -> Arguments:
    """Fold each chunk on a worker and combine the statistics in a tree; the values per row stay on the workers."""
    work, join = shared(_fold_chunk, function, combine, per_row), shared(combine)
    folded = [task(work, *parts, before=(first_row,)) for first_row, parts in chunks_of(arrays, arrays[0])]
    statistics = [result[:-1] for result in folded] if per_row else folded
    while len(statistics) > 1:
        starts = range(0, len(statistics), SPLIT_EVERY)
        statistics = [task(reduce, join, statistics[start : start + SPLIT_EVERY]) for start in starts]
    results, kept = compute(statistics, [result[-1] for result in folded] if per_row else [])
    if not per_row:
        return tuple(results[0])
    sample = function(0, *map(no_rows_of, arrays))[-1]
    return *results[0], array_of(kept, arrays[0].chunks[0], sample)


def _fold_chunk(
    function: Callable[..., Arguments], combine: Callable[..., object], per_row: bool, first_row: int, *parts: Rows
) -> Arguments:
    with use_jobs(1):
        return fold_blocks(function, *parts, combine=combine, per_row=per_row, first_row=first_row)


def map_chunks(function: Callable[..., Array], arrays: Sequence[da.Array], *, dtype: type) -> da.Array:
    """Return a Dask array whose chunks are computed from the chunks of `arrays` when they are needed."""
    sample: Array = function(0, *map(no_rows_of, arrays)).astype(dtype)
    work = shared(_map_chunk, function)
    chunks = [task(work, *parts, before=(first_row,)) for first_row, parts in chunks_of(arrays, arrays[0])]
    return array_of(chunks, arrays[0].chunks[0], sample)


def _map_chunk(function: Callable[..., Array], first_row: int, *parts: Rows) -> PerRow:
    with use_jobs(1):
        return map_rows(function, *parts, first_row=first_row)


def keep_chunks(array: da.Array) -> da.Array:
    """Compute an array once and keep it where it was computed."""
    _, kept = compute([], list(array.to_delayed().ravel()))
    return array_of(kept, array.chunks[0], no_rows_of(array))


def call_each(
    function: Callable[..., object], tasks: Iterable[Arguments], progress: _Progress | None = None
) -> list[PerRow]:
    """Call ``function(*arguments)`` on a worker for the arguments of each task, results in order."""
    work = shared(function)
    return compute([task(work, before=arguments) for arguments in tasks], progress=progress)[0]


class DaskDraws:
    """The counterpart of :class:`~textspectra.core.rows.Draws` for Dask arrays."""

    def __init__(self, arrays: Sequence[da.Array], index: Index, by: da.Array | None) -> None:
        self._pick = shared(_pick, index)
        self._row_bytes = sum(map(row_bytes, arrays))
        self._chunks = chunks_of([*arrays, by], arrays[0])
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            totals = shared(_totals, index)
            self._in_chunk = np.array(compute([task(totals, parts[-1]) for _, parts in self._chunks])[0], np.intp)
        self._ends = self._in_chunk.cumsum(axis=0)
        self.totals = self._ends[-1]

    def take(self, key: int, positions: Ints) -> list[PerRow]:
        """Bring rows into this process: their numbers, and the rows of each array."""
        picks, ((places,),) = self._picks([[(key, positions)]])
        return _rows_at(places, _gather(0, compute(picks)[0]))

    def map(self, function: Callable[..., object], requests: Iterable[Arguments]) -> list[PerRow]:
        """Call ``function(rows, *parts, *rest)`` on a worker for each request ``(key, positions, *rest)``."""
        work = shared(_apply, function)
        results: list[Delayed] = []
        for batch in _batches(requests, self._size, DRAWN_BYTES):
            shares = list(_batches(batch, self._size, SHARE_BYTES))
            picks, places = self._picks(shares)
            for number, (share, places_of_share) in enumerate(zip(shares, places, strict=True)):
                rows = task(_gather, picks, before=(number,))
                for (_, _, *rest), at in zip(share, places_of_share, strict=True):
                    results.append(task(work, rows, before=(at, rest)))
        return compute(results)[0]

    def _size(self, request: Arguments) -> int:
        return self._row_bytes * len(request[1])

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
            picks.append(task(self._pick, *parts, before=(wanted[number], first_row)))
        return picks, places


def _totals(index: Index, by: Rows) -> Ints:
    return index(len(by), by[:]).totals


def _pick(
    index: Index, wanted: list[tuple[int, Ints, Ints]], first_row: int, *parts: PerRow
) -> dict[int, list[PerRow]]:
    """Return the rows of a chunk that each share needs: their numbers, and the rows of each array."""
    *arrays, by = parts
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


def _apply(function: Callable[..., object], places: Ints, rest: list[object], share: list[PerRow]) -> object:
    return function(*_rows_at(places, share), *rest)
