"""Descriptions of clusters: names, typical texts, and which of them are mixed."""

import csv
import unicodedata
from pathlib import Path

import numpy as np
from words_helpers import describe, describe_vectors

from textspectra.words.describe import TYPICAL_TEXTS, Cluster, are_mixed, has_theme
from textspectra.words.keywords import KEYWORDS, Keyword

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"


def example():
    with EXAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["message"] and row["intent"]]
    intents, labels = np.unique([row["intent"] for row in rows], return_inverse=True)
    return [row["message"] for row in rows], labels, intents.tolist()


def test_a_name_has_no_word_in_two_forms():
    texts = ["refund"] * 4 + ["refunds status"] * 2 + ["card"] * 2
    (cluster, _) = describe([texts, ["lamp", "the lamp"]])
    assert cluster.name == "refund / card"


def test_names_are_unique():
    clusters = describe(
        [["blue car", "blue car", "fast"], ["blue car", "blue car", "slow"], ["blue car"], ["Blue Car"]]
    )
    names = [cluster.name.casefold() for cluster in clusters]
    assert len(set(names)) == 4
    assert names[0] != names[1]
    assert any(name.endswith("(2)") for name in names)


def test_without_keywords_a_text_is_the_name_and_without_text_a_number():
    clusters = describe([["🙂🙂", "🙂🙂"], ["", "\x00"], ["!!!"], ["🙂🙂"]])
    assert [cluster.keywords for cluster in clusters] == [()] * 4
    assert [cluster.name for cluster in clusters] == ["🙂🙂", "group 1", "!!!", "🙂🙂 (2)"]


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
    clusters = describe([hostile, ["plain text", "plain text again"]])
    for cluster in clusters:
        assert len(cluster.name) <= 60
        for shown in (cluster.name, *cluster.keywords):
            assert shown.encode()
            assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in shown)
    assert clusters[0].keywords == ("evil lamp",)


def test_one_cluster_one_text():
    assert describe([["only one text"]]) == [Cluster(0, 1, ("text",), (0,), "text")]


def test_rows_without_a_cluster_are_ignored_and_not_read():
    texts = ["refund", "refund please", "noise", "app"]
    X = np.array([[1.0, 0], [1, 0.1], [0, 0], [0, 1]])
    clusters = describe_vectors(texts, X, np.array([0, 0, -1, 2]))
    assert [(cluster.label, cluster.size, cluster.name) for cluster in clusters] == [(0, 2, "refund"), (2, 1, "app")]
    assert describe_vectors(texts, X, np.full(4, -1)) == []


def test_representatives_are_typical_distinct_and_different():
    texts = ["same", "SAME ", "left", "left too", "right", "right too", "outlier"]
    X = np.array([[1, 0, 0], [1, 0, 0], [1, 0.5, 0], [1, 0.49, 0], [1, -0.5, 0], [1, -0.49, 0], [0, 0, 1]])
    (cluster,) = describe_vectors(texts, X, np.zeros(7, int))
    assert cluster.representatives[0] == 0
    assert [{2, 3} & set(cluster.representatives[:3]), {4, 5} & set(cluster.representatives[:3])] in (
        [{3}, {5}],
        [{2}, {4}],
    )
    assert len(cluster.representatives) == TYPICAL_TEXTS
    assert 1 not in cluster.representatives


def test_limits_are_kept(planted):
    X, labels = planted(4, 200)
    texts = [f"word{label} thing{row % 50} item{row % 7}" for row, label in enumerate(labels)]
    for cluster in describe_vectors(texts, X, labels):
        assert len(cluster.keywords) == KEYWORDS
        assert len(cluster.representatives) == TYPICAL_TEXTS
        assert cluster.keywords[0] == f"word{cluster.label}"


