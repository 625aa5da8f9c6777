"""The paper's rule: k from the spectrum of the Laplacian, averaged over random samples."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError

from ..errors import UserError
from . import F32, F64, Ints
from .rows import CountedRows, unit_rows
from .validation import check_embeddings, check_whole_number

EPSILON = 1e-6  # keeps quotients finite if eigenvalues are zero
FLAT = 1e-5  # if all differences of a spectrum are below this, they are rounding in float32, and the spectrum is flat
SPREAD_SHARE = 0.8  # of the rows, at most, in a sample for the interval: samples that nearly coincide cannot disagree
SPREAD_REPLICATES = 40  # samples drawn for the interval alone, if the samples for the estimate are larger than that


def laplacian_eigenvalues(X: ArrayLike, *, zscore: bool = False) -> F32:
    """Return the eigenvalues of the normalized Laplacian of the rectified cosine graph, ascending.

    Rows are scaled to unit length; ``S = max(X Xᵀ, 0)`` with its diagonal; ``d = S 1``; the Laplacian is
    ``L = I - D^-1/2 S D^-1/2``. This is the paper's ``ComputeEigenvalues``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings, n ≥ 2. The time grows with n³ and the memory with n². Above a few thousand rows, pass a sample, as
        :func:`spectral_k` does.
    zscore : bool, default=False
        Standardize the similarities over the whole matrix before they are rectified.

    Returns
    -------
    ndarray of shape (n,), float32

    See Also
    --------
    k_from_spectrum : The number of groups in these eigenvalues.

    Examples
    --------
    Two groups that have nothing in common give two eigenvalues of zero.

    >>> import textspectra as ts
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    >>> ts.laplacian_eigenvalues(X).round(3) + 0
    array([0.   , 0.   , 0.828, 0.828], dtype=float32)
    """
    return graph_spectrum(unit_rows(check_embeddings(X)), zscore=zscore)


def cosine_graph(units: F32, *, zscore: bool = False) -> F32:
    """Return the rectified cosine similarities of unit rows, diagonal included; `zscore` removes weak links."""
    graph = units @ units.T
    if zscore:
        spread = graph.std(dtype=np.float64)
        if spread > np.finfo(np.float32).eps:
            graph -= graph.mean(dtype=np.float64)
            graph /= spread
    np.maximum(graph, 0, out=graph)
    return graph


def graph_spectrum(units: F32, *, zscore: bool = False) -> F32:
    """Compute :func:`laplacian_eigenvalues` of rows that have length 1."""
    graph = cosine_graph(units, zscore=zscore)
    scale = 1 / np.sqrt(graph.sum(axis=1))
    graph *= scale[:, None]
    graph *= scale
    # The Laplacian is positive semi-definite: negative eigenvalues are rounding.
    return np.maximum(1 - _symmetric_eigenvalues(graph)[::-1], 0)


@cache
def _lapack_ssyevd() -> Callable[..., None]:
    """Return LAPACK's single-precision symmetric eigenvalue routine as a C function.

    Called through ctypes it releases the GIL, so samples run in parallel threads. ``scipy.linalg.eigvalsh`` holds the
    GIL, which takes 1.9 times as long on two cores, and ``numpy.linalg.eigvalsh`` computes in double precision.
    """
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["ssyevd"]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(get_pointer(capsule, get_name(capsule)))


def _symmetric_eigenvalues(matrix: F32) -> F32:
    """Return the eigenvalues of a C-contiguous symmetric matrix, ascending; overwrites it."""
    n = len(matrix)
    values, integer_work = np.empty(n, np.float32), np.empty(1, np.intc)
    order, unit, info = ctypes.c_int(n), ctypes.c_int(1), ctypes.c_int(0)

    def call(work: F32, length: int) -> None:
        size = ctypes.c_int(length)
        _lapack_ssyevd()(
            ctypes.c_char_p(b"N"), ctypes.c_char_p(b"L"), ctypes.byref(order), matrix.ctypes.data,
            ctypes.byref(order), values.ctypes.data, work.ctypes.data, ctypes.byref(size),
            integer_work.ctypes.data, ctypes.byref(unit), ctypes.byref(info),
        )  # fmt: skip
        if info.value != 0:
            raise LinAlgError(f"the eigenvalues of a {n} x {n} graph did not converge (LAPACK info {info.value})")

    best_length = np.empty(1, np.float32)
    call(best_length, -1)
    length = max(2 * n + 1, int(best_length[0]))
    call(np.empty(length, np.float32), length)
    return values


@dataclass(frozen=True)
class Spectrum:
    """The evidence of the paper's rule: a typical spectrum, and how often a jump was found."""

    eigenvalues: F32 = field(compare=False)  # of the sample whose estimate is closest to `mean`
    deltas: F64 = field(compare=False)  # its normalized differences; deltas[j] is of eigenvalue window + 1 + j
    threshold: float  # a difference above this is a jump
    window: int  # length of the moving average
    mean: float  # k before rounding: the mean over the samples
    fallback_fraction: float  # share of samples without a jump; near 1, the spectrum says nothing about this data


