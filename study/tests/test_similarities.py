"""Unit rows and the z-scored graph, against literal references and the library's own spectrum."""

import numpy as np
import pytest

import textspectra as ts
from textspectra_study import similarities
from textspectra_study.similarities import cosine_moments, neighbor_distances, unit_rows, zscored_graph


def test_unit_rows_have_length_1_and_the_same_direction(planted):
    X, _ = planted(3, 40)
    expected = X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    assert np.allclose(unit_rows(9 * X), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], r"^X is all zeros in row 1 \(counting from 0\), so it has no direction\.$"),
        ([[1.0, np.nan]], r"^Input X contains NaN"),
        ([1.0, 2.0], r"^Expected 2D array, got 1D array instead"),
    ],
)
def test_rows_without_a_direction_are_errors(X, message):
    with pytest.raises(ValueError, match=message):
        unit_rows(X)


def test_the_zscored_graph_is_the_literal_formula(planted):
    X, _ = planted(3, 40)
    cosines = unit_rows(X).astype(np.float64) @ unit_rows(X).T
    expected = np.maximum((cosines - cosines.mean()) / cosines.std(), 0)
    assert np.allclose(zscored_graph(unit_rows(X)), expected, atol=1e-5)


def test_the_zscored_graph_has_the_spectrum_of_the_library(planted):
    X, _ = planted(3, 40)
    graph = zscored_graph(unit_rows(X)).astype(np.float64)
    scale = np.diag(graph.sum(axis=1) ** -0.5)
    expected = np.linalg.eigvalsh(np.eye(len(graph)) - scale @ graph @ scale)
    assert np.allclose(ts.laplacian_eigenvalues(X, zscore=True), expected, atol=1e-4)


def test_the_moments_of_cosines_are_those_of_all_pairs(planted):
    units = unit_rows(planted(3, 40)[0])
    cosines = units.astype(np.float64) @ units.T
    assert np.allclose(cosine_moments(units), (cosines.mean(), cosines.std()))


@pytest.mark.slow  # numba compiles nearest-neighbor descent
def test_neighbors_of_large_samples_are_almost_those_of_small_ones(planted, monkeypatch):
    units = unit_rows(planted(5, 2000)[0])
    exact = neighbor_distances(units, 0)
    monkeypatch.setattr(similarities, "EXACT_ROWS", 1000)
    found = neighbor_distances(units, 0)
    assert (found.toarray() > 0)[exact.toarray() > 0].mean() > 0.9
    assert (found != neighbor_distances(units, 0)).nnz == 0  # the same seed, the same graph
