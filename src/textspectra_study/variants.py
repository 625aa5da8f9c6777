"""Samples of the sets: which there are, and which rows each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .datasets import Dataset
from .results import Variant


def plan_variants(datasets: Sequence[Dataset], *, seed: int = 0, max_size: int | None = None) -> list[Variant]:
    """List the samples of some sets: a random and a stratified one at each size, or the whole set where it is small.

    Parameters
    ----------
    datasets : sequence of Dataset
    seed : int, default=0
    max_size : int, optional
        Leave out larger samples; a set that is taken whole is none.

    Examples
    --------
    >>> labels = np.arange(1200) % 3
    >>> large = Dataset("large", "Large", [""] * 1200, labels, (500, 1000, 2000), "a.csv", None, np.arange(1200))
    >>> [variant.name for variant in plan_variants([large], max_size=600)]
    ['large-random-500', 'large-stratified-500']
    >>> [variant.name for variant in plan_variants([large._replace(sizes=())])]
    ['large-whole-1200']
    """
    return [variant for dataset in datasets for variant in _variants_of(dataset, seed, max_size or len(dataset.texts))]


def variant_rows(variant: Variant, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of a sample, in random order; the same on every machine.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [75, 25])
    >>> rows = variant_rows(Variant("a", "stratified", 12, 2, 0), labels)
    >>> np.bincount(labels[rows])
    array([9, 3])
    """
    # NumPy promises that the numbers of this generator never change; for its successors it does not.
    order = np.random.RandomState(variant.seed).permutation(len(labels))
    if variant.kind != "stratified":
        return order[: variant.size]
    quota = _quotas(np.bincount(labels), variant.size)
    by_class = np.argsort(labels[order], kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(labels))[:-1]])
    rank = np.empty(len(labels), np.intp)
    rank[by_class] = np.arange(len(labels)) - first[labels[order][by_class]]
    return order[rank < quota[labels[order]]]


def _variants_of(dataset: Dataset, seed: int, max_size: int) -> Iterator[Variant]:
    n = len(dataset.texts)
    sizes = [size for size in dataset.sizes if size < n]
    if not sizes:
        yield Variant(dataset.name, "whole", n, len(np.unique(dataset.labels)), seed)
    for size in sizes:
        if size > max_size:
            continue
        for kind in ("random", "stratified"):
            variant = Variant(dataset.name, kind, size, 0, seed)
            yield variant._replace(classes=len(np.unique(dataset.labels[variant_rows(variant, dataset.labels)])))


def _quotas(members: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Share `size` rows among classes by their members: at least one each, the remainders to the largest fractions."""
    shares = members * size / members.sum()
    quota: NDArray[np.intp] = np.maximum(1, np.floor(shares)).astype(np.intp)
    short = size - int(quota.sum())
    if short > 0:
        quota[np.argsort(quota - shares, kind="stable")[:short]] += 1
    while quota.sum() > size:
        quota[int(quota.argmax())] -= 1
    return quota
