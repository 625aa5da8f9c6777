"""The verdict on groups: its sentence, level and reasons."""

from dataclasses import replace
from html import escape

import numpy as np
import pytest
from sklearn import metrics

import textspectra as ts
from textspectra.core.agreement import Agreement
from textspectra.texts.verdict import (
    doubt_about_k,
    judge,
    leftovers_in_words,
    score_at,
    unstated,
    verdict_at,
)


@pytest.mark.parametrize(
    ("ratio", "start"),
    [(1.09, "Do not rely on these groups: "), (1.1, "The groups are loose: "), (1.5, "The groups hold together: "),
     (2.5, "The groups hold together well: ")],
)  # fmt: skip
def test_a_ratio_is_judged(ratio, start):
    words = judge(ratio, 8).sentence
    assert words.startswith(start)
    assert words.endswith(f" (Cohesion Ratio {ratio:.2f}).")


@pytest.mark.parametrize(
    ("score", "silhouette", "expected"),
    [
        (0.9, 0.3, "The groups hold together well: ALIKE, two halves of the texts agree well on 8 groups (0.90 of 1), "
         "and most texts are nearest to their own group (silhouette 0.30)."),
        (0.64, 0.3, "The groups hold together: ALIKE and most texts are nearest to their own group (silhouette 0.30), "
         "but two halves of the texts agree only in part on 8 groups (0.64 of 1)."),
        (0.24, 0.3, "The groups are loose: ALIKE and most texts are nearest to their own group (silhouette 0.30), but "
         "two halves of the texts agree poorly on 8 groups (0.24 of 1)."),
        (0.9, 0.09, "The groups hold together: ALIKE and two halves of the texts agree well on 8 groups (0.90 of 1), "
         "but some texts are as near to another group (silhouette 0.09)."),
        (None, 0.01, "The groups are loose: ALIKE, but many texts are as near to another group (silhouette 0.01)."),
    ],
)  # fmt: skip
def test_the_weakest_evidence_decides(score, silhouette, expected):
    alike = "two texts of one group are 3.0 times as alike as any two texts (Cohesion Ratio 3.00)"
    assert judge(3.0, 8, score=score, silhouette=silhouette).sentence == expected.replace("ALIKE", alike)


def test_the_worth_of_groups():
    assert "(Cohesion Ratio 2.00 ± 0.04)" in judge(2.0, 2, error=0.02).sentence
    for ratio, k, sentence in [
        (None, 2, "No two texts are alike, so the Cohesion Ratio is not defined."),
        (1.0, 1, "There is only one group, so its Cohesion Ratio is 1."),
    ]:
        assert judge(ratio, k) == (sentence, "weak", (sentence,))


@pytest.mark.parametrize(
    ("ratio", "score", "silhouette", "level"),
    [(1.09, 0.9, 0.3, "weak"), (1.49, 0.9, 0.3, "weak"), (1.5, 0.9, 0.3, "fair"), (3.0, 0.54, 0.3, "weak"),
     (3.0, 0.69, 0.3, "fair"), (3.0, 0.9, 0.01, "weak"), (3.0, 0.9, 0.02, "fair"), (3.0, 0.9, 0.1, "good"),
     (2.5, None, None, "good")],
)  # fmt: skip
def test_the_level_and_the_reasons_follow_from_the_sentence(ratio, score, silhouette, level):
    verdict = judge(ratio, 8, score=score, silhouette=silhouette)
    assert verdict.level == level
    start = {"weak": ("Do not rely", "The groups are loose"), "fair": "The groups hold together:"}
    assert verdict.sentence.startswith(start.get(level, "The groups hold together well"))
    assert len(verdict.reasons) == (1 if ratio < 1.1 else 1 + (score is not None) + (silhouette is not None))
    assert unstated(verdict.sentence, [*verdict.reasons, "Another doubt."]) == ["Another doubt."]
    for reason in verdict.reasons:
        assert reason[0].isupper()
        assert reason.endswith(").")
    assert verdict.short.startswith(f"{level}: ")


def test_the_score_of_any_number_of_groups():
    curve = Agreement(np.array([3, 10, 30]), *2 * [np.array([-0.1, 0.4, 0.8])], 0.3)
    estimate = replace(ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0), agreement=curve)
    assert [score_at(estimate, k) for k in (2, 3, 10, 30, 31)] == [None, 0, 0.4, 0.8, None]
    assert 0.4 < score_at(estimate, 17) < 0.8
    assert score_at(None, 8) is None


