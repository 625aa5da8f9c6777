"""The rivals against the libraries that they come from, and against literal references."""

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, OPTICS, AffinityPropagation
from sklearn.metrics import adjusted_rand_score

from textspectra import UserError
from textspectra_study import similarities
from textspectra_study.algorithms import RIVALS
from textspectra_study.baselines import BASELINES, run_baseline
from textspectra_study.similarities import NEIGHBORS, unit_rows

LITERAL = {
    "hdbscan": lambda units: HDBSCAN(min_cluster_size=2, copy=True),
    "optics": lambda units: OPTICS(min_samples=2, cluster_method="xi"),
    "affinity_propagation": lambda units: AffinityPropagation(random_state=0),
}


def scaled(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("name", LITERAL)
def test_a_rival_of_scikit_learn_is_what_the_paper_configured(name, planted):
    X, _ = planted(4, 80)
    found = run_baseline(name, 7 * X)
    expected = LITERAL[name](X).fit_predict(scaled(X).astype(np.float32))
    assert adjusted_rand_score(found.labels, expected) == 1
    assert found.k == len(set(expected) - {-1})
    assert ((found.labels == -1) == (expected == -1)).all()


def potts_quality(weights, labels):
    """Sum, literally, what the constant Potts model at resolution 1 rewards: weight minus one for each inner pair."""
    n = len(labels)
    return sum(weights[i, j] - 1 for i in range(n) for j in range(i + 1, n) if labels[i] == labels[j])


def test_leiden_maximizes_the_potts_model_on_the_zscored_graph(planted):
    pytest.importorskip("igraph")
    X, truth = planted(3, 45, noise=0.1)
    S = scaled(X) @ scaled(X).T
    weights = np.maximum((S - S.mean()) / S.std(), 0)
    found = run_baseline("leiden", X)
    best = potts_quality(weights, found.labels)
    assert best >= potts_quality(weights, truth) - 1e-6
    rng = np.random.default_rng(0)
    for row in rng.integers(0, len(X), 30):
        moved = found.labels.copy()
        moved[row] = rng.integers(0, found.k + 1)
        assert potts_quality(weights, moved) <= best + 1e-6


def test_hdbscan_on_all_neighbors_is_hdbscan(planted, monkeypatch):
    X, _ = planted(4, 60)
    monkeypatch.setattr(similarities, "NEIGHBORS", len(X) - 1)
    assert (run_baseline("hdbscan_knn", X).labels == run_baseline("hdbscan", X).labels).all()


def test_hdbscan_on_neighbors_keeps_groups_apart_that_no_neighbors_join():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.01, (3 * NEIGHBORS, 8)) for center in np.eye(8)[:3]])
    X[1] = X[0]  # equal rows are neighbors too
    found = run_baseline("hdbscan_knn", X).labels.reshape(3, -1)
    clusters = [set(part.tolist()) - {-1} for part in found]
    assert all(clusters)
    assert not any(clusters[i] & clusters[j] for i, j in ((0, 1), (0, 2), (1, 2)))
    assert found[0, 0] == found[0, 1]


def modularity(weights, labels):
    """Compute, literally, the weight inside the groups beyond what the degrees of the rows let one expect."""
    total, degrees, n = weights.sum(), weights.sum(axis=1), range(len(labels))
    expected = np.outer(degrees, degrees) / total
    return sum(weights[i, j] - expected[i, j] for i in n for j in n if labels[i] == labels[j]) / total


def test_leiden_on_neighbors_maximizes_modularity(planted):
    pytest.importorskip("igraph")
    X, truth = planted(3, 60, noise=0.1)
    S = scaled(X) @ scaled(X).T
    nearest = np.argsort(-S, axis=1)[:, 1 : NEIGHBORS + 1]
    joined = np.zeros(S.shape, bool)
    np.put_along_axis(joined, nearest, True, axis=1)
    weights = np.where(joined | joined.T, np.maximum((S - S.mean()) / S.std(), 0), 0)
    found = run_baseline("leiden_knn", X)
    best = modularity(weights, found.labels)
    assert best >= modularity(weights, truth) - 1e-6
    rng = np.random.default_rng(0)
    for row in rng.integers(0, len(X), 30):
        moved = found.labels.copy()
        moved[row] = rng.integers(0, found.k + 1)
        assert modularity(weights, moved) <= best + 1e-6


@pytest.mark.slow  # numba compiles EVoC for minutes
def test_evoc_is_called_with_its_defaults_on_unit_rows(planted):
    evoc = pytest.importorskip("evoc")
    X, _ = planted(5, 300, noise=0.05)
    # The last bit of a row changes EVoC's groups, so the rows must be the same to the bit.
    expected = evoc.EVoC(random_state=0).fit_predict(unit_rows(X))
    assert adjusted_rand_score(run_baseline("evoc", X).labels, expected) == 1


def test_noise_is_no_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.01, (10, 3)) for center in np.eye(3)] + [[[-1.0, -1.0, -1.0]]])
    found = run_baseline("hdbscan", X)
    assert found.labels[-1] == -1
    assert found.k == len(set(found.labels.tolist())) - 1


def test_an_unknown_rival_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UserError, match=r"^There is no baseline 'hdbskan'; there are hdbscan, optics, "):
        run_baseline("hdbskan", np.eye(3))


def test_a_row_of_zeros_is_named():
    with pytest.raises(UserError, match=r"^X is all zeros in row 1 \(counting from 0\), so it has no direction\.$"):
        run_baseline("optics", [[1.0, 0.0], [0.0, 0.0]])


def test_rivals_on_neighbors_cluster_larger_samples_than_those_on_all_pairs():
    rows = {name: baseline.max_rows for name, baseline in BASELINES.items()}
    assert max(rows[name] for name in RIVALS) < min(rows["hdbscan_knn"], rows["leiden_knn"])
