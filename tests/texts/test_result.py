"""From texts to a result, and what can be done with it."""

import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.clustered import clusters_of
from textspectra.texts.storage import ARRAYS, SUMMARY, TEXTS

TEXTS_IN = [
    "where is my parcel", "my parcel has not arrived", "parcel late again", "parcel lost in the post",
    "reset my password", "forgot my password", "password link does not work", "new password please",
    "cancel my subscription", "stop the subscription", "end subscription today", "unsubscribe me from the subscription",
]  # fmt: skip
GROUPS = np.repeat([0, 1, 2], 4)


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    return (np.eye(3)[GROUPS] + 0.1 * rng.uniform(size=(12, 3))).astype(np.float32)


@pytest.fixture
def result(vectors):
    return ts.cluster_texts(TEXTS_IN, embeddings=vectors, n_clusters=3)


@pytest.fixture
def hac(vectors):
    return ts.cluster_texts(TEXTS_IN, embeddings=vectors, n_clusters=3, algorithm="hac")


def test_groups_names_and_frame(result):
    assert len(set(zip(result.labels.tolist(), GROUPS.tolist(), strict=True))) == 3
    names = {cluster.name for cluster in result.clusters}
    assert len(names) == 3
    assert all(any(word in name for name in names) for word in ("parcel", "password", "subscription"))
    frame = result.to_frame()
    assert list(frame.columns) == ["text", "cluster", "cluster_name", "similarity"]
    assert frame["text"].tolist() == TEXTS_IN
    assert (frame["similarity"] > 0.9).all()


def test_names_are_phrases_if_there_is_a_model(tmp_path):
    result = ts.cluster_texts(TEXTS_IN, model="wordllama", n_clusters=3)
    for cut in (result, result.cut(1), result.cut(5)):
        for cluster in cut.clusters:
            own = [text for text, label in zip(TEXTS_IN, cut.labels, strict=True) if label == cluster.label]
            for phrase in cluster.name.split(" / "):  # joined groups may have the names of their parts
                assert any(set(phrase.split()) <= set(text.split()) for text in own)
    result.save(tmp_path / "model")
    again = ts.TextClustering.load(tmp_path / "model").cut(5)
    assert [cluster.name for cluster in again.clusters] == [cluster.name for cluster in result.cut(5).clusters]


def test_names_are_keywords_if_the_model_knows_only_the_texts(vectors):
    known = dict(zip(TEXTS_IN, vectors, strict=True))
    with pytest.warns(UserWarning, match="^The groups are named by keywords, because"):
        found = ts.cluster_texts(TEXTS_IN, model=lambda texts: np.array([known[text] for text in texts]), n_clusters=3)
    given = ts.cluster_texts(TEXTS_IN, embeddings=vectors, n_clusters=3)
    assert [cluster.name for cluster in found.clusters] == [cluster.name for cluster in given.clusters]


def test_duplicates_share_a_cluster_and_blanks_have_none(vectors):
    texts = [*TEXTS_IN, "where is my parcel", "", " \t\n", None]
    X = np.vstack([vectors, vectors[5], np.zeros((3, 3), np.float32)])
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=3)
    assert result.labels[12] == result.labels[0]
    assert result.labels[13:].tolist() == [-1, -1, -1]
    assert result.names[13:] == [None, None, None]
    assert sorted(cluster.size for cluster in result.clusters) == [4, 4, 5]
    assert np.isnan(result.similarity[13:]).all()


