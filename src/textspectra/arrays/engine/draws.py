"""Rows of Dask arrays, drawn by their positions; only rows that are drawn leave their chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import local
from .distributed import call_each
from .graph import Chunk, Fixed, Graph, Work, add_tasks, add_work, chunks_of
from .index import Index
from .supervision import compute

GROUP_BYTES = 2**27
"""Rows that are picked together are at most so large: a worker may have to hold them all."""

SHARE_BYTES = 2**24
"""Of these, what is put together in one task, and used by others on the same worker."""


class DaskDraws:
    """The counterpart of :class:`textspectra.arrays.engine.local.Draws`; only rows that are drawn leave their chunk."""

    def __init__(self, arrays: Sequence[Any], index: Callable[..., Index], by: Any) -> None:
        self._index = index
        self._row_bytes = sum(
            array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays if array is not None
        )
        self._graph, self._chunks = chunks_of([*arrays, by], arrays[0])
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            graph, chunks = chunks_of([by], arrays[0])
            work = add_work(graph, Work(index))
            totals = add_tasks(graph, "totals", ((_totals, work, *chunk) for chunk in chunks))
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
        work = add_work(graph, Work(function))
        results: list[Any] = []
        for group in self._up_to(GROUP_BYTES, requests):
            shares = list(self._up_to(SHARE_BYTES, group))
            picks, places = self._add_picks(graph, shares)
            gathered = add_tasks(graph, "gather", ((_gathered, Fixed(number), picks) for number in range(len(shares))))
            on_rows = (
                (_apply, work, rows, Fixed((mine, rest)))
                for rows, share, own in zip(gathered, shares, places, strict=True)
                for (_, _, *rest), mine in zip(share, own, strict=True)
            )
            results += add_tasks(graph, "apply", on_rows)
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
        work = add_work(graph, Work(self._index))
        picks = ((_pick, work, Fixed(wanted[number]), *self._chunks[number]) for number in sorted(wanted))
        return add_tasks(graph, "pick", picks), places


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
