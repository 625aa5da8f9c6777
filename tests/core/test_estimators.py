from functools import partial

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

import textspectra as ts
from textspectra.core import clusters, cohesion, discriminants, kmeans

BOTH = pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])
PLAIN_TOO = pytest.mark.parametrize(
    "model", [ts.AutoKMeans, partial(ts.AutoKMeans, refine=False), ts.AutoAgglomerative]
)


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
    monkeypatch.setattr(discriminants, "REFINED_ROWS", 2000)
    monkeypatch.setattr(clusters, "HAC_EXACT_ROWS", 1000)
    monkeypatch.setattr(clusters, "HAC_MICRO_CLUSTERS", 150)
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


@PLAIN_TOO
def test_more_clusters_than_distinct_rows_warns_and_gives_what_there_is(model):
    X = np.repeat(np.eye(3), 5, axis=0) * np.linspace(1, 7, 15)[:, None]
    with pytest.warns(ConvergenceWarning, match="5 clusters were asked for, but only 3 could be told apart"):
        assert model(5).fit(X).n_clusters_ == 3


@BOTH
def test_orthogonal_rows_have_no_cohesion(model):
    assert np.isnan(model(n_clusters=2, random_state=0).fit(np.eye(6)).cohesion_ratio_)


@pytest.mark.parametrize("model", [partial(ts.AutoKMeans, refine=False), ts.AutoAgglomerative])
def test_weights_are_repeated_rows_for_the_plain_algorithms(planted, model):
    X, _ = planted(5, 120, noise=0.5)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    weighted = model(random_state=0).fit(X, sample_weight=weights)
    repeated = model(random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.n_clusters_ == repeated.n_clusters_
    assert adjusted_rand_score(weighted.predict(X), repeated.predict(X)) == pytest.approx(1)


@pytest.mark.parametrize("given", ["weights", "copies"])
def test_refined_groups_do_not_follow_rows_that_are_repeated(given):
    X, _ = hard_groups((150, 150, 150), noise=1.5)
    counts = np.random.default_rng(0).zipf(1.5, 450).clip(max=500)
    alone = ts.AutoKMeans(3, random_state=0).fit(X)
    if given == "weights":
        repeated = ts.AutoKMeans(3, random_state=0).fit(X, sample_weight=counts)
        assert repeated.labels_.tolist() == repeated.predict(X).tolist()
    else:
        repeated = ts.AutoKMeans(3, random_state=0).fit(np.repeat(X, counts, axis=0))
    assert adjusted_rand_score(repeated.predict(X), alone.labels_) > 0.95


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_refine_is_true_or_false(wrong):
    with pytest.raises(ts.UserError, match=f"^refine must be True or False, but it is {wrong!r}.$"):
        ts.AutoKMeans(2, refine=wrong).fit(np.eye(3))


def hard_groups(sizes, d=64, noise=2.5):
    """Draw unbalanced groups with so much noise that plain K-Means splits the largest."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return unit(rng.standard_normal((len(sizes), d))[truth] + noise * rng.standard_normal((len(truth), d))), truth


@pytest.mark.parametrize("sizes", [(400, 60, 60), (300, 60)])
def test_refined_groups_are_nearer_to_the_truth(sizes):
    X, truth = hard_groups(sizes)
    plain, better = (
        adjusted_rand_score(truth, ts.AutoKMeans(len(sizes), refine=refined).fit(X).labels_)
        for refined in (False, True)
    )
    assert better > plain


@BOTH
def test_centers_and_inertia_are_those_of_the_rows(model):
    X, _ = hard_groups((150, 100, 50))
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    fitted = model(3).fit(X, sample_weight=weights)
    means = [np.average(X[own], axis=0, weights=weights[own]) for own in (fitted.labels_ == j for j in range(3))]
    assert fitted.cluster_centers_ == pytest.approx(np.array(means), abs=1e-5)
    if model is ts.AutoKMeans:
        assert (fitted.predict(X) == fitted.labels_).all()
        squares = ((X - fitted.cluster_centers_[fitted.labels_]) ** 2).sum(axis=1)
        assert fitted.inertia_ == pytest.approx(weights @ squares / weights.max(), rel=1e-4)


@BOTH
@pytest.mark.parametrize("shape", [(25, 60), (7, 2), (2, 5), (3, 1)], ids=str)
def test_few_rows_and_few_dimensions_are_enough(model, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    for k in range(1, shape[0] + 1 if shape[1] > 1 else 3):
        fitted = model(k).fit(X)
        assert len(set(fitted.labels_)) == fitted.n_clusters_ == k
        if model is ts.AutoKMeans:
            assert (fitted.predict(X) == fitted.labels_).all()


@BOTH
def test_groups_of_one_row_stay_apart(model):
    X = np.vstack([np.repeat(np.eye(4)[:1], 60, axis=0), np.eye(4)[1:]])
    assert sorted(np.bincount(model(4).fit(X).labels_)) == [1, 1, 1, 60]


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


@BOTH
def test_the_sampled_cohesion_is_that_of_the_function_with_the_same_seed(planted, model, monkeypatch):
    monkeypatch.setattr(cohesion, "ALL_PAIRS_ROWS", 200)
    X, _ = planted(3, 1500, noise=0.6)
    fitted = model(3, random_state=4).fit(X)
    report = ts.cohesion_report(X, fitted.labels_, random_state=4)
    assert report.standard_error > 0
    assert fitted.cohesion_ratio_ == pytest.approx(report.ratio, rel=1e-6)
    assert fitted.cohesion_ratio_ == pytest.approx(ts.evaluate(X, fitted.labels_, random_state=4)["cohesion_ratio"])
    assert abs(fitted.cohesion_ratio_ / ts.cohesion_ratio(X, fitted.labels_, random_state=5) - 1) > 1e-6


@pytest.fixture(scope="module")
def vague():
    """Rows with all three levels: 15 loose groups."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(15, 12))[rng.integers(15, size=2600)] + 0.8 * rng.normal(size=(2600, 12))


@BOTH
@pytest.mark.parametrize("level", ["coarse", "suggested", "fine"])
def test_each_level_is_a_cut_of_one_tree(vague, model, level):
    estimate = ts.estimate_k(vague)
    fitted = model(level).fit(vague)
    assert fitted.n_clusters_ == estimate.at(level)
    assert fitted.k_estimate_ == estimate
    pairs = set(zip(fitted.labels_.tolist(), model().fit(vague).labels_.tolist(), strict=True))
    assert len(pairs) == max(fitted.n_clusters_, estimate.k)
    if model is ts.AutoAgglomerative:
        assert (fitted.labels_ == model().fit(vague).cut(fitted.n_clusters_)).all()
    else:
        assert (fitted.predict(vague) == fitted.labels_).mean() > 0.995
        assert fitted.inertia_ == pytest.approx(-fitted.score(vague), rel=0.05)


def test_predictions_of_merged_groups_are_their_labels(vague):
    fitted = ts.AutoKMeans("coarse").fit(vague)
    assert (fitted.predict(vague) == fitted.labels_).all()


@BOTH
@pytest.mark.parametrize(("level", "word"), [("coarse", "coarser"), ("fine", "finer")])
def test_a_level_that_does_not_exist_is_refused(model, level, word):
    X = np.repeat(np.eye(2), 40, axis=0)
    with pytest.raises(ts.UserError, match=f"This data has no {word} level: 2 groups are suggested"):
        model(level).fit(X)


@BOTH
@pytest.mark.parametrize("width", [256, 384, 1536])
def test_groups_that_are_nearly_points_are_told_apart(model, width):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(3, width)), 100, axis=0) * (1 + 1e-7 * rng.normal(size=(300, 1)))
    fitted = model(3).fit(X.astype(np.float32))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 100), fitted.labels_) == 1
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


