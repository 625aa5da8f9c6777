"""Estimate the number of groups, its interval, and coarser and finer levels, and show them as HTML or a figure."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UserError, require
from ..parallel import use_jobs
from . import Ints, PerRow, Rows
from .agreement import FEWEST_HALVED, Agreement, reproducible_k
from .rows import CountedRows, refuse_bad_rows
from .spectral import Rule, Spectrum, mean_jump
from .validation import Level, RandomState, check_embeddings, check_weights, check_whole_number, make_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method: TypeAlias = "Literal['auto', 'spectral'] | Callable[[Any], int | KEstimate]"

GIVEN = "given by "  # what the method of an estimate begins with if a function returned the number
INTERVAL_WIDTH = 2.3  # half the width of the interval in ln k if the halves do not agree at all; see `interval_around`
WEAK = 0.25  # below this confidence, an answer is off by a factor of 2.5 on average, and says so
APART = 2.25  # the levels differ by this factor, unless halves agree on a clear k elsewhere
CLEAR_LEVEL = 0.95  # a k at which halves agree this much is a level, however far it is from the suggested one

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 170, 36, 34, 18  # pixels of the drawing, and of its edges
LETTER, TICK_GAP = 6.2, 34  # pixels of a letter, and between two ticks, at least
ROUND = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))  # the ticks of a logarithmic axis
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 3, "frameon": False}

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
        should lie, calibrated on labeled text sets. Method "spectral": the range of 95% of the estimates from single
        samples. A given number is its own interval.
    confidence : float
        From 0 to 1. Method "reproducible": the share of the weight within a factor of 1.5 of k, times the agreement of
        the halves there. Real texts rarely exceed 0.5. Method "spectral": the share of samples with a jump. 1 for a
        given number, which is not questioned.
    suggestions : tuple of Suggestion
        Up to three levels, from coarse to fine, each with the agreement of the halves; only `k` for other methods.
    method : str
        The evidence: "reproducible" (two halves of the rows agree), "spectral" (a jump in the spectrum), or "given by
        NAME", the function that returned the number.
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
    8 groups (95% interval 8 to 8), on which two halves of the 160 rows agree
    >>> [(suggestion.name, suggestion.k) for suggestion in estimate.suggestions]
    [('coarse', 4), ('suggested', 8)]
    """

    k: int
    interval: tuple[int, int]
    confidence: float
    suggestions: tuple[Suggestion, ...]
    method: str
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
        plural = "group" if self.k == 1 else "groups"
        if self.method.startswith(GIVEN):
            return f"{self.k} {plural}, {self.method}"
        if self.k == 1 and self.spectrum is None:
            return "1 group: no structure here; the rows lie like one cloud, with no groups that could be told apart"
        low, high = self.interval
        answer = f"{self.k} {plural} (95% interval {low} to {high})"
        if self.spectrum is None:
            agree = "agree only in part: a rough guess" if self.confidence < WEAK else "agree"
            return f"{answer}, on which two halves of the {self.n_samples:,} rows {agree}"
        size, share = len(self.spectrum.eigenvalues), self.spectrum.fallback_fraction
        if size == self.n_samples:
            return f"{answer}, from the spectrum of all {size:,} rows{'; no jump was found' if share else ''}"
        doubt = f"; no jump in {share:.0%}" if share else ""
        return f"{answer}, from random samples of {size:,} out of {self.n_samples:,} rows{doubt}"

    def _repr_html_(self) -> str:
        answer, _, source = repr(self).partition(",")
        parts = [f"<b>{escape(answer)}</b>{escape(',' + source if source else '')}"]
        if len(self.suggestions) > 1:
            parts.append(levels_html(self.suggestions, self.k))
        if self.agreement is not None:
            marks = {level.k: f"{level.name}: {level.k}" for level in self.suggestions}
            ks, score = self.agreement.k.tolist(), np.clip(self.agreement.score, 0, 1).tolist()
            parts.append(curve_svg(ks, score, "number of groups", "score of agreement", marks))
        elif self.spectrum is not None:
            values = self.spectrum.eigenvalues[: max(30, 4 * self.k)].astype(float).tolist()
            marks = {self.k: f"k = {self.k}"}
            parts.append(curve_svg(range(1, len(values) + 1), values, "index of the eigenvalue", "eigenvalue", marks))
        return "".join(f"<div>{part}</div>" for part in parts)

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
        >>> ts.spectral_k(X).plot().get_xlabel()
        'index of the eigenvalue'
        """
        if ax is None:
            pyplot = require("matplotlib.pyplot", extra="plot")
            ax = pyplot.figure(figsize=(8, 4), layout="constrained").add_subplot()
        return _plot_agreement(self, ax) if self.spectrum is None else _plot_spectrum(self, self.spectrum, ax)


def estimate_k(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    method: Method = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate the number of groups, with an interval, a confidence, and coarser and finer levels.

    Both methods work on random samples, so the time hardly grows with the number of rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings: an array or memory map of any numeric type, or a data frame of numbers. They are neither copied
        nor changed. Of a Dask array, only chunks with sampled rows are read, and the workers do the computing.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, rounded up; once by default. For "auto", rows count once or not at all, unless
        fewer than 64 do.
    method : {"auto", "spectral"} or callable, default="auto"
        "auto" splits the rows into random halves, clusters each half at every k and compares the two. Each k gets a
        power of this agreement as its weight. The estimate is the k up to which 42% of the weight lies if the halves
        hardly agree, and 70% if they agree well. Without structure, k is 1. Duplicates do not count, unless fewer
        than 64 rows are distinct. Below 64 rows, "auto" is "spectral".
        "spectral" is the paper's rule, :func:`spectral_k`, with its defaults.
        A callable is your own rule: it gets `X`, and `sample_weight` if it has such a parameter, and returns a whole
        number or a KEstimate. ``functools.partial(spectral_k, window=5)`` is one.
    random_state : int, RandomState, Generator or None, default=0
        The seed. The same int gives the same result for any `n_jobs`, here and in :class:`AutoKMeans` and
        :class:`AutoAgglomerative`. None is a random seed.
    n_jobs : int, optional
        Number of samples computed at a time; all cores by default. An active ``joblib.parallel_config`` chooses the
        back end.

    Returns
    -------
    KEstimate

    See Also
    --------
    AutoKMeans : Find the clusters, too.
    laplacian_eigenvalues : The spectrum behind the rule of the paper.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(12), 40, axis=0) + 0.03 * rng.standard_normal((480, 12))
    >>> ts.estimate_k(X, random_state=0).k
    12
    >>> ts.estimate_k(X, method="spectral")
    12 groups (95% interval 12 to 12), from the spectrum of all 480 rows
    >>> def root(X):
    ...     return round(len(X) ** 0.5)
    >>> ts.estimate_k(X, method=root)
    22 groups, given by root
    >>> ts.estimate_k(rng.standard_normal((500, 12)), random_state=0)
    1 group: no structure here; the rows lie like one cloud, with no groups that could be told apart
    """
    check_method(method)
    X = check_embeddings(X)
    weights, _ = check_weights(sample_weight, X)
    with use_jobs(n_jobs):
        refuse_bad_rows(X)
        return estimate_from_rows(X, weights, method, random_state=random_state)


