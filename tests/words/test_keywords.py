"""Keywords of clusters, in several languages."""

import numpy as np
import pytest
from labeled_sets import DATA, needs_data
from words_helpers import describe, describe_vectors

from textspectra.words import keywords as keywords_module
from textspectra.words.keywords import rank_terms, weigh_terms

PLANTED = {
    "english": (
        ["Where is my {} please", "I want a {} now", "the {} did not work", "can you help me with the {} of my order"],
        ["refund", "password", "delivery address", "battery", "invoice", "voucher"],
    ),
    "german": (
        ["Wo finde ich die {} bitte", "Ich habe eine {} und es geht nicht", "Können Sie mir die {} schicken"],
        ["Rechnung", "Lieferung", "Kündigung", "Garantie", "Batterie", "Adresse"],
    ),
    "japanese": (
        ["{}について教えてください", "{}ができません", "この{}はどうなっていますか"],
        ["返金", "配送", "解約", "パスワード", "領収書", "住所"],
    ),
}


@pytest.mark.parametrize("language", PLANTED)
def test_planted_words_are_found(language):
    frames, words = PLANTED[language]
    clusters = describe([[frame.format(word) for frame in frames * 3] for word in words])
    assert [cluster.keywords[0] for cluster in clusters] == words
    assert [cluster.label for cluster in clusters] == list(range(len(words)))
    assert {cluster.size for cluster in clusters} == {3 * len(frames)}


def test_the_languages_of_one_set_do_not_disturb_each_other():
    german = ["Wo ist die Rechnung", "Ich brauche die Rechnung", "Die Rechnung ist nicht da"]
    english = ["aluminium die casting", "die casting machine", "I need a die casting mould"]
    clusters = describe([german, english])
    assert clusters[0].keywords[0] == "Rechnung"
    assert "die" not in clusters[0].keywords
    assert clusters[1].keywords[0] == "die casting"


def test_words_that_are_everywhere_are_no_keywords_in_a_language_without_a_list():
    frames = ["missä on {} nyt", "haluan {} nyt heti", "missä {} viipyy"]
    clusters = describe(
        [[frame.format(word) for frame in frames * 2] for word in ["abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx"]]
    )
    assert all(cluster.keywords[0] == cluster.name for cluster in clusters)
    assert not any("missä" in word or "nyt" in word for cluster in clusters for word in cluster.keywords)


def test_keywords_keep_the_usual_spelling():
    wifi = ["my WiFi fails", "WiFi is slow", "no wifi", "Slow again", "Slow today", "the iPhone", "an iPhone", "IPHONE"]
    clusters = describe([wifi, ["Stuttgart trains", "to Stuttgart by train"]])
    assert {"WiFi", "iPhone", "slow"} <= set(clusters[0].keywords)
    assert clusters[1].keywords[0] == "Stuttgart"


def test_a_list_of_keywords_does_not_repeat_itself():
    texts = ["refund status", "refund", "status of refunds", "refunds, refunded", "the refund status", "my refund"]
    found = describe([texts * 3, ["app crashes", "it crashed", "crash"]])[0].keywords
    assert found[0] == "refund"
    assert len({"refund", "refund status", "status"} & set(found)) < 3
    assert not {"refunds", "refunded"} & set(found)


@pytest.mark.parametrize("pair", ["star start", "part party", "count country", "car card", "password passport"])
def test_words_that_only_look_alike_are_two_keywords(pair):
    one, other = pair.split()
    texts = [f"the {one}", f"my {other}", f"a {one} again", f"this {other} again"]
    assert {one, other} <= set(describe([texts, ["lamp", "the lamp"]])[0].keywords)


