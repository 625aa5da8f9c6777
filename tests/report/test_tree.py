"""Which texts are shown, when not all of them fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_data import contents, unpack
from sklearn import metrics
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.core.metrics import silhouette, silhouettes
from textspectra.core.ward import ward_tree
from textspectra.report import tree
from textspectra.report.tree import MAX_TEXT_CHARACTERS, agreement_curves, top_levels


def test_levels_are_the_cuts_of_the_tree():
    rng = np.random.default_rng(0)
    merge_tree = ward_tree(rng.standard_normal((60, 3)).astype(np.float32), np.ones(60))
    levels = top_levels(merge_tree, 25)
    for k in range(1, 26):
        labels = np.empty(60, int)
        for label, node in enumerate(levels.cuts[k - 1]):
            start, end = levels.spans[node]
            labels[(levels.codes >= start) & (levels.codes < end)] = label
        assert adjusted_rand_score(labels, merge_tree.cut(k)) == 1


def test_of_many_texts_a_sample_is_shown_and_all_are_counted(result, monkeypatch):
    monkeypatch.setattr(tree, "MAX_POINTS", 200)
    meta, texts, blocks = contents(result)
    assert meta["about"]["shown"] == 200 < meta["about"]["distinct"] == len(result.corpus.distinct)
    for node, cluster in zip(meta["base"]["nodes"], result.clusters, strict=True):
        assert meta["nodes"]["size"][node] == cluster.size
        assert [texts[i] for i in meta["nodes"]["typical"][node]] == [
            result.corpus.rows[row] for row in cluster.representatives
        ]
    numbers, positions = np.frombuffer(unpack(blocks["rows"]), "<u4").reshape(2, -1)
    assert [texts[i] for i in positions] == [result.corpus.rows[row] for row in numbers]


@given(st.lists(st.integers(0, 3 * MAX_TEXT_CHARACTERS), min_size=1, max_size=8))
def test_the_longest_text_is_as_long_as_fits(lengths):
    limit = tree.longest_text(np.array(lengths), MAX_TEXT_CHARACTERS)
    assert np.minimum(lengths, limit).sum() <= MAX_TEXT_CHARACTERS
    assert sum(lengths) <= MAX_TEXT_CHARACTERS or np.minimum(lengths, limit + 1).sum() > MAX_TEXT_CHARACTERS


def test_long_texts_are_cut(monkeypatch):
    monkeypatch.setattr(tree, "MAX_TEXT_CHARACTERS", 1000)
    result = ts.cluster_texts(["a" * 5000, "b", "c"], embeddings=np.eye(3), n_clusters=2)
    meta, texts, _ = contents(result)
    assert meta["about"]["cut_at"] == 998
    assert sorted(texts) == ["a" * 998 + "…", "b", "c"]


def test_metric_profiles_are_those_of_scikit_learn(result, data):
    _, X, truth = data
    hierarchy = result.with_hierarchy().hierarchy
    levels = top_levels(hierarchy.tree, 60)
    finest = levels.codes[hierarchy.leaves]
    first = result.corpus.first_rows
    curve = silhouettes(X[first], finest, levels.spans, levels.cuts)
    of_row = result.corpus.spread(finest, -1)
    agreement = agreement_curves(levels, of_row, truth)
    for k in (2, 7, 60):
        labels = result.cut(k).labels
        units = X[first] / np.linalg.norm(X[first], axis=1, keepdims=True)
        expected = metrics.silhouette_score(units, labels[first])
        assert [curve[k - 1], silhouette(X[first], labels[first])] == pytest.approx([expected] * 2, abs=1e-4)
        assert agreement["ari"][k - 1] == pytest.approx(metrics.adjusted_rand_score(truth, labels))
        assert agreement["homogeneity"][k - 1] == pytest.approx(metrics.homogeneity_score(truth, labels))
        assert agreement["completeness"][k - 1] == pytest.approx(metrics.completeness_score(truth, labels))
        assert agreement["fowlkes_mallows"][k - 1] == pytest.approx(metrics.fowlkes_mallows_score(truth, labels))


def test_ground_truth_adds_curves(result, data):
    classes = [None, *data[2][1:].tolist()]
    meta, _, _ = contents(result, truth=classes)
    assert meta["profile"]["classes"] == 7
    curves = meta["profile"]["curves"]
    assert set(curves) == {"cohesion", "silhouette", "ari", "homogeneity", "completeness", "fowlkes_mallows"}
    expected = metrics.adjusted_rand_score(["" if name is None else str(name) for name in classes], result.labels)
    assert curves["ari"][8] == pytest.approx(expected, abs=1e-5)


def test_one_group_and_groups_of_one_text_have_no_silhouette():
    assert silhouette(np.eye(3), np.zeros(3, int)) is None
    assert silhouette(np.eye(3), np.arange(3)) is None
    assert silhouette(np.eye(3), np.array([0, 1, -1])) is None
