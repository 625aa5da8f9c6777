"""Which texts say something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.topics.content import MAX_LENGTH, NON_ANSWERS, has_content
from textspectra.topics.languages import STOP_WORDS, read_lists


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", ".", "...", "---", "?", "n/a", "N/A.", "NA", "None", "none!", " Nothing ", "asdf", "ASDFGH",
     "xxx", "aaaaa", "👍", "❤️", "😀😀", "_", "keine Angabe", "Keine Ahnung!", "k.A.", "<br>", "https://a.b/c",
     "&nbsp;", "weiß nicht", "RAS", "néant", "sin comentarios", "nada", "niente", "não sei", "geen", "n.v.t.",
     "vet ej", "ved ikke", "nie wiem", "не знаю", "немає", "bilmiyorum", "特になし", "없음", "I don’t know",
     "I don't know", "none at this time", "x", "Test", "¯\\_(ツ)_/¯"],
)  # fmt: skip
def test_texts_that_say_nothing(text):
    assert not has_content(text)


@pytest.mark.parametrize(
    "text",
    ["a", "B", "5", "10", "ok", "yes", "nothing works", "none of the buttons work", "No refund yet", "nada funciona",
     "keine Heizung", "parcel", "C++", "退款", "ok 👍", "Tom", "-" * 99 + "a"],
)  # fmt: skip
def test_texts_that_say_something(text):
    assert has_content(text)


def test_every_language_with_stop_words_has_non_answers():
    assert set(STOP_WORDS) <= set(read_lists("non_answers.txt", ","))
    assert max(map(len, NON_ANSWERS)) <= MAX_LENGTH


@given(st.sampled_from(sorted(NON_ANSWERS)), st.sampled_from(["", " ", ".", "!!", " …", "\n"]))
def test_case_and_marks_around_a_non_answer_do_not_matter(phrase, mark):
    assert not has_content(mark + phrase + mark)
    assert not has_content(f"{phrase[0].title()}{phrase[1:]}{mark}")
