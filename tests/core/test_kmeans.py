import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics.pairwise import euclidean_distances

from textspectra.core import kmeans
from textspectra.core.kmeans import (
    LinearRule,
    label_pass,
    label_sizes,
    labels_by,
    largest_first,
    nearest_rule,
    same_clusters,
    sample_centers,
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
    assert result.inertia == pytest.approx(weights @ distances.min(axis=1) ** 2, abs=1e-4)
    moved = result.centers(centers)
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


def test_without_a_pass_the_centers_are_the_means_of_ward_clusters(planted):
    X = unit(planted(4, 300, noise=0.3)[0])
    labels = AgglomerativeClustering(4, linkage="ward").fit_predict(X)
    expected = [X[labels == label].mean(axis=0) for label in range(4)]
    found = sample_centers(X, None, 4, np.random.default_rng(0), max_passes=0)
    assert sorted(map(tuple, found.round(4))) == sorted(map(tuple, np.array(expected).round(4)))


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_weight_0_are_never_drawn(planted, monkeypatch, seed):
    monkeypatch.setattr(kmeans, "TRAINING_ROWS", 50)
    X, truth = planted(4, 400, noise=0.02)
    found = sample_centers(X, (truth == 2).astype(float), 2, np.random.default_rng(seed))
    direction = X[truth == 2].mean(axis=0)
    assert (unit(found) @ direction / np.linalg.norm(direction) > 0.95).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60).map(np.array), st.permutations(range(10)))
def test_clusters_are_numbered_by_size_and_ties_by_first_appearance(labels, names):
    sizes = label_sizes(labels, 12)
    assert sizes.tolist() == np.bincount(labels, minlength=12).tolist()
    found, order = largest_first(labels, sizes)
    listed = labels.tolist()
    assert order.tolist() == sorted(set(listed), key=lambda label: (-listed.count(label), listed.index(label)))
    assert (order[found] == labels).all()
    renamed = np.array(names)[labels]
    assert (largest_first(renamed, label_sizes(renamed, 12))[0] == found).all()


@st.composite
def two_clusterings(draw):
    """Draw labels of the same rows twice; the second has no gaps, and often shares clusters with the first."""
    n = draw(st.integers(1, 12))
    old = draw(arrays(np.intp, n, elements=st.integers(-1, 5)))
    changes = draw(st.dictionaries(st.integers(0, n - 1), st.integers(-1, 5), max_size=3))
    new = old.copy()
    new[list(changes)] = list(changes.values())
    present = np.unique(new[new >= 0])
    numbers = dict(zip(present.tolist(), draw(st.permutations(range(len(present)))), strict=True))
    return old, np.array([numbers.get(label, -1) for label in new.tolist()], np.intp)


def rows_of(labels):
    return {label: set(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {-1}}


@given(two_clusterings())
def test_same_clusters_have_the_same_rows(labels):
    old, new = map(rows_of, labels)
    expected = {n: o for n, rows in new.items() for o, other in old.items() if rows == other}
    assert same_clusters(*labels) == expected


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6), st.integers(0, 4))
def test_the_score_of_a_cluster_is_the_highest_among_its_directions(seed, n, k, more):
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.append(np.arange(k), rng.integers(0, k, more)))
    rule = LinearRule(
        rng.standard_normal((k + more, 3)).astype(np.float32),
        rng.standard_normal(k + more).astype(np.float32),
        clusters,
    )
    rows, scale = rng.standard_normal((n, 3)).astype(np.float32), rng.random(n).astype(np.float32)
    scores = rule.scores(rows, scale)
    of_directions = rows * scale[:, None] @ rule.directions.T + rule.offsets
    for cluster in range(k):
        np.testing.assert_allclose(scores[:, cluster], of_directions[:, clusters == cluster].max(axis=1), atol=1e-5)
    np.testing.assert_array_equal(scores.argmax(axis=1), rule.apply(rows, scale)[0])
    probabilities = rule.probabilities(scores, rng.standard_normal((k, 3)).astype(np.float32))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), scores.argmax(axis=1))