NO_STRUCTURE = "The texts have no structure: they form one cloud, without groups that could be told apart."
FAINT = "The number of groups is a rough guess: others explain the texts about as well (confidence 0.20 of 1)."
DEFAULT = "The spectrum shows no clear number of groups; the number is a default, not a finding."


@pytest.mark.parametrize(
    ("method", "k", "confidence", "message"),
    [
        ("reproducible", 1, 0.9, NO_STRUCTURE),
        ("reproducible", 2, 0.2, FAINT),
        ("reproducible", 2, 0.25, ""),
        ("spectral", 5, 0.49, DEFAULT),
        ("spectral", 5, 0.5, ""),
        ("spectral", 1, 0.0, ""),
        (None, 5, None, ""),
    ],
)
def test_doubt(method, k, confidence, message):
    assert doubt_about_k(method, k, confidence) == message


def test_leftovers_are_named():
    assert leftovers_in_words([]) == ""
    assert leftovers_in_words(["airport"]) == "1 group is a leftover without a common theme: airport"
    names = ["airport", "plane at JFK", "gate", "crew", "bags", "other"]
    assert leftovers_in_words(names) == (
        "6 groups are leftovers without a common theme: airport, plane at JFK, gate, crew, bags, …"
    )


def planted_result(n_clusters=3):
    X = np.eye(3)[np.arange(60) % 3] + 0.01 * np.random.default_rng(0).standard_normal((60, 3))
    return ts.cluster_texts([f"text {row}" for row in range(60)], embeddings=X, n_clusters=n_clusters)


def test_the_verdict_is_about_the_result_or_one_of_its_cuts():
    result = planted_result()
    ratio, score = result.cohesion.ratio, score_at(result.k_estimate, 3)
    silhouette = metrics.silhouette_score(result.embeddings() / np.linalg.norm(result.embeddings(), axis=1)[:, None],
                                          result.labels)  # fmt: skip
    assert result.silhouette == pytest.approx(silhouette, abs=1e-4)
    assert result.verdict.sentence == judge(ratio, 3, score=score, silhouette=result.silhouette).sentence
    assert verdict_at(result, 3, ratio, result.silhouette).sentence == result.verdict.sentence
    assert verdict_at(result, 1, 1.0, None).sentence == "There is only one group, so its Cohesion Ratio is 1."
    assert result.verdict is result.verdict
    edited = result.merge(0, 1)
    assert edited.verdict == judge(edited.cohesion.ratio, 2, silhouette=edited.silhouette)


def test_a_doubt_overrides_the_evidence():
    same = ts.cluster_texts(["one"] * 3, embeddings=np.ones((3, 2)))
    assert same.verdict == ("All texts are the same.", "weak", ("All texts are the same.",))
    assert repr(same) == "3 texts in 1 group, weak: all texts are the same"
    foreign = replace(planted_result(), languages={"German": 1.0}, source=same.source._replace(model="minilm"))
    assert foreign.verdict == (foreign.language_doubt, "weak", (foreign.language_doubt,))
    assert repr(foreign).endswith(", weak: your texts are German; minilm reads only English")
    noted = replace(foreign, notes=(foreign.language_doubt,))
    assert noted._repr_html_().count(escape(foreign.language_doubt)) == 1


def test_reasons_name_leftovers_and_doubts_about_the_number():
    result = planted_result()
    mixed = replace(result.clusters[1], is_mixed=True)
    loose = replace(result, clusters=(result.clusters[0], mixed, *result.clusters[2:]),
                    k_estimate=replace(result.k_estimate, method="reproducible", confidence=0.2))  # fmt: skip
    leftover = f"1 group is a leftover without a common theme: {result.clusters[1].name}"
    assert loose.verdict.reasons == (*result.verdict.reasons, FAINT, leftover)
    assert loose.verdict.sentence == result.verdict.sentence


def test_a_saved_model_has_its_verdict_without_its_embeddings(tmp_path):
    result = planted_result("auto")
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.known_embeddings is None
    assert loaded.verdict == result.verdict
    assert repr(loaded) == repr(result)
    assert replace(loaded, reference=None).silhouette is None


def test_a_weak_verdict_is_in_the_representation():
    X = np.random.default_rng(0).standard_normal((80, 200)) + 3
    weak = ts.cluster_texts([f"text {row}" for row in range(80)], embeddings=X, n_clusters=4)
    assert repr(weak).endswith(", weak: do not rely on these groups")
    assert weak.verdict.sentence in weak._repr_html_()
    assert "weak" not in repr(planted_result())
