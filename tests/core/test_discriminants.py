import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from textspectra.core import discriminants
from textspectra.core.discriminants import highest_columns, n_nearest, refined_rule, separate_clusters, smoothed_rows
from textspectra.core.kmeans import labels_by


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 12), st.integers(1, 7))
def test_smoothed_rows_are_the_plain_definition(seed, n, size, block):
    rng = np.random.default_rng(seed)
    units, weights, size = unit(rng.standard_normal((n, 5))), rng.uniform(0.5, 3, n), min(size, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discriminants, "SEARCH_ROWS", block)
        found = smoothed_rows(units, weights, size)
    nearest = np.argsort(-(units @ units.T), axis=1)[:, :size]
    sums = np.array([weights[own] @ units[own] for own in nearest])
    assert found == pytest.approx(unit(sums), abs=1e-3)


@given(st.integers(0, 10**6), st.integers(1, 700), st.integers(1, 10))
def test_highest_columns_are_those_of_a_full_sort(seed, n, size):
    values, size = np.random.default_rng(seed).standard_normal((3, n)).astype(np.float32), min(size, n)
    assert np.array_equal(np.sort(highest_columns(values, size)), np.sort(np.argsort(values)[:, n - size :]))


def test_neighbors_that_cancel_out_leave_the_row_as_it_is():
    units = unit(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert (smoothed_rows(units, np.ones(2), 2) == units).all()


@pytest.mark.parametrize(("n", "k", "expected"), [(3000, 20, 10), (3000, 1000, 3), (100, 2, 5), (19, 2, 0)])
def test_a_row_has_no_more_neighbors_than_its_group_has_rows(n, k, expected):
    assert n_nearest(n, k) == expected


def test_the_rule_is_that_of_scikit_learns_discriminants(planted):
    X, truth = planted(5, 600, noise=0.8)
    units = unit(X)
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=discriminants.SHRINKAGE, priors=[0.2] * 5).fit(
        units, truth
    )
    means = np.array([units[truth == cluster].mean(axis=0) for cluster in range(5)])
    projected = unit((units - means.mean(axis=0)) @ theirs.scalings_[:, :4])
    directions = unit(np.array([projected[truth == cluster].sum(axis=0) for cluster in range(5)]))
    expected = (projected @ directions.T).argmax(axis=1)
    assert np.mean(labels_by(X, separate_clusters(X, None, truth, 5)) == expected) > 0.98


@pytest.mark.parametrize("n_passes", [0, 2])
def test_weights_of_a_rule_are_repeated_rows(planted, n_passes):
    X, truth = planted(4, 200, noise=0.8)
    weights = np.random.default_rng(0).integers(1, 4, 200)
    weighted = separate_clusters(X, weights.astype(float), truth, 4, n_passes=n_passes)
    repeated = separate_clusters(np.repeat(X, weights, axis=0), None, np.repeat(truth, weights), 4, n_passes=n_passes)
    assert weighted.directions == pytest.approx(repeated.directions, abs=1e-4)
    assert weighted.offsets == pytest.approx(repeated.offsets, abs=1e-4)


def test_groups_that_cannot_be_told_apart_are_one():
    rule = separate_clusters(np.ones((6, 3)), None, np.array([0, 1, 0, 1, 0, 1]), 2)
    assert set(labels_by(np.eye(3), rule)) == {0}
    assert refined_rule(np.ones((60, 3)), None, 2, np.random.default_rng(0)) is None


def test_more_groups_than_the_sample_can_show_are_not_refined(planted, monkeypatch):
    X, _ = planted(10, 900)
    monkeypatch.setattr(discriminants, "REFINED_ROWS", 400)
    rng = np.random.default_rng(0)
    assert refined_rule(X, None, 26, rng) is None
    assert len(refined_rule(X, None, 10, rng).directions) == 10
