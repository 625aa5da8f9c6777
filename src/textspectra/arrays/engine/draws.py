"""Draw rows of Dask arrays by their positions; only these rows leave their chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray

from . import local
from .chunks import chunks_of, opened
from .distributed import call_each, shared
from .index import Index
from .supervision import compute

GROUP_BYTES = 2**27
"""Maximal size of the rows that are picked together: a worker may have to hold all of them."""

SHARE_BYTES = 2**24
"""Maximal size of a share: rows that one task joins for several requests."""


class DaskDraws:
    """The counterpart of :class:`textspectra.arrays.engine.local.Draws` for Dask arrays."""

    def __init__(self, arrays: Sequence[Any], index: Callable[..., Index], by: Any) -> None:
        self._index = shared(index)
        self._row_bytes = sum(
            array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays if array is not None
        )
        self._chunks = chunks_of([*arrays, by], arrays[0])
        if by is None:
            self._in_chunk = np.array(arrays[0].chunks[0], np.intp)[:, None]
        else:
            totals = delayed(_totals, pure=False)
            self._in_chunk = np.array(
                compute([totals(self._index, chunk.parts[-1]) for chunk in self._chunks]), np.intp
            )
        self._ends = self._in_chunk.cumsum(axis=0)
        self.totals = self._ends[-1]

    def take(self, key: int, positions: NDArray[np.intp]) -> list[Any]:
        """Bring rows into this process: their numbers, and the rows of each array."""
        picks, ((places,),) = self._picks([[(key, positions)]])
        return _rows_at(places, _gather(0, compute(picks)))

    def map(
        self, function: Callable[..., Any], requests: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(rows, *parts, *rest)`` on a worker for each request ``(key, positions, *rest)``."""
        work = shared(function)
        results: list[Delayed] = []
        for group in self._up_to(GROUP_BYTES, requests):
            shares = list(self._up_to(SHARE_BYTES, group))
            picks, places = self._picks(shares)
            for number, (share, places_of_share) in enumerate(zip(shares, places, strict=True)):
                rows = delayed(partial(_gather, number), pure=False)(picks)
                results += [
                    delayed(partial(_apply, own, rest), pure=False)(work, rows)
                    for (_, _, *rest), own in zip(share, places_of_share, strict=True)
                ]
        return compute(results)

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Any]:
        """Call ``function(*task)`` on a worker for each task."""
        return call_each(function, tasks)

    def _up_to(self, n_bytes: int, requests: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
        """Group adjacent requests up to this size; a larger request is a group of its own."""
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

    def _picks(self, shares: Sequence[Sequence[tuple[Any, ...]]]) -> tuple[list[Delayed], list[list[NDArray[np.intp]]]]:
        """Return a task per chunk that picks its rows for all shares, and where in a share each request's rows are.

        A graph in which every request depends on every chunk takes longer to build than to compute.
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
        picks = []
        for number in sorted(wanted):
            first_row, parts = self._chunks[number]
            picks.append(delayed(partial(_pick, wanted[number]), pure=False)(self._index, first_row, *parts))
        return picks, places


def _totals(index: Callable[..., Index], part: Any) -> NDArray[np.intp]:
    (by,) = opened([part])
    return index(len(by), by[:]).totals


def _pick(wanted: list[Any], index: Callable[..., Index], first_row: int, *parts: Any) -> dict[int, list[Any]]:
    """Return the rows of a chunk that each share needs: their numbers, and the rows of each array."""
    *arrays, by = opened(parts)
    of_chunk = index(local.n_rows(arrays), None if by is None else by[:])
    shares, keys, positions = zip(*wanted, strict=True)
    rows = of_chunk.find(np.concatenate(keys), np.concatenate(positions))
    ends = np.cumsum([len(some) for some in keys])[:-1]
    columns = [first_row + rows, *(None if array is None else _rows_of(array, rows) for array in arrays)]
    split = [[None] * len(shares) if column is None else np.split(column, ends) for column in columns]
    return dict(zip(shares, map(list, zip(*split, strict=True)), strict=True))


def _rows_of(array: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    # In ascending order, so that each page of a memory map is read once.
    order = np.argsort(rows)
    found = np.asarray(array[rows[order]])
    unsorted = np.empty_like(found)
    unsorted[order] = found
    return unsorted


def _gather(share: int, picks: list[dict[int, list[Any]]]) -> list[Any]:
    """Join the rows of a share from all chunks."""
    columns = zip(*(pick[share] for pick in picks if share in pick), strict=True)
    return [None if column[0] is None else np.concatenate(column) for column in columns]


def _rows_at(places: NDArray[np.intp], share: list[Any]) -> list[Any]:
    return [None if column is None else column[places] for column in share]


def _apply(places: NDArray[np.intp], rest: list[Any], function: Callable[..., Any], share: list[Any]) -> Any:
    return function(*_rows_at(places, share), *rest)
