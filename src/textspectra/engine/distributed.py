"""Blocks of rows of Dask arrays: a chunk is read and folded in one task, by the code for arrays in memory.

Graphs are written down as dictionaries of keys and tasks. What a task needs besides the results of other tasks is in
an object of ours, into which Dask does not look for tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import itemgetter
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.core import flatten
from numpy.typing import NDArray

from . import local
from .index import Index
from .local import Folded
from .recipes import Neighbours, neighbours, recipes_of
from .supervision import compute, compute_and_keep, kept_by_workers, n_threads

OURS = "textspectra-"
"""How the names of arrays begin that were prepared or made here: nothing is left to do about their chunks and graph."""

TASKS_A_THREAD = 8
"""Small chunks are not joined so far that a thread of a worker has fewer tasks than this in a pass over all rows."""

SPLIT_EVERY = 8
"""Statistics that are combined at a time, so that they meet in a tree and no worker holds those of all chunks."""

GROUP_BYTES = 2**27
"""Rows that are picked together are at most so large: a worker may have to hold them all."""

SHARE_BYTES = 2**24
"""Of these, what is put together in one task, and used by others on the same worker."""

Graph = dict[Any, Any]


def fold_blocks(
    function: Callable[..., Folded], arrays: Sequence[Any], *, combine: Callable[[Any, Any], Any]
) -> Folded:
    """Fold each chunk on a worker, combine the statistics in a tree, and keep what each row got on the workers."""
    sample = function(0, *(None if array is None else _empty(array) for array in arrays)).per_row
    graph, chunks = _chunks(arrays, arrays[0])
    work = _add_work(graph, Work(function, combine))
    if sample is None:
        statistics = _add_tasks(graph, "statistics", ((_statistics_of_chunk, work, *chunk) for chunk in chunks))
        return Folded(compute(graph, [_in_a_tree(graph, work, statistics)])[0])
    folded = _add_tasks(graph, "fold", ((_fold_chunk, work, *chunk) for chunk in chunks))
    statistics = _add_tasks(graph, "statistics", ((itemgetter(0), key) for key in folded))
    per_row = _add_tasks(graph, OURS, ((itemgetter(1), key) for key in folded), sample.ndim)
    results, kept = compute_and_keep(graph, [_in_a_tree(graph, work, statistics)], per_row)
    return Folded(results[0], _array(kept, per_row, arrays[0].chunks[0], sample))


def map_rows(function: Callable[..., Any], arrays: Sequence[Any], *, dtype: type) -> da.Array:
    """Return an array whose chunks are made from those of `arrays`, once they are asked for."""
    graph, chunks = _chunks(arrays, arrays[0])
    work = _add_work(graph, Work(function))
    keys = _add_tasks(graph, OURS, ((_map_chunk, work, *chunk) for chunk in chunks), 1)
    return _array(graph, keys, arrays[0].chunks[0], np.empty(0, dtype))


def keep(array: da.Array) -> da.Array:
    """Have an array worked out once and kept where the work is done."""
    keys = _keys(array)
    _, kept = compute_and_keep(dict(array.dask), [], keys)
    return _array(kept, keys, array.chunks[0], _empty(array))


def with_known_chunks(array: da.Array) -> da.Array:
    """Return the array with the sizes of its chunks worked out, each row whole in one chunk, and recipes as its graph.

    Examples
    --------
    >>> ones = da.ones((6, 2), chunks=(2, 1))
    >>> with_known_chunks(ones[ones.sum(axis=1) > 0]).chunks
    ((2, 2, 2), (2,))
    """
    if array.name.startswith(OURS):
        return array
    if np.isnan(array.shape[0]):
        array = _with_known_sizes(array)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    if kept_by_workers(array):
        return array
    # Under another name, because a graph that is optimized once more would have other tasks under the same keys.
    (array,) = dask.optimize(array)
    graph = dict(array.dask)
    recipes = recipes_of(graph, _keys(array))
    if recipes is None:
        return _array(graph, _add_tasks(graph, OURS, _keys(array), array.ndim), array.chunks[0], _empty(array))
    joined = neighbours(recipes, array.chunks[0], _empty(array), TASKS_A_THREAD * n_threads())
    graph = {}
    keys = _add_tasks(graph, OURS, ((group,) for group in joined), array.ndim)
    return _array(graph, keys, tuple(len(group) for group in joined), _empty(array))


def as_given(array: da.Array, like: da.Array) -> da.Array:
    """Return an array in the chunks that `like` had before it was prepared.

    Examples
    --------
    >>> given = da.ones((6, 2), chunks=(1, 2))
    >>> as_given(da.zeros(6), with_known_chunks(given)).chunks
    ((1, 1, 1, 1, 1, 1),)
    """
    parts = _parts(like)
    sizes = [
        part.sizes if isinstance(part, Neighbours) else (size,)
        for part, size in zip(parts, like.chunks[0], strict=True)
    ]
    return _cut(array, tuple(chain.from_iterable(sizes)))


def _with_known_sizes(array: da.Array) -> da.Array:
    graph = dict(array.dask)
    first_column = [key for key in _keys(array) if not any(key[2:])]
    sizes = tuple(compute(graph, _add_tasks(graph, "length", ((len, key) for key in first_column))))
    return da.Array(array.dask, array.name, (sizes, *array.chunks[1:]), meta=array._meta)


def call_each(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], tell: Callable[[int, int], None] | None = None
) -> list[Any]:
    """Call ``function(*task)`` on a worker for each task, results in order.

    Examples
    --------
    >>> call_each(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    graph: Graph = {}
    work = _add_work(graph, Work(function))
    return compute(graph, _add_tasks(graph, "call", ((_call, work, Fixed(task)) for task in tasks)), tell=tell)


def call_on_chunks(function: Callable[..., Any], array: da.Array, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call ``function(*arguments, chunk)`` where each chunk is, results in order.

    Examples
    --------
    >>> call_on_chunks(pow, da.from_array(np.array([1, 2, 3]), chunks=2), [(2,), (3,)])
    [array([2, 4]), array([27])]
    """
    graph, chunks = _chunks([array], array)
    work = _add_work(graph, Work(function))
    calls = ((_call_on_chunk, work, Fixed(some), *chunk) for some, chunk in zip(arguments, chunks, strict=True))
    return compute(graph, _add_tasks(graph, "call", calls))


class DaskDraws:
    """The counterpart of :class:`textspectra.engine.local.Draws`; only rows that are drawn leave their chunk."""

    def __init__(self, arrays: Sequence[Any], index: Callable[..., Index], by: Any) -> None:
        self._index = index
        self._row_bytes = sum(
            array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays if array is not None
        )
        self._graph, self._chunks = _chunks([*arrays, by], arrays[0])
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            graph, chunks = _chunks([by], arrays[0])
            work = _add_work(graph, Work(index))
            totals = _add_tasks(graph, "totals", ((_totals, work, *chunk) for chunk in chunks))
            self._in_chunk = np.array(compute(graph, totals), np.intp)
        self._ends = self._in_chunk.cumsum(axis=0)
        self.totals = self._ends[-1]

    def take(self, key: int, positions: NDArray[np.intp]) -> list[Any]:
        """Bring rows here: their numbers, and what each array has of them."""
        graph = dict(self._graph)
        picks, ((mine,),) = self._add_picks(graph, [[(key, positions)]])
        return _mine(_gathered(Fixed(0), compute(graph, picks)), mine)

    def map(
        self, function: Callable[..., Any], requests: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(rows, *parts, *rest)`` on a worker for each request ``(key, positions, *rest)``."""
        graph = dict(self._graph)
        work = _add_work(graph, Work(function))
        results: list[Any] = []
        for group in self._up_to(GROUP_BYTES, requests):
            shares = list(self._up_to(SHARE_BYTES, group))
            picks, places = self._add_picks(graph, shares)
            gathered = _add_tasks(graph, "gather", ((_gathered, Fixed(number), picks) for number in range(len(shares))))
            on_rows = (
                (_apply, work, rows, Fixed((mine, rest)))
                for rows, share, own in zip(gathered, shares, places, strict=True)
                for (_, _, *rest), mine in zip(share, own, strict=True)
            )
            results += _add_tasks(graph, "apply", on_rows)
        return compute(graph, results)

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(*task)`` on a worker for each task."""
        return call_each(function, tasks)

    def _up_to(self, n_bytes: int, requests: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield neighbouring requests together, as many as are below this size, but at least one."""
        together: list[tuple[Any, ...]] = []
        size = 0
        for request in requests:
            size += self._row_bytes * len(request[1])
            if together and size > n_bytes:
                yield together
                together, size = [], self._row_bytes * len(request[1])
            together.append(request)
        if together:
            yield together

    def _add_picks(
        self, graph: Graph, shares: Sequence[Sequence[tuple[Any, ...]]]
    ) -> tuple[list[Any], list[list[NDArray[np.intp]]]]:
        """Let each chunk pick its rows for all shares; return the tasks, and where in a share each request's rows are.

        A graph in which every request knows every chunk takes longer to build than to work off.
        """
        wanted: dict[int, list[Any]] = {}
        places = []
        for share_number, share in enumerate(shares):
            sizes = [len(positions) for _, positions, *_ in share]
            keys = np.repeat([key for key, *_ in share], sizes)
            positions = np.concatenate([positions for _, positions, *_ in share])
            chunk = np.concatenate([np.searchsorted(self._ends[:, key], some, side="right") for key, some, *_ in share])
            inside = positions - (self._ends - self._in_chunk)[chunk, keys]
            order = np.argsort(chunk, kind="stable")
            distinct, starts = np.unique(chunk[order], return_index=True)
            for number, rows in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True):
                wanted.setdefault(number, []).append((share_number, keys[rows], inside[rows]))
            places.append(np.split(np.argsort(order), np.cumsum(sizes)[:-1]))
        work = _add_work(graph, Work(self._index))
        picks = ((_pick, work, Fixed(wanted[number]), *self._chunks[number]) for number in sorted(wanted))
        return _add_tasks(graph, "pick", picks), places


@dataclass(frozen=True)
class Work:
    """What all tasks of a graph share: sent to a worker once."""

    function: Callable[..., Any]
    combine: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True)
