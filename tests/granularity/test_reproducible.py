import itertools

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_sets import DATA, needs_data
from sklearn.metrics import adjusted_mutual_info_score

import textspectra as ts
from textspectra.clustering.tree import ward_tree
from textspectra.granularity.estimate import NAMES, interval_around, suggest
from textspectra.granularity.halves import _agreement, _half_centers
from textspectra.granularity.reproducible import Agreement, finest


def groups(k, n, spread, seed=0, d=48):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((k, d))[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d))


@pytest.mark.parametrize("k", [2, 3, 8, 19, 31])
def test_clear_groups_are_counted_exactly(k):
    estimate = ts.estimate_k(groups(k, 1200, 0.2), random_state=0)
    assert (estimate.k, estimate.method) == (k, "reproducible")
    assert estimate.confidence > 0.95
    assert estimate.interval[0] <= k <= estimate.interval[1]


def test_few_wide_groups_are_no_cloud(planted):
    X, _ = planted(4, 400, noise=0.3)
    assert ts.estimate_k(X, random_state=0).k == 4


@pytest.mark.parametrize("cloud", ["round", "long", "off centre", "uniform"])
@pytest.mark.parametrize("n", [200, 900])
def test_a_cloud_has_no_structure(cloud, n):
    rng = np.random.default_rng(n)
    X = {
        "round": lambda: rng.standard_normal((n, 64)),
        "long": lambda: rng.standard_normal((n, 64)) * np.arange(1, 65) ** -0.7,
        "off centre": lambda: 0.5 + 0.1 * rng.standard_normal((n, 64)),
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


def test_few_rows_are_read_off_the_spectrum():
    assert ts.estimate_k(groups(4, 63, 0.05), random_state=0).method == "spectral"
    assert ts.estimate_k(groups(4, 64, 0.05), random_state=0).method == "reproducible"


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_same_seed_same_estimate_for_any_number_of_jobs(backend):
    X = groups(6, 300, 1.5)
    one = ts.estimate_k(X, random_state=3, n_jobs=1)
    two = ts.estimate_k(X, random_state=3, n_jobs=2)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        three = ts.estimate_k(X, random_state=3)
    assert one == two == three
    for other in (two, three):
        assert one.agreement.score == pytest.approx(other.agreement.score, abs=1e-6)
        assert one.replicates.tolist() == other.replicates.tolist()


def test_a_row_with_a_count_is_that_many_rows():
    X = groups(5, 120, 0.3)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = ts.AutoKMeans(random_state=0).fit(X, sample_weight=counts).k_estimate_
    assert weighted.n_samples == counts.sum()
    assert weighted.k == ts.AutoKMeans(random_state=0).fit(np.repeat(X, counts, axis=0)).k_estimate_.k


def test_the_agreement_is_the_adjusted_mutual_information():
    rng = np.random.default_rng(0)
    ours = rng.integers(12, size=4000)
    theirs = np.where(rng.random(4000) < 0.7, ours, rng.integers(12, size=4000))
    expected = adjusted_mutual_info_score(ours, theirs)
    assert _agreement(ours, theirs, 12, rng.permutation(4000)) == pytest.approx(expected, abs=0.01)
    assert np.isnan(_agreement(ours % 3, theirs, 12, rng.permutation(4000)))


def test_first_centres_are_the_means_of_the_ward_clusters(monkeypatch):
    monkeypatch.setattr("textspectra.granularity.halves.PASSES", 0)
    points = groups(4, 90, 0.4, d=5)
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    for k, centers in zip((2, 5, 9), _half_centers(points, np.array([2, 5, 9])), strict=True):
        labels = ward_tree(points, np.ones(90)).cut(k)
        sums = np.array([points[labels == label].sum(axis=0) for label in range(k)])
        expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        assert sorted(map(tuple, centers.round(4))) == sorted(map(tuple, expected.round(4)))


curves = st.lists(st.floats(-0.5, 1), min_size=3, max_size=30).map(np.array)


@given(curves)
def test_the_finest_k_is_never_coarser_than_the_best_one(score):
    ks = np.arange(2, 2 + len(score))
    assert finest(ks, score) >= ks[score.argmax()]
    assert finest(ks, score, tolerance=0) <= finest(ks, score)


@given(curves.filter(lambda score: score.max() > 0), st.data())
@settings(max_examples=50)
def test_suggestions_are_ordered_and_apart(score, data):
    ks = np.arange(2, 2 + len(score))
    k = data.draw(st.sampled_from(ks.tolist()))
    found = suggest(Agreement(ks, score, score, score, 0.5), k)
    names = [one.name for one in found]
    assert names == [name for name in NAMES if name in names]
    assert all(2 * low.k <= high.k for low, high in itertools.pairwise(found))
    assert len({one.k for one in found}) == len(found)
    assert next(one for one in found if one.name == "suggested").k == k


@given(st.integers(2, 500), st.floats(0, 1), st.floats(0, 1))
def test_the_interval_shrinks_with_confidence(k, one, other):
    low, high = interval_around(k, min(one, other), 10_000)
    inner_low, inner_high = interval_around(k, max(one, other), 10_000)
    assert low <= inner_low <= k <= inner_high <= high


def test_plot_shows_the_curve_and_the_suggestions():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    estimate = ts.estimate_k(groups(9, 500, 0.8), random_state=0)
    texts = [text.get_text() for text in estimate.plot().get_legend().get_texts()]
    assert f"suggested: {estimate.k}" in texts
    assert "two halves of a structureless cloud" in texts


@needs_data
@pytest.mark.parametrize(
    ("name", "low", "high"), [("banking77", 50, 130), ("searchsnippets", 6, 14), ("dbpedia14", 9, 28)]
)
def test_real_sets_are_counted_within_reason(name, low, high):
    X = np.load(DATA / "minilm" / f"{name}.npz")["embedding"]
    assert low <= ts.estimate_k(X, random_state=0).k <= high
