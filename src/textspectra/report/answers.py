"""The answer at the top of the page, in words, for every number of groups that the slider reaches."""

from __future__ import annotations

from typing import Any

from ..texts.clustered import EDITED
from ..texts.result import TextClustering
from .sentences import estimate_in_words, score_at, without_groups, worth_in_words

OF_A_MODEL = "These are the groups of the model that the texts were compared with, and the new ones."


def answers_at(result: TextClustering, curves: dict[str, list[float | None]], *, given: bool) -> dict[str, Any]:
    """Say which numbers of groups are plausible, and for 1, 2, ... groups how good they are.

    `curves` has the Cohesion Ratio and the silhouette of each number. `given` tells that the groups come from a model,
    so that nothing was estimated.
    """
    totals = result.totals
    without = without_groups(
        totals.grouped,
        totals.distinct,
        estimated=result.is_estimated,
    )
    if without and not given:
        return {"range": "", "worth": [without] * len(curves["cohesion"])}
    # Halves of the texts were compared on the groups that were found, and not on groups that were edited.
    is_edited = result.recipe.get("groups") == EDITED
    estimate = None if is_edited else result.k_estimate
    error = {result.n_clusters: 0.0 if result.cohesion is None else result.cohesion.standard_error}
    worth = [
        worth_in_words(ratio, k, error=error.get(k, 0.0), score=score_at(estimate, k), silhouette=silhouette)
        for k, (ratio, silhouette) in enumerate(zip(curves["cohesion"], curves["silhouette"], strict=True), start=1)
    ]
    if result.language_doubt:
        return {"range": "", "worth": [result.language_doubt] * len(worth)}
    origin = OF_A_MODEL if given else _origin(result, is_edited=is_edited)
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