class Fixed:
    """Arguments of a task that are known already."""

    values: Any


@dataclass(frozen=True)
class Chunk:
    """Where a chunk begins, and what it is of each array: a recipe, None, or ... for an argument of the task."""

    start: int
    parts: tuple[Any, ...]

    def filled(self, made: Iterable[Any]) -> list[Any]:
        """Return the parts, given those that are arguments."""
        others = iter(made)
        return [next(others) if part is ... else None if part is None else part.opened() for part in self.parts]


def _chunks(arrays: Sequence[Any], like: da.Array) -> tuple[Graph, list[tuple[Any, ...]]]:
    """Return the graph of some arrays, and what a task is told of each of their chunks, cut like those of one."""
    sizes = like.chunks[0]
    graph: Graph = {}
    columns = []
    for array in arrays:
        if array is None:
            columns.append([None] * len(sizes))
            continue
        cut = _cut(array, sizes)
        columns.append(_parts(cut))
        if any(_is_key(part) for part in columns[-1]):
            graph.update(dict(cut.dask))
    chunks = []
    for start, *parts in zip(np.cumsum((0, *sizes[:-1])).tolist(), *columns, strict=True):
        told = Chunk(start, tuple(... if _is_key(part) else part for part in parts))
        chunks.append((told, *filter(_is_key, parts)))
    return graph, chunks


