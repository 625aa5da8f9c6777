import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from sklearn import metrics

import textspectra as ts
from textspectra.core import metrics as evaluation
from textspectra.core.metrics import adjusted_information, agreements, contingency, entropy

labels = st.integers(1, 60).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n).map(np.array)] * 2)
)


@given(labels)
def test_the_table_and_every_metric_are_scikit_learns(labels):
    truth, found = labels
    table = contingency(truth, 7, found, 7)
    counts = table.toarray()
    expected = metrics.cluster.contingency_matrix(truth, found)
    assert counts[counts.any(axis=1)][:, counts.any(axis=0)].tolist() == expected.tolist()
    assert agreements(table) == pytest.approx(
        {
            "ari": metrics.adjusted_rand_score(truth, found),
            "nmi": metrics.normalized_mutual_info_score(truth, found),
            "homogeneity": metrics.homogeneity_score(truth, found),
            "completeness": metrics.completeness_score(truth, found),
            "fowlkes_mallows": metrics.fowlkes_mallows_score(truth, found),
        },
        abs=1e-9,
    )
    assert agreements(counts) == pytest.approx(agreements(table))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any).map(np.array))
def test_the_entropy_is_scipys(counts):
    assert entropy(counts) == pytest.approx(scipy_entropy(counts), abs=1e-12)


@pytest.fixture
def clustering(planted):
    X, truth = planted(6, 400, noise=0.5)
    return X, ts.AutoKMeans(5, random_state=0).fit(X).labels_, truth


def test_every_metric_is_scikit_learns(clustering):
    X, labels, truth = clustering
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    row = ts.evaluate(X, labels, truth)
    expected = {
        "n_samples": 400,
        "n_clusters": 5,
        "n_noise": 0,
        "cohesion_ratio": ts.cohesion_ratio(X, labels),
        "cohesion_ratio_se": 0,
        "silhouette": metrics.silhouette_score(unit, labels),
        "silhouette_rows": 400,
        "davies_bouldin": metrics.davies_bouldin_score(unit, labels),
        "calinski_harabasz": metrics.calinski_harabasz_score(unit, labels),
        "n_classes": 6,
        "k_relative_error": 1 / 6,
        "ari": metrics.adjusted_rand_score(truth, labels),
        "nmi": metrics.normalized_mutual_info_score(truth, labels),
        "homogeneity": metrics.homogeneity_score(truth, labels),
        "completeness": metrics.completeness_score(truth, labels),
        "fowlkes_mallows": metrics.fowlkes_mallows_score(truth, labels),
        "ami": metrics.adjusted_mutual_info_score(truth, labels),
    }
    assert row == pytest.approx(expected, rel=1e-4)


@given(labels)
def test_the_adjusted_information_is_scikit_learns(labels):
    truth, found = (np.unique(side, return_inverse=True)[1] for side in labels)
    table = contingency(truth, truth.max() + 1, found, found.max() + 1)
    expected = metrics.adjusted_mutual_info_score(truth, found)
    assert adjusted_information(table) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("noise", [-1, -1.0, "-1"])
def test_noise_is_scored_as_a_cluster_and_not_counted_as_one(clustering, noise):
    X, labels, truth = clustering
    labels = [noise if label == 4 else type(noise)(label) for label in labels]
    row, expected = ts.evaluate(X, labels, truth), ts.evaluate(X, clustering[1], truth)
    n_noise = labels.count(noise)
    assert (row["n_clusters"], row["n_noise"], row["k_relative_error"]) == (4, n_noise, 2 / 6)
    for name in expected.keys() - {"n_clusters", "n_noise", "k_relative_error"}:
        assert row[name] == pytest.approx(expected[name])


def test_noise_alone_is_no_cluster():
    row = ts.evaluate(np.eye(4), [-1] * 4, truth=[0, 0, 1, 1])
    assert (row["n_clusters"], row["n_noise"], row["k_relative_error"], row["ami"]) == (0, 4, 1, 0)


def test_without_truth_there_are_no_extrinsic_metrics(clustering):
    X, labels, _ = clustering
    assert "ari" not in ts.evaluate(X, labels)


def test_a_large_input_is_sampled_and_the_row_says_so(clustering, monkeypatch):
    X, labels, truth = clustering
    exact = ts.evaluate(X, labels)["silhouette"]
    monkeypatch.setattr(evaluation, "MAX_SILHOUETTE_ROWS", 250)
    row = ts.evaluate(X, labels, truth, random_state=0)
    assert row["silhouette_rows"] == 250
    assert row["silhouette"] == pytest.approx(exact, abs=0.05)
    assert row == ts.evaluate(X, labels, truth)
    assert row != ts.evaluate(X, labels, truth, random_state=1)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(np.nan, "X has a NaN or an infinite value in row 0 "), (np.inf, "X has a NaN"), (0, "X is all zeros in row 0 ")],
)
def test_bad_rows_are_not_taken_for_undefined_metrics(bad, message):
    with pytest.raises(ts.UserError, match=f"^{message}"):
        ts.evaluate([[bad, 0], [1, 0], [1, 1]], [0, 0, 0])


@pytest.mark.parametrize("labels", [[0] * 6, list(range(6))])
def test_what_is_not_defined_is_nan(labels):
    row = ts.evaluate(np.eye(6), labels, truth=[0, 0, 1, 1, 2, 2])
    for name in ("silhouette", "davies_bouldin", "calinski_harabasz", "cohesion_ratio"):
        assert np.isnan(row[name])
    assert row["ari"] == 0


def test_overlaps_of_many_clusters_are_the_literal_ones(monkeypatch):
    monkeypatch.setattr(evaluation, "OVERLAP_CELLS", 1000)  # several blocks
    rng = np.random.default_rng(0)
    centers, spread = rng.standard_normal((60, 8)) / 9, rng.random(60)
    centers[1] = centers[0]  # does not count
    centers[3] = centers[2] + 1e-9  # counts, and would be lost by rounding
    literal = [
        max((spread[i] + spread[j]) / gap for j in range(60) if (gap := np.linalg.norm(centers[i] - centers[j])))
        for i in range(60)
    ]
    assert np.allclose(evaluation._worst_overlaps(centers, spread), literal, rtol=1e-9)
