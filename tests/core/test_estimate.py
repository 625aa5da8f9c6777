import inspect
import itertools
import re
import xml.etree.ElementTree as ElementTree
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textspectra as ts
from textspectra.core.agreement import Agreement
from textspectra.core.estimate import NAMES, interval_around, name_of, suggest

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


def test_texts_that_are_repeated_are_no_groups_of_their_own(vague):
    counts = np.random.default_rng(2).zipf(1.8, len(vague)).clip(max=200)
    assert ts.estimate_k(vague, sample_weight=counts).suggestions == ts.estimate_k(vague).suggestions


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_of_a_cloud_are_no_groups(seed):
    rng = np.random.default_rng(seed)
    cloud = rng.standard_normal((90, 12))
    copies = np.concatenate([cloud, cloud[rng.zipf(1.7, 20_000).clip(max=90) - 1]])
    found = ts.estimate_k(copies, random_state=seed)
    assert found.k == ts.estimate_k(cloud, random_state=seed).k
    assert found.interval[1] <= 90


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
    drawn = [ts.spectral_k(vague, max_sample=50, random_state=None) for _ in range(2)]
    assert answer(drawn[0]) != answer(drawn[1])


def seven(X):
    return 7


@MODELS
@pytest.mark.parametrize("weights", [None, np.arange(300) % 3])
def test_the_papers_rule_is_one_answer_wherever_it_is_asked(vague, model, weights):
    expected = ts.spectral_k(vague, sample_weight=weights, random_state=2)
    assert answer(ts.estimate_k(vague, sample_weight=weights, method="spectral", random_state=2)) == answer(expected)
    for method in ("spectral", partial(ts.spectral_k, random_state=2)):
        fitted = model(method=method, random_state=2).fit(vague, sample_weight=weights)
        assert answer(fitted.k_estimate_) == answer(expected)
        assert fitted.n_clusters_ == expected.k


def test_a_function_gives_the_number(vague):
    estimate = ts.estimate_k(vague, method=seven)
    assert repr(estimate) == "7 groups, given by seven"
    assert (estimate.k, estimate.interval, estimate.method, estimate.at("auto")) == (7, (7, 7), "given by seven", 7)
    assert ts.estimate_k(vague, method=np.linalg.matrix_rank).k == 48  # an integer of NumPy
    fitted = ts.AutoKMeans(method=seven).fit(vague)
    assert (fitted.n_clusters_, fitted.k_estimate_) == (7, estimate)
    assert (fitted.labels_ == ts.AutoKMeans(7).fit_predict(vague)).all()
    assert estimate._repr_html_() == "<div><b>7 groups</b>, given by seven</div>"


def test_a_function_gets_the_rows_as_they_are(vague):
    seen = []
    ts.AutoAgglomerative(method=lambda X: seen.append(X) or 2).fit(vague)
    assert seen[0] is vague or np.shares_memory(seen[0], vague)


@pytest.mark.parametrize("wrong", [0, 301, 2.5, "7", None, True])
def test_a_function_that_gives_no_number_is_named(vague, wrong):
    def mine(X):
        return wrong

    expected = "it must return a whole number from 1 to the 300 rows, or a KEstimate."
    with pytest.raises(ts.UserError, match=f"^{re.escape(f'method=mine returned {wrong!r}; {expected}')}$"):
        ts.estimate_k(vague, method=mine)


@pytest.mark.parametrize("wrong", ["reproducible", None, 7])
def test_an_unknown_method_is_refused_also_if_k_is_given(vague, wrong):
    expected = f'method must be "auto", "spectral" or a function from rows to k, but it is {wrong!r}.'
    for call in (partial(ts.estimate_k, vague, method=wrong), partial(ts.AutoKMeans(2, method=wrong).fit, vague)):
        with pytest.raises(ts.UserError, match=f"^{re.escape(expected)}$"):
            call()


