import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.clustering.tree import ward_tree
from textspectra.estimators import agglomerative, kmeans

BOTH = pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@BOTH
def test_planted_groups_are_found_without_k(planted, model):
    X, truth = planted(9, 1200, noise=0.1)
    fitted = model(random_state=0).fit(X)
    assert fitted.n_clusters_ == fitted.k_estimate_.k == 9
    assert adjusted_rand_score(truth, fitted.labels_) == 1
    assert fitted.cohesion_ratio_ == pytest.approx(ts.cohesion_ratio(X, truth), rel=1e-3)
    assert (fitted.predict(X * 7) == fitted.labels_).all()


@BOTH
def test_given_k_overrules_the_estimate(planted, model):
    X, _ = planted(9, 300)
    fitted = model(n_clusters=4, random_state=0).fit(X)
    assert (fitted.n_clusters_, fitted.k_estimate_) == (4, None)
    sizes = np.bincount(fitted.labels_)
    assert len(sizes) == 4
    assert (np.diff(sizes) <= 0).all()


@BOTH
def test_same_seed_same_labels_for_any_n_jobs(planted, model, monkeypatch):
    monkeypatch.setattr(kmeans, "TRAINING_ROWS", 2500)
    monkeypatch.setattr(agglomerative, "EXACT_ROWS", 1000)
    monkeypatch.setattr(agglomerative, "MICRO_CLUSTERS", 150)
    X, _ = planted(12, 9000, d=300, noise=1.0)
    one = model(12, random_state=5, n_jobs=1).fit(X)
    two = model(12, random_state=5, n_jobs=2).fit(X)
    assert (one.labels_ == two.labels_).all()
    assert one.cohesion_ratio_ == two.cohesion_ratio_


@BOTH
def test_data_is_neither_changed_nor_needed_in_one_form(planted, model, tmp_path):
    X, _ = planted(5, 400)
    expected = model(5, random_state=0).fit(X).labels_
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    frozen = X.copy()
    frozen.setflags(write=False)
    for variant in (mapped, frozen, np.asfortranarray(X), X.astype(np.float64), X.astype(np.float16)):
        assert adjusted_rand_score(expected, model(5, random_state=0).fit(variant).labels_) > 0.99


@BOTH
def test_equal_rows_are_one_cluster_without_a_warning(model):
    fitted = model(random_state=0).fit(np.ones((30, 4)))
    assert fitted.n_clusters_ == 1
    assert set(fitted.labels_) == {0}
    assert fitted.cohesion_ratio_ == pytest.approx(1)


@BOTH
def test_orthogonal_rows_have_no_cohesion(model):
    assert np.isnan(model(n_clusters=2, random_state=0).fit(np.eye(6)).cohesion_ratio_)


@BOTH
def test_weights_are_repeated_rows(planted, model):
    X, _ = planted(5, 120, noise=0.5)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    weighted = model(random_state=0).fit(X, sample_weight=weights)
    repeated = model(random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.n_clusters_ == repeated.n_clusters_
    assert adjusted_rand_score(weighted.predict(X), repeated.predict(X)) == pytest.approx(1)


@BOTH
def test_the_scale_of_weights_does_not_matter(planted, model):
    X, truth = planted(4, 80, noise=0.05)
    for scale in (1e-50, 1.0, 1e12):
        labels = model(4, random_state=0).fit(X, sample_weight=np.full(80, scale)).labels_
        assert adjusted_rand_score(truth, labels) == 1


@BOTH
def test_a_single_row_that_counts_is_one_cluster(model):
    fitted = model(random_state=0).fit([[1.0, 0.0], [0.0, 1.0]], sample_weight=[3, 0])
    assert (fitted.n_clusters_, fitted.labels_.tolist()) == (1, [0, 0])


@BOTH
def test_clusters_at_a_given_k_do_not_depend_on_where_k_came_from(planted, model):
    X, _ = planted(9, 2500, noise=0.5)
    estimated = model(random_state=0).fit(X)
    assert (model(estimated.n_clusters_, random_state=0).fit(X).labels_ == estimated.labels_).all()


def test_more_clusters_than_distinct_rows_warns_and_gives_what_there_is():
    X = np.repeat(np.eye(3), 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="5 clusters were asked for, but only 3 could be told apart"):
        assert ts.AutoKMeans(5).fit(X).n_clusters_ == 3


def test_kmeans_inertia_is_as_good_as_ten_restarts(planted):
    X, _ = planted(15, 3000, noise=0.7)
    ours = ts.AutoKMeans(15, random_state=0).fit(X).inertia_
    theirs = KMeans(15, n_init=10, random_state=0).fit(unit(X)).inertia_
    assert ours <= 1.005 * theirs


def test_kmeans_on_a_sample_is_nearly_as_good_as_on_all(planted, monkeypatch):
    X, _ = planted(15, 6000, noise=0.7)
    everything = ts.AutoKMeans(15, random_state=0).fit(X)
    monkeypatch.setattr(kmeans, "TRAINING_ROWS", 1500)
    sampled = ts.AutoKMeans(15, random_state=0).fit(X)
    assert sampled.inertia_ <= 1.01 * everything.inertia_
    assert (sampled.predict(X) == sampled.labels_).all()


def test_many_clusters_start_from_random_rows(planted):
    X, _ = planted(50, 3000)
    assert ts.AutoKMeans(1100, random_state=0).fit(X).n_clusters_ == 1100


def test_the_tree_is_scipys_and_its_cuts_are_scikit_learns(planted):
    X, _ = planted(8, 500, noise=0.7)
    fitted = ts.AutoAgglomerative(random_state=0).fit(X)
    assert fitted.merge_tree_.linkage == pytest.approx(linkage(unit(X).astype(float), "ward"), abs=1e-5)
    for k in (1, 2, 7, 30, 499, 500):
        theirs = AgglomerativeClustering(k, linkage="ward").fit_predict(unit(X))
        assert adjusted_rand_score(fitted.cut(k), theirs) == 1


def test_weighted_points_are_repeated_points(planted):
    X, _ = planted(6, 60, noise=0.7)
    weights = np.random.default_rng(0).integers(1, 5, 60)
    weighted = ward_tree(X, weights.astype(float))
    repeated = ward_tree(np.repeat(X, weights, axis=0), np.ones(weights.sum()))
    assert weighted.linkage[:, 2] == pytest.approx(repeated.linkage[weights.sum() - 60 :, 2], rel=1e-6)
    for k in (2, 6, 20):
        assert adjusted_rand_score(np.repeat(weighted.cut(k), weights), repeated.cut(k)) == 1


def test_micro_clusters_give_nearly_the_exact_tree(planted, monkeypatch):
    X, truth = planted(8, 4000, noise=0.15)
    monkeypatch.setattr(agglomerative, "EXACT_ROWS", 1000)
    monkeypatch.setattr(agglomerative, "MICRO_CLUSTERS", 400)
    fitted = ts.AutoAgglomerative(8, random_state=0).fit(X)
    assert fitted.merge_tree_.n_leaves <= 400
    assert adjusted_rand_score(truth, fitted.labels_) > 0.95
    assert len(set(fitted.cut(100))) == 100


def test_rows_without_weight_get_the_nearest_leaf(planted):
    X, _ = planted(4, 100, noise=0.05)
    weights = np.ones(100)
    weights[:10] = 0
    fitted = ts.AutoAgglomerative(4).fit(X, sample_weight=weights)
    assert fitted.merge_tree_.n_leaves == 90
    assert (fitted.labels_ == fitted.predict(X)).all()
