"""Other groups of the same texts: their labels, names, keywords, rule and counts, and names that a user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.clusters import cut_rule
from ..core.discriminants import separate_clusters
from ..core.kmeans import LinearRule, same_clusters
from ..core.rows import cluster_sums
from ..errors import UserError
from ..words.describe import Cluster
from .clustered import ClusteredTexts, check_name_length
from .corpus import EmbeddedTexts
from .placing import describe_embedded, mean_vectors, with_names
from .tally import Tally, tally_rows


class Grouping(NamedTuple):
    """Groups of the texts of a result: each distinct text's position and similarity, and the groups with centers."""

    codes: NDArray[np.intp]
    centers: NDArray[np.float32]
    similarity: NDArray[np.float32]
    clusters: tuple[Cluster, ...]


def describe_grouping(
    result: ClusteredTexts, codes: NDArray[np.intp], continued: Mapping[int, int] | None = None,
    new_labels: Mapping[int, int] | None = None, *, fresh: bool = False,
) -> Grouping:  # fmt: skip
    """Describe other groups of the same texts; `fresh` ones have nothing to do with the groups that are there."""
    texts, counts = result.embedded(), result.corpus.counts
    same = {} if fresh else same_clusters(result.distinct_codes, codes) | dict(continued or {})
    known = {new: result.clusters[old].label for new, old in same.items()} | dict(new_labels or {})
    names = {} if fresh else names_when_suggested(result, codes)
    names |= {new: result.clusters[old].name for new, old in same.items()}
    labels = label_clusters(codes, counts, known, 0 if fresh else result.next_label)
    # They are described by size, because words are weighted a little differently in another order.
    by_size = list(label_clusters(codes, counts, {}, 0))
    ranks = positions_in(codes, by_size)
    centers = mean_vectors(texts, ranks, len(labels))
    similarity, clusters = describe_embedded(texts, ranks, centers, result.embed_phrases())
    kept = {rank: names[code] for rank, code in enumerate(by_size) if code in names}
    ranked = [labels[code] for code in by_size]
    named, order = with_names(clusters, ranked, kept), np.argsort(ranked)
    return Grouping(positions_in(codes, list(labels)), centers[order], similarity, tuple(named[i] for i in order))


def names_when_suggested(result: ClusteredTexts, codes: NDArray[np.intp], *, fresh: bool = False) -> dict[int, str]:
    """Return the names of those groups that the suggested level also has."""
    k = result.k_estimate.k if result.k_estimate else result.n_clusters
    if result.hierarchy is None or k in (result.n_clusters, codes.max() + 1) or k > result.hierarchy.tree.n_leaves:
        return {}
    suggested = result.hierarchy.cut(k)
    same = same_clusters(suggested, codes)
    if not same:
        return {}
    level = describe_grouping(result, suggested, fresh=fresh)
    position = dict(zip(suggested.tolist(), level.codes.tolist(), strict=True))
    return {new: level.clusters[position[old]].name for new, old in same.items()}


def label_clusters(
    codes: NDArray[np.intp], counts: NDArray[np.intp], known: Mapping[int, int], next_label: int
) -> dict[int, int]:
    """Return the label of each group, in ascending order; groups without one get the next labels, the largest first.

    `codes` has the group of each distinct text (-1: none), and `counts` how often the text occurs.
    """
    usable = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[usable], counts[usable])
    first = usable[np.unique(codes[usable], return_index=True)[1]]
    fresh = [code for code in np.lexsort((first, -sizes)).tolist() if code not in known]
    labels = dict(known) | {code: next_label + number for number, code in enumerate(fresh)}
    return dict(sorted(labels.items(), key=lambda item: item[1]))


def positions_in(codes: NDArray[np.intp], order: Sequence[int]) -> NDArray[np.intp]:
    """Return the place of each text's group in `order`; -1 stays -1."""
    return np.append(np.argsort(order), -1)[codes]


def rule_of(result: ClusteredTexts, texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> LinearRule:
    """Return the rule of other groups: derived from the old rule if they are groups merged or split on the tree."""
    before, after = result.distinct_codes[texts.counting], codes[texts.counting]
    pairs = np.unique(np.column_stack([before, after]), axis=0)
    if len(pairs) == result.n_clusters == result.rule.n_clusters:
        return result.rule.merged(pairs[:, 1]) if len(pairs) > k else result.rule.numbered(np.argsort(pairs[:, 1]))
    if result.hierarchy is not None and result.rule.n_clusters == result.n_clusters:
        old, new = result.hierarchy.of_leaves(result.distinct_codes), result.hierarchy.of_leaves(codes)
        if old is not None and new is not None:
            filled, leaf = np.unique(result.hierarchy.leaves[texts.counting], return_inverse=True)
            means = cluster_sums(texts.vectors, leaf, len(filled)) / np.bincount(leaf)[:, None]
            return cut_rule(result.rule, means.astype(np.float32), old[filled], new[filled])
    return separate_clusters(texts.vectors, None, after, k)


def tally_of(result: ClusteredTexts, codes: NDArray[np.intp], k: int) -> Tally | None:
    """Count other groups of the same texts over time and by segments."""
    if result.tally is None:
        return None
    if result.details is None or not result.details.is_counted:
        return result.tally.regrouped(result.distinct_codes, codes)
    return tally_rows(result.details, result.corpus.spread(codes, -1), k, result.tally.every)


def renamed(clusters: Sequence[Cluster], names: Mapping[int, str | None]) -> tuple[Cluster, ...]:
    """Give some groups, by their labels, other names; a UserError says which name is not possible."""
    known = {cluster.name for cluster in clusters}
    for new in names.values():
        if not isinstance(new, str) or not new.strip():
            raise UserError(f"A cluster's name must be a text that is not blank, but it is {new!r}.")
        if new not in known:
            if any("\ud800" <= letter <= "\udfff" for letter in new):
                raise UserError(f"The name {new!r} holds half of a character, which cannot be written to a file.")
            check_name_length(new)
    changed = tuple(replace(cluster, name=names.get(cluster.label) or cluster.name) for cluster in clusters)
    for new in names.values():
        namesakes = [cluster.label for cluster in changed if cluster.name == new]
        if len(namesakes) > 1:
            raise UserError(
                f"Clusters {namesakes[0]} and {namesakes[1]} would both be called {new!r}; merge them, or choose "
                "another name."
            )
    return changed
