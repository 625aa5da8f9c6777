"""Texts that are read once have the same terms as texts that are read each time."""

import numpy as np
import pytest
from five_languages import five_languages

from textspectra.words import keywords
from textspectra.words.keywords import rank_terms
from textspectra.words.remembered import RememberedTexts
from textspectra.words.tokens import count_terms

WORDS = [
    "parcel", "the", "refund", "of", "my", "New", "York", "order?", "please,", "which", "invoice", "is", "late", "in",
    "die", "Rechnung", "für", "ich", "habe", "12",
]  # fmt: skip


def random_texts(seed, n=260):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)] + [*five_languages()[0]]


def groupings(seed, n):
    """Yield groupings one after the other, so that a later one meets what was remembered."""
    rng = np.random.default_rng(seed)
    for k in (2, 5, 3):
        codes = rng.integers(k, size=n)
        yield [np.flatnonzero(codes == code) for code in range(k)]


@pytest.mark.parametrize("seed", range(4))
def test_other_groups_have_the_terms_that_reading_all_texts_again_gives(seed, monkeypatch):
    monkeypatch.setattr(keywords, "MAX_TEXTS", 150)
    texts = random_texts(seed)
    known, counts = RememberedTexts(texts), np.random.default_rng(seed).integers(1, 4, len(texts))
    for members in groupings(seed, len(texts)):
        for stop_words in ((), ("parcel",)):
            expected = rank_terms(texts, members, counts, [(0, 1)], stop_words=stop_words)
            assert rank_terms(known, members, counts, [(0, 1)], stop_words=stop_words) == expected


@pytest.mark.parametrize("seed", range(4))
def test_every_count_is_that_of_the_terms_which_enough_texts_have(seed):
    texts = random_texts(seed)
    known = RememberedTexts(texts)
    for rows in next(groupings(seed, len(texts))):
        literal = keywords._frequent(count_terms([texts[row] for row in rows]), len(rows))
        assert keywords._frequent(known.count_frequent(rows, 2), len(rows)) == literal


def test_texts_without_frequent_terms_are_read_each_time():
    texts = [f"word{number} other{number}" for number in range(120)]
    members = [np.arange(120)]
    assert RememberedTexts(texts).count_frequent(members[0], 2) == {}
    assert rank_terms(RememberedTexts(texts), members, np.ones(120)) == rank_terms(texts, members, np.ones(120))


def test_a_text_is_read_once(monkeypatch):
    texts = random_texts(0)
    known = RememberedTexts(texts)
    rows = np.arange(len(texts))
    first = known.count_frequent(rows, 2)
    monkeypatch.setattr("textspectra.words.remembered.read_terms", None)
    assert known.count_frequent(rows, 2) == first
