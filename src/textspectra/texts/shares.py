"""Shares of groups: how sure they are, whether two of them differ, and how they change over ordered periods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # for `scipy.stats`, which loads on first use: it takes longer than all other imports of a command
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

CONFIDENCE_Z = 1.96
"""Standard normal quantile of a 95 % interval."""

LONGEST_BURST = 1 / 3
"""A burst is at most this part of all periods; what lasts longer is no exception."""

FEWEST_CLUSTERS = 5
"""Groups that are needed to learn how much the sizes of groups scatter between two files."""

SMALL_PERIOD = 0.1
"""A period with a smaller part of the usual number of texts is not compared with others."""

DISPERSIONS = np.geomspace(1, 1000, 31)
"""How many times the variance of independent draws the counts of a group may have."""

FEWEST_BURSTS, FEWEST_PERIODS = 6, 6
"""Bursts of texts per period, and periods, that a group needs for a test of any difference between periods."""

FEWEST_VOLUMES, FEWEST_SEASONS = 7, 3
"""Periods, and seasons of periods, that are needed to say what is usual."""

ROUNDS = 30
"""Rounds in which the prior of dispersions is fitted."""

NORMAL_MAD = 0.6745
"""Median absolute deviation of a standard normal variable."""

MOST_SCATTER = 9.0
"""Largest dispersion that two files are given: it doubles the standard errors.

Between consecutive months or years of four dated sets it is 1.2 in the median and 3.6 at most.
"""


def wilson_interval(count: ArrayLike, total: ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95 % interval of Wilson for `count` of `total`; 0 to 1 where the total is 0."""
    x, n = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    known = np.maximum(n, 1)
    share, extra = x / known, CONFIDENCE_Z**2 / known
    middle = (share + extra / 2) / (1 + extra)
    half = np.sqrt(extra * (share * (1 - share) + extra / 4)) / (1 + extra)
    low, high = np.where(x > 0, middle - half, 0), np.where(x < n, middle + half, 1)
    return np.where(n > 0, low, 0), np.where(n > 0, high, 1)


def compare_shares(before: ArrayLike, n_before: ArrayLike, after: ArrayLike, n_after: ArrayLike) -> Floats:
    """Return two-sided p-values of `before` of `n_before` being the same share as `after` of `n_after`.

    It is Fisher's exact test with the mid-p correction, which keeps the level without being as conservative as the
    plain test. The smaller tail counts twice.
    """
    x, n, y, m = np.broadcast_arrays(*(np.asarray(value, np.int64) for value in (before, n_before, after, n_after)))
    law = scipy.stats.hypergeom(n + m, x + y, n)
    half = law.pmf(x) / 2
    p: Floats = 2 * np.minimum(law.cdf(x - 1) + half, law.sf(x) + half)
    return np.clip(p, 0, 1)


class Trends(NamedTuple):
    """The trend of each group: its slope per period, the slope in standard errors, and the p-value."""

    slope: Floats
    z: Floats
    p: Floats


def trend_test(counts: ArrayLike, totals: ArrayLike) -> Trends:
    """Test whether the share of each group rises or falls over ordered periods.

    It is the test of Cochran and Armitage. Counts are overdispersed because texts arrive in bursts, and not equally in
    all groups. The scatter of a group around its line says how likely each dispersion is, and the p-value is the mean
    over these dispersions. A few periods say little about the dispersion, so what all groups have in common is the
    prior (empirical Bayes). Two periods leave no scatter around the line, so the typical difference of a group takes
    its place there.

    Parameters
    ----------
    counts : array-like of shape (n_groups, n_periods)
        Texts of each group in each period.
    totals : array-like of shape (n_periods,)
        All texts of each period; it may be 0.
    """
    table = _Table.of(counts, totals)
    slope, z, squares = table.lines()
    freedom = len(table.totals) - 2
    if freedom == 0:
        (before, after), (n_before, n_after) = table.counts.T, table.totals
        z = np.copysign(scipy.stats.norm.isf(compare_shares(before, n_before, after, n_after) / 2), z)
        z /= np.sqrt(common_scatter(z))
        return Trends(slope, z, 2 * scipy.stats.norm.sf(np.abs(z)))
    dispersion = squares, max(freedom, 1), table.texts_per_period()
    weights = _posterior(_prior(*dispersion), *dispersion)
    p = (weights * 2 * special.ndtr(-np.abs(z)[:, None] / np.sqrt(DISPERSIONS))).sum(axis=1)
    return Trends(slope, z / np.sqrt(weights @ DISPERSIONS), np.minimum(p, 1))


class Bursts(NamedTuple):
    """The strongest burst of each group: its first and last period, and the p-value.

    `ratio` is the share during the burst over the share in all other periods.
    """

    first: NDArray[np.intp]
    last: NDArray[np.intp]
    ratio: Floats
    p: Floats


