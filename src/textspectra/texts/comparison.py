"""New texts compared with a model: which groups changed, which are new, which texts fit nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..core.cohesion import report_if_defined
from ..core.discriminants import separate_clusters
from ..core.kmeans import LinearRule, largest_first
from ..core.rows import take_units
from ..embedding.cache import EmbeddingCache
from ..errors import UserError
from ..tables.frames import library_of, new_frame
from ..words.describe import Cluster
from ..words.languages import language_shares
from .clustered import ClusteredTexts
from .corpus import Corpus, EmbeddedTexts, Totals
from .details import Details, details_like, name_period
from .history import ClusterChange, Update, columns_of, find_changes
from .new_clusters import find_new_clusters
from .novelty import (
    USUAL,
    Known,
    Reference,
    draw_reference,
    extend_reference,
    falls_in_two,
    is_among_first,
    known_rows,
    score_novelty,
)
from .placing import Placed, describe_embedded, mean_vectors, place_texts, similarity_to_clusters, with_names
from .tally import tally_rows

if TYPE_CHECKING:
    from .corpus import Texts
    from .result import TextClustering

READ_TEXTS = 100
"""Texts of each group of the model that are read to tell new groups from them: those nearest to its center."""

SPLIT_TEXTS = 100
"""Fewest texts of a group, old and new together, for which a split is looked for."""

DRIFT_LEVEL = 0.001
"""p-value below which the share of novel texts is reported as drift."""

REGROUP = "Cluster the old and the new texts together for groups that fit."
"""What to do about drift, once it is known what is new."""


class Drift(NamedTuple):
    """How new the texts of a file are on the whole; None if the model has too few texts to tell.

    `is_significant` says that far more texts than usual have a novelty above 1: at least twice as many, and by a
    one-sided binomial test more than by chance.
    """

    median: float | None
    share_above_1: float | None
    expected_above_1: float
    is_significant: bool

    @staticmethod
    def of(novelty: NDArray[np.float32]) -> Drift:
        """Judge the novelty of each row; rows without a group are NaN."""
        known, expected = novelty[~np.isnan(novelty)], round(1 - USUAL, 3)
        if not len(known):
            return Drift(None, None, expected, False)
        above = int((known > 1).sum())
        p = special.betainc(max(above, 1), len(known) - above + 1, expected)  # of that number or more by chance
        is_significant = bool(above > 2 * expected * len(known) and p < DRIFT_LEVEL)
        share = round(above / len(known), 4)
        return Drift(round(float(np.median(known)), 3), share, expected, is_significant)

    def in_words(self, source: str = "") -> str:
        """Say that the groups are out of date; an empty string if they are not."""
        if not self.is_significant:
            return ""
        texts = f"texts in {source}" if source else "new texts"
        return (
            f"{100 * (self.share_above_1 or 0):.0f} % of the {texts} are unlike "
            f"the texts of the model, where {100 * self.expected_above_1:.0f} % is usual: its groups are out of date."
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is new in a file, against a model that stays as it is. It is made by :meth:`TextClustering.compare`.

    Attributes
    ----------
    model : TextClustering
        What the texts were compared with.
    result : TextClustering
        The new texts alone: in the groups of the model that have some of them, and in the new groups.
    changes : data frame
        One row per group: cluster, name, status ("new", "growing", "shrinking", "gone" or "steady"), size_before,
        size_after, share_before, share_after, p, adjusted for the number of groups, and mixed. Before is the last
        file of the model.
    group_changes : tuple of ClusterChange
        The same as objects.
    new_clusters : tuple of Topic
        The new groups; their labels are those that :meth:`TextClustering.update` gives.
    distinct_novelty : ndarray
        The novelty of each distinct text. 0 is usual, and nine tenths of the model's own texts are below 1.
    odd : float
        The novelty that one in a hundred of the model's own texts exceeds.
    drift : Drift
        Whether far more texts than usual are unlike the model's, so that its groups are out of date.
    before, after : str
        What the changes compare, in words: the last file of the model or all its texts, and the new file.
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
    new_centers: NDArray[np.float32]
    rule: LinearRule
    distinct_novelty: NDArray[np.float32]
    odd: float
    drift: Drift
    before: str
    after: str
    source: str = ""

    def __repr__(self) -> str:
        new, k = len(self.new_clusters), self.model.n_clusters
        found = f"{len(self.result):,} texts in {self.result.n_clusters - new} of {k} groups"
        return f"{found}, {new} new group{'' if new == 1 else 's'}"

    @property
    def in_words(self) -> str:
        """What was compared with what."""
        return f"{self.after} compared with {self.before}"

    @property
    def changes(self) -> Any:
        """One row per group, the new ones first."""
        return new_frame(columns_of(self.cluster_changes), like=self.result.frame)

    @property
    def novelty(self) -> NDArray[np.float32]:
        """The novelty of each row; NaN if it has no group, or if the model has too few texts to tell."""
        return self.result.corpus.spread(self.distinct_novelty, np.nan)

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each row is in a new group."""
        new: NDArray[np.bool_] = np.isin(self.result.labels, [cluster.label for cluster in self.new_clusters])
        return new

    @cached_property
    def misfits(self) -> NDArray[np.intp]:
        """Positions of the distinct texts that fit nothing: odd, and in no new group. The oddest comes first."""
        in_new = np.isin(
            self.result.labels_of(self.result.distinct_codes), [cluster.label for cluster in self.new_clusters]
        )
        odd = np.flatnonzero((self.distinct_novelty > self.odd) & ~in_new)
        ordered: NDArray[np.intp] = odd[np.argsort(-self.distinct_novelty[odd], kind="stable")]
        return ordered

    @cached_property
    def splits(self) -> tuple[int, ...]:
        """Labels of groups that would now better be two: halves of their old and new texts agree. Nothing is split."""
        known, texts = known_rows(self.model), self.result.embedded()
        units, labels = take_units(texts.X, texts.counting), self.result.labels_of(self.result.distinct_codes)
        found = []
        for position, cluster in enumerate(self.model.clusters):
            before, new = known.units[known.codes == position], units[labels[texts.counting] == cluster.label]
            if len(new) and len(before) + len(new) >= SPLIT_TEXTS:
                both = falls_in_two(np.concatenate([before, new]), np.random.default_rng(0))
                if both and not falls_in_two(before, np.random.default_rng(0)):
                    found.append(cluster.label)
        return tuple(found)

    def to_frame(self) -> Any:
        """Return a data frame with one row per text: cluster, cluster_name, similarity, novelty and is_new.

        It is made as :meth:`TextClustering.to_frame` makes it.
        """
        from ..tables.frames import is_data_frame, with_columns

        frame, added = self.result.to_frame(), {"novelty": self.novelty, "is_new": self.is_new}
        if is_data_frame(self.result.frame) or library_of(frame):
            return with_columns(frame, added)[0]
        return frame


