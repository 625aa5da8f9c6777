import itertools

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labeled_sets import DATA, needs_data
from sklearn.metrics import adjusted_mutual_info_score

import textspectra as ts
from textspectra.core import agreement
from textspectra.core.agreement import (
    HALF_CLUSTERS,
    _agreement,
    _half_centers,
    _micro_clusters,
    discounted,
    half_agreement,
    read_curve,
)
from textspectra.core.ward import ward_tree

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
def test_the_peak_of_clear_groups_is_the_answer(k):
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


def blobs(k, n, spread, seed=0, d=48):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((k, d))[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d))


def units(k, n, spread, d):
    points = blobs(k, n, spread, d=d)
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def test_halves_agree_on_the_planted_groups_and_on_no_finer_ones():
    at_5, at_20 = half_agreement(units(5, 600, 0.1, d=16), np.array([5, 20]), np.random.default_rng(0))
    assert at_5 == pytest.approx(1)
    assert at_20 < 0.8


def test_the_agreement_is_the_adjusted_mutual_information():
    rng = np.random.default_rng(0)
    ours = rng.integers(12, size=4000)
    theirs = np.where(rng.random(4000) < 0.7, ours, rng.integers(12, size=4000))
    expected = adjusted_mutual_info_score(ours, theirs)
    assert _agreement(ours, theirs, 12, rng.permutation(4000)) == pytest.approx(expected, abs=0.01)
    assert np.isnan(_agreement(ours % 3, theirs, 12, rng.permutation(4000)))


def test_first_centers_are_the_means_of_the_ward_clusters(monkeypatch):
    monkeypatch.setattr(agreement, "CENTER_PASSES", 0)
    points = units(4, 90, 0.4, d=5)
    for k, centers in zip((2, 5, 9), _half_centers(points, np.array([2, 5, 9])), strict=True):
        labels = ward_tree(points, np.ones(90)).cut(k)
        sums = np.array([points[labels == label].sum(axis=0) for label in range(k)])
        expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        assert sorted(map(tuple, centers.round(4))) == sorted(map(tuple, expected.round(4)))


def test_small_clusters_hold_every_row_once():
    points = units(40, 1500, 0.4, d=12)
    sums, sizes = _micro_clusters(points)
    assert len(sums) == len(sizes) <= HALF_CLUSTERS
    assert sizes.min() >= 1
    assert sizes.sum() == 1500
    np.testing.assert_allclose(sums.sum(axis=0), points.sum(axis=0), atol=1e-2)


def test_equal_rows_are_one_small_cluster_and_too_many_groups_are_none():
    points = np.repeat(np.eye(3, dtype=np.float32), 400, axis=0)[np.random.default_rng(0).permutation(1200)]
    assert sorted(_micro_clusters(points)[1]) == [400, 400, 400]
    at_3, *finer = half_agreement(points, np.array([3, 4, 9]), np.random.default_rng(0))
    assert at_3 == pytest.approx(1)
    assert np.isnan(finer).all()


@pytest.mark.parametrize("k", [2, 3, 8, 19, 31])
def test_clear_groups_are_counted_exactly(k):
    estimate = ts.estimate_k(blobs(k, 1200, 0.2), random_state=0)
    assert (estimate.k, estimate.method) == (k, "reproducible")
    assert estimate.confidence > 0.95
    assert estimate.interval[0] <= k <= estimate.interval[1]


def test_few_wide_groups_are_no_cloud(planted):
    X, _ = planted(4, 400, noise=0.3)
    assert ts.estimate_k(X, random_state=0).k == 4


@pytest.mark.parametrize("cloud", ["round", "long", "off center", "uniform"])
@pytest.mark.parametrize("n", [200, 900])
def test_a_cloud_has_no_structure(cloud, n):
    rng = np.random.default_rng(n)
    X = {
        "round": lambda: rng.standard_normal((n, 64)),
        "long": lambda: rng.standard_normal((n, 64)) * np.arange(1, 65) ** -0.7,
        "off center": lambda: 0.5 + 0.1 * rng.standard_normal((n, 64)),
        "uniform": lambda: rng.random((n, 64)),
    }[cloud]()
    estimate = ts.estimate_k(X, random_state=0)
    assert (estimate.k, estimate.interval, len(estimate.suggestions)) == (1, (1, 1), 1)
    assert "no structure here" in repr(estimate)
    assert ts.AutoKMeans(random_state=0).fit(X).n_clusters_ == 1


def test_equal_rows_and_a_single_outlier_are_one_group():
    X = np.tile([3.0, 1.0, 2.0], (200, 1))
    assert ts.estimate_k(X, random_state=0).k == 1
    X[7] = [1.0, 5.0, 0.0]
    assert ts.estimate_k(X, random_state=0).k <= 2


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_same_seed_same_estimate_for_any_number_of_jobs(backend):
    X = blobs(6, 300, 1.5)
    one = ts.estimate_k(X, random_state=3, n_jobs=1)
    two = ts.estimate_k(X, random_state=3, n_jobs=2)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        three = ts.estimate_k(X, random_state=3)
    assert one == two == three
    for other in (two, three):
        assert one.agreement.score == pytest.approx(other.agreement.score, abs=1e-6)
        assert one.replicates.tolist() == other.replicates.tolist()


@needs_data
@pytest.mark.parametrize(
    ("name", "low", "high"), [("banking77", 40, 140), ("searchsnippets", 4, 20), ("dbpedia14", 7, 28)]
)
def test_real_sets_are_counted_within_reason(name, low, high):
    X = np.load(DATA / "minilm" / f"{name}.npz")["embedding"]
    assert low <= ts.estimate_k(X, random_state=0).k <= high


@pytest.mark.parametrize(("k", "n"), [(12, 1200), (40, 3000), (128, 5000)])
def test_clear_groups_between_the_steps_are_counted_exactly(k, n):
    assert ts.estimate_k(blobs(k, n, 0.2), random_state=0).k == k


def test_groups_within_groups_are_both_suggested():
    rng = np.random.default_rng(0)
    inner = np.repeat(2 * rng.standard_normal((4, 48)), 10, axis=0) + rng.standard_normal((40, 48))
    estimate = ts.estimate_k(inner[rng.integers(40, size=2000)] + 0.15 * rng.standard_normal((2000, 48)))
    assert {"coarse": 4, "suggested": 40}.items() <= {level.name: level.k for level in estimate.suggestions}.items()


@needs_data
@pytest.mark.parametrize("name", ["banking77", "searchsnippets", "m10"])
def test_one_dominant_direction_does_not_decide(name):
    X = np.load(DATA / "minilm" / f"{name}.npz")["embedding"].astype(np.float32)
    before = ts.estimate_k(X, random_state=0).k
    rng = np.random.default_rng(0)
    # As if half of the texts began with the same words.
    direction = rng.standard_normal(X.shape[1])
    X[rng.permutation(len(X))[: len(X) // 2]] += 0.5 * direction / np.linalg.norm(direction)
    assert 1 / 1.5 <= ts.estimate_k(X, random_state=0).k / before <= 1.5
