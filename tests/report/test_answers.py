"""The sentences at the top of the page."""

import numpy as np
from report_data import contents

import textspectra as ts
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