def test_the_order_of_rows_does_not_matter():
    texts, labels, _ = example()
    X = np.random.default_rng(0).standard_normal((len(texts), 16))
    order = np.random.default_rng(1).permutation(len(texts))
    first = describe_vectors(texts, X, labels)
    second = describe_vectors([texts[row] for row in order], X[order], labels[order])
    assert [(cluster.name, cluster.keywords) for cluster in first] == [
        (cluster.name, cluster.keywords) for cluster in second
    ]
    assert first == describe_vectors(texts, X, labels)


def test_the_example_reads_well():
    texts, labels, intents = example()
    clusters = describe_vectors(texts, np.random.default_rng(0).standard_normal((len(texts), 16)), labels)
    by_intent = {intents[cluster.label]: cluster for cluster in clusters}
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
    assert len({cluster.name for cluster in clusters}) == len(clusters)
    for cluster in clusters:
        parts = [word for keyword in cluster.name.split(" / ") for word in keyword.split()]
        assert len(parts) == len(set(parts))


def test_texts_that_were_sent_once_each_are_described_as_before():
    clusters = [[f"{word} {other} {i}" for i in range(9)] for word, other in (("refund", "please"), ("app", "crashes"))]
    plain = describe(clusters)
    assert describe(clusters, counts=[1] * 18) == plain
    assert describe(clusters, counts=[7] * 18) == plain  # in a sample, every text stands for several


def test_a_text_counts_as_often_as_it_was_sent():
    texts = [f"refund of order number{i}" for i in range(30)] + ["Thank you for your patience"]
    X = np.random.default_rng(0).standard_normal((31, 4))
    (rare,) = describe_vectors(texts, X, np.zeros(31, int))
    (frequent,) = describe_vectors(texts, X, np.zeros(31, int), counts=[1] * 30 + [4_000])
    assert rare.name == "order / refund"
    assert frequent.name.startswith("patience")
    assert frequent.representatives[0] == 30
    (twice,) = describe_vectors(texts, X, np.zeros(31, int), counts=[1] * 30 + [2])
    assert 30 not in twice.representatives[:1]


def test_a_group_without_a_common_theme_is_mixed():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), 30)
    X = np.eye(6, 40)[codes] * (codes < 5)[:, None] + 0.05 * rng.standard_normal((180, 40))
    X[codes == 5] += np.eye(6, 40)[rng.integers(0, 5, 30)]  # texts of all the other kinds
    texts = [f"text {row} {'abcdef'[code]}{'qrstuvwxyz'[row % 10]}" for row, code in enumerate(codes)]
    clusters = describe_vectors(texts, X, codes)
    assert [cluster.is_mixed for cluster in clusters] == [False] * 5 + [True]
    assert clusters[5].name.startswith("Mixed: f")
    assert not any(cluster.name.startswith("Mixed") for cluster in clusters[:5])
    common = [f"{text} weather" if row % 3 else text for row, text in enumerate(texts) if codes[row] == 5]
    assert not any(cluster.is_mixed for cluster in describe_vectors([*texts[:150], *common], X, codes))
    repeated = np.where(np.arange(180) == 179, 100, 1)  # most rows have the same text
    assert not any(cluster.is_mixed for cluster in describe_vectors(texts, X, codes, counts=repeated))
    assert not any(cluster.is_mixed for cluster in describe_vectors(texts, X, np.zeros(180, int)))


def test_a_keyword_is_a_theme_if_three_texts_and_a_fifth_of_them_have_it():
    for n_texts, n_with, expected in ((5, 1, False), (10, 2, False), (10, 3, True), (40, 7, False), (40, 8, True)):
        keyword = Keyword("refund", frozenset({"refund"}), n_with / n_texts)
        assert has_theme([keyword], np.ones(n_texts)) == expected


def test_the_mark_of_mixed_groups_does_not_depend_on_the_number_of_texts():
    sums, sizes = np.append(10 * np.eye(7), np.full((1, 7), 10 / 7), axis=0), np.full(8, 10)
    once = are_mixed(sums, sizes)
    assert once.tolist() == [False] * 7 + [True]
    assert (are_mixed(7 * sums, 7 * sizes) == once).all()
    assert not are_mixed(sums[:2], sizes[:2]).any()
