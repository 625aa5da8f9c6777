"""The answer at the top of the page, in words, for every number of groups that the slider reaches."""

from __future__ import annotations

from typing import Any

from ..texts.result import TextClustering
from .sentences import estimate_in_words, verdict_in_words, worth_in_words

OF_A_MODEL = "The groups are those of the model that the texts were compared with, and the new ones."


def answers_at(result: TextClustering, curves: dict[str, list[float | None]], *, given: bool) -> dict[str, Any]:
    """Return the sentences about the number of groups and about their worth, for 1, 2, ... groups.

    The groups of the result have its own Cohesion Ratio with its error; the others have those of `curves`. `given`
    tells that the groups come from a model, so that nothing was estimated.
    """
    estimate, ks = result.k_estimate, range(1, len(curves["cohesion"]) + 1)
    ratios, silhouettes = curves["cohesion"], curves["silhouette"]
    worth = [
        worth_in_words(result.cohesion, estimate, silhouettes[k - 1])
        if k == result.n_clusters
        else verdict_in_words(ratios[k - 1], k, estimate, silhouettes[k - 1])
        for k in ks
    ]
    return {"range": [OF_A_MODEL if given else estimate_in_words(estimate, k) for k in ks], "worth": worth}
