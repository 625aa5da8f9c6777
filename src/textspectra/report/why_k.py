"""The chapter "Why this number of groups": the curves and numbers behind a :class:`KEstimate`, ready for the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.rows import CountedRows
from ..granularity.estimate import KEstimate, estimate_from_rows
from ..granularity.reproducible import Agreement
from ..granularity.spectral import Rule
from .sentences import level_in_words

SPECTRA = 8
"""Number of random samples behind a spectrum that is only shown; the paper's estimate takes some hundred."""


def why_this_k(estimate: KEstimate, rows: CountedRows) -> dict[str, Any]:
    """Return the estimate, its interval, the suggestions and the curves behind them, ready for JSON.

    The page always shows a spectrum; it is computed here if the estimate was made without one.
    """
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "suggestions": [
            {**one._asdict(), "score": round(one.score, 4), "words": level_in_words(one.name, one.score)}
            for one in estimate.suggestions
        ],
        "agreement": None if estimate.agreement is None else _curves(estimate.agreement),
        "spectrum": _spectrum(estimate, rows),
    }


def _curves(agreement: Agreement) -> dict[str, list[float]]:
    curves = {"halves": agreement.halves, "score": agreement.score}
    return {"k": agreement.k.tolist(), **{name: values.round(4).tolist() for name, values in curves.items()}}


def _spectrum(estimate: KEstimate, rows: CountedRows) -> dict[str, Any]:
    spectrum = estimate.spectrum
    if spectrum is None:
        return _spectrum(estimate_from_rows(rows, "spectral", Rule(n_replicates=SPECTRA), random_state=0), rows)
    values, counts = np.unique(estimate.replicates, return_counts=True)
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "fallback": spectrum.fallback_fraction,
        "sample": len(spectrum.eigenvalues),
        "eigenvalues": spectrum.eigenvalues[: len(spectrum.eigenvalues) // 2].astype(float).round(6).tolist(),
        "deltas": spectrum.deltas.astype(float).round(6).tolist(),
        "threshold": spectrum.threshold,
        "window": spectrum.window,
        "replicates": {"k": values.tolist(), "count": counts.tolist()},
    }