def compare_texts(
    model: TextClustering,
    texts: Texts,
    *,
    text_column: str | None = None,
    embeddings: ArrayLike | None = None,
    cache: EmbeddingCache | bool = True,
    progress: Callable[[int, int], None] | None = None,
    source: str = "",
) -> Comparison:
    """Compare new texts with a model, which is not changed; `source` is the name of their file."""
    placed = place_texts(
        model, texts, text_column=text_column, embeddings=embeddings, cache=cache, progress=progress
    )  # fmt: skip
    if not len(placed.texts.counting):
        n_rows = len(placed.texts.corpus.rows)
        raise UserError(f"None of the {n_rows:,} texts can be compared: all are blank, say nothing or are unknown.")
    known, codes = known_rows(model), _codes_of_known_texts(model, placed)
    units = take_units(placed.texts.X, placed.texts.counting)
    novelty = score_novelty(known, units, np.random.default_rng(0))
    codes, rule, is_mixed = _find_new(model, known, placed.texts, units, codes, novelty.scores)
    k, n_new = model.n_clusters, rule.n_clusters - model.n_clusters
    centers = np.concatenate([model.centers, mean_vectors(placed.texts, codes, k + n_new)[k:]])
    result = _with_details(
        replace(
            _new_texts_alone(model, placed, codes, centers, rule),
            frame=texts if library_of(texts) else None,
            recipe={**model.recipe, "read": source},
        ),
        model, texts, text_column,
    )  # fmt: skip
    distinct_novelty = placed.texts.scatter(novelty.scores, np.nan)
    drift = Drift.of(placed.texts.corpus.spread(distinct_novelty, np.nan))
    if drift.is_significant:
        result = replace(result, notes=(*result.notes, f"{drift.in_words(source)} {REGROUP}"))
    new_clusters = tuple(cluster for cluster in result.clusters if cluster.label >= model.next_label)
    after = np.bincount(codes[codes >= 0], placed.texts.corpus.counts[codes >= 0], k + n_new).astype(np.intp)
    last, sizes = _last_file(model)
    return Comparison(
        model=model,
        result=result,
        cluster_changes=find_changes([*model.clusters, *new_clusters], sizes, after, is_mixed),
        new_clusters=new_clusters,
        new_centers=centers[k:],
        rule=rule,
        distinct_novelty=distinct_novelty,
        odd=novelty.odd,
        drift=drift,
        before=last,
        after=_described(source or "the new file", result.totals.rows, result.details),
        source=source,
    )


