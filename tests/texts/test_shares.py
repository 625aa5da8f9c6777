"""Intervals, comparisons and tests of shares against SciPy, counting out and planted changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textspectra.texts.shares import (
    adjusted,
    burst_test,
    compare_shares,
    trend_test,
    variation_test,
    volume_test,
    wilson_interval,
)

counts_of_total = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts_of_total)
def test_wilson_interval_is_what_scipy_computes(one):
    count, total = one
    expected = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert np.array(wilson_interval(count, total)) == pytest.approx([expected.low, expected.high], abs=1e-4)


def test_wilson_interval_of_nothing_is_everything():
    low, high = wilson_interval([0, 3], [0, 3])
    assert low.tolist() == [0, pytest.approx(0.4385, abs=1e-4)]
    assert high.tolist() == [1, 1]


@given(counts_of_total, counts_of_total)
def test_compare_shares_is_fishers_mid_p_counted_out(one, other):
    (x, n), (y, m) = one, other
    ways = [*stats.hypergeom.pmf(np.arange(n + 1), n + m, x + y, n)]
    half = ways[x] / 2
    expected = min(1, 2 * min(sum(ways[:x]) + half, sum(ways[x + 1 :]) + half))
    assert compare_shares(x, n, y, m) == pytest.approx(expected, abs=1e-9)
    assert compare_shares(y, m, x, n) == pytest.approx(expected, abs=1e-9)


def test_compare_shares_holds_for_millions_of_rows():
    p = compare_shares([1_000, 100_000, 0], 5_000_000, [1_000, 103_000, 40], 5_000_000)
    assert p[0] == pytest.approx(1, abs=0.02)
    assert p[1] == pytest.approx(2.6e-11, rel=0.5)
    assert p[2] == pytest.approx(2**-40, rel=0.01)


def test_trend_is_the_one_of_cochran_and_armitage_where_the_scatter_is_that_of_draws():
    rng = np.random.default_rng(1)
    totals = np.array([300, 0, 420, 380, 500])
    counts = np.array([rng.binomial(totals, share) for share in rng.uniform(0.02, 0.2, 40)])
    counts[0] = [10, 0, 30, 40, 80]
    z, _ = trend_test(counts, totals)
    n, times = totals.sum(), np.arange(5)
    for cluster in (0, 7):
        p = counts[cluster].sum() / n
        statistic = sum(t * (c - m * p) for t, c, m in zip(times, counts[cluster], totals, strict=True))
        variance = p * (1 - p) * (sum(totals * times**2) - sum(totals * times) ** 2 / n)
        assert z[cluster] == pytest.approx(statistic / variance**0.5, rel=0.1)


def test_trend_of_two_periods_is_their_comparison():
    before, after = np.array([10, 50, 30, 40]), np.array([22, 48, 31, 39])
    z, p = trend_test(np.column_stack([before, after]), [130, 140])
    assert p == pytest.approx(compare_shares(before, 130, after, 140))
    assert (np.sign(z) == np.sign(after / 140 - before / 130)).all()


def test_no_trend_and_no_burst_where_there_is_nothing_to_compare():
    for counts, totals in (
        ([[5], [7]], [12]),
        ([[5, 0, 0], [7, 0, 0]], [12, 0, 0]),
        ([[9, 8, 7, 6]], [9, 8, 7, 6]),
        ([[0, 0, 0], [3, 4, 5]], [3, 4, 5]),
        (np.zeros((2, 3)), [0, 0, 0]),
        (np.zeros((0, 3)), [1, 2, 3]),
    ):
        assert (trend_test(counts, totals)[-1] == 1).all()
        assert (burst_test(counts, totals)[-1] == 1).all()
        assert (variation_test(counts, totals)[-1] == 1).all()


def test_a_burst_is_found_where_it_is_and_periods_without_texts_keep_their_numbers():
    rng = np.random.default_rng(2)
    totals = np.array([200] * 13)
    totals[4] = 0
    counts = np.array([rng.binomial(totals, 0.05) for _ in range(20)])
    counts[3, 6:8] += 40
    first, last, p = burst_test(counts, totals)
    assert (first[3], last[3]) == (6, 7)
    assert p[3] < 1e-6
    assert adjusted(p)[np.arange(20) != 3].min() > 0.05


def test_one_lumpy_group_is_no_trend():
    rng = np.random.default_rng(3)
    totals = np.full(24, 500)
    counts = np.array([rng.binomial(totals, 0.02) for _ in range(40)])
    # Ten lumps of 30 texts, most of them late, are the chance of ten draws rather than of 300.
    counts[0] = np.bincount([3, 5, 9, 12, 14, 15, 17, 19, 20, 22], minlength=24) * 30
    totals = totals + counts[0]
    assert trend_test(counts, totals)[-1][0] > 0.01
    assert burst_test(counts, totals)[-1][0] > 0.01


def _lumps(rng, n_clusters, n_periods, n_lumps, copies):
    """Counts of texts that come at random, each of them several times."""
    weights = rng.lognormal(size=n_clusters)
    clusters = rng.choice(n_clusters, n_lumps, p=weights / weights.sum())
    periods = rng.choice(n_periods, n_lumps, p=rng.dirichlet(np.full(n_periods, 5)))
    times = rng.geometric(1 / copies, n_lumps)
    return np.bincount(clusters * n_periods + periods, times, n_clusters * n_periods).reshape(n_clusters, n_periods)


def test_true_changes_are_found_among_lumps():
    rng = np.random.default_rng(5)
    found = wrong = 0
    for _ in range(30):
        counts = _lumps(rng, 50, 12, 5000, 2)
        counts[0] += np.arange(12).astype(int) * 6
        counts[1, 4] += 90
        totals = counts.sum(axis=0)
        trend = adjusted(trend_test(counts, totals)[-1]) < 0.05
        burst = adjusted(burst_test(counts, totals)[-1]) < 0.05
        found += int(trend[0]) + int(burst[1])
        wrong += int(trend[1:].sum()) + int(burst[2:].sum())
    assert found >= 50
    assert wrong <= 6


@pytest.mark.parametrize("copies", [1, 3])
def test_a_group_that_comes_and_goes_is_found_by_no_other_test(copies):
    rng = np.random.default_rng(6)
    found = missed = wrong = 0
    for _ in range(20):
        counts = _lumps(rng, 20, 16, 6000, copies)
        share = np.where(np.arange(16) % 4 < 2, 0.18, 0.05)
        counts[0] = rng.poisson(counts.sum(axis=0) * share / copies) * copies
        totals = counts.sum(axis=0)
        varies = adjusted(variation_test(counts, totals)[-1]) < 0.05
        others = np.minimum(trend_test(counts, totals)[-1], burst_test(counts, totals)[-1])
        found += int(varies[0])
        missed += int(others[0] > 0.01)
        wrong += int(varies[1:].sum())
    assert found >= 18
    assert missed >= 18
    assert wrong <= 4  # of 380; their shares fall a little where it comes


def test_a_period_with_hardly_any_texts_neither_decides_nor_is_named():
    counts = np.array([[1, 80, 60, 81, 59, 80, 60]] + [[0, 50, 51, 49, 50, 52, 48]] * 8)
    totals = np.array([1, 1000, 1000, 1000, 1000, 1000, 1000])
    low, high, p = variation_test(counts, totals)
    assert p == pytest.approx(variation_test(counts[:, 1:], totals[1:])[-1])
    assert (low[0], high[0]) == (4, 3)


@given(st.lists(st.integers(0, 10_000), max_size=40), st.integers(1, 7))
def test_a_volume_has_a_p_value_and_equal_volumes_are_usual(totals, season):
    _, p = volume_test(totals, season)
    assert ((p >= 0) & (p <= 1)).all()
    assert (volume_test(sorted(totals)[:1] * 9, season)[-1] == 1).all()


@pytest.mark.parametrize("scatter", [0, 0.2, 0.5])
@pytest.mark.parametrize("n_periods", [7, 12, 60])
def test_a_volume_is_rarely_unusual_by_chance(n_periods, scatter):
    rng = np.random.default_rng(7)
    totals = rng.poisson(200 * np.exp(scatter * rng.standard_normal((200, n_periods))))
    assert sum(volume_test(one)[-1].min() < 0.05 for one in totals) <= 20  # of 200, where 10 are expected


def test_weekends_are_usual_and_a_busy_one_is_not():
    days = np.tile([120, 118, 125, 121, 119, 14, 9], 6)
    assert (volume_test(days, season=7)[-1] > 0.05).all()
    days[12] = 96
    assert np.flatnonzero(volume_test(days, season=7)[-1] < 0.05).tolist() == [12]
