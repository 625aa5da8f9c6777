import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.core.agreement import discounted, read_curve

KS = np.unique(np.geomspace(3, 400, 60).astype(int))
curves = st.lists(st.floats(-0.5, 1), min_size=1, max_size=30).map(np.array)


def bump(center, width, height):
    return height * np.exp(-0.5 * ((np.log(KS) - np.log(center)) / width) ** 2)


def literal_answer(ks, score, power, position):
    """The k up to which a share of the weight lies, by adding up thin slices of ln k."""
    logs = np.log(ks)
    ends = [logs[0], *((logs[1:] + logs[:-1]) / 2), logs[-1]]
    slices = [
        (x, (s / score.max()) ** power)
        for s, (low, high) in zip(score, itertools.pairwise(ends), strict=True)
        for x in np.linspace(low, high, 200, endpoint=False)
        for _ in range(max(1, round(2000 * (high - low))))
    ]
    total, run = sum(weight for _, weight in slices), 0.0
    for x, weight in slices:
        run += weight
        if run >= position * total:
            return np.exp(x)
    raise AssertionError


@pytest.mark.parametrize(("height", "position"), [(0.5, 0.42), (0.7, 0.56), (0.75, 0.63)])
def test_the_share_of_the_weight_rises_with_the_agreement(height, position):
    score = bump(40, 1.0, height) + 0.02 * np.sin(KS)
    score *= height / score.max()
    expected = literal_answer(KS, discounted(KS, score), 16, position)
    assert read_curve(KS, score).k == pytest.approx(expected, rel=0.05)


def test_a_broad_plateau_wins_against_a_higher_peak():
    plateau = np.where((KS >= 50) & (KS <= 120), 0.6, 0.3)
    peak = np.where(KS == 6, 0.65, 0.3)
    assert 50 <= read_curve(KS, np.maximum(plateau, peak)).k <= 115


@pytest.mark.parametrize("coarse", [2, 3, 4])
def test_a_coarse_split_does_not_beat_the_structure_behind_it(coarse):
    ks = np.unique(np.geomspace(2, 180, 40).astype(int))
    plateau = np.where((ks >= 10) & (ks <= 140), 0.65, 0.5)
    assert 10 <= read_curve(ks, np.where(ks == coarse, 0.99, plateau)).k <= 140
    # With nothing behind it, it is the answer.
    nothing = np.log(coarse) / np.log(np.maximum(ks, coarse))
    assert read_curve(ks, np.where(ks == coarse, 0.99, 0.95 * nothing)).k == coarse


@pytest.mark.parametrize("k", [5, 19, 87])
def test_clear_groups_are_counted_exactly(k):
    ks = np.arange(3, 200)
    behind = np.log(k) / np.log(np.maximum(ks, k))  # what halves agree on if they find these groups and no others
    assert read_curve(ks, np.where(ks < k, 0.98, behind)) == (k, 1)
    assert read_curve(ks, np.where(ks <= k, 1.0, behind)) == (k, 1)
    assert read_curve(ks, np.where(ks == k, 0.999, np.where(ks < k, 0.9, 0.95 * behind))).k == k


@given(st.integers(0, 1000), st.sampled_from([12, 30, 60]))
def test_noise_in_the_agreement_moves_k_little(seed, center):
    two_peaks = np.maximum(bump(center, 0.5, 0.6), bump(3 * center, 0.5, 0.6))
    noise = 0.005 * np.random.default_rng(seed).standard_normal(len(KS))
    assert 1 / 1.5 <= read_curve(KS, two_peaks + noise).k / read_curve(KS, two_peaks).k <= 1.5


@given(curves)
def test_any_curve_has_an_answer(agreement):
    ks = np.arange(2, 2 + len(agreement))
    k, confidence = read_curve(ks, agreement)
    assert ks[0] <= k <= ks[-1]
    assert 0 <= confidence <= 1


@given(curves)
def test_a_discount_never_raises_a_score(agreement):
    ks = np.arange(2, 2 + len(agreement))
    assert (discounted(ks, agreement) <= agreement).all()


def test_a_clear_split_in_two_hides_nothing():
    ks = np.unique(np.geomspace(2, 60, 25).astype(int))
    plateau = np.where((ks >= 12) & (ks <= 40), 0.4, 0.3)
    # Half of the texts carry a name: halves always find that split, and the groups behind it only in part.
    assert 8 <= read_curve(ks, np.where(ks == 2, 0.99, np.where(ks == 3, 0.62, plateau))).k <= 50


def test_a_sharp_peak_is_more_certain_than_a_flat_curve():
    flat = np.full(len(KS), 0.6)
    assert read_curve(KS, bump(30, 0.3, 0.6)).confidence > 2 * read_curve(KS, flat).confidence
