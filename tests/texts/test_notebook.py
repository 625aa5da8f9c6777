"""A result in a notebook: nothing that a text brings is run."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import textspectra as ts
from textspectra.texts.notebook import framed

PAYLOAD = "<img src=x onerror=globalThis.hacked=1>"


@pytest.fixture(scope="module")
def result():
    X = np.repeat(np.eye(12, dtype=np.float32), 3, axis=0)
    X[-1] = X[0]
    texts = [f"{PAYLOAD} {'abcdefghijkl'[i // 3]} {i}" for i in range(36)]
    return ts.cluster_texts([*texts, " "], embeddings=[*X, X[0]], n_clusters=12)


def test_the_largest_groups_and_the_levels_are_shown(result):
    shown = result._repr_html_()
    assert shown.startswith("<div><b>12 groups</b> in 36 of 37 texts, Cohesion Ratio ")
    assert shown.count("<tr>") == 11
    assert "and 2 smaller; <code>show()</code> has all of them" in shown
    sizes = [int(size) for size in re.findall(r"<td[^>]*>(\d+)</td><td[^>]*>[\d.]+%", shown)]
    assert sizes == sorted((cluster.size for cluster in result.clusters), reverse=True)[:10]
    estimated = ts.cluster_texts([f"t{i}" for i in range(160)], embeddings=np.repeat(np.eye(8), 20, axis=0))
    assert "levels: coarse 4 (score " in estimated._repr_html_()


def test_names_keywords_and_notes_are_escaped(result):
    hostile = result.rename({cluster.label: f"{PAYLOAD} {cluster.label}" for cluster in result.clusters})
    shown = replace(hostile, notes=(PAYLOAD,))._repr_html_()
    assert "<img" not in shown
    assert html.escape(PAYLOAD) in shown


def test_the_page_is_a_string_or_a_file(result, tmp_path):
    page = result.report()
    assert result.report(tmp_path / "report.html") is None
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    with pytest.raises(ts.UserError, match="exists already"):
        result.report(tmp_path / "report.html")


def test_the_frame_keeps_the_page_apart():
    page = '<p title="a">\'&</p></iframe><script>1</script>'
    frame = framed(page, 500)
    assert html.unescape(re.search('srcdoc="([^"]*)"', frame)[1]) == page
    assert frame.count("<iframe") == frame.count("</iframe>") == 1
    assert "<script" not in frame
    assert "allow-same-origin" not in frame


def test_show_displays_the_page_in_a_frame(result, capsys):
    pytest.importorskip("IPython")
    result.show(height=300)
    assert "text/html" in capsys.readouterr().out  # outside a notebook, IPython prints what it would show


def test_show_needs_a_height(result):
    pytest.importorskip("IPython")
    with pytest.raises(ts.UserError, match="height must be"):
        result.show(height=0)
