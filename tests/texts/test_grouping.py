"""Texts in groups: placed by a model's rule and described; and other groups of the same texts."""

from dataclasses import replace

import numpy as np
import pytest

import textspectra as ts
from textspectra.core import clusters as core
from textspectra.errors import UserError
from textspectra.texts.clustered import clusters_of
from textspectra.texts.corpus import Corpus, EmbeddedTexts
from textspectra.texts.grouping import (
    describe_embedded,
    label_clusters,
    mean_vectors,
    place_texts,
    positions_in,
    similarity_to_clusters,
    with_colors,
    with_names,
)


@pytest.fixture(scope="module")
def result():
    texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten", "refund", "cash"]
    X = np.repeat(np.eye(3), 2, axis=0) + np.tile([[0.1, 0, 0], [0, 0.1, 0]], (3, 1))
    return ts.cluster_texts(texts, embeddings=X, n_clusters=3)


def test_groups_without_a_label_get_the_next_ones_by_their_rows():
    codes, counts = np.array([0, 1, 1, 2, -1]), np.array([5, 1, 1, 9, 50])
    assert label_clusters(codes, counts, {}, 0) == {2: 0, 0: 1, 1: 2}
    assert list(label_clusters(codes, counts, {1: 4}, 7).items()) == [(1, 4), (2, 7), (0, 8)]
    assert positions_in(codes, [2, 0, 1]).tolist() == [1, 2, 2, 0, -1]


def test_a_group_whose_texts_stay_the_same_keeps_its_label_and_name(result):
    merged = np.where(result.distinct_codes == 2, 1, result.distinct_codes)
    grouping = result.describe_grouping(merged)
    assert [cluster.label for cluster in grouping.clusters] == [0, 3]
    assert grouping.clusters[0].name == result.clusters[0].name
    fresh = result.describe_grouping(merged, fresh=True)
    assert [(cluster.label, cluster.size) for cluster in fresh.clusters] == [(0, 4), (1, 2)]


def test_the_rule_of_merged_groups_comes_from_the_old_rule(result):
    merged = np.where(result.distinct_codes == 2, 1, result.distinct_codes)
    assert result.rule_of(result.embedded(), merged, 2).n_clusters == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (" ", "must be a text that is not blank"),
        ("\ud800", "holds half of a character"),
        ("x" * 10_000, "has 10,000 characters"),
    ],
)
def test_names_that_are_not_possible_are_refused(result, name, message):
    with pytest.raises(UserError, match=message):
        result.rename({0: name})
    with pytest.raises(UserError, match="would both be called"):
        result.rename({0: result.clusters[1].name})


TEXTS = ["parcel late", "parcel lost", "login fails", "login slow", "parcel late"]
X = np.array([[1, 0], [3, 4], [0, 1], [0, 2], [1, 0]])


@pytest.fixture(scope="module")
def model():
    return ts.cluster_texts(TEXTS, embeddings=X, n_clusters=2)


@pytest.fixture
def embedded():
    return EmbeddedTexts(Corpus.from_texts(TEXTS), X[:4].astype(np.float32))


def test_new_texts_get_the_positions_of_their_groups(model):
    placed = place_texts(model, ["late parcel", "", "cannot login", "n/a"], embeddings=[[1, 0], [0, 0], [0, 1], [1, 1]])
    assert placed.texts.corpus.spread(placed.codes, -1).tolist() == [model.codes[0], -1, model.codes[2], -1]
    assert placed.notes == ("1 text says nothing and has no group: 'n/a'.",)
    with pytest.raises(UserError, match="have 3 dimensions, but the clusters were found in 2; use the same model"):
        place_texts(model, ["late parcel"], embeddings=[[1, 0, 0]])


def test_texts_without_content_are_placed_nowhere(model):
    placed = place_texts(model, ["", " "])  # no model is loaded for them
    assert len(placed.codes) == 0
    assert placed.texts.X.shape == (0, 2)


def test_a_text_counts_in_the_mean_as_often_as_it_occurs(embedded):
    centers = mean_vectors(embedded, np.array([0, 0, 1, 1]), 3)
    np.testing.assert_allclose(centers, [[2.6 / 3, 0.8 / 3], [0, 1], [0, 0]], rtol=1e-6)
    similarity = similarity_to_clusters(embedded, np.array([0, 0, 1, 1]), centers)
    np.testing.assert_allclose(similarity[2:], [1, 1], rtol=1e-6)


def test_a_group_is_described_by_rows_of_the_input(embedded):
    codes = np.array([0, 0, 1, 1])
    similarity, clusters = describe_embedded(embedded, codes, mean_vectors(embedded, codes, 2), None)
    assert [cluster.size for cluster in clusters] == [3, 2]
    assert {TEXTS[row] for row in clusters[0].representatives} == {"parcel late", "parcel lost"}
    assert similarity.shape == (4,)


def test_names_that_groups_had_are_kept_and_no_other_group_gets_one(model):
    first, second = model.clusters
    named = with_names([first, second], [5, 9], {0: replace(second, is_mixed=True)}, others=["other"])
    assert [cluster.label for cluster in named] == [5, 9]
    assert named[0].name == second.name
    assert named[1].name not in (second.name, "other")
    assert [cluster.is_mixed for cluster in named] == [True, False]


