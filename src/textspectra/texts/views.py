"""Views of a result as tables: the keywords with their weights, the matrix behind them, and the tree of the groups."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.kmeans import same_clusters
from ..words.keywords import TermWeights, rank_terms, weigh_terms
from ..words.names import choose_name
from .clustered import ClusteredTexts
from .grouping import RegroupedTexts

ROOT_NAME = "all texts"
NODE_LEVELS = ("cluster", "merge", "suggested", "coarse", "root")
"""The levels of a hierarchy from the finest to the coarsest; of two nodes with the same texts, the coarser is above."""


def term_weights(result: ClusteredTexts) -> TermWeights:
    """Return the weights of the terms of each cluster, in the order of `clusters`."""
    return weigh_terms(result.corpus.distinct, _members(result), result.corpus.counts)


def _members(result: ClusteredTexts) -> list[NDArray[np.intp]]:
    """Return the distinct texts of each cluster."""
    return [np.flatnonzero(result.distinct_codes == code) for code in range(result.n_clusters)]


def keyword_columns(result: ClusteredTexts) -> dict[str, list[int] | list[str] | list[float]]:
    """Return the columns cluster, cluster_name, keyword and weight: one row per keyword, the best first."""
    pairs = zip(result.clusters, term_weights(result).forms, strict=True)
    rows = [(cluster, word, weights.get(word, 0.0)) for cluster, weights in pairs for word in cluster.keywords]
    return {
        "cluster": [cluster.label for cluster, _, _ in rows],
        "cluster_name": [cluster.name for cluster, _, _ in rows],
        "keyword": [word for _, word, _ in rows],
        "weight": [weight for _, _, weight in rows],
    }


class Node(NamedTuple):
    """A node of the hierarchy: its level, its name, and the positions of its clusters in `clusters`."""

    level: str
    name: str
    clusters: tuple[int, ...]


def hierarchy_columns(result: RegroupedTexts) -> dict[str, list[int] | list[int | None] | list[str]]:
    """Return the columns node, parent, size, name and level: one row per node, every parent before its children."""
    nodes = sorted(_nodes(result), key=lambda node: (len(node.clusters), NODE_LEVELS.index(node.level)))[::-1]
    others = iter(range(result.next_label, result.next_label + len(nodes)))
    numbers = [result.clusters[node.clusters[0]].label if node.level == "cluster" else next(others) for node in nodes]
    lowest: list[int | None] = [None] * result.n_clusters  # the node of each cluster that is the lowest so far
    parents: list[int | None] = []
    for number, node in zip(numbers, nodes, strict=True):
        parents.append(lowest[node.clusters[0]])
        for cluster in node.clusters:
            lowest[cluster] = number
    return {
        "node": numbers,
        "parent": parents,
        "size": [sum(result.clusters[cluster].size for cluster in node.clusters) for node in nodes],
        "name": [node.name for node in nodes],
        "level": [node.level for node in nodes],
    }


def _nodes(result: RegroupedTexts) -> list[Node]:
    everything = tuple(range(result.n_clusters))
    clusters = [Node("cluster", cluster.name, (code,)) for code, cluster in enumerate(result.clusters)]
    levels = [*_themes(result), *_suggested(result), Node("root", ROOT_NAME, everything)]
    merges = _merges(result)
    known = {node.clusters for node in levels}
    # After an update, the themes are as they were, and the tree around the groups may merge across them.
    is_nested = all(len(group) == 1 or group in merges for group in known)
    taken = [node.name for node in chain(clusters, levels)]
    between = [group for group in merges if group not in known] if is_nested else []
    return [*clusters, *_named(result, merges, between, taken), *levels]


def _themes(result: RegroupedTexts) -> list[Node]:
    nodes = []
    for theme in result.themes:
        group = tuple(sorted(result.position(label) for label in theme.clusters))
        nodes.append(Node("coarse", result.clusters[group[0]].name if len(group) == 1 else theme.name, group))
    return nodes


def _suggested(result: RegroupedTexts) -> list[Node]:
    """Return the groups of the suggested level, if the clusters are finer."""
    estimate, hierarchy = result.k_estimate, result.hierarchy
    if hierarchy is None or estimate is None or not len(result.themes) < estimate.k < result.n_clusters:
        return []
    level = result.describe_grouping(hierarchy.cut(estimate.k))
    pairs = np.unique(np.column_stack([level.codes, result.distinct_codes])[level.codes >= 0], axis=0)
    groups = [tuple(pairs[pairs[:, 0] == code, 1].tolist()) for code in range(len(level.clusters))]
    return [Node("suggested", cluster.name, group) for cluster, group in zip(level.clusters, groups, strict=True)]


def _merges(result: RegroupedTexts) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the clusters below each merge of the tree, the lowest first, and the two nodes that it joins."""
    hierarchy = result.with_hierarchy().hierarchy
    assert hierarchy is not None  # noqa: S101 - for the type checker
    cut, joined = hierarchy.tree.top(result.n_clusters)
    place_of = same_clusters(result.distinct_codes, np.append(cut, -1)[hierarchy.leaves])
    place = np.append([place_of[code] for code in range(result.n_clusters)], np.arange(len(joined)) + result.n_clusters)
    groups: list[tuple[int, ...]] = [(code,) for code in range(result.n_clusters)]
    merges = {}
    for left, right in place[joined].tolist():
        groups.append(tuple(sorted(groups[left] + groups[right])))
        merges[groups[-1]] = (left, right)
    return merges


def _named(
    result: ClusteredTexts, merges: dict[tuple[int, ...], tuple[int, int]], wanted: list[tuple[int, ...]],
    taken: list[str],
) -> list[Node]:  # fmt: skip
    """Name merges by their keywords, in comparison with the groups that exist at the same time."""
    if not wanted:
        return []
    keywords, _ = rank_terms(result.corpus.distinct, _members(result), result.corpus.counts, list(merges.values()))
    words_of = dict(zip(merges, keywords[result.n_clusters :], strict=True))
    nodes = []
    for group in wanted:
        largest = max((result.clusters[code] for code in group), key=lambda cluster: cluster.size)
        nodes.append(Node("merge", choose_name([], words_of[group], largest.name, taken), group))
        taken = [*taken, nodes[-1].name]
    return nodes
