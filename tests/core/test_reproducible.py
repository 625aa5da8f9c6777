import joblib
import numpy as np
import pytest
from labeled_sets import DATA, needs_data

import textspectra as ts


def clusters(k, n, spread, seed=0, d=48):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((k, d))[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d))


@pytest.mark.parametrize("k", [2, 3, 8, 19, 31])
def test_clear_groups_are_counted_exactly(k):
    estimate = ts.estimate_k(clusters(k, 1200, 0.2), random_state=0)
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
    X = clusters(6, 300, 1.5)
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
    assert ts.estimate_k(clusters(k, n, 0.2), random_state=0).k == k


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
