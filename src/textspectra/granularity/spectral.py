"""The paper's rule: k from one spectrum, averaged over random samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import CountedRows
from ..errors import UserError
from ..validation import check_whole_number
from .laplacian import graph_spectrum

EPSILON = 1e-6
"""Keeps quotients finite if eigenvalues are zero."""

FLAT = 1e-5
"""If all differences of a spectrum are below this, they are rounding in float32, and the spectrum is flat."""

SPREAD_SHARE = 0.8
"""A sample for the interval has at most this share of the rows: samples that nearly coincide cannot disagree."""

SPREAD_REPLICATES = 40
"""Number of samples drawn for the interval alone, if those for the estimate are larger than that share."""


@dataclass(frozen=True)
class Spectrum:
    """The evidence of the paper's rule: a typical spectrum, and how often a jump was found.

    Attributes
    ----------
    eigenvalues, deltas : ndarray
        The spectrum of a typical sample (the one whose estimate is closest to `mean`) and its normalized
        differences; ``deltas[j]`` belongs to the eigenvalue number ``window + 1 + j``.
    threshold : float
        A difference above this is a jump.
    window : int
        Length of the moving average.
    mean : float
        k before rounding: the mean over the samples.
    fallback_fraction : float
        The share of samples without a jump, for which the fallback was used. Near 1, the spectrum says nothing about
        this data.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> spectrum = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), method="spectral").spectrum
    >>> spectrum.mean, spectrum.fallback_fraction, len(spectrum.eigenvalues)
    (8.0, 0.0, 160)
    """

    eigenvalues: NDArray[np.float32] = field(compare=False)
    deltas: NDArray[np.float64] = field(compare=False)
    threshold: float
    window: int
    mean: float
    fallback_fraction: float


class Reading(NamedTuple):
    """The rule applied to one spectrum; `jump` is None if no difference exceeds the threshold."""

    jump: int | None
    deltas: NDArray[np.float64]
    threshold: float


def read_spectrum(eigenvalues: NDArray[np.floating[Any]], window: int) -> Reading:
    """Apply the paper's rule to ascending eigenvalues."""
    half = np.asarray(eigenvalues, np.float64)[: len(eigenvalues) // 2]
    if len(half) <= window:
        return Reading(None, np.zeros(0), 0.0)
    averages = np.lib.stride_tricks.sliding_window_view(half[:-1], window).mean(axis=1)
    deltas = np.abs(np.diff(half)[window - 1 :]) / (averages + EPSILON)
    mean = deltas.mean()
    threshold = float(mean * (1 + deltas.std() / (mean + EPSILON)))
    above = np.flatnonzero(deltas > threshold)
    if not len(above) or deltas.max() < FLAT:
        return Reading(None, deltas, threshold)
    return Reading(window + int(above[-1]), deltas, threshold)


def k_from_spectrum(eigenvalues: ArrayLike, *, window: int = 3, fallback: int = 5) -> int:
    """Return the number of clusters that the eigenvalues of a normalized Laplacian show.

    The normalized differences are ``δ_i = |λ_i - λ_(i-1)| / mean(λ_(i-w) … λ_(i-1))`` for ``i = w+1 … ⌊n/2⌋``, the
    first half of the ascending spectrum. The last one above ``mean(δ) + std(δ)`` is the jump, and k is the number of
    eigenvalues before it. This is the paper's ``EstimateKFromSpectrum``.

    The paper's text says "upper half (i > n/2)", while its figure shows the first half. Only the first half
    reproduces the paper's numbers (the other one gives k near n/2), so it is used here.

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
    jump = read_spectrum(values, window).jump
    return min(fallback, len(values)) if jump is None else jump


class Rule(NamedTuple):
    """The options of the spectral method, with the paper's defaults."""

    window: int = 3
    max_sample: int = 1000
    n_replicates: int | None = None
    zscore: bool = False
    fallback: int = 5


def spectral_k(
    rows: CountedRows, rule: Rule, rng: np.random.Generator, *, n_jobs: int | None = None
) -> tuple[int, tuple[int, int], NDArray[np.intp], Spectrum]:
    """Estimate k by the paper's algorithm: the mean over random samples.

    Return k, the range of the estimates from single samples, these estimates, and the evidence.
    """
    n = len(rows)
    size = min(n, rule.max_sample)
    n_behind_mean = 1 if size == n else rule.n_replicates or round(10 * math.log2(n))
    spread_size = min(size, max(2, round(SPREAD_SHARE * n)))
    n_behind_interval = 0 if spread_size == size else rule.n_replicates or SPREAD_REPLICATES

    sizes = [size] * n_behind_mean + [spread_size] * n_behind_interval
    samples = ((rows.positions(sample_size, rng), rule) for sample_size in sizes)
    results = rows.map(_estimate_sample, samples, n_jobs=n_jobs)
    behind_mean, behind_interval = results[:n_behind_mean], results[n_behind_mean:] or results
    mean = fmean(result.k for result in behind_mean)
    k = max(1, round(mean))
    replicates = np.array([result.k for result in behind_interval], np.intp)
    low, high = np.quantile(replicates, [0.025, 0.975])
    typical = min(behind_mean, key=lambda result: abs(result.k - mean))
    spectrum = Spectrum(
        eigenvalues=typical.eigenvalues,
        deltas=typical.reading.deltas,
        threshold=typical.reading.threshold,
        window=rule.window,
        mean=mean,
        fallback_fraction=fmean(result.reading.jump is None for result in behind_mean),
    )
    return k, (min(k, math.floor(low)), max(k, math.ceil(high))), replicates, spectrum


class _SampleEstimate(NamedTuple):
    k: int
    eigenvalues: NDArray[np.float32]
    reading: Reading


def _estimate_sample(units: NDArray[np.float32], rule: Rule) -> _SampleEstimate:
    eigenvalues = graph_spectrum(units, zscore=rule.zscore)
    reading = read_spectrum(eigenvalues, rule.window)
    # Equal rows may differ by rounding once they are scaled, hence the tolerance.
    k = min(rule.fallback, len(np.unique(units.round(6), axis=0))) if reading.jump is None else reading.jump
    return _SampleEstimate(k, eigenvalues, reading)
