"""What a report says about every node of the tree: size, cohesion, keywords, name, typical texts, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import cluster_sums, take_units
from ..metrics.cohesion import BATCHES, linear_means, n_pairs, negative_mean
from ..parallel import run_tasks
from ..texts.result import TextClustering
from ..topics.describe import MAX_NAME, choose_name, typical_rows
from ..topics.keywords import rank_keywords
from ..topics.words import clean_text
from .levels import Levels
from .shown import Shown

N_KEYWORDS, N_TYPICAL = 10, 5

CROSS_ROWS = 512
"""Rows of each of two clusters between which negative cosines are counted when they merge."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """All nodes, each attribute with an entry a node.

    Attributes
    ----------
    sizes : ndarray of int
        Rows of the data.
    first : ndarray of int
        The first distinct text; it breaks ties when clusters are numbered by size.
    cohesion : ndarray of float
        Mean similarity inside the node over that of all pairs; NaN where it is not defined.
    ratios : ndarray of float
        The Cohesion Ratio of the cut into 1, 2, ... clusters.
    similarity : list of ndarray
        Cosine of each shown text of the node with its centre.
    likeness : ndarray of shape (n_nodes, n_nodes)
        Cosines of the centres.
    keywords, names, typical : list
        Of each node; typical texts as positions.
    base : list of int
        The node of each cluster of the result.
    """

    sizes: NDArray[np.intp]
    first: NDArray[np.intp]
    cohesion: NDArray[np.float64]
    ratios: NDArray[np.float64]
    similarity: list[NDArray[np.float32]]
    likeness: NDArray[np.float32]
    keywords: list[list[str]]
    names: list[str]
    typical: list[list[int]]
    base: list[int]


def describe_nodes(
    result: TextClustering, X: NDArray[Any], levels: Levels, finest: NDArray[np.intp], shown: Shown
) -> Nodes:
    """Work out everything; at the number of clusters of the result, what it says itself is kept."""
    usable = np.flatnonzero(finest >= 0)
    points, codes = (X, finest) if len(usable) == len(X) else (X[usable], finest[usable])
    counts = result.corpus.counts[usable].astype(float)
    base = _base_nodes(result, levels, finest)
    directions = _up(levels, cluster_sums(points, codes, levels.k, weights=counts))
    directions[base] = result.centers
    directions = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(float).tiny)
    similarity = _similarities(X, levels, shown, directions.astype(np.float32))
    for node in base:
        start, end = shown.ranges[node]
        similarity[node] = result.distinct_similarity[shown.order[start:end]]
    cohesion, ratios = _cohesion(
        result, X, levels, cluster_sums(points, codes, levels.k), np.bincount(codes), shown, base
    )
    typical = _typical(result, X, shown, similarity, base)
    members = np.split(usable[np.argsort(codes, kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    keywords, names = _words(result, levels, members, shown, typical, base)
    return Nodes(
        sizes=_up(levels, np.bincount(codes, counts)).astype(np.intp),
        first=_up(levels, usable[np.unique(codes, return_index=True)[1]], np.minimum),
        cohesion=cohesion,
        ratios=ratios,
        similarity=similarity,
        likeness=(directions @ directions.T).astype(np.float32),
        keywords=keywords,
        names=names,
        typical=typical,
        base=base,
    )


def _base_nodes(result: TextClustering, levels: Levels, finest: NDArray[np.intp]) -> list[int]:
    starts = {int(levels.spans[node, 0]): node for node in levels.nodes_at(result.n_clusters)}
    first_code = np.full(result.n_clusters, levels.k)
    usable = finest >= 0
    np.minimum.at(first_code, result.distinct_labels[usable], finest[usable])
    return [starts[int(code)] for code in first_code]


def _up(levels: Levels, values: NDArray[Any], combine: Any = np.add) -> NDArray[Any]:
    """Extend values of the finest clusters to all nodes."""
    extended = np.concatenate([values, np.empty((levels.k - 1, *values.shape[1:]), values.dtype)])
    for step, (one, other) in enumerate(levels.merges):
        extended[levels.k + step] = combine(extended[one], extended[other])
    return extended


def _similarities(
    X: NDArray[Any], levels: Levels, shown: Shown, directions: NDArray[np.float32]
) -> list[NDArray[np.float32]]:
    similarity = [np.empty(end - start, np.float32) for start, end in shown.ranges]

    def on_finest(path: list[int]) -> None:
        start, end = shown.ranges[path[0]]
        cosines = take_units(X, shown.order[start:end]) @ directions[path].T
        for node, column in zip(path, cosines.T, strict=True):
            before = shown.ranges[node][0]
            similarity[node][start - before : end - before] = column

    run_tasks(on_finest, ((path,) for path in levels.ancestors()), n_jobs=None, shared_memory=True)
    return similarity


def _cohesion(
    result: TextClustering,
    X: NDArray[Any],
    levels: Levels,
    sums: NDArray[np.float64],
    sizes: NDArray[np.intp],
    shown: Shown,
    base: list[int],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cohesion of each node, and the Cohesion Ratio at 1, 2, ... clusters."""
    n_nodes = len(levels.spans)
    if result.cohesion is None:
        return np.full(n_nodes, np.nan), np.full(levels.k, np.nan)
    background = result.cohesion.mu_global
    sizes = _up(levels, sizes)
    pairs = n_pairs(sizes)
    linear = linear_means(_up(levels, sums), sizes)
    negative = _negative_sums(X, levels, sizes, linear, shown)
    means = np.where(sizes > 1, linear - negative / np.maximum(pairs, 1), background)
    for node, part in zip(base, result.cohesion.per_cluster, strict=True):
        means[node] = part.similarity
    weights = pairs + (sizes == 1)
    ratios = np.empty(levels.k)
    for k in range(1, levels.k + 1):
        alive = levels.nodes_at(k)
        ratios[k - 1] = np.average(means[alive], weights=weights[alive]) / background
    ratios[result.n_clusters - 1] = result.cohesion.ratio
    return means / background, ratios


