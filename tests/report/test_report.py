"""What the report says, compared with the result it is made of."""

import base64
import json
import zlib

import numpy as np
import pytest
from sklearn import metrics

import textspectra as ts
from textspectra.clustering.tree import ward_tree
from textspectra.errors import UserError
from textspectra.report import apply_state, read_state, shown, write
from textspectra.report.levels import top_levels
from textspectra.report.palette import appearances, color_distances, palette
from textspectra.report.profile import agreement, silhouettes
from textspectra.report.shown import longest_text


def unpack(block):
    return zlib.decompress(base64.b64decode(block))


def contents(result, **options):
    blocks = write.report_blocks(result, **options)
    return json.loads(unpack(blocks["meta"])), json.loads(unpack(blocks["texts"])), blocks


@pytest.fixture(scope="module")
def data(planted):
    X, truth = planted(6, 700, noise=0.5)
    words = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
    texts = [f"{words[group]} number {i // 2 if i < 40 else i}" for i, group in enumerate(truth)]
    return texts, X, truth


@pytest.fixture(scope="module", params=["kmeans", "hac"])
def result(request, data):
    texts, X, _ = data
    return ts.cluster_texts(texts, embeddings=X, n_clusters=9, algorithm=request.param)


@pytest.fixture(scope="module")
def page(result):
    return contents(result)


def cut_labels(meta, k):
    """Label every shown text at k, as the page does."""
    top, merges, nodes = meta["levels"]["k"], meta["levels"]["merges"], meta["nodes"]
    gone = {child for pair in merges[: top - k] for child in pair}
    others = {node for node in range(top + top - k) if node not in gone}
    kept = [node if node in others else None for node in meta["base"]["nodes"][:k]]
    free = iter(sorted(others - set(kept), key=lambda node: (-nodes["size"][node], nodes["first"][node])))
    alive = [node if node is not None else next(free) for node in [*kept, *[None] * (k - len(kept))]]
    labels = np.empty(meta["about"]["shown"], int)
    for label, node in enumerate(alive):
        labels[slice(*meta["levels"]["ranges"][node])] = label
    return labels, alive


@pytest.mark.parametrize("k", [2, 5, 9, 10, 40, 300])
def test_every_cut_is_that_of_the_result(result, page, k):
    meta, texts, blocks = page
    cut = result.cut(k)
    labels, alive = cut_labels(meta, k)
    of_text = dict(zip(result.corpus.rows, cut.labels.tolist(), strict=True))
    assert [of_text[text] for text in texts[: len(labels)]] == labels.tolist()
    assert [meta["nodes"]["size"][node] for node in alive] == [topic.size for topic in cut.topics]
    assert meta["profile"]["curves"]["cohesion"][k - 1] == pytest.approx(cut.cohesion.ratio, rel=1e-3)
    names = [meta["nodes"]["name"][node] for node in alive]
    assert len(set(names)) == k
    similarity = np.frombuffer(unpack(blocks["similarity"]), "<u2") / 32767.5 - 1
    lengths = [end - start for start, end in meta["levels"]["ranges"]]
    offsets = np.cumsum([0, *lengths])
    expected = dict(zip(result.corpus.rows, cut.similarity.tolist(), strict=True))
    node = alive[0]
    start, end = meta["levels"]["ranges"][node]
    found = similarity[offsets[node] : offsets[node] + lengths[node]]
    np.testing.assert_allclose(found, [expected[text] for text in texts[start:end]], atol=1e-4)


def test_the_cut_of_the_result_has_its_own_words(result, page):
    meta, texts, _ = page
    for node, topic in zip(meta["base"]["nodes"], result.topics, strict=True):
        assert meta["nodes"]["name"][node] == topic.name
        assert meta["nodes"]["keywords"][node] == list(topic.keywords)
        typical = [texts[i] for i in meta["nodes"]["typical"][node]]
        assert typical == [result.corpus.rows[row] for row in topic.representatives]
    assert meta["profile"]["curves"]["cohesion"][8] == pytest.approx(result.cohesion.ratio, abs=1e-5)


def test_metric_profiles_are_those_of_scikit_learn(result, data):
    _, X, truth = data
    hierarchy = result.with_hierarchy().hierarchy
    levels = top_levels(hierarchy.tree, 60)
    finest = levels.codes[hierarchy.leaves]
    first = result.corpus.first_rows
    silhouette = silhouettes(X[first], levels, finest)
    of_row = result.corpus.spread(finest, -1)
    found = agreement(levels, of_row, truth)
    for k in (2, 7, 60):
        labels = result.cut(k).labels
        units = X[first] / np.linalg.norm(X[first], axis=1, keepdims=True)
        assert silhouette[k - 1] == pytest.approx(metrics.silhouette_score(units, labels[first]), abs=1e-4)
        assert found["ari"][k - 1] == pytest.approx(metrics.adjusted_rand_score(truth, labels))
        assert found["homogeneity"][k - 1] == pytest.approx(metrics.homogeneity_score(truth, labels))
        assert found["completeness"][k - 1] == pytest.approx(metrics.completeness_score(truth, labels))
        assert found["fowlkes_mallows"][k - 1] == pytest.approx(metrics.fowlkes_mallows_score(truth, labels))


