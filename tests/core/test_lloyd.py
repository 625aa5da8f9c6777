import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from textspectra.core.kmeans import (
    center_distances,
    label_pass,
    labels_by,
    moved_centers,
    nearest_rule,
    train_centers,
    train_directions,
)


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def problem(seed, n, k):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)), rng.integers(0, 4, n).astype(float), unit(rng.standard_normal((k, 4)))


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6))
def test_a_pass_is_the_plain_definition(seed, n, k):
    X, weights, centers = problem(seed, n, k)
    distances = euclidean_distances(unit(X), centers)
    result = label_pass(X, weights, nearest_rule(centers))
    assert distances[np.arange(n), result.labels] == pytest.approx(distances.min(axis=1), abs=1e-5)
    assert (labels_by(X, nearest_rule(centers)) == result.labels).all()
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
    assert label_pass(X, None, nearest_rule(ours)).inertia == pytest.approx(theirs.inertia_, rel=0.01)


def test_a_center_that_loses_its_rows_moves_to_the_row_that_fits_worst():
    X = unit(np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1], [0, 0, 1]]))
    trained = train_centers(X, None, np.vstack([X[[0, 2]], [[-1, -1, -1]]]).astype(np.float32))
    assert sorted(map(tuple, trained.round(2))) == sorted(
        map(tuple, np.array([X[:2].mean(0), X[2:4].mean(0), X[4]]).round(2))
    )


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), st.integers(0, 3))
def test_training_of_directions_is_the_plain_definition(seed, n, k, n_passes):
    X, _, centers = problem(seed, n, k)
    found = train_directions(unit(X), centers, n_passes)
    expected = centers.astype(float)
    for _ in range(n_passes):
        labels = (unit(X) @ expected.T).argmax(axis=1)
        sums = np.array([unit(X)[labels == code].sum(axis=0) for code in range(k)])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        assume(not ((lengths > 0) & (lengths < 1e-3)).any())
        expected = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), expected)
    assert found == pytest.approx(expected, abs=1e-4)
