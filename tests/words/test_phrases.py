"""Phrases that can name a cluster: they read as a whole, and several texts have them."""

import numpy as np
import pytest

from textspectra.words.keywords import rank_terms
from textspectra.words.languages import STOP_WORDS
from textspectra.words.phrases import usual_writing
from textspectra.words.tokens import PHRASE_WORDS, Grammar, count_terms, grammar

OTHERS = [f"the weather in town {name} is nice" for name in ("a", "b", "c", "d")] * 3


def phrases(texts, others=OTHERS):
    members = [np.arange(len(texts)), np.arange(len(texts), len(texts) + len(others))]
    return [phrase.text for phrase in rank_terms([*texts, *others], members, np.ones(len(texts) + len(others)))[1][0]]


@pytest.mark.parametrize(
    ("texts", "names", "not_names"),
    [
        # possessives and forms of "be" and "have" are dropped, as in a headline
        (["I want to cancel my order"] * 5, {"cancel order"}, {"cancel", "want to cancel order", "cancel my order"}),
        (["my card has been stolen"] * 5, {"card stolen"}, {"card has been stolen"}),
        # pronouns, modal verbs and question words end a phrase
        (["how soon can I expect the parcel"] * 5, {"parcel"}, {"soon", "expect", "soon can i expect"}),
        (
            ["check what hours customer service is open"] * 5,
            {"customer service"},
            {"check what hours", "hours customer"},
        ),
        # so do greetings
        (["mailing list. Hi please create one", "project hi please create it"] * 3, {"mailing list"}, {"project hi"}),
        (["thanks for the refund"] * 5, {"refund"}, {"thanks for refund", "thanks refund"}),
        # an article is part of the spelling only
        (["crisis in the Balkans", "a crisis in the Balkans"] * 4, {"crisis in the Balkans"}, {"in the Balkans"}),
        # vague words say nothing alone, and codes say nothing at all
        (["atomic_number_53 days of fun", "days"] * 4, {"days of fun"}, {"days", "atomic_number_53"}),
    ],
)
def test_a_phrase_reads_as_a_whole(texts, names, not_names):
    ranked = set(phrases(texts))
    assert names & ranked
    assert not {name.casefold() for name in not_names} & {text.casefold() for text in ranked} - names


def test_a_word_that_wants_another_does_not_end_a_name():
    flowers = [f"a species of flowering plant in group{i} family" for i in "abcdefgh"]
    assert not [text for text in phrases(flowers) if text.endswith("flowering")]
    albums = [f"the album was released by label{i} records" for i in "abcdefgh"]
    assert "album" in phrases(albums)  # a preposition often follows a noun
    assert not [text for text in phrases(albums) if text.endswith(" released")]


def test_several_texts_have_the_phrase():
    many = [f"maker{i}{j} has a covid vaccine" for i in "abcdefghijk" for j in "abcdefghijkl"]
    ranked = phrases(["bovine covids structure", *many])
    assert "covid vaccine" in ranked
    assert not [text for text in ranked if "bovine" in text or "maker" in text]


def test_a_phrase_counts_where_its_words_are_together():
    texts = ["cancel my order"] * 4 + ["the order, please cancel it"] * 4 + ["my parcel"] * 2
    assert count_terms(texts)["english"].texts["cancel order"] == 4
    apart = ["cancel my order"] * 4 + ["the order, please leave it"] * 4 + ["my parcel"] * 2
    scores = []
    for group in (texts, apart):
        members = [np.arange(10), np.arange(10, 22)]
        ranked = rank_terms([*group, *OTHERS], members, np.ones(22))[1][0]
        scores.append(next(phrase.score for phrase in ranked if phrase.text == "cancel order"))
    assert scores[0] > scores[1]


def test_the_usual_order_of_words_wins():
    texts = ["my cash withdrawal"] * 6 + ["my withdrawal cash"] * 3
    ranked = [text for text in phrases(texts) if set(text.split()) == {"cash", "withdrawal"}]
    assert ranked == ["cash withdrawal"]


def test_a_question_that_many_texts_ask_is_a_name_as_it_stands():
    asked = ["Where is my order?", "where is my order?", "Where is my order?"] * 3
    assert "Where is my order?" in phrases([*asked, *[f"order number{i}" for i in range(20)]])
    assert "Where is my order?" not in phrases([*asked[:2], *[f"order number{i}" for i in range(20)]])
    assert not [text for text in phrases(["Where is it? My order is late?"] * 9) if text.endswith("?")]


def test_stop_words_of_the_user_are_at_no_end():
    texts = ["gold account", "my gold account", "an account"] * 3
    writing = usual_writing([count_terms(texts)], ["gold"])
    assert not writing.can_be_name(["gold", "account"])
    assert writing.can_be_name(["account"])
    assert not writing.can_be_name(["gold"])


@pytest.mark.parametrize(
    ("language", "text", "phrase"),
    [
        ("german", "Ich möchte meine Rechnung ändern", "rechnung ändern"),
        ("french", "je veux annuler ma commande", "annuler commande"),
        ("spanish", "quiero cancelar mi pedido", "cancelar pedido"),
        ("dutch", "ik wil mijn bestelling annuleren", "bestelling annuleren"),
    ],
)
def test_other_languages_drop_possessives_too(language, text, phrase):
    assert phrase in count_terms([text] * 3)[language].texts


def test_the_lists_of_words_belong_to_a_language_and_a_role():
    for key in PHRASE_WORDS:
        language, _, role = key.rpartition(" ")
        assert language in STOP_WORDS
        assert role in Grammar._fields
    for language in STOP_WORDS:
        words = grammar(language)
        for role in ("articles", "possessives", "auxiliaries", "prepositions", "questions"):
            # Contractions are no words of their own.
            assert getattr(words, role) <= words.stop_words, (language, role)
        assert words.greetings.isdisjoint(words.connectives)


@pytest.mark.parametrize("text", ["?", "??", "为什么?", "どうですか?", "a?", "is it?"])
def test_a_question_without_words_is_no_name(text):
    assert not [term for counts in count_terms([text] * 9).values() for term in counts.texts if term.endswith("?")]


def test_a_question_with_a_greeting_or_a_number_is_no_name():
    for text in ("Thanks where is my parcel?", "Where is order 4455667788?"):
        assert not [name for name in phrases([text] * 9) if name.endswith("?")]
    terms = count_terms(["Where is my late parcel?"] * 9, ["parcel"])["english"].texts
    assert not [term for term in terms if term.endswith("?")]


def test_a_number_does_not_complete_a_word():
    assert "cancel order" in phrases([f"cancel order {48213 + i}" for i in range(40)])