def test_levels_are_the_cuts_of_the_tree():
    rng = np.random.default_rng(0)
    tree = ward_tree(rng.standard_normal((60, 3)).astype(np.float32), np.ones(60))
    levels = top_levels(tree, 25)
    for k in range(1, 26):
        labels = np.empty(60, int)
        for label, node in enumerate(levels.nodes_at(k)):
            start, end = levels.spans[node]
            labels[(levels.codes >= start) & (levels.codes < end)] = label
        assert metrics.adjusted_rand_score(labels, tree.cut(k)) == 1


def test_colors_can_be_told_apart():
    colors = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in palette(120)], float)
    seen = appearances(colors)
    gaps = np.array([color_distances(seen, seen[:, i]) for i in range(120)])
    np.fill_diagonal(gaps, np.inf)
    assert gaps[:20, :20].min() > 0.05
    assert gaps.min() > 0.02
    assert palette(300)[:120] == palette(120)


def test_of_many_texts_a_sample_is_shown_and_all_are_counted(result, monkeypatch):
    monkeypatch.setattr(shown, "MAX_POINTS", 200)
    meta, texts, blocks = contents(result)
    assert meta["about"]["shown"] == 200 < meta["about"]["distinct"] == len(result.corpus.distinct)
    for node, topic in zip(meta["base"]["nodes"], result.topics, strict=True):
        assert meta["nodes"]["size"][node] == topic.size
        assert [texts[i] for i in meta["nodes"]["typical"][node]] == [
            result.corpus.rows[row] for row in topic.representatives
        ]
    numbers, positions = np.frombuffer(unpack(blocks["rows"]), "<u4").reshape(2, -1)
    assert [texts[i] for i in positions] == [result.corpus.rows[row] for row in numbers]


def test_long_texts_are_cut_so_that_all_fit(monkeypatch):
    monkeypatch.setattr(shown, "MAX_CHARACTERS", 1000)
    for lengths in ([10, 20], [5000], [400, 400, 400], [1, 2, 3, 999], [0, 0, 1001]):
        limit = longest_text(np.array(lengths))
        assert np.minimum(lengths, limit).sum() <= 1000
        assert sum(lengths) <= 1000 or np.minimum(lengths, limit + 1).sum() > 1000
    result = ts.cluster_texts(["a" * 5000, "b", "c"], embeddings=np.eye(3), n_clusters=2)
    meta, texts, _ = contents(result)
    assert meta["about"]["cut_at"] == 998
    assert "a" * 998 + "…" in texts


@pytest.mark.parametrize(
    ("texts", "vectors", "k"),
    [
        (["one text"], [[1, 0]], 1),
        (["same"] * 5, [[1, 0]] * 5, 1),
        (["a", "b"], [[1, 0], [0, 1]], 2),
        ([f"text {i}" for i in range(30)], np.ones((30, 4)), 1),
        (["a", "", "🦄", "b"], [[1, 0], [0, 0], [0, 0], [0.5, 1]], 1),
    ],
)
def test_reports_of_next_to_nothing(texts, vectors, k, tmp_path):
    result = ts.cluster_texts(texts, embeddings=vectors, n_clusters=k)
    meta, found, _ = contents(result)
    assert meta["base"]["k"] == k == len(meta["base"]["nodes"])
    assert set(found) == set(texts)
    ts.write_report(result, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10**6


def test_the_same_result_gives_the_same_report(result, page):
    assert write.report_blocks(result) == page[2]


def test_a_report_is_written_whole_or_not_at_all(result, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        ts.write_report(result, path)
    with pytest.raises(UserError, match="truth has 3 entries, but there are 700 texts"):
        ts.write_report(result, path, truth=["a", "b", "c"], overwrite=True)
    assert path.read_text() == "mine"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match="There is no folder"):
        ts.write_report(result, tmp_path / "no" / "report.html")


def test_truth_adds_curves(result, data):
    meta, _, _ = contents(result, truth=[None, *data[2][1:].tolist()])
    assert meta["profile"]["classes"] == 7
    assert set(meta["profile"]["curves"]) > {"ari", "homogeneity", "completeness", "fowlkes_mallows"}


def test_a_state_reaches_the_model(result, page):
    meta = page[0]
    _, alive = cut_labels(meta, 4)
    clusters = [{"name": f"group {i}", "size": meta["nodes"]["size"][node]} for i, node in enumerate(alive)]
    state = {"fingerprint": meta["about"]["fingerprint"], "clusters": clusters}
    changed = apply_state(result, state)
    assert [topic.name for topic in changed.topics] == ["group 0", "group 1", "group 2", "group 3"]
    assert (changed.labels == result.cut(4).labels).all()
    with pytest.raises(UserError, match="comes from the report of another model"):
        apply_state(result, {**state, "fingerprint": "0" * 16})
    with pytest.raises(UserError, match="blank or not all different"):
        apply_state(result, {**state, "clusters": [{**cluster, "name": "x"} for cluster in clusters]})
    with pytest.raises(UserError, match="whose groups have changed since the report was made"):
        apply_state(result, {**state, "clusters": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]})
    with pytest.raises(UserError, match="its clusters cannot be read"):
        apply_state(result, {"fingerprint": ""})


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "was not written by"), ('{"format": "other"}', "was not written by")],
)
def test_other_files_are_no_states(tmp_path, text, message):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(UserError, match=message):
        read_state(tmp_path / "state.json")
