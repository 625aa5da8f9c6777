"""The forces of t-SNE are the sums that they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from textspectra.core import map as core_map
from textspectra.core.map import Field, RowMap


def project(X, rows, **options):
    return points_of(RowMap(), X, rows, rows, **options)


def points_of(row_map, X, rows, wanted=None, **options):
    row_map.find(X, rows, wanted, **options)
    return row_map.points(wanted)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1.0, 4.0]), st.integers(1, 60))
def test_repulsion_is_the_sum_over_all_sources(seed, scale, n):
    rng = np.random.default_rng(seed)
    sources, points = (rng.normal(scale=scale, size=(size, 2)).astype(np.float32) for size in (n, 17))
    apart = points[:, None].astype(float) - sources
    q = 1 / (1 + np.square(apart).sum(axis=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_map, "BOX", 0.25)  # the finer, the nearer to the sums
        both = np.concatenate([sources, points])
        repulsion, near = Field.of(sources, both.min(axis=0), both.max(axis=0)).at(points)
    np.testing.assert_allclose(near, q.sum(axis=1), rtol=0.01, atol=0.01 * n)
    np.testing.assert_allclose(repulsion, (apart * np.square(q)[:, :, None]).sum(axis=1), rtol=0.01, atol=0.01 * n)


def test_attraction_is_the_sum_over_the_edges():
    rng = np.random.default_rng(0)
    points, targets = (rng.normal(size=(size, 2)).astype(np.float32) for size in (9, 20))
    neighbors = np.array([rng.choice(20, 5, replace=False) for _ in range(9)])
    apart = points[:, None] - targets[neighbors]
    expected = (apart / (1 + np.square(apart).sum(axis=2, keepdims=True))).sum(axis=1)
    np.testing.assert_allclose(
        core_map._attraction(core_map._graph(neighbors, 20), points, targets), expected, rtol=1e-4
    )


def test_placed_points_are_among_their_neighbors():
    corners = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    among = np.repeat(corners, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    field = Field.of(among, among.min(axis=0), among.max(axis=0))
    assert core_map.place(np.arange(60).reshape(3, 20), field) == pytest.approx(corners, abs=2)


@pytest.mark.parametrize("landmarks", [4000, 150])
def test_neighbors_on_the_map_are_of_the_same_group(planted, monkeypatch, landmarks):
    monkeypatch.setattr(core_map, "LANDMARKS", landmarks)
    X, truth = planted(4, 300, noise=0.2)
    rows = np.flatnonzero(np.arange(300) % 7)
    calls = []
    points = project(X, rows, progress=lambda *step: calls.append(step))
    assert np.abs(points).max() == pytest.approx(1)
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


def test_a_row_has_one_point_whatever_else_is_asked_for(planted, monkeypatch):
    monkeypatch.setattr(core_map, "LANDMARKS", 100)
    X, _ = planted(4, 400, noise=0.2)
    rows = np.flatnonzero(np.arange(400) % 9)
    whole, parts = RowMap(), RowMap()
    points = points_of(whole, X, rows)
    assert np.isnan(points[::9]).all()
    assert np.abs(points[rows]).max() == pytest.approx(1)
    calls = []
    for part in (rows[200:], rows[:250][::-1], rows[:0]):
        found = points_of(parts, X, rows, part, progress=lambda *step: calls.append(step))
        np.testing.assert_allclose(found, points[part], atol=1e-5)
    assert calls[-1] == (1, 1)  # the landmarks were arranged once, and two parts were placed
    new = whole.place(np.concatenate([X[rows], X[rows]]))
    others = np.setdiff1d(np.arange(len(rows)), np.searchsorted(rows, core_map.sample_landmarks(rows)))
    np.testing.assert_allclose(new[others], points[rows][others], atol=1e-5)
    np.testing.assert_array_equal(points_of(whole, X, rows), points)


@pytest.mark.parametrize("landmarks", [4000, 100])
def test_known_points_stay_and_others_are_placed_among_them(planted, monkeypatch, landmarks):
    monkeypatch.setattr(core_map, "LANDMARKS", landmarks)
    X, truth = planted(4, 400, noise=0.2)
    rows = np.arange(400)
    first = RowMap()
    before = points_of(first, X[:300], rows[:300])
    again = RowMap(np.concatenate([first.known, np.full((100, 2), np.nan, np.float32)]))
    units = X[:300:2] / np.linalg.norm(X[:300:2], axis=1)[:, None]
    beside = first.beside(np.full(100, -1), rows[:300:2], units)
    assert beside.is_beside
    calls = []
    after = points_of(again, X, rows, progress=lambda *step: calls.append(step))
    assert calls == [(1, 1)]  # nothing is arranged again
    np.testing.assert_array_equal(after[:300], before)
    for placed in (after[300:], points_of(beside, X[300:], rows[:100])):
        apart = np.linalg.norm(placed[:, None] - before, axis=2)
        near = np.argsort(apart, axis=1)[:, :5]
        assert (truth[:300][near] == truth[300:, None]).mean() > 0.95
        assert (np.abs(placed) <= np.abs(before).max(axis=0) + 1e-6).all()
    np.testing.assert_array_equal(beside.corner, first.corner)


def test_a_map_without_points_in_common_has_its_own():
    X = np.random.default_rng(0).standard_normal((30, 5))
    for other in (RowMap(), RowMap(np.full((9, 2), np.nan, np.float32))):
        beside = other.beside(np.full(30, -1), np.arange(4), np.eye(5, dtype=np.float32)[:4])
        np.testing.assert_array_equal(points_of(beside, X, np.arange(30)), project(X, np.arange(30)))
        assert not beside.is_beside
    assert RowMap().corner.tolist() == [0, 0]


@pytest.mark.parametrize("step", [1, 100, 171])  # in t-SNE, later, and when other rows are placed
def test_a_map_that_is_given_up_leaves_nothing(planted, monkeypatch, step):
    monkeypatch.setattr(core_map, "LANDMARKS", 100)
    monkeypatch.setattr(core_map, "PLACED_BLOCK", 150)
    X, _ = planted(4, 400, noise=0.2)
    row_map, rows = RowMap(), np.arange(400)

    def stop(done, total):
        assert row_map.known is None  # nobody sees a part of it
        if done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        row_map.find(X, rows, progress=stop)
    assert row_map.known is None
    assert not row_map.has(rows[:1])
    np.testing.assert_array_equal(points_of(row_map, X, rows), project(X, rows))


def test_rows_on_dask_are_placed_as_in_memory(planted):
    da = pytest.importorskip("dask.array")
    X, _ = planted(3, 300, noise=0.2)
    row_map = RowMap()
    row_map.find(X[:200], np.arange(200))
    np.testing.assert_allclose(
        row_map.place(da.from_array(X[200:], chunks=(40, -1))), row_map.place(X[200:]), atol=1e-5
    )
