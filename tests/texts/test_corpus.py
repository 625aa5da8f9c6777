"""Rows of texts, the distinct texts behind them, and their vectors."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.corpus import Corpus, EmbeddedTexts, EmbeddingSource, Totals, embed_corpus

TEXTS = st.lists(st.sampled_from(["hello", "bye", "n/a", "", " ", None, "so long"]))


@given(TEXTS, st.booleans())
def test_each_row_has_the_text_that_it_came_with(texts, keep_all):
    corpus = Corpus.from_texts(texts, keep_all=keep_all)
    assert corpus.rows == [text or "" for text in texts]
    assert len(set(corpus.distinct)) == len(corpus.distinct)
    assert "n/a" not in corpus.distinct or keep_all
    assert corpus.counts.tolist() == [corpus.rows.count(text) for text in corpus.distinct]
    for row, code in zip(corpus.rows, corpus.codes, strict=True):
        assert code == (corpus.distinct.index(row) if row in corpus.distinct else -1)
    assert [corpus.rows[row] for row in corpus.first_rows] == corpus.distinct


IGNORE = ["bye", "nowhere"]


@given(TEXTS, st.booleans())
def test_texts_are_read_without_the_words_to_ignore_and_stay_as_they_are(texts, keep_all):
    corpus = Corpus.from_texts(texts, keep_all=keep_all, ignore=IGNORE)
    usual = Corpus.from_texts(texts, keep_all=keep_all)
    assert corpus.rows == usual.rows
    assert corpus.distinct == [text for text in usual.distinct if text != "bye"]
    assert corpus.emptied() == Counter(text for text in texts if text == "bye")
    assert corpus.unmatched == (("nowhere",) if "bye" in texts else ("bye", "nowhere"))
    assert usual.read is usual.distinct
    again = Corpus.from_rows(corpus.rows, corpus.codes >= 0, keep_all=keep_all, ignore=corpus.ignore)
    assert again.read == corpus.read


def test_joined_texts_are_read_in_the_same_way():
    corpus = Corpus.from_texts(["@a hello", "@b"], ignore=["handles"])
    joined, _ = corpus.joined(Corpus.from_texts(["@c so long"], ignore=["handles"]))
    assert (joined.distinct, joined.read) == (["@a hello", "@c so long"], ["hello", "so long"])


def test_texts_without_a_word_left_are_named_if_there_are_no_others():
    message = r"^None of the 3 texts has a word left after --ignore, such as '@me'; ignore fewer words\.$"
    with pytest.raises(UserError, match=message):
        Corpus.from_texts(["@me", "@you", "n/a"], ignore=["handles"]).check_content()


@given(TEXTS, TEXTS)
def test_joining_is_reading_both_at_once(first, second):
    joined, positions = Corpus.from_texts(first).joined(Corpus.from_texts(second))
    both = Corpus.from_texts(first + second)
    assert (joined.rows, joined.distinct) == (both.rows, both.distinct)
    assert joined.codes.tolist() == both.codes.tolist()
    assert joined.counts.tolist() == both.counts.tolist()
    assert [both.distinct[position] for position in positions] == Corpus.from_texts(second).distinct


def test_a_sample_has_counts_instead_of_rows():
    sample = Corpus.from_counts(["a b", "c d"], np.array([70, 30]))
    assert not sample.has_all_rows
    joined, _ = sample.joined(Corpus.from_texts(["c d", "e f"]))
    assert (joined.rows, joined.counts.tolist()) == (["a b", "c d", "e f"], [70, 31, 1])


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_is_refused_because_its_order_is_random(kind):
    message = "texts is a set, which has no order, so labels could not be matched to texts; give a list."
    with pytest.raises(UserError) as error:
        ts.cluster_texts(kind(["a b", "c d"]), embeddings=np.eye(2))
    assert str(error.value) == message
    assert Corpus.from_texts(dict.fromkeys(["b", "c"]).keys()).rows == ["b", "c"]  # these have an order


def test_texts_that_say_nothing_are_named_if_there_are_no_others():
    with pytest.raises(UserError, match=r"None of the 3 texts says anything: they are blank, or like 'n/a'\. To group"):
        Corpus.from_texts(["n/a", "", "n/a"]).check_content()


def test_rows_without_a_vector_do_not_count():
    corpus = Corpus.from_texts(["a b", "", "c d", "a b", "n/a"])
    texts = EmbeddedTexts(corpus, np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert texts.vectors.tolist() == [[1, 2]]
    assert texts.weights.tolist() == [2]
    assert texts.rows_that_count.tolist() == [True, False, False, True, False]
    assert texts.scatter(np.array([7]), -1).tolist() == [7, -1]
    assert texts.vectors_of_rows().tolist() == [[1, 2], [0, 0], [0, 0], [1, 2], [0, 0]]
    assert texts.totals == Totals(rows=5, distinct=1, blank=1, unknown=1, without_content=1)
    assert texts.totals.grouped == 2


def test_given_embeddings_have_a_row_per_text():
    corpus = Corpus.from_texts(["a b", "c d", "a b"])
    assert embed_corpus(corpus, None, [[1, 0], [0, 1], [1, 0]]).X.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(UserError, match=r"embeddings must have one row per text \(3\), but it has 2\."):
        embed_corpus(corpus, None, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("model", "elsewhere"),
    [("wordllama", False), ("openai:small", True), ("OpenAI:small", True), (r"\\host\model", True), (None, False)],
)
def test_a_model_elsewhere_is_recognized_by_its_name(model, elsewhere):
    assert EmbeddingSource(model, {}).is_elsewhere == elsewhere