def spectral_k(
    X: ArrayLike,
    *,
    window: int = 3,
    max_sample: int = 1000,
    n_replicates: int | None = None,
    zscore: bool = False,
    fallback: int = 5,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> KEstimate:
    """Estimate the number of groups by the paper's rule: the mean of :func:`k_from_spectrum` over random samples.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings, as in :func:`estimate_k`.
    window : int, default=3
        Length of the moving average, by which differences of eigenvalues are divided.
    max_sample : int, default=1000
        Rows of a sample, at most. The time grows with its third power.
    n_replicates : int, optional
        Number of samples; by default ``round(10 * log2(n))``, and 40 if they serve the interval alone, because one
        sample has all rows.
    zscore : bool, default=False
        Standardize the similarities of a sample before negative ones become 0.
    fallback : int, default=5
        The answer of a sample without a jump.
    sample_weight, random_state, n_jobs
        As in :func:`estimate_k`; a weight is a number of copies of a row, and all of them count.

    Returns
    -------
    KEstimate
        With the `spectrum` of a typical sample.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> from functools import partial
    >>> X = np.repeat(np.eye(12), 40, axis=0) + 0.03 * np.random.default_rng(0).standard_normal((480, 12))
    >>> ts.spectral_k(X, max_sample=200)
    12 groups (95% interval 12 to 12), from random samples of 200 out of 480 rows
    >>> ts.AutoKMeans(method=partial(ts.spectral_k, window=5), refine=False).fit(X).n_clusters_
    12
    """
    X = check_embeddings(X)
    weights, _ = check_weights(sample_weight, X)
    rule = Rule(
        check_whole_number("window", window, low=1),
        check_whole_number("max_sample", max_sample, low=2 * window + 2, hint="Twice the window and 2 are needed."),
        None if n_replicates is None else check_whole_number("n_replicates", n_replicates, low=1),
        zscore,
        check_whole_number("fallback", fallback, low=1),
    )
    with use_jobs(n_jobs):
        refuse_bad_rows(X)
        return spectral_estimate(count_rows(X, weights), rule, random_state=random_state)


def check_method(method: object) -> None:
    """Raise a UserError if this is not a way to find k."""
    if method not in ("auto", "spectral") and not callable(method):
        raise UserError(f'method must be "auto", "spectral" or a function from rows to k, but it is {method!r}.')


def count_rows(X: Rows, weights: PerRow) -> CountedRows:
    """Return `X`, already checked, with each row as often as its weight says, rounded up; once if weights is None."""
    return CountedRows(X, None if weights is None else np.ceil(weights).astype(np.intp))


def estimate_from_rows(
    X: Rows, weights: PerRow = None, method: Method = "auto", *, random_state: RandomState = 0
) -> KEstimate:
    """Estimate k from rows, weights and a method that are already checked."""
    if callable(method):
        return _given_estimate(X, weights, method)
    rows = count_rows(X, weights)
    if method == "spectral" or len(rows) < FEWEST_HALVED:
        return spectral_estimate(rows, random_state=random_state)
    rng = np.random.default_rng(make_seed(random_state))
    (k, confidence), replicates, agreement, n_rows = reproducible_k(rows, rng)
    interval = (1, 1) if k == 1 else interval_around(k, confidence, n_rows)
    levels = suggest(agreement, k, confidence, n_rows)
    return KEstimate(k, interval, confidence, levels, "reproducible", len(rows), replicates, agreement, None)


def spectral_estimate(
    rows: CountedRows,
    rule: Rule = Rule(),  # noqa: B008 - a NamedTuple is immutable
    *,
    random_state: RandomState = 0,
) -> KEstimate:
    """Estimate k by the paper's rule, from rows and options that are already checked."""
    rng = np.random.default_rng(make_seed(random_state))
    k, interval, replicates, spectrum = mean_jump(rows, rule, rng)
    confidence = 1 - spectrum.fallback_fraction
    only = (Suggestion("suggested", k, confidence),)
    return KEstimate(k, interval, confidence, only, "spectral", len(rows), replicates, None, spectrum)


def _given_estimate(X: Rows, weights: PerRow, method: Callable[..., object]) -> KEstimate:
    """Return the answer of a function: an estimate of its own, or a number that is taken as it is."""
    takes_weights = weights is not None and "sample_weight" in inspect.signature(method).parameters
    answer = method(X, sample_weight=weights) if takes_weights else method(X)
    k, name = answer.k if isinstance(answer, KEstimate) else answer, name_of(method)
    try:
        k = check_whole_number("k", k, low=1, high=len(X))
    except UserError:
        expected = f"it must return a whole number from 1 to the {len(X):,} rows, or a KEstimate."
        raise UserError(f"method={name} returned {k!r}; {expected}") from None
    if isinstance(answer, KEstimate):
        return answer
    n_rows = len(X) if weights is None else int(np.ceil(weights).sum())
    only = (Suggestion("suggested", k, 1.0),)
    return KEstimate(k, (k, k), 1.0, only, GIVEN + name, n_rows, np.array([k]), None, None)


def name_of(value: object) -> str:
    """Return how a value, possibly a function, is written in a call."""
    if isinstance(value, partial):
        values = [*map(name_of, (value.func, *value.args)), *(f"{name}={v!r}" for name, v in value.keywords.items())]
        return f"partial({', '.join(values)})"
    return str(getattr(value, "__name__", type(value).__name__)) if callable(value) else repr(value)


def suggest(agreement: Agreement | None, k: int, confidence: float, n: int) -> tuple[Suggestion, ...]:
    """Return `k`, with a coarser and a finer level if `n` distinct rows have room for them."""
    if k == 1 or agreement is None:
        return (Suggestion("suggested", k, confidence),)
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
    """Return the 95% interval of k: the less the halves agree, the wider it is.

    The width was calibrated on labeled text sets (``benchmarks/k_recovery.md``), so the interval is about the number of
    groups that people see.
    """
    factor = math.exp(width * math.sqrt(max(0.0, 1 - confidence)))
    return max(2, math.floor(k / factor)), min(max(k, n // 2), math.ceil(k * factor))


def levels_html(suggestions: Sequence[Suggestion], current: int) -> str:
    """Return the levels with the score of each; the current one is bold."""
    names = [f"{level.name} {level.k}" for level in suggestions]
    bold = [f"<b>{name}</b>" if level.k == current else name for name, level in zip(names, suggestions, strict=True)]
    scored = [f"{name} (score {level.score:.2f})" for name, level in zip(bold, suggestions, strict=True)]
    return f"levels: {' · '.join(scored)}"


def curve_svg(xs: Sequence[float], ys: Sequence[float], x_title: str, y_title: str, marks: Mapping[int, str]) -> str:
    """Draw a curve over a logarithmic axis, with names for marked x, in the colors of the page around it."""
    low, high = xs[0], max(xs[-1], xs[0] + 1)
    top = max(1.0, *ys)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * math.log(x / low) / math.log(high / low)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - y / top)

    points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [_line(LEFT, down(y), WIDTH - 8, down(y), 'opacity="0.15"') for y in (0, top / 2, top)]
    parts += [_text(LEFT - 5, down(y) + 4, f"{y:.1f}", "end") for y in (0, top / 2, top)]
    last = -math.inf
    for x in (x for x in ROUND if low <= x <= high):
        if across(x) - last >= TICK_GAP:
            parts.append(_text(across(x), HEIGHT - BOTTOM + 14, str(x), "middle"))
            last = across(x)
    last = -math.inf
    for x, name in sorted((x, name) for x, name in marks.items() if low <= x <= high):
        parts.append(_line(across(x), TOP, across(x), down(0), 'stroke-dasharray="4 3" opacity="0.6"'))
        right = across(x) > 0.8 * WIDTH
        start = across(x) - (LETTER * len(name) if right else 0)
        if start > last:
            parts.append(_text(across(x), TOP - 5, name, "end" if right else "start"))
            last = start + LETTER * len(name)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 3, f"{x_title} (logarithmic scale)", "middle"))
    title = escape(f"{y_title} over the {x_title}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" stroke="none"><title>{title}</title>'
        f"{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" {style}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _plot_spectrum(estimate: KEstimate, spectrum: Spectrum, ax: Axes) -> Axes:
    """Draw the spectrum, its normalized differences and the jump: Figure 1 of the paper."""
    size = len(spectrum.eigenvalues)
    half = size // 2
    ax.plot(np.arange(1, half + 1), spectrum.eigenvalues[:half], color="#1f4e79", label="eigenvalue λ")
    ax.set(xlabel="index of the eigenvalue", ylabel="eigenvalue", title=repr(estimate).partition(",")[0])
    k = min(estimate.k, size)
    if spectrum.fallback_fraction < 1:
        ax.axvspan(max(1, k - spectrum.window + 1), k, color="0.85", label="window of the moving average")
    ax.axvline(k, color="#333333", linestyle="--", label=f"k = {estimate.k}")

    right = ax.twinx()
    first = spectrum.window + 1
    index = np.arange(first, first + len(spectrum.deltas))
    right.plot(index, spectrum.deltas, ":", color="#c55a11", label="difference δ")
    right.axhline(spectrum.threshold, color="#c55a11", linestyle="--", linewidth=0.8, label="threshold")
    right.set_ylabel("normalized difference δ")
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = right.get_legend_handles_labels()
    ax.legend(handles + more_handles, labels + more_labels, **BELOW)
    return ax


def _plot_agreement(estimate: KEstimate, ax: Axes) -> Axes:
    """Draw over k how well halves of the data agree, the score that k is read off, and the levels."""
    ax.set(xlabel="number of groups k", ylabel="agreement", title=repr(estimate).partition(",")[0].partition(";")[0])
    agreement = estimate.agreement
    if agreement is None:
        return ax
    ax.set_xscale("log")
    ax.plot(agreement.k, agreement.halves, color="0.6", label="two halves of the data")
    ax.plot(agreement.k, agreement.score, color="#1f4e79", label="score: less for splits with more behind them")
    if estimate.k > 1:
        ax.axvspan(*estimate.interval, color="0.93", label="95% interval")
    for suggestion in estimate.suggestions:
        style, name = "-" if suggestion.name == "suggested" else "--", f"{suggestion.name}: {suggestion.k}"
        ax.axvline(suggestion.k, color="#c55a11", linestyle=style, linewidth=1, label=name)
    ticks = [k for k in ROUND if agreement.k[0] <= k <= agreement.k[-1]]
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.legend(**BELOW)
    return ax
