import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from textspectra.core import ward
from textspectra.core.ward import nested_tree, ward_tree, weighted_means


def random_points(seed, n, d=3):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([0, 2048]), st.sampled_from([1.0, 4.0]))
def test_the_tree_and_its_cuts_are_scipys(seed, n, scipy_points, weight):
    points = random_points(seed, n)
    expected = linkage(points.astype(float), "ward")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ward, "SCIPY_POINTS", scipy_points)
        tree = ward_tree(points, np.full(n, weight))
    assert tree.linkage == pytest.approx(expected * [1, 1, np.sqrt(weight), weight], abs=1e-4)
    for k in {1, 2, n // 2 + 1, n}:
        assert adjusted_rand_score(tree.cut(k), cut_tree(expected, k).ravel()) == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.data())
def test_the_merges_above_a_cut_lead_to_the_coarser_cuts(seed, n, data):
    k = data.draw(st.integers(1, n))
    tree = ward_tree(random_points(seed, n), np.ones(n))
    groups, merges = tree.top(k)
    assert len(merges) == k - 1
    assert (groups == tree.cut(k)).all()
    for step, pair in enumerate(merges):
        groups = np.where(np.isin(groups, pair), k + step, groups)
        assert adjusted_rand_score(tree.cut(k - step - 1), groups) == 1


def test_clusters_of_a_cut_are_numbered_by_their_first_leaf():
    codes = ward_tree(random_points(0, 50), np.ones(50)).cut(9)
    assert list(dict.fromkeys(codes.tolist())) == list(range(9))


def test_weighted_points_are_repeated_points(planted):
    X, _ = planted(6, 60, noise=0.7)
    weights = np.random.default_rng(0).integers(1, 5, 60)
    weighted = ward_tree(X, weights.astype(float))
    repeated = ward_tree(np.repeat(X, weights, axis=0), np.ones(weights.sum()))
    assert weighted.linkage[:, 2] == pytest.approx(repeated.linkage[weights.sum() - 60 :, 2], rel=1e-6)
    for k in (2, 6, 20):
        assert adjusted_rand_score(np.repeat(weighted.cut(k), weights), repeated.cut(k)) == 1


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 6))
def test_the_groups_are_a_cut_of_the_nested_tree(seed, n, k):
    rng = np.random.default_rng(seed)
    clusters = np.unique(rng.integers(k, size=n), return_inverse=True)[1]
    n_given = clusters.max() + 1
    tree = nested_tree(random_points(seed, n), rng.integers(1, 4, n).astype(float), clusters)
    assert (np.diff(tree.linkage[:, 2]) >= 0).all()
    for n_clusters in range(1, n + 1):
        # Each cluster of a finer cut lies in one group, and each group in one cluster of a coarser cut.
        met = len(set(zip(tree.cut(n_clusters).tolist(), clusters.tolist(), strict=True)))
        assert met == max(n_clusters, n_given)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 5))
def test_weighted_means_are_numpys(seed, n, k):
    rng = np.random.default_rng(seed)
    points, weights, codes = (
        random_points(seed, n),
        rng.uniform(0.1, 3, n),
        np.append(rng.integers(k, size=n), range(k)),
    )
    points, weights = np.vstack([points, random_points(seed + 1, k)]), np.append(weights, np.ones(k))
    expected = [np.average(points[codes == code], axis=0, weights=weights[codes == code]) for code in range(k)]
    assert weighted_means(points, weights, codes, k) == pytest.approx(np.array(expected), abs=1e-5)


def test_one_thread_or_two_give_the_same_bits():
    points = random_points(0, 300, 256)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(ward._squared_distances(points).tobytes())
    assert found[0] == found[1]
