"""The answer at the top of the page in words, for every number of groups, and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..core.estimate import KEstimate, estimate_from_rows
from ..core.rows import CountedRows
from ..core.spectral import Rule
from ..hygiene import plural
from ..texts.clustered import EDITED
from ..texts.comparison import Comparison
from ..texts.history import ClusterChange
from ..texts.result import TextClustering
from ..texts.sentences import estimate_in_words, level_in_words, overriding_doubt, verdict
from ..words.tokens import clean_text

OF_A_MODEL = "These are the groups of the model that the texts were compared with, and the new ones."
SPECTRA = 8  # random samples behind a spectrum that is only shown; the paper's estimate takes several hundred
MAX_QUOTE = 160  # characters of the typical text of a new group


def answer_texts(result: TextClustering, curves: dict[str, list[float | None]], *, compared: bool) -> dict[str, object]:
    """Say which numbers of groups are plausible, and how good the cuts into 1, 2, ... groups are by their curves.

    If the texts were `compared` with a model, nothing was estimated.
    """
    cuts = enumerate(zip(curves["cohesion"], curves["silhouette"], strict=True), start=1)
    worth = [verdict(result, silhouette, k=k, ratio=ratio, compared=compared) for k, (ratio, silhouette) in cuts]
    origin = OF_A_MODEL if compared else _origin(result) or estimate_in_words(result.k_estimate, result.n_clusters)
    return {"range": "" if overriding_doubt(result, compared=compared) else origin, "worth": worth}


def _origin(result: TextClustering) -> str:
    """Say where the groups come from if their number was neither estimated nor given."""
    parts = []
    if result.history:
        added = sum(change.status == "new" for entry in result.history for change in entry.changes)
        updates, new = plural(len(result.history), "update"), plural(added, "new group") if added else "no group"
        parts.append(f"The groups were found in the first texts of the model; {updates} since then added {new}.")
    if result.recipe.get("groups") == EDITED:
        parts.append(f"The groups were {'also ' if parts else ''}edited by hand.")
    return " ".join(parts)


def why_this_k(estimate: KEstimate, rows: CountedRows) -> dict[str, object]:
    """Return the estimate, its interval, the suggestions and the curves behind them, ready for JSON.

    The page always shows a spectrum; it is computed here if the estimate was made without one.
    """
    agreement = estimate.agreement
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "suggestions": [
            {"name": name, "k": k, "score": round(score, 4), "words": level_in_words(name, score)}
            for name, k, score in estimate.suggestions
        ],
        "agreement": agreement and {
            "k": agreement.k.tolist(),
            "halves": agreement.halves.round(4).tolist(),
            "score": agreement.score.round(4).tolist(),
        },
        "spectrum": _spectrum(estimate, rows),
    }  # fmt: skip


def _spectrum(estimate: KEstimate, rows: CountedRows) -> dict[str, object]:
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


def describe_changes(
    result: TextClustering, changes: Comparison | Iterable[ClusterChange] | None, base: list[int]
) -> list[dict[str, object]] | None:
    """Return the changes with the nodes of their groups, and with a text of each new one; the largest come first."""
    if changes is None:
        return None
    changes = changes.cluster_changes if isinstance(changes, Comparison) else changes
    place_of = {cluster.label: place for place, cluster in enumerate(result.clusters)}
    described: list[dict[str, object]] = []
    for change in sorted(changes, key=lambda change: -abs(change.share_after - change.share_before)):
        place = None if change.status == "gone" else place_of.get(change.label)
        texts = [] if place is None or change.status != "new" else result.typical_texts(result.clusters[place])
        # A share may change while the number of texts stays.
        same_count = change.keeps_count and change.status in ("growing", "shrinking")
        described.append({
            "node": None if place is None else base[place],
            "name": change.name,
            "status": change.status,
            "figures": f"{change.figures} (about the same number)" if same_count else change.figures,
            "shares": [round(change.share_before, 5), round(change.share_after, 5)],
            "text": clean_text(texts[0], limit=MAX_QUOTE) if texts else "",
        })  # fmt: skip
    return described
