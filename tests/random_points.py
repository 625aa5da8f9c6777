"""Points around random groups: planted with their truth, or drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st


def planted_rows(k, n, *, d=32, noise=0.15, seed=0):
    """Return n rows around k random directions, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % k)
    X = rng.standard_normal((k, d))[truth] + noise * d**0.5 * rng.standard_normal((n, d))
    return X.astype(np.float32), truth


def random_points(seed, n, d, clusters, noise):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((clusters, d))[rng.integers(clusters, size=n)] + noise * rng.standard_normal((n, d))


points = st.builds(
    random_points,
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.integers(2, 8),
    st.integers(1, 10),
    st.sampled_from([0.01, 0.2, 1.0]),
)
