"""The forces of t-SNE are the sums that they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textspectra.report import tsne


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1.0, 4.0]), st.integers(1, 60))
def test_repulsion_is_the_sum_over_all_sources(seed, scale, n):
    rng = np.random.default_rng(seed)
    sources, points = (rng.normal(scale=scale, size=(size, 2)).astype(np.float32) for size in (n, 17))
    apart = points[:, None].astype(float) - sources
    q = 1 / (1 + np.square(apart).sum(axis=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tsne, "BOX", 0.25)  # the finer, the nearer to the sums
        repulsion, near = tsne._repulsion(sources, points)
    np.testing.assert_allclose(near, q.sum(axis=1), rtol=0.01, atol=0.01 * n)
    np.testing.assert_allclose(repulsion, (apart * np.square(q)[:, :, None]).sum(axis=1), rtol=0.01, atol=0.01 * n)


def test_attraction_is_the_sum_over_the_edges():
    rng = np.random.default_rng(0)
    points, targets = (rng.normal(size=(size, 2)).astype(np.float32) for size in (9, 20))
    neighbours = np.array([rng.choice(20, 5, replace=False) for _ in range(9)])
    apart = points[:, None] - targets[neighbours]
    expected = (apart / (1 + np.square(apart).sum(axis=2, keepdims=True))).sum(axis=1)
    np.testing.assert_allclose(tsne._attraction(tsne._graph(neighbours, 20), points, targets), expected, rtol=1e-4)


def test_placed_points_are_among_their_neighbours():
    corners = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    among = np.repeat(corners, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    calls = []
    placed = tsne.place(np.arange(60).reshape(3, 20), among, progress=lambda: calls.append(1))
    assert placed == pytest.approx(corners, abs=2)
    assert len(calls) == tsne.PLACING
