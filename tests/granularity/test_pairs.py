"""Does a group fall in two?"""

import numpy as np
import pytest

from textspectra.granularity.pairs import falls_in_two


def cloud(n, rng, d=32):
    return rng.standard_normal((n, d)) + 4 * np.eye(d)[0]


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_two_clouds_do_and_one_does_not(seed):
    rng = np.random.default_rng(seed)
    one, other = cloud(120, rng), cloud(80, rng) + 12 * np.eye(32)[1]
    assert falls_in_two(unit(np.vstack([one, other])), rng)
    assert not falls_in_two(unit(cloud(200, rng)), rng)


def test_outliers_few_rows_and_equal_rows_do_not():
    rng = np.random.default_rng(0)
    with_outliers = np.vstack([cloud(200, rng), cloud(6, rng) + 9 * np.eye(32)[1]])
    assert not falls_in_two(unit(with_outliers), rng)
    assert not falls_in_two(unit(np.vstack([cloud(10, rng), cloud(10, rng) + 9 * np.eye(32)[1]])), rng)
    assert not falls_in_two(unit(np.ones((100, 4))), rng)
