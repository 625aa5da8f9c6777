"""Estimate k and cluster the rows of arrays; here are the types of arrays that all modules share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Array = NDArray[Any]  # in memory, of any type
PerRow = Any  # an array with an entry per row, or a Dask array; a union of both would force callers to check
Arguments = tuple[Any, ...]  # of a function that is called for each block, task or request; or what it returns


class Rows(Protocol):
    """An array in memory, a memory map or a Dask array."""

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def dtype(self) -> np.dtype[np.generic]: ...  # noqa: D102
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice | Ints, /) -> Array: ...
