"""Groups made elsewhere: which labels are groups, what they are called, and that they work like any other groups."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.texts.labels import majority_codes, read_labels

TOPICS = {"parcel": "where is my parcel number {}", "login": "reset the password of account {}", "refund": "refund {}"}
TEXTS = [pattern.format(i) for i in range(30) for pattern in TOPICS.values()]
NAMES = list(TOPICS) * 30
RNG = np.random.default_rng(0)
X = np.eye(5)[np.arange(90) % 3] + 0.1 * RNG.standard_normal((90, 5))


def encode(texts):
    return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], float)


@pytest.fixture(scope="module")
def named():
    labels = [None if i < 6 else name for i, name in enumerate(NAMES)]
    return ts.describe_texts(TEXTS, labels, embeddings=X)


def test_names_are_kept_and_texts_without_a_label_have_no_group(named):
    assert named.names == [None] * 6 + NAMES[6:]
    assert (named.labels[:6] == -1).all()
    assert [(cluster.label, cluster.name, cluster.size) for cluster in named.clusters] == [
        (0, "parcel", 28), (1, "login", 28), (2, "refund", 28),
    ]  # fmt: skip
    assert "password" in named.clusters[1].keywords
    assert named.totals == (90, 84, 0, 0, 0, 6)
    assert named.notes == ("6 texts have no label, and no group.",)
    assert (named.k_estimate, named.themes, named.algorithm) == (None, (), "given")
    assert named.cohesion.ratio == pytest.approx(ts.cohesion_ratio(X[6:], NAMES[6:]))


def test_the_result_works_like_any_other(named, tmp_path):
    named.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model", embeddings=X)
    assert loaded.names == named.names
    assert loaded.totals == named.totals
    assert loaded.cut(2).n_clusters == 2
    assert loaded.rename(1, "password").merge(0, 2).n_clusters == 2
    assert loaded.report().startswith("<!doctype html>")
    assert loaded.predict(["a parcel"], embeddings=X[:1]).tolist() == [0]
    updated = loaded.update(["one more parcel"], embeddings=X[:1])
    assert (updated.totals.rows, updated.clusters[0].size) == (91, 29)


def test_whole_numbers_stay_labels_with_gaps():
    numbers = np.array([40, 7, -1])[np.arange(90) % 3]
    result = ts.describe_texts(TEXTS, numbers, embeddings=X)
    np.testing.assert_array_equal(result.labels, numbers)
    assert [cluster.label for cluster in result.clusters] == [7, 40]
    assert result.next_label == 41
    assert all(any(word in cluster.name for word in ("password", "parcel")) for cluster in result.clusters)


def test_a_model_beside_the_vectors_names_the_groups_and_places_new_texts(tmp_path):
    vectors = encode(TEXTS)
    result = ts.describe_texts(TEXTS, NAMES, embeddings=vectors, model=encode)
    np.testing.assert_array_equal(result.predict(TEXTS), result.predict(TEXTS, embeddings=vectors))
    assert (result.source.model, result.source.given) == ("encoder:encode", True)
    assert "embeddings=X, model='encoder:encode'" in result.recipe["command"]
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model", model=encode)
    np.testing.assert_array_equal(loaded.predict(TEXTS), result.predict(TEXTS))
    with pytest.raises(ts.UserError, match=r"^This clustering was made from given embeddings, which are not saved"):
        loaded.cut(2)
    with pytest.raises(
        ts.UserError, match=r"^The model encoder:encode gives vectors of length 5, but embeddings has 2"
    ):
        ts.cluster_texts(TEXTS, embeddings=vectors[:, :2], model=encode)


def test_a_column_of_labels_with_dates_and_segments():
    frame = pd.DataFrame({"text": TEXTS, "code": NAMES, "day": ["2025-01-05", "2025-02-07"] * 45, "from": ["web"] * 90})
    result = ts.describe_texts(frame, "code", text_column="text", embeddings=X, time="day", every="month", by="from")
    assert result.over_time()["texts"].tolist() == [15] * 6
    assert result.by("from")["texts"].tolist() == [30] * 3
    assert result.to_frame()["cluster_name"].tolist() == NAMES


LABELS = {
    "list": [3, 3, 5, None],
    "text": ["3", "3", "5", ""],
    "float": np.array([3, 3, 5, np.nan]),
    "noise": np.array([3, 3, 5, -1]),
    "nullable": pd.Series([3, 3, 5, None], dtype="Int64"),
    "polars": pl.Series([3, 3, 5, None]),
    "arrow": pa.array([3, 3, 5, None]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_numbers_in_any_form(labels):
    codes, values = read_labels(labels, [], 4)
    assert (codes.tolist(), values) == ([0, 0, 1, -1], [3, 5])


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (["b", "a", " b ", "-1"], ["b", "a"]),
        (pd.Categorical(["b", "a", "b", None]), ["b", "a"]),
        ([1, "a", 1, " "], ["1", "a"]),
        ([True, False, True, None], ["True", "False"]),
        (["007", "1", "007", None], ["007", "1"]),
    ],
)
def test_other_labels_are_names(labels, values):
    codes, names = read_labels(labels, [], 4)
    assert (codes.tolist(), names) == ([0, 1, 0, -1], values)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1, 2], "The label of row 0 is 0.5; a label is a whole number or a name."),
        ([1, 2**60, 2], f"The label of row 1 is {2**60}, which is too large; number the groups from 0."),
        ([1, float("inf"), 2], "The label of row 1 is inf, which is too large; number the groups from 0."),
        ([1, 2], "There are 3 texts but 2 labels; give one label per text."),
        ([None, -1, ""], "None of the 3 texts has a label: all are missing, blank or negative."),
        ("code", "labels='code' names a column of a data frame, but texts is not one; give the labels."),
        ({1, 2, 3}, "labels is a set, which has no order, so labels could not be matched to texts; give a list."),
        (np.array([["a"], ["b"], ["c"]]), "labels must be one-dimensional, but its shape is (3, 1)."),
        (["a", "b", "x" * 10_000], "labels, row 2: The name"),
        (7, "labels has the type int; give a list of labels, or a data frame with a column of labels."),
    ],
    ids=str,
)
def test_bad_labels(labels, message):
    with pytest.raises(ts.UserError, match=f"^{re.escape(message)}"):
        ts.describe_texts(["a", "b", "c"], labels, embeddings=np.eye(3))


def test_texts_that_cannot_be_grouped():
    with pytest.raises(ts.UserError, match=r"^None of the 2 texts has both a label and anything but white space"):
        ts.describe_texts(["a", ""], [None, "x"], embeddings=np.eye(2))
    result = ts.describe_texts(["n/a", "", "b"], ["none", "none", "b"], embeddings=np.eye(3))
    assert result.names == ["none", None, "b"]


def test_one_text_with_two_labels_is_in_the_group_of_most_of_its_rows():
    result = ts.describe_texts(["a", "b", "a", "a"], ["x", "y", "y", "y"], embeddings=[[1, 0], [0, 1], [1, 0], [1, 0]])
    assert result.names == ["y"] * 4
    expected = (
        "1 row has another label than most rows with the same text; each text is in the group of most of its rows."
    )
    assert result.notes == (expected,)


def test_labels_that_the_vectors_do_not_show_are_noted():
    labels = np.random.default_rng(1).permutation(NAMES)
    (note,) = ts.describe_texts(TEXTS, labels, embeddings=X).notes
    assert re.fullmatch(r"By their vectors, \d\d% of the texts fall into their own group; new .*", note)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1))
def test_the_majority_is_the_most_common_group(pairs):
    texts = np.unique([text for text, _ in pairs], return_inverse=True)[1]
    groups = np.array([group for _, group in pairs])
    chosen, n_other = majority_codes(texts, groups)
    counts = np.array([np.bincount(groups[texts == text], minlength=4) for text in range(texts.max() + 1)])
    np.testing.assert_array_equal(counts[np.arange(len(chosen)), chosen], counts.max(axis=1))
    assert n_other == len(pairs) - counts.max(axis=1).sum()


def test_new_texts_that_say_nothing_have_no_group():
    texts = ["my parcel is late", "parcel lost", "n/a", "reset password", "password forgotten"]
    result = ts.describe_texts(texts, ["parcel", "parcel", "nothing", "login", "login"], model="wordllama", cache=False)
    assert result.names[2] == "nothing"
    with pytest.warns(UserWarning, match="say nothing"):
        assert result.predict(["n/a", "👍", "lost parcel"], cache=False).tolist()[:2] == [-1, -1]


def test_words_to_ignore_and_stop_words_are_in_no_keyword_or_name():
    texts = ["@ann my parcel", "@ann parcel late", "@bob a password", "@bob", "@bob password lost"]
    X = np.eye(2)[[0, 0, 1, 1, 1]]
    result = ts.describe_texts(texts, [0, 0, 1, 1, 1], embeddings=X, ignore=["handles"], stop_words=["late", "lost"])
    assert [cluster.keywords for cluster in result.clusters] == [("parcel",), ("password",)]
    assert result.labels.tolist() == [0, 0, 1, -1, 1]
    assert result.totals == (5, 4, 0, 0, 1, 0)
    assert "1 text has no words left after --ignore and stays without a group." in result.notes
