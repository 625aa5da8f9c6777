"""Planted groups, for every test."""

import numpy as np
import pytest
from hypothesis import settings

# Times depend on the machine; speed is measured in benchmarks/.
settings.register_profile("textspectra", deadline=None)
settings.load_profile("textspectra")


@pytest.fixture(scope="session")
def planted():
    """Build n rows around k random directions, and the truth."""

    def build(k, n, *, d=32, noise=0.15, seed=0):
        rng = np.random.default_rng(seed)
        truth = rng.permutation(np.arange(n) % k)
        X = rng.standard_normal((k, d))[truth] + noise * d**0.5 * rng.standard_normal((n, d))
        return X.astype(np.float32), truth

    return build