def test_zero_vectors_have_no_cluster(vectors):
    X = np.vstack([vectors, np.zeros((1, 3), np.float32)])
    for algorithm in ("kmeans", "hac"):
        result = ts.cluster_texts([*TEXTS_IN, "🦄"], embeddings=X, n_clusters=3, algorithm=algorithm)
        assert result.labels[-1] == -1
        assert set(result.labels[:-1]) == {0, 1, 2}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_text_column_of_a_data_frame_is_grouped_and_the_others_are_kept(vectors, library):
    module = pytest.importorskip(library)
    columns = {"id": [f"a-{i}" for i in range(12)], "message": TEXTS_IN, "cluster": list(range(12))}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    if library == "pandas":
        frame.index = range(50, 62)
    result = ts.cluster_texts(frame, embeddings=vectors, n_clusters=3)
    assert result.corpus.rows == TEXTS_IN
    found = result.to_frame()
    assert type(found) is type(frame)
    names = found.column_names if library == "pyarrow" else list(found.columns)
    assert names == ["id", "message", "cluster", "cluster_2", "cluster_name", "similarity"]
    assert (
        list(found["cluster_2"].to_pylist() if library == "pyarrow" else found["cluster_2"]) == result.labels.tolist()
    )
    if library == "pandas":
        assert found.index.tolist() == list(range(50, 62))
    assert ts.cluster_texts(frame, text_column="id", embeddings=vectors, n_clusters=3).corpus.rows == columns["id"]
    with pytest.raises(UserError, match=r"unknown column 'mesage'; did you mean 'message'\?"):
        ts.cluster_texts(frame, text_column="mesage", embeddings=vectors)
    assert (result.predict(frame, embeddings=vectors) == result.labels).all()


def test_arrays_of_texts_are_taken(vectors):
    import pyarrow as pa

    for make in (np.array, tuple, iter, pa.array, lambda texts: pa.chunked_array([texts[:5], texts[5:]])):
        result = ts.cluster_texts(make(TEXTS_IN), embeddings=vectors, n_clusters=3)
        assert result.corpus.rows == TEXTS_IN
        assert len(result) == 12


def test_what_a_result_says_of_each_row(vectors):
    texts = [*TEXTS_IN, "", TEXTS_IN[0]]
    X = np.vstack([vectors, np.zeros((1, 3), np.float32), vectors[:1]])
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=3)
    assert len(result) == len(result.labels) == len(result.names) == len(result.similarity) == 14
    np.testing.assert_array_equal(result.embeddings(), X)
    assert result.totals == (14, 12, 1, 0, 0, 0)


def test_what_was_sent_most_names_its_group_and_is_shown_with_its_count():
    care = [f"customer care number {place}" for place in ("Berlin", "Paris", "Rome", "Oslo")]
    texts = ["Thank you for contacting us"] * 500 + care + ["my password", "new password", "password lost"]
    X = np.array([[1, 0.3, 0]] * 500 + [[1, 0, 0]] * 4 + [[0, 0, 1]] * 3)
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
    largest = result.clusters[0]
    assert largest.name.startswith("contacting / thank / care number")
    assert result.typical_texts(largest)[0] == "Thank you for contacting us"
    assert result.cluster_table()["typical_counts"].tolist() == [[500, 1, 1, 1, 1], [1, 1, 1]]
    assert clusters_of(result).typical_texts[0][0] == "500 × Thank you for contacting us"
    sample = replace(result, totals=result.totals._replace(distinct=10**6))
    assert sample.typical_counts(largest) == [None] * 5  # the counts of a sample stand for other texts too
    assert clusters_of(sample).typical_texts[0][0] == "Thank you for contacting us"


def test_the_table_of_topics(result):
    frame = result.cluster_table()
    columns = ["cluster", "name", "size", "share", "cohesion", "mixed", "keywords", "typical_texts", "typical_counts"]
    assert list(frame.columns) == (["theme", *columns] if result.themes else columns)
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["name"].tolist() == [cluster.name for cluster in result.clusters]
    assert all(set(texts) <= set(TEXTS_IN) for texts in frame["typical_texts"])


def test_frames_come_back_in_the_library_they_came_in(vectors):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for make, kind in ((pandas.Series, pandas.DataFrame), (polars.Series, polars.DataFrame)):
        result = ts.cluster_texts(make(TEXTS_IN), embeddings=vectors, n_clusters=3)
        assert isinstance(result.to_frame(), kind)


