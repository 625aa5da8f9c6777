import numpy as np
from sklearn.cluster import KMeans

import textspectra as ts
from textspectra.clustering import centers


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_kmeans_inertia_is_as_good_as_ten_restarts(planted):
    X, _ = planted(15, 3000, noise=0.7)
    ours = ts.AutoKMeans(15, refine=False, random_state=0).fit(X).inertia_
    theirs = KMeans(15, n_init=10, random_state=0).fit(unit(X)).inertia_
    assert ours <= 1.005 * theirs


def test_kmeans_on_a_sample_is_nearly_as_good_as_on_all(planted, monkeypatch):
    X, _ = planted(15, 6000, noise=0.7)
    everything = ts.AutoKMeans(15, refine=False, random_state=0).fit(X)
    monkeypatch.setattr(centers, "TRAINING_ROWS", 1500)
    sampled = ts.AutoKMeans(15, refine=False, random_state=0).fit(X)
    assert sampled.inertia_ <= 1.01 * everything.inertia_
    assert (sampled.predict(X) == sampled.labels_).all()


def test_many_clusters_start_from_random_rows(planted):
    X, _ = planted(50, 3000)
    assert ts.AutoKMeans(1100, random_state=0).fit(X).n_clusters_ == 1100