def _negative_sums(
    X: NDArray[Any], levels: Levels, sizes: NDArray[np.intp], linear: NDArray[np.float64], shown: Shown
) -> NDArray[np.float64]:
    """Return the sum of ``min(cosine, 0)`` over the pairs of each node: of its two parts, and between them."""
    streams = np.random.default_rng(0).spawn(len(levels.spans))

    def inside(node: int) -> float:
        start, end = shown.ranges[node]
        mean, _ = negative_mean(X, shown.order[start:end], float(linear[node]), BATCHES // 4, streams[node])
        return mean * float(n_pairs(sizes[node : node + 1])[0])

    def between(step: int, nodes: NDArray[np.intp]) -> float:
        rows = [shown.order[slice(*shown.ranges[node])] for node in nodes]
        rng = streams[levels.k + step]
        one, other = (part if len(part) <= CROSS_ROWS else rng.choice(part, CROSS_ROWS, replace=False) for part in rows)
        if not len(one) or not len(other):
            return 0.0
        mean = np.minimum(take_units(X, one) @ take_units(X, other).T, 0).mean(dtype=np.float64)
        return float(mean * sizes[nodes[0]] * sizes[nodes[1]])

    finest = run_tasks(inside, ((node,) for node in range(levels.k)), n_jobs=None, shared_memory=True)
    added = run_tasks(between, enumerate(levels.merges), n_jobs=None, shared_memory=True)
    total = _up(levels, np.array(finest))
    for step, (one, other) in enumerate(levels.merges):
        total[levels.k + step] = total[one] + total[other] + added[step]
    return total


def _typical(
    result: TextClustering, X: NDArray[Any], shown: Shown, similarity: list[NDArray[np.float32]], base: list[int]
) -> list[list[int]]:
    corpus = result.corpus
    position = np.full(len(corpus.distinct), -1)
    position[shown.order] = np.arange(len(shown.order))
    cosines = np.empty(len(corpus.distinct), np.float32)
    typical: list[list[int]] = []
    for (start, end), values in zip(shown.ranges, similarity, strict=True):
        rows = shown.order[start:end]
        cosines[rows] = values
        ordered = rows[np.argsort(-values, kind="stable")]
        chosen = typical_rows(corpus.distinct, X, ordered, cosines, N_TYPICAL) if len(rows) else []
        typical.append(position[chosen].tolist())
    for node, topic in zip(base, result.topics, strict=True):
        typical[node] = position[corpus.codes[list(topic.representatives)]].tolist()
    return typical


def _words(
    result: TextClustering,
    levels: Levels,
    members: list[NDArray[np.intp]],
    shown: Shown,
    typical: list[list[int]],
    base: list[int],
) -> tuple[list[list[str]], list[str]]:
    texts = result.corpus.distinct
    ranked = rank_keywords(texts, members, N_KEYWORDS, levels.merges.tolist())
    keywords = [[keyword.text for keyword in words] for words in ranked]
    given = {node: topic.name for node, topic in zip(base, result.topics, strict=True)}
    for node, topic in zip(base, result.topics, strict=True):
        keywords[node] = list(topic.keywords)
    names: list[str] = []
    alive: set[int] = set()
    for node in range(len(levels.spans)):
        if node >= levels.k:
            alive -= set(levels.merges[node - levels.k].tolist())
        # A name has to differ from those it is seen beside; the result's own names may be seen beside any.
        taken = [*(names[other] for other in alive), *given.values()]
        example = clean_text(texts[shown.order[typical[node][0]]], limit=MAX_NAME) if typical[node] else ""
        names.append(given.get(node) or choose_name(ranked[node], example or f"group {node}", taken))
        alive.add(node)
    return keywords, names
