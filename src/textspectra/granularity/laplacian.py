"""The graph of cosine similarities of some rows, and the eigenvalues of its normalized Laplacian."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError

from ..arrays.rows import unit_rows
from ..validation import check_embeddings


def laplacian_eigenvalues(X: ArrayLike, *, zscore: bool = False) -> NDArray[np.float32]:
    """Return the eigenvalues of the normalized Laplacian of the rectified cosine graph, ascending.

    Rows are scaled to unit length; ``S = max(X Xᵀ, 0)`` with its diagonal; ``d = S 1``; the
    Laplacian is ``L = I - D^-1/2 S D^-1/2``. This is the paper's ``ComputeEigenvalues``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings, n ≥ 2. The time grows with n³ and the memory with n². Above a few thousand
        rows, pass a sample, as :func:`estimate_k` does.
    zscore : bool, default=False
        Standardize the similarities over the whole matrix before they are rectified.

    Returns
    -------
    ndarray of shape (n,), float32

    Examples
    --------
    Two groups that have nothing in common give two eigenvalues of zero.

    >>> import textspectra as ts
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    >>> ts.laplacian_eigenvalues(X).round(3) + 0
    array([0.   , 0.   , 0.828, 0.828], dtype=float32)
    """
    return graph_spectrum(unit_rows(check_embeddings(X)), zscore=zscore)


def cosine_graph(units: NDArray[np.float32], *, zscore: bool = False) -> NDArray[np.float32]:
    """Return the rectified cosine similarities of unit rows, diagonal included.

    With `zscore`, the similarities are first standardized by the mean and standard deviation of the whole matrix,
    which removes weak links.
    """
    graph = units @ units.T
    if zscore:
        spread = graph.std(dtype=np.float64)
        if spread > np.finfo(np.float32).eps:
            graph -= graph.mean(dtype=np.float64)
            graph /= spread
    np.maximum(graph, 0, out=graph)
    return graph


def graph_spectrum(units: NDArray[np.float32], *, zscore: bool = False) -> NDArray[np.float32]:
    """Compute :func:`laplacian_eigenvalues` of rows that have length 1."""
    graph = cosine_graph(units, zscore=zscore)
    scale = 1 / np.sqrt(graph.sum(axis=1))
    graph *= scale[:, None]
    graph *= scale
    # The Laplacian is positive semi-definite: negative eigenvalues are rounding.
    return np.maximum(1 - _symmetric_eigenvalues(graph)[::-1], 0)


@cache
def _lapack_ssyevd() -> Any:
    """Return LAPACK's single-precision symmetric eigenvalue routine as a C function.

    ``scipy.linalg.eigvalsh`` holds the GIL, and ``numpy.linalg.eigvalsh`` computes float32 in double precision.
    SciPy exports the same routine to compiled code. Called through ctypes it releases the GIL, so several samples are
    computed in parallel threads.
    """
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["ssyevd"]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(get_pointer(capsule, get_name(capsule)))


def _symmetric_eigenvalues(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the eigenvalues of a C-contiguous symmetric matrix, ascending; overwrites it."""
    n = len(matrix)
    values = np.empty(n, np.float32)
    integer_work = np.empty(1, np.intc)
    order, one, info = ctypes.c_int(n), ctypes.c_int(1), ctypes.c_int(0)

    def call(work: NDArray[np.float32], length: int) -> None:
        size = ctypes.c_int(length)
        _lapack_ssyevd()(
            ctypes.c_char_p(b"N"), ctypes.c_char_p(b"L"), ctypes.byref(order), matrix.ctypes.data,
            ctypes.byref(order), values.ctypes.data, work.ctypes.data, ctypes.byref(size),
            integer_work.ctypes.data, ctypes.byref(one), ctypes.byref(info),
        )  # fmt: skip
        if info.value != 0:
            raise LinAlgError(f"the eigenvalues of a {n} x {n} graph did not converge (LAPACK info {info.value})")

    best_length = np.empty(1, np.float32)
    call(best_length, -1)
    length = max(2 * n + 1, int(best_length[0]))
    call(np.empty(length, np.float32), length)
    return values
