"""Scale rows of embeddings to unit length, block by block, and sum them by cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import UserError
from .blocks import add, count_draws, fold_blocks, is_dask, map_rows, member_draws
from .memory_blocks import Folded

Result = TypeVar("Result")

ORDINARY_NORMS = (1e-12, 1e15)
"""Norms outside this range are computed again in float64, to avoid overflow and underflow."""


def scaled_rows(
    rows: NDArray[Any], *, first_row: int | NDArray[np.intp] = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
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
        narrow[unusual] = _carefully_scaled(rows[unusual], unusual, first_row)
        scale[unusual] = 1
    return narrow, scale


def unit_rows(rows: NDArray[Any], *, first_row: int | NDArray[np.intp] = 0) -> NDArray[np.float32]:
    """Return a float32 copy of `rows` with each row scaled to length 1; arguments and errors as in `scaled_rows`."""
    narrow, scale = scaled_rows(rows, first_row=first_row)
    return np.multiply(narrow, scale[:, None], order="C")


def _carefully_scaled(
    rows: NDArray[Any], positions: NDArray[np.intp], first_row: int | NDArray[np.intp]
) -> NDArray[np.float64]:
    wide = np.asarray(rows, np.float64)
    peaks = np.abs(wide).max(axis=1, initial=0)
    numbers = positions + first_row if isinstance(first_row, int) else first_row[positions]
    broken = ~np.isfinite(peaks)
    if broken.any():
        raise UserError(
            f"X has a NaN or an infinite value in {_name_rows(numbers[broken])}; remove such rows or embed them again."
        )
    zero = peaks == 0
    if zero.any():
        raise UserError(f"X is all zeros in {_name_rows(numbers[zero])}, so it has no direction. Remove such rows.")
    wide = wide / peaks[:, None]
    scaled: NDArray[np.float64] = wide / np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return scaled


def _name_rows(numbers: NDArray[np.intp]) -> str:
    more = f", and {len(numbers) - 1:,} more in this block of rows" if len(numbers) > 1 else ""
    return f"row {numbers[0]} (counting from 0{more})"


def take_units(X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the given rows of `X`, scaled to length 1."""
    return unit_rows(X[rows], first_row=rows)


