"""Families of words, and the groups that follow them, on texts whose families are known."""

import numpy as np
import pytest

from textspectra.words.families import ACCOUNTS, PROPER_NAMES, WordsInGroups

ASKED = [
    "delete the {} account",
    "open a {} account today",
    "how much is the {} account",
    "please cancel my {} account",
]
TIERS = ["gold", "pro", "free"]


def planted(templates, words, n=30):
    """Return texts with each word in each template, and the group of each text: its word."""
    texts = [f"{template.format(word)} {number}" for word in words for template in templates for number in range(n)]
    return texts, np.repeat(np.arange(len(words)), n * len(templates))


def families_of(texts, codes):
    return WordsInGroups(texts, codes, codes.max() + 1).families()


def test_words_in_one_place_are_a_family_that_groups_follow():
    (family,) = families_of(*planted(ASKED, TIERS))
    assert family.place == ("before", "account")
    assert sorted(family.words) == sorted(TIERS)
    assert family.clusters == (0, 1, 2)
    assert family.strength == pytest.approx(2 / 3, abs=0.01)  # of three words, a group has one


def test_groups_that_do_not_follow_the_words_have_no_family():
    texts, codes = planted(ASKED, TIERS)
    assert families_of(texts, np.random.default_rng(0).permutation(codes)) == []
    assert families_of(texts, np.zeros(len(codes), np.intp)) == []


def test_account_names_are_a_family_and_addresses_are_not():
    asked = ["{} my bag is lost", "the seat was broken, {}", "where are you {} the gate is closed"]
    (family,) = families_of(*planted(asked, ["@united", "@Delta", "@JetBlue"]))
    assert (family.place, sorted(family.words)) == (ACCOUNTS, ["@delta", "@jetblue", "@united"])
    assert families_of(*planted(["mail to someone{} about the lost bag"], ["@united.com", "@delta.com"])) == []


def test_names_have_capitals_where_other_words_have_none():
    places = ["crashes when {} starts", "log out of {} twice", "we like what {} does", "the new {} is slow"]
    places += ["can {} print maps", "ask how {} works", "why did {} stop", "use it without {} please"]
    (family,) = families_of(*planted(places, ["Excel", "Chrome", "Outlook"], 5))
    assert (family.place, sorted(family.words)) == (PROPER_NAMES, ["chrome", "excel", "outlook"])
    for change in (str.lower, str.title):  # without capitals, or if all words have them
        texts, codes = planted(places, ["Excel", "Chrome", "Outlook"], 5)
        assert families_of(list(map(change, texts)), codes) == []


def test_words_that_are_in_one_text_together_are_no_family():
    texts, codes = planted(["gold account, pro account or free account for {}"], ["Anna", "Bert", "Carl"])
    assert [family.place for family in families_of(texts, codes) if "gold" in family.words] == []


def test_the_spelling_is_the_most_frequent_one():
    words = WordsInGroups(["a Gold account", "the GOLD account", "some Gold account"], np.zeros(3, np.intp), 1)
    assert words.spelling("gold") == "Gold"
    assert words.content_of("Where is the @United desk?") == {"@united", "desk"}


@pytest.mark.parametrize("text", ["", "…", "@", "@ @@", "我的订单在哪里", "\ud800 ?", "a" * 5_000])
def test_odd_texts_have_no_family(text):
    assert families_of([text] * 40, np.repeat([0, 1], 20)) == []
