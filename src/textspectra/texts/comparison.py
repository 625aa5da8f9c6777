"""Compare new texts with a model, and take them in: changed groups, new groups, texts that fit nothing, drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..core.cohesion import report_if_defined
from ..core.discriminants import separate_clusters
from ..core.kmeans import LinearRule, largest_first
from ..core.map import RowMap
from ..core.rows import take_units
from ..embedding.cache import EmbeddingCache
from ..errors import UserError
from ..hygiene import plural
from ..tables.frames import library_of, new_frame, with_columns
from ..tables.parquet import Vectors
from ..words.describe import Cluster
from ..words.languages import language_shares
from .clustered import ClusteredTexts
from .corpus import Corpus, DataFrame, EmbeddedTexts, Texts, Totals
from .details import Details, details_like, name_period
from .grouping import describe_embedded, mean_vectors, place_texts, similarity_to_clusters, with_colors, with_names
from .history import ClusterChange, Update, columns_of, find_changes
from .new_clusters import find_new_clusters
from .novelty import (
    USUAL,
    Known,
    Reference,
    extend_reference,
    falls_in_two,
    is_among_first,
    known_rows,
    reference_of,
    score_novelty,
)
from .tally import Tally, tally_rows

if TYPE_CHECKING:
    from .result import TextClustering

_READ_TEXTS = 100  # nearest to the center of each group of the model, which are read to name new groups differently
_SPLIT_TEXTS = 100  # fewest texts of a group, old and new together, for which a split is looked for
_DRIFT_LEVEL = 0.001  # p-value below which the share of novel texts is reported as drift


class Drift(NamedTuple):
    """How new the texts of a file are on the whole; None if the model has too few texts to tell.

    It is significant if far more texts than usual have a novelty above 1: more than twice as many, and more than by
    chance (a one-sided binomial test).
    """

    median: float | None
    share_above_1: float | None
    expected_above_1: float
    is_significant: bool

    @staticmethod
    def of(novelty: NDArray[np.float32]) -> Drift:
        """Judge the novelty of each row; rows without a group are NaN."""
        known, expected = novelty[~np.isnan(novelty)], round(1 - USUAL, 3)
        n, above = len(known), int((known > 1).sum())
        if not n:
            return Drift(None, None, expected, False)
        p = special.betainc(max(above, 1), n - above + 1, expected)  # of this number or more by chance
        is_significant = bool(above > 2 * expected * n and p < _DRIFT_LEVEL)
        return Drift(round(float(np.median(known)), 3), round(above / n, 4), expected, is_significant)

    def in_words(self, source: str = "") -> str:
        """Say that the groups are out of date; an empty string if they are not."""
        if not self.is_significant:
            return ""
        texts = f"texts in {source}" if source else "new texts"
        return (
            f"{100 * (self.share_above_1 or 0):.0f}% of the {texts} are unlike "
            f"the texts of the model, where {100 * self.expected_above_1:.0f}% is usual: its groups are out of date."
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """New texts compared with a model, which stays as it is. It is made by :meth:`TextClustering.compare`.

    Attributes
    ----------
    model : TextClustering
        The model that the texts were compared with.
    result : TextClustering
        The new texts alone: in the groups of the model that have any of them, and in the new groups.
    changes : data frame
        One row per group: cluster, name, status ("new", "growing", "shrinking", "gone" or "steady"), size_before,
        size_after, share_before, share_after, p, adjusted for the number of groups, and mixed. Before is the last
        file of the model.
    cluster_changes : tuple of ClusterChange
        The same as objects.
    new_clusters : tuple of Cluster
        The new groups; :meth:`TextClustering.update` gives them the same labels.
    codes, centers, rule : ndarray, ndarray, LinearRule
        The groups of the model and the new ones together: the position of each distinct new text among them (-1:
        none), their centers, and the rule that separates them.
    distinct_novelty : ndarray
        The novelty of each distinct text. 0 is usual, and nine tenths of the model's own texts are below 1.
    odd : float
        The novelty that one in a hundred of the model's own texts exceeds.
    drift : Drift
        Whether far more texts than usual are unlike the model's, so that its groups are out of date.
    in_words : str
        What the changes compare: the new file with the last file of the model, or with all its texts.
    source : str
        The name of the new file; empty if it is not known.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> X = np.eye(4)[np.arange(120) % 3] + 0.1 * np.random.default_rng(0).standard_normal((120, 4))
    >>> result = ts.cluster_texts([f"text {i}" for i in range(80)], embeddings=X[:80], n_clusters=3)
    >>> result.compare([f"text {i}" for i in range(80, 120)], embeddings=X[80:])
    40 texts in 3 of 3 groups, 0 new groups
    """

    model: TextClustering
    result: TextClustering
    cluster_changes: tuple[ClusterChange, ...]
    new_clusters: tuple[Cluster, ...]
    codes: NDArray[np.intp]
    centers: NDArray[np.float32]
    rule: LinearRule
    distinct_novelty: NDArray[np.float32]
    odd: float
    drift: Drift
    in_words: str
    source: str = ""

    def __repr__(self) -> str:
        n_new, k = len(self.new_clusters), self.model.n_clusters
        texts = f"{len(self.result):,} texts in {self.result.n_clusters - n_new} of {k} groups"
        return f"{texts}, {plural(n_new, 'new group')}"

    @property
    def changes(self) -> DataFrame:
        """One row per group, the new ones first."""
        frame: DataFrame = new_frame(columns_of(self.cluster_changes), like=self.result.frame)
        return frame

    @property
    def novelty(self) -> NDArray[np.float32]:
        """The novelty of each row; NaN if it has no group, or if the model has too few texts to tell."""
        return self.result.corpus.spread(self.distinct_novelty, np.nan)

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each row is in a new group."""
        return self.result.corpus.spread(self.codes >= self.model.n_clusters, False)

    @cached_property
    def misfits(self) -> NDArray[np.intp]:
        """Positions of the distinct texts that fit nothing: odd, and in no new group. The oddest comes first."""
        odd = np.flatnonzero((self.distinct_novelty > self.odd) & (self.codes < self.model.n_clusters))
        ordered: NDArray[np.intp] = odd[np.argsort(-self.distinct_novelty[odd], kind="stable")]
        return ordered

    @cached_property
    def splits(self) -> tuple[int, ...]:
        """Labels of groups that now look like two: halves of their old and new texts agree. Nothing is split."""
        known, texts = known_rows(self.model), self.result.embedded()
        units, codes, labels = take_units(texts.X, texts.counting), self.codes[texts.counting], []
        for position, cluster in enumerate(self.model.clusters):
            before, new = known.units[known.codes == position], units[codes == position]
            both = np.concatenate([before, new])
            if len(new) and len(both) >= _SPLIT_TEXTS and falls_in_two(both) and not falls_in_two(before):
                labels.append(cluster.label)
        return tuple(labels)

    def to_frame(self) -> DataFrame:
        """Return the frame of :meth:`TextClustering.to_frame` with two more columns: novelty and is_new."""
        return with_columns(self.result.to_frame(), {"novelty": self.novelty, "is_new": self.is_new})[0]


