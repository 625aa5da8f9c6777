"""Blocks of rows of Dask arrays: a chunk is read and folded in one task, by the code for arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import dask
import dask.array as da
import numpy as np

from . import local
from .graph import (
    Chunk,
    Fixed,
    Graph,
    Work,
    add_tasks,
    add_work,
    array_of,
    chunks_of,
    in_a_tree,
    in_chunks,
    keys_of,
    no_rows_of,
    parts_of,
)
from .local import Folded
from .recipes import Neighbours, neighbours, recipes_of
from .supervision import compute, compute_and_keep, kept_by_workers, n_threads

OURS = "textspectra-"
"""How the names of arrays begin that were prepared or made here: nothing is left to do about their chunks and graph."""

TASKS_A_THREAD = 8
"""Small chunks are not joined so far that a thread of a worker has fewer tasks than this in a pass over all rows."""


def fold_blocks(
    function: Callable[..., Folded], arrays: Sequence[Any], *, combine: Callable[[Any, Any], Any]
) -> Folded:
    """Fold each chunk on a worker, combine the statistics in a tree, and keep what each row got on the workers."""
    sample = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).per_row
    graph, chunks = chunks_of(arrays, arrays[0])
    work = add_work(graph, Work(function, combine))
    if sample is None:
        statistics = add_tasks(graph, "statistics", ((_statistics_of_chunk, work, *chunk) for chunk in chunks))
        return Folded(compute(graph, [in_a_tree(graph, work, statistics)])[0])
    folded = add_tasks(graph, "fold", ((_fold_chunk, work, *chunk) for chunk in chunks))
    statistics = add_tasks(graph, "statistics", ((itemgetter(0), key) for key in folded))
    per_row = add_tasks(graph, OURS, ((itemgetter(1), key) for key in folded), sample.ndim)
    results, kept = compute_and_keep(graph, [in_a_tree(graph, work, statistics)], per_row)
    return Folded(results[0], array_of(kept, per_row, arrays[0].chunks[0], sample))


def map_rows(function: Callable[..., Any], arrays: Sequence[Any], *, dtype: type) -> da.Array:
    """Return an array whose chunks are made from those of `arrays`, once they are asked for."""
    sample = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).astype(dtype)
    graph, chunks = chunks_of(arrays, arrays[0])
    work = add_work(graph, Work(function))
    keys = add_tasks(graph, OURS, ((_map_chunk, work, *chunk) for chunk in chunks), sample.ndim)
    return array_of(graph, keys, arrays[0].chunks[0], sample)


def keep(array: da.Array) -> da.Array:
    """Have an array worked out once and kept where the work is done."""
    keys = keys_of(array)
    _, kept = compute_and_keep(dict(array.dask), [], keys)
    return array_of(kept, keys, array.chunks[0], no_rows_of(array))


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
    recipes = recipes_of(graph, keys_of(array))
    if recipes is None:
        return array_of(graph, add_tasks(graph, OURS, keys_of(array), array.ndim), array.chunks[0], no_rows_of(array))
    joined = neighbours(recipes, array.chunks[0], no_rows_of(array), TASKS_A_THREAD * n_threads())
    graph = {}
    keys = add_tasks(graph, OURS, ((group,) for group in joined), array.ndim)
    return array_of(graph, keys, tuple(len(group) for group in joined), no_rows_of(array))


def as_given(array: da.Array, like: da.Array) -> da.Array:
    """Return an array in the chunks that `like` had before it was prepared.

    Examples
    --------
    >>> given = da.ones((6, 2), chunks=(1, 2))
    >>> as_given(da.zeros(6), with_known_chunks(given)).chunks
    ((1, 1, 1, 1, 1, 1),)
    """
    parts = parts_of(like)
    sizes = [
        part.sizes if isinstance(part, Neighbours) else (size,)
        for part, size in zip(parts, like.chunks[0], strict=True)
    ]
    return in_chunks(array, tuple(chain.from_iterable(sizes)))


def _with_known_sizes(array: da.Array) -> da.Array:
    graph = dict(array.dask)
    first_column = [key for key in keys_of(array) if not any(key[2:])]
    sizes = tuple(compute(graph, add_tasks(graph, "length", ((len, key) for key in first_column))))
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
    work = add_work(graph, Work(function))
    return compute(graph, add_tasks(graph, "call", ((_call, work, Fixed(task)) for task in tasks)), tell=tell)


def call_on_chunks(function: Callable[..., Any], array: da.Array, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call ``function(*arguments, chunk)`` where each chunk is, results in order.

    Examples
    --------
    >>> call_on_chunks(pow, da.from_array(np.array([1, 2, 3]), chunks=2), [(2,), (3,)])
    [array([2, 4]), array([27])]
    """
    graph, chunks = chunks_of([array], array)
    work = add_work(graph, Work(function))
    calls = ((_call_on_chunk, work, Fixed(some), *chunk) for some, chunk in zip(arguments, chunks, strict=True))
    return compute(graph, add_tasks(graph, "call", calls))


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


def _call(work: Work, task: Fixed) -> Any:
    return work.function(*task.values)


def _call_on_chunk(work: Work, arguments: Fixed, chunk: Chunk, *made: Any) -> Any:
    return work.function(*arguments.values, *chunk.filled(made))
