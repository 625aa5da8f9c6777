import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.clustering import refine
from textspectra.grouping import agglomerative


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_the_tree_is_scipys_and_its_cuts_are_scikit_learns(planted):
    X, _ = planted(8, 500, noise=0.7)
    fitted = ts.AutoAgglomerative(refine=False, random_state=0).fit(X)
    assert fitted.merge_tree_.linkage == pytest.approx(linkage(unit(X).astype(float), "ward"), abs=1e-5)
    for k in (1, 2, 7, 30, 499, 500):
        theirs = AgglomerativeClustering(k, linkage="ward").fit_predict(unit(X))
        assert adjusted_rand_score(fitted.cut(k), theirs) == 1


def test_micro_clusters_give_nearly_the_exact_tree(planted, monkeypatch):
    X, truth = planted(8, 4000, noise=0.15)
    monkeypatch.setattr(agglomerative, "EXACT_ROWS", 1000)
    monkeypatch.setattr(agglomerative, "MICRO_CLUSTERS", 400)
    fitted = ts.AutoAgglomerative(8, random_state=0).fit(X)
    assert fitted.merge_tree_.n_leaves <= 400
    assert adjusted_rand_score(truth, fitted.labels_) > 0.95
    assert len(set(fitted.cut(100))) == 100


@pytest.mark.parametrize("exact_rows", [10_000, 500])
def test_labels_cuts_and_predictions_agree(planted, monkeypatch, exact_rows):
    X, _ = planted(6, 1500, noise=1.2)
    monkeypatch.setattr(agglomerative, "EXACT_ROWS", exact_rows)
    monkeypatch.setattr(agglomerative, "MICRO_CLUSTERS", 100)
    fitted = ts.AutoAgglomerative(6).fit(X)
    assert (fitted.labels_ == ts.AutoKMeans(6).fit(X).labels_).all()
    assert (fitted.labels_ == fitted.cut(6)).all()
    assert (fitted.labels_ == fitted.predict(X)).all()
    for k, pairs in ((3, 6), (12, 12)):
        # A coarser cut merges the clusters, and a finer one splits them.
        assert len(set(zip(fitted.cut(k).tolist(), fitted.labels_.tolist(), strict=True))) == pairs


def test_more_clusters_than_can_be_refined_have_a_tree_around_them_too(planted, monkeypatch):
    X, _ = planted(6, 600, noise=0.7)
    monkeypatch.setattr(refine, "REFINED_ROWS", 320)
    fitted = ts.AutoAgglomerative(25).fit(X)
    assert (fitted.labels_ == ts.AutoKMeans(25).fit(X).labels_).all()
    assert (fitted.labels_ == fitted.cut(25)).all()


def test_rows_without_weight_get_the_nearest_leaf(planted):
    X, _ = planted(4, 100, noise=0.05)
    weights = np.ones(100)
    weights[:10] = 0
    fitted = ts.AutoAgglomerative(4).fit(X, sample_weight=weights)
    assert fitted.merge_tree_.n_leaves == 90
    assert (fitted.labels_ == fitted.predict(X)).all()
