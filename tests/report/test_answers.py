"""The sentences at the top of the page."""

import numpy as np
from report_data import contents

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import summarize
from textspectra.report.answers import OF_A_MODEL
from textspectra.report.sentences import estimate_in_words, score_at


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
    assert [topic.label for topic in updated.topics] == list(range(9))
    found = "The groups were found in the first texts of the model; 1 update since then added 1 new group."
    assert contents(updated)[0]["answers"]["range"] == found
    again = updated.update(["once more"], embeddings=X[:1]).merge(0, 1)
    assert contents(again)[0]["answers"]["range"] == (
        "The groups were found in the first texts of the model; 2 updates since then added 1 new group. The groups "
        "were also edited by hand."
    )
