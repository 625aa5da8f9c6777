"""Words that decide the groups: noticed where the rest of the texts is alike, and not where they are topics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.texts import deciding
from textspectra.texts.corpus import Corpus, EmbeddedTexts
from textspectra.texts.deciding import DecidingWords, words_that_decide
from textspectra.words.describe import Cluster
from textspectra.words.families import ACCOUNTS, PROPER_NAMES

AIRLINES = ["@united", "@JetBlue", "@Delta"]
COMPLAINTS = ["my bag is lost in {}", "the flight to {} is late again", "rude staff at the gate in {}",
              "on hold for an hour about {}", "no refund for the ticket to {}"]  # fmt: skip
CITIES = ["Rome", "Oslo", "Lima", "Cairo", "Tokyo", "Paris"]
TOPICS = {"guitar": ["strings and chords of the {} in {}", "tune the {} for a concert in {}"],
          "puppy": ["the {} barks at cats in {}", "food and a leash for my {} in {}"],
          "tax": ["declare income for the {} in {}", "deadline of the {} return in {}"]}  # fmt: skip


def to_airlines():
    return [f"{name} {text.format(city)}" for name in AIRLINES for text in COMPLAINTS for city in CITIES]


def about_topics():
    return [text.format(word, city) for word, texts in TOPICS.items() for text in texts for city in CITIES]


def bag_of_words(texts):
    """Embed texts as sums of a random vector for each word; a word with an @ weighs five times as much."""
    rows = []
    for text in texts:
        words = text.lower().split()
        vectors = [np.random.default_rng(list(word.encode())).normal(size=40) for word in words] or [np.zeros(40)]
        weights = np.array([5 if word.startswith("@") else 1 for word in words] or [0])
        rows.append(weights @ np.array(vectors))
    return np.array(rows, np.float32)


def decide(texts, n_clusters, embed=bag_of_words):
    corpus = Corpus.from_texts(texts)
    codes = np.arange(len(texts)) * n_clusters // len(texts)
    sizes = np.bincount(codes).tolist()
    clusters = [Cluster(10 + code, size, (), (), f"{code}") for code, size in enumerate(sizes)]
    return words_that_decide(EmbeddedTexts(corpus, bag_of_words(texts)), codes, clusters, embed)


def test_account_names_that_hold_groups_together_are_noticed():
    found = decide(to_airlines(), 3)
    assert (found.place, found.ignore, found.n_clusters, found.share) == (ACCOUNTS, ("handles",), 3, 1)
    assert sorted(found.words) == sorted(AIRLINES)


def test_words_that_the_rest_of_the_texts_tells_are_topics():
    embedded = []
    assert decide(about_topics(), 3, lambda texts: embedded.append(texts) or bag_of_words(texts)) is None
    assert embedded == []  # the other words tell enough


def test_what_the_meaning_of_the_rest_tells_is_a_topic():
    def knowing(texts):  # a model that sees which texts belong together although they share no words
        return np.eye(3, dtype=np.float32)[np.arange(len(texts)) * 3 // len(texts)]

    assert decide(to_airlines(), 3, knowing) is None


def test_texts_of_which_little_is_left_say_nothing():
    texts = [f"{name} {city}" for name in AIRLINES for city in [*CITIES, "Bonn", "Bern", "Kyiv", "Nice", "Riga"]]
    assert decide(texts, 3) is None


def test_a_model_that_fails_costs_only_the_advice():
    def broken(texts):
        raise OSError("no connection")

    assert decide(to_airlines(), 3, broken) is None


def test_many_texts_are_sampled(monkeypatch):
    monkeypatch.setattr(deciding, "READ_TEXTS", 60)
    assert decide(to_airlines(), 3).ignore == ("handles",)


@pytest.mark.parametrize(
    ("place", "words", "sentence"),
    [
        (ACCOUNTS, ("@united", "@JetBlue", "@Delta", "@AA"),
         "2 groups (34% of the texts) differ mainly by an account name: united, JetBlue, Delta … "
         "Run again with --ignore handles (in Python, ignore=result.ignore_suggestion)."),
        (PROPER_NAMES, ("Excel", "Chrome", "Word"),
         "2 groups (34% of the texts) differ mainly by a name: Excel, Chrome, Word. Run again with "
         "--ignore Excel --ignore Chrome --ignore Word (in Python, ignore=result.ignore_suggestion)."),
        (("before", "account"), ("gold", "pro", "l'or"),
         "2 groups (34% of the texts) differ mainly by the word before “account”: gold, pro, l'or. Run again with "
         """--ignore gold --ignore pro --ignore 'l'"'"'or' """
         "(in Python, ignore=result.ignore_suggestion)."),
        (("after", ""), ("gold", "pro", "free"),
         "2 groups (34% of the texts) differ mainly by their first word: gold, pro, free. Run again with "
         "--ignore gold --ignore pro --ignore free (in Python, ignore=result.ignore_suggestion)."),
    ],
)  # fmt: skip
def test_the_sentence_says_what_to_do(place, words, sentence):
    assert DecidingWords(place, words, 2, 0.338).sentence == sentence


def test_what_is_ignored_already_stays_ignored():
    more = DecidingWords(PROPER_NAMES, ("Excel", "Chrome", "Word"), 2, 0.338, ("handles",))
    assert more.ignore == ("handles", "Excel", "Chrome", "Word")
    assert "Run again, also with --ignore Excel --ignore Chrome --ignore Word (in Python, " in more.sentence


def test_the_result_has_the_note_and_the_suggestion(tmp_path):
    texts = to_airlines()
    result = ts.cluster_texts(texts, model=bag_of_words, n_clusters=3, cache=False)
    assert result.ignore_suggestion == ("handles",)
    assert result.notes[-1].startswith("3 groups (100% of the texts) differ mainly by an account name: ")
    result.save(tmp_path / "model")
    assert ts.TextClustering.load(tmp_path / "model").ignore_suggestion == ("handles",)
    vectors = bag_of_words(texts)
    assert ts.cluster_texts(texts, embeddings=vectors, n_clusters=3).ignore_suggestion == ()
    again = ts.cluster_texts(texts, model=bag_of_words, n_clusters=3, cache=False, ignore=result.ignore_suggestion)
    assert again.ignore_suggestion == ()
    made = ts.describe_texts(texts, result.labels, model=bag_of_words, cache=False)
    assert made.ignore_suggestion == ()


def test_topics_give_no_suggestion():
    result = ts.cluster_texts(about_topics(), model=bag_of_words, n_clusters=3, cache=False)
    assert result.ignore_suggestion == ()


@given(
    st.lists(st.text(st.sampled_from("ab@ .,:'-é我\u200b\n"), max_size=12), min_size=1, max_size=60), st.integers(1, 4)
)
def test_any_texts_are_read(texts, k):
    codes = np.arange(len(texts)) % k - (len(texts) == 1)  # a single text has no group
    clusters = [Cluster(code, 1 + int((codes == code).sum()), (), (), f"{code}") for code in range(k)]
    corpus = Corpus.from_counts(texts, np.ones(len(texts), np.intp))
    found = words_that_decide(EmbeddedTexts(corpus, np.ones((len(texts), 2))), codes, clusters, bag_of_words)
    assert found is None or found.share >= deciding.LEAST_TEXTS
