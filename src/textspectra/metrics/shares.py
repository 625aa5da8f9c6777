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

FEWEST_GROUPS = 5
"""Groups from which it can be told how much their dispersions differ; fewer learn nothing from each other."""

FEWEST_PER_PERIOD = 3
"""Texts that a group needs per period, on average, for a test of any difference between periods."""

SMALL_PERIOD = 0.1
"""A period with a smaller part of the usual number of texts is not compared with others."""

LUMPIER = 1.25
"""Texts of one group may come in larger lumps than those of another; up to this factor that is not a difference."""

FEWEST_VOLUMES, FEWEST_SEASONS = 7, 3
"""Periods, and seasons of periods, that are needed to say what is usual."""

NORMAL_MAD = 0.6745
"""Median absolute deviation of a standard normal variable."""

MOST_SCATTER = 9.0
"""Largest dispersion that two files are given: it doubles the standard errors.

Between consecutive months or years of four dated sets it is 1.2 in the median and 3.6 at most.
"""


def wilson_interval(count: ArrayLike, total: ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95 % interval of Wilson for `count` of `total`; 0 to 1 where the total is 0.

    Examples
    --------
    >>> low, high = wilson_interval([0, 5], 10)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237]), array([0.278, 0.763]))
    """
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

    Examples
    --------
    >>> compare_shares([3, 30], 1000, [8, 80], 1000).round(5)
    array([0.14499, 0.     ])
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

    It is the test of Cochran and Armitage. Real texts come in lumps, so counts scatter more than those of independent
    draws; the scatter around the line divides the statistic (quasi-binomial). A group's own scatter is known badly
    from a few periods, so it is drawn towards that of all groups as far as they agree (empirical Bayes). Two periods
    leave no scatter around the line, so the typical difference of a group takes its place there.

    Parameters
    ----------
    counts : array-like of shape (n_groups, n_periods)
        Texts of each group in each period.
    totals : array-like of shape (n_periods,)
        All texts of each period; it may be 0.

    Examples
    --------
    >>> growing, steady, rest = [10, 19, 31, 42, 48], [51, 48, 52, 50, 47], [139, 133, 117, 108, 105]
    >>> trend_test([growing, steady, rest], [200] * 5).p.round(3)
    array([0.008, 0.776, 0.024])
    """
    table = _Table.of(counts, totals)
    slope, z, squares = table.lines()
    freedom = len(table.totals) - 2
    if freedom == 0:
        (before, after), (n_before, n_after) = table.counts.T, table.totals
        z = np.copysign(scipy.stats.norm.isf(compare_shares(before, n_before, after, n_after) / 2), z)
        z /= np.sqrt(common_scatter(z))
        return Trends(slope, z, 2 * scipy.stats.norm.sf(np.abs(z)))
    scatter = _Scatter.of(squares, freedom)
    z = z / np.sqrt(scatter.shrunk(squares, freedom))
    return Trends(slope, z, 2 * scipy.stats.t.sf(np.abs(z), scatter.weight + freedom))


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

    Examples
    --------
    >>> found = burst_test([[10, 11, 9, 60, 12, 10], [90, 89, 91, 90, 88, 90]], [100, 100, 100, 150, 100, 100])
    >>> int(found.first[0]), int(found.last[0]), round(float(found.ratio[0]), 1), found.p.round(4)
    (3, 3, 3.8, array([0., 1.]))
    """
    table = _Table.of(counts, totals)
    n_periods, n = len(table.totals), table.totals.sum()
    first, last = _runs(n_periods)
    if not len(first):
        none, one = np.zeros(len(table.counts), np.intp), np.ones(len(table.counts))
        return Bursts(none, none, one, one)
    scatter = _Scatter.of(table.lines()[2], n_periods - 2)
    inside, n_inside = _sums(table.counts, first, last), _sums(table.totals, first, last)
    outside, n_outside = table.counts.sum(axis=1, keepdims=True) - inside, n - n_inside
    spread = scatter.shrunk(table.squares_outside(first, last), n_periods - 1 - (last - first + 1))
    spread = np.maximum(spread, scatter.mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (inside / n_inside) / (outside / n_outside)
        # Texts that come in lumps count as one lump; the number of a group's lumps in the run is binomial.
        p = special.betainc(inside / spread, outside / spread + 1, n_inside / n)
    p = np.where(ratio > 1, np.minimum(p * len(first), 1), 1)
    groups, best = np.arange(len(p)), np.argmin(p, axis=1)
    ratio, p = np.where(p < 1, ratio, 1)[groups, best], p[groups, best]
    return Bursts(table.periods[first[best]], table.periods[last[best]], ratio, p)


class Variations(NamedTuple):
    """How unevenly each group is spread: the periods where it is rarest and most frequent, and the p-value."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    p: Floats


