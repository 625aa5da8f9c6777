"""Estimate k, find the groups, score them: what the estimators and the pipeline for texts have in common."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..arrays.engine import as_given
from ..arrays.rows import check_rows
from ..errors import UserError
from ..granularity.estimate import KEstimate, count_rows, estimate_from_rows
from ..metrics.cohesion import CohesionReport, report_if_defined
from ..validation import Level, RandomState, check_n_clusters, check_n_jobs, check_weights, make_seed
from .agglomerative import group_by_ward, with_tree
from .groups import Groups
from .kmeans import group_by_kmeans

Algorithm = Literal["kmeans", "hac"]


@dataclass(frozen=True, eq=False)
class Found(Groups):
    """Groups, with the estimate behind their number (None if it was given) and their cohesion (None if undefined)."""

    estimate: KEstimate | None = None
    cohesion: CohesionReport | None = None


def find_groups(
    X: Any,
    sample_weight: Any = None,
    *,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    refine: bool = True,
    hierarchy: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Found:
    """Find groups of the rows of `X`, a checked array; the parameters are those of :class:`textspectra.AutoKMeans`.

    Groups are found at the suggested number, and the other levels are cuts of the tree around them, so that each level
    nests in the next. With `hierarchy`, the tree and the estimate are there in any case: then a number within the
    levels is a cut of the same tree, too, and the tree of any other number is around the groups found at it.

    Examples
    --------
    >>> import numpy as np
    >>> find_groups(np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), n_clusters=2).labels
    array([0, 0, 1])
    """
    weights, largest = check_weights(sample_weight, X)
    asked = check_n_clusters(n_clusters, len(X))
    if not isinstance(refine, bool | np.bool_):
        raise UserError(f"refine must be True or False, but it is {refine!r}.")
    check_n_jobs(n_jobs)
    check_rows(X, n_jobs=n_jobs)
    seed = make_seed(random_state)
    estimate = None
    if hierarchy or isinstance(asked, str):
        estimate = estimate_from_rows(count_rows(X, weights), random_state=seed, n_jobs=n_jobs)
    k, base = _numbers(asked, estimate)
    # Streams of their own, so that the clusters at a given k do not depend on whether k was estimated.
    _, rng = np.random.default_rng(seed).spawn(2)
    relative = None if weights is None else weights / largest
    if algorithm == "hac" and not refine:
        groups = group_by_ward(X, relative, k, rng, n_jobs=n_jobs)
    else:
        groups = group_by_kmeans(X, relative, base, rng, refine=bool(refine), n_jobs=n_jobs)
        if hierarchy or algorithm == "hac" or k != base:
            groups = with_tree(X, relative, groups, rng, k=None if k == base else k, n_jobs=n_jobs)
    if len(groups.centers) < k:
        _warn_of_fewer(len(groups.centers), k)
    cohesion = report_if_defined(X, groups.labels, len(groups.centers), random_state=seed, known=groups.known)
    return Found(**{**vars(groups), "labels": as_given(groups.labels, X)}, estimate=estimate, cohesion=cohesion)


def _numbers(asked: int | Level, estimate: KEstimate | None) -> tuple[int, int]:
    """Return the number of groups to return, and the number at which they are found, before they are merged or split.

    Far from the suggested number, a fit is better than a cut; within the levels, both are as good.
    """
    if estimate is None:
        return int(asked), int(asked)
    k = estimate.at(asked) if isinstance(asked, str) else asked
    levels = [suggestion.k for suggestion in estimate.suggestions]
    return k, estimate.k if min(levels) <= k <= max(levels) else k


def _warn_of_fewer(found: int, asked: int) -> None:
    from sklearn.exceptions import ConvergenceWarning  # late: the command line does without scikit-learn

    warnings.warn(
        f"{asked} clusters were asked for, but only {found} could be told apart; there are few distinct rows.",
        ConvergenceWarning,
        stacklevel=4,
    )
