import inspect

import numpy as np
import pytest

import textspectra as ts

MODELS = pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])


@pytest.fixture(scope="module")
def vague(planted):
    """Groups so vague that another seed gives another answer."""
    return planted(6, 300, d=48, noise=0.25)[0]


def answer(estimate):
    return estimate, estimate.suggestions, estimate.replicates.tolist(), estimate.n_samples


@MODELS
@pytest.mark.parametrize(
    "seed", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)], ids=["int", "old", "new"]
)
def test_one_seed_is_one_answer_wherever_it_is_asked(vague, model, seed):
    expected = ts.estimate_k(vague, random_state=seed())
    fitted = model(random_state=seed()).fit(vague)
    assert answer(fitted.k_estimate_) == answer(expected)
    assert (model(expected.k, random_state=seed()).fit(vague).labels_ == fitted.labels_).all()


@MODELS
def test_one_seed_is_one_answer_for_weighted_rows(vague, model):
    weights = np.random.default_rng(0).choice([0, 0.4, 1, 2.5], len(vague))
    expected = ts.estimate_k(vague, sample_weight=weights, random_state=1)
    assert expected.n_samples == np.ceil(weights).sum()
    fitted = model(random_state=1).fit(vague, sample_weight=weights)
    assert answer(fitted.k_estimate_) == answer(expected)


def test_a_weight_is_a_number_of_rows(vague):
    counts = np.random.default_rng(1).integers(0, 4, len(vague))
    weighted = ts.estimate_k(vague, sample_weight=counts)
    repeated = ts.estimate_k(np.repeat(vague, counts, axis=0))
    assert answer(weighted) == answer(repeated)


def test_few_rows_that_count_often_are_many_rows(planted):
    X, _ = planted(4, 20, noise=0.05)
    assert ts.estimate_k(X).method == "spectral"
    assert ts.estimate_k(X, sample_weight=np.full(20, 4)).method == "reproducible"


def test_the_seed_is_0_unless_another_one_is_given(vague):
    assert answer(ts.estimate_k(vague)) == answer(ts.estimate_k(vague, random_state=0))
    assert ts.estimate_k(vague) != ts.estimate_k(vague, random_state=1)
    for function in (ts.estimate_k, ts.AutoKMeans, ts.AutoAgglomerative, ts.evaluate, ts.cohesion_ratio):
        assert inspect.signature(function).parameters["random_state"].default == 0


def test_no_seed_is_a_random_one(vague):
    drawn = [ts.estimate_k(vague, method="spectral", max_sample=50, random_state=None) for _ in range(2)]
    assert answer(drawn[0]) != answer(drawn[1])
