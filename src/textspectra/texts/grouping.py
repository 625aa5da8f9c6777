"""Texts in groups: new texts by a model's rule, the description of each group, and other groups of the same texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, filterfalse, groupby
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..core import clusters as core
from ..core.cohesion import report_if_defined
from ..core.discriminants import separate_clusters
from ..core.estimate import SuggestionName
from ..core.kmeans import LinearRule, labels_by, same_clusters
from ..core.rows import cluster_sums, cosines_to_centers, map_unit_rows
from ..embedding.cache import EmbeddingCache
from ..errors import UserError
from ..tables.parquet import Vectors, given_vectors
from ..words.describe import Cluster, describe_clusters
from ..words.languages import language_shares
from ..words.names import EmbedPhrases, unique_name
from .clustered import EDITED, ClusteredTexts, Hierarchy, Theme
from .corpus import Corpus, EmbeddedTexts, Texts, embed_corpus, open_texts
from .notes import note_on_model, notes_on_lengths, notes_on_reading
from .tally import Tally, tally_rows


class Placed(NamedTuple):
    """New texts with their vectors, the group of each distinct text (-1: none), notes on them, and their languages."""

    texts: EmbeddedTexts
    codes: NDArray[np.intp]
    notes: tuple[str, ...]
    languages: dict[str, float]


def place_texts(
    model: ClusteredTexts, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
    cache: EmbeddingCache | bool = True, progress: Callable[[int, int], None] | None = None,
) -> Placed:  # fmt: skip
    """Embed new texts as a model's texts were embedded, and assign them to its groups, by position in `clusters`."""
    opened = open_texts(texts, text_column)
    corpus = Corpus.from_texts(opened, keep_all=model.corpus.keep_all, ignore=model.corpus.ignore)
    dimension = model.centers.shape[1]
    notes = notes_on_reading(corpus.without_content(), corpus.emptied())
    if not corpus.distinct:
        return Placed(EmbeddedTexts(corpus, np.zeros((0, dimension), np.float32)), np.zeros(0, np.intp), notes, {})
    encoder = model.load_encoder() if embeddings is None else None
    given = None if embeddings is None else given_vectors(embeddings, opened)
    new = embed_corpus(corpus, encoder, given, cache=cache, progress=progress)
    if new.X.shape[1] != dimension:
        raise UserError(
            f"These embeddings have {new.X.shape[1]} dimensions, but the clusters were found in {dimension}; use the "
            "same model."
        )
    codes = new.scatter(labels_by(new.vectors, model.rule), -1)
    languages = language_shares(corpus.read)
    on_model = note_on_model(languages, len(corpus.distinct), encoder)
    return Placed(new, codes, (*filter(None, [on_model]), *notes, *notes_on_lengths(corpus, encoder)), languages)


