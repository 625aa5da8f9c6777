"""Shared data: planted groups anywhere, the labelled sets where TEXTSPECTRA_DATA or ../shared/data has them."""

import os
from pathlib import Path

import numpy as np
import pytest

DATA = Path(os.environ.get("TEXTSPECTRA_DATA", Path(__file__).parents[2] / "shared" / "data"))

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the labelled text sets are not here; point TEXTSPECTRA_DATA to their folder"
)


@pytest.fixture(scope="session")
def planted():
    """Build n rows around k random directions, and the truth."""

    def build(k, n, *, d=32, noise=0.15, seed=0):
        rng = np.random.default_rng(seed)
        truth = rng.permutation(np.arange(n) % k)
        X = rng.standard_normal((k, d))[truth] + noise * d**0.5 * rng.standard_normal((n, d))
        return X.astype(np.float32), truth

    return build
