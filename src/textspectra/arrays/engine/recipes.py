"""How chunks of a Dask array are made, as far as that can be done inside the task that uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dask
import numpy as np
from dask._task_spec import DataNode, GraphNode
from dask.core import get_deps, istask
from dask.sizeof import sizeof
from numpy.typing import NDArray

LIGHT_BYTES = 100_000
"""Data up to this size that several chunks share, such as the handle of a file, is sent along with each of them."""


JOINED_BYTES = 2**26
"""Chunks that follow each other are read by one task while they are below this size together."""


class Recipe:
    """What makes one chunk and nothing else: followed where the chunk is used, so that reading is no task of its own.

    Examples
    --------
    >>> Recipe({"two": 2, "chunk": (pow, "two", 3)}, "chunk")()
    8
    """

    __slots__ = ("graph", "key")

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph = graph
        self.key = key

    def __call__(self) -> Any:
        """Make the chunk."""
        return dask.get(self.graph, self.key)


class Neighbours:
    """Chunks that follow each other as one array, each of them made when rows of it are asked for.

    Examples
    --------
    >>> parts = [Recipe({"chunk": (np.arange, 3)}, "chunk"), Recipe({"chunk": (np.arange, 2)}, "chunk")]
    >>> both = Neighbours(parts, (3, 2), np.empty(0, int))
    >>> both[1:4], both[np.array([4, 0])], both()
    (array([1, 2, 0]), array([1, 0]), array([0, 1, 2, 0, 1]))
    """

    def __init__(self, recipes: Sequence[Recipe], sizes: tuple[int, ...], sample: NDArray[Any]) -> None:
        self._recipes = recipes
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

    def __call__(self) -> Any:
        """Make all chunks, as one array."""
        return self.opened()[: len(self)]

    def opened(self) -> Any:
        """Return what has the rows: the one chunk, or a copy of this, so that what it keeps goes with its user."""
        return self._recipes[0]() if len(self._recipes) == 1 else Neighbours(self._recipes, self.sizes, self._sample)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            parts = [
                self._chunk(number)[max(0, start - first) : stop - first]
                for number, first, end in self._places()
                if first < stop and start < end
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([self._sample, *parts])
        found = np.empty((len(rows), *self.shape[1:]), self._sample.dtype)
        for number, first, end in self._places():
            here = np.flatnonzero((rows >= first) & (rows < end))
            if len(here):
                found[here] = self._chunk(number)[rows[here] - first]
        return found

    def _places(self) -> Iterator[tuple[int, int, int]]:
        for number, (size, end) in enumerate(zip(self.sizes, self._ends.tolist(), strict=True)):
            yield number, end - size, end

    def _chunk(self, number: int) -> Any:
        # Only the last one is kept: rows are mostly read in order, and chunks may be large.
        if self._last[0] != number:
            self._last = number, self._recipes[number]()
        return self._last[1]


def neighbours(
    recipes: Sequence[Recipe], sizes: Sequence[int], sample: NDArray[Any], n_groups: int
) -> list[Neighbours]:
    """Join chunks that follow each other, up to JOINED_BYTES, but so that there are `n_groups` where that is possible.

    Examples
    --------
    >>> recipe = Recipe({"chunk": (np.arange, 2)}, "chunk")
    >>> [group.sizes for group in neighbours([recipe] * 5, [2] * 5, np.empty(0, int), 2)]
    [(2, 2), (2, 2), (2,)]
    """
    row_bytes = sample.dtype.itemsize * int(np.prod(sample.shape[1:], dtype=int))
    most = max(1, len(recipes) // max(1, n_groups))
    groups: list[list[int]] = []
    filled = 0
    for number, size in enumerate(sizes):
        if not groups or len(groups[-1]) == most or filled + size * row_bytes > JOINED_BYTES:
            groups.append([])
            filled = 0
        groups[-1].append(number)
        filled += size * row_bytes
    return [Neighbours([recipes[one] for one in group], tuple(sizes[one] for one in group), sample) for group in groups]


def recipes_of(graph: Mapping[Any, Any], chunks: Sequence[Any]) -> list[Recipe] | None:
    """Return the recipes of some chunks; None where some of them share a task.

    Examples
    --------
    >>> graph = {"two": 2, "read": (pow, "two", 3), "a": (abs, "read"), "b": (abs, "read"), "c": (abs, "two")}
    >>> recipes_of(graph, ["a", "c"]) is None, len(recipes_of(graph, ["c"]))
    (True, 1)
    """
    dependencies, dependents = get_deps(graph)
    recipes = []
    for chunk in chunks:
        own = _behind(chunk, dependencies)
        if not all(dependents[key] <= own or _is_light(graph[key]) for key in own):
            return None
        recipes.append(Recipe({key: graph[key] for key in own}, chunk))
    return recipes


def _behind(chunk: Any, dependencies: Mapping[Any, set[Any]]) -> set[Any]:
    """Return the keys of all tasks that lead to a chunk, and its own."""
    found: set[Any] = set()
    waiting = [chunk]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting.extend(dependencies[key])
    return found


def _is_light(node: Any) -> bool:
    data = node.value if isinstance(node, DataNode) else node
    return not isinstance(data, GraphNode) and not istask(data) and sizeof(data) <= LIGHT_BYTES
