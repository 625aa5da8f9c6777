import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from textspectra.core import agreement as halves
from textspectra.core.agreement import MICRO_CLUSTERS, _agreement, _half_centers, _micro_clusters, half_agreement
from textspectra.core.ward import ward_tree


def clusters(k, n, spread, d):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((k, d))[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def test_halves_agree_on_the_planted_groups_and_on_no_finer_ones():
    at_5, at_20 = half_agreement(clusters(5, 600, 0.1, d=16), np.array([5, 20]), np.random.default_rng(0))
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
    monkeypatch.setattr(halves, "PASSES", 0)
    points = clusters(4, 90, 0.4, d=5)
    for k, centers in zip((2, 5, 9), _half_centers(points, np.array([2, 5, 9])), strict=True):
        labels = ward_tree(points, np.ones(90)).cut(k)
        sums = np.array([points[labels == label].sum(axis=0) for label in range(k)])
        expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        assert sorted(map(tuple, centers.round(4))) == sorted(map(tuple, expected.round(4)))


def test_small_clusters_hold_every_row_once():
    points = clusters(40, 1500, 0.4, d=12)
    sums, sizes = _micro_clusters(points)
    assert len(sums) == len(sizes) <= MICRO_CLUSTERS
    assert sizes.min() >= 1
    assert sizes.sum() == 1500
    np.testing.assert_allclose(sums.sum(axis=0), points.sum(axis=0), atol=1e-2)


def test_equal_rows_are_one_small_cluster_and_too_many_groups_are_none():
    points = np.repeat(np.eye(3, dtype=np.float32), 400, axis=0)[np.random.default_rng(0).permutation(1200)]
    assert sorted(_micro_clusters(points)[1]) == [400, 400, 400]
    agreement = half_agreement(points, np.array([2, 3, 4, 9]), np.random.default_rng(0))
    assert agreement[1] == pytest.approx(1)
    assert np.isnan(agreement[2:]).all()
