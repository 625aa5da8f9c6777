import joblib
import numpy as np
import pytest
import reference
from hypothesis import assume, given, settings
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


spectral = ts.spectral_k


@given(
    st.lists(st.floats(0, 2, width=32), min_size=1, max_size=80).map(sorted),
    st.integers(1, 12),
    st.integers(1, 9),
)
def test_k_from_spectrum_is_the_papers(eigenvalues, window, fallback):
    assume(not reference.is_close_call(eigenvalues, window, 1e-7))
    expected = reference.k_of_spectrum(eigenvalues, window, min(fallback, len(eigenvalues)))
    assert ts.k_from_spectrum(eigenvalues, window=window, fallback=fallback) == expected


@pytest.mark.parametrize("k", [5, 12])
def test_the_upper_half_of_the_spectrum_would_give_n_minus_1(planted, k):
    X, _ = planted(k, 400, noise=0.2)
    eigenvalues = ts.laplacian_eigenvalues(X).astype(float)
    assert ts.k_from_spectrum(eigenvalues) == k
    # The paper's text, taken literally: i > n/2, from the largest index down.
    index = np.arange(len(X) // 2 + 1, len(X) + 1)
    deltas = np.array([(eigenvalues[i - 1] - eigenvalues[i - 2]) / eigenvalues[i - 4 : i - 1].mean() for i in index])
    assert index[deltas > deltas.mean() + deltas.std()].max() - 1 == len(X) - 1


@given(points, st.integers(1, 5), st.booleans())
def test_estimate_on_one_sample_is_the_papers(X, window, zscore):
    eigenvalues = reference.compute_eigenvalues(X, zscore)
    assume(not reference.is_close_call(eigenvalues, window))
    expected = reference.k_of_spectrum(eigenvalues, window, min(5, reference.distinct_rows(X)))
    assert spectral(X, window=window, zscore=zscore, n_replicates=1, random_state=0).k == expected


@given(points, st.integers(0, 100))
@settings(max_examples=25)
def test_estimate_over_replicates_is_the_mean_of_the_papers(X, seed):
    size = 24
    assume(size <= 0.8 * len(X))
    rng = np.random.default_rng(seed)
    expected = []
    for _ in range(5):
        sample = X[rng.choice(len(X), size, replace=False, shuffle=False)]
        eigenvalues = reference.compute_eigenvalues(sample)
        assume(not reference.is_close_call(eigenvalues, 3))
        expected.append(reference.k_of_spectrum(eigenvalues, 3, min(5, reference.distinct_rows(sample))))
    result = spectral(X, max_sample=size, n_replicates=5, random_state=seed)
    assert result.replicates.tolist() == expected
    assert result.spectrum.mean == pytest.approx(np.mean(expected))


def test_number_of_replicates_grows_with_log_n(planted):
    X, _ = planted(6, 1200)
    assert len(spectral(X, max_sample=50, random_state=0).replicates) == round(10 * np.log2(1200))


@pytest.mark.parametrize("k", [4, 9, 20])
def test_planted_groups_are_counted(planted, k):
    X, _ = planted(k, 900, noise=0.05)
    assert spectral(X, random_state=0).k == k


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_same_seed_same_result_for_any_number_of_jobs_and_any_back_end(planted, backend):
    X, _ = planted(7, 1500, noise=0.5)
    one = spectral(X, max_sample=100, n_replicates=12, random_state=3, n_jobs=1)
    two = spectral(X, max_sample=100, n_replicates=12, random_state=3, n_jobs=2)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        three = spectral(X, max_sample=100, n_replicates=12, random_state=3)
    assert one == two == three
    assert one.replicates.tolist() == two.replicates.tolist() == three.replicates.tolist()


def test_a_memory_map_is_read_and_never_written(planted, tmp_path):
    X, _ = planted(5, 1100)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    options = {"max_sample": 300, "n_replicates": 8, "random_state": 0}
    assert spectral(mapped, **options) == spectral(X, **options)


def test_data_frames_are_read(planted):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, _ = planted(5, 300)
    expected = spectral(X, random_state=0)
    assert spectral(pandas.DataFrame(X), random_state=0) == expected
    assert spectral(polars.DataFrame(X, schema=[str(i) for i in range(32)]), random_state=0) == expected


@pytest.mark.parametrize("n", [2, 3, 50, 1500])
def test_equal_rows_are_one_cluster(n):
    X, options = np.tile([3.0, 1.0, 2.0], (n, 1)), {"n_replicates": 4, "random_state": 0}
    result = spectral(X, **options)
    assert (result.k, result.interval, result.spectrum.fallback_fraction) == (1, (1, 1), 1.0)
    assert spectral(X, zscore=True, **options).k == 1


def test_two_distinct_rows_are_at_most_two_clusters():
    assert spectral([[1, 0], [0, 1]], random_state=0).k == 2
    assert spectral([[1, 0], [0, 1]] * 100, random_state=0).k == 2


def test_the_interval_holds_k_and_spreads_with_the_noise(planted):
    crisp = spectral(planted(8, 600, noise=0.02)[0], random_state=0)
    assert crisp.interval == (8, 8)
    vague = spectral(planted(8, 600, noise=0.45)[0], random_state=0)
    low, high = vague.interval
    assert low <= vague.k <= high
    assert low < high


@pytest.mark.parametrize("n", [990, 1010])
def test_samples_that_nearly_coincide_do_not_feign_certainty(planted, n):
    estimate = spectral(planted(20, n, d=128, noise=0.3)[0], random_state=0)
    assert len(estimate.replicates) == 40
    assert estimate.interval[0] < estimate.interval[1]


def test_repr_reads_like_a_sentence(planted):
    X, _ = planted(5, 1100, noise=0.05)
    assert repr(spectral(X, n_replicates=4, random_state=0)) == (
        "5 groups (95% interval 5 to 5), from random samples of 1,000 out of 1,100 rows"
    )
    assert repr(spectral([[1.0, 2.0]] * 4, random_state=0)) == (
        "1 group (95% interval 1 to 1), from the spectrum of all 4 rows; no jump was found"
    )
