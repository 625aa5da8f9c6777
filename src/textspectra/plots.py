"""Static figures, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .validation import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .kestimate import KEstimate


def plot_spectrum(estimate: KEstimate, ax: Axes | None = None) -> Axes:
    """Draw the evidence behind a :class:`KEstimate`: the paper's Figure 1."""
    pyplot = require("matplotlib.pyplot", extra="plot")
    if ax is None:
        ax = pyplot.figure(figsize=(8, 4), layout="constrained").add_subplot()
    size = len(estimate.eigenvalues)
    shown = slice(0, size // 2)
    index = np.arange(1, size + 1)
    ax.plot(index[shown], estimate.eigenvalues[shown], color="#1f4e79", label="eigenvalue λ")
    ax.set(xlabel="index of the eigenvalue", ylabel="eigenvalue", title=repr(estimate).partition(",")[0])
    k = min(estimate.k, size)
    if estimate.fallback_fraction < 1:
        ax.axvspan(max(1, k - estimate.window + 1), k, color="0.85", label="window of the moving average")
    ax.axvline(k, color="#333333", linestyle="--", label=f"k = {estimate.k}")

    right = ax.twinx()
    first = estimate.window + 1
    right.plot(
        np.arange(first, first + len(estimate.deltas)), estimate.deltas, ":", color="#c55a11", label="difference δ"
    )
    right.axhline(estimate.threshold, color="#c55a11", linestyle="--", linewidth=0.8, label="threshold")
    right.set_ylabel("normalized difference δ")
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = right.get_legend_handles_labels()
    ax.legend(handles + more_handles, labels + more_labels, loc="center right")
    return ax