def _cut(array: Any, sizes: tuple[int, ...]) -> da.Array:
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return array if array.chunks[0] == sizes else array.rechunk({0: sizes})


def _parts(array: da.Array) -> list[Any]:
    """Return the recipe of each chunk of an array, or its key where it has none."""
    graph = array.dask
    return [graph[key][0] if _is_recipe(graph[key]) else key for key in _keys(array)]


def _is_recipe(task: Any) -> bool:
    return type(task) is tuple and isinstance(task[0], Neighbours)


def _is_key(part: Any) -> bool:
    return type(part) is tuple


def _keys(array: da.Array) -> list[Any]:
    return list(flatten(array.__dask_keys__()))


def _empty(array: Any) -> NDArray[Any]:
    return np.empty((0, *array.shape[1:]), array.dtype)


def _add_work(graph: Graph, work: Work) -> str:
    key = f"work-{uuid4().hex}"
    graph[key] = work
    return key


def _add_tasks(graph: Graph, name: str, tasks: Iterable[Any], n_numbers: int = 1) -> list[Any]:
    """Put tasks into a graph and return their keys; those of an array have a number for each of its dimensions."""
    name = f"{name.removesuffix('-')}-{uuid4().hex}"
    added = {(name, number, *(0,) * (n_numbers - 1)): task for number, task in enumerate(tasks)}
    graph.update(added)
    return list(added)


