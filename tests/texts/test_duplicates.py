"""Near-duplicate texts: the list, the note, and bad thresholds."""

import numpy as np
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts import duplicates
from textspectra.texts.duplicates import notes_on_repeats


@pytest.fixture
def result():
    texts = ["", "late parcel", "late parcel!", "late parcel", "password", "so late, the parcel", "passwords"]
    X = [[1, 1], [1, 0], [1, 0.1], [1, 0], [0, 1], [1, 0.2], [0.2, 1]]
    return ts.cluster_texts(texts, embeddings=X, n_clusters=2)


def test_each_text_is_listed_once_by_its_first_row(result):
    frame = result.duplicates()
    assert list(frame.columns) == ["row", "duplicate_of", "similarity", "text"]
    assert frame[["row", "duplicate_of", "text"]].values.tolist() == [
        [2, 1, "late parcel!"], [5, 1, "so late, the parcel"], [6, 4, "passwords"],
    ]  # fmt: skip
    assert frame["similarity"].tolist() == pytest.approx([1 / 1.01**0.5, 1 / 1.04**0.5, 1 / 1.04**0.5])
    assert result.duplicates(0.99)["row"].tolist() == [2]
    assert result.duplicates(1)["row"].tolist() == []


def test_very_many_texts_are_compared_within_groups(result, monkeypatch):
    everything = result.duplicates(0.1)["row"].tolist()
    assert everything == [2, 4, 5, 6] or everything == [2, 5, 6]
    monkeypatch.setattr(duplicates, "COMPARED_TEXTS", 2)
    assert result.duplicates(0.1)["row"].tolist() == [2, 5, 6]
    assert result.duplicates()["row"].tolist() == [2, 5, 6]


@pytest.mark.parametrize("threshold", [0, 1.01, -1, float("nan"), "high", True])
def test_a_threshold_is_a_cosine(result, threshold):
    expected = f"threshold must be a number above 0 and at most 1, but it is {threshold!r}."
    with pytest.raises(UserError) as error:
        result.duplicates(threshold)
    assert str(error.value) == expected


def test_a_note_says_that_many_texts_nearly_repeat():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 50))

    def encoder(texts):
        return X[[int(word) if word.isdigit() else 199 for text in texts for word in text.split()[-1:]]]

    texts = [f"text number {row}" for row in range(200)]
    X[:40] = X[40:80] + 0.01 * rng.standard_normal((40, 50))
    share = "About 40 % of the different texts nearly repeat another one"
    note = f"{share}, so the groups may look clearer than they are; in Python, result.duplicates() lists them."
    result = ts.cluster_texts(texts, model=encoder, n_clusters=3, cache=False)
    assert note in result.notes
    assert len(result.duplicates()) == 40
    # In given vectors, a high cosine may be usual.
    assert note not in ts.cluster_texts(texts, embeddings=X, n_clusters=3).notes
    X[:10] = rng.standard_normal((10, 50))
    assert notes_on_repeats(ts.cluster_texts(texts, embeddings=X, n_clusters=3).embedded()) == ()
    few = ts.cluster_texts(texts[:99], embeddings=X[40:139] * 0 + 1, n_clusters=1)
    assert notes_on_repeats(few.embedded()) == ()