def compare_texts(
    model: TextClustering, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
    cache: EmbeddingCache | bool = True, progress: Callable[[int, int], None] | None = None, source: str = "",
) -> Comparison:  # fmt: skip
    """Compare new texts with a model, which is not changed; `source` is the name of their file."""
    placed = place_texts(model, texts, text_column=text_column, embeddings=embeddings, cache=cache, progress=progress)
    new, corpus, k = placed.texts, placed.texts.corpus, model.n_clusters
    if not len(new.counting):
        raise UserError(
            f"None of the {len(corpus.rows):,} texts can be compared: all are blank, say nothing or are unknown."
        )
    # A text that the model has keeps its group, and its place on the map.
    position_of = {text: position for position, text in enumerate(model.corpus.distinct)}
    positions = np.array([position_of.get(text, -1) for text in corpus.distinct], np.intp)
    codes = np.append(model.distinct_codes, -1)[positions]
    codes = np.where((codes >= 0) & (placed.codes >= 0), codes, placed.codes)
    reference, units = reference_of(model), take_units(new.X, new.counting)
    known = known_rows(model, reference)
    scores, odd = score_novelty(known, units)
    codes, rule, is_mixed = _with_new_clusters(model, known, new, units, codes, scores)
    centers = np.concatenate([model.centers, mean_vectors(new, codes, rule.n_clusters)[k:]])
    distinct_novelty = new.scatter(scores, np.nan)
    drift = Drift.of(corpus.spread(distinct_novelty, np.nan))
    details, notes = details_like(model.details, texts, text_column)
    if drift.is_significant:
        notes.append(f"{drift.in_words(source)} Cluster the old and the new texts together for groups that fit.")
    result = replace(
        _new_texts_alone(model, new, codes, centers, rule, details), notes=(*placed.notes, *notes),
        languages=placed.languages, frame=texts if library_of(texts) else None, recipe={**model.recipe, "read": source},
        row_map=model.row_map.beside(positions, *reference),
    )  # fmt: skip
    loose = {model.next_label + place for place, mixed in enumerate(is_mixed) if mixed}
    clusters = [replace(cluster, is_mixed=cluster.is_mixed or cluster.label in loose) for cluster in result.clusters]
    result = replace(result, clusters=tuple(clusters))
    new_clusters = tuple(cluster for cluster in result.clusters if cluster.label >= model.next_label)
    last, sizes = _last_file(model)
    this = _described(source or "the new file", result.totals.rows, details)
    changes = find_changes([*model.clusters, *new_clusters], sizes, _sizes(corpus, codes, rule.n_clusters))
    return Comparison(
        model=model, result=result, cluster_changes=changes, new_clusters=new_clusters,
        codes=codes, centers=centers, rule=rule,
        distinct_novelty=distinct_novelty, odd=odd, drift=drift,
        in_words=f"{this} compared with {last}", source=source,
    )  # fmt: skip


