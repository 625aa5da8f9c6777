"""The answer at the top of the page, in words, for every number of groups that the slider reaches."""

from __future__ import annotations

from typing import Any

from ..texts.result import TextClustering
from .sentences import estimate_in_words, score_at, without_groups, worth_in_words

OF_A_MODEL = "The groups are those of the model that the texts were compared with, and the new ones."


def answers_at(result: TextClustering, curves: dict[str, list[float | None]], *, given: bool) -> dict[str, Any]:
    """Say which numbers of groups are plausible, and for 1, 2, ... groups how good they are.

    `curves` has the Cohesion Ratio and the silhouette of each number. `given` tells that the groups come from a model,
    so that nothing was estimated.
    """
    estimate, totals = result.k_estimate, result.totals
    without = without_groups(totals.grouped, totals.distinct, estimated=estimate is not None)
    if without and not given:
        return {"range": "", "worth": [without] * len(curves["cohesion"])}
    error = {result.n_clusters: 0.0 if result.cohesion is None else result.cohesion.standard_error}
    worth = [
        worth_in_words(ratio, k, error=error.get(k, 0.0), score=score_at(estimate, k), silhouette=silhouette)
        for k, (ratio, silhouette) in enumerate(zip(curves["cohesion"], curves["silhouette"], strict=True), start=1)
    ]
    if result.language_doubt:
        return {"range": "", "worth": [result.language_doubt] * len(worth)}
    return {"range": OF_A_MODEL if given else estimate_in_words(estimate, result.n_clusters), "worth": worth}
