"""Estimate the number of groups, its interval, and coarser and finer levels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UserError
from .agreement import FEWEST_HALVED, Agreement, reproducible_k
from .rows import CountedRows, Ints, PerRow, Rows, refuse_bad_rows
from .spectral import Rule, Spectrum, spectral_k
from .validation import Level, RandomState, check_embeddings, check_n_jobs, check_weights, check_whole_number, make_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method = Literal["auto", "reproducible", "spectral"]

INTERVAL_WIDTH = 2.3  # half the width of the interval in ln k if the halves do not agree at all; see `interval_around`
WEAK = 0.25  # below this confidence, an answer is off by a factor of 2.5 on average, and says so
APART = 2.25  # the levels differ by this factor, unless halves agree on a clear k elsewhere
CLEAR_LEVEL = 0.95  # a k at which halves agree this much is a level, however far it is from the suggested one

SuggestionName = Literal["coarse", "suggested", "fine"]
NAMES: tuple[SuggestionName, ...] = get_args(SuggestionName)


class Suggestion(NamedTuple):
    """A level: its name, its number of groups, and how well two halves of the data agree on it."""

    name: SuggestionName
    k: int
    score: float


@dataclass(frozen=True)
class KEstimate:
    """The estimated number of groups, with its uncertainty and the evidence for it.

    Attributes
    ----------
    k : int
        The estimate; 1 means that the data shows no groups.
    interval : tuple of int
        A range that includes `k`. Method "reproducible": the range in which the number of groups that people see
        should lie, calibrated on labeled text sets. Method "spectral": the range of 95 % of the estimates from single
        samples.
    confidence : float
        From 0 to 1. Method "reproducible": the share of the weight within a factor of 1.5 of k, times the agreement of
        the halves there. Real texts rarely exceed 0.5. Method "spectral": the share of samples with a jump.
    suggestions : tuple of Suggestion
        Up to three levels, from coarse to fine, each with the agreement of the halves.
    method : {"reproducible", "spectral"}
        The method that was used.
    n_samples : int
        Number of rows, each as often as it counts.
    replicates : ndarray of int
        Repeated estimates, from resampled halves or from single samples.
    agreement : Agreement or None
        The score over k, for method "reproducible".
    spectrum : Spectrum or None
        Eigenvalues and jumps, for method "spectral".

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.repeat(np.eye(8), 20, axis=0)
    >>> estimate = ts.estimate_k(X, random_state=0)
    >>> estimate
    8 groups (95 % interval 8 to 8), on which two halves of the 160 rows agree
    >>> [(suggestion.name, suggestion.k) for suggestion in estimate.suggestions]
    [('coarse', 4), ('suggested', 8)]
    """

    k: int
    interval: tuple[int, int]
    confidence: float
    suggestions: tuple[Suggestion, ...]
    method: Literal["reproducible", "spectral"]
    n_samples: int
    replicates: Ints = field(compare=False)
    agreement: Agreement | None = field(compare=False)
    spectrum: Spectrum | None

    def at(self, level: Level) -> int:
        """Return the number of groups at a level; "auto" is "suggested". A level that does not exist is a UserError.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> estimate = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0))
        >>> estimate.at("coarse"), estimate.at("suggested")
        (4, 8)
        >>> estimate.at("fine")
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: This data has no finer level: 8 groups are suggested, nothing finer.
        """
        sought = "suggested" if level == "auto" else level
        ks = {suggestion.name: suggestion.k for suggestion in self.suggestions}
        if sought not in ks:
            clusters = "1 group is" if self.k == 1 else f"{self.k} groups are"
            raise UserError(f"This data has no {sought}r level: {clusters} suggested, nothing {sought}r.")
        return ks[sought]

    def __repr__(self) -> str:
        if self.k == 1 and self.spectrum is None:
            return "1 group: no structure here; the rows lie like one cloud, with no groups that could be told apart"
        low, high = self.interval
        plural = "group" if self.k == 1 else "groups"
        answer = f"{self.k} {plural} (95 % interval {low} to {high})"
        if self.spectrum is None:
            agree = "agree only in part: a rough guess" if self.confidence < WEAK else "agree"
            return f"{answer}, on which two halves of the {self.n_samples:,} rows {agree}"
        size, share = len(self.spectrum.eigenvalues), self.spectrum.fallback_fraction
        if size == self.n_samples:
            return f"{answer}, from the spectrum of all {size:,} rows{'; no jump was found' if share else ''}"
        doubt = f"; no jump in {share:.0%}" if share else ""
        return f"{answer}, from random samples of {size:,} out of {self.n_samples:,} rows{doubt}"

    def _repr_html_(self) -> str:
        from .estimate_views import estimate_html

        return estimate_html(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score over k with the suggestions, or the spectrum (Figure 1 of the paper).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib Axes
            Needs ``pip install "textspectra[plot]"``.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.repeat(np.eye(8), 20, axis=0)
        >>> ts.estimate_k(X, method="spectral", random_state=0).plot().get_xlabel()
        'index of the eigenvalue'
        """
        from .estimate_views import plot_agreement, plot_spectrum

        return plot_agreement(self, ax) if self.spectrum is None else plot_spectrum(self, self.spectrum, ax)


