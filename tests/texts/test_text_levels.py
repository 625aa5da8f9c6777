"""Levels of a result: one hierarchy, whichever level is asked for first."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textspectra as ts
from textspectra.core.kmeans import labels_by
from textspectra.texts import many_files
from textspectra.texts.many_files import cluster_files

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery", "login", "screen", "charger", "voucher"]
LEVELS = ("coarse", "suggested", "fine")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    truth = rng.integers(len(WORDS), size=900)
    X = rng.normal(size=(len(WORDS), 10))[truth] + 0.7 * rng.normal(size=(900, 10))
    return [f"{WORDS[cluster]} {WORDS[i % 7]} number {i}" for i, cluster in enumerate(truth)], X.astype(np.float32)


@pytest.fixture(scope="module")
def results(data):
    texts, X = data
    return {level: ts.cluster_texts(texts, embeddings=X, n_clusters=level) for level in LEVELS}


def named_sizes(result):
    return {cluster.name: cluster.size for cluster in result.clusters}


@pytest.mark.parametrize("first", LEVELS)
@pytest.mark.parametrize("then", LEVELS)
def test_a_level_has_the_same_groups_and_names_whichever_was_first(results, first, then):
    assert named_sizes(results[first].cut(then)) == named_sizes(results[then])
    if first != then:
        _, clusters = results[first].level_clusters()[then]
        assert {cluster.name: cluster.size for cluster in clusters} == named_sizes(results[then])


@pytest.mark.parametrize("level", LEVELS)
def test_the_groups_of_a_level_are_those_of_the_estimators(data, results, level):
    assert (ts.AutoKMeans(level).fit(data[1]).labels_ == results[level].labels).all()
    hac = ts.cluster_texts(data[0], embeddings=data[1], n_clusters=level, algorithm="hac")
    assert (ts.AutoAgglomerative(level).fit(data[1]).labels_ == hac.labels).all()


@given(st.integers(0, 10**6), st.integers(3, 12), st.floats(0.1, 1.5), st.data())
@settings(max_examples=15)
def test_cuts_nest(seed, n_clusters, noise, draw):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_clusters, 8))[rng.integers(n_clusters, size=150)] + noise * rng.normal(size=(150, 8))
    result = ts.cluster_texts([f"text {i}" for i in range(150)], embeddings=X)
    numbers = sorted({*(one.k for one in result.k_estimate.suggestions), draw.draw(st.integers(1, 150))})
    cuts = [result.cut(k) for k in numbers]
    for coarse, fine in itertools.pairwise(cuts):
        assert len(set(zip(coarse.labels.tolist(), fine.labels.tolist(), strict=True))) == fine.n_clusters
    for k, cut in zip(numbers, cuts, strict=True):
        assert cut.n_clusters == k
        assert sum(cluster.size for cluster in cut.clusters) == 150


def test_the_table_has_the_themes_of_the_groups(data, results, tmp_path):
    frame = results["suggested"].to_frame()
    assert frame.columns.tolist()[-2:] == ["cluster_coarse", "cluster_coarse_name"]
    assert (frame["cluster_coarse"] == results["coarse"].labels).all()
    assert Counter(frame["cluster_coarse_name"]) == named_sizes(results["coarse"])
    assert "cluster_coarse" not in results["coarse"].to_frame()
    results["fine"].save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")  # without the embeddings
    assert (loaded.to_frame()["cluster_coarse"] == results["coarse"].labels).all()


@pytest.mark.parametrize("level", ["suggested", "fine"])
def test_a_theme_of_several_groups_has_a_name_of_its_own(results, level):
    result = results[level]
    names = {cluster.label: cluster.name for cluster in result.clusters}
    assert any(len(theme.clusters) > 1 for theme in result.themes)
    for theme in result.themes:
        alone = len(theme.clusters) == 1
        assert (theme.name in names.values()) == alone
        assert not alone or theme.name == names[theme.clusters[0]]
    others = result.rename(result.themes[0].clusters[0], "my name").cut("coarse")
    assert {theme.name for theme in result.themes if len(theme.clusters) > 1} <= set(named_sizes(others))


def test_themes_outlast_a_new_name_and_new_texts_but_not_other_groups(data, results):
    result = results["suggested"]
    alone = next((theme.clusters[0] for theme in result.themes if len(theme.clusters) == 1), None)
    renamed = result.rename(result.clusters[0].label, "my name")
    assert len(renamed.themes) == len(result.themes)
    if alone is not None:
        assert "my other name" in set(result.rename(alone, "my other name").to_frame()["cluster_coarse_name"])
    later = result.update(data[0][:100], embeddings=data[1][:100])
    assert (later.to_frame()["cluster_coarse"][:900] == results["coarse"].labels).all()
    assert result.merge(result.clusters[0].label, result.clusters[1].label).themes == ()


def test_a_merged_group_takes_in_new_texts_as_its_parts_did(data, results):
    result, X = results["suggested"], np.random.default_rng(1).normal(size=(200, 10))
    merged = result.merge(0, 1)
    before = result.predict([f"new {i}" for i in range(200)], embeddings=X)
    after = merged.predict([f"new {i}" for i in range(200)], embeddings=X)
    assert (after == np.where(before == 1, 0, before)).all()
    assert (labels_by(data[1], results["fine"].rule) == results["fine"].labels).mean() > 0.995


def test_a_sample_of_many_files_keeps_the_sizes_of_every_level(data, tmp_path, monkeypatch):
    texts, X = data
    for part in range(3):
        rows = slice(300 * part, 300 * part + 300)
        pq.write_table(pa.table({"text": texts[rows], "v": X[rows].tolist()}), tmp_path / f"{part}.parquet")
    files = [str(tmp_path / f"{part}.parquet") for part in range(3)]
    options = {"embeddings": "v", "text_column": "text"}
    whole = cluster_files(files, tmp_path / "whole", **options).result
    monkeypatch.setattr(many_files, "RESULT_TEXTS", 400)
    monkeypatch.setattr(many_files, "RESULT_LEAST", 8)
    monkeypatch.setattr(many_files, "FINEST", 1)
    found = {level: cluster_files(files, tmp_path / level, n_clusters=level, **options).result for level in LEVELS}
    assert len(found["suggested"].corpus.distinct) < 700
    for level in LEVELS:
        assert sorted(t.size for t in found[level].clusters) == sorted(t.size for t in whole.cut(level).clusters)
        assert named_sizes(found["suggested"].cut(level)) == named_sizes(found[level])
    table = pa.concat_tables(pq.read_table(tmp_path / "suggested" / f"{part}.parquet") for part in range(3))
    assert Counter(table["cluster_coarse_name"].to_pylist()) == named_sizes(found["coarse"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("finest", 'n_clusters must be "auto", "coarse", "suggested", "fine" or a whole number, but it is \'finest\'.'),
        (901, "n_clusters must be a whole number from 1 to 900, but it is 901. The tree has 900 leaves."),
        (0, "n_clusters must be a whole number from 1 to 900, but it is 0. The tree has 900 leaves."),
    ],
)
def test_a_cut_that_cannot_be_is_refused(results, asked, message):
    with pytest.raises(ts.UserError) as refused:
        results["suggested"].cut(asked)
    assert str(refused.value) == message


def test_an_updated_result_has_no_levels(data, results):
    later = results["suggested"].update(data[0][:100], embeddings=data[1][:100])
    with pytest.raises(ts.UserError, match="This result has no levels"):
        later.cut("coarse")
