"""Names of groups: phrases of their texts, nearest to the center."""

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words_helpers import describe_vectors

from textspectra.embedding.embed import embed_texts
from textspectra.embedding.registry import load_model
from textspectra.words import keywords as keywords_module
from textspectra.words.keywords import rank_terms
from textspectra.words.languages import STOP_WORDS
from textspectra.words.names import KEYWORD_WEIGHT, Candidate, choose_names, score_phrases
from textspectra.words.phrases import Phrase

CARDS = ["My card is not working", "the card is not working!", "Why is my card not working?", "card broken"]
REFUNDS = ["Where is my refund?", "I want a refund now", "refund please", "Refund my order 4711"]
PHONES = ["I lost my phone", "lost my phone in the train", "someone stole my phone", "my phone is lost"]


@cache
def model():
    return load_model("wordllama")


def embed(texts):
    return embed_texts(texts, model(), cache=False)


def names(clusters, embed=embed):
    texts = [text for cluster in clusters for text in cluster]
    labels = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    X = embed_texts(texts, model(), cache=False)
    X[~X.any(axis=1)] = 1  # a model without a vector for a text is another matter
    return [cluster.name for cluster in describe_vectors(texts, X, labels, embed=embed)]


def test_a_name_is_a_phrase_of_the_texts():
    assert names([CARDS, REFUNDS, PHONES]) == ["card not working", "refund", "lost phone"]


def test_the_phrase_nearest_to_the_center_wins():
    texts = ["red wine", "red wine", "blue sky", "blue sky"]
    X = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    meaning = {"wine": [1, 0, 0.1], "sky": [0, 1, 0.1], "red": [1, 1, 0], "blue": [1, 1, 0]}

    def embed(phrases):
        return np.array([np.sum([meaning[word] for word in phrase.split()], axis=0) for phrase in phrases])

    clusters = describe_vectors(texts, X, np.array([0, 0, 1, 1]), embed=embed)
    assert [cluster.name for cluster in clusters] == ["wine", "sky"]
    assert [cluster.keywords for cluster in clusters] == [("red wine",), ("blue sky",)]


PASSWORDS = ["reset it", "password lost", "reset now", "password wrong", "password reset", "password: reset"]


def terms_of_passwords():
    texts = [*PASSWORDS, *REFUNDS]
    keywords, phrases = rank_terms(texts, [np.arange(6), np.arange(6, 10)], np.ones(10))
    return keywords[0], phrases[0]


def test_a_small_group_can_take_a_phrase_of_a_single_text_if_another_has_its_words():
    keywords, phrases = terms_of_passwords()
    assert "password reset" in [phrase.text for phrase in phrases]
    assert [keyword.text for keyword in keywords] == ["password", "reset"]


def test_of_the_phrases_of_single_texts_those_with_the_commonest_words_are_kept(monkeypatch):
    monkeypatch.setattr(keywords_module, "RARE_PHRASES", 1)
    assert [phrase.text for phrase in terms_of_passwords()[1] if " " in phrase.text] == ["password reset"]


def test_a_large_group_takes_only_what_several_texts_say(monkeypatch):
    monkeypatch.setattr(keywords_module, "SMALL", 6)
    assert {phrase.text for phrase in terms_of_passwords()[1]} == {"password", "reset"}


def test_a_joined_group_has_the_phrases_of_its_parts():
    texts = [*PASSWORDS, *REFUNDS]
    _, phrases = rank_terms(texts, [np.arange(6), np.arange(6, 10)], np.ones(10), merges=[(0, 1)])
    assert "password reset" in [phrase.text for phrase in phrases[0]]
    assert {"password", "reset", "password reset", "refund"} <= {phrase.text for phrase in phrases[2]}


def test_the_score_of_a_phrase_is_its_own_and_that_of_its_words():
    def tf_idf(n):  # each term is in one of the two groups, and in n of its 6 texts
        return n / 6 * np.log(3)

    scores = {phrase.text: phrase.score for phrase in terms_of_passwords()[1]}
    assert scores["password"] == pytest.approx(tf_idf(4))
    assert scores["password reset"] == pytest.approx(tf_idf(2) ** (1 / 3) * tf_idf(4) ** (2 / 3))


def test_what_all_groups_share_does_not_count():
    rng = np.random.default_rng(0)
    centers, vectors = rng.random((3, 4)), rng.random((4, 4))
    ranked = [
        [Phrase("one", 0.3), Phrase("two", 0.2)],
        [Phrase("three", 0.1)],
        [Phrase("four", 0.4), Phrase("one", 0.1)],
    ]
    rows = {"one": 0, "two": 1, "three": 2, "four": 3}
    scored = score_phrases(ranked, centers, lambda texts: np.array([vectors[rows[text]] for text in texts]))

    def seen_from_mean(X):
        units = np.array([x / np.linalg.norm(x) for x in X])
        return units - 2 / 3 * units.mean(axis=0)

    for phrases, names, center in zip(ranked, scored, seen_from_mean(centers), strict=True):
        for phrase in phrases:
            vector = seen_from_mean(vectors)[rows[phrase.text]]
            cosine = vector @ center / np.linalg.norm(vector) / np.linalg.norm(center)
            score = next(name.score for name in names if name.text == phrase.text)
            assert score == pytest.approx(cosine + KEYWORD_WEIGHT * np.log(phrase.score), abs=1e-5)


def test_a_single_group_is_named_by_what_is_nearest_to_its_center():
    phrases = [[Phrase("red", 0.2), Phrase("wine", 0.2)]]
    (found,) = score_phrases(phrases, np.array([[1.0, 1.0]]), lambda texts: np.array([[1.0, 0.0], [1.0, 0.9]]))
    assert found[0].text == "wine"