def estimate_k(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    method: Method = "auto",
    window: int = 3,
    max_sample: int = 1000,
    n_replicates: int | None = None,
    zscore: bool = False,
    fallback: int = 5,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate the number of groups, with an interval, a confidence, and coarser and finer levels.

    All methods work on random samples, so the time hardly grows with the number of rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings: an array or memory map of any numeric type, or a data frame of numbers. They are neither copied
        nor changed. Of a Dask array, only chunks with sampled rows are read, and the workers do the computing.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, rounded up; once by default. For "reproducible", rows count once or not at all,
        unless fewer than 64 do.
    method : {"auto", "reproducible", "spectral"}
        "reproducible" splits the rows into random halves, clusters each half at every k and compares the two. Each k
        gets a power of this agreement as its weight. The estimate is the k up to which 42 % of the weight lies if the
        halves hardly agree, and 70 % if they agree well. Without structure, k is 1.
        Duplicates do not count, unless fewer than 64 rows are distinct.
        "spectral" is the paper's rule: the last jump in the spectrum of the Laplacian (:func:`k_from_spectrum`),
        averaged over samples. "auto" is "reproducible" for 64 rows or more and "spectral" below.
    window, max_sample, n_replicates, zscore, fallback
        Options of the spectral method: the length of the moving average, the rows per sample, the number of samples
        (by default ``round(10 · log2 n)``, and 40 if they serve the interval alone), whether to standardize
        similarities before negative ones become 0, and the answer of a sample without a jump.
    random_state : int, RandomState, Generator or None, default=0
        The seed. The same int gives the same result for any `n_jobs`, here and in :class:`AutoKMeans` and
        :class:`AutoAgglomerative`. None is a random seed.
    n_jobs : int, optional
        Number of samples computed at a time; all cores by default. An active ``joblib.parallel_config`` chooses the
        back end.

    Returns
    -------
    KEstimate

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(12), 40, axis=0) + 0.03 * rng.standard_normal((480, 12))
    >>> ts.estimate_k(X, random_state=0).k
    12
    >>> ts.estimate_k(X, method="spectral", max_sample=200, random_state=0)
    12 groups (95 % interval 12 to 12), from random samples of 200 out of 480 rows
    >>> ts.estimate_k(rng.standard_normal((500, 12)), random_state=0)
    1 group: no structure here; the rows lie like one cloud, with no groups that could be told apart
    """
    if method not in get_args(Method):
        raise UserError(f"method must be one of {', '.join(get_args(Method))}, but it is {method!r}.")
    X = check_embeddings(X)
    weights, _ = check_weights(sample_weight, X)
    rule = Rule(
        check_whole_number("window", window, low=1),
        check_whole_number("max_sample", max_sample, low=2 * window + 2, hint="Twice the window and 2 are needed."),
        None if n_replicates is None else check_whole_number("n_replicates", n_replicates, low=1),
        zscore,
        check_whole_number("fallback", fallback, low=1),
    )
    if method != "spectral" and rule != Rule():
        changed = next(name for name, value in rule._asdict().items() if value != Rule._field_defaults[name])
        raise UserError(f"{changed} is an option of method='spectral', but the method is {method!r}.")
    check_n_jobs(n_jobs)
    refuse_bad_rows(X, n_jobs=n_jobs)
    return estimate_from_rows(count_rows(X, weights), method, rule, random_state=random_state, n_jobs=n_jobs)


def count_rows(X: Rows, weights: PerRow) -> CountedRows:
    """Return `X`, already checked, with each row as often as its weight says, rounded up; once if weights is None."""
    return CountedRows(X, None if weights is None else np.ceil(weights).astype(np.intp))


def estimate_from_rows(
    rows: CountedRows,
    method: Method = "auto",
    rule: Rule = Rule(),  # noqa: B008 - a NamedTuple is immutable
    *,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate k from rows and options that are already checked."""
    rng = np.random.default_rng(make_seed(random_state))
    if method == "reproducible" and len(rows) < FEWEST_HALVED:
        raise UserError(f"method='reproducible' needs at least {FEWEST_HALVED} rows, but X has {len(rows)}.")
    if method == "spectral" or len(rows) < FEWEST_HALVED:
        k, interval, replicates, spectrum = spectral_k(rows, rule, rng, n_jobs=n_jobs)
        confidence = 1 - spectrum.fallback_fraction
        only = (Suggestion("suggested", k, confidence),)
        return KEstimate(k, interval, confidence, only, "spectral", len(rows), replicates, None, spectrum)
    estimate = reproducible_k(rows, rng, n_jobs=n_jobs)
    if estimate is None:
        only = (Suggestion("suggested", 1, 1.0),)
        return KEstimate(1, (1, 1), 1.0, only, "reproducible", len(rows), np.ones(1, np.intp), None, None)
    (k, confidence), replicates, agreement, n_rows = estimate
    interval = (1, 1) if k == 1 else interval_around(k, confidence, n_rows)
    levels = suggest(agreement, k, confidence, n_rows)
    return KEstimate(k, interval, confidence, levels, "reproducible", len(rows), replicates, agreement, None)


