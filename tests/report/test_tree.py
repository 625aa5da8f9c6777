"""Which texts are shown, when not all of them fit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from report_data import contents, unpack
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.core.ward import ward_tree
from textspectra.report import build
from textspectra.report import tree as shown
from textspectra.report.tree import MAX_TEXT_CHARACTERS, longest_text, top_levels


def test_levels_are_the_cuts_of_the_tree():
    rng = np.random.default_rng(0)
    tree = ward_tree(rng.standard_normal((60, 3)).astype(np.float32), np.ones(60))
    levels = top_levels(tree, 25)
    for k in range(1, 26):
        labels = np.empty(60, int)
        for label, node in enumerate(levels.nodes_at(k)):
            start, end = levels.spans[node]
            labels[(levels.codes >= start) & (levels.codes < end)] = label
        assert adjusted_rand_score(labels, tree.cut(k)) == 1


def test_of_many_texts_a_sample_is_shown_and_all_are_counted(result, monkeypatch):
    monkeypatch.setattr(shown, "MAX_POINTS", 200)
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
    limit = longest_text(np.array(lengths), MAX_TEXT_CHARACTERS)
    assert np.minimum(lengths, limit).sum() <= MAX_TEXT_CHARACTERS
    assert sum(lengths) <= MAX_TEXT_CHARACTERS or np.minimum(lengths, limit + 1).sum() > MAX_TEXT_CHARACTERS


def test_long_texts_are_cut(monkeypatch):
    monkeypatch.setattr(build, "MAX_TEXT_CHARACTERS", 1000)
    result = ts.cluster_texts(["a" * 5000, "b", "c"], embeddings=np.eye(3), n_clusters=2)
    meta, texts, _ = contents(result)
    assert meta["about"]["cut_at"] == 998
    assert sorted(texts) == ["a" * 998 + "…", "b", "c"]