def test_hac_is_scipys_tree_and_its_cuts_are_scikit_learns(planted):
    X, _ = planted(8, 500, noise=0.7)
    fitted = ts.AutoAgglomerative(8, random_state=0).fit(X)
    assert fitted.merge_tree_.linkage == pytest.approx(linkage(unit(X).astype(float), "ward"), abs=1e-5)
    for k in (1, 2, 7, 8, 30, 499, 500):
        theirs = AgglomerativeClustering(k, linkage="ward").fit_predict(unit(X))
        assert adjusted_rand_score(fitted.cut(k), theirs) == 1
    assert (fitted.labels_ == fitted.cut(8)).all()
    assert (fitted.predict(X) == euclidean_distances(unit(X), fitted.cluster_centers_).argmin(axis=1)).all()


def test_micro_clusters_give_nearly_the_exact_tree(planted, monkeypatch):
    X, truth = planted(8, 4000, noise=0.15)
    monkeypatch.setattr(clusters, "HAC_EXACT_ROWS", 1000)
    monkeypatch.setattr(clusters, "HAC_MICRO_CLUSTERS", 400)
    fitted = ts.AutoAgglomerative(8, random_state=0).fit(X)
    assert fitted.merge_tree_.n_leaves <= 400
    assert adjusted_rand_score(truth, fitted.labels_) > 0.95
    assert (fitted.labels_ == fitted.cut(8)).all()
    assert len(set(fitted.cut(100))) == 100


