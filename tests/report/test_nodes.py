"""What the report says about the groups at every k, compared with the result and its cuts."""

from dataclasses import replace

import numpy as np
import pytest
from reference import nearest_other
from report_data import contents, cut_labels, similarities, unpack

import textspectra as ts
from textspectra.report.nodes import DIRECTIONS, pack_misfits, similarity_between
from textspectra.report.tree import report_levels, report_tree


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10, 40, 300])
def test_every_cut_is_that_of_the_result(result, page_data, k):
    meta, texts, blocks = page_data
    cut = result.cut(k)
    labels, of_label = cut_labels(meta, k)
    alive = list(of_label.values())
    of_text = dict(zip(result.corpus.rows, cut.labels.tolist(), strict=True))
    assert [of_text[text] for text in texts[: len(labels)]] == labels.tolist()
    assert [meta["nodes"]["size"][node] for node in alive] == [cluster.size for cluster in cut.clusters]
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
    for node, cluster in zip(meta["base"]["nodes"], result.clusters, strict=True):
        assert meta["nodes"]["name"][node] == cluster.name
        assert meta["nodes"]["keywords"][node] == list(cluster.keywords)
        typical = [texts[i] for i in meta["nodes"]["typical"][node]]
        assert typical == [result.corpus.rows[row] for row in cluster.representatives]
        assert meta["nodes"]["cohesion"][node] == round(result.cohesion.per_cluster[cluster.label].ratio, 5)
        members = texts[slice(*meta["levels"]["ranges"][node])]
        np.testing.assert_allclose(similarity[node], [of_text[text] for text in members], atol=2e-5)
    assert meta["profile"]["curves"]["cohesion"][8] == round(result.cohesion.ratio, 5)


def test_groups_of_every_level_are_named_by_phrases_if_there_is_a_model():
    words = ["parcel is late", "forgot my password", "refund my order", "battery is empty"]
    texts = [f"{end} {words[i % 4]}" for i, end in enumerate(["hello", "why", "sorry", "really"] * 6)]
    result = ts.cluster_texts([*texts, *words], model="wordllama", n_clusters=2)
    meta, shown, _ = contents(result)
    for name, (start, end) in zip(meta["nodes"]["name"], meta["levels"]["ranges"], strict=True):
        for phrase in name.casefold().split(" / "):  # joined groups may have the names of their parts
            words_of = [set(text.casefold().split()) for text in shown[start:end]]
            assert any(set(phrase.split()) <= each for each in words_of) or name.endswith(")"), name


def test_merged_groups_are_made_of_the_groups_of_the_result(result, page_data):
    """A number of the result that is changed reaches all nodes above, and none below."""
    meta = page_data[0]
    parts = [replace(part, similarity=part.similarity + 0.5) for part in result.cohesion.per_cluster]
    changed = contents(replace(result, cohesion=replace(result.cohesion, per_cluster=tuple(parts))))[0]
    base = set(meta["base"]["nodes"])
    above = {node for k in range(1, 9) for node in cut_labels(meta, k)[1].values()} - base
    for node, (before, after) in enumerate(zip(meta["nodes"]["cohesion"], changed["nodes"]["cohesion"], strict=True)):
        assert (after > before + 0.1) == (node in base | above), node


@pytest.fixture(scope="module")
def tree(result):
    return report_tree(result)