@pytest.mark.parametrize("texts", [["one text"], ["same", "same", "same"]])
def test_one_distinct_text_is_one_cluster(texts):
    result = ts.cluster_texts(texts, embeddings=np.ones((len(texts), 4)))
    assert result.labels.tolist() == [0] * len(texts)
    assert result.n_clusters == 1


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "None of the 0 texts holds anything but white space."),
        (["", " "], {}, "None of the 2 texts holds anything but white space."),
        *(
            (texts, {}, f"texts has the type {kind}; give a list of texts, or a data frame with a column of texts.")
            for texts, kind in [("a single text", "str"), ({"text": ["a"]}, "dict"), (5, "int"), (None, "NoneType")]
        ),
        (np.array([["a"], ["b"]]), {}, "texts must be one-dimensional, but its shape is (2, 1)."),
        (["a"], {"text_column": "t"}, "text_column='t' names a column of a data frame, but texts is not a data frame."),
        (["a", 7], {}, "The text of row 1 is 7 (int); every text must be a str."),
        (
            np.eye(3),
            {},
            "texts is an array of numbers of the shape (3, 3); give the texts, and these vectors as "
            "embeddings=. For groups of vectors without texts: AutoKMeans().fit(X).",
        ),
        (
            [[0.5, 1], [1, 2]],
            {},
            "The text of row 0 is a row of 2 numbers; give the texts, and these vectors as "
            "embeddings=. For groups of vectors without texts: AutoKMeans().fit(X).",
        ),
        (["a", "b"], {"embeddings": [[1, 2]]}, "embeddings must have one row per text (2), but it has 1."),
        (["a", "b"], {"embeddings": [[0, 0], [0, 0]]}, "could represent none of the texts"),
        (["a", "b"], {"algorithm": "magic"}, 'algorithm must be "kmeans" or "hac", but it is \'magic\'.'),
    ],
)
def test_bad_texts(texts, options, message):
    with pytest.raises(UserError, match=re.escape(message)):
        ts.cluster_texts(texts, **options)


def test_predict_puts_texts_into_the_nearest_cluster(result, vectors):
    again = result.predict(
        ["a parcel", "", "a password", "z"], embeddings=np.vstack([vectors[0], [0, 0, 0], vectors[5], [0, 0, 0]])
    )
    assert again.tolist() == [result.labels[0], -1, result.labels[5], -1]
    with pytest.raises(UserError, match="given embeddings, which are not saved with it: give embeddings= to predict"):
        result.predict(["a parcel"])
    labels, similarity = result.predict(["a password", ""], embeddings=[vectors[5], [0, 0, 0]], return_similarity=True)
    assert labels.tolist() == [result.labels[5], -1]
    assert similarity[0] == pytest.approx(result.similarity[5])
    assert np.isnan(similarity[1])
    with pytest.raises(UserError, match="have 2 dimensions, but the clusters were found in 3"):
        result.predict(["a parcel"], embeddings=[[1, 2]])


def test_a_saved_model_predicts_with_the_model_it_was_made_with(tmp_path):
    pytest.importorskip("wordllama")
    result = ts.cluster_texts(TEXTS_IN, model="wordllama", n_clusters=3, cache=False)
    assert "model_reason" not in result.recipe
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert (loaded.predict(TEXTS_IN, cache=False) == result.labels).all()
    loaded.source.settings["tokenizer"] = "another"
    with pytest.warns(UserWarning, match="wordllama is not exactly the model that made this clustering"):
        loaded.predict(TEXTS_IN[:1], cache=False)


def test_rename_and_merge_return_new_results(result):
    renamed = result.rename(1, "passwords")
    assert renamed.clusters[1].name == "passwords"
    assert result.clusters[1].name != "passwords"
    merged = renamed.merge(1, 2)
    assert merged.n_clusters == 2
    assert [cluster.name for cluster in merged.clusters] == [result.clusters[0].name, "passwords"]
    assert [cluster.size for cluster in merged.clusters] == [4, 8]
    assert merged.cohesion.ratio < result.cohesion.ratio
    with pytest.raises(UserError, match="Cluster 1 cannot be merged with itself"):
        result.merge(1, 1)
    with pytest.raises(UserError, match="No cluster has the label 3; the labels are 0 to 2"):
        result.rename(3, "x")
    with pytest.raises(UserError, match="Clusters 0 and 1 would both be called 'passwords'; merge them"):
        renamed.rename(0, "passwords")
    with pytest.raises(UserError, match="merge needs two clusters or more"):
        result.merge(1)
    with pytest.raises(UserError, match="holds half of a character, which cannot be written to a file"):
        result.rename(0, "refund \ud800")
    with pytest.raises(UserError, match="must be a text that is not blank, but it is None"):
        result.rename(1)


