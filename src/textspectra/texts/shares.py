"""Statistics of shares: intervals, comparisons, and tests of groups over ordered periods.

Counts are overdispersed because texts arrive in bursts, and not equally in all groups. The tests over periods therefore
average their p-values over the dispersions that a group may have. A few periods say little about the dispersion, so
the groups share a prior (empirical Bayes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # for `scipy.stats`, which loads on first use: it takes longer than all other imports of a command
from numpy.typing import ArrayLike, NDArray
from scipy import special

LEVEL = 0.05  # false discovery rate: of the changes that are reported, this share is expected to be chance
FEWEST_VOLUMES = 7  # periods that are needed to say how many texts are usual

_Floats = NDArray[np.float64]
_Positions = NDArray[np.intp]

_DISPERSIONS = np.geomspace(1, 1000, 31)  # how many times the variance of independent draws a group may have
_CONFIDENCE_Z = 1.96  # standard normal quantile of a 95% interval
_LONGEST_BURST = 1 / 3  # of all periods; a longer run is not an exception
_SMALL_PERIOD = 0.1  # of the usual number of texts; a smaller period is not compared with others
_FEWEST_BURSTS, _FEWEST_PERIODS = 6, 6  # bursts per period, and periods, for a test of any difference
_FEWEST_CLUSTERS = 5  # that show how much sizes scatter between two files
_MOST_SCATTER = 9.0  # between two files; in four dated sets it is 1.2 in the median and 3.6 at most
_FEWEST_SEASONS = 3  # needed for the usual number of texts on a day of the week
_PRIOR_ROUNDS = 30  # of expectation maximization
_NORMAL_MAD = 0.6745  # median absolute deviation of a standard normal variable


def wilson_interval(count: ArrayLike, total: ArrayLike) -> tuple[_Floats, _Floats]:
    """Return the 95% interval of Wilson for `count` of `total`; 0 to 1 if the total is 0."""
    x, n = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    known = np.maximum(n, 1)
    share, extra = x / known, _CONFIDENCE_Z**2 / known
    middle = (share + extra / 2) / (1 + extra)
    half = np.sqrt(extra * (share * (1 - share) + extra / 4)) / (1 + extra)
    return np.where(x > 0, middle - half, 0), np.where((x < n) & (n > 0), middle + half, 1)


def compare_shares(before: ArrayLike, n_before: ArrayLike, after: ArrayLike, n_after: ArrayLike) -> _Floats:
    """Return two-sided p-values of `before` of `n_before` being the same share as `after` of `n_after`.

    It is Fisher's exact test, which the mid-p correction makes less conservative. The smaller tail counts twice.
    """
    x, n, y, m = np.broadcast_arrays(*(np.asarray(value, np.int64) for value in (before, n_before, after, n_after)))
    law = scipy.stats.hypergeom(n + m, x + y, n)
    half = law.pmf(x) / 2
    return np.asarray(np.clip(2 * np.minimum(law.cdf(x - 1) + half, law.sf(x) + half), 0, 1))


def adjusted(p: ArrayLike) -> _Floats:
    """Return p-values that control the false discovery rate of many tests (Benjamini and Hochberg)."""
    values = np.asarray(p, float)
    return np.asarray(scipy.stats.false_discovery_control(values)) if values.size else values


def common_scatter(z: _Floats) -> float:
    """Return the dispersion of two files: the median of the squares of `z` over its value by chance.

    It is capped, because the median does not separate dispersion from change if most groups change.
    """
    if len(z) < _FEWEST_CLUSTERS:
        return 1.0
    return float(np.clip(np.median(np.square(z)) / scipy.stats.chi2.median(1), 1, _MOST_SCATTER))


def trend_test(counts: ArrayLike, totals: ArrayLike) -> tuple[_Floats, _Floats]:
    """Test whether the share of each group (row) rises or falls over ordered periods (Cochran and Armitage).

    Return the slope of each group in standard errors, and the p-value. `totals` are all texts of each period. The
    scatter of a group around its line says how likely each dispersion is. Two periods leave no scatter around the line,
    so the typical difference of a group replaces it.
    """
    table = _Table.of(counts, totals)
    z, squares = table.lines()
    freedom = len(table.totals) - 2
    if freedom == 0:
        (before, after), (n_before, n_after) = table.counts.T, table.totals
        z = np.copysign(scipy.stats.norm.isf(compare_shares(before, n_before, after, n_after) / 2), z)
        z /= np.sqrt(common_scatter(z))
        return z, 2 * scipy.stats.norm.sf(np.abs(z))
    dispersion = squares, max(freedom, 1), table.texts_per_period()
    weights = _posterior(_prior(*dispersion), *dispersion)
    p = (weights * 2 * special.ndtr(-np.abs(z)[:, None] / np.sqrt(_DISPERSIONS))).sum(axis=1)
    return z / np.sqrt(weights @ _DISPERSIONS), np.minimum(p, 1)


def burst_test(counts: ArrayLike, totals: ArrayLike) -> tuple[_Positions, _Positions, _Floats]:
    """Test whether the share of each group is far higher in one period, or a run of periods, than in the others.

    Return the first and the last period, and the p-value. All runs of up to a third of the periods are tried, and the
    p-value is corrected for their number.
    """
    table = _Table.of(counts, totals)
    n_periods, n = len(table.totals), table.totals.sum()
    lengths = range(1, int(n_periods * _LONGEST_BURST) + 1)
    runs = [(start, start + length - 1) for length in lengths for start in range(n_periods - length + 1)]
    if not runs:
        none = np.zeros(len(table.counts), np.intp)
        return none, none, np.ones(len(none))
    first, last = np.array(runs, np.intp).T
    inside, n_inside = _sums(table.counts, first, last), _sums(table.totals, first, last)
    outside, n_outside = table.counts.sum(axis=1, keepdims=True) - inside, n - n_inside
    is_higher = inside / n_inside > outside / n_outside
    squares = table.lines()[1]
    dispersion = np.maximum(1, squares / (n_periods - 2))[:, None]
    p = np.where(is_higher, _chance_of_run(inside / dispersion, outside / dispersion, n_inside / n), 1)
    best = np.arange(len(p)), p.argmin(axis=1)
    n_others = n_periods - (last - first + 1)[best[1]]
    prior = _prior(squares, n_periods - 2, table.texts_per_period())
    weights = _posterior(prior, table.squares_outside(first, last)[best], n_others - 1, outside[best] / n_others)
    n_bursts, n_outside_bursts = inside[best][:, None] / _DISPERSIONS, outside[best][:, None] / _DISPERSIONS
    p = (weights * _chance_of_run(n_bursts, n_outside_bursts, (n_inside / n)[best[1], None])).sum(axis=1)
    p = np.where(is_higher[best], np.minimum(p * len(runs), 1), 1)
    return table.periods[first[best[1]]], table.periods[last[best[1]]], p


def variation_test(counts: ArrayLike, totals: ArrayLike) -> tuple[_Positions, _Positions, _Floats]:
    """Test whether the share of each group differs between periods in any way.

    Periods are taken in pairs, and a difference has to hold in both: Pearson's chi-square of the pairs is compared with
    the scatter inside them. So a group that always arrives in bursts is not reported. Few periods, groups with few
    texts, and periods with hardly any texts, such as the first day of a file, are not tested. Return the periods with
    the lowest and the highest share, and the p-value; they deviate most in standard errors, so that a period with few
    texts is not named for its extreme share.
    """
    table = _Table.of(counts, totals)
    kept = table.totals >= _SMALL_PERIOD * np.median(table.totals) if len(table.totals) else slice(None)
    table = _Table(table.counts[:, kept], table.totals[kept], table.periods[kept])
    n_clusters, n_periods = table.counts.shape
    p = np.ones(n_clusters)
    if n_periods < _FEWEST_PERIODS:
        return np.zeros(n_clusters, np.intp), np.zeros(n_clusters, np.intp), p
    residuals, texts = table.residuals(), table.texts_per_period()
    for offset in (0, 1):
        first = np.unique((np.arange(n_periods) + offset) // 2, return_index=True)[1]
        pairs = _Table(np.add.reduceat(table.counts, first, axis=1), np.add.reduceat(table.totals, first), first)
        between = np.square(pairs.residuals()).sum(axis=1)
        within = np.maximum(np.square(residuals).sum(axis=1) - between, 0)
        dispersion = within, n_periods - len(first), texts
        weights = _posterior(_prior(*dispersion), *dispersion)
        chance = (weights * special.chdtrc(len(first) - 1, between[:, None] / _DISPERSIONS)).sum(axis=1)
        p = np.where(texts >= _FEWEST_BURSTS * (weights @ _DISPERSIONS), np.minimum(p, 2 * chance), p)
    return table.periods[residuals.argmin(axis=1)], table.periods[residuals.argmax(axis=1)], p


def volume_test(totals: ArrayLike, season: int = 1) -> tuple[_Floats, _Floats]:
    """Test whether each period has far more or far fewer texts than the others.

    Return the usual number of texts of each period, and the p-value. The usual number is the median of all periods, or
    of every `season`-th if there are enough of them. Logarithms of deviations are compared with their median and with
    chance (Poisson); the p-values are corrected for their number.
    """
    n = np.asarray(totals, float)
    season = season if len(n) >= _FEWEST_SEASONS * season else 1
    usual = np.array([np.median(n[number % season :: season]) for number in range(len(n))])
    if len(n) < FEWEST_VOLUMES:
        return usual, np.ones(len(n))
    away = np.log((n + 1) / (usual + 1))
    # The median deviation of a small sample is too small by 0.8 observations (Croux and Rousseeuw).
    deviation = np.median(np.abs(away)) / _NORMAL_MAD * len(n) / (len(n) - 0.8)
    scale = np.sqrt(np.square(deviation) + 1 / (usual + 1))
    p = 2 * special.stdtr(len(n) - 1, -np.abs(away / scale))
    return usual, np.minimum(p * len(n), 1)


def _posterior(prior: _Floats, squares: _Floats, freedom: int | _Positions, texts: _Floats) -> _Floats:
    """Return how likely each group has each dispersion, by the squares that a fit of its periods leaves over."""
    each = squares / freedom
    # With few bursts (texts per dispersion), a group says less than its degrees of freedom:
    # the variance of a square is 2 + 1 / bursts.
    known = freedom / (1 + np.maximum(each, 1) / np.maximum(2 * texts, 1e-9))
    logs = -known[:, None] / 2 * (np.log(_DISPERSIONS) + each[:, None] / _DISPERSIONS)
    weights = prior * np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _prior(squares: _Floats, freedom: int, texts: _Floats) -> _Floats:
    """Return the distribution of dispersions that explains all groups best (expectation maximization)."""
    # One more group may have any dispersion, the less likely the larger.
    any_group: _Floats = 1 / _DISPERSIONS / (1 / _DISPERSIONS).sum()
    prior = any_group
    for _ in range(_PRIOR_ROUNDS):
        prior = (any_group + _posterior(prior, squares, freedom, texts).sum(axis=0)) / (1 + len(squares))
    return prior


def _chance_of_run(inside: _Floats, outside: _Floats, part: _Floats) -> _Floats:
    """Return the chance of at least this many of a group's bursts in a run with a part of all texts (binomial)."""
    return np.asarray(special.betainc(np.maximum(inside, 1e-9), outside + 1, part))