@pytest.mark.parametrize(
    ("frames", "forms"),
    [
        (["where is my {}", "the {} again", "I have a {} here"], "refund refunds refunded"),
        (["where is my {}", "the {} again", "I have a {} here"], "battery batteries"),
        (["where is my {}", "the {} again", "I have a {} here"], "charge charged charges charging"),
        (["Wo ist die {} bitte", "Ich habe eine {} und es geht nicht"], "Bestellung Bestellungen"),
        (["où est ma {} et les autres", "je ne trouve pas les {} dans le colis"], "commande commandes"),
        (["где моя {} и что это", "мне нужна эта {} и не только"], "посылка посылки посылку"),
    ],
)
def test_the_forms_of_a_word_are_one_keyword_in_its_most_frequent_form(frames, forms):
    usual, *others = forms.split()
    texts = [frame.format(word) for word in (usual, usual, *others) for frame in frames]
    found = describe([texts, ["lamp", "the lamp"]])[0].keywords
    assert found[0] == usual
    assert not set(others) & set(found)


def test_forms_are_counted_together():
    texts = [*["my refund", "two refunds", "it was refunded"] * 2, *["lamp"] * 3]
    assert describe([texts, ["car", "the car"]])[0].keywords[:2] == ("refund", "lamp")


def test_each_text_is_read_in_its_own_language():
    english = ["where is my order", "the orders of this shop", "I have an order"]
    german = ["Wo ist die Bestellung", "Ich habe die Bestellungen nicht", "Das ist die Bestellung"]
    found = describe([english + german, ["lamp", "the lamp"]])[0].keywords
    assert {"order", "Bestellung"} <= set(found)
    assert not {"orders", "Bestellungen"} & set(found)


def test_phrases_replace_the_words_that_hardly_occur_without_them():
    clusters = describe([["machine learning", "machine learning course", "learning"], ["red wine", "white wine"]])
    assert clusters[0].name == "machine learning"
    assert "machine" not in clusters[0].keywords


def test_a_sample_of_a_large_cluster_finds_the_same(monkeypatch):
    monkeypatch.setattr(keywords_module, "MAX_TEXTS", 20)
    frames, words = PLANTED["english"]
    clusters = [[frame.format(word) for frame in frames * 25] for word in words]
    assert [cluster.keywords[0] for cluster in describe(clusters)] == words
    assert describe(clusters) == describe(clusters)


@needs_data
def test_sites_are_recognized_by_their_keywords():
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(DATA / "stackexchange121_s.parquet")
    sites, labels = np.unique(table["label"].to_numpy(), return_inverse=True)
    texts = table["text"].to_pylist()
    clusters = describe_vectors(texts, np.random.default_rng(0).standard_normal((len(texts), 8)), labels)
    names = dict(zip(sites, (cluster.name.lower() for cluster in clusters), strict=True))
    for site, word in {
        "ethereum": "ethereum",
        "joomla": "joomla",
        "pets": "cat",
        "poker": "poker",
        "vi": "vim",
    }.items():
        assert word in names[f"{site}.stackexchange.com"]
    assert len(set(names.values())) == len(sites)


def test_a_word_of_two_languages_is_one_keyword():
    dutch = ["Mijn abonnement: ik wil opzeggen en het geld terug"] * 3
    french = ["Mon abonnement : je veux suspendre et je ne le paie pas"] * 3
    others = [f"the lamp is broken {i}" for i in range(6)]
    keywords, _ = rank_terms(dutch + french + others, [np.arange(6), np.arange(6, 12)], np.ones(12))
    words = [keyword.text for keyword in keywords[0]]
    assert "abonnement" in words
    assert len(set(words)) == len(words)


def test_further_stop_words_are_not_keywords_and_stand_at_neither_end_of_a_phrase():
    texts = ["lost acme parcel again", "lost acme parcel today", "acme password reset", "acme password forgotten"]
    members, counts = [np.arange(2), np.arange(2, 4)], np.ones(4, int)
    keywords, phrases = rank_terms(texts, members, counts, stop_words=["acme", "lost"])
    assert not {"acme", "lost"} & {word for of_cluster in keywords for keyword in of_cluster for word in keyword.stems}
    ends = {
        word
        for of_cluster in phrases
        for phrase in of_cluster
        for word in (phrase.text.split()[0], phrase.text.split()[-1])
    }
    assert ends.isdisjoint(["acme", "lost"])
    assert "parcel" in {keyword.text for keyword in keywords[0]}
    assert {"acme", "lost"}.isdisjoint(weigh_terms(texts, members, counts, stop_words=["acme", "lost"]).terms)