def novelty_of(model: ClusteredTexts, texts: EmbeddedTexts) -> NDArray[np.float32]:
    """Return the novelty of each distinct text; NaN if the model has no vectors to compare with."""
    if model.reference is None or not len(texts.counting):
        return np.full(len(texts.X), np.nan, np.float32)
    units = take_units(texts.X, texts.counting)
    return texts.scatter(score_novelty(known_rows(model), units, np.random.default_rng(0)).scores, np.nan)


def _codes_of_known_texts(model: ClusteredTexts, placed: Placed) -> NDArray[np.intp]:
    """Return the groups of new texts, where a text that the model has keeps its group."""
    code_of = dict(zip(model.corpus.distinct, model.distinct_codes.tolist(), strict=True))
    own = np.array([code_of.get(text, -1) for text in placed.texts.corpus.distinct], np.intp)
    return np.where((own >= 0) & (placed.codes >= 0), own, placed.codes)


def _find_new(
    model: ClusteredTexts, known: Known, texts: EmbeddedTexts, units: NDArray[np.float32], codes: NDArray[np.intp],
    scores: NDArray[np.float32],
) -> tuple[NDArray[np.intp], LinearRule, list[bool]]:  # fmt: skip
    """Return the groups of the distinct texts, the rule for all groups, and which new ones are mixed.

    New groups come last, the largest first.
    """
    own = codes[texts.counting]
    found = find_new_clusters(known, units, own, scores)
    is_new = np.flatnonzero(found.codes >= 0)
    if not len(is_new):
        return codes, model.rule, []
    sizes = np.bincount(found.codes[is_new], texts.weights[is_new])
    numbers, order = largest_first(found.codes[is_new], sizes)
    own[is_new] = known.k + numbers
    both = np.concatenate([known.units, units])
    rule = separate_clusters(both, None, np.concatenate([known.codes, own]), known.k + len(sizes))
    codes = codes.copy()
    codes[texts.counting] = own
    return codes, rule, found.is_mixed[order].tolist()


def _new_texts_alone(
    model: TextClustering,
    placed: Placed,
    codes: NDArray[np.intp],
    centers: NDArray[np.float32],
    rule: LinearRule,
) -> TextClustering:
    """Return a result of the new texts in the groups that have some of them."""
    texts, k = placed.texts, model.n_clusters
    filled = np.unique(codes[codes >= 0])
    labels = [model.clusters[code].label if code < k else model.next_label + code - k for code in filled.tolist()]
    compact = np.where(codes >= 0, np.searchsorted(filled, codes), -1)
    similarity = similarity_to_clusters(texts, codes, centers)
    read = (codes >= k) | _is_central(codes, similarity)
    _, clusters = describe_embedded(texts, compact, centers[filled], model.embed_phrases(), read)
    kept = {place: model.clusters[code] for place, code in enumerate(filled.tolist()) if code < k}
    names = {place: cluster.name for place, cluster in kept.items()}
    named = with_names(clusters, labels, names, {cluster.name for cluster in model.clusters} - set(names.values()))
    keywords = [kept.get(place, cluster).keywords for place, cluster in enumerate(clusters)]
    return replace(
        model,
        corpus=texts.corpus,
        totals=texts.totals,
        distinct_codes=compact,
        distinct_similarity=similarity,
        centers=centers[filled],
        rule=rule.numbered(filled),
        clusters=tuple(replace(cluster, keywords=words) for cluster, words in zip(named, keywords, strict=True)),
        next_label=model.next_label + int((filled >= k).sum()),
        cohesion=report_if_defined(texts.vectors, compact[texts.counting], len(filled), random_state=0),
        k_estimate=None,
        hierarchy=None,
        notes=placed.notes,
        languages=placed.languages,
        known_embeddings=texts.X,
        frame=None,
        details=None,
        tally=None,
        reference=None,
        history=(),
    )


