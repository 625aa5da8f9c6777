"""Half surrogate pairs and plurals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.hygiene import plural, without_surrogates


@given(st.text())
def test_valid_texts_are_unchanged(text):
    assert without_surrogates(text) == text


@given(st.text(st.characters(categories=["Cs", "L", "So"])))
def test_every_text_can_be_written_afterwards(text):
    cleaned = without_surrogates(text)
    cleaned.encode()
    assert without_surrogates(cleaned) == cleaned


def test_two_halves_that_belong_together_are_a_character():
    assert without_surrogates("\ud83d\ude00 \ude00\ud83d") == "😀 \ufffd\ufffd"


@pytest.mark.parametrize(
    ("number", "forms", "expected"),
    [
        (0, ["text"], "0 texts"),
        (1, ["text"], "1 text"),
        (1200, ["text"], "1,200 texts"),
        (1, ["row has", "rows have"], "1 row has"),
        (2, ["row has", "rows have"], "2 rows have"),
    ],
)
def test_plural(number, forms, expected):
    assert plural(number, *forms) == expected
