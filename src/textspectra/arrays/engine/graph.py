"""Graphs of tasks over the chunks of Dask arrays.

They are written down as dictionaries of keys and tasks. What a task needs besides the results of other tasks is in an
object of ours, into which Dask does not look for tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.core import flatten
from numpy.typing import NDArray

from .recipes import Neighbours

SPLIT_EVERY = 8
"""Statistics that are combined at a time, so that they meet in a tree and no worker holds those of all chunks."""

Graph = dict[Any, Any]


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


def chunks_of(arrays: Sequence[Any], like: da.Array) -> tuple[Graph, list[tuple[Any, ...]]]:
    """Return the graph of some arrays, and what a task is told of each of their chunks, cut like those of one.

    Examples
    --------
    >>> ones = da.ones((6, 2), chunks=(4, 2))
    >>> graph, chunks = chunks_of([ones, None], ones)
    >>> len(chunks), chunks[1][0], chunks[1][1] in graph
    (2, Chunk(start=4, parts=(Ellipsis, None)), True)
    """
    sizes = like.chunks[0]
    graph: Graph = {}
    columns = []
    for array in arrays:
        if array is None:
            columns.append([None] * len(sizes))
            continue
        aligned = in_chunks(array, sizes)
        columns.append(parts_of(aligned))
        if any(_is_key(part) for part in columns[-1]):
            graph.update(dict(aligned.dask))
    chunks = []
    for start, *parts in zip(np.cumsum((0, *sizes[:-1])).tolist(), *columns, strict=True):
        told = Chunk(start, tuple(... if _is_key(part) else part for part in parts))
        chunks.append((told, *filter(_is_key, parts)))
    return graph, chunks


def in_chunks(array: Any, sizes: tuple[int, ...]) -> da.Array:
    """Return an array, of Dask or not, as one of Dask with chunks of these sizes.

    Examples
    --------
    >>> in_chunks(np.ones(5), (3, 2)).chunks
    ((3, 2),)
    """
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return array if array.chunks[0] == sizes else array.rechunk({0: sizes})


def parts_of(array: da.Array) -> list[Any]:
    """Return the recipe of each chunk of an array, or its key where it has none."""
    graph = array.dask
    return [graph[key][0] if _is_recipe(graph[key]) else key for key in keys_of(array)]


def keys_of(array: da.Array) -> list[Any]:
    """Return the key of each chunk, in order."""
    return list(flatten(array.__dask_keys__()))


def no_rows_of(array: Any) -> NDArray[Any]:
    """Return an array in memory like one of Dask, but with no rows."""
    return np.empty((0, *array.shape[1:]), array.dtype)


def array_of(graph: Mapping[Any, Any], keys: Sequence[Any], sizes: tuple[int, ...], sample: NDArray[Any]) -> da.Array:
    """Return the array whose chunks are these keys of a graph, with rows like those of `sample`."""
    chunks = (sizes, *((size,) for size in sample.shape[1:]))
    return da.Array(dict(graph), keys[0][0], chunks, dtype=sample.dtype)


def add_work(graph: Graph, work: Work) -> str:
    """Put what tasks share into a graph and return its key."""
    key = f"work-{uuid4().hex}"
    graph[key] = work
    return key


def add_tasks(graph: Graph, name: str, tasks: Iterable[Any], n_numbers: int = 1) -> list[Any]:
    """Put tasks into a graph and return their keys; those of an array have a number for each of its dimensions."""
    name = f"{name.removesuffix('-')}-{uuid4().hex}"
    added = {(name, number, *(0,) * (n_numbers - 1)): task for number, task in enumerate(tasks)}
    graph.update(added)
    return list(added)


def in_a_tree(graph: Graph, work: str, statistics: list[Any]) -> Any:
    """Let the results of some tasks be combined, a few at a time, and return the key of the last result.

    Examples
    --------
    >>> import dask
    >>> graph = {}
    >>> numbers = add_tasks(graph, "number", range(100))
    >>> dask.get(graph, in_a_tree(graph, add_work(graph, Work(abs, combine=int.__add__)), numbers))
    4950
    """
    while len(statistics) > 1:
        together = (statistics[start : start + SPLIT_EVERY] for start in range(0, len(statistics), SPLIT_EVERY))
        statistics = add_tasks(graph, "combine", ((_combine, work, some) for some in together))
    return statistics[0]


def _combine(work: Work, statistics: list[Any]) -> Any:
    assert work.combine is not None  # noqa: S101 - for the type checker
    return reduce(work.combine, statistics)


def _is_recipe(task: Any) -> bool:
    return type(task) is tuple and isinstance(task[0], Neighbours)


def _is_key(part: Any) -> bool:
    return type(part) is tuple