def test_several_clusters_are_renamed_or_merged_at_once(result, vectors):
    swapped = result.rename({0: result.clusters[1].name, 1: result.clusters[0].name})
    assert [cluster.name for cluster in swapped.clusters] == [result.clusters[i].name for i in (1, 0, 2)]
    assert [cluster.label for cluster in result.merge([2, 0, 1]).clusters] == [2]
    assert result.merge([2, 0, 1]).clusters[0].name == result.clusters[2].name
    ten = ts.cluster_texts(TEXTS_IN, embeddings=vectors, n_clusters=10)
    merged = ten.merge([3, 7])
    assert merged.n_clusters == 9
    expected = np.array([0, 1, 2, 3, 4, 5, 6, 3, 8, 9])[ten.labels]
    assert (merged.labels == expected).all()
    assert merged.rename(9, "the last").clusters[-1].name == "the last"
    with pytest.raises(UserError, match="No cluster has the label 7; the labels are 0, 1, 2, 3, 4, 5, 6, 8 and 9"):
        merged.rename(7, "gone")
    assert {cluster.label for cluster in merged.cut(10).clusters} - {cluster.label for cluster in merged.clusters} == {
        10,
        11,
    }


@pytest.mark.parametrize("algorithm", ["kmeans", "hac"])
def test_cut_follows_a_tree_that_holds_the_result(vectors, tmp_path, algorithm):
    result = ts.cluster_texts(TEXTS_IN, embeddings=vectors, n_clusters=3, algorithm=algorithm)
    for k in (1, 2, 5, 12):
        assert result.cut(k).n_clusters == k
    assert (result.cut(3).labels == result.labels).all()
    coarse = result.cut(2)
    assert adjusted_rand_score(coarse.cut(3).labels, result.labels) == 1
    coarse.save(tmp_path / "model")
    again = ts.TextClustering.load(tmp_path / "model", embeddings=vectors)
    assert (again.cut(5).labels == coarse.cut(5).labels).all()
    assert adjusted_rand_score(again.cut(5).labels, result.cut(5).labels) == 1
    with pytest.raises(ValueError, match="The tree has 12 leaves"):
        result.cut(13)


def test_a_group_that_stays_the_same_keeps_its_name(hac):
    five = hac.cut(5)
    named = five.rename({cluster.label: f"group {cluster.label}" for cluster in five.clusters})
    coarser = named.cut(4)
    kept = [cluster.name for cluster in coarser.clusters if cluster.name.startswith("group ")]
    assert len(kept) == 3
    for cluster in coarser.clusters:
        if cluster.name in kept:
            rows = coarser.labels == cluster.label
            assert {named.names[row] for row in np.flatnonzero(rows)} == {cluster.name}
    new = next(cluster.name for cluster in coarser.clusters if cluster.name not in kept)
    clash = named.rename(next(cluster.label for cluster in named.clusters if cluster.name in kept), new).cut(4)
    assert sorted({cluster.name for cluster in clash.clusters}) == sorted(cluster.name for cluster in clash.clusters)


def test_a_merged_result_is_a_cut_of_its_own_tree(hac):
    finer = hac.cut(5)
    merged = finer.merge(finer.clusters[0].label, finer.clusters[4].label)
    assert (merged.cut(4).labels == merged.labels).all()


@pytest.mark.parametrize(("shown", "asked"), [(4, 8), (8, 4)])
def test_texts_that_are_repeated_are_no_groups_of_their_own_at_any_level(planted, shown, asked):
    X, _ = planted(8, 240, noise=0.2)
    counts = np.ones(240, int)
    counts[:6] = 500
    texts = [f"text {i}" for i in range(240)]
    repeated = [text for text, count in zip(texts, counts, strict=True) for _ in range(count)]
    alone = ts.cluster_texts(texts, embeddings=X, n_clusters=shown).cut(asked)
    often = ts.cluster_texts(repeated, embeddings=np.repeat(X, counts, axis=0), n_clusters=shown).cut(asked)
    assert often.n_clusters == asked
    assert adjusted_rand_score(alone.labels, often.labels[np.cumsum(counts) - 1]) > 0.95