def test_all_phrases_are_embedded_in_one_call_each_once():
    calls = []

    def counted(phrases):
        calls.append(phrases)
        return embed(phrases)

    names([CARDS, REFUNDS, PHONES, CARDS[:2]], counted)
    assert len(calls) == 1
    assert len(calls[0]) == len(set(calls[0]))


def test_of_two_groups_with_the_same_best_phrase_each_gets_its_own():
    found = names([["blue car", "fast blue car"], ["blue car", "slow blue car"], ["Blue Car"], ["blue car"]])
    assert len({name.casefold() for name in found}) == 4


def test_a_name_that_is_part_of_another_gives_way_to_one_that_is_nearly_as_good():
    cancel, order, plan = np.eye(3)
    orders = [Candidate("cancel", 0.9, cancel), Candidate("cancel order", 0.87, order), Candidate("stop", 0.2, order)]
    plans = [Candidate("cancel plan", 0.7, plan), Candidate("cancel", 0.5, cancel)]

    def chosen(*candidates):
        return choose_names(candidates, [[]] * 2, ["example"] * 2, [False] * 2)

    assert chosen(orders, plans) == ["cancel order", "cancel plan"]
    assert chosen([orders[0], orders[2]], plans) == ["cancel", "cancel plan"]  # the next one is much worse
    assert chosen(orders, [Candidate("renew plan", 0.7, plan)]) == ["cancel", "renew plan"]


def test_a_phrase_is_written_as_people_write_it():
    assert names([["the new iPhone is slow", "my iPhone is slow", "slow iPhone"], REFUNDS])[0] == "iPhone slow"


@pytest.mark.parametrize("number", ["4711001", "AB-123456", "2024"])
def test_numbers_of_orders_are_not_in_a_name(number):
    cluster = [f"order {number} is late", f"late order {number}", f"order {number} late again"]
    assert not any(map(str.isdigit, names([cluster, CARDS])[0]))


def test_a_day_alone_is_not_a_name():
    assert (
        names([["on the 14th", "the 14th please", "14th", "open on the 14th", "shop open on the 14th"], CARDS])[0]
        == "open on the 14th"
    )


@pytest.mark.parametrize(
    ("cluster", "name"),
    [
        (["🙂🙂", "🙂🙂🙂"], "🙂🙂"),
        (["!!!", "???"], "!!!"),
        (["only one text"], "text"),
        (["same words here"] * 5, "words"),
        (["word " * 20_000, "word " * 10_000], "word"),
        (["x" * 100_000, "y" * 100_000], "x" * 48),
        (["أريد استرداد المال", "استرداد المال من فضلك", "استرداد المال"], "استرداد المال"),
        (["איפה ההחזר הכספי שלי", "ההחזר הכספי", "החזר"], "ההחזר הכספי"),
        (["<b>bold</b>", "<b>bold</b> <script>"], "bold"),
    ],
)
def test_groups_of_any_kind_get_a_name(cluster, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names([cluster, CARDS])[0] == name


def test_in_german_no_article_is_at_the_ends():
    cluster = ["die Lieferung der Ware dauert", "Lieferung der Ware", "wo bleibt die Lieferung der Ware"]
    (name, _) = names([cluster, ["das Konto ist gesperrt", "Konto gesperrt", "mein Konto"]])
    assert not {name.split()[0].lower(), name.split()[-1].lower()} & STOP_WORDS["german"]


def test_a_text_taken_for_another_language_leaves_no_stop_word_at_the_ends():
    cluster = [
        "get news from c. n. n. today",
        "hear news from c. n. n. now",
        "the news from m. s. n.",
        "all of the news",
    ]
    (name, _) = names([cluster, CARDS])
    assert name.split()[-1] != "from"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda phrases: {}["unknown"], "'unknown'"),
        (lambda phrases: np.ones((len(phrases), 2)), r"the vectors of \d+ phrases have the shape \(\d+, 2\)\."),
    ],
)
def test_without_vectors_of_phrases_the_names_are_keywords(broken, reason):
    message = f"^The groups are named by keywords, because the model could not embed phrases: {reason}$"
    with pytest.warns(UserWarning, match=message):
        assert names([CARDS, REFUNDS], broken) == names([CARDS, REFUNDS], None)


def test_phrases_without_a_vector_are_no_error():
    found = names([CARDS, REFUNDS], lambda phrases: np.zeros((len(phrases), 256)))
    assert len(set(found)) == 2


WORDS = st.sampled_from(
    ["card", "cards", "the", "of", "my", "lost", "Refund", "is", "12345", "x9999z", "PIN", "ändern"]
)
GROUPS = st.lists(st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=5), min_size=1, max_size=5)


def without_dropped(text):
    return " ".join(word for word in text.casefold().split() if word not in ("my", "is", "the"))


@settings(max_examples=60, deadline=None)
@given(GROUPS)
def test_rules_of_phrases(clusters):
    texts = [text for cluster in clusters for text in cluster]
    ends = np.cumsum([len(cluster) for cluster in clusters])
    members = [np.arange(end - len(cluster), end) for cluster, end in zip(clusters, ends, strict=True)]
    _, ranked = rank_terms(texts, members, np.ones(len(texts)))
    for cluster, phrases in zip(clusters, ranked, strict=True):
        for text, score in phrases:
            words = text.split()
            assert score > 0
            assert any(without_dropped(text) in without_dropped(other) for other in cluster)
            counted = without_dropped(text).split()
            assert len(set(counted)) == len(counted) <= 4
            assert not {words[0].lower(), words[-1].lower()} & STOP_WORDS["english"]
            assert not {"card", "cards"} <= set(words)
            assert not {"12345", "x9999z"} & set(words)
