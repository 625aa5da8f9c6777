"""How chunks of a Dask array are made, as far as that can be done inside the task that uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask
from dask._task_spec import DataNode, GraphNode
from dask.core import get_deps, istask
from dask.sizeof import sizeof

LIGHT_BYTES = 100_000
"""Data up to this size that several chunks share, such as the handle of a file, is sent along with each of them."""


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


def with_recipes(graph: Mapping[Any, Any], chunks: Sequence[Any]) -> dict[Any, Any]:
    """Return the graph of some chunks in which each that shares no task with others is one task: its recipe.

    Examples
    --------
    >>> graph = {"two": 2, "read": (pow, "two", 3), "a": (abs, "read"), "b": (abs, "read"), "c": (abs, "two")}
    >>> made = with_recipes(graph, ["a", "b", "c"])
    >>> [isinstance(made[chunk][0], Recipe) for chunk in "abc"]
    [False, False, True]
    """
    dependencies, dependents = get_deps(graph)
    made = {}
    for chunk in chunks:
        own = _behind(chunk, dependencies)
        if all(dependents[key] <= own or _is_light(graph[key]) for key in own):
            made[chunk] = (Recipe({key: graph[key] for key in own}, chunk),)
        else:
            made.update({key: graph[key] for key in own})
    return made


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
