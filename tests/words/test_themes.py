"""Names of themes: a phrase that the groups share, or the names of the groups side by side."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.words.describe import Cluster
from textspectra.words.names import Candidate
from textspectra.words.phrases import MAX_NAME
from textspectra.words.themes import theme_phrases


def part(label, name, *keywords, size=100):
    return Cluster(label, size, keywords, (0,), name)


def best(parts, *phrases):
    return [phrase.text for phrase in theme_phrases([Candidate(*phrase, np.zeros(2)) for phrase in phrases], parts, 2)]


def test_a_good_phrase_that_most_groups_share_names_the_theme():
    parts = [part(0, "lost my card", "lost"), part(1, "card is not working", "working"), part(2, "link", size=90)]
    assert best(parts, ("lost card", 0.7), ("card", 0.66))[0] == "card"
    assert best(parts, ("lost card", 0.9), ("card", 0.66))[0] == "lost my card / card is not working / link"
    late = [part(0, "parcel", *"abcde", "address"), part(1, "thanks", "address")]
    assert best(late, ("address", 0.7))[0] == "parcel / thanks"  # it is not among the first keywords
    few = [part(0, "card", size=10), part(1, "my card", size=10), part(2, "parcel", size=90)]
    assert best(few, ("cards", 0.7))[0] == "parcel / card"


@pytest.mark.parametrize(
    ("names", "theme"),
    [
        (["refund", "return"], "refund / return"),
        (["car", "astronomy", "bike", "airsoft"], "car / astronomy / bike"),
        (["cancel order", "cancel subscription (2)", "cancel"], "cancel order / cancel subscription"),
        (["card / lost", "pin", "lost pin"], "card / lost / pin"),
        (["交換", "返品"], "交換 / 返品"),
    ],
)
def test_names_that_each_have_a_word_of_their_own_stand_side_by_side(names, theme):
    assert best([part(i, name, size=100 - i) for i, name in enumerate(names)]) == [theme]


def test_the_name_of_a_mixed_group_is_not_a_part_of_it():
    mixed = replace(part(2, "Mixed: days, fix", size=900), is_mixed=True)
    assert best([part(0, "refund"), part(1, "return"), mixed]) == ["refund / return"]


def test_no_phrase_is_another_form_of_the_name_of_a_group():
    parts = [part(0, "play songs", "play"), part(1, "the song", "song")]
    assert best(parts, ("play song", 0.9), ("songs", 0.8), ("music", 0.5)) == ["music"]


@given(st.lists(st.text("abc -ß", min_size=1, max_size=60), min_size=2, max_size=6, unique=True))
def test_a_theme_never_has_the_name_of_a_group_and_is_short(names):
    parts = [part(i, name) for i, name in enumerate(names)]
    for phrase in best(parts, *((name, 0.5) for name in names)):
        assert phrase not in names
        assert len(phrase) <= MAX_NAME or phrase in names
