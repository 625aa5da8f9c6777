"""From texts to a result: the recipe, a single text, and what cannot be grouped."""

import io
import re
from functools import partial

import numpy as np
import pytest

import textspectra as ts


def test_the_recipe_is_the_call_that_makes_the_result_again():
    texts = [f"{word} {i}" for i in range(6) for word in ("parcel", "invoice")]
    X, days = np.eye(2)[np.arange(12) % 2], ["2026-01-02"] * 12
    recipe = ts.cluster_texts(texts, embeddings=X, n_clusters=2, time=days, every="day", keep_all=True).recipe
    assert recipe["command"] == (
        "textspectra.cluster_texts(texts, embeddings=X, algorithm='kmeans', n_clusters=2, random_state=0, "
        "keep_all=True, time='time', every='day')"
    )
    assert recipe.keys() == {"command", "seed", "date"}
    unfixed = ts.cluster_texts(texts, embeddings=X, n_clusters=2, random_state=None).recipe
    assert unfixed["seed"] == "not fixed"


def three(X):
    return 3


@pytest.mark.parametrize("algorithm", ["kmeans", "hac"])
@pytest.mark.parametrize(
    ("method", "written", "found_by"),
    [
        ("spectral", "'spectral'", "spectral"),
        (partial(ts.spectral_k, window=4), "partial(spectral_k, window=4)", "spectral"),
        (three, "three", "given by three"),
    ],
)
def test_the_method_and_its_evidence_are_kept(planted, tmp_path, algorithm, method, written, found_by):
    X, _ = planted(6, 90, noise=0.1)
    texts = [f"text {i}" for i in range(90)]
    result = ts.cluster_texts(texts, embeddings=X, algorithm=algorithm, method=method, refine=False)
    expected = ts.estimate_k(X, method=method)
    assert (result.k_estimate, result.n_clusters) == (expected, expected.k)
    assert result.k_estimate.method == found_by
    plain = {} if algorithm == "hac" else {"refine": False}
    model = {"kmeans": ts.AutoKMeans, "hac": ts.AutoAgglomerative}[algorithm](method=method, **plain).fit(X)
    assert result.labels.tolist() == model.labels_.tolist()
    assert f"n_clusters='auto', random_state=0, method={written}, refine=False)" in result.recipe["command"]
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.k_estimate == expected
    assert repr(loaded.k_estimate) == repr(expected)
    given = ts.cluster_texts(texts, embeddings=X, algorithm=algorithm, method=method, n_clusters=2)
    assert (given.n_clusters, given.k_estimate) == (2, expected)


def test_the_table_of_a_file_needs_no_column_of_texts():
    file = io.BytesIO(b"id,text,channel\n1,parcel lost,web\n2,invoice wrong,app\n")
    result = ts.cluster_texts(ts.read_table("-", stdin=file), embeddings=np.eye(2), n_clusters=2, by="channel")
    assert result.to_frame().column_names[:4] == ["id", "text", "channel", "cluster"]
    assert result.by("channel")["value"].to_pylist() == ["web", "app"] * 2


def test_a_single_text_is_one_group():
    result = ts.cluster_texts(["hello world", ""], embeddings=[[1, 2], [0, 0]])
    assert result.labels.tolist() == [0, -1]
    assert result.cohesion is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "magic"},
            'method must be "auto", "spectral" or a function from rows to k, but it is \'magic\'.',
        ),
        ({"algorithm": "magic"}, 'algorithm must be "kmeans" or "hac", but it is \'magic\'.'),
        ({"n_clusters": 3}, "3 clusters were asked for, but there are 2 different texts."),
        ({"embeddings": np.zeros((2, 2))}, "The model could represent none of the texts (all vectors are zero)"),
    ],
)
def test_what_cannot_be_grouped_is_explained(options, message):
    with pytest.raises(ts.UserError) as refused:
        ts.cluster_texts(["parcel lost", "invoice wrong"], **{"embeddings": np.eye(2), **options})
    assert str(refused.value).startswith(message)


