"""Show an estimate: as HTML with a small drawing, for notebooks, and as a figure of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimate import KEstimate, Suggestion
    from .spectral import Spectrum

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 170, 36, 34, 18  # pixels of the drawing, and of its edges
LETTER, TICK_GAP = 6.2, 34  # pixels of a letter, and between two ticks, at least
ROUND = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))  # the ticks of a logarithmic axis
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 3, "frameon": False}


def estimate_html(estimate: KEstimate) -> str:
    """Return an estimate as HTML."""
    answer, _, source = repr(estimate).partition(",")
    parts = [f"<b>{escape(answer)}</b>{escape(',' + source if source else '')}"]
    if len(estimate.suggestions) > 1:
        parts.append(levels_html(estimate.suggestions, estimate.k))
    marks = {level.k: f"{level.name}: {level.k}" for level in estimate.suggestions}
    agreement, spectrum = estimate.agreement, estimate.spectrum
    if agreement is not None:
        score = np.clip(agreement.score, 0, 1).tolist()
        parts.append(curve_svg(agreement.k.tolist(), score, "number of groups", "score of agreement", marks))
    elif spectrum is not None:
        n = min(len(spectrum.eigenvalues), max(30, 4 * estimate.k))
        values, marks = spectrum.eigenvalues[:n].astype(float).tolist(), {estimate.k: f"k = {estimate.k}"}
        parts.append(curve_svg(range(1, n + 1), values, "index of the eigenvalue", "eigenvalue", marks))
    return "".join(f"<div>{part}</div>" for part in parts)


def levels_html(suggestions: Sequence[Suggestion], current: int) -> str:
    """Return the levels with the score of each; the current one is bold."""
    names = [f"{level.name} {level.k}" for level in suggestions]
    bold = [f"<b>{name}</b>" if level.k == current else name for name, level in zip(names, suggestions, strict=True)]
    scored = [f"{name} (score {level.score:.2f})" for name, level in zip(bold, suggestions, strict=True)]
    return f"levels: {' · '.join(scored)}"


def curve_svg(xs: Sequence[float], ys: Sequence[float], x_title: str, y_title: str, marks: Mapping[int, str]) -> str:
    """Draw a curve over a logarithmic axis, with names for marked x, in the colors of the page around it."""
    low, high = xs[0], max(xs[-1], xs[0] + 1)
    top = max(1.0, *ys)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * math.log(x / low) / math.log(high / low)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - y / top)

    points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [_line(LEFT, down(y), WIDTH - 8, down(y), 'opacity="0.15"') for y in (0, top / 2, top)]
    parts += [_text(LEFT - 5, down(y) + 4, f"{y:.1f}", "end") for y in (0, top / 2, top)]
    last = -math.inf
    for x in (x for x in ROUND if low <= x <= high):
        if across(x) - last >= TICK_GAP:
            parts.append(_text(across(x), HEIGHT - BOTTOM + 14, str(x), "middle"))
            last = across(x)
    last = -math.inf
    for x, name in sorted((x, name) for x, name in marks.items() if low <= x <= high):
        parts.append(_line(across(x), TOP, across(x), down(0), 'stroke-dasharray="4 3" opacity="0.6"'))
        right = across(x) > 0.8 * WIDTH
        start = across(x) - (LETTER * len(name) if right else 0)
        if start > last:
            parts.append(_text(across(x), TOP - 5, name, "end" if right else "start"))
            last = start + LETTER * len(name)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 3, f"{x_title} (logarithmic scale)", "middle"))
    title = escape(f"{y_title} over the {x_title}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" stroke="none"><title>{title}</title>'
        f"{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" {style}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _new_axes() -> Axes:
    pyplot = require("matplotlib.pyplot", extra="plot")
    axes: Axes = pyplot.figure(figsize=(8, 4), layout="constrained").add_subplot()
    return axes


def plot_spectrum(estimate: KEstimate, spectrum: Spectrum, ax: Axes | None) -> Axes:
    """Draw the spectrum, its normalized differences and the jump: Figure 1 of the paper."""
    ax = _new_axes() if ax is None else ax
    size = len(spectrum.eigenvalues)
    half = size // 2
    ax.plot(np.arange(1, half + 1), spectrum.eigenvalues[:half], color="#1f4e79", label="eigenvalue λ")
    ax.set(xlabel="index of the eigenvalue", ylabel="eigenvalue", title=repr(estimate).partition(",")[0])
    k = min(estimate.k, size)
    if spectrum.fallback_fraction < 1:
        ax.axvspan(max(1, k - spectrum.window + 1), k, color="0.85", label="window of the moving average")
    ax.axvline(k, color="#333333", linestyle="--", label=f"k = {estimate.k}")

    right = ax.twinx()
    first = spectrum.window + 1
    index = np.arange(first, first + len(spectrum.deltas))
    right.plot(index, spectrum.deltas, ":", color="#c55a11", label="difference δ")
    right.axhline(spectrum.threshold, color="#c55a11", linestyle="--", linewidth=0.8, label="threshold")
    right.set_ylabel("normalized difference δ")
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = right.get_legend_handles_labels()
    ax.legend(handles + more_handles, labels + more_labels, **BELOW)
    return ax


def plot_agreement(estimate: KEstimate, ax: Axes | None) -> Axes:
    """Draw over k how well halves of the data agree, the score that k is read off, and the levels."""
    ax = _new_axes() if ax is None else ax
    ax.set(xlabel="number of groups k", ylabel="agreement", title=repr(estimate).partition(",")[0].partition(";")[0])
    agreement = estimate.agreement
    if agreement is None:
        return ax
    ax.set_xscale("log")
    ax.plot(agreement.k, agreement.halves, color="0.6", label="two halves of the data")
    ax.plot(agreement.k, agreement.score, color="#1f4e79", label="score: less for splits with more behind them")
    if estimate.k > 1:
        ax.axvspan(*estimate.interval, color="0.93", label="95 % interval")
    for suggestion in estimate.suggestions:
        style, name = "-" if suggestion.name == "suggested" else "--", f"{suggestion.name}: {suggestion.k}"
        ax.axvline(suggestion.k, color="#c55a11", linestyle=style, linewidth=1, label=name)
    ticks = [k for k in ROUND if agreement.k[0] <= k <= agreement.k[-1]]
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.legend(**BELOW)
    return ax