def find_jump(eigenvalues: F32 | F64, window: int) -> tuple[int | None, F64, float]:
    """Apply the paper's rule to ascending eigenvalues: k, or None without a jump, the differences and the threshold."""
    half = np.asarray(eigenvalues, np.float64)[: len(eigenvalues) // 2]
    if len(half) <= window:
        return None, np.zeros(0), 0.0
    averages = np.lib.stride_tricks.sliding_window_view(half[:-1], window).mean(axis=1)
    deltas = np.abs(np.diff(half)[window - 1 :]) / (averages + EPSILON)
    mean = deltas.mean()
    threshold = float(mean * (1 + deltas.std() / (mean + EPSILON)))
    above = np.flatnonzero(deltas > threshold)
    is_jump = len(above) and deltas.max() >= FLAT
    return window + int(above[-1]) if is_jump else None, deltas, threshold


def k_from_spectrum(eigenvalues: ArrayLike, *, window: int = 3, fallback: int = 5) -> int:
    """Return the number of clusters that the eigenvalues of a normalized Laplacian show.

    The normalized differences are ``δ_i = |λ_i - λ_(i-1)| / mean(λ_(i-w) … λ_(i-1))`` for ``i = w+1 … ⌊n/2⌋``, the
    first half of the ascending spectrum. The last one above ``mean(δ) + std(δ)`` is the jump, and k is the number of
    eigenvalues before it. This is the paper's ``EstimateKFromSpectrum``.

    The paper's text says "upper half (i > n/2)", while its figure shows the first half. Only the first half reproduces
    the paper's numbers, so it is used here. In the upper half, the last jump is the last eigenvalue, and k is n - 1.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Ascending.
    window : int, default=3
        Length of the moving average.
    fallback : int, default=5
        The answer if no difference exceeds the threshold.

    Returns
    -------
    int

    See Also
    --------
    laplacian_eigenvalues : The eigenvalues of the graph of the rows.
    estimate_k : Both, on random samples of the rows.

    Examples
    --------
    >>> import textspectra as ts
    >>> ts.k_from_spectrum([0, 0, 0, 0, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97])
    4
    """
    values = np.asarray(eigenvalues, np.float64)
    if values.ndim != 1 or not len(values):
        raise UserError(f"eigenvalues must be a one-dimensional, non-empty array, but its shape is {values.shape}.")
    if not np.isfinite(values).all():
        raise UserError(f"eigenvalues has a NaN or infinity at position {int((~np.isfinite(values)).argmax())}.")
    falls = np.flatnonzero(np.diff(values) < 0)
    if len(falls):
        position = falls[0] + 1
        raise UserError(f"eigenvalues must be ascending, but the one at position {position} is below the one before.")
    check_whole_number("window", window, low=1)
    check_whole_number("fallback", fallback, low=1)
    k = find_jump(values, window)[0]
    return min(fallback, len(values)) if k is None else k


class Rule(NamedTuple):
    """The options of the spectral method, with the paper's defaults."""

    window: int = 3
    max_sample: int = 1000
    n_replicates: int | None = None
    zscore: bool = False
    fallback: int = 5


def mean_jump(rows: CountedRows, rule: Rule, rng: Generator) -> tuple[int, tuple[int, int], Ints, Spectrum]:
    """Return k, the mean over random samples, the range of the single estimates, these estimates, and the evidence."""
    n = len(rows)
    size = min(n, rule.max_sample)
    n_behind_mean = 1 if size == n else rule.n_replicates or round(10 * math.log2(n))
    spread_size = min(size, max(2, round(SPREAD_SHARE * n)))
    n_behind_interval = 0 if spread_size == size else rule.n_replicates or SPREAD_REPLICATES

    sizes = [size] * n_behind_mean + [spread_size] * n_behind_interval
    samples = ((rows.positions(sample_size, rng), rule) for sample_size in sizes)
    results = rows.map(_estimate_sample, samples)
    behind_mean, behind_interval = results[:n_behind_mean], results[n_behind_mean:] or results
    mean = fmean(k for k, _ in behind_mean)
    k = max(1, round(mean))
    replicates = np.array([estimate for estimate, _ in behind_interval], np.intp)
    low, high = np.quantile(replicates, [0.025, 0.975])
    _, typical = min(behind_mean, key=lambda result: abs(result[0] - mean))
    spectrum = replace(typical, mean=mean, fallback_fraction=fmean(part.fallback_fraction for _, part in behind_mean))
    return k, (min(k, math.floor(low)), max(k, math.ceil(high))), replicates, spectrum


def _estimate_sample(units: F32, rule: Rule) -> tuple[int, Spectrum]:
    eigenvalues = graph_spectrum(units, zscore=rule.zscore)
    jump, deltas, threshold = find_jump(eigenvalues, rule.window)
    # Equal rows may differ by rounding once they are scaled, hence the tolerance.
    k = min(rule.fallback, len(np.unique(units.round(6), axis=0))) if jump is None else jump
    return k, Spectrum(eigenvalues, deltas, threshold, rule.window, k, float(jump is None))
