import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

from textspectra.core import kmeans as centers
from textspectra.core.kmeans import sample_centers


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_without_a_pass_the_centers_are_the_means_of_ward_clusters(planted):
    X = unit(planted(4, 300, noise=0.3)[0])
    labels = AgglomerativeClustering(4, linkage="ward").fit_predict(X)
    expected = [X[labels == label].mean(axis=0) for label in range(4)]
    found = sample_centers(X, None, 4, np.random.default_rng(0), max_passes=0)
    assert sorted(map(tuple, found.round(4))) == sorted(map(tuple, np.array(expected).round(4)))


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_weight_0_are_never_drawn(planted, monkeypatch, seed):
    monkeypatch.setattr(centers, "TRAINING_ROWS", 50)
    X, truth = planted(4, 400, noise=0.02)
    found = sample_centers(X, (truth == 2).astype(float), 2, np.random.default_rng(seed))
    direction = X[truth == 2].mean(axis=0)
    assert (unit(found) @ direction / np.linalg.norm(direction) > 0.95).all()
