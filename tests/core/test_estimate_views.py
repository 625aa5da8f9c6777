"""An estimate in a notebook."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import textspectra as ts


def drawing(html):
    return ElementTree.fromstring(f"<div>{html}</div>").find(".//{http://www.w3.org/2000/svg}svg")  # noqa: S314


def test_the_curve_and_the_levels_are_shown():
    estimate = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0)
    html = estimate._repr_html_()
    assert html.startswith("<div><b>8 groups (95 % interval 8 to 8)</b>, on which two halves of the 160 rows agree")
    assert "levels: coarse 4 (score " in html
    assert "<b>suggested 8</b> (score 1.00)" in html
    svg = drawing(html)
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"5", "0.0", "1.0", "coarse: 4", "suggested: 8", "number of groups (logarithmic scale)"} <= set(texts)
    points = [point.split(",") for point in svg.find("{http://www.w3.org/2000/svg}polyline").get("points").split()]
    assert len(points) == len(estimate.agreement.k)
    heights = [float(y) for _, y in points]
    assert np.argmin(heights) == np.argmax(estimate.agreement.score)


def test_a_spectrum_is_drawn_and_no_structure_is_said(planted):
    spectral = ts.estimate_k(planted(4, 60, noise=0.1)[0], method="spectral")
    texts = [text.text for text in drawing(spectral._repr_html_()).iter("{http://www.w3.org/2000/svg}text")]
    assert f"k = {spectral.k}" in texts
    none = ts.estimate_k(np.random.default_rng(0).standard_normal((500, 12)), random_state=0)
    assert none._repr_html_().startswith("<div><b>1 group: no structure here; the rows lie like one cloud</b>, with no")


pytest.importorskip("matplotlib").use("Agg")


def test_plot_shows_the_curve_and_the_suggestions(planted):
    estimate = ts.estimate_k(planted(9, 500, d=48, noise=0.1)[0])
    texts = [text.get_text() for text in estimate.plot().get_legend().get_texts()]
    assert f"suggested: {estimate.k}" in texts
    assert "two halves of the data" in texts


def test_plot_shows_the_spectrum(planted):
    estimate = ts.estimate_k(planted(6, 400)[0], method="spectral")
    ax = estimate.plot()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"k = {estimate.k}" in texts
    assert {"eigenvalue λ", "difference δ", "threshold", "window of the moving average"} <= set(texts)
    assert len(ax.lines[0].get_xdata()) == 200
    ax.figure.canvas.draw()
