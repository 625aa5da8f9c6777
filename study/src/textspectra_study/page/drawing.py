"""The style of all figures, and SVG output that is reproducible byte by byte."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

INK, MUTED, LINE, PAPER = "#1d2129", "#5c6370", "#c9cdd2", "#ffffff"
"""The page replaces these colors by its light or dark theme."""

BLUE, ORANGE, GREEN, RED, SKY, PINK = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"
MARK = "figure of a textspectra study"
"""Every figure contains this mark, so that figures of an older page can be recognized."""

SERIES = (BLUE, ORANGE, GREEN, RED, SKY, PINK)
"""The palette of Okabe and Ito, which is safe for color-blind readers."""

STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "axes.grid": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
    "text.parse_math": False,
}


class Picture(NamedTuple):
    """A figure of the page.

    Attributes
    ----------
    name : str
        The name of its file without the suffix.
    svg : str
        The content of the file.
    alt : str
        A description for screen readers.
    """

    name: str
    svg: str
    alt: str


def draw(name: str, alt: str, size: tuple[float, float], paint: Callable[[Any], None]) -> Picture:
    """Call `paint` with an empty figure of `size` inches, and return the figure as SVG.

    Examples
    --------
    >>> def line(figure):
    ...     _ = figure.add_subplot().plot([1, 2], [1, 2])
    >>> first, second = (draw("line", "A line.", (3, 2), line) for _ in range(2))
    >>> first == second, first.svg.count("<svg")
    (True, 1)
    """
    import matplotlib
    from matplotlib.figure import Figure

    # The salt makes the ids in the file reproducible, and different from the ids of other figures on the page.
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size)
        paint(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = _compact(buffer.getvalue()).replace("<svg ", f'<svg data-textspectra="{MARK}" ', 1)
    return Picture(name, svg, alt)


def _compact(svg: str) -> str:
    """Drop comments, metadata and invisible decimals of coordinates."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'"[^"]*"', lambda value: re.sub(r"(\d\.\d{2})\d+", r"\1", value[0]), svg)
    return re.sub(r"\n\s*\n", "\n", svg)


def inline(picture: Picture, colors: dict[str, str]) -> str:
    """Return the SVG with other colors.

    Examples
    --------
    >>> inline(Picture("a", '<svg fill="#1d2129">', ""), {INK: "var(--ink)"})
    '<svg fill="var(--ink)">'
    """
    svg = picture.svg
    for color, replacement in colors.items():
        svg = svg.replace(color, replacement)
    return svg


def shaded(axes: Any, table: list[list[float | None]], *, colors: str, low: float, high: float, digits: int) -> None:
    """Draw a table of numbers as a heat map."""
    import matplotlib
    import numpy as np

    values = np.array([[np.nan if value is None else value for value in row] for row in table], float)
    scale = matplotlib.colors.Normalize(low, high, clip=True)
    palette = matplotlib.colormaps[colors]
    axes.pcolormesh(np.ma.masked_invalid(values), cmap=palette, norm=scale, edgecolors=PAPER, linewidth=1)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = palette(scale(value))
            ink = "#000000" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.55 else "#fefefe"
            text = f"{value:.{digits}f}".replace("-", "−")
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=8)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
