"""K-Means on unit vectors, refined among neighbours or plain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.rows import SumsAndSizes
from ..clustering.centers import sample_centers, training_size
from ..clustering.lloyd import label_pass, moved_centers, nearest_rule
from ..clustering.numbering import largest_first
from ..clustering.refine import refined_rule
from .groups import Groups


def group_by_kmeans(
    X: Any, weights: Any, k: int, rng: np.random.Generator, *, refine: bool, n_jobs: int | None
) -> Groups:
    """Find `k` groups as :class:`textspectra.AutoKMeans` describes; weights of None stand for ones."""
    rule = refined_rule(X, weights, k, rng, n_jobs=n_jobs) if refine else None
    if rule is None:
        centers = sample_centers(X, weights, k, rng, n_jobs=n_jobs)
        rule = nearest_rule(centers)
        if len(X) > training_size(k):
            moved = label_pass(X, weights, rule, labelled=False, n_jobs=n_jobs)
            rule = nearest_rule(moved_centers(moved, centers))
    result = label_pass(X, weights, rule, n_jobs=n_jobs)
    labels, order = largest_first(result.labels, result.mass)
    lengths = np.einsum("ij,ij->i", result.sums, result.sums)[order]
    mass = result.mass[order]
    return Groups(
        labels,
        moved_centers(result, rule.directions)[order],
        rule.numbered(order),
        known=SumsAndSizes(result.sums[order], mass.astype(np.intp)) if weights is None else None,
        inertia=max(float((mass - lengths / np.maximum(mass, np.finfo(float).tiny)).sum()), 0.0),
    )
