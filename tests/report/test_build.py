"""The file of the report, written whole or not at all, and the sentences at the top of the page."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_data import contents, quick_map, read_page, unpack

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import summarize
from textspectra.errors import UserError
from textspectra.report.build import OF_A_MODEL
from textspectra.texts.history import ClusterChange
from textspectra.texts.sentences import estimate_in_words
from textspectra.texts.verdict import score_at


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
    result = replace(ts.cluster_texts(texts, embeddings=vectors, n_clusters=k), notes=("a note",))
    path = tmp_path / "report.html"
    with quick_map():
        ts.write_report(result, str(path))
    meta, shown, _ = read_page(path)
    assert meta["base"]["k"] == k == len(meta["base"]["nodes"])
    assert set(shown) == set(texts)
    assert meta["about"]["texts"] == len(texts)
    assert meta["about"]["notes"] == ["a note"]
    assert meta["about"]["grouped"] == int((result.labels >= 0).sum())


def test_the_same_result_gives_the_same_report(result, page_data):
    assert contents(result)[2] == page_data[2]


def test_the_points_of_the_page_are_those_of_the_map(data):
    texts, X, _ = data
    result = ts.cluster_texts([*texts, ""], embeddings=np.append(X, X[:1], axis=0), n_clusters=9)
    meta, shown, blocks = contents(result)
    points = np.frombuffer(unpack(blocks["points"]), "<u2").reshape(2, -1).T / 32767.5 - 1
    assert len(points) == meta["about"]["shown"] == len(set(texts))
    on_page = dict(zip(shown, points.tolist(), strict=False))  # the blank text follows, without a point
    drawn = result.map()
    assert list(drawn.columns) == ["x", "y"]
    assert drawn.iloc[-1].isna().all()
    np.testing.assert_allclose(drawn[:-1], [on_page[text] for text in texts], atol=2e-5)


def test_a_report_is_written_whole_or_not_at_all(result, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(UserError, match=re.escape(f"'{path}' exists already; use --overwrite or another --out")):
        ts.write_report(result, path)
    with pytest.raises(UserError, match="truth has 3 entries, but there are 700 texts"):
        ts.write_report(result, path, truth=["a", "b", "c"], overwrite=True)
    assert path.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match=re.escape(f"The folder {tmp_path / 'no'} for the report does not exist.")):
        ts.write_report(result, tmp_path / "no" / "report.html")
    assert not (tmp_path / "no").exists()


def test_progress_is_reported(planted, tmp_path):
    X, _ = planted(2, 12)
    result = ts.cluster_texts([f"text {i}" for i in range(12)], embeddings=X, n_clusters=2)
    steps = []
    with quick_map():
        ts.write_report(result, tmp_path / "report.html", progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in steps)) == ["mapping", "reporting"]
    assert all(0 <= done <= total for _, done, total in steps)


def test_there_is_an_answer_for_every_number_of_groups():
    X = np.repeat(np.eye(8, dtype=np.float32), 20, axis=0)
    result = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X, n_clusters="coarse")
    assert result.n_clusters == result.k_estimate.at("coarse") == 4
    answers = contents(result)[0]["answers"]
    assert len(answers["worth"]) == 160
    assert answers["worth"][0] == "There is only one group, so its Cohesion Ratio is 1."
    for k in (3, 8):
        assert f" on {k} groups ({score_at(result.k_estimate, k):.2f} of 1)" in answers["worth"][k - 1]
    assert "two halves" not in answers["worth"][8]
    assert answers["range"] == estimate_in_words(result.k_estimate, 4)
    assert contents(result, changes=[])[0]["answers"]["range"] == OF_A_MODEL


def test_equal_texts_are_the_same_and_few_texts_are_too_few():
    def said(texts, **options):
        X = [[1, len(text)] for text in texts]
        result = ts.cluster_texts(texts, embeddings=X, **options)
        answers = contents(result)[0]["answers"]
        verdict = summarize(Done(result, "text", {}), "", {})["verdict"]
        assert answers["worth"][result.n_clusters - 1] == verdict
        return verdict, answers["range"]

    assert said(["thanks"] * 500) == ("All texts are the same.", "")
    assert said(["a", "bcd", "e f g h"]) == ("3 different texts are too few to find groups.", "")
    assert "too few" not in said(["a", "bcd", "e f g h"], n_clusters=2)[0]
    assert "too few" in said([f"text {'x' * i}" for i in range(19)])[0]
    assert "too few" not in said([f"text {'x' * i}" for i in range(20)])[0]


def test_edited_groups_are_not_said_to_be_found():
    X = np.repeat(np.eye(8, dtype=np.float32), 20, axis=0)
    result = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X)
    assert "Two halves" in contents(result)[0]["answers"]["range"]
    answers = contents(result.merge(0, 1))[0]["answers"]
    assert answers["range"] == "The groups were edited by hand."
    assert not any("two halves" in sentence for sentence in answers["worth"])
    assert "Two halves" in contents(result.cut(3))[0]["answers"]["range"]
    assert contents(result.merge(0, 1).cut(3))[0]["answers"]["range"] == "The groups were edited by hand."
    given = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X, n_clusters=8)
    assert contents(given)[0]["answers"]["range"] == contents(result)[0]["answers"]["range"]
    assert contents(given.merge(0, 1))[0]["answers"]["range"] == "The groups were edited by hand."


def test_the_page_of_an_updated_model_says_where_its_groups_come_from():
    X = np.repeat(np.eye(9, dtype=np.float32), 20, axis=0)
    X += 0.05 * np.random.default_rng(0).standard_normal(X.shape, np.float32)
    model = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X[:160])
    updated = model.update([f"new {i}" for i in range(100)], embeddings=X[80:])
    assert [cluster.label for cluster in updated.clusters] == list(range(9))
    origin = "The groups were found in the first texts of the model; 1 update since then added 1 new group."
    assert contents(updated)[0]["answers"]["range"] == origin
    again = updated.update(["once more"], embeddings=X[:1]).merge(0, 1)
    assert contents(again)[0]["answers"]["range"] == (
        "The groups were found in the first texts of the model; 2 updates since then added 1 new group. The groups "
        "were also edited by hand."
    )


def test_changes_point_to_their_groups():
    X = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.1, 0]]
    result = ts.cluster_texts(["a b", "c\n d", "e f", "a b c"], embeddings=X, n_clusters=3)
    first, second, third = result.clusters
    changes = [
        ClusterChange(third.label, third.name, "steady", 10, 10, 0.1, 0.11, 0.8),
        ClusterChange(second.label, second.name, "new", 0, 1, 0.0, 0.25, 0.001),
        ClusterChange(99, "old", "gone", 4, 0, 0.02, 0.0, 0.01),
        ClusterChange(first.label, first.name, "growing", 1, 2, 0.1, 0.5, 0.01),
    ]
    meta = contents(result, changes=changes)[0]
    described = meta["changes"]
    assert [change["status"] for change in described] == ["growing", "new", "gone", "steady"]
    nodes = meta["base"]["nodes"]
    assert [change["node"] for change in described] == [nodes[0], nodes[1], None, nodes[2]]
    assert [change["text"] for change in described] == ["", result.typical_texts(second)[0].replace("\n ", " "), "", ""]
    assert described[0] == {
        "node": nodes[0], "name": first.name, "status": "growing", "shares": [0.1, 0.5], "text": "",
        "figures": "10.0% → 50.0%, 1 → 2 texts",
    }  # fmt: skip
    assert contents(result, changes=[])[0]["changes"] == []


def test_the_page_says_what_is_compared_and_what_a_share_hides(planted):
    X, _ = planted(3, 240, noise=0.1)
    model = ts.cluster_texts([f"a {i}" for i in range(120)], embeddings=X[:120], n_clusters=3)
    comparison = model.compare([f"b {i}" for i in range(120)], embeddings=X[120:])
    change = ClusterChange(0, "a", "shrinking", 40, 41, 0.5, 0.25, 0.0)
    meta = contents(comparison.result, changes=replace(comparison, cluster_changes=(change,)))[0]
    assert meta["compared"] == "the new file (120 texts) compared with the model (120 texts)"
    assert meta["changes"][0]["figures"] == "50.0% → 25.0%, 40 → 41 texts (about the same number)"
    assert contents(model)[0]["compared"] == ""
