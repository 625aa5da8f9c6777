"""The estimators go where scikit-learn's own go."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import textspectra as ts
from textspectra import AutoAgglomerative, AutoKMeans

BOTH = pytest.mark.parametrize("model", [AutoKMeans, AutoAgglomerative])
ZERO_ROW = "the check truncates its data to integers, which leaves a row of zeros: an error here, by design"


@parametrize_with_checks(
    [AutoKMeans(), AutoAgglomerative(), AutoKMeans(n_clusters=3), AutoAgglomerative(n_clusters=3)],
    expected_failed_checks=lambda estimator: {"check_estimators_dtypes": ZERO_ROW},
)
def test_scikit_learn_check(estimator, check, monkeypatch):
    # The checks compare to within 1e-7, which is less than one step of float32. Probabilities are exponentials of
    # scores, which multiplies that step.
    compare = estimator_checks.assert_allclose_dense_sparse
    monkeypatch.setattr(
        estimator_checks,
        "assert_allclose_dense_sparse",
        lambda x, y, rtol=1e-4, **options: compare(x, y, rtol=max(rtol, 1e-4), **options),
    )
    check(estimator)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module", name="X")
def vectors(planted):
    return planted(4, 200, noise=0.1)[0]


@BOTH
def test_transform_gives_the_distances_of_unit_rows_to_the_centers(X, model):
    fitted = model(4).fit(X)
    expected = euclidean_distances(unit(X), fitted.cluster_centers_)
    assert fitted.transform(X) == pytest.approx(expected, abs=1e-6)
    assert (model(4).fit_transform(X * 8) == fitted.transform(X)).all()
    assert (model(4).fit_predict(X) == fitted.labels_).all()


def test_a_row_at_its_center_has_distance_zero():
    X = np.repeat(unit(np.random.default_rng(0).standard_normal((3, 300))), 5, axis=0)
    assert AutoKMeans(3).fit_transform(X).min(axis=1) == pytest.approx(0, abs=1e-6)


@BOTH
def test_the_score_is_that_of_k_means_with_the_same_centers(X, model):
    fitted = model(4).fit(X)
    theirs = KMeans(4, n_init=1, init=fitted.cluster_centers_, max_iter=1).fit(unit(X))
    theirs.cluster_centers_ = fitted.cluster_centers_.astype(X.dtype)
    weights = np.random.default_rng(0).integers(0, 5, len(X))
    assert fitted.score(X) == pytest.approx(theirs.score(unit(X)), rel=1e-5)
    assert fitted.score(X, sample_weight=weights) == pytest.approx(
        theirs.score(unit(X), sample_weight=weights), rel=1e-5
    )


@BOTH
def test_features_that_come_out_are_named_after_the_class(X, model):
    fitted = model(3).set_output(transform="pandas").fit(X)
    name = model.__name__.lower()
    assert fitted.get_feature_names_out().tolist() == [f"{name}{i}" for i in range(3)]
    assert fitted.transform(X).columns.tolist() == [f"{name}{i}" for i in range(3)]


@BOTH
def test_a_grid_search_takes_it_as_the_last_step_of_a_pipeline(X, model):
    search = GridSearchCV(make_pipeline(PCA(), model()), {"pca__n_components": [2, 8]}, cv=2).fit(X)
    by_hand = [
        make_pipeline(PCA(n), model()).fit(X[train]).score(X[test]) for n in (2, 8) for train, test in KFold(2).split(X)
    ]
    assert search.cv_results_["mean_test_score"] == pytest.approx(np.mean(np.reshape(by_hand, (2, 2)), axis=1))
    assert len(search.predict(X)) == len(search.transform(X)) == len(X)


@BOTH
def test_a_pipeline_takes_it_as_the_last_and_as_a_middle_step(X, planted, model):
    truth = planted(4, 200, noise=0.1)[1]
    labels = make_pipeline(StandardScaler(), model(4)).fit_predict(X)
    assert len(set(zip(labels, truth, strict=True))) == 4
    assert make_pipeline(model(), KMeans(4, n_init=1, random_state=0)).fit(X).predict(X).shape == (200,)


@BOTH
def test_a_copy_by_clone_or_pickle_is_the_same_estimator(X, model):
    fitted = model(4, random_state=2).fit(X)
    restored = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert (restored.transform(X) == fitted.transform(X)).all()
    assert clone(fitted).get_params() == fitted.get_params()
    assert (clone(fitted).fit(X).labels_ == fitted.labels_).all()


@BOTH
@pytest.mark.parametrize("method", ["predict", "transform", "score", "fit_transform"])
def test_a_row_of_zeros_is_named(X, model, method):
    bad = X.copy()
    bad[17] = 0
    with pytest.raises(ts.UserError, match=r"^X is all zeros in row 17 \(counting from 0\), so it has no direction"):
        getattr(model(4).fit(X), method)(bad)


@BOTH
def test_dask_arrays_give_the_same(X, model):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=((70, 0, 130), X.shape[1]))
    here, there = model(4).fit(X), model(4).fit(lazy)
    distances = there.transform(lazy)
    assert isinstance(distances, da.Array)
    assert (distances.chunks, distances.dtype) == (((70, 0, 130), (4,)), np.float32)
    assert distances.compute() == pytest.approx(here.transform(X), abs=1e-5)
    assert model(4).fit_transform(lazy).compute() == pytest.approx(here.transform(X), abs=1e-5)
    assert there.score(lazy) == pytest.approx(here.score(X), rel=1e-5)
    bad = X.copy()
    bad[150] = 0
    with pytest.raises(ts.UserError, match=r"^X is all zeros in row 150 \(counting from 0\)"):
        there.transform(da.from_array(bad, chunks=(70, X.shape[1]))).compute()
