"""Groups that look alike, by their names or by their texts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.texts.similar import NameWords, find_similar, nearness_of, pairs_in_words


def equal(*names, language="english"):
    pairs = NameWords(names, language).equal_pairs()
    return {(names[first], names[second]) for first, second in pairs}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("order status", "status of order"),
        ("cancel order", "canceling my orders"),
        ("transfer", "transfer (2)"),
        ("cash on delivery", "COD"),
        ("ETA", "estimated time of arrival"),
        ("alarm", "Alarms"),
    ],
)
def test_names_with_the_same_words_or_their_initials_are_equal(first, second):
    assert equal(first, second) == {(first, second)}
    assert equal(second, first) == {(second, first)}


@pytest.mark.parametrize(
    ("first", "second"),
    [("order status", "order"), ("refund", "return"), ("card", "cash and rent delivery"), ("c", "cash"), ("🙂", "!!!")],
)
def test_other_names_are_not_equal(first, second):
    assert not equal(first, second)


def test_words_are_stemmed_in_the_language_of_the_texts():
    assert equal("die Bestellung", "Bestellungen", language="german")
    assert not equal("bestellung", "bestellungen", language="ukrainian")


@given(st.lists(st.text(max_size=12), max_size=6, unique=True))
def test_any_names_can_be_compared(names):
    for first, second in NameWords(names, "english").equal_pairs():
        assert 0 <= first < second < len(names)


def in_groups(names, directions, noise=0.2, size=40):
    """Return a result with groups of these names, each around its direction in a plane of a space with noise."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(len(names)), size)
    X = 0.0 + noise * rng.standard_normal((len(codes), 12)) / np.sqrt(12)
    X[:, :4] += np.array(directions, float)[codes]
    result = ts.describe_texts([f"text {row}" for row in range(len(codes))], codes, embeddings=X)
    return result.rename(dict(enumerate(names)))


APART = np.eye(4)


def pairs(result):
    shown = [(pair.cluster, pair.other, pair.reason) for pair in find_similar(result)]
    assert shown == [(pair.cluster, pair.other, pair.reason) for pair in result.similar_pairs]
    return shown


def test_groups_that_are_apart_look_alike_only_by_equal_names():
    assert pairs(in_groups(["refund", "parcel", "login", "invoice"], APART)) == []
    assert pairs(in_groups(["cash on delivery", "parcel", "COD", "invoice"], APART)) == [(0, 2, "names")]


def test_halves_of_one_group_look_alike_by_their_texts():
    halves = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    result = in_groups(["bag", "luggage", "login", "invoice"], halves)
    near = nearness_of(result)
    assert near.mixing[0, 1] == pytest.approx(1, abs=0.2)
    assert near.mixing[2, 3] < 0.05
    assert pairs(result) == [(0, 1, "texts")]
    assert pairs(result.rename(1, "bags")) == [(0, 1, "names")]
    frame = result.similar_clusters()
    assert frame.columns.tolist() == ["cluster", "cluster_name", "other", "other_name", "similarity", "reason"]
    assert frame.iloc[0, [0, 1, 2, 3, 5]].tolist() == [0, "bag", 1, "luggage", "texts"]
    assert "“bag” and “luggage” may be one group." in result._repr_html_()
    assert pairs(result.merge(0, 1)) == []


def test_a_mixed_group_is_like_no_other():
    result = in_groups(["bag", "bags", "login", "invoice"], [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    mixed = replace(result, clusters=(replace(result.clusters[0], is_mixed=True), *result.clusters[1:]))
    assert pairs(result) == [(0, 1, "names")]
    assert pairs(mixed) == []


def test_a_saved_model_has_the_same_pairs_without_its_embeddings(tmp_path):
    result = in_groups(["bag", "luggage", "login", "invoice"], [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    result.save(tmp_path / "a.model")
    loaded = ts.TextClustering.load(tmp_path / "a.model")
    assert pairs(loaded) == pairs(result)
    assert pairs(replace(loaded, reference=None)) == []  # only names can be compared then


def test_one_group_and_no_neighbors_are_no_pairs():
    assert pairs(ts.describe_texts(["a b", "a c"], [0, 0], embeddings=[[1, 0], [1, 0.1]])) == []
    assert pairs(ts.describe_texts(["a", "b"], [0, 1], embeddings=[[1, 0], [0, 1]])) == []


def test_a_few_pairs_are_put_into_words():
    names = [(f"a{i}", f"b{i}") for i in range(5)]
    assert pairs_in_words([]) == []
    assert pairs_in_words(names[:1]) == ["“a0” and “b0” may be one group."]
    assert pairs_in_words(names[:4])[2:] == ["“a2” and “b2” may be one group.", "And 1 more pair of groups may be one."]
    assert pairs_in_words(names)[-1] == "And 2 more pairs of groups may be one."
