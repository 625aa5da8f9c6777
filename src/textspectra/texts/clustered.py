"""The record of a clustering: its saved fields, the facts that follow from them, and how a notebook shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.cohesion import CohesionReport
from ..core.estimate import KEstimate, levels_html
from ..core.kmeans import LinearRule, same_clusters
from ..core.map import RowMap
from ..core.metrics import silhouette
from ..core.ward import MergeTree
from ..embedding.base import Backend
from ..embedding.cache import EmbeddingCache
from ..embedding.embed import embed_texts
from ..errors import UserError
from ..hygiene import plural, without_surrogates
from ..tables.columns import ClusterColumns
from ..tables.source import MAX_CLUSTER_NAME
from ..words.describe import Cluster
from ..words.names import EmbedPhrases
from .corpus import VECTORS_NOT_SAVED, Corpus, EmbeddedTexts, EmbeddingSource, Scalar, Totals, embed_corpus
from .details import Details
from .history import Update
from .notes import doubt_about_languages, reading_in_words
from .novelty import Reference
from .similar import SimilarPair, find_similar, pairs_in_words
from .tally import Tally
from .verdict import Verdict, verdict_of

FINEST = 300  # highest number of clusters that a report shows, unless the result, or one of its levels, has more
EDITED = "edited by hand"  # the entry `groups` in the recipe of a result whose groups were changed
N_LARGEST, N_WORDS = 10, 6  # groups in the table that a notebook shows, and keywords of each
SANDBOX = "allow-scripts allow-downloads"  # of the page in a notebook, which it cannot reach


class Hierarchy(NamedTuple):
    """A merge tree, and the leaf of each distinct text (-1: none)."""

    tree: MergeTree
    leaves: NDArray[np.intp]

    def cut(self, n_clusters: int) -> NDArray[np.intp]:
        """Return the cluster of each distinct text when the tree is cut into `n_clusters`, -1 for none."""
        return np.append(self.tree.cut(n_clusters), -1)[self.leaves]

    def of_leaves(self, codes: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return the cluster of each leaf, given the distinct texts' clusters; None if a leaf has texts of several."""
        of_leaf = np.zeros(self.tree.n_leaves, np.intp)
        leaves, codes = self.leaves[self.leaves >= 0], codes[self.leaves >= 0]
        of_leaf[leaves] = codes
        return of_leaf if (of_leaf[leaves] == codes).all() else None

    def has_cut(self, labels: NDArray[np.intp]) -> bool:
        """Return True if a labeling of the distinct texts is one of the cuts of the tree."""
        k = int(labels.max()) + 1
        return k <= self.tree.n_leaves and len(same_clusters(self.cut(k), labels)) == k


