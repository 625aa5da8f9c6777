"""The answer at the top of the page, for every number of groups."""

from textspectra.report.answers import OF_A_MODEL, answers_at
from textspectra.report.sentences import estimate_in_words, worth_in_words


def test_every_number_of_groups_has_its_own_answer(result, page_data):
    meta, _, _ = page_data
    curves = meta["profile"]["curves"]
    answers = meta["answers"]
    assert len(answers["worth"]) == len(answers["range"]) == meta["levels"]["k"]
    own = result.n_clusters - 1
    assert answers["worth"][own] == worth_in_words(result.cohesion, result.k_estimate, curves["silhouette"][own])
    for k in (2, 5, 40):
        assert answers["worth"][k - 1].startswith(f"Cohesion Ratio {curves['cohesion'][k - 1]:.2f}: ")
        assert answers["range"][k - 1] == estimate_in_words(result.k_estimate, k)
    assert set(answers_at(result, curves, given=True)["range"]) == {OF_A_MODEL}
