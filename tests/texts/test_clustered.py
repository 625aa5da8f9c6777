"""The record of a clustering, and the facts that follow from it."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.clustered import ClusteredTexts, Hierarchy, build_hierarchy, clusters_of, with_count

X = np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1], [0, 0, 1], [1, 0, 0]], np.float32)
TEXTS = ["parcel late", "parcel lost", "login fails", "login slow", "refund please", "parcel late"]


@pytest.fixture(scope="module")
def result():
    return ts.cluster_texts([*TEXTS, ""], embeddings=[*X, [0, 0, 0]], n_clusters=3)


def test_a_result_is_a_record_that_does_not_change(result):
    assert isinstance(result, ClusteredTexts)
    with pytest.raises(FrozenInstanceError):
        result.notes = ()
    for name in ("labels", "similarity", "codes"):
        assert getattr(result, name) is getattr(result, name)  # computed once
        with pytest.raises(ValueError, match="read-only"):
            getattr(result, name)[0] = 7


def test_views_by_row_agree(result):
    merged = result.merge(1, 2)
    assert merged.labels.tolist() == merged.labels_of(merged.codes).tolist() == [0, 0, 1, 1, 1, 0, -1]
    assert merged.names[:6] == [merged.clusters[code].name for code in merged.codes[:6]]
    assert merged.names[6] is None
    assert np.isnan(merged.similarity[6])
    assert np.array_equal(merged.embeddings()[:6], X)


def test_a_label_that_no_cluster_has_is_refused_with_the_ones_there_are(result):
    assert result.position(2) == 2
    for label in (3, True):
        with pytest.raises(UserError, match=f"No cluster has the label {label}; the labels are 0 to 2"):
            result.position(label)
    with pytest.raises(UserError, match="the labels are 0 and 2"):
        result.merge(0, 1).position(1)


def test_the_text_of_a_result_counts_right(result):
    assert repr(result).startswith("7 texts in 3 groups, Cohesion Ratio ")
    assert repr(ts.cluster_texts(["parcel late"], embeddings=[[1, 0]])) == "1 text in 1 group"


def test_typical_texts_have_counts(result):
    first = result.clusters[result.codes[0]]
    counts = dict(zip(result.typical_texts(first), result.typical_counts(first), strict=True))
    assert counts == {"parcel late": 2, "parcel lost": 1}
    assert with_count("thank you", 5000) == "5,000 × thank you"
    assert with_count("thank you", None) == with_count("thank you", 1) == "thank you"
    columns = clusters_of(result)
    assert columns.labels == [0, 1, 2]
    assert [text.removeprefix("2 × ") in TEXTS for text in columns.typical_texts] == [True] * 3


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [0, 0, 0, 0, 0]])
def test_a_tree_is_built_around_any_grouping(result, labels):
    hierarchy = build_hierarchy(result.embedded(), np.array(labels))
    assert isinstance(hierarchy, Hierarchy)
    assert hierarchy.has_cut(np.array(labels))
    assert not hierarchy.has_cut(np.array([0, 1, 1, 0, 2]))
    assert hierarchy.of_leaves(np.array(labels))[hierarchy.leaves].tolist() == labels
