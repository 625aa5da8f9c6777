"""The operations in which arrays in memory and Dask arrays differ: fold blocks, map rows, draw rows.

All other code uses the functions of this package and is written once. Arrays that are passed together are *aligned*:
each has one entry per row. The first one decides where the work runs: in threads of this process, or on Dask. Dask is
imported only for Dask arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import memory_blocks as local
from .memory_blocks import ALL_ROWS, CountIndex, Folded, MemberIndex

if TYPE_CHECKING:
    from .dask_blocks import DaskDraws

__all__ = [
    "ALL_ROWS",
    "Folded",
    "add",
    "align",
    "as_given",
    "count_draws",
    "fold_blocks",
    "is_dask",
    "keep",
    "map_rows",
    "member_draws",
]


def is_dask(array: Any) -> bool:
    """Return whether something is a Dask array, without importing Dask."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(array, module.Array)


def add(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add up two tuples of statistics."""
    return tuple(left + right for left, right in zip(one, other, strict=True))


def fold_blocks(
    function: Callable[..., Folded],
    *arrays: Any,
    combine: Callable[[Any, Any], Any] = add,
    n_jobs: int | None = None,
) -> Folded:
    """Read all rows once, block by block, and combine what ``function(first_row, *parts)`` returns for each block.

    A block may be empty, and the total must not depend on where blocks begin. The parts of an array that is None are
    None. `combine` gets the statistics of two adjacent blocks, the earlier one first.

    For arrays in memory, `n_jobs` is the number of threads. The blocks and their order do not depend on it, so sums do
    not either. For Dask arrays it is ignored, and the values per row stay in the memory of the workers.
    """
    if is_dask(arrays[0]):
        from . import dask_blocks as distributed

        return distributed.fold_blocks(function, arrays, combine=combine)
    return local.fold_blocks(function, arrays, combine=combine, n_jobs=n_jobs)


def map_rows(function: Callable[..., Any], *arrays: Any, dtype: type = np.intp, n_jobs: int | None = None) -> Any:
    """Return ``function(first_row, *parts)`` of all blocks: one entry per row. On Dask it is computed when needed."""
    if is_dask(arrays[0]):
        from . import dask_blocks as distributed

        return distributed.map_rows(function, arrays, dtype=dtype)
    return local.map_rows(function, arrays, n_jobs=n_jobs)


def align(values: Any, like: Any) -> Any:
    """Convert an array to the chunks of `like`, if that is a Dask array of the same length."""
    if not is_dask(like) or len(values) != len(like):
        return values
    import dask.array

    return dask.array.from_array(values, chunks=(like.chunks[0], *values.shape[1:]))


def as_given(array: Any, like: Any) -> Any:
    """Return an array as it is; a Dask array gets the chunks that the user gave `like`."""
    if not is_dask(array):
        return array
    from . import dask_blocks as chunks

    return chunks.as_given(array, like)


def keep(array: Any) -> Any:
    """Compute a Dask array once and keep it on the workers; return any other array as it is."""
    if not is_dask(array):
        return array
    from . import dask_blocks as distributed

    return distributed.keep(array)


def count_draws(arrays: Sequence[Any], counts: Any = None) -> local.Draws | DaskDraws:
    """Prepare draws from rows that occur ``counts[i]`` times each (once if None); the only key is 0."""
    return _draws(arrays, CountIndex, counts)


def member_draws(arrays: Sequence[Any], codes: Any, n_codes: int) -> local.Draws | DaskDraws:
    """Prepare draws from the rows of clusters; the key is the code of a cluster, or ALL_ROWS."""
    return _draws(arrays, partial(MemberIndex, n_codes=n_codes), codes)


def _draws(arrays: Sequence[Any], index: Callable[..., Any], by: Any) -> local.Draws | DaskDraws:
    if is_dask(arrays[0]):
        from .dask_blocks import DaskDraws

        return DaskDraws(arrays, index, by)
    return local.Draws(arrays, index, by)
