"""Describe every node of the tree: size, cohesion, keywords, name, typical texts, similarities.

Nodes that are clusters of the result take all of this from the result. Only the other nodes are computed: parts of a
cluster from their texts, merged clusters from the nodes that they are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.cohesion import BATCHES, linear_means, n_pairs, negative_mean
from ..core.rows import cluster_sums, take_units
from ..parallel import run_tasks
from ..texts.result import TextClustering
from ..words.describe import Cluster, typical_rows
from ..words.keywords import MAX_NAME, rank_terms
from ..words.names import choose_name, score_phrases
from ..words.tokens import clean_text
from .page import pack_array
from .tree import Levels, Shown

N_KEYWORDS = 10

CROSS_ROWS = 512
"""Rows of each of two clusters between which negative cosines are summed when the clusters merge."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """All nodes; each attribute but the last two has one entry per node."""

    sizes: NDArray[np.intp]  # rows of the data
    first: NDArray[np.intp]  # the first distinct text; it breaks ties when clusters are numbered by size
    cohesion: NDArray[np.float64]  # mean similarity inside, divided by that of all pairs; NaN if that is not defined
    similarity: list[NDArray[np.float32]]  # cosine of each shown text of the node with the node's center
    likeness: NDArray[np.float32]  # cosines of the centers of all nodes
    keywords: list[list[str]]
    names: list[str]
    typical: list[list[int]]  # typical texts as positions
    ratios: NDArray[np.float64]  # the Cohesion Ratio of the cut into 1, 2, ... clusters
    base: list[int]  # the node of each cluster of the result


class ShownTree(NamedTuple):
    """A result with its merge tree and the texts that are shown."""

    result: TextClustering
    X: NDArray[Any]  # the embeddings of its distinct texts
    levels: Levels
    finest: NDArray[np.intp]  # the finest cluster of each distinct text, -1 for none
    shown: Shown
    label_of: dict[int, int]  # the nodes that are clusters of the result, in the order of the clusters' numbers


def describe_nodes(
    result: TextClustering, X: NDArray[Any], levels: Levels, finest: NDArray[np.intp], shown: Shown
) -> Nodes:
    """Describe all nodes of `levels`; `finest` is the finest cluster of each distinct text, -1 for none."""
    tree = ShownTree(result, X, levels, finest, shown, _nodes_of(result.distinct_codes, levels, finest))
    base = list(tree.label_of)
    usable = np.flatnonzero(finest >= 0)
    points, codes = (X, finest) if len(usable) == len(X) else (X[usable], finest[usable])
    counts = result.corpus.counts[usable].astype(float)
    centers = _over(levels, cluster_sums(points, codes, levels.k, weights=counts))
    centers[base] = result.centers
    centers /= np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), np.finfo(float).tiny)
    similarity = _similarities(tree, centers.astype(np.float32))
    cohesion, ratios = _cohesion(tree, cluster_sums(points, codes, levels.k), np.bincount(codes))
    typical = _typical(tree, similarity)
    keywords, names = _words(tree, typical, centers)
    return Nodes(
        sizes=_over(levels, np.bincount(codes, counts)).astype(np.intp),
        first=_over(levels, usable[np.unique(codes, return_index=True)[1]], np.min),
        cohesion=cohesion,
        similarity=similarity,
        likeness=(centers @ centers.T).astype(np.float32),
        keywords=keywords,
        names=names,
        typical=typical,
        ratios=ratios,
        base=base,
    )


def _nodes_of(codes: NDArray[np.intp], levels: Levels, finest: NDArray[np.intp]) -> dict[int, int]:
    """Return the nodes that are the clusters of a cut, given for the distinct texts, and the number of each."""
    k = int(codes.max()) + 1
    starts = {int(levels.spans[node, 0]): node for node in levels.nodes_at(k)}
    first_code = np.full(k, levels.k)
    usable = finest >= 0
    np.minimum.at(first_code, codes[usable], finest[usable])
    return {starts[int(code)]: label for label, code in enumerate(first_code)}


def _clusters_of(tree: ShownTree) -> dict[int, Cluster]:
    """Return the topics of the nodes that are clusters of the result, or of one of its levels."""
    clusters: dict[int, Cluster] = {}
    for codes, described in [
        *tree.result.level_clusters().values(),
        (tree.result.distinct_codes, tree.result.clusters),
    ]:
        clusters |= {node: described[i] for node, i in _nodes_of(codes, tree.levels, tree.finest).items()}
    return clusters


def _over(levels: Levels, values: NDArray[Any], combine: Any = np.sum) -> NDArray[Any]:
    """Combine values of the finest clusters for each node, which covers a range of them."""
    return np.array([combine(values[start:end], axis=0) for start, end in levels.spans])


def _similarities(tree: ShownTree, centers: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    order, ranges = tree.shown.order, tree.shown.ranges
    similarity = [
        tree.result.distinct_similarity[order[start:end]]
        if node in tree.label_of
        else np.empty(end - start, np.float32)
        for node, (start, end) in enumerate(ranges)
    ]

    def on_finest(path: list[int]) -> None:
        start, end = ranges[path[0]]
        others = [node for node in path if node not in tree.label_of]
        cosines = take_units(tree.X, order[start:end]) @ centers[others].T
        for node, column in zip(others, cosines.T, strict=True):
            before = ranges[node][0]
            similarity[node][start - before : end - before] = column

    run_tasks(on_finest, ((path,) for path in tree.levels.ancestors()), n_jobs=None, shared_memory=True)
    return similarity


def _cohesion(
    tree: ShownTree, sums: NDArray[np.float64], sizes: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cohesion of each node, and the Cohesion Ratio at 1, 2, ... clusters.

    `sums` and `sizes` are those of the unit vectors of the finest clusters.
    """
    levels, found = tree.levels, tree.result.cohesion
    if found is None:
        return np.full(len(levels.spans), np.nan), np.full(levels.k, np.nan)
    sums, sizes = _over(levels, sums), _over(levels, sizes)
    pairs = n_pairs(sizes)
    known = {node: found.per_cluster[label].similarity * pairs[node] for node, label in tree.label_of.items()}
    total = _total_similarity(tree, sums, sizes, known)
    means = np.where(pairs > 0, total / np.maximum(pairs, 1), found.mu_global)
    weights = pairs + (sizes == 1)
    cuts = [levels.nodes_at(k) for k in range(1, levels.k + 1)]
    ratios = np.array([np.average(means[alive], weights=weights[alive]) for alive in cuts])
    return means / found.mu_global, ratios / found.mu_global


