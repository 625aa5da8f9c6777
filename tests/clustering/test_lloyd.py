import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from textspectra.clustering.lloyd import center_distances, lloyd_pass, moved_centers, nearest_labels, train_centers


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def problem(seed, n, k):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)), rng.integers(0, 4, n).astype(float), unit(rng.standard_normal((k, 4)))


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6))
def test_a_pass_is_the_plain_definition(seed, n, k):
    X, weights, centers = problem(seed, n, k)
    distances = euclidean_distances(unit(X), centers)
    result = lloyd_pass(X, weights, centers)
    assert distances[np.arange(n), result.labels] == pytest.approx(distances.min(axis=1), abs=1e-5)
    assert (nearest_labels(X, centers) == result.labels).all()
    assert center_distances(X, centers) == pytest.approx(distances, abs=1e-5)
    assert result.inertia == pytest.approx(weights @ distances.min(axis=1) ** 2, abs=1e-4)
    moved = moved_centers(result, centers)
    for code in range(k):
        own = (result.labels == code) & (weights > 0)
        expected = np.average(unit(X)[own], axis=0, weights=weights[own]) if own.any() else centers[code]
        assert moved[code] == pytest.approx(expected, abs=1e-5)


def test_training_ends_where_scikit_learns_does(planted):
    X = unit(planted(5, 400, noise=0.4)[0])
    theirs = KMeans(5, init=X[:5], n_init=1, max_iter=300, tol=0).fit(X)
    ours = train_centers(X, None, X[:5])
    assert lloyd_pass(X, None, ours).inertia == pytest.approx(theirs.inertia_, rel=0.01)


def test_a_centre_that_loses_its_rows_moves_to_the_row_that_fits_worst():
    X = unit(np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1], [0, 0, 1]]))
    trained = train_centers(X, None, np.vstack([X[[0, 2]], [[-1, -1, -1]]]).astype(np.float32))
    assert sorted(map(tuple, trained.round(2))) == sorted(
        map(tuple, np.array([X[:2].mean(0), X[2:4].mean(0), X[4]]).round(2))
    )
