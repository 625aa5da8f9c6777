"""Keywords, representatives and names of clusters."""

import csv
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from labelled_sets import DATA, needs_data

from textspectra.errors import UserError
from textspectra.topics import keywords as keywords_module
from textspectra.topics.describe import Topic, describe_clusters
from textspectra.topics.words import count_terms

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"

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


def describe(groups, **options):
    """Describe groups of texts, with one random direction for each group and some noise."""
    texts = [text for group in groups for text in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(groups), 8))[labels] + 0.1 * rng.standard_normal((len(texts), 8))
    return describe_clusters(texts, X, labels, **options)


def example():
    with EXAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["message"] and row["intent"]]
    intents, labels = np.unique([row["intent"] for row in rows], return_inverse=True)
    return [row["message"] for row in rows], labels, intents.tolist()


@pytest.mark.parametrize("language", PLANTED)
def test_planted_words_are_found(language):
    frames, words = PLANTED[language]
    topics = describe([[frame.format(word) for frame in frames * 3] for word in words])
    assert [topic.keywords[0] for topic in topics] == words
    assert [topic.label for topic in topics] == list(range(len(words)))
    assert {topic.size for topic in topics} == {3 * len(frames)}


def test_the_languages_of_one_set_do_not_disturb_each_other():
    german = ["Wo ist die Rechnung", "Ich brauche die Rechnung", "Die Rechnung ist nicht da"]
    english = ["aluminium die casting", "die casting machine", "I need a die casting mould"]
    topics = describe([german, english])
    assert topics[0].keywords[0] == "Rechnung"
    assert "die" not in topics[0].keywords
    assert topics[1].keywords[0] == "die casting"


def test_words_that_are_everywhere_are_no_keywords_in_a_language_without_a_list():
    frames = ["missä on {} nyt", "haluan {} nyt heti", "missä {} viipyy"]
    topics = describe(
        [[frame.format(word) for frame in frames * 2] for word in ["abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx"]]
    )
    assert all(topic.keywords[0] == topic.name for topic in topics)
    assert not any("missä" in word or "nyt" in word for topic in topics for word in topic.keywords)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Where is my credit card? Paid twice.", {"credit", "card", "credit card", "paid", "twice", "paid twice"}),
        ("I don't know, it's the customer’s e-mail", {"customer", "e-mail", "customer e-mail"}),
        ("l’adresse et la commande dans le colis", {"adresse", "commande", "colis"}),
        ("room 101 in C++ or C# on 24.12.", {"room", "c++", "c#"}),
        ("101", {"101"}),
        ("see https://example.org/a-b?c=d&e and www.example.org/f", set()),
        ("हिन्दी भाषा", {"हिन्दी", "भाषा", "हिन्दी भाषा"}),
        ("cafe\u0301 soft\u00adware", {"café", "software", "café software"}),
        ("我的订单什么时候发货", {"订单", "时候", "候发", "发货", "时候发货"}),
        ("iPhoneの返金", {"iphone", "返金"}),
        ("ありがとう", {"ありがとう"}),
        ("คืนเงิน", {"คืน", "นเ", "เงิ", "งิน"}),
        ("\x00 \u202e 🙂 --- ''' \ud800", set()),
        ("a" * 5000, set()),
    ],
)
def test_terms(text, terms):
    assert {term for counts in count_terms([text]).values() for term in counts.texts} == terms


def test_keywords_keep_the_usual_spelling():
    wifi = ["my WiFi fails", "WiFi is slow", "no wifi", "Slow again", "Slow today", "the iPhone", "an iPhone", "IPHONE"]
    topics = describe([wifi, ["Stuttgart trains", "to Stuttgart by train"]])
    assert {"WiFi", "iPhone", "slow"} <= set(topics[0].keywords)
    assert topics[1].keywords[0] == "Stuttgart"


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


