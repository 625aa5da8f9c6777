import pytest

import textspectra as ts

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
