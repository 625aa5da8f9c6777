"""An estimate as HTML, for notebooks: the answer, the levels, and the curve as a small drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .estimate import KEstimate, Suggestion

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 170, 36, 34, 18
"""Pixels of the drawing, and of its edges."""

ROUND = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))
"""Numbers at the ticks of a logarithmic axis."""

TICK_GAP = 34
"""Pixels between two ticks, at least."""

LETTER = 6.2
"""Pixels of a letter."""


class Curve(NamedTuple):
    """What is drawn: values over numbers from 1 on, and what the axes are."""

    x: Sequence[float]
    y: Sequence[float]
    x_title: str
    y_title: str
    marks: dict[int, str]  # names of some x


def estimate_html(estimate: KEstimate) -> str:
    """Return an estimate as HTML."""
    answer, _, source = repr(estimate).partition(",")
    parts = [f"<b>{escape(answer)}</b>{escape(',' + source if source else '')}"]
    if len(estimate.suggestions) > 1:
        parts.append(levels_html(estimate.suggestions, estimate.k))
    curve = _curve(estimate)
    if curve is not None:
        parts.append(curve_svg(curve))
    return "".join(f"<div>{part}</div>" for part in parts)


def levels_html(suggestions: Sequence[Suggestion], shown: int) -> str:
    """Return the levels with the score of each; the one that is shown is bold.

    Examples
    --------
    >>> from textspectra.granularity.estimate import Suggestion
    >>> levels_html([Suggestion("coarse", 3, 0.6), Suggestion("suggested", 8, 0.71)], 8)
    'levels: coarse 3 (score 0.60) · <b>suggested 8</b> (score 0.71)'
    """
    words = [
        f"{f'<b>{one.name} {one.k}</b>' if one.k == shown else f'{one.name} {one.k}'} (score {one.score:.2f})"
        for one in suggestions
    ]
    return f"levels: {' · '.join(words)}"


def _curve(estimate: KEstimate) -> Curve | None:
    """Return the curve behind an estimate: the score over k, or the eigenvalues; None if there is none."""
    marks = {one.k: f"{one.name}: {one.k}" for one in estimate.suggestions}
    agreement, spectrum = estimate.agreement, estimate.spectrum
    if agreement is not None:
        score = np.clip(agreement.score, 0, 1)
        return Curve(agreement.k.tolist(), score.tolist(), "number of groups", "score of agreement", marks)
    if spectrum is None:
        return None
    n = min(len(spectrum.eigenvalues), max(30, 4 * estimate.k))
    values = spectrum.eigenvalues[:n].astype(float).tolist()
    return Curve(range(1, n + 1), values, "index of the eigenvalue", "eigenvalue", {estimate.k: f"k = {estimate.k}"})


def curve_svg(curve: Curve) -> str:
    """Draw a curve over a logarithmic axis. It takes the colours of the page around it.

    Examples
    --------
    >>> curve_svg(Curve([2, 4, 8], [0.1, 0.6, 0.3], "number of groups", "score", {4: "suggested: 4"}))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    low, high = curve.x[0], max(curve.x[-1], curve.x[0] + 1)
    top = max(1.0, *curve.y)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * math.log(x / low) / math.log(high / low)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - y / top)

    points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True))
    parts = [_line(LEFT, down(y), WIDTH - 8, down(y), 'opacity="0.15"') for y in (0, top / 2, top)]
    parts += [_text(LEFT - 5, down(y) + 4, f"{y:.1f}", "end") for y in (0, top / 2, top)]
    last = -math.inf
    for x in (x for x in ROUND if low <= x <= high):
        if across(x) - last >= TICK_GAP:
            parts.append(_text(across(x), HEIGHT - BOTTOM + 14, str(x), "middle"))
            last = across(x)
    last = -math.inf
    for x, name in sorted((x, name) for x, name in curve.marks.items() if low <= x <= high):
        parts.append(_line(across(x), TOP, across(x), down(0), 'stroke-dasharray="4 3" opacity="0.6"'))
        right = across(x) > 0.8 * WIDTH
        start = across(x) - (LETTER * len(name) if right else 0)
        if start > last:
            parts.append(_text(across(x), TOP - 5, name, "end" if right else "start"))
            last = start + LETTER * len(name)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 3, f"{curve.x_title} (logarithmic scale)", "middle"))
    title = escape(f"{curve.y_title} over the {curve.x_title}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" stroke="none"><title>{title}</title>'
        f"{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" {style}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
