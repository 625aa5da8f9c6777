"""Describe every node of the tree: size, cohesion, keywords, name, typical texts, similarities.

Nodes that are clusters of the result take all of this from the result. Only the other nodes are computed: parts of a
cluster from their texts, merged clusters from the nodes that they are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ..core import F32, F64, Array, Ints
from ..core.cohesion import BATCHES, linear_means, n_pairs, negative_mean
from ..core.rows import take_units
from ..parallel import run_tasks
from ..words.describe import Cluster, are_mixed, has_theme, typical_rows
from ..words.keywords import Keyword, rank_terms
from ..words.names import choose_name, score_phrases, unit_vectors
from ..words.phrases import MAX_NAME
from ..words.tokens import clean_text
from .page import Section, none_if_nan, pack_array, shares_as_u2
from .tree import ReportTree

CROSS_ROWS = 512  # rows of each of two merged clusters between which negative cosines are summed
CROSS_SAMPLE = 4096  # rows of all finest clusters together for negative cosines between any two, at most 32 of each

DIRECTIONS = 32  # kept of each vector, along which the centers of the finest clusters differ most
STEPS_PER_SIDE, REACH = 5, 2.7
"""Each coordinate is one of 11 steps, up to 2.7 standard deviations. Cosines to other groups are off by about 0.02."""

LEAST_MARGIN = 0.01  # by which a text is listed as nearer to another group; less is not worth a look


def describe_nodes(tree: ReportTree, points: F32, cohesion: F64) -> Section:
    """Return the data of the page on every node, and the blocks with its similarities.

    `points` are the places of the shown texts on the map, and `cohesion` is the cohesion of each node.
    """
    levels, (sums, rows) = tree.levels, tree.sums[0]
    totals = levels.total(sums)
    totals[tree.base] = tree.result.centers
    centers = unit_vectors(totals)
    kept = np.flatnonzero(tree.finest >= 0)
    first = kept[np.unique(tree.finest[kept], return_index=True)[1]]
    similarity = _similarities(tree, centers.astype(np.float32))
    typical = _typical(tree, similarity)
    keywords, names, mixed = _words(tree, known_nodes(tree), typical, centers)
    middles = [np.median(points[start:end], axis=0) if end > start else (0, 0) for start, end in tree.ranges]
    meta = {
        "size": levels.total(rows).tolist(),
        # The first distinct text breaks ties when groups are numbered by size.
        "first": [int(first[start:end].min()) for start, end in levels.spans],
        "cohesion": none_if_nan(cohesion),
        "mixed": mixed,
        "keywords": keywords,
        "name": names,
        "typical": typical,
        "middle": [[round(float(value), 4) for value in middle] for middle in middles],
    }
    return meta, {
        "similarity": pack_array(shares_as_u2(np.concatenate(similarity)), "u2"),
        "likeness": pack_array(shares_as_u2((centers @ centers.T).astype(np.float32)) >> 8, "u1"),
    }


def _similarities(tree: ReportTree, centers: F32) -> list[F32]:
    """Return the cosine of each shown text of each node with the node's center."""
    known, spans = set(tree.base), tree.levels.spans
    similarity = [
        tree.result.distinct_similarity[tree.texts_of(node)] if node in known else np.empty(end - start, np.float32)
        for node, (start, end) in enumerate(tree.ranges)
    ]

    def on_finest(code: int) -> None:
        start, end = tree.ranges[code]
        around = np.flatnonzero((spans[:, 0] <= code) & (code < spans[:, 1])).tolist()
        others = [node for node in around if node not in known]
        cosines = take_units(tree.X, tree.order[start:end]) @ centers[others].T
        for node, column in zip(others, cosines.T, strict=True):
            before = tree.ranges[node][0]
            similarity[node][start - before : end - before] = column

    run_tasks(on_finest, ((code,) for code in range(tree.levels.k)), shared_memory=True)
    return similarity


def node_cohesion(tree: ReportTree) -> tuple[F64, F64]:
    """Return the cohesion of each node, and the Cohesion Ratio at 1, 2, ... clusters; NaN if it is not defined."""
    levels, report = tree.levels, tree.result.cohesion
    if report is None:
        return np.full(len(levels.spans), np.nan), np.full(levels.k, np.nan)
    sums, sizes = levels.total(tree.sums[1].sums), levels.total(tree.sums[1].sizes)
    pairs = n_pairs(sizes)
    known = {node: part.similarity * pairs[node] for node, part in zip(tree.base, report.per_cluster, strict=True)}
    total = _total_similarity(tree, sums, sizes, known)
    means = np.where(pairs > 0, total / np.maximum(pairs, 1), report.mu_global)
    weights = pairs + (sizes == 1)
    ratios = np.array([np.average(means[cut], weights=weights[cut]) for cut in levels.cuts])
    return means / report.mu_global, ratios / report.mu_global