def test_a_name_has_no_word_in_two_forms():
    texts = ["refund"] * 4 + ["refunds status"] * 2 + ["card"] * 2
    (topic, _) = describe([texts, ["lamp", "the lamp"]])
    assert topic.name == "refund / card"


def test_phrases_replace_the_words_that_hardly_occur_without_them():
    topics = describe([["machine learning", "machine learning course", "learning"], ["red wine", "white wine"]])
    assert topics[0].name == "machine learning"
    assert "machine" not in topics[0].keywords


def test_names_are_unique():
    topics = describe([["blue car", "blue car", "fast"], ["blue car", "blue car", "slow"], ["blue car"], ["Blue Car"]])
    names = [topic.name.casefold() for topic in topics]
    assert len(set(names)) == 4
    assert names[0] != names[1]
    assert any(name.endswith("(2)") for name in names)


def test_without_keywords_a_text_is_the_name_and_without_text_a_number():
    topics = describe([["🙂🙂", "🙂🙂"], ["", "\x00"], ["!!!"], ["🙂🙂"]])
    assert [topic.keywords for topic in topics] == [()] * 4
    assert [topic.name for topic in topics] == ["🙂🙂", "group 1", "!!!", "🙂🙂 (2)"]


def test_hostile_texts_leave_no_trace():
    hostile = [
        "word " * 20_000,
        "x" * 100_000,
        "",
        "\x00",
        "\u202eevil\u202c lamp",
        "lamp\x00 evil",
        "🙂",
        "\ud800 evil",
        "-",
    ]
    topics = describe([hostile, ["plain text", "plain text again"]])
    for topic in topics:
        assert len(topic.name) <= 60
        for shown in (topic.name, *topic.keywords):
            assert shown.encode()
            assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in shown)
    assert "evil" in topics[0].keywords


def test_one_cluster_one_text():
    assert describe([["only one text"]]) == [Topic(0, 1, ("text",), (0,), "text")]


def test_rows_without_a_cluster_are_ignored_and_not_read():
    texts = ["refund", "refund please", "noise", "app"]
    X = np.array([[1.0, 0], [1, 0.1], [0, 0], [0, 1]])
    topics = describe_clusters(texts, X, np.array([0, 0, -1, 2]))
    assert [(topic.label, topic.size, topic.name) for topic in topics] == [(0, 2, "refund"), (2, 1, "app")]
    assert describe_clusters(texts, X, np.full(4, -1)) == []


def test_the_row_of_a_bad_vector_is_named_although_others_are_left_out():
    X = np.array([[0.0, 0], [1, 0], [np.nan, 1]])
    with pytest.raises(UserError, match=r"X has a NaN or an infinite value in row 2 \(counting from 0\)"):
        describe_clusters(["noise", "a", "b"], X, np.array([-1, 0, 0]))


def test_representatives_are_typical_distinct_and_different():
    texts = ["same", "SAME ", "left", "left too", "right", "right too", "outlier"]
    X = np.array([[1, 0, 0], [1, 0, 0], [1, 0.5, 0], [1, 0.49, 0], [1, -0.5, 0], [1, -0.49, 0], [0, 0, 1]])
    (topic,) = describe_clusters(texts, X, np.zeros(7, int), n_representatives=3)
    assert topic.representatives[0] == 0
    assert [{2, 3} & set(topic.representatives), {4, 5} & set(topic.representatives)] in ([{3}, {5}], [{2}, {4}])
    (topic,) = describe_clusters(texts, X, np.zeros(7, int), n_representatives=7)
    assert sorted(topic.representatives) == [0, 2, 3, 4, 5, 6]


def test_limits_are_kept(planted):
    X, labels = planted(4, 200)
    texts = [f"word{label} thing{row % 50} item{row % 7}" for row, label in enumerate(labels)]
    for topic in describe_clusters(texts, X, labels, n_keywords=2, n_representatives=3):
        assert len(topic.keywords) == 2
        assert len(topic.representatives) == 3
        assert topic.keywords[0] == f"word{topic.label}"


