"""The answer at the top of the page, in words, for every number of groups that the slider reaches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.agreement import Agreement
from ..core.estimate import KEstimate, estimate_from_rows
from ..core.rows import CountedRows
from ..core.spectral import Rule
from ..texts.clustered import EDITED
from ..texts.comparison import Comparison
from ..texts.history import ClusterChange
from ..texts.result import TextClustering
from ..texts.sentences import estimate_in_words, level_in_words, overriding_doubt, verdict
from ..words.tokens import clean_text

OF_A_MODEL = "These are the groups of the model that the texts were compared with, and the new ones."


def answers_at(result: TextClustering, curves: dict[str, list[float | None]], *, given: bool) -> dict[str, Any]:
    """Say which numbers of groups are plausible, and for 1, 2, ... groups how good they are.

    `curves` has the Cohesion Ratio and the silhouette of each number. `given` tells that the groups come from a model,
    so that nothing was estimated.
    """
    worth = [
        verdict(result, silhouette, k=k, ratio=ratio)
        for k, (ratio, silhouette) in enumerate(zip(curves["cohesion"], curves["silhouette"], strict=True), start=1)
    ]
    if overriding_doubt(result):
        return {"range": "", "worth": worth}
    is_edited = result.recipe.get("groups") == EDITED
    origin = OF_A_MODEL if given else _origin(result, is_edited=is_edited)
    estimate = None if is_edited else result.k_estimate
    return {"range": origin or estimate_in_words(estimate, result.n_clusters), "worth": worth}


def _origin(result: TextClustering, *, is_edited: bool) -> str:
    """Say where the groups come from if their number was neither estimated nor given."""
    parts = []
    if result.history:
        added = sum(change.status == "new" for entry in result.history for change in entry.changes)
        updates = "1 update" if len(result.history) == 1 else f"{len(result.history)} updates"
        new = "no group" if not added else "1 new group" if added == 1 else f"{added} new groups"
        parts.append(f"The groups were found in the first texts of the model; {updates} since then added {new}.")
    if is_edited:
        parts.append(f"The groups were {'also ' if parts else ''}edited by hand.")
    return " ".join(parts)


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


MAX_TEXT = 160
"""Characters of the typical text of a new group."""


def describe_changes(
    result: TextClustering, changes: Comparison | Iterable[ClusterChange] | None, base: list[int]
) -> list[dict[str, Any]] | None:
    """Return the changes with the nodes of their groups, and with a text of each new one; the largest come first."""
    if changes is None:
        return None
    changes = changes.cluster_changes if isinstance(changes, Comparison) else changes
    at = {cluster.label: position for position, cluster in enumerate(result.clusters)}
    described = []
    for change in sorted(changes, key=lambda one: -abs(one.share_after - one.share_before)):
        place = None if change.status == "gone" else at.get(change.label)
        texts = [] if place is None else result.typical_texts(result.clusters[place])
        described.append({
            "node": None if place is None else base[place],
            "name": change.name,
            "status": change.status,
            "figures": _figures(change),
            "shares": [round(change.share_before, 5), round(change.share_after, 5)],
            "text": clean_text(texts[0], limit=MAX_TEXT) if texts and change.status == "new" else "",
        })  # fmt: skip
    return described


def _figures(change: ClusterChange) -> str:
    """Return what the page says of a group; a share may change while the number of texts stays."""
    same = change.keeps_count and change.status in ("growing", "shrinking")
    return f"{change.figures} (about the same number)" if same else change.figures
