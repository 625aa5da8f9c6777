"""Near-duplicate rows against a literal reference: row by row, pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textspectra.core import repeats
from textspectra.core.repeats import near_duplicates, repeated_share
from textspectra.core.rows import unit_rows


def literal(X, threshold, groups=None):
    units, kept, found = unit_rows(X).astype(float), [], []
    for row, unit in enumerate(units):
        near = [
            (float(unit @ units[other]), -other) for other in kept if groups is None or groups[other] == groups[row]
        ]
        best, other = max(near, default=(-1, 0))
        if best >= threshold:
            found.append((row, -other, best))
        else:
            kept.append(row)
    return found


def clumps(n, d, seed, noise=0.15):
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((max(n // 4, 1), d))
    return centers[rng.integers(len(centers), size=n)] + noise * rng.standard_normal((n, d))


def assert_same(found, expected):
    assert found.rows.tolist() == [row for row, _, _ in expected]
    assert found.of.tolist() == [other for _, other, _ in expected]
    assert found.similarity == pytest.approx([cosine for *_, cosine in expected], abs=1e-5)


@given(st.integers(1, 60), st.sampled_from([2, 16, 200]), st.sampled_from([0.5, 0.9, 0.95, 0.98]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_rows_are_those_of_the_literal_reference(n, d, threshold, seed):
    X = clumps(n, d, seed)
    assert_same(near_duplicates(X, threshold), literal(X, threshold))
    groups = np.random.default_rng(seed).integers(3, size=n)
    assert_same(near_duplicates(X, threshold, groups), literal(X, threshold, groups))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_blocks_and_bounds_do_not_change_the_answer(monkeypatch, share):
    X = clumps(400, 200, 0)
    monkeypatch.setattr(repeats, "BLOCK_ROWS", 37)
    monkeypatch.setattr(repeats, "EARLIER_ROWS", 50)
    monkeypatch.setattr(repeats, "MANY_CANDIDATES", share)
    expected = literal(X, 0.95)
    assert 50 < len(expected) < 350
    assert_same(near_duplicates(X, 0.95), expected)


def test_the_bound_is_never_below_the_cosine():
    units = unit_rows(clumps(300, 200, 1))
    bounds = repeats._bounds(units)
    assert bounds.shape == (300, repeats.AXES + 1)
    assert (bounds @ bounds.T - units @ units.T).min() > -1e-5


def test_equal_rows_reach_a_threshold_of_one():
    X = np.random.default_rng(0).standard_normal((5, 300))
    found = near_duplicates(np.concatenate([X, 2 * X]), 1.0)
    assert found.rows.tolist() == [5, 6, 7, 8, 9]
    assert found.of.tolist() == [0, 1, 2, 3, 4]
    assert found.similarity.max() <= 1


def test_the_share_of_rows_that_are_repeated(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 100))
    X[:30] = X[30:60] + 0.01 * rng.standard_normal((30, 100))
    assert repeated_share(X, 0.95) == 60 / 200
    assert repeated_share(X[60:], 0.95) == 0
    monkeypatch.setattr(repeats, "EARLIER_ROWS", 32)
    assert repeated_share(X, 0.95) == 60 / 200
    monkeypatch.setattr(repeats, "SHARE_SAMPLE", 100)
    assert repeated_share(X, 0.95) == pytest.approx(0.3, abs=0.1)
