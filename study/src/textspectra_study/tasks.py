"""The tasks of a study: each algorithm with its scores, and the data behind each figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import ablations, readings
from .algorithms import ALGORITHMS, scores
from .results import Variant

REPRESENTATIVE_SIZE = 5000
"""Figures show the largest stratified sample up to this size, or the whole dataset."""

Array = NDArray[np.float32]
Values = dict[str, Any]


class Task(NamedTuple):
    """A computation on the rows of one variant.

    Attributes
    ----------
    compute : callable
        ``compute(X, truth, seed)``; its time and memory are measured.
    score : callable or None
        ``score(outcome, X, truth, seed)`` turns the outcome into plain JSON values, and is not measured; None if the
        outcome is plain already.
    packages : tuple of str
        Other packages whose versions decide the outcome.
    max_rows : int or None
        Larger samples are skipped.
    """

    compute: Callable[[Array, NDArray[np.intp], int], Any]
    score: Callable[[Any, Array, NDArray[np.intp], int], Values] | None = None
    packages: tuple[str, ...] = ()
    max_rows: int | None = None

    @property
    def modules(self) -> list[str]:
        """The modules that define its functions."""
        functions = [getattr(self.compute, "func", self.compute), self.score]  # a partial holds its function in `func`
        return sorted({function.__module__ for function in functions if function is not None})


def representative(variants: Sequence[Variant]) -> list[Variant]:
    """Return one sample of each dataset: the largest stratified one of at most 5,000 rows, or the whole dataset.

    Examples
    --------
    >>> sizes = [Variant("a", "stratified", size, 4, 0) for size in (1000, 5000, 10_000)]
    >>> [variant.name for variant in representative([*sizes, Variant("b", "whole", 200, 17, 0)])]
    ['a-stratified-5000', 'b-whole-200']
    """
    chosen: dict[str, Variant] = {}
    for variant in variants:
        if variant.kind == "whole" or (variant.kind == "stratified" and variant.size <= REPRESENTATIVE_SIZE):
            chosen[variant.dataset] = max(variant, chosen.get(variant.dataset, variant), key=lambda sample: sample.size)
    return list(chosen.values())


def tasks_of(variant: Variant, variants: Sequence[Variant]) -> list[str]:
    """Return the names of the tasks for one variant of a study.

    Examples
    --------
    >>> bless = Variant("bless", "whole", 200, 17, 0)
    >>> len(tasks_of(bless, [bless])), len(tasks_of(bless._replace(kind="random"), [bless]))
    (33, 18)
    """
    names = list(ALGORITHMS)
    representatives = representative(variants)
    if variant in representatives:
        names += [name for name in TASKS if name not in ALGORITHMS and name not in ONCE]
        names += [name for name, end in ONCE.items() if variant == end(representatives, key=lambda sample: sample.size)]
    return names


ONCE: dict[str, Callable[..., Variant]] = {"spectrum": min, "times": max}
"""Tasks for one dataset alone: the one whose sample is the smallest, or the largest."""


TASKS = {
    **{
        name: Task(algorithm.compute, scores, algorithm.packages, algorithm.max_rows)
        for name, algorithm in ALGORITHMS.items()
    },
    **{
        f"sweep-{'zscore' if zscore else 'raw'}-{tau}": Task(partial(ablations.sweep, zscore=zscore, tau=tau))
        for zscore in (False, True)
        for tau in ablations.TAUS
    },
    "profile-kmeans": Task(partial(ablations.profile, cuts=ablations.kmeans_cuts)),
    "profile-hac": Task(partial(ablations.profile, cuts=ablations.hac_cuts)),
    "similarity": Task(ablations.similarity),
    "spectrum": Task(ablations.spectrum),
    "settings": Task(readings.settings, packages=("igraph",)),
    "readings": Task(readings.readings, packages=("igraph",)),
    "times": Task(readings.times),
}
