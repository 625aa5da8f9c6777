"""Variants: the samples of each dataset, and the rows of each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .results import Variant

if TYPE_CHECKING:
    from .datasets import Dataset


def plan_variants(datasets: Sequence[Dataset], *, seed: int = 0, max_size: int | None = None) -> list[Variant]:
    """List the samples of some datasets: a random and a stratified one at each size, or all rows if it is small.

    Parameters
    ----------
    datasets : sequence of Dataset
    seed : int, default=0
    max_size : int, optional
        Leave out larger samples. Datasets without subsampling are always included.

    Examples
    --------
    >>> from textspectra_study.datasets import Dataset
    >>> labels = np.arange(1200) % 3
    >>> large = Dataset("large", "Large", [""] * 1200, labels, (500, 1000, 2000), "a.csv", None, np.arange(1200))
    >>> [variant.name for variant in plan_variants([large], max_size=600)]
    ['large-random-500', 'large-stratified-500']
    >>> [variant.name for variant in plan_variants([large._replace(sizes=())])]
    ['large-whole-1200']
    """
    return [variant for dataset in datasets for variant in _variants_of(dataset, seed, max_size or len(dataset.texts))]


def variant_rows(variant: Variant, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of a sample, in random order. They are the same on every machine.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [75, 25])
    >>> rows = variant_rows(Variant("a", "stratified", 12, 2, 0), labels)
    >>> np.bincount(labels[rows])
    array([9, 3])
    """
    # NumPy guarantees that this generator never changes; it does not for the newer ones.
    order = np.random.RandomState(variant.seed).permutation(len(labels))
    if variant.kind != "stratified":
        return order[: variant.size]
    quota = _quotas(np.bincount(labels), variant.size)
    by_class = np.argsort(labels[order], kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(labels))[:-1]])
    rank = np.empty(len(labels), np.intp)
    rank[by_class] = np.arange(len(labels)) - first[labels[order][by_class]]
    return order[rank < quota[labels[order]]]


def with_direction(X: NDArray[np.float32], truth: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Drop rows of zeros, which have no direction, and their classes.

    Examples
    --------
    >>> with_direction(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([3, 4]))
    (array([[0., 1.]]), array([4]))
    """
    usable = X.any(axis=1)
    return X[usable], truth[usable]


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
    """Divide `size` rows among classes in proportion, at least one each; largest fractions are rounded up."""
    shares = members * size / members.sum()
    quota: NDArray[np.intp] = np.maximum(1, np.floor(shares)).astype(np.intp)
    short = size - int(quota.sum())
    if short > 0:
        quota[np.argsort(quota - shares, kind="stable")[:short]] += 1
    while quota.sum() > size:
        quota[int(quota.argmax())] -= 1
    return quota
