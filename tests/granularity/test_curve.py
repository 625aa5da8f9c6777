import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.granularity.curve import read_curve, smooth

KS = np.unique(np.geomspace(3, 400, 60).astype(int))
curves = st.lists(st.floats(-0.5, 1), min_size=1, max_size=30).map(np.array)


def bump(center, width, height):
    return height * np.exp(-0.5 * ((np.log(KS) - np.log(center)) / width) ** 2)


def cells(ks):
    logs = np.log(ks)
    ends = [logs[0], *((logs[1:] + logs[:-1]) / 2), logs[-1]]
    return [high - low for low, high in itertools.pairwise(ends)]


def test_four_fifths_of_the_weight_lie_up_to_the_answer():
    score = bump(40, 1.0, 0.6) + 0.05 * np.sin(KS)
    weights = [(max(s, 0) / score.max()) ** 14 * cell for s, cell in zip(score, cells(KS), strict=True)]
    at = list(KS).index(read_curve(KS, score))
    assert sum(weights[:at]) < 0.8 * sum(weights) <= sum(weights[: at + 1])


def test_smoothing_is_a_weighted_mean_over_ln_k():
    ks, score = np.array([2, 3, 5, 9]), np.array([0.1, 0.6, 0.2, 0.5])
    expected = []
    for at in ks:
        weights = [np.exp(-((np.log(k / at) / 0.3) ** 2) / 2) * cell for k, cell in zip(ks, cells(ks), strict=True)]
        expected.append(np.average(score, weights=weights))
    assert smooth(ks, score, 0.3) == pytest.approx(np.array(expected))


def test_a_broad_plateau_wins_against_a_higher_peak():
    plateau = np.where((KS >= 50) & (KS <= 120), 0.6, 0.3)
    peak = np.where(KS == 6, 0.65, 0.3)
    assert 80 <= read_curve(KS, np.maximum(plateau, peak)) <= 115


@pytest.mark.parametrize("center", [6, 30, 150])
def test_the_answer_is_on_the_fine_side_of_the_middle_of_a_plateau(center):
    assert center <= read_curve(KS, bump(center, 0.8, 0.6)) <= 1.5 * center


@pytest.mark.parametrize("k", [5, 19, 87])
def test_clear_groups_are_counted_exactly(k):
    ks = np.arange(2, 200)
    assert read_curve(ks, np.where(ks == k, 1.0, np.where(ks < k, 0.98, 0.9))) == k
    assert read_curve(ks, np.where(ks <= k, 1.0, 0.9)) == k
    assert read_curve(ks, np.where(ks == k, 0.99, np.where(ks < k, 0.9, 0.95))) == k


@given(st.integers(0, 1000), st.sampled_from([6, 20, 60]))
def test_noise_in_the_scores_moves_k_little(seed, center):
    two_peaks = np.maximum(bump(center, 0.5, 0.6), bump(3 * center, 0.5, 0.6))
    noise = 0.01 * np.random.default_rng(seed).standard_normal(len(KS))
    assert 1 / 1.6 <= read_curve(KS, two_peaks + noise) / read_curve(KS, two_peaks) <= 1.6


@given(curves)
def test_any_curve_has_an_answer(score):
    ks = np.arange(2, 2 + len(score))
    assert read_curve(ks, score) in ks
    assert read_curve(ks, score, 0.6) <= read_curve(ks, score, 0.8)
