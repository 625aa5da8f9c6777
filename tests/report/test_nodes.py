"""What the report says about the groups at every k, compared with the result and its cuts."""

from dataclasses import replace

import numpy as np
import pytest
from report_data import contents, cut_labels, similarities

import textspectra as ts


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10, 40, 300])
def test_every_cut_is_that_of_the_result(result, page_data, k):
    meta, texts, blocks = page_data
    cut = result.cut(k)
    labels, of_label = cut_labels(meta, k)
    alive = list(of_label.values())
    of_text = dict(zip(result.corpus.rows, cut.labels.tolist(), strict=True))
    assert [of_text[text] for text in texts[: len(labels)]] == labels.tolist()
    assert [meta["nodes"]["size"][node] for node in alive] == [topic.size for topic in cut.topics]
    assert meta["profile"]["curves"]["cohesion"][k - 1] == pytest.approx(cut.cohesion.ratio, rel=2e-3)
    cohesion = [meta["nodes"]["cohesion"][node] for node in alive]
    np.testing.assert_allclose(cohesion, [part.ratio for part in cut.cohesion.per_cluster], rtol=2e-2)
    assert len({meta["nodes"]["name"][node] for node in alive}) == k
    expected = dict(zip(result.corpus.rows, cut.similarity.tolist(), strict=True))
    start, end = meta["levels"]["ranges"][alive[0]]
    found = similarities(meta, blocks)[alive[0]]
    np.testing.assert_allclose(found, [expected[text] for text in texts[start:end]], atol=1e-4)


def test_groups_of_the_result_are_described_by_the_result(result, page_data):
    meta, texts, blocks = page_data
    similarity = similarities(meta, blocks)
    of_text = dict(zip(result.corpus.rows, result.similarity.tolist(), strict=True))
    for node, topic in zip(meta["base"]["nodes"], result.topics, strict=True):
        assert meta["nodes"]["name"][node] == topic.name
        assert meta["nodes"]["keywords"][node] == list(topic.keywords)
        typical = [texts[i] for i in meta["nodes"]["typical"][node]]
        assert typical == [result.corpus.rows[row] for row in topic.representatives]
        assert meta["nodes"]["cohesion"][node] == round(result.cohesion.per_cluster[topic.label].ratio, 5)
        members = texts[slice(*meta["levels"]["ranges"][node])]
        np.testing.assert_allclose(similarity[node], [of_text[text] for text in members], atol=2e-5)
    assert meta["profile"]["curves"]["cohesion"][8] == round(result.cohesion.ratio, 5)


def test_groups_of_every_level_are_named_by_phrases_if_there_is_a_model():
    words = ["parcel is late", "forgot my password", "refund my order", "battery is empty"]
    texts = [f"{end} {words[i % 4]}" for i, end in enumerate(["hello", "why", "sorry", "really"] * 6)]
    result = ts.cluster_texts([*texts, *words], model="wordllama", n_clusters=2)
    meta, shown, _ = contents(result)
    for name, (start, end) in zip(meta["nodes"]["name"], meta["levels"]["ranges"], strict=True):
        assert any(name.casefold() in text.casefold() for text in shown[start:end]) or name.endswith(")"), name


def test_merged_groups_are_made_of_the_groups_of_the_result(result, page_data):
    """A number of the result that is changed reaches all nodes above, and none below."""
    meta = page_data[0]
    parts = [replace(part, similarity=part.similarity + 0.5) for part in result.cohesion.per_cluster]
    changed = contents(replace(result, cohesion=replace(result.cohesion, per_cluster=tuple(parts))))[0]
    base = set(meta["base"]["nodes"])
    above = {node for k in range(1, 9) for node in cut_labels(meta, k)[1].values()} - base
    for node, (before, after) in enumerate(zip(meta["nodes"]["cohesion"], changed["nodes"]["cohesion"], strict=True)):
        assert (after > before + 0.1) == (node in base | above), node
