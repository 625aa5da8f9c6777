import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.granularity.curve import read_curve, smooth

KS = np.unique(np.geomspace(3, 400, 60).astype(int))
curves = st.lists(st.floats(-0.5, 1), min_size=1, max_size=30).map(np.array)


def bump(center, width, height):
    return height * np.exp(-0.5 * ((np.log(KS) - np.log(center)) / width) ** 2)


def test_smoothing_is_a_weighted_mean_over_ln_k():
    ks, score = np.array([2, 3, 5, 9]), np.array([0.1, 0.6, 0.2, 0.5])
    logs = np.log(ks)
    ends = [logs[0], *((logs[1:] + logs[:-1]) / 2), logs[-1]]
    expected = []
    for at in logs:
        weights = [np.exp(-(((one - at) / 0.3) ** 2) / 2) * (ends[i + 1] - ends[i]) for i, one in enumerate(logs)]
        expected.append(sum(w * s for w, s in zip(weights, score, strict=True)) / sum(weights))
    assert smooth(ks, score, 0.3) == pytest.approx(np.array(expected))


@given(curves)
def test_a_smoothed_score_stays_in_the_range_of_the_scores(score):
    smoothed = smooth(np.arange(2, 2 + len(score)), score)
    assert (smoothed >= score.min() - 1e-9).all()
    assert (smoothed <= score.max() + 1e-9).all()


def test_a_broad_plateau_wins_against_a_higher_peak():
    plateau = np.where((KS >= 50) & (KS <= 120), 0.6, 0.3)
    peak = np.where(KS == 6, 0.7, 0.3)
    assert 80 <= read_curve(KS, np.maximum(plateau, peak)) <= 110


@pytest.mark.parametrize("center", [6, 30, 150])
def test_the_answer_is_on_the_fine_side_of_the_middle_of_a_plateau(center):
    assert center <= read_curve(KS, bump(center, 0.8, 0.6)) <= 1.4 * center


@pytest.mark.parametrize("k", [5, 19, 87])
def test_a_perfect_score_is_the_answer_whatever_is_around_it(k):
    ks = np.arange(2, 200)
    score = np.where(ks == k, 1.0, np.where(ks < k, 0.98, 0.9))
    assert read_curve(ks, score) == k
    assert read_curve(ks, np.where(ks <= k, 1.0, 0.9)) == k


@given(st.integers(0, 1000))
def test_noise_in_the_scores_moves_k_little(seed):
    noise = 0.01 * np.random.default_rng(seed).standard_normal(len(KS))
    assert 1 / 1.6 <= read_curve(KS, bump(40, 0.9, 0.6) + noise) / read_curve(KS, bump(40, 0.9, 0.6)) <= 1.6


@given(curves)
def test_the_answer_is_one_of_the_k(score):
    ks = np.arange(2, 2 + len(score))
    assert read_curve(ks, score) in ks