def test_cuts_of_kmeans_nest_in_its_groups(planted):
    X, _ = planted(6, 3000, noise=0.4)
    result = ts.cluster_texts([f"text {i}" for i in range(3000)], embeddings=X, n_clusters=6)
    labels = result.cut(6).labels
    assert (labels == result.labels).all()
    for k in (2, 20, 60):
        other = result.cut(k).labels
        assert len(np.unique(np.column_stack([labels, other]), axis=0)) == max(k, 6)


@pytest.mark.parametrize("algorithm", ["kmeans", "hac"])
def test_what_is_saved_is_what_is_loaded(vectors, tmp_path, algorithm):
    texts = ["", *TEXTS_IN, "\ud83e\udd84 odd \u202e text \x00"]
    X = np.vstack([np.zeros((1, 3)), vectors, vectors[:1]])
    result = ts.cluster_texts([texts[0], *texts[1:-1], "🦄 odd \u202e text \x00"], embeddings=X, algorithm=algorithm)
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.corpus.rows == result.corpus.rows
    assert (loaded.labels == result.labels).all()
    assert loaded.clusters == result.clusters
    assert loaded.cohesion == result.cohesion
    assert loaded.k_estimate == result.k_estimate
    assert loaded.source == result.source
    np.testing.assert_array_equal(loaded.predict(texts[1:4], embeddings=X[1:4]), result.labels[1:4])
    if algorithm == "hac":
        assert (loaded.hierarchy.tree.cut(4) == result.hierarchy.tree.cut(4)).all()


def test_given_embeddings_come_back_on_load(vectors, tmp_path):
    result = ts.cluster_texts([*TEXTS_IN, "half a pair \ud800"], embeddings=[*vectors, vectors[0]], algorithm="hac")
    result.save(tmp_path / "model")
    with pytest.raises(UserError, match="and to load before you cut or merge"):
        ts.TextClustering.load(tmp_path / "model").cut(4)
    loaded = ts.TextClustering.load(tmp_path / "model", embeddings=[*vectors, vectors[0]])
    assert (loaded.cut(4).labels == result.cut(4).labels).all()


def test_clusters_are_numbered_by_rows_and_frames_keep_their_index(vectors):
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(TEXTS_IN + [TEXTS_IN[5]] * 9, index=range(100, 121))
    result = ts.cluster_texts(texts, embeddings=[*vectors, *[vectors[5]] * 9], n_clusters=3)
    assert [cluster.size for cluster in result.clusters] == [13, 4, 4]
    assert result.to_frame().index.tolist() == list(range(100, 121))


def test_an_existing_folder_is_replaced_only_on_demand(result, tmp_path):
    result.save(tmp_path / "model")
    with pytest.raises(UserError, match="exists already"):
        result.save(tmp_path / "model")
    result.rename(0, "new name").save(tmp_path / "model", overwrite=True)
    assert ts.TextClustering.load(tmp_path / "model").clusters[0].name == "new name"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_damaged_folders_are_named(result, tmp_path):
    def load_after(change):
        folder = tmp_path / f"model{len(list(tmp_path.iterdir()))}"
        result.save(folder)
        change(folder)
        with pytest.raises(UserError) as caught:
            ts.TextClustering.load(folder)
        return str(caught.value).replace(str(folder), "MODEL")

    def edit(folder, **changes):
        summary = json.loads((folder / SUMMARY).read_text())
        (folder / SUMMARY).write_text(json.dumps(summary | changes))

    for name in (SUMMARY, ARRAYS, TEXTS):
        message = load_after(lambda folder, name=name: (folder / name).unlink())
        assert message == f"MODEL is not a complete model folder: {name} is missing."
    for name in (ARRAYS, TEXTS):
        message = load_after(lambda folder, name=name: (folder / name).write_bytes((folder / name).read_bytes()[:-9]))
        assert message == f"MODEL/{name} was changed or cut short after it was written; its checksum differs."
    assert load_after(lambda folder: edit(folder, algorithm="hac")) == (
        f"MODEL/{SUMMARY} was changed or cut short after it was written; its checksum differs."
    )
    assert load_after(lambda folder: (folder / SUMMARY).write_text("{")) == (
        f"MODEL/{SUMMARY} is damaged: it is not what textspectra wrote."
    )
    assert "in format 2, which this version does not read; cluster the texts again." in load_after(
        lambda folder: edit(folder, format=2)
    )
    assert "in format 99, and this version reads up to format 5; upgrade with" in load_after(
        lambda folder: edit(folder, format=99)
    )


