"""Colors are distinct."""

import numpy as np

from textspectra.report.page import appearances, color_distances, palette


def test_colors_can_be_told_apart():
    colors = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in palette(120)], float)
    seen = appearances(colors)
    gaps = np.array([color_distances(seen, seen[:, i]) for i in range(120)])
    np.fill_diagonal(gaps, np.inf)
    assert gaps[:20, :20].min() > 0.05
    assert gaps.min() > 0.02
    assert palette(300)[:120] == palette(120)
