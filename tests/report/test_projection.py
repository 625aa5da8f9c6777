"""The map shows what is close."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from textspectra.report import projection
from textspectra.report.projection import project


@pytest.mark.parametrize("landmarks", [4000, 150])
def test_neighbours_on_the_map_are_of_the_same_group(planted, monkeypatch, landmarks):
    monkeypatch.setattr(projection, "LANDMARKS", landmarks)
    X, truth = planted(4, 300, noise=0.2)
    rows = np.flatnonzero(np.arange(300) % 7)
    calls = []
    points = project(X, rows, progress=lambda *step: calls.append(step))
    assert np.abs(points).max() == 1
    near = NearestNeighbors(n_neighbors=5).fit(points).kneighbors(return_distance=False)
    assert (truth[rows][near] == truth[rows][:, None]).mean() > 0.97
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1]
    np.testing.assert_array_equal(project(X, rows), points)


def test_equal_rows_do_not_stay_at_one_point():
    points = project(np.ones((40, 3)), np.arange(40))
    assert points.std(axis=0).min() > 0.1


@pytest.mark.parametrize("shape", [(1, 4), (2, 1), (8, 3), (9, 1), (9, 300), (13, 2)], ids=str)
def test_few_rows_and_few_dimensions_have_a_map(shape):
    points = project(np.random.default_rng(0).standard_normal(shape), np.arange(shape[0]))
    assert points.shape == (shape[0], 2)
    assert np.abs(points).max() <= 1