def test_new_texts_are_assigned_as_those_of_the_fit_also_after_loading_and_merging(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat([0, 1, 2], [300, 50, 50]))
    X = rng.standard_normal((3, 64))[truth] + 2.5 * rng.standard_normal((400, 64))
    texts = [f"text {number}" for number in range(400)]
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=3)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    distances = np.linalg.norm(units[:, None] - result.centers, axis=2)
    assert (distances.argmin(axis=1) != result.labels).any()  # the nearest center would not do
    result.save(tmp_path / "model")
    for one in (result, ts.TextClustering.load(tmp_path / "model")):
        assert (one.predict(texts, embeddings=X) == result.labels).all()
    merged = result.merge(1, 2)
    assert np.mean(merged.predict(texts, embeddings=X) == merged.labels) > 0.95


def test_a_model_made_with_an_encoder_of_the_user_needs_it_again(tmp_path):
    def encode(texts):
        return [[1 + text.count("parcel"), 1 + text.count("password"), 1] for text in texts]

    result = ts.cluster_texts(TEXTS_IN, model=encode, n_clusters=2)
    result.save(tmp_path / "model")
    with pytest.raises(UserError, match=r"'encoder:encode' is an object .* to TextClustering\.load\.$"):
        ts.TextClustering.load(tmp_path / "model").predict(TEXTS_IN)
    loaded = ts.TextClustering.load(tmp_path / "model", model=encode)
    assert (loaded.predict(TEXTS_IN) == result.labels).all()


def test_a_result_without_a_cache_writes_none_later(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "cache"))
    texts = ["red wine", "red wines", "white bread", "bread"]
    result = ts.cluster_texts(texts, model="wordllama", n_clusters=3, cache=False)
    ts.write_report(result.merge([0, 1]), tmp_path / "report.html")
    assert not list((tmp_path / "cache").rglob("*.sqlite*"))


REPLACED_ALL_THE_TIME = """
import os, sys
from pathlib import Path
import textspectra as ts

os.fsync = lambda descriptor: None  # there is no power cut here, and more replacements in the same time
kinds = [ts.TextClustering.load(name) for name in ("one", "two")]
for number in range(150):
    kinds[number % 2].save("model", overwrite=True)
"""


def test_a_reader_sees_the_old_or_the_new_model(result, tmp_path):
    """Loads failed that began before a model was replaced and ended after it."""
    kinds = {"one": result.rename(0, "one"), "two": result.merge(0, 1).rename(2, "two")}
    for name, kind in kinds.items():
        kind.save(tmp_path / name)
    kinds["two"].save(tmp_path / "model")
    writer = subprocess.Popen([sys.executable, "-c", REPLACED_ALL_THE_TIME], cwd=tmp_path)  # noqa: S603
    expected = {tuple(cluster.name for cluster in kind.clusters) for kind in kinds.values()}
    seen = set()
    while writer.poll() is None:
        loaded = ts.TextClustering.load(tmp_path / "model")
        seen.add(tuple(cluster.name for cluster in loaded.clusters))
        assert len(loaded.centers) == loaded.n_clusters
    assert writer.returncode == 0
    assert seen == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "one", "two"]


@contextmanager
def somebody_else():
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_a_model_of_another_user_is_read_and_stays_as_it_is(result):
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        folder = Path(place, "a.model")
        result.save(folder)
        Path(place).chmod(0o755)
        before = {path: path.read_bytes() for path in folder.iterdir()}
        with somebody_else():
            assert len(ts.TextClustering.load(folder)) == len(result)
            with pytest.raises(UserError) as caught:
                result.save(folder, overwrite=True)
        assert str(caught.value) == f"'{folder}' cannot be written: Permission denied"
        assert {path: path.read_bytes() for path in folder.iterdir()} == before
        assert list(Path(place).iterdir()) == [folder]
        folder.chmod(0o700)
        with somebody_else(), pytest.raises(UserError) as caught:
            ts.TextClustering.load(folder)
        assert str(caught.value) == f"{folder} cannot be read: no permission. Ask its owner, or change it with chmod."
