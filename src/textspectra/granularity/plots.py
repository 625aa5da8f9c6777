"""Figures of an estimate, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..packages import require
from .estimate_html import ROUND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimate import KEstimate
    from .spectral import Spectrum


BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 3, "frameon": False}
"""Where the legend is: below the axes, where it hides no curve."""


def _new_axes() -> Axes:
    pyplot = require("matplotlib.pyplot", extra="plot")
    axes: Axes = pyplot.figure(figsize=(8, 4), layout="constrained").add_subplot()
    return axes


def plot_spectrum(estimate: KEstimate, spectrum: Spectrum, ax: Axes | None) -> Axes:
    """Draw the spectrum, its normalized differences and the jump: Figure 1 of the paper."""
    ax = _new_axes() if ax is None else ax
    size = len(spectrum.eigenvalues)
    shown = slice(0, size // 2)
    index = np.arange(1, size + 1)
    ax.plot(index[shown], spectrum.eigenvalues[shown], color="#1f4e79", label="eigenvalue λ")
    ax.set(xlabel="index of the eigenvalue", ylabel="eigenvalue", title=repr(estimate).partition(",")[0])
    k = min(estimate.k, size)
    if spectrum.fallback_fraction < 1:
        ax.axvspan(max(1, k - spectrum.window + 1), k, color="0.85", label="window of the moving average")
    ax.axvline(k, color="#333333", linestyle="--", label=f"k = {estimate.k}")

    right = ax.twinx()
    first = spectrum.window + 1
    right.plot(
        np.arange(first, first + len(spectrum.deltas)), spectrum.deltas, ":", color="#c55a11", label="difference δ"
    )
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
        style = "-" if suggestion.name == "suggested" else "--"
        ax.axvline(
            suggestion.k, color="#c55a11", linestyle=style, linewidth=1, label=f"{suggestion.name}: {suggestion.k}"
        )
    ticks = [k for k in ROUND if agreement.k[0] <= k <= agreement.k[-1]]
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.legend(**BELOW)
    return ax
