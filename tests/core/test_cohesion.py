import math

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.core import cohesion


@given(st.integers(0, 10**6), st.integers(3, 30), st.integers(1, 12), st.booleans())
def test_ratio_is_the_double_loops(seed, n, k, rectify):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)) + rng.standard_normal(5) + 1
    labels = rng.integers(-1, k, n).tolist()
    mu_global, mu_intra, ratio = reference.cohesion(X, labels, rectify)
    assume(mu_global > 1e-3)
    report = ts.cohesion_report(X, labels, rectify=rectify)
    assert (report.mu_global, report.mu_intra, report.ratio) == pytest.approx(
        (mu_global, mu_intra, ratio), rel=1e-3, abs=1e-5
    )
    assert report.standard_error == 0
    assert report.log_ratio == pytest.approx(math.log(ratio) if ratio > 0 else -math.inf, abs=1e-2)


@given(st.integers(0, 10**6))
def test_order_scale_and_names_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.uniform(0, 1, (25, 4)) + 0.01, rng.integers(0, 5, 25)
    expected = ts.cohesion_ratio(X, labels)
    order = rng.permutation(25)
    scaled = X * rng.uniform(0.01, 100, (25, 1))
    assert ts.cohesion_ratio(scaled[order], labels[order]) == pytest.approx(expected, rel=1e-5)
    names = ["red", ("a", 1), None.__class__, 7, 2.5]
    assert ts.cohesion_ratio(X, [names[label] for label in labels]) == pytest.approx(expected, rel=1e-6)


def test_report_of_each_cluster(planted):
    X, truth = planted(4, 200)
    labels = np.where(np.arange(200) == 17, -1, truth)
    report = ts.cohesion_report(X, labels)
    assert [part.label for part in report.per_cluster] == [-1, 0, 1, 2, 3]
    assert sum(part.size for part in report.per_cluster) == 200
    assert report.n_singletons == 1
    assert report.per_cluster[0].ratio == 1
    for part in report.per_cluster[1:]:
        members = X[labels == part.label]
        mu_global, _, _ = reference.cohesion(members, [0] * len(members))
        assert part.similarity == pytest.approx(mu_global, abs=1e-5)
        assert part.ratio == pytest.approx(mu_global / report.mu_global, rel=1e-4)


def test_one_cluster_and_all_singletons_have_ratio_one(planted):
    X, _ = planted(3, 60)
    assert ts.cohesion_ratio(X, [0] * 60) == pytest.approx(1)
    assert ts.cohesion_ratio(X, range(60)) == pytest.approx(1)


def test_sampled_value_is_close_to_the_exact_one_and_says_how_close(planted, monkeypatch):
    X, truth = planted(6, 9000, noise=0.6)
    sampled = [ts.cohesion_report(X, truth, random_state=seed) for seed in range(8)]
    assert sampled[0] == ts.cohesion_report(X, truth) != sampled[1]
    monkeypatch.setattr(cohesion, "ALL_PAIRS_ROWS", 10**6)
    exact = ts.cohesion_report(X, truth)
    assert exact.standard_error == 0
    errors = np.array([report.ratio - exact.ratio for report in sampled])
    stated = np.mean([report.standard_error for report in sampled])
    assert 0 < stated < 0.005 * exact.ratio
    assert np.abs(errors).max() < 5 * stated


def test_one_cluster_of_many_rows_has_ratio_one_exactly(planted):
    X, _ = planted(3, 5000, noise=0.6)
    assert ts.cohesion_ratio(X, np.zeros(5000)) == 1


def test_rounding_is_not_taken_for_similarity():
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    with pytest.raises(
        ValueError,
        match=r"^The mean similarity of all pairs is \S+, so a ratio to it means nothing. No two rows of X point the",
    ):
        ts.cohesion_ratio(X, np.arange(40) % 4)


def test_large_clusters_are_sampled_each(planted, monkeypatch):
    X, truth = planted(3, 3000, noise=0.6)
    exact = ts.cohesion_report(X, truth)
    monkeypatch.setattr(cohesion, "ALL_PAIRS_ROWS", 200)
    sampled = ts.cohesion_report(X, truth, random_state=0)
    for one, other in zip(exact.per_cluster, sampled.per_cluster, strict=True):
        assert other.similarity == pytest.approx(one.similarity, rel=0.03)


def test_lists_arrays_and_frames_of_labels_agree(planted):
    pandas = pytest.importorskip("pandas")
    X, truth = planted(4, 80)
    expected = ts.cohesion_ratio(X, truth)
    variants = [truth.tolist(), tuple(truth), truth.astype(float), truth.astype(str), [f"c{t}" for t in truth]]
    variants += [pandas.Series(truth), pandas.Series(truth.astype(str)), truth * 10**12, truth.astype(np.uint8)]
    for labels in variants:
        assert ts.cohesion_ratio(X, labels) == pytest.approx(expected)


def test_many_clusters_are_sampled_only_where_that_saves_pairs(planted, monkeypatch):
    X, _ = planted(4, 3000, d=8, noise=0.5)
    labels = np.repeat([0, 1, 2, 3], [1800, 900, 200, 100])
    exact = ts.cohesion_report(X, labels)
    monkeypatch.setattr(cohesion, "ALL_PAIRS_ROWS", 120)
    found = ts.cohesion_report(X, labels)
    known = [
        abs(one.similarity - other.similarity) < 1e-6
        for one, other in zip(found.per_cluster, exact.per_cluster, strict=True)
    ]
    assert known == [False, False, True, True]
    assert abs(found.ratio - exact.ratio) < 4 * found.standard_error
