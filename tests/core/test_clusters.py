import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.core.clusters import clusters_of_means, gather_leaves, split_leaves
from textspectra.core.kmeans import LinearRule, labels_by


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def check(leaves, X, weights):
    """Compare means and weights of the leaves with the plain definition."""
    n_leaves = len(leaves.mass)
    assert set(leaves.of_row[weights > 0]) == set(range(n_leaves))
    for leaf in range(n_leaves):
        own = leaves.of_row == leaf
        assert leaves.mass[leaf] == pytest.approx(weights[own].sum())
        assert leaves.n_rows[leaf] == (weights[own] > 0).sum()
        assert leaves.means[leaf] == pytest.approx(np.average(unit(X)[own], axis=0, weights=weights[own]), abs=1e-5)


@given(st.integers(0, 10**6), st.integers(2, 60), st.booleans())
def test_leaves_are_means_of_their_rows_and_splitting_keeps_groups_apart(seed, n, exact):
    rng = np.random.default_rng(seed)
    X, weights, clusters = rng.standard_normal((n, 3)), rng.integers(0, 3, n) + 0.5, rng.integers(4, size=n)
    leaves = gather_leaves(X, weights, rng, exact_rows=n if exact else 1, n_leaves=5)
    assert len(leaves.mass) == n if exact else len(leaves.mass) <= 5
    check(leaves, X, weights)
    leaves = gather_leaves(X, None, rng, exact_rows=n if exact else 1, n_leaves=5)
    split = split_leaves(X, leaves.of_row, clusters)
    check(split, X, np.ones(n))
    assert len(set(zip(split.of_row.tolist(), clusters.tolist(), strict=True))) == len(split.mass)


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 8), st.booleans())
def test_each_leaf_lies_in_one_group_of_a_rule(seed, n, n_clusters, exact):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((n, 3)), np.append(rng.integers(3, size=n - 1), 1).astype(float)
    directions, offsets = rng.standard_normal((n_clusters, 3)), rng.standard_normal(n_clusters) / 2
    rule = LinearRule(directions.astype(np.float32), offsets.astype(np.float32))
    clusters = labels_by(X, rule)
    leaves = gather_leaves(X, weights, rng, exact_rows=n if exact else 0, n_leaves=5, rule=rule)
    check(leaves, X, weights)
    reached = np.isin(clusters, clusters[weights > 0])
    assert (clusters_of_means(leaves.means, rule)[leaves.of_row] == clusters)[reached].all()


@pytest.mark.parametrize("exact_rows", [100, 10])
def test_rows_of_weight_0_get_the_nearest_leaf(planted, exact_rows):
    X, truth = planted(3, 60, noise=0.02)
    weights = np.where(np.arange(60) < 15, 0.0, 1.0)
    leaves = gather_leaves(X, weights, np.random.default_rng(0), exact_rows=exact_rows, n_leaves=3)
    assert leaves.mass.sum() == 45
    distances = np.linalg.norm(unit(X)[:15, None] - leaves.means, axis=2)
    assert (leaves.of_row[:15] == distances.argmin(axis=1)).all()
    of_leaf = dict(zip(leaves.of_row[15:].tolist(), truth[15:].tolist(), strict=True))
    assert [of_leaf[leaf] for leaf in leaves.of_row[:15].tolist()] == truth[:15].tolist()


def test_micro_clusters_without_rows_are_no_leaves():
    rng = np.random.default_rng(0)
    X = rng.permutation(np.repeat(np.eye(3), 20, axis=0))
    leaves = gather_leaves(X, None, rng, exact_rows=10, n_leaves=50)
    assert len(leaves.mass) == 3
    check(leaves, X, np.ones(60))