def _array(graph: Mapping[Any, Any], keys: Sequence[Any], sizes: tuple[int, ...], sample: NDArray[Any]) -> da.Array:
    chunks = (sizes, *((size,) for size in sample.shape[1:]))
    return da.Array(dict(graph), keys[0][0], chunks, dtype=sample.dtype)


def _in_a_tree(graph: Graph, work: Any, statistics: list[Any]) -> Any:
    while len(statistics) > 1:
        together = (statistics[start : start + SPLIT_EVERY] for start in range(0, len(statistics), SPLIT_EVERY))
        statistics = _add_tasks(graph, "combine", ((_combine, work, some) for some in together))
    return statistics[0]


def _fold_chunk(work: Work, chunk: Chunk, *made: Any) -> Folded:
    assert work.combine is not None  # noqa: S101 - for the type checker
    return local.fold_blocks(work.function, chunk.filled(made), combine=work.combine, n_jobs=1, first_row=chunk.start)


def _statistics_of_chunk(work: Work, chunk: Chunk, *made: Any) -> Any:
    return _fold_chunk(work, chunk, *made).statistics


def _map_chunk(work: Work, chunk: Chunk, *made: Any) -> Any:
    fold = lambda *block: Folded((), work.function(*block))  # noqa: E731
    return local.fold_blocks(
        fold, chunk.filled(made), combine=lambda one, other: (), n_jobs=1, first_row=chunk.start
    ).per_row


def _combine(work: Work, statistics: list[Any]) -> Any:
    assert work.combine is not None  # noqa: S101 - for the type checker
    return reduce(work.combine, statistics)


def _call(work: Work, task: Fixed) -> Any:
    return work.function(*task.values)


def _call_on_chunk(work: Work, arguments: Fixed, chunk: Chunk, *made: Any) -> Any:
    return work.function(*arguments.values, *chunk.filled(made))


def _totals(index: Work, chunk: Chunk, *made: Any) -> NDArray[np.intp]:
    (by,) = chunk.filled(made)
    totals: NDArray[np.intp] = index.function(len(by), by[:]).totals
    return totals


def _pick(index: Work, wanted: Fixed, chunk: Chunk, *made: Any) -> dict[int, list[Any]]:
    *arrays, by = chunk.filled(made)
    of_chunk = index.function(local.n_rows(arrays), None if by is None else by[:])
    shares, keys, positions = zip(*wanted.values, strict=True)
    rows = of_chunk.find(np.concatenate(keys), np.concatenate(positions))
    ends = np.cumsum([len(some) for some in keys])[:-1]
    columns = [chunk.start + rows, *(None if array is None else _rows_of(array, rows) for array in arrays)]
    parts = [[None] * len(shares) if column is None else np.split(column, ends) for column in columns]
    return dict(zip(shares, map(list, zip(*parts, strict=True)), strict=True))


def _rows_of(array: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    # In their order, because each page of a memory map is then fetched once.
    order = np.argsort(rows)
    found = np.asarray(array[rows[order]])
    unsorted = np.empty_like(found)
    unsorted[order] = found
    return unsorted


def _gathered(share: Fixed, picks: list[dict[int, list[Any]]]) -> list[Any]:
    columns = zip(*(pick[share.values] for pick in picks if share.values in pick), strict=True)
    return [None if column[0] is None else np.concatenate(column) for column in columns]


def _mine(picked: list[Any], mine: NDArray[np.intp]) -> list[Any]:
    return [None if column is None else column[mine] for column in picked]


def _apply(work: Work, picked: list[Any], wanted: Fixed) -> Any:
    mine, rest = wanted.values
    return work.function(*_mine(picked, mine), *rest)