def burst_test(counts: ArrayLike, totals: ArrayLike) -> Bursts:
    """Test whether the share of each group is far higher in one period, or a run of periods, than in the others.

    All runs of up to a third of the periods are tried, and the p-value is corrected for their number. The scatter of
    the other periods counts as in :func:`trend_test`. With fewer than three periods there is no burst.
    """
    table = _Table.of(counts, totals)
    n_periods, n = len(table.totals), table.totals.sum()
    first, last = _runs(n_periods)
    if not len(first):
        none, one = np.zeros(len(table.counts), np.intp), np.ones(len(table.counts))
        return Bursts(none, none, one, one)
    inside, n_inside = _sums(table.counts, first, last), _sums(table.totals, first, last)
    outside, n_outside = table.counts.sum(axis=1, keepdims=True) - inside, n - n_inside
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num((inside / n_inside) / (outside / n_outside), nan=1)
    squares = table.lines()[2]
    dispersion = np.maximum(1, squares / (n_periods - 2))[:, None]
    p = np.where(ratio > 1, _chance_of_run(inside / dispersion, outside / dispersion, n_inside / n), 1)
    best = np.arange(len(p)), p.argmin(axis=1)
    n_others = n_periods - (last - first + 1)[best[1]]
    prior = _prior(squares, n_periods - 2, table.texts_per_period())
    weights = _posterior(prior, table.squares_outside(first, last)[best], n_others - 1, outside[best] / n_others)
    n_bursts, n_outside_bursts = inside[best][:, None] / DISPERSIONS, outside[best][:, None] / DISPERSIONS
    p = (weights * _chance_of_run(n_bursts, n_outside_bursts, (n_inside / n)[best[1], None])).sum(axis=1)
    p = np.where(ratio[best] > 1, np.minimum(p * len(first), 1), 1)
    return Bursts(table.periods[first[best[1]]], table.periods[last[best[1]]], np.where(p < 1, ratio[best], 1), p)


class Variations(NamedTuple):
    """How unevenly each group is spread: the periods where it is rarest and most frequent, and the p-value."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    p: Floats


def variation_test(counts: ArrayLike, totals: ArrayLike) -> Variations:
    """Test whether the share of each group differs between periods in any way.

    Periods are taken in pairs, and a difference has to hold in both periods: Pearson's chi-square of the pairs is
    compared with the scatter inside them, as in :func:`trend_test`. So a group that always arrives in bursts is not
    reported. `low` and `high` are the periods that deviate most in standard errors, so that a period with few texts is
    not named for its extreme share. Fewer than six periods are left to the other tests; a group with too few texts and
    a period with hardly any are not tested.
    """
    table = _Table.of(counts, totals).without_small_periods()
    n_clusters, n_periods = table.counts.shape
    p = np.ones(n_clusters)
    if n_periods < FEWEST_PERIODS:
        return Variations(np.zeros(n_clusters, np.intp), np.zeros(n_clusters, np.intp), p)
    residuals, texts = table.residuals(), table.texts_per_period()
    for offset in (0, 1):
        first = np.unique((np.arange(n_periods) + offset) // 2, return_index=True)[1]
        pairs = _Table(np.add.reduceat(table.counts, first, axis=1), np.add.reduceat(table.totals, first), first)
        between = np.square(pairs.residuals()).sum(axis=1)
        within = np.maximum(np.square(residuals).sum(axis=1) - between, 0)
        dispersion = within, n_periods - len(first), texts
        weights = _posterior(_prior(*dispersion), *dispersion)
        chance = (weights * special.chdtrc(len(first) - 1, between[:, None] / DISPERSIONS)).sum(axis=1)
        p = np.where(texts >= FEWEST_BURSTS * (weights @ DISPERSIONS), np.minimum(p, 2 * chance), p)
    return Variations(table.periods[residuals.argmin(axis=1)], table.periods[residuals.argmax(axis=1)], p)


class Volumes(NamedTuple):
    """The usual number of texts of each period, and the p-value of having more or fewer."""

    usual: Floats
    p: Floats


def volume_test(totals: ArrayLike, season: int = 1) -> Volumes:
    """Test whether each period has far more or far fewer texts than the others.

    The usual number is the median of all periods, or of every `season`-th if there are enough of them. Deviations are
    compared with the median deviation on a logarithmic scale, and with chance (Poisson). The p-values are corrected for
    the number of periods.
    """
    n = np.asarray(totals, float)
    season = season if len(n) >= FEWEST_SEASONS * season else 1
    usual = np.array([np.median(n[number % season :: season]) for number in range(len(n))])
    if len(n) < FEWEST_VOLUMES:
        return Volumes(usual, np.ones(len(n)))
    away = np.log((n + 1) / (usual + 1))
    # The median deviation of a few is too small by 0.8 of one of them (Croux and Rousseeuw).
    deviation = np.median(np.abs(away)) / NORMAL_MAD * len(n) / (len(n) - 0.8)
    scale = np.sqrt(np.square(deviation) + 1 / (usual + 1))
    p = 2 * special.stdtr(len(n) - 1, -np.abs(away / scale))
    return Volumes(usual, np.minimum(p * len(n), 1))


def adjusted(p: ArrayLike) -> Floats:
    """Return p-values that control the false discovery rate of many tests (Benjamini and Hochberg)."""
    values = np.asarray(p, float)
    return np.asarray(scipy.stats.false_discovery_control(values)) if values.size else values


def common_scatter(z: Floats) -> float:
    """Return the dispersion of two files: how far the median of the squares of `z` exceeds the one of chance.

    Most groups are expected to be steady. Where most change, the median no longer tells dispersion from change, so it
    counts up to `MOST_SCATTER` only.
    """
    if len(z) < FEWEST_CLUSTERS:
        return 1.0
    return float(np.clip(np.median(np.square(z)) / scipy.stats.chi2.median(1), 1, MOST_SCATTER))


def _posterior(prior: Floats, squares: Floats, freedom: int | NDArray[np.intp], texts: Floats) -> Floats:
    """Return how likely each group has each of `DISPERSIONS`, by the squares that a fit of its periods leaves over.

    `texts` is the number of texts per period. A group with few bursts says less than its degrees of freedom: the
    variance of a square is 2 + 1 / bursts.
    """
    each = squares / freedom
    known = freedom / (1 + np.maximum(each, 1) / np.maximum(2 * texts, 1e-9))
    logs = -known[:, None] / 2 * (np.log(DISPERSIONS) + each[:, None] / DISPERSIONS)
    weights = prior * np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior: Floats = weights / weights.sum(axis=1, keepdims=True)
    return posterior


def _prior(squares: Floats, freedom: int, texts: Floats) -> Floats:
    """Return how likely a group has each of `DISPERSIONS` before its own periods are seen.

    It is the distribution that explains all groups best (expectation maximization), with one more group that may have
    any dispersion, the less likely the larger.
    """
    any_group = 1 / DISPERSIONS / (1 / DISPERSIONS).sum()
    prior: Floats = any_group
    for _ in range(ROUNDS):
        prior = (any_group + _posterior(prior, squares, freedom, texts).sum(axis=0)) / (1 + len(squares))
    return prior


def _chance_of_run(inside: Floats, outside: Floats, part: Floats) -> Floats:
    """Return the chance of at least as many of a group's bursts in a run with a part of all texts (binomial)."""
    chance: Floats = special.betainc(np.maximum(inside, 1e-9), outside + 1, part)
    return chance