def test_hac_has_no_option_to_refine():
    assert "refine" not in ts.AutoAgglomerative().get_params()
    with pytest.raises(TypeError, match="refine"):
        ts.AutoAgglomerative(refine=False)


def test_rows_without_weight_get_the_nearest_leaf(planted):
    X, _ = planted(4, 100, noise=0.05)
    weights = np.ones(100)
    weights[:10] = 0
    fitted = ts.AutoAgglomerative(4).fit(X, sample_weight=weights)
    assert fitted.merge_tree_.n_leaves == 90
    assert (fitted.labels_ == fitted.predict(X)).all()


def test_kmeans_inertia_is_as_good_as_ten_restarts(planted):
    X, _ = planted(15, 3000, noise=0.7)
    ours = ts.AutoKMeans(15, refine=False, random_state=0).fit(X).inertia_
    theirs = KMeans(15, n_init=10, random_state=0).fit(unit(X)).inertia_
    assert ours <= 1.005 * theirs


def test_kmeans_on_a_sample_is_nearly_as_good_as_on_all(planted, monkeypatch):
    X, _ = planted(15, 6000, noise=0.7)
    everything = ts.AutoKMeans(15, refine=False, random_state=0).fit(X)
    monkeypatch.setattr(kmeans, "TRAINING_ROWS", 1500)
    sampled = ts.AutoKMeans(15, refine=False, random_state=0).fit(X)
    assert sampled.inertia_ <= 1.01 * everything.inertia_
    assert (sampled.predict(X) == sampled.labels_).all()


def test_many_clusters_start_from_random_rows(planted):
    X, _ = planted(50, 3000)
    assert ts.AutoKMeans(1100, random_state=0).fit(X).n_clusters_ == 1100


@pytest.mark.parametrize("estimator", [ts.AutoKMeans(5), ts.AutoKMeans(5, refine=False), ts.AutoAgglomerative(5)])
def test_the_most_probable_cluster_is_the_predicted_one(vague, estimator):
    fitted = estimator.fit(vague)
    probabilities = fitted.predict_proba(vague * 3)
    assert probabilities.shape == (len(vague), 5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), fitted.predict(vague))
    np.testing.assert_array_equal(fitted.decision_function(vague).argmax(axis=1), fitted.predict(vague))


def test_probabilities_are_how_often_another_clustering_agrees(vague):
    half = len(vague) // 2
    fitted, whole = ts.AutoKMeans(15).fit(vague[:half]), ts.AutoKMeans(15).fit(vague)
    shared = np.zeros((15, 15))
    np.add.at(shared, (fitted.labels_, whole.labels_[:half]), 1)
    right = shared.argmax(axis=1)[fitted.predict(vague[half:])] == whole.labels_[half:]
    assert fitted.predict_proba(vague[half:]).max(axis=1).mean() == pytest.approx(right.mean(), abs=0.15)


def test_with_one_cluster_the_probability_is_1(vague):
    assert (ts.AutoKMeans(1).fit(vague).predict_proba(vague) == 1).all()
