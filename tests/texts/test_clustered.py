"""The record of a clustering, the facts that follow from it, and a notebook, where nothing in a text is run."""

import html
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.clustered import ClusteredTexts, Hierarchy, clusters_of, framed, with_count

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
    assert (
        repr(ts.cluster_texts(["parcel late"], embeddings=[[1, 0]]))
        == "1 text in 1 group, weak: there is only one text"
    )


def test_typical_texts_have_counts(result):
    first = result.clusters[result.codes[0]]
    counts = dict(zip(result.typical_texts(first), result.typical_counts(first), strict=True))
    assert counts == {"parcel late": 2, "parcel lost": 1}
    assert with_count("thank you", 5000) == "5,000 × thank you"
    assert with_count("thank you", None) == with_count("thank you", 1) == "thank you"
    columns = clusters_of(result)
    assert columns.labels == [0, 1, 2]
    assert [texts[0].removeprefix("2 × ") in TEXTS for texts in columns.typical_texts] == [True] * 3


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [0, 0, 0, 0, 0]])
def test_a_tree_is_built_around_any_grouping(result, labels):
    clusters = result.clusters[: max(labels) + 1]
    regrouped = replace(result, distinct_codes=np.array(labels), clusters=clusters, hierarchy=None)
    hierarchy = regrouped.with_hierarchy().hierarchy
    assert isinstance(hierarchy, Hierarchy)
    assert hierarchy.has_cut(np.array(labels))
    assert not hierarchy.has_cut(np.array([0, 1, 1, 0, 2]))
    assert hierarchy.of_leaves(np.array(labels))[hierarchy.leaves].tolist() == labels


PAYLOAD = "<img src=x onerror=globalThis.hacked=1>"


@pytest.fixture(scope="module")
def hostile():
    X = np.repeat(np.eye(12, dtype=np.float32), 3, axis=0)
    X[-1] = X[0]
    texts = [f"{PAYLOAD} {'abcdefghijkl'[i // 3]} {i}" for i in range(36)]
    return ts.cluster_texts([*texts, " "], embeddings=[*X, X[0]], n_clusters=12)


def test_the_largest_groups_and_the_levels_are_page(hostile):
    page = hostile._repr_html_()
    assert page.startswith("<div><b>12 groups</b> in 36 of 37 texts, Cohesion Ratio ")
    assert page.count("<tr>") == 11
    assert "and 2 smaller; <code>show()</code> has all of them" in page
    sizes = [int(size) for size in re.findall(r"<td[^>]*>(\d+)</td><td[^>]*>[\d.]+%", page)]
    assert sizes == sorted((cluster.size for cluster in hostile.clusters), reverse=True)[:10]
    estimated = ts.cluster_texts([f"t{i}" for i in range(160)], embeddings=np.repeat(np.eye(8), 20, axis=0))
    assert "levels: coarse 4 (score " in estimated._repr_html_()


def test_names_keywords_and_notes_are_escaped(hostile):
    renamed = hostile.rename({cluster.label: f"{PAYLOAD} {cluster.label}" for cluster in hostile.clusters})
    page = replace(renamed, notes=(PAYLOAD,))._repr_html_()
    assert "<img" not in page
    assert html.escape(PAYLOAD) in page


def test_the_page_is_a_string_or_a_file(hostile, tmp_path):
    assert hostile.report(tmp_path / "report.html") is None
    page = ts.write_report(hostile, model="report.model")  # a file knows the name of its model
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    with pytest.raises(ts.UserError, match="exists already"):
        hostile.report(tmp_path / "report.html")


def test_the_frame_keeps_the_page_apart():
    page = '<p title="a">\'&</p></iframe><script>1</script>'
    frame = framed(page, 500)
    assert html.unescape(re.search('srcdoc="([^"]*)"', frame)[1]) == page
    assert frame.count("<iframe") == frame.count("</iframe>") == 1
    assert "<script" not in frame
    assert "allow-same-origin" not in frame


def test_show_displays_the_page_in_a_frame(hostile, capsys):
    pytest.importorskip("IPython")
    hostile.show(height=300)
    assert "text/html" in capsys.readouterr().out  # outside a notebook, IPython prints what it would show


def test_show_needs_a_height(hostile):
    pytest.importorskip("IPython")
    with pytest.raises(ts.UserError, match="height must be"):
        hostile.show(height=0)
