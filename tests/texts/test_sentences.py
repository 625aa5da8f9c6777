"""What is said about a result, for each kind of outcome."""

from dataclasses import replace

import numpy as np
import pytest

import textspectra as ts
from textspectra.core.agreement import Agreement
from textspectra.core.estimate import Suggestion
from textspectra.texts.sentences import (
    doubt_about_k,
    estimate_in_words,
    leftovers_in_words,
    levels_in_words,
    score_at,
    verdict,
    worth_in_words,
)


@pytest.mark.parametrize(
    ("ratio", "start"),
    [(1.09, "Do not rely on these groups: "), (1.1, "The groups are loose: "), (1.5, "The groups hold together: "),
     (2.5, "The groups hold together well: ")],
)  # fmt: skip
def test_a_ratio_is_judged(ratio, start):
    words = worth_in_words(ratio, 8)
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
    assert worth_in_words(3.0, 8, score=score, silhouette=silhouette) == expected.replace("ALIKE", alike)


def test_the_worth_of_groups():
    assert "(Cohesion Ratio 2.00 ± 0.04)" in worth_in_words(2.0, 2, error=0.02)
    assert worth_in_words(None, 2) == "No two texts are alike, so the Cohesion Ratio is not defined."
    assert worth_in_words(1.0, 1) == "There is only one group, so its Cohesion Ratio is 1."


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


def test_the_estimate_by_halves():
    estimate = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0)
    levels = "About 4 or 8 groups, depending on how fine you want it."
    agree = "Two halves of the texts agree well on 8, poorly on 4."
    assert estimate_in_words(estimate, 8) == f"{levels} {agree}"
    assert estimate_in_words(replace(estimate, confidence=0.2), 8) == f"{levels} {agree} {FAINT}"
    assert estimate_in_words(replace(estimate, k=1), 1) == NO_STRUCTURE


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.6], "About 8 groups. Two halves of the texts agree only in part on 8."),
        ([0.8, 0.1], "About 8 or 16 groups, depending on how fine you want it. Two halves of the texts agree well "
         "on 8, poorly on 16."),
        ([0.7, 0.69, 0.5], "About 8, 16 or 32 groups, depending on how fine you want it. Two halves of the texts "
         "agree well on 8, only in part on 16 and 32."),
        ([0.4], "8 groups are not reliable."),
        ([0.1, 0.2, 0.3], "None of 8, 16 or 32 groups is reliable."),
    ],
)  # fmt: skip
def test_the_levels(scores, expected):
    suggestions = [Suggestion("fine", 8 * 2**i, score) for i, score in enumerate(scores)]
    assert levels_in_words(suggestions) == expected


def test_the_estimate_by_spectra(planted):
    X, _ = planted(4, 60, noise=0.1)
    estimate = replace(ts.estimate_k(X, method="spectral", random_state=0), interval=(3, 5), confidence=1.0)
    expected = "Plausible range 3 to 5: 95 % of the estimates from the spectra of all 60 texts."
    assert estimate_in_words(estimate, estimate.k) == expected
    assert estimate_in_words(estimate, 8) == f"You asked for 8. {expected}"
    assert estimate_in_words(replace(estimate, n_samples=900), 8).endswith(
        "from the spectra of random samples of 60 texts."
    )
    assert estimate_in_words(replace(estimate, confidence=0.1), 8) == DEFAULT


def test_a_number_that_a_function_gave(planted):
    estimate = ts.estimate_k(planted(4, 60, noise=0.1)[0], method=len)
    assert estimate_in_words(estimate, 60) == "The number of groups was given by len: 60."
    assert estimate_in_words(estimate, 8) == "You asked for 8. The number of groups was given by len: 60."


def test_leftovers_are_named():
    assert leftovers_in_words([]) == ""
    assert leftovers_in_words(["airport"]) == "1 group is a leftover without a common theme: airport"
    names = ["airport", "plane at JFK", "gate", "crew", "bags", "other"]
    assert leftovers_in_words(names) == (
        "6 groups are leftovers without a common theme: airport, plane at JFK, gate, crew, bags, …"
    )


def test_the_verdict_is_about_the_result_or_one_of_its_cuts():
    X = np.eye(3)[np.arange(60) % 3] + 0.01 * np.random.default_rng(0).standard_normal((60, 3))
    result = ts.cluster_texts([f"text {row}" for row in range(60)], embeddings=X, n_clusters=3)
    ratio, score = result.cohesion.ratio, score_at(result.k_estimate, 3)
    assert verdict(result, 0.9) == worth_in_words(ratio, 3, score=score, silhouette=0.9)
    assert verdict(result, 0.9, k=3, ratio=ratio) == verdict(result, 0.9)
    assert verdict(result, None, k=1, ratio=1.0) == "There is only one group, so its Cohesion Ratio is 1."
    edited = result.merge(0, 1)
    assert verdict(edited, None) == worth_in_words(edited.cohesion.ratio, 2)
    same = ts.cluster_texts(["one"] * 3, embeddings=np.ones((3, 2)))
    assert verdict(same, None) == "All texts are the same."
    assert verdict(replace(same, languages={"German": 1.0}, source=same.source._replace(model="minilm")), None) == (
        replace(same, languages={"German": 1.0}, source=same.source._replace(model="minilm")).language_doubt
    )
