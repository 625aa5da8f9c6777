"""What is said about a result, for each kind of outcome."""

from dataclasses import replace

import numpy as np
import pytest

import textspectra as ts
from textspectra.core.estimate import Suggestion
from textspectra.texts.sentences import estimate_in_words, levels_in_words

NO_STRUCTURE = "The texts have no structure: they form one cloud, without groups that could be told apart."
FAINT = "The number of groups is a rough guess: others explain the texts about as well (confidence 0.20 of 1)."
DEFAULT = "The spectrum shows no clear number of groups; the number is a default, not a finding."


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
    expected = "Plausible range 3 to 5: 95% of the estimates from the spectra of all 60 texts."
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