@pytest.fixture(scope="module")
def with_a_rest():
    """Five groups with a theme, and a rest of texts about everything; it has the label 5."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), 20)
    X = np.eye(5, 40)[np.where(codes < 5, codes, np.arange(120) % 5)] + 0.05 * rng.standard_normal((120, 40))
    words = ["parcel", "password", "refund", "invoice", "address"]
    texts = [
        f"my {words[code]} number {row}" if code < 5 else f"topic{row} thing{row}" for row, code in enumerate(codes)
    ]
    return ts.describe_texts(texts, codes, embeddings=X)


def mixed(result):
    return [cluster.label for cluster in result.clusters if cluster.is_mixed]


def test_the_mark_of_a_mixed_group_follows_it(with_a_rest):
    result = with_a_rest
    assert mixed(result) == mixed(result.rename(5, "the rest")) == mixed(result.merge(0, 1)) == [5]
    assert mixed(result.merge(0, 5)) in ([], [0])  # it is judged again
    assert mixed(result.merge(5, 0)) == [5]  # its name is the one of the rest
    assert mixed(result.cut(6)) == [5]
    new = [f"parcel {i}" for i in range(12)]
    later = result.update(new, embeddings=np.eye(5, 40)[np.zeros(12, int)] + 0.01)
    assert mixed(later) == [5]


def test_the_mark_of_a_mixed_group_is_in_the_tables_and_in_the_saved_model(with_a_rest, tmp_path):
    frame, clear = with_a_rest.to_frame(), with_a_rest.cut(1)
    assert frame["cluster_mixed"].tolist() == [False] * 100 + [True] * 20
    assert "cluster_mixed" not in clear.to_frame()
    assert "cluster_mixed" not in clusters_of(clear).columns(clear.labels)
    columns = clusters_of(with_a_rest).columns(np.array([5, 0, -1]))
    assert columns["cluster_mixed"].to_pylist() == [True, False, None]
    assert with_a_rest.cluster_table()["mixed"].tolist() == [False] * 5 + [True]
    assert f"{with_a_rest.clusters[5].name} (mixed)" in with_a_rest._repr_html_()
    assert with_a_rest.verdict.reasons[-1].startswith("1 group is a leftover without a common theme: ")
    with_a_rest.save(tmp_path / "a.model")
    assert mixed(ts.TextClustering.load(tmp_path / "a.model")) == [5]


@pytest.mark.parametrize("algorithm", ["kmeans", "hac"])
def test_scores_are_probabilities_in_the_order_of_the_groups(planted, algorithm):
    X, _ = planted(4, 120, d=32, noise=0.1)
    texts = [f"text {row}" for row in range(120)]
    result = ts.cluster_texts([*texts, " ", texts[0]], embeddings=[*X, X[0], X[0]], n_clusters=4, algorithm=algorithm)
    later = result.update([f"new {row}" for row in range(40)], embeddings=X[:40])
    for grouped in (result, result.cut(3), result.merge(0, 2), result.cut(7), later):
        scores = grouped.scores()
        assert scores.shape == (len(grouped), grouped.n_clusters)
        assert np.isnan(scores[120]).all()
        named = grouped.labels >= 0
        assert scores[named].sum(axis=1) == pytest.approx(1, abs=1e-5)
        highest = grouped.labels_of(scores[named].argmax(axis=1))
        assert (highest == grouped.labels[named]).mean() > 0.9
        new = grouped.scores(["hello", "", "again"], embeddings=X[[5, 6, 7]])
        assert np.isnan(new[1]).all()
        assert new[[0, 2]] == pytest.approx(scores[[5, 7]], abs=1e-6)
    with pytest.raises(UserError, match=r"^text_column= and embeddings= describe new texts; give these, too\.$"):
        result.scores(embeddings=X)
    assert result.scores([], embeddings=np.zeros((0, 32))).shape == (0, 4)


def test_scores_are_those_of_the_estimator(planted):
    X, _ = planted(4, 120, d=32, noise=0.3)
    result = ts.cluster_texts([f"text {row}" for row in range(120)], embeddings=X)
    expected = ts.AutoKMeans().fit(X).predict_proba(X)
    assert result.scores() == pytest.approx(expected, abs=1e-5)


def test_colors_go_on_in_the_larger_group_and_others_are_free(result):
    assert [cluster.color for cluster in result.clusters] == [0, 1, 2]
    texts = [*result.corpus.rows, "another refund"]
    X = np.concatenate([result.embeddings(), [[0.1, 0, 1]]])
    larger = ts.cluster_texts(texts, embeddings=X, n_clusters=3)  # the group of refunds is the largest
    sizes = {cluster.label: cluster.size for cluster in larger.clusters}
    assert sizes == {0: 3, 1: 2, 2: 2}
    merged = larger.merge(2, 0)
    assert {cluster.label: cluster.color for cluster in merged.clusters} == {1: 1, 2: 0}
    split = merged.cut(3)
    assert sorted(cluster.color for cluster in split.clusters) == [0, 1, 2]
    assert split.clusters[0].color == 1  # the group that stays
    assert larger.cut(2).row_map is larger.row_map


def test_a_free_color_is_the_lowest_that_nobody_has(result):
    clusters = with_colors(result.clusters, {1: 4}, taken=[0, 2])
    assert [cluster.color for cluster in clusters] == [1, 4, 3]


def test_edited_groups_have_no_other_levels_and_need_no_tree_for_that(planted, monkeypatch):
    X, _ = planted(6, 300, noise=0.2)
    result = ts.cluster_texts([f"text {row}" for row in range(300)], embeddings=X)
    edited = result.regroup(np.arange(300) % 3)
    monkeypatch.setattr(core, "tree_of_clusters", lambda *_: pytest.fail("built a tree"))
    assert edited.k_estimate is not None
    assert edited.level_clusters() == {}
