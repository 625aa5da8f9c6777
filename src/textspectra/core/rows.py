"""Read rows of arrays in memory and of Dask arrays: in blocks, at random, and scaled to length 1.

All other code of the package is written once for both kinds of arrays. Arrays that are passed together are *aligned*:
each has one entry per row. The first one decides whether the work runs in threads of this process or on Dask, which is
imported only for Dask arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator
from scipy import sparse

from ..errors import UserError
from ..parallel import run_tasks, stream_tasks, use_jobs
from . import F32, F64, Arguments, Array, Bools, Ints, PerRow, Rows

Value = TypeVar("Value")
Floats = TypeVar("Floats", F32, F64)

BLOCK_BYTES = 2**22  # size of a block of rows in float32, which fits in the cache of a core
ORDINARY_NORMS = (1e-12, 1e15)  # other norms are computed again in float64, to avoid overflow and underflow
ALL_ROWS = -1  # the key of a MemberIndex for the rows of all clusters


def is_dask(array: object) -> bool:
    """Return True for a Dask array, without importing Dask."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(array, module.Array)


def _dask() -> ModuleType:
    from . import dask_blocks

    return dask_blocks


def add(former: Iterable[Any], latter: Iterable[Any]) -> Arguments:
    """Add up two tuples of statistics."""
    return tuple(left + right for left, right in zip(former, latter, strict=True))


