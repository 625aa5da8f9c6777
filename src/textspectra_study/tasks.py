"""What can be computed in one cell of a study: an algorithm with its scores, or the material of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import ablations
from .algorithms import ALGORITHMS, Algorithm, scores
from .baselines import Clustering
from .results import Variant

REPRESENTATIVE_SIZE = 5000
"""Ablations and profiles are made on the largest stratified sample up to this size, or the whole set."""

Array = NDArray[np.float32]
Values = dict[str, Any]


class Task(NamedTuple):
    """Something to compute for the rows of one variant.

    Attributes
    ----------
    compute : callable
        ``compute(X, truth, seed)``; its time and memory are measured.
    tell : callable
        ``tell(outcome, X, truth, seed)`` turns what was computed into plain JSON values; not measured.
    code : tuple of str
        The modules of its own whose code decides the outcome.
    packages : tuple of str
        Other packages whose versions decide the outcome.
    max_rows : int or None
        More rows are not tried.
    """

    compute: Callable[[Array, NDArray[np.intp], int], Any]
    tell: Callable[[Any, Array, NDArray[np.intp], int], Values]
    code: tuple[str, ...]
    packages: tuple[str, ...] = ()
    max_rows: int | None = None


def representative(variants: Sequence[Variant]) -> list[Variant]:
    """Return one sample of each set: the largest stratified one of at most 5,000 rows, or the whole set.

    Examples
    --------
    >>> sizes = [Variant("a", "stratified", size, 4, 0) for size in (1000, 5000, 10_000)]
    >>> [variant.name for variant in representative([*sizes, Variant("b", "whole", 200, 17, 0)])]
    ['a-stratified-5000', 'b-whole-200']
    """
    chosen: dict[str, Variant] = {}
    for variant in variants:
        if variant.kind == "whole" or (variant.kind == "stratified" and variant.size <= REPRESENTATIVE_SIZE):
            chosen[variant.dataset] = max(variant, chosen.get(variant.dataset, variant), key=lambda one: one.size)
    return list(chosen.values())


def tasks_of(variant: Variant, variants: Sequence[Variant]) -> list[str]:
    """Return the names of the tasks for one of the variants of a study.

    Examples
    --------
    >>> bless = Variant("bless", "whole", 200, 17, 0)
    >>> len(tasks_of(bless, [bless])), len(tasks_of(bless._replace(kind="random"), [bless]))
    (27, 15)
    """
    names = list(ALGORITHMS)
    shown = representative(variants)
    if variant in shown:
        names += [name for name in TASKS if name not in ALGORITHMS and name != "spectrum"]
    if shown and variant == min(shown, key=lambda one: one.size):
        names.append("spectrum")
    return names


def _of(algorithm: Algorithm) -> Task:
    def compute(X: Array, truth: NDArray[np.intp], seed: int) -> Clustering:
        return algorithm.cluster(X, len(np.unique(truth)), seed)

    code = ("textspectra_study/baselines.py", "textspectra_study/algorithms.py")
    return Task(compute, scores, code, algorithm.packages, algorithm.max_rows)


def _material(compute: Callable[[Array, NDArray[np.intp], int], Values]) -> Task:
    return Task(compute, lambda outcome, X, truth, seed: outcome, ("textspectra_study/ablations.py",))


TASKS = {
    **{name: _of(algorithm) for name, algorithm in ALGORITHMS.items()},
    **{
        f"sweep-{'zscore' if zscore else 'raw'}-{tau}": _material(partial(ablations.sweep, zscore=zscore, tau=tau))
        for zscore in (False, True)
        for tau in ablations.TAUS
    },
    "profile-kmeans": _material(partial(ablations.profile, cuts=ablations.kmeans_cuts)),
    "profile-hac": _material(partial(ablations.profile, cuts=ablations.hac_cuts)),
    "similarity": _material(ablations.similarity),
    "spectrum": _material(ablations.spectrum),
}
