"""From texts to a result: the recipe, a single text, and what cannot be grouped."""

import io
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