def score_texts(
    model: ClusteredTexts, texts: Texts | None, *, text_column: str | None = None, embeddings: Vectors | None = None,
    cache: EmbeddingCache | bool = True,
) -> NDArray[np.float32]:  # fmt: skip
    """Return the probability of each group of a model for each row: of new texts, or of its own if they are None."""
    if texts is not None:
        placed = place_texts(model, texts, text_column=text_column, embeddings=embeddings, cache=cache)
        scored = placed.texts
        for note in placed.notes:
            warnings.warn(note, stacklevel=3)
    elif text_column is not None or embeddings is not None:
        raise UserError("text_column= and embeddings= describe new texts; give these, too.")
    else:
        scored = model.embedded()
    rule, centers = model.rule, model.centers

    def probabilities(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        return rule.probabilities(rule.scores(rows, scale), centers)

    of_distinct = scored.scatter(map_unit_rows(probabilities, scored.vectors, dtype=np.float32), np.nan)
    return scored.corpus.spread(of_distinct, np.nan)


def mean_vectors(texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> NDArray[np.float32]:
    """Return the mean unit vector of each group, zeros for an empty one; a text counts as often as it occurs."""
    grouped, weights = codes[texts.counting], texts.weights
    sums = cluster_sums(texts.vectors, grouped, k, weights=weights)
    return np.asarray(sums / np.maximum(np.bincount(grouped, weights, k), 1)[:, None], np.float32)


def similarity_to_clusters(
    texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each distinct text with the center of its group; NaN if it has none."""
    return texts.scatter(cosines_to_centers(texts.vectors, codes[texts.counting], centers), np.nan)


def describe_embedded(
    texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32], embed: EmbedPhrases | None,
    read: NDArray[np.bool_] | None = None, parts: Mapping[int, Sequence[Cluster]] | None = None,
    taken: Sequence[str] = (), *, stop_words: Collection[str] = (),
) -> tuple[NDArray[np.float32], tuple[Cluster, ...]]:  # fmt: skip
    """Return the similarity of each distinct text to its center, and each group described by the texts to `read`.

    A group that joins several `parts`, which are described already, is named as a theme. No name is `taken`.
    """
    counts, first_rows = texts.corpus.counts, texts.corpus.first_rows
    similarity = cosines = similarity_to_clusters(texts, codes, centers)
    sizes = np.bincount(codes[texts.counting], texts.weights).astype(int).tolist()
    if read is not None:  # the phrases of the texts that are read, and not of their groups
        codes = np.where(read, codes, -1)
        rows = np.flatnonzero(codes >= 0)
        X = texts.X[rows]
        centers = cluster_sums(X, codes[rows], len(centers), weights=counts[rows]).astype(np.float32)
        cosines = similarity.copy()
        cosines[rows] = cosines_to_centers(X, codes[rows], centers)
    described = describe_clusters(
        texts.corpus.read,
        texts.X,
        codes,
        centers,
        cosines,
        counts=counts,
        embed=embed,
        parts=parts,
        taken=taken,
        stop_words=stop_words,
    )
    typical = [tuple(first_rows[list(cluster.representatives)].tolist()) for cluster in described]
    return similarity, tuple(
        replace(cluster, size=sizes[cluster.label], representatives=chosen)
        for cluster, chosen in zip(described, typical, strict=True)
    )


def with_names(
    clusters: Sequence[Cluster], labels: Sequence[int], kept: Mapping[int, Cluster], others: Iterable[str] = ()
) -> tuple[Cluster, ...]:
    """Give groups their labels, and those in `kept` the names that they had; a name that is taken gets a number.

    A name may say that a group is mixed, so the mark stays with it.
    """
    taken = {*(cluster.name for cluster in kept.values()), *others}

    def named(cluster: Cluster, before: Cluster | None) -> Cluster:
        if before is None:
            return replace(cluster, name=unique_name(cluster.name, taken))
        return replace(cluster, name=before.name, is_mixed=cluster.is_mixed or before.is_mixed)

    pairs = zip(clusters, labels, strict=True)
    return tuple(replace(named(cluster, kept.get(i)), label=label) for i, (cluster, label) in enumerate(pairs))


def with_colors(clusters: Sequence[Cluster], kept: Mapping[int, int], taken: Iterable[int] = ()) -> tuple[Cluster, ...]:
    """Give groups the colors in `kept`; the others get the lowest numbers that no group has, and that are not taken."""
    free = filterfalse({*kept.values(), *taken}.__contains__, count())
    return tuple(replace(cluster, color=kept[i] if i in kept else next(free)) for i, cluster in enumerate(clusters))


def label_clusters(
    codes: NDArray[np.intp], counts: NDArray[np.intp], known: Mapping[int, int], next_label: int
) -> dict[int, int]:
    """Return the label of each group, in ascending order; groups without one get the next labels, the largest first."""
    usable = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[usable], counts[usable])
    first = usable[np.unique(codes[usable], return_index=True)[1]]
    fresh = [code for code in np.lexsort((first, -sizes)).tolist() if code not in known]
    labels = dict(known) | {code: next_label + number for number, code in enumerate(fresh)}
    return dict(sorted(labels.items(), key=lambda item: item[1]))


def positions_in(codes: NDArray[np.intp], order: Iterable[int]) -> NDArray[np.intp]:
    """Return the place of each text's group in `order`; -1 stays -1."""
    return np.append(np.argsort(list(order)), -1)[codes]


class Grouping(NamedTuple):
    """Groups of the texts of a result: each distinct text's position and similarity, and the groups with centers."""

    codes: NDArray[np.intp]
    centers: NDArray[np.float32]
    similarity: NDArray[np.float32]
    clusters: tuple[Cluster, ...]


def _same_at(level: Grouping | None, codes: NDArray[np.intp]) -> dict[int, Cluster]:
    """Return those groups that a level also has, as they are described there."""
    if level is None:
        return {}
    return {new: level.clusters[old] for new, old in same_clusters(level.codes, codes).items()}


def _parts_of(codes: NDArray[np.intp], level: Grouping) -> dict[int, list[Cluster]]:
    """Return the groups of a level that are inside each group."""
    pairs = np.unique(np.column_stack([level.codes, codes])[codes >= 0], axis=0)
    whole = pairs[np.bincount(pairs[:, 0])[pairs[:, 0]] == 1].tolist()  # the others are divided among groups
    parts: dict[int, list[Cluster]] = {}
    for part, code in whole:
        parts.setdefault(code, []).append(level.clusters[part])
    return parts


class RegroupedTexts(ClusteredTexts):
    """A record of a clustering that can be made again with other groups of the same texts."""

    def with_hierarchy(self) -> Self:
        """Return the same result with a merge tree that has its grouping among its cuts."""
        if self.hierarchy is not None and self.hierarchy.has_cut(self.distinct_codes):
            return self
        texts = self.embedded()
        known = self.hierarchy and self.hierarchy.leaves[texts.counting]
        tree, leaves = core.tree_of_clusters(texts.vectors, self.distinct_codes[texts.counting], known)
        return replace(self, hierarchy=Hierarchy(tree, texts.scatter(leaves, -1)))

    def level_clusters(self) -> dict[SuggestionName, tuple[NDArray[np.intp], tuple[Cluster, ...]]]:
        """Return the groups at the other levels: the position of each distinct text's group, and the groups.

        Groups that were edited by hand have none: the levels are those of the groups that were found.
        """
        if self.k_estimate is None or self.is_edited:
            return {}
        base = self.with_hierarchy()
        assert base.hierarchy is not None  # noqa: S101 - for the type checker
        described = {
            level.name: base.describe_level(level.k)
            for level in self.k_estimate.suggestions
            if level.k != self.n_clusters and level.k <= base.hierarchy.tree.n_leaves
        }
        return {name: (grouping.codes, grouping.clusters) for name, grouping in described.items()}

    def describe_level(self, k: int) -> Grouping:
        """Describe the cut of the tree into k groups."""
        assert self.hierarchy is not None  # noqa: S101 - for the type checker
        if self.k_estimate is not None and k == self.k_estimate.k != self.n_clusters:
            return self._suggested_again
        return self.describe_grouping(self.hierarchy.cut(k))

    def with_themes(self) -> Self:
        """Return the same result with the themes of its clusters, if a level is coarser than these."""
        if self.hierarchy is None or self._n_themes >= self.n_clusters:
            return replace(self, themes=())
        cut = self.hierarchy.cut(self._n_themes)
        codes = positions_in(cut, label_clusters(cut, self.corpus.counts, {}, 0))
        coarse = self.describe_grouping(codes)
        rows = np.unique(np.column_stack([codes, coarse.codes, self.distinct_codes])[codes >= 0], axis=0).tolist()
        themes = (
            Theme(number, coarse.clusters[position].name, tuple(self.clusters[code].label for *_, code in members))
            for (number, position), members in groupby(rows, key=lambda row: row[:2])
        )
        return replace(self, themes=tuple(themes))

    @property
    def _n_themes(self) -> int:
        levels = self.k_estimate.suggestions if self.k_estimate else ()
        return next((level.k for level in levels if level.name == "coarse"), self.n_clusters)

    def with_level_names(self) -> Self:
        """Name each group that the suggested level also has as it is named there, and themes as themes of its groups.

        So a group has one name at all levels.
        """
        level = self._suggested(self.distinct_codes, fresh=True)
        if level is not None:
            level = self.describe_grouping(self.distinct_codes, fresh=True, level=level)
        kept = _same_at(level, self.distinct_codes)
        clusters = with_names(self.clusters, [cluster.label for cluster in self.clusters], kept)
        return replace(self, clusters=clusters).with_themes()

    def regroup(self, codes: NDArray[np.intp], labels: Mapping[int, int] | None = None) -> Self:
        """Describe the same texts in other groups, which the recipe then calls edited.

        `codes` has the new group of each distinct text, numbered from 0 in any order (-1: none). A group whose texts
        stay the same keeps its label and its name, and so does one that gets the label of an old group in `labels`.
        The others get the next labels, the largest group first.
        """
        grouping = self.describe_grouping(codes, labels)
        clusters = with_colors(grouping.clusters, self._colors_in(grouping.codes))
        texts, k = self.embedded(), len(grouping.clusters)
        is_same = np.array_equal(grouping.codes, self.distinct_codes)
        return replace(
            self, distinct_codes=grouping.codes, distinct_similarity=grouping.similarity, centers=grouping.centers,
            rule=self.rule_of(texts, grouping.codes, k),
            clusters=clusters, next_label=max(self.next_label, clusters[-1].label + 1), themes=(),
            cohesion=report_if_defined(texts.vectors, grouping.codes[texts.counting], k, random_state=0),
            tally=self._tally_of(grouping.codes, k),
            recipe=self.recipe if is_same else {**self.recipe, "groups": EDITED},
        )  # fmt: skip

    def _colors_in(self, codes: NDArray[np.intp]) -> dict[int, int]:
        """Return the colors that go on in other groups: of the larger one if two are merged, in the larger part."""
        grouped = codes >= 0
        pairs = np.column_stack([self.distinct_codes, codes])[grouped]
        both, inverse = np.unique(pairs, axis=0, return_inverse=True)
        shared = np.bincount(inverse.ravel(), self.corpus.counts[grouped])
        colors: dict[int, int] = {}
        for old, new in both[np.argsort(-shared, kind="stable")].tolist():
            if old >= 0 and new not in colors and self.clusters[old].color not in colors.values():
                colors[new] = self.clusters[old].color
        return colors

    def describe_grouping(
        self, codes: NDArray[np.intp], known: Mapping[int, int] | None = None, *, fresh: bool = False,
        level: Grouping | None = None,
    ) -> Grouping:  # fmt: skip
        """Describe other groups of the same texts; `fresh` ones have nothing to do with the groups that are there.

        A group that the suggested `level` also has is named as there. The other groups of the coarse level are named as
        themes of its groups, and none of them has the name of a group.
        """
        texts, counts = self.embedded(), self.corpus.counts
        level = level or self._suggested(codes, fresh=fresh)
        named = _same_at(level, codes)
        same = {} if fresh else same_clusters(self.distinct_codes, codes)
        of_level = level if level and self._n_themes == codes.max() + 1 < len(level.clusters) else None
        inside = {
            cluster.name
            for code, cluster in enumerate(self.clusters)
            if of_level and self.n_clusters > self._n_themes and code not in same.values()
        }
        named = {new: cluster for new, cluster in named.items() if cluster.name not in inside}
        known = {new: self.clusters[old].label for new, old in same.items()} | dict(known or {})
        by_label = {cluster.label: cluster for cluster in self.clusters}
        named |= {new: by_label[label] for new, label in known.items() if label in by_label}
        labels = label_clusters(codes, counts, known, 0 if fresh else self.next_label)
        # They are described by size, because words are weighted a little differently in another order.
        by_size = list(label_clusters(codes, counts, {}, 0))
        ranks = positions_in(codes, by_size)
        centers = mean_vectors(texts, ranks, len(labels))
        parts = _parts_of(ranks, of_level) if of_level else {}
        taken = [*inside, *(cluster.name for cluster in (of_level.clusters if of_level else ()))]
        similarity, clusters = describe_embedded(
            texts, ranks, centers, self.embed_phrases(), parts=parts, taken=taken, stop_words=self.stop_words
        )
        themes = self._theme_names(ranks) if len(by_size) == self._n_themes else {}
        clusters = tuple(replace(each, name=themes.get(rank, each.name)) for rank, each in enumerate(clusters))
        kept = {rank: named[code] for rank, code in enumerate(by_size) if code in named}
        ranked = [labels[code] for code in by_size]
        clusters, order = with_names(clusters, ranked, kept), np.argsort(ranked)
        return Grouping(positions_in(codes, labels), centers[order], similarity, tuple(clusters[i] for i in order))

    def _suggested(self, codes: NDArray[np.intp], *, fresh: bool = False) -> Grouping | None:
        """Return the groups of the suggested level; None if it has as many as there are in `codes`."""
        k = self.k_estimate.k if self.k_estimate else self.n_clusters
        if k == codes.max() + 1:
            return None
        if k == self.n_clusters:
            return Grouping(self.distinct_codes, self.centers, self.distinct_similarity, self.clusters)
        if self.hierarchy is None or k > self.hierarchy.tree.n_leaves:
            return None
        return self.describe_grouping(self.hierarchy.cut(k), fresh=True) if fresh else self._suggested_again

    @cached_property
    def _suggested_again(self) -> Grouping:
        """The groups of the suggested level of other groups; several levels are named by them."""
        assert self.hierarchy is not None  # noqa: S101 - for the type checker
        return self.describe_grouping(self.hierarchy.cut(self.k_estimate.k if self.k_estimate else self.n_clusters))

    def _theme_names(self, codes: NDArray[np.intp]) -> dict[int, str]:
        """Return the names of those groups that are themes."""
        numbers = [-1 if number is None else number for number, _ in self.coarse]
        of_text = np.append(numbers, -1)[self.distinct_codes]
        names = {theme.label: theme.name for theme in self.themes}
        return {new: names[old] for new, old in same_clusters(of_text, codes).items()}

    def rule_of(self, texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> LinearRule:
        """Return the rule of other groups: derived from the old rule if they are groups merged or split on the tree."""
        before, after = self.distinct_codes[texts.counting], codes[texts.counting]
        pairs = np.unique(np.column_stack([before, after]), axis=0)
        if len(pairs) == self.n_clusters == self.rule.n_clusters:
            return self.rule.merged(pairs[:, 1]) if len(pairs) > k else self.rule.numbered(np.argsort(pairs[:, 1]))
        if self.hierarchy is not None and self.rule.n_clusters == self.n_clusters:
            old, new = self.hierarchy.of_leaves(self.distinct_codes), self.hierarchy.of_leaves(codes)
            if old is not None and new is not None:
                filled, leaf = np.unique(self.hierarchy.leaves[texts.counting], return_inverse=True)
                means = cluster_sums(texts.vectors, leaf, len(filled)) / np.bincount(leaf)[:, None]
                return core.cut_rule(self.rule, means.astype(np.float32), old[filled], new[filled])
        return separate_clusters(texts.vectors, None, after, k)

    def _tally_of(self, codes: NDArray[np.intp], k: int) -> Tally | None:
        if self.tally is None:
            return None
        if self.details is None or not self.details.is_counted:
            return self.tally.regrouped(self.distinct_codes, codes)
        return tally_rows(self.details, self.corpus.spread(codes, -1), k, self.tally.every)