def test_the_order_of_rows_does_not_matter():
    texts, labels, _ = example()
    X = np.random.default_rng(0).standard_normal((len(texts), 16))
    order = np.random.default_rng(1).permutation(len(texts))
    first = describe_clusters(texts, X, labels)
    second = describe_clusters([texts[row] for row in order], X[order], labels[order])
    assert [(topic.name, topic.keywords) for topic in first] == [(topic.name, topic.keywords) for topic in second]
    assert first == describe_clusters(texts, X, labels)


def test_a_sample_of_a_large_cluster_finds_the_same(monkeypatch):
    monkeypatch.setattr(keywords_module, "MAX_TEXTS", 20)
    frames, words = PLANTED["english"]
    groups = [[frame.format(word) for frame in frames * 25] for word in words]
    assert [topic.keywords[0] for topic in describe(groups)] == words
    assert describe(groups) == describe(groups)


def test_a_memory_map_of_half_precision_gives_the_same(tmp_path):
    texts, labels, _ = example()
    X = np.random.default_rng(0).standard_normal((len(texts), 16)).astype(np.float16)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert describe_clusters(texts, mapped, labels) == describe_clusters(np.array(texts), X, labels)


def test_the_example_reads_well():
    texts, labels, intents = example()
    topics = describe_clusters(texts, np.random.default_rng(0).standard_normal((len(texts), 16)), labels)
    by_intent = {intents[topic.label]: topic for topic in topics}
    for intent, word in {
        "refund_status": "refund",
        "reset_password": "password",
        "change_address": "address",
        "invoice_request": "invoice",
        "warranty_claim": "warranty",
        "product_battery": "battery",
        "app_crash": "app",
        "card_declined": "card",
        "charged_twice": "twice",
        "wifi_setup": "wifi",
    }.items():
        assert word in by_intent[intent].name
    assert len({topic.name for topic in topics}) == len(topics)
    for topic in topics:
        parts = [word for keyword in topic.name.split(" / ") for word in keyword.split()]
        assert len(parts) == len(set(parts))


@needs_data
def test_sites_are_recognised_by_their_keywords():
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(DATA / "stackexchange121_s.parquet")
    sites, labels = np.unique(table["label"].to_numpy(), return_inverse=True)
    texts = table["text"].to_pylist()
    topics = describe_clusters(texts, np.random.default_rng(0).standard_normal((len(texts), 8)), labels)
    names = dict(zip(sites, (topic.name.lower() for topic in topics), strict=True))
    for site, word in {
        "ethereum": "ethereum",
        "joomla": "joomla",
        "pets": "cat",
        "poker": "poker",
        "vi": "vim",
    }.items():
        assert word in names[f"{site}.stackexchange.com"]
    assert len(set(names.values())) == len(sites)


@pytest.mark.parametrize(
    ("texts", "labels", "options", "message"),
    [
        (["a"], [0, 0], {}, "texts has 1 entries but X has 2 rows"),
        (["a", None], [0, 0], {}, "texts has NoneType None at row 1"),
        ("ab", [0, 0], {}, "texts is a single string; it must be a sequence of texts, one per row of X."),
        (["a", "b"], [0], {}, "labels must be 2 whole numbers"),
        (["a", "b"], [0.0, 1.0], {}, "labels must be 2 whole numbers, .* array of float64"),
        (["a", "b"], [0, -2], {}, "labels has -2; clusters are numbered"),
        (["a", "b"], [0, 7], {}, "labels has 7; clusters are numbered"),
        (["a", "b"], [0, 1], {"n_keywords": 0}, "n_keywords must be a whole number at least 1"),
        (["a", "b"], [0, 1], {"n_representatives": -1}, "n_representatives must be a whole number at least 1"),
    ],
)
def test_bad_input(texts, labels, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        describe_clusters(texts, np.eye(2), labels, **options)
