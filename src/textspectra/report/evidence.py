"""What a report shows of a :class:`KEstimate`; the only place of the report that looks into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kestimate import KEstimate

MARKS = ("coarse", "suggested", "fine")


def k_evidence(estimate: KEstimate) -> dict[str, Any]:
    """Return the estimate, its interval, the suggestions and the curves behind them, ready for JSON.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> evidence = k_evidence(ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0))
    >>> evidence["k"], evidence["suggestions"][1]
    (8, {'name': 'suggested', 'k': 8})
    """
    half = len(estimate.eigenvalues) // 2
    values, counts = np.unique(estimate.replicates, return_counts=True)
    low, high = estimate.interval
    return {
        "k": estimate.k,
        "interval": [low, high],
        "suggestions": [{"name": name, "k": k} for name, k in zip(MARKS, (low, estimate.k, high), strict=True)],
        "fallback": estimate.fallback_fraction,
        "sample": len(estimate.eigenvalues),
        "rows": estimate.n_samples,
        "eigenvalues": estimate.eigenvalues[:half].astype(float).round(6).tolist(),
        "deltas": estimate.deltas.astype(float).round(6).tolist(),
        "threshold": estimate.threshold,
        "window": estimate.window,
        "replicates": {"k": values.tolist(), "count": counts.tolist()},
    }