def distinct_rows(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows without their copies, in the order in which they come first."""
    # Equal bits have equal sums of products, others practically never; a sort of whole rows takes ten times as long.
    bits = np.ascontiguousarray(units + np.float32(0)).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64)
    first = np.unique(bits @ factors, return_index=True)[1]
    return units if len(first) == len(units) else units[np.sort(first)]


class CountedRows:
    """Draw unit rows from data in which row i of `X` occurs ``counts[i]`` times."""

    def __init__(self, X: Any, counts: Any = None) -> None:
        self.X = X
        self._counts = counts
        self._draws = count_draws([X], counts)

    def __len__(self) -> int:
        return int(self._draws.totals[0])

    def once(self) -> CountedRows:
        """Return the rows that occur at all, once each."""
        return self if self._counts is None else CountedRows(self.X, np.minimum(self._counts, 1))

    def positions(self, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return `size` random positions without repetition; all positions in order if `size` is their number."""
        n = len(self)
        return np.arange(n) if size == n else rng.choice(n, size, replace=False, shuffle=False)

    def map(
        self, function: Callable[..., Result], requests: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Result]:
        """Call ``function(units, *rest)`` for each request ``(positions, *rest)``, in parallel, results in order.

        `units` are the rows at these positions, scaled to length 1. On Dask, the function runs on a worker.
        """
        return self._draws.map(partial(_on_units, function), ((0, *request) for request in requests), n_jobs=n_jobs)

    def run(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
    ) -> list[Result]:
        """Call ``function(*task)`` for each task in parallel, results in order. On Dask, it runs on workers."""
        return self._draws.run(function, tasks, n_jobs=n_jobs)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return `size` random rows, scaled to length 1; all rows in order if `size` is their number."""
        rows, part = self._draws.take(0, self.positions(size, rng))
        return unit_rows(part, first_row=rows)


def _on_units(function: Callable[..., Any], rows: NDArray[np.intp], part: NDArray[Any], *rest: Any) -> Any:
    return function(unit_rows(part, first_row=rows), *rest)


def map_members(
    function: Callable[..., Result], X: Any, codes: Any, n_codes: int, requests: Iterable[tuple[Any, ...]]
) -> list[Result]:
    """Call ``function(units, *rest)`` for each request ``(code, positions, *rest)``.

    `units` are the rows at these positions of the cluster, scaled to length 1. ALL_ROWS as code means all rows.
    """
    return member_draws([X], codes, n_codes).map(partial(_on_units, function), requests)


def fold_rows(
    function: Callable[..., Folded],
    X: Any,
    *aligned: Any,
    combine: Callable[[Any, Any], Any] = add,
    n_jobs: int | None = None,
) -> Folded:
    """Call ``function(rows, scale, *parts)`` for each block of rows of `X`, and combine the results.

    `rows` and `scale` come from :func:`scaled_rows`. The `aligned` arrays have one entry per row; None means ones.
    The rest is as in :func:`textspectra.arrays.engine.fold_blocks`.
    """

    def on_block(first_row: int, part: NDArray[Any], *parts: Any) -> Folded:
        rows, scale = scaled_rows(part, first_row=first_row)
        return function(rows, scale, *(np.ones(len(rows)) if one is None else one for one in parts))

    return fold_blocks(on_block, X, *aligned, combine=combine, n_jobs=n_jobs)


def map_unit_rows(
    function: Callable[..., NDArray[Any]], X: Any, *aligned: Any, dtype: type = np.intp, n_jobs: int | None = None
) -> Any:
    """Return ``function(rows, scale, *parts)`` of all blocks: one entry per row. On Dask it is computed when needed."""

    def on_block(first_row: int, part: NDArray[Any], *parts: Any) -> NDArray[Any]:
        return function(*scaled_rows(part, first_row=first_row), *parts)

    return map_rows(on_block, X, *aligned, dtype=dtype, n_jobs=n_jobs)


def cosines_to_centers(X: Any, codes: Any, centers: NDArray[np.float32], *, n_jobs: int | None = None) -> Any:
    """Return the cosine of each row with the center of its code."""
    directions = centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), np.finfo(np.float32).tiny)

    def cosines(rows: NDArray[np.float32], scale: NDArray[np.float32], code: NDArray[np.intp]) -> NDArray[np.float32]:
        cosine: NDArray[np.float32] = np.einsum("ij,ij->i", rows, directions[code]) * scale
        return cosine

    return map_unit_rows(cosines, X, codes, dtype=np.float32, n_jobs=n_jobs)


def check_rows(X: Any, *, n_jobs: int | None = None) -> None:
    """Read `X` once and raise an error if a row cannot be scaled to length 1.

    A Dask array is not read for this: its rows are checked whenever they are read.
    """
    if not is_dask(X):
        fold_rows(lambda rows, scale: Folded(()), X, n_jobs=n_jobs)


def nonzero_rows(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows have a value that is not zero."""
    nonzero: NDArray[np.bool_] = map_rows(lambda first_row, part: part.any(axis=1), X, dtype=np.bool_)
    return nonzero


def cluster_sums(X: Any, codes: Any, n_clusters: int, *, weights: Any = None) -> NDArray[np.float64]:
    """Return the weighted sum of the unit rows of each cluster, in one pass over `X`."""
    return sums_and_sizes(X, codes, n_clusters, weights=weights).sums


class SumsAndSizes(NamedTuple):
    """The sum of the unit rows of each cluster, and the number of rows."""

    sums: NDArray[np.float64]
    sizes: NDArray[np.intp]


def sums_and_sizes(X: Any, codes: Any, n_clusters: int, *, weights: Any = None) -> SumsAndSizes:
    """Return the weighted sum of the unit rows of each cluster, and its number of rows, without weights."""

    def on_block(rows: NDArray[np.float32], scale: NDArray[np.float32], code: Any, weight: Any) -> Folded:
        sums = sum_by_code(rows, code, n_clusters, scale * weight.astype(np.float32))
        return Folded((sums.astype(np.float64), np.bincount(code, minlength=n_clusters)))

    return SumsAndSizes(*fold_rows(on_block, X, codes, weights).statistics)


def sum_by_code(
    rows: NDArray[np.float32], codes: NDArray[np.intp], n_codes: int, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the weighted sum of the rows of each code."""
    n = len(codes)
    members = sparse.csc_array((weights, codes, np.arange(n + 1)), shape=(n_codes, n))
    summed: NDArray[np.float32] = members @ rows
    return summed
