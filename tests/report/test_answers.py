"""The sentences at the top of the page."""

import numpy as np
from report_data import contents

import textspectra as ts
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
        verdict = summarize(result, "", "", {}, {})["verdict"]
        assert answers["worth"][result.n_clusters - 1] == verdict
        return verdict, answers["range"]

    assert said(["thanks"] * 500) == ("All texts are the same.", "")
    assert said(["a", "bcd", "e f g h"]) == ("3 different texts are too few to find groups.", "")
    assert "too few" not in said(["a", "bcd", "e f g h"], n_clusters=2)[0]
    assert "too few" not in said([f"text {'x' * i}" for i in range(10)])[0]