def _with_details(result: TextClustering, model: ClusteredTexts, texts: Any, text_column: str | None) -> TextClustering:
    """Add what the model knows of its rows beside the texts: dates, segments and shown columns."""
    details, notes = details_like(model.details, texts, text_column)
    if details is None:
        return result
    codes = result.corpus.spread(result.distinct_codes, -1)
    tally = tally_rows(details, codes, result.n_clusters, model.tally.every if model.tally else None)
    return replace(result, details=details, tally=tally, notes=(*result.notes, *notes))


def _is_central(codes: NDArray[np.intp], similarity: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tell which texts are among the nearest to the center of their group."""
    order = np.argsort(-similarity, kind="stable")
    central = np.zeros(len(codes), bool)
    central[order] = is_among_first(codes[order], READ_TEXTS)
    return central


def _last_file(model: ClusteredTexts) -> tuple[str, NDArray[np.intp]]:
    """Return the last file of a model in words, and the sizes of the groups in it.

    Without an update, it is all texts of the model; also if groups were edited since and the rows are not there to
    count.
    """
    entry = model.history[-1] if model.history else None
    recorded = {change.label: change.after for change in entry.changes} if entry else {}
    labels = [cluster.label for cluster in model.clusters]
    if entry and model.corpus.has_all_rows:
        codes = model.corpus.spread(model.distinct_codes, -1)[-entry.rows :]
        sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
    elif entry and recorded.keys() == set(labels):
        sizes = np.array([recorded[label] for label in labels])
    else:
        return _described("the model", model.totals.rows, model.details), np.array([one.size for one in model.clusters])
    details = model.details if model.corpus.has_all_rows else None
    return _described(entry.source or f"the file of {entry.date}", entry.rows, details), sizes


def _described(name: str, rows: int, details: Details | None) -> str:
    """Name the last rows of a result: which file, how many texts, and from when they are."""
    days = np.zeros(0, "datetime64[D]") if details is None or details.days is None else details.days[-rows:]
    days = days[~np.isnat(days)]
    period = f", {name_period(days.min(), days.max(), 'day')}" if len(days) else ""
    return f"{name} ({rows:,} text{'' if rows == 1 else 's'}{period})"


Result = TypeVar("Result", bound=ClusteredTexts)


class Joined(NamedTuple):
    """The distinct texts of a model and of new texts together.

    `positions` has the place of each distinct new text among them, and `fresh` says which of the new texts the model
    did not have.
    """

    corpus: Corpus
    codes: NDArray[np.intp]
    similarity: NDArray[np.float32]
    positions: NDArray[np.intp]
    fresh: NDArray[np.bool_]


def updated(model: Result, found: Comparison, digests: Sequence[str]) -> Result:
    """Return the model with the new texts in its groups, and with the new groups; the history keeps the digests.

    The Cohesion Ratio is then that of the sample of vectors which the model keeps.
    """
    new = found.result
    clusters = [*model.clusters, *found.new_clusters]
    joined = _join(model, new, clusters)
    reference = _extended(model, new, joined)
    result = replace(
        model,
        corpus=joined.corpus,
        totals=_totals(model, new, joined),
        distinct_codes=joined.codes,
        distinct_similarity=joined.similarity,
        centers=np.concatenate([model.centers, found.new_centers]),
        rule=found.rule,
        clusters=_clusters(model, found, joined),
        next_label=new.next_label,
        cohesion=report_if_defined(
            reference.units, joined.codes[reference.positions], len(clusters), random_state=0
        ),
        k_estimate=None,
        hierarchy=None,
        notes=tuple(dict.fromkeys([*model.notes, *new.notes])),
        languages=language_shares(joined.corpus.distinct),
        known_embeddings=_all_vectors(model, new, joined),
        frame=None,
        reference=reference,
        history=(*model.history, _entry(found, digests)),
    )  # fmt: skip
    return _with_more_details(result, model, new)


def _entry(found: Comparison, digests: Iterable[str]) -> Update:
    today = datetime.now(UTC).date().isoformat()
    return Update(today, found.result.totals.rows, found.cluster_changes, found.source, tuple(digests))


def _join(model: ClusteredTexts, new: ClusteredTexts, clusters: list[Cluster]) -> Joined:
    corpus, positions = model.corpus.joined(new.corpus)
    place = {cluster.label: position for position, cluster in enumerate(clusters)}
    n_old, n_fresh = len(model.corpus.distinct), len(corpus.distinct) - len(model.corpus.distinct)
    fresh = positions >= n_old
    codes = np.concatenate([model.distinct_codes, np.full(n_fresh, -1)])
    similarity = np.concatenate([model.distinct_similarity, np.full(n_fresh, np.nan, np.float32)])
    codes[positions[fresh]] = np.append([place[cluster.label] for cluster in new.clusters], -1)[
        new.distinct_codes[fresh]
    ]
    similarity[positions[fresh]] = new.distinct_similarity[fresh]
    return Joined(corpus, codes, similarity, positions, fresh)


def _clusters(model: ClusteredTexts, found: Comparison, joined: Joined) -> tuple[Cluster, ...]:
    """Return all topics with their new sizes; typical texts of new groups are found among the rows of both files."""
    corpus, new = joined.corpus, found.result.corpus
    k = model.n_clusters + len(found.new_clusters)
    sizes = np.bincount(joined.codes[joined.codes >= 0], corpus.counts[joined.codes >= 0], k).astype(int).tolist()

    def moved(row: int) -> int:
        return row + len(model.corpus.rows) if corpus.has_all_rows else int(joined.positions[new.codes[row]])

    added = [
        replace(cluster, representatives=tuple(moved(row) for row in cluster.representatives))
        for cluster in found.new_clusters
    ]
    return tuple(replace(cluster, size=size) for cluster, size in zip([*model.clusters, *added], sizes, strict=True))


def _totals(model: ClusteredTexts, new: ClusteredTexts, joined: Joined) -> Totals:
    fresh = int((joined.fresh & (new.distinct_codes >= 0)).sum())
    return Totals(
        model.totals.rows + new.totals.rows,
        model.totals.distinct + fresh,
        model.totals.blank + new.totals.blank,
        model.totals.unknown + new.totals.unknown,
        model.totals.without_content + new.totals.without_content,
    )


def _all_vectors(model: ClusteredTexts, new: ClusteredTexts, joined: Joined) -> NDArray[Any] | None:
    """Return the vectors of all distinct texts, if those of the model are in memory."""
    if model.known_embeddings is None:
        return None
    added = new.embedded().X[joined.fresh][np.argsort(joined.positions[joined.fresh])]
    return np.concatenate([model.known_embeddings, added.astype(model.known_embeddings.dtype)])


def _extended(model: ClusteredTexts, new: ClusteredTexts, joined: Joined) -> Reference:
    """Return the sample of vectors with some of the new ones in it."""
    texts = new.embedded()
    known = model.reference or draw_reference(model.embedded(), model.distinct_codes)
    own = texts.counting[joined.fresh[texts.counting]]
    own = own[np.argsort(joined.positions[own], kind="stable")]
    added = Reference(joined.positions[own], take_units(texts.X, own))
    return extend_reference(known, int((model.distinct_codes >= 0).sum()), added, joined.codes)


def _with_more_details(result: Result, model: ClusteredTexts, new: ClusteredTexts) -> Result:
    """Append the dates, segments and shown columns of the new rows, and count the groups again."""
    if model.details is None or not result.corpus.has_all_rows:
        return replace(result, details=None, tally=None)
    details = model.details.joined(new.details, len(new.corpus.rows))
    codes = result.corpus.spread(result.distinct_codes, -1)
    every = model.tally.every if model.tally else None
    return replace(result, details=details, tally=tally_rows(details, codes, result.n_clusters, every))