def drift_of(
    model: ClusteredTexts, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
    cache: EmbeddingCache | bool = True,
) -> Drift:  # fmt: skip
    """Judge how new texts are for a model on the whole, without a search for new groups."""
    new = place_texts(model, texts, text_column=text_column, embeddings=embeddings, cache=cache).texts
    return Drift.of(new.corpus.spread(novelty_of(model, new), np.nan))


def novelty_of(model: ClusteredTexts, texts: EmbeddedTexts) -> NDArray[np.float32]:
    """Return the novelty of each distinct text; NaN if the model has no vectors to compare with."""
    if (model.reference is None and model.known_embeddings is None) or not len(texts.counting):
        return np.full(len(texts.X), np.nan, np.float32)
    return texts.scatter(score_novelty(known_rows(model), take_units(texts.X, texts.counting))[0], np.nan)


def _with_new_clusters(
    model: ClusteredTexts, known: Known, texts: EmbeddedTexts, units: NDArray[np.float32], codes: NDArray[np.intp],
    scores: NDArray[np.float32],
) -> tuple[NDArray[np.intp], LinearRule, list[bool]]:  # fmt: skip
    """Return the groups of the distinct texts, the rule for all groups, and which new ones are mixed.

    New groups come last, the largest first.
    """
    of_units = codes[texts.counting]
    new, is_mixed = find_new_clusters(known, units, of_units, scores)
    is_new = np.flatnonzero(new >= 0)
    if not len(is_new):
        return codes, model.rule, []
    sizes = np.bincount(new[is_new], texts.weights[is_new])
    numbers, order = largest_first(new[is_new], sizes)
    of_units[is_new] = known.k + numbers
    both = np.concatenate([known.units, units])
    rule = separate_clusters(both, None, np.concatenate([known.codes, of_units]), known.k + len(sizes))
    return texts.scatter(of_units, -1), rule, is_mixed[order].tolist()


def _new_texts_alone(
    model: TextClustering, texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32],
    rule: LinearRule, details: Details | None,
) -> TextClustering:  # fmt: skip
    """Return a result of the new texts, with the groups that have any of them."""
    k, corpus = model.n_clusters, texts.corpus
    filled = np.unique(codes[codes >= 0])
    compact = np.where(codes >= 0, np.searchsorted(filled, codes), -1)
    similarity = similarity_to_clusters(texts, codes, centers)
    # New groups are read in full, and the others only near their centers: they keep their names.
    order, is_central = np.argsort(-similarity, kind="stable"), np.zeros(len(codes), bool)
    is_central[order] = is_among_first(codes[order], _READ_TEXTS)
    _, clusters = describe_embedded(
        texts, compact, centers[filled], model.embed_phrases(), (codes >= k) | is_central, stop_words=model.stop_words
    )
    kept = {place: model.clusters[code] for place, code in enumerate(filled.tolist()) if code < k}
    labels = [model.clusters[code].label if code < k else model.next_label + code - k for code in filled.tolist()]
    gone = {cluster.name for cluster in model.clusters} - {cluster.name for cluster in kept.values()}
    colors = {place: cluster.color for place, cluster in kept.items()}
    named = with_colors(with_names(clusters, labels, kept, gone), colors, [cluster.color for cluster in model.clusters])
    by_hand = {model.corpus.distinct[text] for text in model.moved_by_hand}
    return replace(
        model, corpus=corpus, totals=texts.totals, known_embeddings=texts.X,
        distinct_codes=compact, distinct_similarity=similarity, centers=centers[filled], rule=rule.numbered(filled),
        clusters=tuple(
            replace(cluster, keywords=before.keywords, is_mixed=before.is_mixed)
            for cluster, before in ((cluster, kept.get(place, cluster)) for place, cluster in enumerate(named))
        ),
        next_label=model.next_label + int((filled >= k).sum()),
        cohesion=report_if_defined(texts.vectors, compact[texts.counting], len(filled), random_state=0),
        details=details, tally=_tally_like(model, details, corpus.spread(compact, -1), len(filled)),
        moved_by_hand=np.flatnonzero([text in by_hand for text in corpus.distinct]),
        k_estimate=None, hierarchy=None, reference=None, history=(),
    )  # fmt: skip


