"""Rows of embeddings as unit vectors, read block by block, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import UserError
from .parallel import run_tasks

Result = TypeVar("Result")

BLOCK_BYTES = 2**22
"""Size of the float32 copy that a block of rows becomes: small enough to stay in a core's cache."""

ORDINARY_NORMS = (1e-12, 1e15)
"""Norms outside these are computed again in float64, where neither overflow nor underflow reaches them."""


def scaled_rows(
    rows: NDArray[Any], *, first_row: int | NDArray[np.intp] = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return `rows` in float32, and the factor that gives each of them length 1.

    A float32 array comes back as it is, not copied: most sums and products need only the factors.

    Parameters
    ----------
    rows : array of shape (n, d)
        Numbers of any type.
    first_row : int or array of int
        The row number of ``rows[0]`` in the caller's data, or the row numbers of all rows; used in
        error messages only.

    Raises
    ------
    UserError
        Where a row has a NaN or an infinity, or is all zeros; the message names the row.

    Examples
    --------
    >>> import numpy as np
    >>> scaled_rows(np.array([[3.0, 4.0], [0.0, 2.0]]))
    (array([[3., 4.],
           [0., 2.]], dtype=float32), array([0.2, 0.5], dtype=float32))
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
    """Return a float32 copy of `rows` with every row scaled to length 1; errors as in :func:`scaled_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
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
    """Return the given rows of `X`, scaled to length 1.

    Examples
    --------
    >>> import numpy as np
    >>> take_units(np.eye(3) * 5, np.array([2, 0]))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return unit_rows(X[rows], first_row=rows)


class CountedRows:
    """The data in which row i of `X` occurs ``counts[i]`` times, as something to draw unit rows from.

    Examples
    --------
    >>> import numpy as np
    >>> rows = CountedRows(np.eye(2), np.array([3, 1]))
    >>> len(rows), rows.draw(4, np.random.default_rng(0)).sum(axis=0)
    (4, array([3., 1.], dtype=float32))
    """

    def __init__(self, X: NDArray[Any], counts: NDArray[np.intp] | None = None) -> None:
        self.X = X
        self._last_position = np.arange(1, len(X) + 1) if counts is None else np.cumsum(counts)

    def __len__(self) -> int:
        return int(self._last_position[-1])

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return `size` random rows, scaled to length 1; all of them, in order, where there are no more."""
        n = len(self)
        positions = np.arange(n) if size == n else rng.choice(n, size, replace=False, shuffle=False)
        return take_units(self.X, np.searchsorted(self._last_position, positions, side="right"))


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield the slices that cut `n_rows` into blocks; they depend on the shape alone.

    Examples
    --------
    >>> list(row_blocks(5000, 256))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    step = max(1, BLOCK_BYTES // (4 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def map_row_blocks(
    function: Callable[..., Result], X: NDArray[Any], *aligned: NDArray[Any], n_jobs: int | None = None
) -> list[Result]:
    """Call ``function(rows, scale, *parts)`` for each block of rows of `X`, in parallel, results in order.

    `rows` and `scale` are those of :func:`scaled_rows`; each of the `aligned` arrays has an entry a
    row and is cut like `X`. Blocks and their order do not depend on `n_jobs`, so a sum over the
    results is the same for any number of cores.

    Examples
    --------
    >>> import numpy as np
    >>> sum(map_row_blocks(lambda rows, scale: len(rows), np.ones((5000, 256))))
    5000
    """

    def on_block(block: slice) -> Result:
        rows, scale = scaled_rows(X[block], first_row=block.start)
        return function(rows, scale, *(part[block] for part in aligned))

    blocks = [(block,) for block in row_blocks(*X.shape)]
    if len(blocks) == 1:  # a pool of threads would cost more than the work
        return [on_block(*blocks[0])]
    return run_tasks(on_block, blocks, n_jobs=n_jobs, shared_memory=True)


def check_rows(X: NDArray[Any], *, n_jobs: int | None = None) -> None:
    """Read `X` once and raise where a row cannot be scaled to length 1.

    Examples
    --------
    >>> import numpy as np
    >>> check_rows(np.array([[1.0, 2.0], [0.0, 0.0]]))
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: X is all zeros in row 1 (counting from 0), so it has no direction. Remove such rows.
    """
    map_row_blocks(lambda rows, scale: None, X, n_jobs=n_jobs)


def nonzero_rows(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows have a value that is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> nonzero_rows(np.array([[0.0, 0.0], [0.0, 1.0]]))
    array([False,  True])
    """
    step = max(1, 2**20 // max(1, X.shape[1]))
    return np.concatenate([X[start : start + step].any(axis=1) for start in range(0, len(X), step)])


def cluster_sums(
    X: NDArray[Any],
    codes: NDArray[np.intp],
    n_clusters: int,
    *,
    weights: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the sum of the unit rows of each cluster, in one pass over `X`.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_sums(np.array([[2.0, 0.0], [0.0, 3.0], [5.0, 0.0]]), np.array([0, 1, 0]), 2)
    array([[2., 0.],
           [0., 1.]])
    """
    total = np.zeros((n_clusters, X.shape[1]))
    each = np.ones(len(X), np.float32) if weights is None else weights.astype(np.float32)
    for part in map_row_blocks(
        lambda rows, scale, code, weight: sum_by_code(rows, code, n_clusters, scale * weight),
        X, codes, each, n_jobs=n_jobs,
    ):  # fmt: skip
        total += part
    return total


def sum_by_code(
    rows: NDArray[np.float32], codes: NDArray[np.intp], n_codes: int, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the weighted sum of the rows of each code.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> sum_by_code(rows, np.array([0, 1, 1]), 2, np.ones(3, np.float32))
    array([[1., 0.],
           [1., 2.]], dtype=float32)
    """
    n = len(codes)
    members = sparse.csc_array((weights, codes, np.arange(n + 1)), shape=(n_codes, n))
    summed: NDArray[np.float32] = members @ rows
    return summed