def _total_similarity(tree: ReportTree, sums: F64, sizes: Ints, known: dict[int, float]) -> F64:
    """Return the sum of ``max(cosine, 0)`` over the pairs of each node.

    It is the sum of the cosines, which is exact, less the sum of those below zero, which is sampled.
    """
    X, levels = tree.X, tree.levels
    streams = np.random.default_rng(0).spawn(len(levels.spans))

    def inside(node: int) -> float:
        if node in known:
            return known[node]
        mean = float(linear_means(sums[node], int(sizes[node])))
        negative, _ = negative_mean(X, tree.texts_of(node), mean, BATCHES // 4, streams[node])
        return (mean - negative) * float(n_pairs(sizes[node]))

    def between(step: int, pair: Ints) -> float:
        if levels.k + step in known:
            return 0.0
        rng = streams[levels.k + step]
        left, right = (
            rows if len(rows) <= CROSS_ROWS else rng.choice(rows, CROSS_ROWS, replace=False)
            for rows in map(tree.texts_of, pair.tolist())
        )
        total = float(sums[pair[0]] @ sums[pair[1]])
        if not len(left) or not len(right):
            return total
        negative = np.minimum(take_units(X, left) @ take_units(X, right).T, 0).mean(dtype=np.float64)
        return total - float(negative * sizes[pair[0]] * sizes[pair[1]])

    total = run_tasks(inside, ((node,) for node in range(levels.k)), shared_memory=True)
    added = run_tasks(between, enumerate(levels.merges), shared_memory=True)
    for step, (left, right) in enumerate(levels.merges):
        total.append(known.get(levels.k + step, total[left] + total[right] + added[step]))
    return np.array(total)


def _typical(tree: ReportTree, similarity: list[F32]) -> list[list[int]]:
    """Return the positions of the typical texts of each node."""
    corpus = tree.result.corpus
    known = dict(zip(tree.base, tree.result.clusters, strict=True))
    cosines = np.empty(len(corpus.distinct), np.float32)

    def chosen(node: int) -> Ints:
        if node in known:
            return corpus.codes[list(known[node].representatives)]
        rows = tree.texts_of(node)
        cosines[rows] = similarity[node]
        return np.array(typical_rows(corpus.distinct, tree.X, rows, cosines, corpus.counts)) if len(rows) else rows

    return [tree.positions[chosen(node)].tolist() for node in range(len(similarity))]


def known_nodes(tree: ReportTree) -> dict[int, Cluster]:
    """Return the nodes that are described already: the clusters of the result, and of its levels."""
    described = [*tree.result.level_clusters().values(), (tree.result.distinct_codes, tree.result.clusters)]
    return dict(pair for codes, clusters in described for pair in zip(tree.nodes_of(codes), clusters, strict=True))


def _words(
    tree: ReportTree, known: Mapping[int, Cluster], typical: list[list[int]], centers: Array
) -> tuple[list[list[str]], list[str], list[bool]]:
    """Return the keywords and the name of each node, and whether it is mixed."""
    levels, texts = tree.levels, tree.result.corpus.read
    members = [np.flatnonzero(tree.finest == code) for code in range(levels.k)]
    terms, phrases = rank_terms(
        texts, members, tree.result.corpus.counts, levels.merges.tolist(), stop_words=tree.result.stop_words
    )
    mixed = _mixed(tree, known, terms)
    unnamed = [[] if node in known else phrases[node] for node in range(len(phrases))]
    candidates = score_phrases(unnamed, centers, tree.result.embed_phrases())
    keywords: list[list[str]] = []
    names: list[str] = []
    for node in range(len(levels.spans)):
        if node in known:
            keywords.append(list(known[node].keywords))
            names.append(known[node].name)
            continue
        # A name must differ from those it is seen beside; the names of the levels can be seen beside any.
        beside = levels.cuts[min(levels.k, 2 * levels.k - 1 - node) - 1]
        taken = [*(names[other] for other in beside if other < node), *(cluster.name for cluster in known.values())]
        example = clean_text(texts[tree.order[typical[node][0]]], limit=MAX_NAME) if typical[node] else ""
        keywords.append([keyword.text for keyword in terms[node]])
        name = choose_name(candidates[node], terms[node], example or f"group {node}", taken, is_mixed=mixed[node])
        names.append(name)
    return keywords, names, mixed


def _mixed(tree: ReportTree, known: Mapping[int, Cluster], terms: Sequence[Sequence[Keyword]]) -> list[bool]:
    """Return which nodes are mixed, each among those that it is first seen beside when clusters merge one by one."""
    levels, counts = tree.levels, tree.result.corpus.counts
    sums, sizes = levels.total(tree.sums[1].sums), levels.total(tree.sums[1].sizes)
    flags: list[bool] = []
    for node in range(len(levels.spans)):
        if node in known:
            flags.append(known[node].is_mixed)
            continue
        cut = np.asarray(levels.cuts[min(levels.k, 2 * levels.k - 1 - node) - 1])
        is_mixed = are_mixed(sums[cut], sizes[cut])[int(np.flatnonzero(cut == node)[0])]
        flags.append(bool(is_mixed) and not has_theme(terms[node], counts[tree.texts_of(node)]))
    return flags


def describe_parts(tree: ReportTree) -> Section:
    """Return the data of the finest clusters from which the page computes edited groups, and their blocks.

    These are the texts and the centers in few directions (a text is ``middle + step * coordinates``), and the mean
    similarity between any two finest clusters.
    """
    levels, cohesion = tree.levels, tree.result.cohesion
    (sums, mass), (_, distinct) = tree.sums
    means = sums / mass[:, None]
    directions = np.linalg.svd(means * np.sqrt(mass)[:, None], full_matrices=False)[2][:DIRECTIONS]
    narrow, block = directions.T.astype(np.float32), 8192
    starts = range(0, len(tree.order), block)
    places = np.concatenate([take_units(tree.X, tree.order[at : at + block]) @ narrow for at in starts])
    middle = places.mean(axis=0, dtype=np.float64)
    step = np.maximum(places.std(axis=0, dtype=np.float64) * REACH / STEPS_PER_SIDE, np.finfo(np.float32).tiny)
    between = similarity_between(tree)[np.triu_indices(levels.k, 1)]
    highest = float(between.max(initial=0)) or 1.0
    norms = np.linalg.norm(levels.total(sums), axis=1) / levels.total(mass)
    meta = {
        "middle": middle.tolist(),
        "step": step.tolist(),
        "norm": [round(value, 5) for value in norms.tolist()],
        "distinct": distinct.tolist(),
        "between": None if cohesion is None else highest / cohesion.mu_global / 65535,
    }
    coordinates = np.clip(np.round((places - middle) / step), -STEPS_PER_SIDE, STEPS_PER_SIDE)
    blocks = {
        "vectors": pack_array(coordinates, "i1"),
        "means": pack_array(means @ directions.T, "f4"),
        "between": pack_array(np.round(between / highest * 65535), "u2"),
    }
    return meta, blocks


def similarity_between(tree: ReportTree) -> F64:
    """Return the mean of ``max(cosine, 0)`` between each two finest clusters; the diagonal has no meaning.

    The mean cosine is exact; the part below zero is sampled.
    """
    k, (sums, sizes) = tree.levels.k, tree.sums[1]
    rng = np.random.default_rng(0)
    most = max(2, min(32, CROSS_SAMPLE // k))
    members = [tree.texts_of(node) for node in range(k)]
    drawn = [rows if len(rows) <= most else rng.choice(rows, most, replace=False) for rows in members]
    units = take_units(tree.X, np.concatenate(drawn))
    counts = np.array([len(rows) for rows in drawn])
    cluster_of = np.repeat(np.arange(k), counts)
    negative = np.zeros((k, k))
    for cluster, (start, end) in enumerate(pairwise(np.append(0, counts.cumsum()))):
        below = np.minimum(units[start:end] @ units[end:].T, 0).sum(axis=0, dtype=np.float64)
        negative[cluster] = np.bincount(cluster_of[end:], below, k)
    negative += negative.T
    linear = sums @ sums.T / np.outer(sizes, sizes)
    return np.asarray(np.maximum(linear - negative / np.maximum(np.outer(counts, counts), 1), 0))


def pack_misfits(tree: ReportTree) -> str:
    """Return a block with the shown texts that are nearer to the center of another group than to that of their own.

    It has their first rows in the data as gaps, the positions in `clusters` of their group and of the nearest one, and
    the differences of the cosines in units of 1/10,000. Texts that were moved by hand are not among them. The center of
    a mixed group is near to texts of any kind, so no text is sent there.
    """
    result, block = tree.result, 4096
    centers = unit_vectors(result.centers).astype(np.float32).T
    mixed = [cluster.is_mixed for cluster in result.clusters]
    texts = np.setdiff1d(tree.order, result.moved_by_hand)
    codes, nearest, margin = result.distinct_codes[texts], np.empty_like(texts), np.empty(len(texts), np.float32)

    def compare(start: int) -> None:
        part = slice(start, start + block)
        cosines = take_units(tree.X, texts[part]) @ centers
        of_own = np.take_along_axis(cosines, codes[part, None], axis=1)[:, 0]
        cosines[:, mixed] = -1
        nearest[part] = cosines.argmax(axis=1)
        margin[part] = cosines.max(axis=1) - of_own

    run_tasks(compare, ((start,) for start in range(0, len(texts), block)), shared_memory=True)
    misfits = np.flatnonzero(margin >= LEAST_MARGIN)
    first_rows = result.corpus.first_rows[texts]
    misfits = misfits[np.argsort(first_rows[misfits])]
    gaps, steps = np.diff(first_rows[misfits], prepend=0), np.round(margin[misfits] * 10_000)
    return pack_array(np.stack([gaps, codes[misfits], nearest[misfits], steps]), "u4")
