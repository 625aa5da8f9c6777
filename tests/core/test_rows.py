"""Rows of embeddings in memory: scaled to unit length, and which of them are zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.core.rows import CountedRows, cosines_to_centers, distinct_rows, nonzero_rows, unit_rows


@given(st.integers(-300, 300), st.integers(0, 2**32 - 1))
def test_rows_of_any_size_get_length_one(exponent, seed):
    rows = np.random.default_rng(seed).standard_normal((5, 7))
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert unit_rows(rows * 10.0**exponent) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("d", [7, 33, 48])
def test_copies_are_recognized_wherever_they_are(d):
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((200, d)).astype(np.float32)
    shuffled = np.concatenate([rows, rows[rng.integers(200, size=900)]])[rng.permutation(1100)]
    (units,) = CountedRows(3 * shuffled).map(lambda units: units, [(np.arange(1100),)])
    found = distinct_rows(units)
    assert len(found) == 200
    assert (found == units[np.sort(np.unique(units, axis=0, return_index=True)[1])]).all()


def test_zero_rows_are_found_in_every_block():
    X = np.ones((10_000, 256), np.float16)  # three blocks
    zero = [0, 4095, 4096, 9999]
    X[zero] = 0
    assert np.flatnonzero(~nonzero_rows(X)).tolist() == zero
    assert nonzero_rows(X[:0]).tolist() == []


@pytest.mark.parametrize(("value", "problem"), [(np.nan, "has a NaN or an infinite value"), (np.inf, "has a NaN"), (0, "is all zeros")])  # fmt: skip  # noqa: E501
def test_a_row_without_direction_is_named(value, problem):
    X = np.ones((3, 2))
    X[1:] = value
    with pytest.raises(ts.UserError, match=rf"X {problem}.* in row 11 \(counting from 0, and 1 more in this block"):
        unit_rows(X, first_row=10)


def test_cosines_do_not_depend_on_the_lengths_of_rows_and_centers():
    centers = np.array([[1, 0], [0, 2], [0, 0]], np.float32)
    rows = np.array([[3.0, 4.0], [30.0, 40.0], [1.0, 1.0]])
    assert cosines_to_centers(rows, np.array([0, 1, 2]), centers) == pytest.approx([0.6, 0.8, 0.0])
