"""The algorithms that a study compares."""

import numpy as np

from textspectra import AutoKMeans, estimate_k
from textspectra_study.algorithms import ALGORITHMS, DEFAULT


def test_the_default_is_what_textspectra_does_if_nothing_is_chosen(planted):
    X, truth = planted(4, 400, noise=0.3)
    found = ALGORITHMS[DEFAULT].compute(X, truth, 0)
    expected = AutoKMeans(random_state=0).fit(X)
    assert (found.labels == expected.labels_).all()
    assert found.k == expected.n_clusters_ == estimate_k(X, random_state=0).k
    plain = ALGORITHMS["kmeans_auto"].compute(X, np.zeros_like(truth), 0)
    assert plain.k == found.k
    assert (plain.labels == AutoKMeans(found.k, refine=False, random_state=0).fit_predict(X)).all()
