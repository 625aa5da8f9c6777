"""What the page needs to describe groups that a reader makes: small vectors of the texts, and sums between clusters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import cluster_sums, take_units
from ..texts.result import TextClustering
from .levels import Levels
from .pack import pack_array
from .shown import Shown

DIMENSIONS = 32
"""Directions that are kept of each vector: those in which the centres of the finest clusters differ most."""

STEPS = 5
"""Each coordinate is one of 11 steps; with 32 directions, cosines to other groups are off by about 0.02."""

REACH = 2.7
"""Standard deviations up to which a coordinate is not cut off."""

CROSS_SAMPLE = 4096
"""Rows of all finest clusters together between which negative cosines are averaged, at most 32 of each."""


class FinestClusters(NamedTuple):
    """The finest clusters of a report, and the texts that it shows."""

    X: NDArray[Any]  # the embeddings of the distinct texts
    levels: Levels
    finest: NDArray[np.intp]  # the finest cluster of each distinct text, -1 for none
    shown: Shown


def describe_parts(result: TextClustering, parts: FinestClusters) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the page knows of the parts of groups, and the blocks with small vectors and similarities."""
    levels = parts.levels
    usable = np.flatnonzero(parts.finest >= 0)
    whole = len(usable) == len(parts.X)
    points, codes = (parts.X, parts.finest) if whole else (parts.X[usable], parts.finest[usable])
    weights = result.corpus.counts[usable].astype(float)
    mass = np.bincount(codes, weights, levels.k).astype(np.float64)
    sums = cluster_sums(points, codes, levels.k, weights=weights)
    norms = [float(np.linalg.norm(sums[a:b].sum(axis=0)) / mass[a:b].sum()) for a, b in levels.spans]
    small = compact_vectors(parts, sums / mass[:, None], mass)
    distinct = np.bincount(codes, minlength=levels.k)
    mu = result.cohesion.mu_global if result.cohesion else None
    between = similarity_between(parts, cluster_sums(points, codes, levels.k), distinct)[np.triu_indices(levels.k, 1)]
    highest = float(between.max(initial=0)) or 1.0
    meta = {
        "middle": small.middle.tolist(),
        "step": small.step.tolist(),
        "norm": [round(value, 5) for value in norms],
        "distinct": distinct.tolist(),
        "between": None if mu is None else highest / mu / 65535,
    }
    blocks = {
        "vectors": pack_array(small.coordinates, "i1"),
        "means": pack_array(small.means, "f4"),
        "between": pack_array(np.round(between / highest * 65535), "u2"),
    }
    return meta, blocks


class CompactVectors(NamedTuple):
    """Texts and finest clusters in few directions: a text is ``middle + step * coordinates``."""

    coordinates: NDArray[np.int8]  # of each shown text
    middle: NDArray[np.float64]
    step: NDArray[np.float64]
    means: NDArray[np.float64]  # of the unit vectors of each finest cluster, in these directions


def compact_vectors(parts: FinestClusters, means: NDArray[np.float64], mass: NDArray[np.float64]) -> CompactVectors:
    """Reduce the vectors of the shown texts; `means` and `mass` are those of the finest clusters."""
    directions = np.linalg.svd(means * np.sqrt(mass)[:, None], full_matrices=False)[2][:DIMENSIONS]
    order, block = parts.shown.order, 8192
    narrow = directions.T.astype(np.float32)
    places = np.concatenate([
        take_units(parts.X, order[at : at + block]) @ narrow for at in range(0, len(order), block)
    ])  # fmt: skip
    middle = places.mean(axis=0, dtype=np.float64)
    step = np.maximum(places.std(axis=0, dtype=np.float64) * REACH / STEPS, np.finfo(np.float32).tiny)
    coordinates = np.clip(np.round((places - middle) / step), -STEPS, STEPS).astype(np.int8)
    return CompactVectors(coordinates, middle, step, means @ directions.T)


def similarity_between(
    parts: FinestClusters, sums: NDArray[np.float64], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the mean of ``max(cosine, 0)`` between each two finest clusters; what is on the diagonal means nothing.

    `sums` and `sizes` are those of their unit vectors. The mean cosine is exact; the part below zero is sampled.
    """
    k, shown = parts.levels.k, parts.shown
    rng = np.random.default_rng(0)
    most = max(2, min(32, CROSS_SAMPLE // k))
    members = [shown.order[start:end] for start, end in shown.ranges[:k]]
    drawn = [rows if len(rows) <= most else rng.choice(rows, most, replace=False) for rows in members]
    units = take_units(parts.X, np.concatenate(drawn))
    of_row = np.repeat(np.arange(k), [len(rows) for rows in drawn])
    negative = np.zeros((k, k))
    starts = np.searchsorted(of_row, np.arange(k + 1))
    for cluster, (start, end) in enumerate(pairwise(starts)):
        below = np.minimum(units[start:end] @ units[end:].T, 0).sum(axis=0, dtype=np.float64)
        negative[cluster] = np.bincount(of_row[end:], below, k)
    negative += negative.T
    counts = np.bincount(of_row, minlength=k)
    linear = sums @ sums.T / np.outer(sizes, sizes)
    between: NDArray[np.float64] = np.maximum(linear - negative / np.maximum(np.outer(counts, counts), 1), 0)
    return between