def _total_similarity(
    tree: ShownTree, sums: NDArray[np.float64], sizes: NDArray[np.intp], known: dict[int, float]
) -> NDArray[np.float64]:
    """Return the sum of ``max(cosine, 0)`` over the pairs of each node.

    It is the sum of the cosines, which is exact, less the sum of those below zero, which is sampled.
    """
    X, levels, shown = tree.X, tree.levels, tree.shown
    streams = np.random.default_rng(0).spawn(len(levels.spans))

    def inside(node: int) -> float:
        if node in known:
            return known[node]
        mean = float(linear_means(sums[node], int(sizes[node])))
        start, end = shown.ranges[node]
        negative, _ = negative_mean(X, shown.order[start:end], mean, BATCHES // 4, streams[node])
        return (mean - negative) * float(n_pairs(sizes[node]))

    def between(step: int, nodes: NDArray[np.intp]) -> float:
        if levels.k + step in known:
            return 0.0
        rng = streams[levels.k + step]
        rows = [shown.order[slice(*shown.ranges[node])] for node in nodes]
        one, other = (part if len(part) <= CROSS_ROWS else rng.choice(part, CROSS_ROWS, replace=False) for part in rows)
        total = float(sums[nodes[0]] @ sums[nodes[1]])
        if not len(one) or not len(other):
            return total
        negative = np.minimum(take_units(X, one) @ take_units(X, other).T, 0).mean(dtype=np.float64)
        return total - float(negative * sizes[nodes[0]] * sizes[nodes[1]])

    total = run_tasks(inside, ((node,) for node in range(levels.k)), n_jobs=None, shared_memory=True)
    added = run_tasks(between, enumerate(levels.merges), n_jobs=None, shared_memory=True)
    for step, (one, other) in enumerate(levels.merges):
        total.append(known.get(levels.k + step, total[one] + total[other] + added[step]))
    return np.array(total)


def _typical(tree: ShownTree, similarity: list[NDArray[np.float32]]) -> list[list[int]]:
    corpus, order = tree.result.corpus, tree.shown.order
    position = np.full(len(corpus.distinct), -1)
    position[order] = np.arange(len(order))
    cosines = np.empty(len(corpus.distinct), np.float32)

    def on_node(node: int) -> Any:
        if node in tree.label_of:
            return corpus.codes[list(tree.result.clusters[tree.label_of[node]].representatives)]
        rows, values = order[slice(*tree.shown.ranges[node])], similarity[node]
        cosines[rows] = values
        ordered = rows[np.argsort(-values, kind="stable")]
        return typical_rows(corpus.distinct, tree.X, ordered, cosines, corpus.counts) if len(rows) else []

    return [position[on_node(node)].tolist() for node in range(len(tree.levels.spans))]


def _words(
    tree: ShownTree, typical: list[list[int]], centers: NDArray[np.float64]
) -> tuple[list[list[str]], list[str]]:
    """Return the keywords and the name of each node."""
    levels, texts = tree.levels, tree.result.corpus.distinct
    clusters = _clusters_of(tree)
    given = [cluster.name for cluster in clusters.values()]
    members = [np.flatnonzero(tree.finest == code) for code in range(levels.k)]
    ranked = rank_terms(texts, members, N_KEYWORDS, levels.merges.tolist(), tree.result.corpus.counts)
    keywords = [[keyword.text for keyword in terms.keywords] for terms in ranked]
    unnamed = [[] if node in clusters else terms.phrases for node, terms in enumerate(ranked)]
    candidates = score_phrases(unnamed, centers, tree.result.embed_phrases())
    names: list[str] = []
    alive: set[int] = set()
    for node in range(len(levels.spans)):
        if node >= levels.k:
            alive -= set(levels.merges[node - levels.k].tolist())
        alive.add(node)
        if node in clusters:
            keywords[node] = list(clusters[node].keywords)
            names.append(clusters[node].name)
            continue
        # A name must differ from those it is seen beside; the names of the levels can be seen beside any.
        taken = [*(names[other] for other in alive - {node}), *given]
        example = clean_text(texts[tree.shown.order[typical[node][0]]], limit=MAX_NAME) if typical[node] else ""
        names.append(choose_name(candidates[node], ranked[node].keywords, example or f"group {node}", taken))
    return keywords, names


DIMENSIONS = 32
"""Directions that are kept of each vector: those in which the centers of the finest clusters differ most."""

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