def suggest(agreement: Agreement, k: int, confidence: float, n: int) -> tuple[Suggestion, ...]:
    """Return `k`, with a coarser and a finer level if `n` distinct rows have room for them."""
    if k == 1:
        return (Suggestion("suggested", 1, confidence),)
    clear = agreement.k[agreement.halves >= CLEAR_LEVEL]
    coarse = int(max(clear[2 * clear <= k], default=round(k / APART)))
    fine = int(min(clear[clear >= 2 * k], default=min(round(k * APART), max(n // 4, agreement.k[-1]))))
    levels: dict[SuggestionName, int] = {"suggested": k}
    if 2 <= coarse <= k / 2:
        levels = {"coarse": coarse, **levels}
    if fine >= 2 * k:
        levels["fine"] = fine
    scores = np.interp(np.log([*levels.values()]), np.log(agreement.k), np.clip(agreement.halves, 0, 1))
    return tuple(
        Suggestion(name, level, float(score)) for (name, level), score in zip(levels.items(), scores, strict=True)
    )


def interval_around(k: int, confidence: float, n: int, width: float = INTERVAL_WIDTH) -> tuple[int, int]:
    """Return the 95 % interval of k: the less the halves agree, the wider it is.

    The width was calibrated on labeled text sets (``benchmarks/k_recovery.md``), so the interval is about the number of
    groups that people see.
    """
    factor = math.exp(width * math.sqrt(max(0.0, 1 - confidence)))
    return max(2, math.floor(k / factor)), min(max(k, n // 2), math.ceil(k * factor))
