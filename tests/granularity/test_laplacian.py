import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_points import points

import textspectra as ts


@given(points, st.booleans())
def test_eigenvalues_are_those_of_the_dense_laplacian(X, zscore):
    assume(not zscore or reference.similarities(X).std() > 0.02)  # dividing by less magnifies float32's rounding
    assert ts.laplacian_eigenvalues(X, zscore=zscore) == pytest.approx(
        reference.compute_eigenvalues(X, zscore), abs=3e-5
    )


def test_scale_order_and_type_do_not_matter(planted):
    X, _ = planted(7, 400)
    expected = ts.laplacian_eigenvalues(X)
    rng = np.random.default_rng(1)
    scaled = (X * rng.uniform(0.001, 1000, (400, 1)))[rng.permutation(400)]
    for variant in (scaled, X.astype(np.float64), np.asfortranarray(X), X * 1e30, X.astype(np.float64) * 1e-200):
        assert ts.laplacian_eigenvalues(variant) == pytest.approx(expected, abs=1e-5)
    assert ts.laplacian_eigenvalues(X.astype(np.float16)) == pytest.approx(expected, abs=2e-3)