def _tally_like(model: ClusteredTexts, details: Details | None, codes: NDArray[np.intp], k: int) -> Tally | None:
    """Count rows by their groups, in periods of the model's length."""
    return None if details is None else tally_rows(details, codes, k, model.tally.every if model.tally else None)


def _sizes(corpus: Corpus, codes: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return the number of rows of each group, given the groups of the distinct texts."""
    return np.bincount(codes[codes >= 0], corpus.counts[codes >= 0], k).astype(np.intp)


def _last_file(model: ClusteredTexts) -> tuple[str, NDArray[np.intp]]:
    """Return the last file of a model in words, and the sizes of the groups in it.

    Without an update, it is all texts of the model; also if groups were edited since and the rows cannot be counted.
    """
    labels = [cluster.label for cluster in model.clusters]
    if model.history:
        entry = model.history[-1]
        name = entry.source or f"the file of {entry.date}"
        if model.corpus.has_all_rows:
            codes = model.codes[-entry.rows :]
            return _described(name, entry.rows, model.details), np.bincount(codes[codes >= 0], minlength=len(labels))
        recorded = {change.label: change.after for change in entry.changes}
        if recorded.keys() == set(labels):
            return _described(name, entry.rows, None), np.array([recorded[label] for label in labels])
    sizes = np.array([cluster.size for cluster in model.clusters])
    return _described("the model", model.totals.rows, model.details), sizes


def _described(name: str, rows: int, details: Details | None) -> str:
    """Name the last rows of a result: which file, how many texts, and their dates."""
    days = np.zeros(0, "datetime64[D]") if details is None or details.days is None else details.days[-rows:]
    days = days[~np.isnat(days)]
    period = f", {name_period(days.min(), days.max(), 'day')}" if len(days) else ""
    return f"{name} ({plural(rows, 'text')}{period})"


Updated = TypeVar("Updated", bound=ClusteredTexts)


def updated(model: Updated, comparison: Comparison, digests: Sequence[str]) -> Updated:
    """Return the model with the new texts in its groups, and with the new groups; the history keeps the digests.

    The Cohesion Ratio is then computed on the sample of vectors that the model keeps.
    """
    new, k, n_old = comparison.result, len(comparison.centers), len(model.corpus.distinct)
    corpus, positions = model.corpus.joined(new.corpus)
    # The texts that the model did not have: the joint corpus has them at its end, in this order.
    fresh = np.flatnonzero(positions >= n_old)
    codes = np.append(model.distinct_codes, comparison.codes[fresh])
    texts, vectors = new.embedded(), model.known_embeddings
    added = np.intersect1d(fresh, texts.counting)
    reference = extend_reference(model, Reference(positions[added], take_units(texts.X, added)), codes)

    def moved(row: int) -> int:
        return row + len(model.corpus.rows) if corpus.has_all_rows else int(positions[new.corpus.codes[row]])

    added_clusters = [
        replace(cluster, representatives=tuple(map(moved, cluster.representatives)))
        for cluster in comparison.new_clusters
    ]
    clusters = zip([*model.clusters, *added_clusters], _sizes(corpus, codes, k).tolist(), strict=True)
    totals = Totals(*map(sum, zip(model.totals, new.totals, strict=True)))
    details = None
    if model.details is not None and corpus.has_all_rows:
        details = model.details.joined(new.details, len(new.corpus.rows))
    row_map = RowMap()
    if model.row_map.known is not None and new.row_map.is_beside:
        new.map_points()
        assert new.row_map.known is not None  # noqa: S101 - for the type checker
        row_map = RowMap(np.append(model.row_map.known, new.row_map.known[fresh], axis=0))
    today = datetime.now(UTC).date().isoformat()
    entry = Update(today, new.totals.rows, comparison.cluster_changes, comparison.source, tuple(digests))
    return replace(
        model, corpus=corpus, totals=totals._replace(distinct=model.totals.distinct + len(added)),
        known_embeddings=None if vectors is None else np.append(vectors, texts.X[fresh].astype(vectors.dtype), axis=0),
        distinct_codes=codes, distinct_similarity=np.append(model.distinct_similarity, new.distinct_similarity[fresh]),
        centers=comparison.centers, rule=comparison.rule,
        clusters=tuple(replace(cluster, size=size) for cluster, size in clusters), next_label=new.next_label,
        cohesion=report_if_defined(reference.units, codes[reference.positions], k, random_state=0),
        notes=tuple(dict.fromkeys([*model.notes, *new.notes])), languages=language_shares(corpus.read),
        details=details, tally=_tally_like(model, details, corpus.spread(codes, -1), k),
        k_estimate=None, hierarchy=None, frame=None, reference=reference, history=(*model.history, entry),
        row_map=row_map,
    )  # fmt: skip