class _Table(NamedTuple):
    """Counts of groups (rows) in the periods (columns) that have texts."""

    counts: _Floats
    totals: _Floats  # all above 0
    periods: _Positions  # the number of each period; empty periods are numbered too

    @staticmethod
    def of(counts: ArrayLike, totals: ArrayLike) -> _Table:
        n = np.asarray(totals, float)
        filled = np.flatnonzero(n > 0)
        return _Table(np.asarray(counts, float)[:, filled], n[filled], filled)

    def lines(self) -> tuple[_Floats, _Floats]:
        """Return the slope of each group in standard errors, and the squares that its line leaves over."""
        n = max(self.totals.sum(), 1)
        share = self.counts.sum(axis=1, keepdims=True) / n
        variance = (share * (1 - share))[:, 0]
        time = self.periods - self.periods @ self.totals / n
        away, length = self.counts - share * self.totals, np.square(time) @ self.totals
        squares = _divided((np.square(away) / self.totals).sum(axis=1), variance)
        z = _divided(away @ time, np.sqrt(variance * length))
        return z, np.maximum(squares - np.square(z), 0)

    def residuals(self) -> _Floats:
        """Return by how many standard errors each group deviates from its overall share, in each period."""
        share = self.counts.sum(axis=1, keepdims=True) / max(self.totals.sum(), 1)
        return _divided(self.counts - share * self.totals, np.sqrt(share * (1 - share) * self.totals))

    def texts_per_period(self) -> _Floats:
        return np.asarray(self.counts.sum(axis=1) / max(len(self.totals), 1))

    def squares_outside(self, first: _Positions, last: _Positions) -> _Floats:
        """Return Pearson's sum of squares of each group over the periods outside each run."""
        counts, totals, raw = (
            part.sum(axis=-1, keepdims=True) - _sums(part, first, last)
            for part in (self.counts, self.totals, np.square(self.counts) / self.totals)
        )
        share = counts / totals
        return _divided(np.maximum(raw - counts * share, 0), share * (1 - share))


def _sums(values: _Floats, first: _Positions, last: _Positions) -> _Floats:
    """Return the sum of each run along the last axis."""
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), values.cumsum(axis=-1)], axis=-1)
    return np.asarray(sums[..., last + 1] - sums[..., first])


def _divided(above: _Floats, below: _Floats) -> _Floats:
    """Divide; 0 if the divisor is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)