class _Table(NamedTuple):
    """Counts of groups in the periods that have texts."""

    counts: Floats  # (n_groups, n_periods)
    totals: Floats  # (n_periods,), all above 0
    periods: NDArray[np.intp]  # the number of each period, where those without texts count too

    @staticmethod
    def of(counts: ArrayLike, totals: ArrayLike) -> _Table:
        n = np.asarray(totals, float)
        there = np.flatnonzero(n > 0)
        return _Table(np.asarray(counts, float)[:, there], n[there], there)

    def lines(self) -> tuple[Floats, Floats, Floats]:
        """Return the slope of each group, the slope in standard errors, and the squares that the line leaves over."""
        n = max(self.totals.sum(), 1)
        share = self.counts.sum(axis=1, keepdims=True) / n
        variance = (share * (1 - share))[:, 0]
        time = self.periods - self.periods @ self.totals / n
        away, length = self.counts - share * self.totals, np.square(time) @ self.totals
        squares = _divided((np.square(away) / self.totals).sum(axis=1), variance)
        z = _divided(away @ time, np.sqrt(variance * length))
        return _divided(away @ time, length), z, np.maximum(squares - np.square(z), 0)

    def without_small_periods(self) -> _Table:
        """Leave out periods with far fewer texts than usual, such as the first day of a file."""
        kept = self.totals >= SMALL_PERIOD * np.median(self.totals) if len(self.totals) else slice(None)
        return _Table(self.counts[:, kept], self.totals[kept], self.periods[kept])

    def residuals(self) -> Floats:
        """Return by how many standard errors each group deviates from its overall share, in each period."""
        share = self.counts.sum(axis=1, keepdims=True) / max(self.totals.sum(), 1)
        return _divided(self.counts - share * self.totals, np.sqrt(share * (1 - share) * self.totals))

    def texts_per_period(self) -> Floats:
        mean: Floats = self.counts.sum(axis=1) / max(len(self.totals), 1)
        return mean

    def squares_outside(self, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
        """Return Pearson's sum of squares of each group over the periods that are not in each run."""
        counts, totals, raw = (
            part.sum(axis=-1, keepdims=True) - _sums(part, first, last)
            for part in (self.counts, self.totals, np.square(self.counts) / self.totals)
        )
        share = counts / totals
        return _divided(np.maximum(raw - counts * share, 0), share * (1 - share))


def _runs(n_periods: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last period of each run that may be a burst."""
    lengths = range(1, int(n_periods * LONGEST_BURST) + 1)
    runs = [(start, start + length - 1) for length in lengths for start in range(n_periods - length + 1)]
    first, last = np.array(runs, np.intp).reshape(-1, 2).T
    return first, last


def _sums(values: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Return the sum of each run along the last axis."""
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), values.cumsum(axis=-1)], axis=-1)
    between: Floats = sums[..., last + 1] - sums[..., first]
    return between


def _divided(above: Floats, below: Floats | float) -> Floats:
    """Divide; 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.broadcast_to(below, np.shape(above)) > 0)
