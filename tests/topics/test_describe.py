"""Topics of clusters: names, representatives, and bad input."""

import csv
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from topics_helpers import describe

from textspectra.errors import UserError
from textspectra.topics.describe import Topic, describe_clusters

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"


def example():
    with EXAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["message"] and row["intent"]]
    intents, labels = np.unique([row["intent"] for row in rows], return_inverse=True)
    return [row["message"] for row in rows], labels, intents.tolist()


def test_a_name_has_no_word_in_two_forms():
    texts = ["refund"] * 4 + ["refunds status"] * 2 + ["card"] * 2
    (topic, _) = describe([texts, ["lamp", "the lamp"]])
    assert topic.name == "refund / card"


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


NUMBERED = "clusters are numbered 0, 1, 2, ..., and -1 stands for no cluster."
WHOLE = "labels must be 2 whole numbers, one per row of X, but it is an array of"


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"], [0, 0], "texts has 1 entries but X has 2 rows; they must be equally many."),
        (["a", None], [0, 0], "texts has NoneType None at row 1; every text must be a str."),
        ("ab", [0, 0], "texts is a single string; it must be a sequence of texts, one per row of X."),
        (["a", "b"], [0], f"{WHOLE} int64 of shape (1,)."),
        (["a", "b"], [0.0, 1.0], f"{WHOLE} float64 of shape (2,)."),
        (["a", "b"], [0, -2], f"labels has -2; {NUMBERED}"),
        (["a", "b"], [0, 7], f"labels has 7; {NUMBERED}"),
    ],
)
def test_bad_input(texts, labels, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        describe_clusters(texts, np.eye(2), labels)
    assert str(caught.value) == message


@pytest.mark.parametrize("option", ["n_keywords", "n_representatives"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_bad_limits(option, value):
    with pytest.raises(
        (TypeError, ValueError), match=f"^{option} must be a whole number at least 1, but it is {value}"
    ):
        describe_clusters(["a", "b"], np.eye(2), [0, 1], **{option: value})


def test_texts_that_were_sent_once_each_are_described_as_before():
    groups = [[f"{word} {other} {i}" for i in range(9)] for word, other in (("refund", "please"), ("app", "crashes"))]
    plain = describe(groups)
    assert describe(groups, counts=[1] * 18) == plain
    assert describe(groups, counts=[7] * 18) == plain  # in a sample, every text stands for several


def test_a_text_counts_as_often_as_it_was_sent():
    texts = [f"refund of order number{i}" for i in range(30)] + ["Thank you for your patience"]
    X = np.random.default_rng(0).standard_normal((31, 4))
    (rare,) = describe_clusters(texts, X, np.zeros(31, int))
    (frequent,) = describe_clusters(texts, X, np.zeros(31, int), counts=[1] * 30 + [4_000])
    assert rare.name == "order / refund"
    assert frequent.name.startswith("patience")
    assert frequent.representatives[0] == 30
    (twice,) = describe_clusters(texts, X, np.zeros(31, int), counts=[1] * 30 + [2])
    assert 30 not in twice.representatives[:1]
