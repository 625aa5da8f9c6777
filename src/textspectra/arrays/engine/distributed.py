"""Blocks of rows of Dask arrays: one task reads a chunk and calls the code for arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

import dask.array as da
from dask import delayed
from dask.delayed import Delayed

from . import local
from .chunks import array_of, chunks_of, no_rows_of, opened
from .local import Folded
from .supervision import compute, compute_and_keep

SPLIT_EVERY = 8
"""Statistics that are combined at a time: a tree, so that no worker holds those of all chunks."""


def shared(value: Any) -> Delayed:
    """Return a value that many tasks use and that is sent to each worker once."""
    return delayed(value, pure=False, traverse=False)


def fold_blocks(
    function: Callable[..., Folded], arrays: Sequence[Any], *, combine: Callable[[Any, Any], Any]
) -> Folded:
    """Fold each chunk on a worker and combine the statistics in a tree; the values per row stay on the workers."""
    sample = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).per_row
    fold = delayed(_fold_chunk if sample is not None else _chunk_statistics, pure=False)
    work, join = shared(function), shared(combine)
    folded = [fold(work, join, chunk.first_row, *chunk.parts) for chunk in chunks_of(arrays, arrays[0])]
    if sample is None:
        return Folded(compute([_in_a_tree(join, folded)])[0])
    results, kept = compute_and_keep([_in_a_tree(join, [one[0] for one in folded])], [one[1] for one in folded])
    return Folded(results[0], array_of(kept, arrays[0].chunks[0], sample))


def map_rows(function: Callable[..., Any], arrays: Sequence[Any], *, dtype: type) -> da.Array:
    """Return a Dask array whose chunks are computed from those of `arrays` when they are needed."""
    sample = function(0, *(None if array is None else no_rows_of(array) for array in arrays)).astype(dtype)
    work, on_chunk = shared(function), delayed(_map_chunk, pure=False)
    chunks = [on_chunk(work, chunk.first_row, *chunk.parts) for chunk in chunks_of(arrays, arrays[0])]
    return array_of(chunks, arrays[0].chunks[0], sample)


def keep(array: da.Array) -> da.Array:
    """Compute an array once and keep it where it was computed."""
    _, kept = compute_and_keep([], list(array.to_delayed().ravel()))
    return array_of(kept, array.chunks[0], no_rows_of(array))


def call_each(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], progress: Callable[[int, int], None] | None = None
) -> list[Any]:
    """Call ``function(*task)`` on a worker for each task, results in order."""
    work = shared(function)
    return compute([delayed(partial(_call, task), pure=False)(work) for task in tasks], progress=progress)


def call_on_chunks(function: Callable[..., Any], array: da.Array, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call ``function(*arguments, chunk)`` where each chunk is, results in order."""
    work = shared(function)
    return compute(
        [
            delayed(partial(_call, some), pure=False)(work, *chunk.parts)
            for some, chunk in zip(arguments, chunks_of([array], array), strict=True)
        ]
    )


def _in_a_tree(combine: Delayed, statistics: list[Delayed]) -> Delayed:
    """Combine statistics, a few at a time."""
    together = delayed(reduce, pure=False)
    while len(statistics) > 1:
        starts = range(0, len(statistics), SPLIT_EVERY)
        statistics = [together(combine, statistics[start : start + SPLIT_EVERY]) for start in starts]
    return statistics[0]


def _fold_chunk(function: Callable[..., Folded], combine: Callable[..., Any], first_row: int, *parts: Any) -> Folded:
    return local.fold_blocks(function, opened(parts), combine=combine, n_jobs=1, first_row=first_row)


def _chunk_statistics(*arguments: Any) -> Any:
    return _fold_chunk(*arguments).statistics


def _map_chunk(function: Callable[..., Any], first_row: int, *parts: Any) -> Any:
    return local.map_rows(function, opened(parts), n_jobs=1, first_row=first_row)


def _call(arguments: tuple[Any, ...], function: Callable[..., Any], *parts: Any) -> Any:
    return function(*arguments, *opened(parts))