class Theme(NamedTuple):
    """A group of the coarse level: its number there (0 is the largest), its name, and the labels of its clusters."""

    label: int
    name: str
    clusters: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClusteredTexts:
    """Texts, their groups, and how good the grouping is: the data of a :class:`TextClustering`, which describes it."""

    corpus: Corpus
    totals: Totals
    distinct_codes: NDArray[np.intp]
    distinct_similarity: NDArray[np.float32]
    centers: NDArray[np.float32]
    rule: LinearRule
    clusters: tuple[Cluster, ...]
    next_label: int
    cohesion: CohesionReport | None
    k_estimate: KEstimate | None
    algorithm: str
    source: EmbeddingSource
    hierarchy: Hierarchy | None = None
    recipe: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ignore_suggestion: tuple[str, ...] = ()
    languages: dict[str, float] = field(default_factory=dict)
    details: Details | None = None
    tally: Tally | None = None
    reference: Reference | None = None
    history: tuple[Update, ...] = ()
    themes: tuple[Theme, ...] = ()
    stop_words: tuple[str, ...] = ()
    moved_by_hand: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))  # distinct texts
    row_map: RowMap = field(default_factory=RowMap)  # of the distinct texts; results of the same texts share it
    # What follows is not saved.
    encoder: Backend | None = None
    cache: EmbeddingCache | bool = True
    known_embeddings: NDArray[np.floating] | None = None
    frame: object = None

    def __repr__(self) -> str:
        weak = f", {self.verdict.short}" if self.verdict.level == "weak" else ""
        return f"{plural(self.totals.rows, 'text')} in {plural(self.n_clusters, 'group')}{self._score}{weak}"

    def _repr_html_(self) -> str:
        """Return the size, the number of groups with the levels, the verdict, and the largest groups."""
        rows, grouped = self.totals.rows, self.totals.grouped
        texts = f"{rows:,}" if grouped == rows else f"{grouped:,} of {rows:,}"
        parts = [f"<b>{plural(self.n_clusters, 'group')}</b> in {texts} texts{self._score}"]
        if self.k_estimate is not None and len(self.k_estimate.suggestions) > 1:
            parts.append(levels_html(self.k_estimate.suggestions, self.n_clusters))
        parts.append(escape(self.verdict.sentence))
        parts += [f"<i>{escape(note)}</i>" for note in self.notes if note != self.verdict.sentence]
        alike = [(self.clusters[pair.cluster].name, self.clusters[pair.other].name) for pair in self.similar_pairs]
        parts += [escape(line) for line in pairs_in_words(alike)]
        body = ""
        for cluster in sorted(self.clusters, key=lambda cluster: -cluster.size)[:N_LARGEST]:
            share, words = f"{cluster.size / max(1, grouped):.1%}", " · ".join(cluster.keywords[:N_WORDS])
            name = f"{cluster.name} (mixed)" if cluster.is_mixed else cluster.name
            cells = (f"{cluster.label}", name, f"{cluster.size:,}", share, words)
            row = "".join(f'<td dir="auto" style="text-align: left">{escape(cell)}</td>' for cell in cells)
            body += f"<tr>{row}</tr>"
        head = "".join(f"<th>{name}</th>" for name in ("cluster", "name", "size", "share", "keywords"))
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if self.n_clusters > N_LARGEST:
            parts.append(f"and {self.n_clusters - N_LARGEST:,} smaller; <code>show()</code> has all of them")
        return "".join(f"<div>{part}</div>" for part in parts)

    @property
    def _score(self) -> str:
        return f", Cohesion Ratio {self.cohesion.ratio:.2f}" if self.cohesion else ""

    def __len__(self) -> int:
        return len(self.corpus.rows)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    @property
    def is_estimated(self) -> bool:
        """Whether the number of clusters is the estimated one."""
        return self.k_estimate is not None and self.k_estimate.k == self.n_clusters

    @property
    def is_edited(self) -> bool:
        """Whether the groups were changed by hand after they were found."""
        return self.recipe.get("groups") == EDITED

    @cached_property
    def silhouette(self) -> float | None:
        """The silhouette of a sample of the distinct texts whose vectors are in memory; None if it is not defined."""
        if self.known_embeddings is not None:
            return silhouette(self.known_embeddings, self.distinct_codes)
        if self.reference is None:
            return None
        return silhouette(self.reference.units, self.distinct_codes[self.reference.positions])

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the groups can be relied on: a sentence, the level "good", "fair" or "weak", and the reasons."""
        return verdict_of(self)

    @cached_property
    def similar_pairs(self) -> tuple[SimilarPair, ...]:
        """The pairs of groups that look alike and may be one, the most similar first."""
        return find_similar(self)

    @property
    def language_doubt(self) -> str:
        """Why the groups say little: most texts are in languages that the model does not read. Empty otherwise."""
        return doubt_about_languages(self.languages, None if self.source.is_given else self.source.model)

    @property
    def reading(self) -> str:
        """A sentence on the input: the file, the column, the number of rows and their languages."""
        where, updates = self.recipe.get("read", ""), len(self.history)
        if where and updates:
            where += f", and {plural(updates, 'update')}"
        return reading_in_words(where, self.totals.rows, self.languages)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The position in `clusters` of each row's cluster; -1 for none."""
        return _constant(self.corpus.spread(self.distinct_codes, -1))

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """The cluster of each row; -1 for a blank text or one that the model could not represent."""
        return _constant(self.labels_of(self.codes))

    @cached_property
    def similarity(self) -> NDArray[np.float32]:
        """Cosine of each row with the center of its cluster; NaN if it has no cluster."""
        return _constant(self.corpus.spread(self.distinct_similarity, np.nan))

    @property
    def names(self) -> list[str | None]:
        """The name of each row's cluster; None if it has no cluster."""
        names = [*(cluster.name for cluster in self.clusters), None]
        return [names[code] for code in self.codes]

    def labels_of(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the labels of clusters, given their positions in `clusters`; -1 stays -1."""
        return np.append([cluster.label for cluster in self.clusters], -1)[codes]

    def position(self, label: int) -> int:
        """Return the position of a cluster in `clusters`, given its label."""
        labels = [cluster.label for cluster in self.clusters]
        if label not in labels or isinstance(label, bool):
            raise UserError(f"No cluster has the label {label!r}; the labels are {_listed(labels)}.")
        return labels.index(label)

    @property
    def ratios(self) -> list[float | None]:
        """The cohesion of each cluster, in the order of `clusters`; None if it is not defined."""
        return [part.ratio for part in self.cohesion.per_cluster] if self.cohesion else [None] * self.n_clusters

    @property
    def coarse(self) -> list[tuple[int | None, str | None]]:
        """The number and the name of each cluster's theme, in the order of `clusters`; None for a later cluster."""
        theme_of = {label: theme for theme in self.themes for label in theme.clusters}
        pairs: list[tuple[int | None, str | None]] = []
        for cluster in self.clusters:
            theme = theme_of.get(cluster.label)
            # A theme of one cluster has the name of the cluster, which may have been changed.
            name = cluster.name if theme and len(theme.clusters) == 1 else theme and theme.name
            pairs.append((theme and theme.label, name))
        return pairs

    def typical_texts(self, cluster: Cluster) -> list[str]:
        """Return the texts that are typical of a group, the most typical first."""
        return [self.corpus.rows[row] for row in cluster.representatives]

    def typical_counts(self, cluster: Cluster) -> list[int | None]:
        """Return the number of rows with each typical text of a group; None if only a sample of the texts is there."""
        is_sample, codes = len(self.corpus.distinct) < self.totals.distinct, self.corpus.codes
        return [None if is_sample else int(self.corpus.counts[codes[row]]) for row in cluster.representatives]

    def embeddings(self) -> NDArray[np.floating]:
        """Return the embedding of each row, from memory, the cache or the model; zeros for a blank text."""
        return self.embedded().vectors_of_rows()

    def embedded(self) -> EmbeddedTexts:
        """Return the distinct texts with their vectors, from memory, the cache or the model."""
        if self.known_embeddings is not None:
            return EmbeddedTexts(self.corpus, self.known_embeddings)
        if self.source.given:  # the model's vectors may be others
            raise UserError(VECTORS_NOT_SAVED)
        return embed_corpus(self.corpus, self.load_encoder(), cache=self.cache)

    def map_points(self) -> NDArray[np.float32]:
        """Return the point of each row on the map; NaN if it has no cluster."""
        texts = np.flatnonzero(self.distinct_codes >= 0)
        if not self.row_map.has(texts):
            self.row_map.find(self.embedded().X, texts)
        return self.corpus.spread(self.row_map.points(), np.nan)

    def embed_phrases(self) -> EmbedPhrases | None:
        """Return the function that embeds phrases as the texts were embedded; None if the embeddings were given."""
        if self.encoder is None and self.source.model is None:
            return None
        return lambda phrases: embed_texts(phrases, self.load_encoder(), cache=self.cache)

    def load_encoder(self) -> Backend:
        """Return the model that made the embeddings; it is loaded if it is not in memory."""
        return self.source.load() if self.encoder is None else self.encoder


def _constant(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array read-only, because the record keeps it."""
    array.flags.writeable = False
    return array


def _listed(labels: list[int]) -> str:
    if len(labels) > 2 and labels[-1] - labels[0] == len(labels) - 1:
        return f"{labels[0]} to {labels[-1]}"
    return " and ".join(filter(None, [", ".join(map(str, labels[:-1])), str(labels[-1])]))


def check_cluster_name(name: object) -> str:
    """Return a name that a user gives to a group, or raise a UserError if a group cannot have it."""
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"A cluster's name must be a text that is not blank, but it is {name!r}.")
    if without_surrogates(name) != name:
        raise UserError(f"The name {name!r} holds half of a character, which cannot be written to a file.")
    check_name_length(name)
    return name


def check_name_length(name: str, where: str = "") -> None:
    """Raise a UserError if a name is too long for a group."""
    if len(name) > MAX_CLUSTER_NAME:
        limit = f"the name of a group has at most {MAX_CLUSTER_NAME}."
        raise UserError(f"{where}The name {name[:40]!r}... has {len(name):,} characters; {limit}")


def clusters_of(result: ClusteredTexts) -> ClusterColumns:
    """Return how the groups are described in tables."""
    clusters = result.clusters
    counted = [zip(result.typical_texts(cluster), result.typical_counts(cluster), strict=True) for cluster in clusters]
    return ClusterColumns(
        labels=[cluster.label for cluster in clusters],
        names=[cluster.name for cluster in clusters],
        cohesion=[None if ratio is None else round(float(ratio), 3) for ratio in result.ratios],
        mixed=[cluster.is_mixed for cluster in clusters],
        keywords=[", ".join(cluster.keywords) for cluster in clusters],
        typical_texts=[[with_count(text, times) for text, times in pairs] for pairs in counted],
        coarse=result.coarse if result.themes else [],
    )


def with_count(text: str, times: int | None) -> str:
    """Put the number of its rows before a text that repeats: '5,000 × Thank you'."""
    return f"{times:,} × {text}" if times and times > 1 else text


def framed(page: str, height: int) -> str:
    """Put a page into a frame of its own, from which it cannot reach the page around it."""
    style = f"width: 100%; height: {height}px; border: 0"
    return f'<iframe title="textspectra report" sandbox="{SANDBOX}" style="{style}" srcdoc="{escape(page)}"></iframe>'
