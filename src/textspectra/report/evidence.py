"""What a report shows of a :class:`KEstimate`; the only place of the report that looks into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.rows import CountedRows
from ..granularity.estimate import KEstimate, estimate_from_rows
from ..granularity.reproducible import Agreement


def k_evidence(estimate: KEstimate, rows: CountedRows) -> dict[str, Any]:
    """Return the estimate, its interval, the suggestions and the curves behind them, ready for JSON.

    The spectrum is shown whatever the estimate rests on.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.repeat(np.eye(8), 20, axis=0)
    >>> evidence = k_evidence(ts.estimate_k(X, random_state=0), CountedRows(X))
    >>> evidence["k"], evidence["suggestions"][-1], evidence["spectrum"]["k"]
    (8, {'name': 'suggested', 'k': 8, 'score': 1.0}, 8)
    """
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "method": estimate.method,
        "confidence": round(estimate.confidence, 4),
        "suggestions": [{**one._asdict(), "score": round(one.score, 4)} for one in estimate.suggestions],
        "agreement": None if estimate.agreement is None else _curves(estimate.agreement),
        "spectrum": _spectrum(estimate, rows),
    }


def _curves(agreement: Agreement) -> dict[str, list[float]]:
    curves = {"halves": agreement.halves, "null": agreement.null, "score": agreement.score}
    return {"k": agreement.k.tolist(), **{name: values.round(4).tolist() for name, values in curves.items()}}


def _spectrum(estimate: KEstimate, rows: CountedRows) -> dict[str, Any]:
    spectrum = estimate.spectrum
    if spectrum is None:
        return _spectrum(estimate_from_rows(rows, "spectral", random_state=0), rows)
    values, counts = np.unique(estimate.replicates, return_counts=True)
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "fallback": spectrum.fallback_fraction,
        "sample": len(spectrum.eigenvalues),
        "rows": estimate.n_samples,
        "eigenvalues": spectrum.eigenvalues[: len(spectrum.eigenvalues) // 2].astype(float).round(6).tolist(),
        "deltas": spectrum.deltas.astype(float).round(6).tolist(),
        "threshold": spectrum.threshold,
        "window": spectrum.window,
        "replicates": {"k": values.tolist(), "count": counts.tolist()},
    }
