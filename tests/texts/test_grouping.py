"""Other groups of the same texts: labels, rules and names."""

import numpy as np
import pytest

import textspectra as ts
from textspectra.texts.grouping import describe_grouping, label_clusters, positions_in, renamed, rule_of


@pytest.fixture(scope="module")
def result():
    texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten", "refund", "cash"]
    X = np.repeat(np.eye(3), 2, axis=0) + np.tile([[0.1, 0, 0], [0, 0.1, 0]], (3, 1))
    return ts.cluster_texts(texts, embeddings=X, n_clusters=3)


def test_groups_without_a_label_get_the_next_ones_by_their_rows():
    codes, counts = np.array([0, 1, 1, 2, -1]), np.array([5, 1, 1, 9, 50])
    assert label_clusters(codes, counts, {}, 0) == {2: 0, 0: 1, 1: 2}
    assert list(label_clusters(codes, counts, {1: 4}, 7).items()) == [(1, 4), (2, 7), (0, 8)]
    assert positions_in(codes, [2, 0, 1]).tolist() == [1, 2, 2, 0, -1]


def test_a_group_whose_texts_stay_the_same_keeps_its_label_and_name(result):
    merged = np.where(result.distinct_codes == 2, 1, result.distinct_codes)
    grouping = describe_grouping(result, merged)
    assert [cluster.label for cluster in grouping.clusters] == [0, 3]
    assert grouping.clusters[0].name == result.clusters[0].name
    fresh = describe_grouping(result, merged, fresh=True)
    assert [(cluster.label, cluster.size) for cluster in fresh.clusters] == [(0, 4), (1, 2)]


def test_the_rule_of_merged_groups_comes_from_the_old_rule(result):
    merged = np.where(result.distinct_codes == 2, 1, result.distinct_codes)
    assert rule_of(result, result.embedded(), merged, 2).n_clusters == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (" ", "must be a text that is not blank"),
        ("\ud800", "holds half of a character"),
        ("x" * 10_000, "has 10,000 characters"),
    ],
)
def test_names_that_are_not_possible_are_refused(result, name, message):
    with pytest.raises(ts.UserError, match=message):
        renamed(result.clusters, {0: name})
    with pytest.raises(ts.UserError, match="would both be called"):
        renamed(result.clusters, {0: result.clusters[1].name})
