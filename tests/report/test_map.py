"""The forces of t-SNE are the sums that they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from textspectra.report import map as report_map
from textspectra.report.map import project


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1.0, 4.0]), st.integers(1, 60))
def test_repulsion_is_the_sum_over_all_sources(seed, scale, n):
    rng = np.random.default_rng(seed)
    sources, points = (rng.normal(scale=scale, size=(size, 2)).astype(np.float32) for size in (n, 17))
    apart = points[:, None].astype(float) - sources
    q = 1 / (1 + np.square(apart).sum(axis=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_map, "BOX", 0.25)  # the finer, the nearer to the sums
        repulsion, near = report_map._repulsion(sources, points)
    np.testing.assert_allclose(near, q.sum(axis=1), rtol=0.01, atol=0.01 * n)
    np.testing.assert_allclose(repulsion, (apart * np.square(q)[:, :, None]).sum(axis=1), rtol=0.01, atol=0.01 * n)


def test_attraction_is_the_sum_over_the_edges():
    rng = np.random.default_rng(0)
    points, targets = (rng.normal(size=(size, 2)).astype(np.float32) for size in (9, 20))
    neighbors = np.array([rng.choice(20, 5, replace=False) for _ in range(9)])
    apart = points[:, None] - targets[neighbors]
    expected = (apart / (1 + np.square(apart).sum(axis=2, keepdims=True))).sum(axis=1)
    np.testing.assert_allclose(
        report_map._attraction(report_map._graph(neighbors, 20), points, targets), expected, rtol=1e-4
    )


def test_placed_points_are_among_their_neighbors():
    corners = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    among = np.repeat(corners, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    calls = []
    placed = report_map.place(np.arange(60).reshape(3, 20), among, lambda: calls.append(1))
    assert placed == pytest.approx(corners, abs=2)
    assert len(calls) == report_map.PLACING


@pytest.mark.parametrize("landmarks", [4000, 150])
def test_neighbors_on_the_map_are_of_the_same_group(planted, monkeypatch, landmarks):
    monkeypatch.setattr(report_map, "LANDMARKS", landmarks)
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
