"""k from one spectrum, k over replicates, and what is known about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import UserError
from .parallel import run_tasks
from .rows import check_rows, take_units
from .spectrum import graph_spectrum
from .validation import RandomState, check_embeddings, check_whole_number, make_generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON = 1e-6
"""Keeps the quotients of the rule finite where eigenvalues are zero."""

FLAT = 1e-5
"""A spectrum whose differences are all below this is flat: what is left is rounding in float32."""

SPREAD_SHARE = 0.8
"""Largest share of the rows in a sample behind the interval: samples that nearly coincide cannot disagree."""

SPREAD_REPLICATES = 40
"""Samples drawn for the interval alone, where those behind the estimate are larger than that."""


@dataclass(frozen=True)
class KEstimate:
    """The estimated number of clusters, with its uncertainty and the evidence for it.

    Attributes
    ----------
    k : int
        The estimate.
    mean : float
        Before rounding: the mean over the replicates, or k itself where one sample held all rows.
    interval : tuple of int
        The range that holds 95 % of the single-sample estimates: what another random sample
        of this data would have said. Always includes `k`. The samples are those behind the
        mean, or of 80 % of the rows each, where those behind the mean are larger than that.
    replicates : ndarray of int
        The estimate from each sample behind the interval.
    fallback_fraction : float
        The share of estimates behind `mean` in which no jump was found, so that the default took
        its place. Near 1 the spectrum has nothing to say about this data.
    n_samples : int
        Rows of the data.
    eigenvalues, deltas : ndarray
        The spectrum of one representative sample (its own estimate is the closest to `mean`),
        and the normalized differences, ``deltas[j]`` standing for the eigenvalue number
        ``window + 1 + j``.
    threshold : float
        What a difference must exceed in that sample.
    window : int
        Length of the moving average.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.repeat(np.eye(8), 20, axis=0)
    >>> ts.estimate_k(X, random_state=0)
    8 clusters (95 % interval 8 to 8), from the spectrum of all 160 rows
    """

    k: int
    mean: float
    interval: tuple[int, int]
    replicates: NDArray[np.intp] = field(compare=False)
    fallback_fraction: float
    n_samples: int
    eigenvalues: NDArray[np.float32] = field(compare=False)
    deltas: NDArray[np.float64] = field(compare=False)
    threshold: float
    window: int

    def __repr__(self) -> str:
        plural = "cluster" if self.k == 1 else "clusters"
        size = len(self.eigenvalues)
        source = (
            f"the spectrum of all {self.n_samples:,} rows"
            if size == self.n_samples
            else f"random samples of {size:,} out of {self.n_samples:,} rows"
        )
        doubt = ""
        if self.fallback_fraction:
            doubt = "; no jump was found" if size == self.n_samples else f"; no jump in {self.fallback_fraction:.0%}"
        low, high = self.interval
        return f"{self.k} {plural} (95 % interval {low} to {high}), from {source}{doubt}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the spectrum, the normalized differences, the threshold, the window and k.

        This is Figure 1 of the paper, for the representative sample.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The left axis, with the eigenvalues. Needs ``pip install "textspectra[plot]"``.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.repeat(np.eye(8), 20, axis=0)
        >>> ts.estimate_k(X, random_state=0).plot().get_xlabel()
        'index of the eigenvalue'
        """
        from .plots import plot_spectrum

        return plot_spectrum(self, ax)


class Reading(NamedTuple):
    """What the rule sees in one spectrum; `jump` is None where no difference exceeds the threshold."""

    jump: int | None
    deltas: NDArray[np.float64]
    threshold: float