def test_functions_are_named_as_they_are_written():
    class Rule:
        def __call__(self, X):
            return 1

    assert name_of("auto") == "'auto'"
    assert name_of(seven) == "seven"
    assert name_of(Rule()) == "Rule"
    assert name_of(partial(ts.spectral_k, window=5)) == "partial(spectral_k, window=5)"
    assert name_of(partial(partial(pow, 2), mod=3)) == "partial(pow, 2, mod=3)"


def test_few_rows_are_read_off_the_spectrum(planted):
    X, _ = planted(4, 64, noise=0.05)
    assert ts.estimate_k(X[:63], random_state=0).method == "spectral"
    assert ts.estimate_k(X, random_state=0).method == "reproducible"


@given(st.lists(st.floats(0, 0.9), min_size=3, max_size=60).map(np.array), st.data())
@settings(max_examples=50)
def test_levels_are_ordered_and_a_factor_of_two_to_two_and_a_half_apart(halves, data):
    ks = np.arange(2, 2 + len(halves))
    k = data.draw(st.sampled_from(ks.tolist()))
    levels = suggest(Agreement(ks, halves, halves, 0.5), k, 0.5, 4 * int(ks[-1]))
    names = [level.name for level in levels]
    assert names == [name for name in NAMES if name in names]
    assert all(2 * low.k <= high.k <= 2.5 * low.k for low, high in itertools.pairwise(levels))
    assert {level.name: level.k for level in levels}["suggested"] == k
    assert 2 <= levels[0].k <= levels[-1].k <= ks[-1]


@given(st.integers(2, 500), st.floats(0, 1), st.floats(0, 1))
def test_the_interval_shrinks_with_confidence(k, one, other):
    low, high = interval_around(k, min(one, other), 10_000)
    inner_low, inner_high = interval_around(k, max(one, other), 10_000)
    assert low <= inner_low <= k <= inner_high <= high


def drawing(html):
    return ElementTree.fromstring(f"<div>{html}</div>").find(".//{http://www.w3.org/2000/svg}svg")  # noqa: S314


def test_the_curve_and_the_levels_are_shown():
    estimate = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0)
    html = estimate._repr_html_()
    assert html.startswith("<div><b>8 groups (95% interval 8 to 8)</b>, on which two halves of the 160 rows agree")
    assert "levels: coarse 4 (score " in html
    assert "<b>suggested 8</b> (score 1.00)" in html
    svg = drawing(html)
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"5", "0.0", "1.0", "coarse: 4", "suggested: 8", "number of groups (logarithmic scale)"} <= set(texts)
    points = [point.split(",") for point in svg.find("{http://www.w3.org/2000/svg}polyline").get("points").split()]
    assert len(points) == len(estimate.agreement.k)
    heights = [float(y) for _, y in points]
    assert np.argmin(heights) == np.argmax(estimate.agreement.score)


def test_a_spectrum_is_drawn_and_no_structure_is_said(planted):
    spectral = ts.estimate_k(planted(4, 60, noise=0.1)[0], method="spectral")
    texts = [text.text for text in drawing(spectral._repr_html_()).iter("{http://www.w3.org/2000/svg}text")]
    assert f"k = {spectral.k}" in texts
    none = ts.estimate_k(np.random.default_rng(0).standard_normal((500, 12)), random_state=0)
    assert none._repr_html_().startswith("<div><b>1 group: no structure here; the rows lie like one cloud</b>, with no")


pytest.importorskip("matplotlib").use("Agg")


def test_plot_shows_the_curve_and_the_suggestions(planted):
    estimate = ts.estimate_k(planted(9, 500, d=48, noise=0.1)[0])
    texts = [text.get_text() for text in estimate.plot().get_legend().get_texts()]
    assert f"suggested: {estimate.k}" in texts
    assert "two halves of the data" in texts


def test_plot_shows_the_spectrum(planted):
    estimate = ts.estimate_k(planted(6, 400)[0], method="spectral")
    ax = estimate.plot()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"k = {estimate.k}" in texts
    assert {"eigenvalue λ", "difference δ", "threshold", "window of the moving average"} <= set(texts)
    assert len(ax.lines[0].get_xdata()) == 200
    ax.figure.canvas.draw()