def test_stages_are_told_in_their_order():
    stages = []
    ts.cluster_texts(["a b", "x y"], embeddings=np.eye(2), progress=lambda stage, *_: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["embedding", "grouping", "describing"]


FLIGHTS = [
    f"@{who} {what} {how}"
    for what in ("my bag is", "the seat is")
    for who in ("ann", "bob")
    for how in ("late", "lost", "wet")
]


class Letters:
    """A model that counts letters, and keeps what it was given."""

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        return np.array([[text.count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz@"] for text in texts])


def test_words_to_ignore_are_neither_embedded_nor_named_and_the_texts_stay(tmp_path):
    letters = Letters()
    texts = [*FLIGHTS, "@ann", "@bob @ann"]
    result = ts.cluster_texts(texts, model=letters, n_clusters=2, ignore=["handles", "xyz"], stop_words=["Seat"])
    assert not any("@" in text for text in letters.texts)
    assert result.corpus.rows == texts
    assert result.labels.tolist() == [0] * 6 + [1] * 6 + [-1, -1]
    assert result.totals.without_content == 2
    assert result.notes == (
        "2 texts have no words left after --ignore and stay without a group.",
        "--ignore 'xyz' matches none of the texts.",
    )
    words = {word for cluster in result.clusters for word in (*cluster.keywords, cluster.name)}
    assert not any(name in word for word in words for name in ("ann", "bob", "@", "seat"))
    assert "random_state=0, ignore=['handles', 'xyz'], stop_words=['seat'])" in result.recipe["command"]
    assert "seat" not in result.term_matrix()[1]
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model", model=Letters())
    assert loaded.corpus.ignore == ("handles", "xyz")
    assert loaded.stop_words == ("seat",)
    assert loaded.corpus.read == result.corpus.read
    assert loaded.cut(3).n_clusters == 3


def test_a_model_ignores_the_same_words_in_new_texts():
    model = ts.cluster_texts(FLIGHTS, model=Letters(), n_clusters=2, ignore=["handles"])
    new = ["@zzzzzzzzzzzz my bag is gone", "@bagbagbag the seat is gone", "@me"]
    with pytest.warns(UserWarning, match="^1 text has no words left after --ignore and stays without a group.$"):
        assert model.predict(new).tolist() == [0, 1, -1]
    with pytest.warns(UserWarning, match="no words left"):
        scores = model.scores(new)
    bare = ts.cluster_texts([text[5:] for text in FLIGHTS], model=Letters(), n_clusters=2)
    assert scores[:2] == pytest.approx(bare.scores([text.partition(" ")[2] for text in new[:2]]))
    comparison = model.compare(new)
    assert comparison.result.labels.tolist() == [0, 1, -1]
    updated = model.update(new)
    assert updated.corpus.ignore == ("handles",)
    assert updated.corpus.read[-2:] == ["my bag is gone", "the seat is gone"]
    assert updated.labels.tolist()[-3:] == [0, 1, -1]
    assert updated.totals.without_content == 1


def test_examples_of_known_groups_are_read_without_the_words_to_ignore():
    letters = Letters()
    known = {"luggage": ["@zoe my bag is lost"]}
    result = ts.cluster_texts(FLIGHTS, model=letters, known=known, n_clusters=2, ignore=["handles"])
    assert result.clusters[0].name == "luggage"
    assert "my bag is lost" in letters.texts
    message = "^The model knows no word in the examples of the known group 'luggage' after --ignore.$"
    with pytest.raises(ts.UserError, match=message):
        ts.cluster_texts(FLIGHTS, model=letters, known={"luggage": ["@zoe"]}, ignore=["handles"])


def test_given_embeddings_stay_and_only_the_words_change():
    X = np.repeat(np.eye(2), 6, axis=0)
    result = ts.cluster_texts(FLIGHTS, embeddings=X, n_clusters=2, ignore=["bag", "late"])
    assert result.labels.tolist() == [0] * 6 + [1] * 6
    assert result.notes == ("The embeddings stay as they were given: --ignore keeps words out of keywords and names.",)
    assert not any("bag" in word or "late" in word for cluster in result.clusters for word in cluster.keywords)


def test_many_words_are_written_as_a_name_in_the_recipe():
    words = [f"word{number}" for number in range(10_000)]
    result = ts.cluster_texts(FLIGHTS, embeddings=np.eye(12), n_clusters=2, ignore=words, stop_words=words)
    assert "ignore=ignore, stop_words=stop_words)" in result.recipe["command"]
    assert result.notes[1] == (
        "10,000 of 10,000 values of --ignore match none of the texts: 'word0', 'word1', 'word2', 'word3', 'word4' and "
        "9,995 more."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"ignore": ["*"]},
            "None of the 12 texts has a word left after --ignore, such as '@ann my bag is late'; ignore",
        ),
        ({"ignore": "bag"}, "ignore must be a list of words, such as"),
        ({"stop_words": "bag"}, "stop_words must be a list of words, but it is 'bag'."),
        ({"stop_words": ["two words"]}, "stop_words has 'two words', which is not one word; give a list of single"),
        ({"stop_words": [None]}, "stop_words has None, which is not one word; give a list of single words."),
    ],
)
def test_bad_words_are_refused(options, message):
    with pytest.raises(ts.UserError, match=f"^{re.escape(message)}"):
        ts.cluster_texts(FLIGHTS, embeddings=np.eye(12), **options)