def read_spectrum(eigenvalues: NDArray[np.floating[Any]], window: int) -> Reading:
    """Apply the paper's rule to ascending eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> read_spectrum(np.array([0, 0, 0, 0, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97]), 3).jump
    4
    """
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
    """Read the number of clusters off the eigenvalues of a normalized Laplacian.

    The normalized differences ``δ_i = |λ_i - λ_(i-1)| / mean(λ_(i-w) … λ_(i-1))`` are taken over
    ``i = w+1 … ⌊n/2⌋``, the first half of the ascending spectrum. Walking down from the largest
    index, the first one above ``mean(δ) + std(δ)`` is the jump; k is the number of eigenvalues
    before it. This is the paper's ``EstimateKFromSpectrum``.

    The paper's text says "upper half (i > n/2)", while its figure shows the first half. Only the
    first half reproduces the paper's numbers (the other one gives k near n/2), so it is used here.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Ascending.
    window : int, default=3
        Length of the moving average.
    fallback : int, default=5
        The answer where no difference exceeds the threshold.

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
    if (np.diff(values) < 0).any():
        position = int((np.diff(values) < 0).argmax()) + 1
        raise UserError(f"eigenvalues must be ascending, but the one at position {position} is below the one before.")
    check_whole_number("window", window, low=1)
    check_whole_number("fallback", fallback, low=1)
    jump = read_spectrum(values, window).jump
    return min(fallback, len(values)) if jump is None else jump


def estimate_k(
    X: ArrayLike,
    *,
    window: int = 3,
    max_sample: int = 1000,
    n_replicates: int | None = None,
    zscore: bool = False,
    fallback: int = 5,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate how many clusters there are, from the Laplacian spectrum of random samples.

    Up to `max_sample` rows, the rule of :func:`k_from_spectrum` is applied once, to everything.
    Above, it is applied to ``round(10 · log2 n)`` random samples of `max_sample` rows, and the
    estimates are averaged. Only the sampled rows enter the computation, so the time hardly grows with n.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings: an array or memory map of any numeric type, or a data frame of numbers. It
        is neither copied nor changed.
    window : int, default=3
        Length of the moving average over the spectrum.
    max_sample : int, default=1000
        Rows in a sample.
    n_replicates : int, optional
        Number of samples; by default ``round(10 · log2 n)``, and 40 for samples that serve the
        interval alone.
    zscore : bool, default=False
        Standardize similarities before rectifying them.
    fallback : int, default=5
        The answer of a sample that shows no jump (never more than its number of distinct rows).
    random_state : int, RandomState, Generator or None
        The same int gives the same result for any `n_jobs`.
    n_jobs : int, optional
        Samples worked on at a time; all cores by default. An active ``joblib.parallel_config``
        chooses the back end.

    Returns
    -------
    KEstimate

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(12), 150, axis=0) + 0.03 * rng.standard_normal((1800, 12))
    >>> ts.estimate_k(X, random_state=0)
    12 clusters (95 % interval 12 to 12), from random samples of 1,000 out of 1,800 rows
    """
    X = check_embeddings(X)
    check_rows(X, n_jobs=n_jobs)
    rule = Rule(
        check_whole_number("window", window, low=1),
        check_whole_number("max_sample", max_sample, low=2 * window + 2, hint="Twice the window and 2 are needed."),
        None if n_replicates is None else check_whole_number("n_replicates", n_replicates, low=1),
        zscore,
        check_whole_number("fallback", fallback, low=1),
    )
    return estimate_from_rows(X, np.ones(len(X), np.intp), rule, random_state=random_state, n_jobs=n_jobs)


class Rule(NamedTuple):
    """The settings of the spectral rule, with the paper's defaults."""

    window: int = 3
    max_sample: int = 1000
    n_replicates: int | None = None
    zscore: bool = False
    fallback: int = 5


def estimate_from_rows(
    X: NDArray[Any],
    counts: NDArray[np.intp],
    rule: Rule = Rule(),  # noqa: B008 - a NamedTuple is immutable
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate k of the data in which row i of `X` (already checked) occurs ``counts[i]`` times."""
    rng = make_generator(random_state)
    last_position = np.cumsum(counts)
    n = int(last_position[-1])
    size = min(n, rule.max_sample)
    n_behind_mean = 1 if size == n else rule.n_replicates or round(10 * math.log2(n))
    spread_size = min(size, max(2, round(SPREAD_SHARE * n)))
    n_behind_interval = 0 if spread_size == size else rule.n_replicates or SPREAD_REPLICATES

    def samples() -> Iterator[tuple[NDArray[np.float32], Rule]]:
        for sample_size in [size] * n_behind_mean + [spread_size] * n_behind_interval:
            everything = sample_size == n
            positions = np.arange(n) if everything else rng.choice(n, sample_size, replace=False, shuffle=False)
            yield take_units(X, np.searchsorted(last_position, positions, side="right")), rule

    results = run_tasks(_estimate_sample, samples(), n_jobs=n_jobs)
    behind_mean, behind_interval = results[:n_behind_mean], results[n_behind_mean:] or results
    mean = float(np.mean([result.k for result in behind_mean]))
    k = max(1, round(mean))
    replicates = np.array([result.k for result in behind_interval], np.intp)
    low, high = np.quantile(replicates, [0.025, 0.975])
    typical = min(behind_mean, key=lambda result: abs(result.k - mean))
    return KEstimate(
        k=k,
        mean=mean,
        interval=(min(k, math.floor(low)), max(k, math.ceil(high))),
        replicates=replicates,
        fallback_fraction=float(np.mean([result.reading.jump is None for result in behind_mean])),
        n_samples=n,
        eigenvalues=typical.eigenvalues,
        deltas=typical.reading.deltas,
        threshold=typical.reading.threshold,
        window=rule.window,
    )


class _SampleEstimate(NamedTuple):
    k: int
    eigenvalues: NDArray[np.float32]
    reading: Reading


def _estimate_sample(units: NDArray[np.float32], rule: Rule) -> _SampleEstimate:
    eigenvalues = graph_spectrum(units, zscore=rule.zscore)
    reading = read_spectrum(eigenvalues, rule.window)
    # Rounding can tell equal rows apart once they are scaled, hence the tolerance.
    k = min(rule.fallback, len(np.unique(units.round(6), axis=0))) if reading.jump is None else reading.jump
    return _SampleEstimate(k, eigenvalues, reading)
