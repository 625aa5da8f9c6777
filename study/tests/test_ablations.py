"""The data behind the figures, against the library's own estimate and slow references."""

import numpy as np
import pytest

import textspectra as ts
from textspectra_study.ablations import WINDOWS, contrast, hac_cuts, kmeans_cuts, profile, similarity, spectrum, sweep


@pytest.mark.parametrize("zscore", [False, True])
def test_a_sweep_over_all_rows_is_the_estimate_at_every_window(planted, zscore):
    X, truth = planted(4, 80)
    found = sweep(X, truth, 0, zscore=zscore, tau=100)["windows"]
    assert [row["window"] for row in found] == list(WINDOWS)
    for row in found:
        expected = ts.spectral_k(X, window=row["window"], zscore=zscore, random_state=0).spectrum
        assert (row["k"], row["fallback"]) == (expected.mean, expected.fallback_fraction)


def test_a_sweep_over_samples_is_a_mean_that_a_seed_repeats(planted):
    X, truth = planted(4, 120)
    found = sweep(X, truth, 0, zscore=False, tau=60)
    assert found == sweep(X, truth, 0, zscore=False, tau=60)
    assert found["windows"][0]["k"] == pytest.approx(4, abs=1)
    assert found != sweep(X, truth, 1, zscore=False, tau=60)


def test_a_spectrum_without_a_jump_counts_as_the_papers_fallback():
    X = np.ones((40, 3), np.float32)  # equal rows have a flat spectrum
    found = sweep(X, np.arange(40) % 2, 0, zscore=False, tau=100)["windows"]
    assert {(row["k"], row["fallback"]) for row in found} == {(5.0, 1.0)}


@pytest.mark.parametrize("cuts", [kmeans_cuts, hac_cuts])
def test_a_profile_has_the_scores_of_the_clustering_at_each_k(planted, cuts):
    X, truth = planted(4, 80)
    points = profile(X, truth, 0, cuts=cuts)["points"]
    assert points[0]["k"] == 2
    assert points[-1]["k"] == 20
    best = max(points, key=lambda point: point["ari"])
    assert (best["k"], best["ari"]) == (4, 1.0)
    expected = ts.evaluate(X, cuts(X, 0)(best["k"]), truth, random_state=0)
    assert best["silhouette"] == pytest.approx(expected["silhouette"], rel=1e-5)


def test_the_spectrum_is_that_of_the_estimate(planted):
    X, truth = planted(4, 80)
    found = spectrum(X, truth, 0)
    assert found["k"] == 4
    assert found["window"] == 3
    assert found["eigenvalues"] == pytest.approx(ts.laplacian_eigenvalues(X)[:40].tolist(), rel=1e-5, abs=1e-6)


def test_similarities_are_averaged_over_tiles_of_rows_sorted_by_class():
    angles = np.array([0.0, 2.0, 0.1, 2.1])
    X = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    found = similarity(X, np.array([0, 1, 0, 1]), 0)
    order = angles[[0, 2, 1, 3]]
    assert np.allclose(found["raw"], np.cos(order[:, None] - order), atol=6e-4)
    assert found["negative"] == pytest.approx(8 / 12)  # of the pairs of different rows


def test_many_rows_share_a_tile():
    X = np.eye(2, dtype=np.float32)[np.arange(250) % 2]
    found = similarity(X, np.arange(250) % 2, 0)
    matrix = np.array(found["raw"])
    assert matrix.shape == (100, 100)
    assert (matrix[:50, :50] == 1).all()
    assert (matrix[:50, 50:] == 0).all()


def test_the_contrast_of_random_classes_is_zero_although_rows_are_similar_to_themselves():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 50)).astype(np.float32)
    found = similarity(X, rng.integers(0, 100, 400), 0)
    assert found["contrast_raw"] == pytest.approx(0, abs=0.1)
    assert found["contrast_zscored"] == pytest.approx(0, abs=0.1)


def test_the_contrast_is_a_difference_of_means_in_standard_deviations():
    similarities = np.array([[1, 0.8, 0.2], [0.8, 1, 0.4], [0.2, 0.4, 1]], np.float32)
    spread = np.std([0.8, 0.2, 0.4])
    assert contrast(similarities, np.array([0, 0, 1])) == pytest.approx((0.8 - 0.3) / spread)
    assert np.isnan(contrast(similarities, np.array([0, 1, 2])))
    assert np.isnan(contrast(np.ones((3, 3), np.float32), np.array([0, 0, 1])))
