"""Known groups: which texts they get, what is grouped beside them, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textspectra as ts
from textspectra.report.build import _origin
from textspectra.texts.known import _usual_cosine

TOPICS = ("refund", "login", "parcel", "invoice")


def embed(texts: list[str]) -> np.ndarray:
    """Embed "refund 17" near the axis of its topic; a text without a topic has no vector."""
    rows = []
    for text in texts:
        topic, _, number = text.partition(" ")
        noise = 0.15 * np.random.default_rng(int(number or 0)).standard_normal(8)
        rows.append(np.eye(8)[TOPICS.index(topic)] + noise if topic in TOPICS else np.zeros(8))
    return np.array(rows, np.float32)


TEXTS = [f"{topic} {number}" for number in range(40) for topic in TOPICS]
KNOWN = {"money back": ["refund 101", "refund 102"], "password": ["login 103"]}


def cluster(texts: list[str] = TEXTS, known: object = KNOWN, **options: object) -> ts.TextClustering:
    return ts.cluster_texts(texts, known=known, **{"model": embed, "cache": False, **options})  # type: ignore[arg-type]


def groups_of(result: ts.TextClustering) -> dict[str, set[str]]:
    """Return the topics of the texts of each group."""
    pairs = {(name, text.split()[0]) for name, text in zip(result.names, result.corpus.rows, strict=True) if name}
    return {name: {topic for other, topic in pairs if other == name} for name, _ in pairs}


def test_known_groups_keep_names_and_get_their_texts_and_the_rest_is_found() -> None:
    result = cluster()
    groups = groups_of(result)
    assert [c.label for c in result.clusters] == list(range(result.n_clusters))
    assert [c.name for c in result.clusters][:2] == ["money back", "password"]
    assert groups["money back"] == {"refund"}
    assert groups["password"] == {"login"}
    assert [c.size for c in result.clusters][:2] == [40, 40]
    assert sum(c.size for c in result.clusters) == len(TEXTS)  # examples are not counted
    rest = f"the rest in {result.n_clusters - 2} groups found beside them."
    assert f"80 texts in 2 known groups, and {rest}" in result.notes
    assert json.loads(result.recipe["known"]) == KNOWN
    assert "cluster_texts(texts, known=known, model=" in result.recipe["command"]


def test_a_number_of_clusters_counts_known_groups() -> None:
    result = cluster(n_clusters=4)
    assert result.n_clusters == 4
    assert sorted(map(sorted, groups_of(result).values())) == [["invoice"], ["login"], ["parcel"], ["refund"]]
    closed = cluster(n_clusters=2)
    assert closed.n_clusters == 2
    assert "160 texts in 2 known groups, and no other group." in closed.notes
    with pytest.raises(ts.UserError, match=re.escape("1 clusters were asked for, but the 2 known groups count, too.")):
        cluster(n_clusters=1)


def test_one_known_group_and_all_texts_known() -> None:
    assert groups_of(cluster(known={"a": ["refund 101"]}, n_clusters=4))["a"] == {"refund"}
    everything = {topic: [f"{topic} {100 + i}" for i in range(5)] for topic in TOPICS}
    result = cluster(known=everything)
    assert [c.name for c in result.clusters][:4] == list(TOPICS)
    assert sum(c.size for c in result.clusters[:4]) >= 0.8 * len(TEXTS)
    assert cluster(["refund 1"], known={"a": ["refund 2"]}).n_clusters == 1


def test_an_example_among_the_texts_stays_where_it_was_put() -> None:
    result = cluster(known={"a": ["refund 1", "refund 2", "parcel 3"], "b": ["login 1"]})
    assert result.labels[TEXTS.index("parcel 3")] == 0
    assert sum(c.size for c in result.clusters) == len(TEXTS)


def test_a_known_group_without_texts_is_named_in_a_note_and_labels_do_not_shift() -> None:
    texts = [text for text in TEXTS if not text.startswith("refund")]
    result = cluster(texts, known={"a": ["refund 101", "refund 102"], "b": ["login 101", "login 102"]}, n_clusters=4)
    assert [c.label for c in result.clusters] == [1, 2, 3]
    assert result.next_label == 4
    assert "No text belongs to 1 known group: 'a'." in result.notes
    assert set(result.predict(["refund 500"])) <= {1, 2, 3}


def test_a_found_group_does_not_take_the_name_of_a_known_one() -> None:
    names = [c.name for c in cluster(known={"invoice": ["refund 101", "refund 102"]}, n_clusters=4).clusters]
    assert names[0] == "invoice"
    assert len(set(names)) == 4


def test_save_predict_update_report_and_edits_work_afterwards(tmp_path: Path) -> None:
    texts = [*TEXTS, "", "unknown"]
    result = cluster(texts, n_clusters=4, time=["2025-01-01"] * 81 + ["2025-03-01"] * 81, every="month")
    assert result.over_time()["texts"].sum() == len(TEXTS)
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model", model=embed)
    assert (loaded.labels == result.labels).all()
    assert loaded.labels[-2:].tolist() == [-1, -1]
    assert loaded.predict(["refund 700", "login 701"]).tolist() == [0, 1]
    updated = loaded.update([f"{topic} {number}" for number in range(200, 240) for topic in TOPICS])
    assert [c.name for c in updated.clusters][:2] == ["money back", "password"]
    assert updated.clusters[0].size == 80
    assert result.report().startswith("<!doctype html>")
    assert _origin(updated).startswith("Some groups were known by examples; the others were found in the rest")
    assert loaded.merge(0, 1).clusters[0].name == "money back"
    assert result.cut(3).n_clusters == 3


def test_given_embeddings_need_the_model_of_the_examples() -> None:
    with pytest.raises(ts.UserError, match=re.escape("give model=, the one that made the embeddings.")):
        cluster(embeddings=embed(TEXTS), model="auto")
    assert groups_of(cluster(embeddings=embed(TEXTS)))["money back"] == {"refund"}
    with pytest.raises(ts.UserError, match=r"The model .* gives vectors of length 8, but embeddings has 3 columns"):
        cluster(embeddings=np.ones((len(TEXTS), 3)))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "known must map names to examples"),
        (["refund"], "known must map names to examples"),
        ({"a": []}, "The known group 'a' has no example; give at least one text."),
        ({"a": ["", " "]}, "The known group 'a' has no example; give at least one text."),
        ({"a": "refund 1"}, "The examples of the known group 'a' must be a list of texts."),
        ({"a": [1]}, "The examples of the known group 'a' must be a list of texts."),
        ({" ": ["refund 1"]}, "A cluster's name must be a text that is not blank, but it is ' '."),
        ({3: ["refund 1"]}, "A cluster's name must be a text that is not blank, but it is 3."),
        ({"a": ["refund 1"], "b": ["refund 1"]}, "'refund 1' is an example of two known groups, 'a' and 'b'"),
        ({"a": ["nothing"]}, "The model knows no word in the examples of the known group 'a'."),
        ({"a\ud800": ["refund 1"]}, "holds half of a character"),
        ({"a" * 10_000: ["refund 1"]}, "has 10,000 characters"),
    ],
)
def test_what_is_refused(known: object, message: str) -> None:
    with pytest.raises(ts.UserError, match=re.escape(message)):
        cluster(known=known)


def test_blank_examples_are_left_out() -> None:
    assert json.loads(cluster(known={"a": ["refund 101", ""]}).recipe["known"]) == {"a": ["refund 101"]}


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(TOPICS), seed=st.integers(0, 100))
def test_labels_follow_the_order_of_known_groups_and_texts_do_not(order: list[str], seed: int) -> None:
    known = {name: [f"{name} {300 + i}" for i in range(3)] for name in order}
    texts = np.random.default_rng(seed).permutation(TEXTS).tolist()
    result = cluster(texts, known=known, n_clusters=4)
    assert [c.name for c in result.clusters] == order
    assert all(order[label] == text.split()[0] for label, text in zip(result.labels, texts, strict=True))


def test_the_usual_cosine_is_a_quantile_over_pairs_of_a_cluster() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 3)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    clusters = np.repeat([1, 0, 2], [30, 29, 1])
    pairs = [rows[i] @ rows[j] for i in range(60) for j in range(60) if i != j and clusters[i] == clusters[j]]
    draws = [_usual_cosine(np.tile(rows, (20, 1)), np.tile(clusters, 20), 1)]
    assert draws[0] == pytest.approx(np.quantile(pairs, 0.2), abs=0.08)
    assert _usual_cosine(rows[:2], np.arange(2), 3) == np.inf


@pytest.mark.parametrize("texts", [["the weather is nice today"], ["pasta", "bicycle", "whales", "moon", "novel"]])
def test_among_a_few_texts_only_examples_join_a_known_group(texts: list[str]) -> None:
    known = {"refund": ["where is my refund", "money back"], "login": ["password forgotten"]}
    result = ts.cluster_texts(texts, known=known, model="wordllama", cache=False)
    assert not {"refund", "login"} & {cluster.name for cluster in result.clusters}
    assert result.notes[-1] == "No text belongs to 2 known groups: 'refund', 'login'."
    among = ts.cluster_texts([*texts, "money back"], known=known, model="wordllama", cache=False)
    assert among.names[-1] == "refund"


def test_a_numpy_number_counts_known_groups_and_an_impossible_one_is_refused() -> None:
    assert cluster(n_clusters=np.int64(4)).n_clusters == cluster(n_clusters=4).n_clusters == 4
    with pytest.raises(ts.UserError, match="There are 160 different texts"):
        cluster(n_clusters=400)


@pytest.mark.parametrize("examples", [None, 5, "one text", [1]])
def test_examples_that_are_not_a_list_of_texts(examples: object) -> None:
    with pytest.raises(ts.UserError, match=r"The examples of the known group 'a' must be a list of texts\."):
        cluster(known={"a": examples})