def variation_test(counts: ArrayLike, totals: ArrayLike) -> Variations:
    """Test whether the share of each group differs between periods in any way.

    It is Pearson's chi-square test. Counts scatter more than independent draws, so the difference between neighboring
    periods that is typical of the groups divides the statistic. `low` and `high` are the periods that deviate most in
    standard errors, so that a period with few texts is not named for its extreme share. Two periods are left to
    :func:`trend_test`; a group with too few texts and a period with hardly any are not tested.

    Examples
    --------
    >>> waves = [10, 60, 12, 55, 9, 58, 11, 62]
    >>> flat = [[95, 101, 99, 102, 98, 97, 104, 100], [99, 100, 97, 103, 101, 98, 102, 96]] * 3
    >>> found = variation_test([waves, *flat], [1000] * 8)
    >>> int(found.low[0]), int(found.high[0]), found.p.round(2).tolist()[:3]
    (4, 7, [0.0, 1.0, 1.0])
    """
    table = _Table.of(counts, totals).without_small_periods()
    n_groups, n_periods = table.counts.shape
    if n_periods < 3 or not n_groups:
        none = np.zeros(n_groups, np.intp)
        return Variations(none, none, np.ones(n_groups))
    residuals, sizes, freedom = table.residuals(), table.counts.sum(axis=1), n_periods - 1
    neighbors = table.neighbors()[sizes >= FEWEST_PER_PERIOD * n_periods]
    # Differences of neighbors have a period in common, so three of them say as much as two independent ones.
    known = 2 / 3 * freedom
    typical = max(1.0, float(np.median(neighbors)) * known / scipy.stats.chi2.median(known)) if neighbors.size else 1.0
    typical *= LUMPIER
    squares = np.square(residuals).sum(axis=1) / typical
    few = len(neighbors) < FEWEST_GROUPS
    p = special.fdtrc(freedom, known, squares / freedom) if few else special.chdtrc(freedom, squares)
    p = np.where(sizes >= FEWEST_PER_PERIOD * typical * n_periods, p, 1)
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

    Examples
    --------
    >>> found = volume_test([160, 171, 158, 516, 149, 163, 155])
    >>> float(found.usual[0]), (found.p < 0.05).tolist()
    (160.0, [False, False, False, True, False, False, False])
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
    """Return p-values that control the false discovery rate of many tests (Benjamini and Hochberg).

    Examples
    --------
    >>> adjusted([0.01, 0.5, 0.02]).round(3)
    array([0.03, 0.5 , 0.03])
    """
    values = np.asarray(p, float)
    return np.asarray(scipy.stats.false_discovery_control(values)) if values.size else values


def common_scatter(z: Floats) -> float:
    """Return the dispersion of two files: how far the median of the squares of `z` exceeds the one of chance.

    Most groups are expected to be steady. Where most change, the median no longer tells dispersion from change, so it
    counts up to `MOST_SCATTER` only.
    """
    if len(z) < FEWEST_GROUPS:
        return 1.0
    return float(np.clip(np.median(np.square(z)) / scipy.stats.chi2.median(1), 1, MOST_SCATTER))


class _Scatter(NamedTuple):
    """What is known about the dispersion of a group before its own periods are seen.

    `weight` is how many degrees of freedom this knowledge is worth: infinite if all groups have the same dispersion.
    `mean` is that of all groups, in which the lumpiest count most.
    """

    typical: float
    weight: float
    mean: float

    @staticmethod
    def of(squares: Floats, freedom: int) -> _Scatter:
        """Fit the dispersions of groups by a scaled F distribution, by the moments of their logarithms."""
        each = squares / max(freedom, 1)
        pooled = float(each.mean()) if freedom > 0 and len(each) else 0.0
        if pooled == 0:
            return _Scatter(1.0, np.inf, 1.0)
        if len(each) < FEWEST_GROUPS:
            return _Scatter(1.0, 0.0, 1.0)
        logs = np.log(np.maximum(each, pooled / 1000))
        chance = special.polygamma(1, freedom / 2)
        doubt = np.sqrt((special.polygamma(3, freedom / 2) + 2 * chance**2) / len(each))
        differ = float(logs.var(ddof=1) - chance - doubt)
        if differ <= special.polygamma(1, 500):
            return _Scatter(pooled, np.inf, pooled)
        weight = 2 * scipy.optimize.brentq(lambda half: special.polygamma(1, half) - differ, 1e-3, 500)
        shift = special.digamma(weight / 2) - np.log(weight / 2) - special.digamma(freedom / 2) + np.log(freedom / 2)
        return _Scatter(float(np.exp(logs.mean() + shift)), float(weight), pooled)

    def shrunk(self, squares: Floats, freedom: int | NDArray[np.intp]) -> Floats:
        """Return the dispersion of each group, at least 1: that of independent draws."""
        if np.isinf(self.weight):
            return np.full(squares.shape, max(self.typical, 1.0))
        shrunk: Floats = (self.weight * self.typical + squares) / (self.weight + freedom)
        return np.maximum(shrunk, 1.0)


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

    def neighbors(self) -> Floats:
        """Return the mean squared difference of neighboring periods for each group; it is 1 for independent draws."""
        share = self.counts.sum(axis=1, keepdims=True) / max(self.totals.sum(), 1)
        variance = share * (1 - share) * (1 / self.totals[1:] + 1 / self.totals[:-1])
        mean: Floats = _divided(np.square(np.diff(self.counts / self.totals, axis=1)), variance).mean(axis=1)
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