def fold_blocks(
    function: Callable[..., Arguments],
    *arrays: Rows | None,
    combine: Callable[..., Any] = add,
    per_row: bool = False,
    first_row: int = 0,
) -> Arguments:
    """Read all rows once, block by block, and combine what ``function(first_row, *parts)`` returns for each block.

    A block may be empty. The parts of an array that is None are None. `combine` gets the statistics of two adjacent
    blocks, the earlier one first. With `per_row`, the last value that the function returns is an array with one entry
    per row instead; these are joined, and on Dask they stay in the memory of the workers. Blocks and their order do not
    depend on the number of cores, so neither do sums.
    """
    if is_dask(arrays[0]):
        folded: Arguments = _dask().fold_chunks(function, arrays, combine=combine, per_row=per_row)
        return folded
    shape: tuple[int, ...] = getattr(arrays[0], "shape", ())
    step = max(1, BLOCK_BYTES // (4 * max(1, int(np.prod(shape[1:], dtype=int)))))
    starts = range(0, max(shape[0], 1), step)

    def on_block(start: int) -> Arguments:
        block = slice(start, start + step)
        return function(first_row + start, *(None if array is None else array[block] for array in arrays))

    # For a single block, a pool of threads would cost more than it saves.
    results = stream_tasks(on_block, ((start,) for start in starts), n_jobs=1 if len(starts) == 1 else None)
    if not per_row:
        return reduce(combine, results)
    values: list[Array] = []

    def statistics() -> Iterator[Arguments]:
        for *of_block, value in results:
            values.append(value)
            yield tuple(of_block)

    return *reduce(combine, statistics()), np.concatenate(values)


def map_rows(function: Callable[..., Array], *arrays: Rows | None, dtype: type = np.intp, first_row: int = 0) -> PerRow:
    """Return ``function(first_row, *parts)`` of all blocks: one entry per row. On Dask it is computed when needed."""
    if is_dask(arrays[0]):
        return _dask().map_chunks(function, arrays, dtype=dtype)
    return fold_blocks(lambda *block: (function(*block),), *arrays, per_row=True, first_row=first_row)[0]


def recode(codes: Rows, table: Array) -> PerRow:
    """Return ``table[code]`` for the code of each row."""
    return map_rows(lambda first_row, part: table[part], codes)


def align(values: Array, like: PerRow) -> PerRow:
    """Convert an array to the chunks of `like`, if that is a Dask array of the same length."""
    is_needed = is_dask(like) and len(values) == len(like)
    return _dask().in_chunks(values, like.chunks[0]) if is_needed else values


def as_given(array: PerRow, like: Rows) -> PerRow:
    """Return an array as it is; a Dask array gets the chunks that the user gave `like`."""
    return _dask().in_given_chunks(array, like) if is_dask(array) else array


def keep(array: PerRow) -> PerRow:
    """Compute a Dask array once and keep it on the workers; return any other array as it is."""
    return _dask().keep_chunks(array) if is_dask(array) else array


class CountIndex:
    """Rows that occur several times: row i has ``counts[i]`` positions (one if None) under the only key, 0."""

    def __init__(self, n_rows: int, counts: Ints | None) -> None:
        self._last = None if counts is None else np.cumsum(counts)
        self.totals = np.array([n_rows if self._last is None else self._last[-1] if n_rows else 0], np.intp)

    def find(self, key: int | Ints, positions: Ints) -> Ints:
        """Return the row at each position; `key` is one key for all positions, or one per position."""
        return positions if self._last is None else np.searchsorted(self._last, positions, side="right")


class MemberIndex:
    """The rows of each cluster in order; the key is the cluster's code, from 0 to `n_codes` - 1, or ALL_ROWS."""

    def __init__(self, n_rows: int, codes: Ints, n_codes: int) -> None:
        sizes = np.bincount(codes, minlength=n_codes)
        self.totals = np.append(sizes, n_rows)
        self._order = np.append(np.argsort(codes, kind="stable"), np.arange(n_rows))
        self._starts = np.append(np.cumsum(sizes) - sizes, n_rows)

    def find(self, key: int | Ints, positions: Ints) -> Ints:
        """Return the row at each position of a cluster; `key` is as in :class:`CountIndex`."""
        return np.asarray(self._order[self._starts[key] + positions])


Index = Callable[..., CountIndex | MemberIndex]


class Draws:
    """Draw rows of aligned arrays by their positions in an index, and call functions on them."""

    def __init__(self, arrays: Sequence[PerRow], index: Index, by: PerRow) -> None:
        self._arrays = arrays
        self._index = index(len(arrays[0]), by)
        self.totals = self._index.totals

    def take(self, key: int, positions: Ints) -> list[PerRow]:
        """Return the numbers of the rows, and the rows of each array."""
        rows = self._index.find(key, positions)
        return [rows, *(None if array is None else array[rows] for array in self._arrays)]

    def map(self, function: Callable[..., Value], requests: Iterable[Arguments]) -> list[Value]:
        """Call ``function(rows, *parts, *rest)`` for each request ``(key, positions, *rest)``, results in order."""
        return run_tasks(function, ((*self.take(key, positions), *rest) for key, positions, *rest in requests))


def scaled_rows(rows: Array, *, first_row: int | Ints = 0) -> tuple[F32, F32]:
    """Return `rows` in float32, and the factor that scales each row to length 1.

    A float32 array is not copied: most sums and products need only the factors. A row that is all zeros or has a NaN
    or an infinite value raises a UserError that names the row. For this message, `first_row` is the number of
    ``rows[0]`` in the caller's data, or the numbers of all rows.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        narrow = np.asarray(rows, np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", narrow, narrow))
        scale = 1 / norms
    low, high = ORDINARY_NORMS
    unusual = np.flatnonzero(~((norms > low) & (norms < high)))
    if len(unusual):
        narrow = np.array(narrow)
        numbers = unusual + first_row if isinstance(first_row, int) else first_row[unusual]
        narrow[unusual] = _scaled_carefully(np.asarray(rows[unusual], np.float64), numbers)
        scale[unusual] = 1
    return narrow, scale


def _scaled_carefully(rows: F64, numbers: Ints) -> F64:
    def name(bad: Bools) -> str:
        more = f", and {bad.sum() - 1:,} more in this block of rows" if bad.sum() > 1 else ""
        return f"row {numbers[bad][0]} (counting from 0{more})"

    peaks = np.abs(rows).max(axis=1, initial=0)
    broken, zero = ~np.isfinite(peaks), peaks == 0
    if broken.any():
        raise UserError(f"X has a NaN or an infinite value in {name(broken)}; remove these rows or embed them again.")
    if zero.any():
        raise UserError(f"X is all zeros in {name(zero)}, so it has no direction. Remove these rows.")
    rows = rows / peaks[:, None]
    return np.asarray(rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None])


def unit_rows(rows: Array, *, first_row: int | Ints = 0) -> F32:
    """Return a float32 copy of `rows` with each row scaled to length 1; arguments and errors as in `scaled_rows`."""
    narrow, scale = scaled_rows(rows, first_row=first_row)
    return np.multiply(narrow, scale[:, None], order="C")


def take_units(X: Rows, rows: Ints) -> F32:
    """Return the given rows of `X`, scaled to length 1."""
    return unit_rows(X[rows], first_row=rows)


def distinct_rows(units: F32) -> F32:
    """Return the rows without their copies, in the order of their first appearance."""
    # Equal bits have equal sums of products, others practically never; a sort of whole rows takes ten times as long.
    bits = np.ascontiguousarray(units + np.float32(0)).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64)
    first = np.unique(bits @ factors, return_index=True)[1]
    return units if len(first) == len(units) else units[np.sort(first)]


class CountedRows:
    """Draw unit rows from data that has row i of `X` ``counts[i]`` times, once by default."""

    def __init__(self, X: Rows, counts: PerRow = None, *aligned: PerRow) -> None:
        self.X = X
        self._counts = counts
        self._draws = (_dask().DaskDraws if is_dask(X) else Draws)([X, *aligned], CountIndex, counts)

    def __len__(self) -> int:
        return int(self._draws.totals[0])

    def once(self) -> CountedRows:
        """Return the rows that occur at all, once each."""
        return self if self._counts is None else CountedRows(self.X, np.minimum(self._counts, 1))

    def positions(self, size: int, rng: Generator) -> Ints:
        """Return `size` random positions without repetition; all positions in order if there are fewer."""
        n = len(self)
        return np.arange(n) if size >= n else rng.choice(n, size, replace=False, shuffle=False)

    def take(self, positions: Ints) -> list[Array]:
        """Return the numbers of the rows, the rows scaled to length 1, and the entries of aligned arrays."""
        rows, part, *aligned = self._draws.take(0, positions)
        ones = np.ones(len(rows))
        return [rows, unit_rows(part, first_row=rows), *(ones if values is None else values for values in aligned)]

    def map(self, function: Callable[..., Value], requests: Iterable[Arguments]) -> list[Value]:
        """Call ``function(units, *aligned, *rest)`` for each request ``(positions, *rest)``, in parallel, in order."""
        return self._draws.map(partial(_on_units, function), ((0, *request) for request in requests))

    def call(self, function: Callable[..., Value], positions: Ints, *rest: object) -> Value:
        """Call ``function(units, *aligned, *rest)`` once, with one BLAS thread: more would change the last bits."""
        with use_jobs(1):
            return self.map(function, [(positions, *rest)])[0]

    def run(self, function: Callable[..., Value], tasks: Iterable[Arguments]) -> list[Value]:
        """Call ``function(*task)`` for each task where the rows are, in parallel, results in order."""
        return list(_dask().call_each(function, tasks)) if is_dask(self.X) else run_tasks(function, tasks)


def _on_units(function: Callable[..., Value], rows: Ints, part: Array, *rest: object) -> Value:
    return function(unit_rows(part, first_row=rows), *rest)


def map_members(
    function: Callable[..., Value], X: Rows, codes: Rows, n_codes: int, requests: Iterable[Arguments]
) -> list[Value]:
    """Call ``function(units, *rest)`` for each request ``(code, positions, *rest)``; ALL_ROWS is a code, too."""
    draws = (_dask().DaskDraws if is_dask(X) else Draws)([X], partial(MemberIndex, n_codes=n_codes), codes)
    return draws.map(partial(_on_units, function), requests)


def _on_scaled(function: Callable[..., Value]) -> Callable[..., Value]:
    """Let a function that takes ``(rows, scale, *parts)`` take a block; the parts of an array that is None are ones."""

    def on_block(first_row: int, part: Array, *parts: Array | None) -> Value:
        rows, scale = scaled_rows(part, first_row=first_row)
        return function(rows, scale, *(np.ones(len(rows)) if values is None else values for values in parts))

    return on_block


def fold_rows(function: Callable[..., Arguments], X: Rows, *aligned: Rows | None, per_row: bool = False) -> Arguments:
    """Add up ``function(rows, scale, *parts)`` of all blocks, where `rows` and `scale` come from `scaled_rows`."""
    return fold_blocks(_on_scaled(function), X, *aligned, per_row=per_row)


def map_unit_rows(function: Callable[..., Array], X: Rows, *aligned: Rows, dtype: type = np.intp) -> PerRow:
    """Return ``function(rows, scale, *parts)`` of all blocks: one entry per row. On Dask it is computed when needed."""
    return map_rows(_on_scaled(function), X, *aligned, dtype=dtype)


def refuse_bad_rows(X: Rows) -> None:
    """Read `X` once and raise an error if a row cannot be scaled to length 1."""
    if not is_dask(X):  # its rows are checked whenever they are read
        fold_rows(lambda rows, scale: (), X)


def nonzero_rows(X: Rows) -> Bools:
    """Return which rows have a value that is not zero."""
    return np.asarray(map_rows(lambda first_row, part: part.any(axis=1), X, dtype=np.bool_))


def finite_rows(X: Rows) -> Bools:
    """Return which rows have neither a NaN nor an infinite value."""
    return np.asarray(map_rows(lambda first_row, part: np.isfinite(part).all(axis=1), X, dtype=np.bool_))


def cosines_to_centers(X: Rows, codes: Rows, centers: F32) -> PerRow:
    """Return the cosine of each row with the center of its code."""
    directions = centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), np.finfo(np.float32).tiny)

    def cosines(rows: F32, scale: F32, code: Ints) -> F32:
        return np.asarray(np.einsum("ij,ij->i", rows, directions[code]) * scale)

    return map_unit_rows(cosines, X, codes, dtype=np.float32)


class SumsAndSizes(NamedTuple):
    """The sum of the unit rows of each cluster, and the number of rows."""

    sums: F64
    sizes: Ints


def sums_and_sizes(X: Rows, codes: Rows, n_clusters: int, *, weights: Rows | None = None) -> SumsAndSizes:
    """Return the weighted sum of the unit rows of each cluster, and its number of rows, without weights."""

    def on_block(rows: F32, scale: F32, code: Ints, weight: F64) -> Arguments:
        sums = sum_by_code(rows, code, n_clusters, scale * weight.astype(np.float32))
        return sums.astype(np.float64), np.bincount(code, minlength=n_clusters)

    return SumsAndSizes(*fold_rows(on_block, X, codes, weights))


def cluster_sums(X: Rows, codes: Rows, n_clusters: int, *, weights: Rows | None = None) -> F64:
    """Return the weighted sum of the unit rows of each cluster, in one pass over `X`."""
    return sums_and_sizes(X, codes, n_clusters, weights=weights).sums


def sum_by_code(rows: Floats, codes: Ints, n_codes: int, weights: Floats) -> Floats:
    """Return the weighted sum of the rows of each code."""
    n = len(codes)
    members = sparse.csc_array((weights, codes, np.arange(n + 1)), shape=(n_codes, n))
    return np.asarray(members @ rows)