def units_of(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_cosines_with_other_groups_are_close(result, page_data, tree):
    meta, _, blocks = page_data
    levels = tree.levels
    known = meta["parts"]
    width = min(DIRECTIONS, tree.X.shape[1], levels.k)
    coordinates = np.frombuffer(unpack(blocks["vectors"]), np.int8).reshape(-1, width)
    means = np.frombuffer(unpack(blocks["means"]), "<f4").reshape(levels.k, width)
    places = coordinates * np.array(known["step"]) + known["middle"]
    units = units_of(tree.X)[tree.order]
    for node in meta["base"]["nodes"]:
        start, end = levels.spans[node]
        sizes = np.array(meta["nodes"]["size"])[start:end]
        length = meta["nodes"]["size"][node] * known["norm"][node]
        about = places @ (means[start:end] * sizes[:, None]).sum(axis=0) / length
        center = result.centers[meta["base"]["nodes"].index(node)]
        exact = units @ center / np.linalg.norm(center)
        others = np.ones(len(units), bool)
        others[slice(*tree.ranges[node])] = False
        assert np.sqrt(np.mean((about - exact)[others] ** 2)) < 0.05


def test_similarity_between_clusters_is_the_mean_of_all_pairs(tree):
    units = units_of(tree.X.astype(np.float64))
    members = [np.flatnonzero(tree.finest == code) for code in range(tree.levels.k)]
    found = similarity_between(tree)
    for one, other in ((0, 1), (3, 200), (17, 90)):
        expected = np.maximum(units[members[one]] @ units[members[other]].T, 0).mean()
        assert [found[one, other], found[other, one]] == pytest.approx([expected] * 2, abs=1e-5)


def test_a_group_that_is_joined_from_parts_has_its_cohesion(result, page_data):
    """What the page computes for merged groups, written out: here for the groups of the result themselves."""
    meta, _, blocks = page_data
    k, known = meta["levels"]["k"], meta["parts"]
    between = np.zeros((k, k))
    between[np.triu_indices(k, 1)] = np.frombuffer(unpack(blocks["between"]), "<u2") * known["between"]
    distinct = np.array(known["distinct"], float)
    levels, _ = report_levels(result)
    inside = [value * n * (n - 1) / 2 for value, n in zip(meta["nodes"]["cohesion"], distinct, strict=False)]
    for label, node in enumerate(meta["base"]["nodes"]):
        span = slice(*levels.spans[node])
        n = distinct[span].sum()
        total = sum(inside[span]) + distinct[span] @ between[span, span] @ distinct[span]
        assert total / (n * (n - 1) / 2) == pytest.approx(result.cohesion.per_cluster[label].ratio, rel=0.01)


def test_a_result_of_one_text_has_parts():
    meta, _, _ = contents(ts.cluster_texts(["alone", ""], embeddings=[[1, 0], [0, 0]]))
    assert meta["parts"]["distinct"] == [1]
    assert meta["parts"]["between"] is None


def misfits(result):
    """Return the texts that the page lists as nearer to another group, with how much and the name of that group."""
    gaps, own, nearer, margins = np.frombuffer(unpack(pack_misfits(report_tree(result))), "<u4").reshape(4, -1)
    rows = np.cumsum(gaps, dtype=np.intp)
    assert result.codes[rows].tolist() == own.tolist()
    names = [result.clusters[code].name for code in nearer]
    return dict(zip([result.corpus.rows[row] for row in rows], zip(margins / 10_000, names, strict=True), strict=True))


def test_misfits_are_nearer_to_another_group_by_exact_cosines(result):
    spoiled = result.regroup(np.where(np.arange(len(result.distinct_codes)) % 7, result.distinct_codes, 0))
    target = next(iter(misfits(spoiled).values()))[1]
    mixed = [replace(cluster, is_mixed=cluster.is_mixed or cluster.name == target) for cluster in spoiled.clusters]
    with_mixed = replace(spoiled, clusters=tuple(mixed))
    for grouped in (result, spoiled, with_mixed, result.cut(40)):
        exact = nearest_other(grouped)
        found = misfits(grouped)
        for text, (margin, name) in found.items():
            assert (margin, name) == (pytest.approx(exact[text][0], abs=1e-4), exact[text][1])
        # Those within float32 of the least margin may be on either side.
        assert {text for text, (margin, _) in exact.items() if margin > 0.01 + 1e-6} <= set(found)
        assert all(exact[text][0] > 0.01 - 1e-6 for text in found)
    assert len(misfits(spoiled)) > 50
    assert target not in {name for _, name in misfits(with_mixed).values()}


def test_texts_that_were_moved_by_hand_are_no_misfits(result):
    spoiled = result.regroup(np.where(np.arange(len(result.distinct_codes)) % 7, result.distinct_codes, 0))
    before = misfits(spoiled)
    moved = [result.corpus.distinct.index(text) for text in list(before)[:3]]
    assert list(misfits(replace(spoiled, moved_by_hand=np.array(moved)))) == list(before)[3:]
    everything = np.arange(len(result.distinct_codes))
    assert misfits(replace(spoiled, moved_by_hand=everything)) == {}
