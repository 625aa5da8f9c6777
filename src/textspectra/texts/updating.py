"""Take new texts into a model, whose groups keep their identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import take_units
from ..metrics.cohesion import report_if_defined
from ..topics.describe import Topic
from .clustered import ClusteredTexts
from .comparison import Comparison
from .corpus import Corpus, Totals
from .history import Update
from .reference import Reference, draw_reference, extend_reference
from .tally import tally_rows

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
    topics = [*model.topics, *found.new_topics]
    joined = _join(model, new, topics)
    reference = _extended(model, new, joined)
    result = replace(
        model,
        corpus=joined.corpus,
        totals=_totals(model, new, joined),
        distinct_codes=joined.codes,
        distinct_similarity=joined.similarity,
        centers=np.concatenate([model.centers, found.new_centers]),
        rule=found.rule,
        topics=_topics(model, found, joined),
        next_label=new.next_label,
        cohesion=report_if_defined(
            reference.units, joined.codes[reference.positions], len(topics), random_state=0
        ),
        k_estimate=None,
        hierarchy=None,
        notes=tuple(dict.fromkeys([*model.notes, *new.notes])),
        known_embeddings=_all_vectors(model, new, joined),
        frame=None,
        reference=reference,
        history=(*model.history, _entry(found, digests)),
    )  # fmt: skip
    return _with_details(result, model, new)


def _entry(found: Comparison, digests: Iterable[str]) -> Update:
    today = datetime.now(UTC).date().isoformat()
    return Update(today, found.result.totals.rows, found.group_changes, found.source, tuple(digests))


def _join(model: ClusteredTexts, new: ClusteredTexts, topics: list[Topic]) -> Joined:
    corpus, positions = model.corpus.joined(new.corpus)
    place = {topic.label: position for position, topic in enumerate(topics)}
    n_old, n_fresh = len(model.corpus.distinct), len(corpus.distinct) - len(model.corpus.distinct)
    fresh = positions >= n_old
    codes = np.concatenate([model.distinct_codes, np.full(n_fresh, -1)])
    similarity = np.concatenate([model.distinct_similarity, np.full(n_fresh, np.nan, np.float32)])
    codes[positions[fresh]] = np.append([place[topic.label] for topic in new.topics], -1)[new.distinct_codes[fresh]]
    similarity[positions[fresh]] = new.distinct_similarity[fresh]
    return Joined(corpus, codes, similarity, positions, fresh)


def _topics(model: ClusteredTexts, found: Comparison, joined: Joined) -> tuple[Topic, ...]:
    """Return all topics with their new sizes; typical texts of new groups are found among the rows of both files."""
    corpus, new = joined.corpus, found.result.corpus
    k = model.n_clusters + len(found.new_topics)
    sizes = np.bincount(joined.codes[joined.codes >= 0], corpus.counts[joined.codes >= 0], k).astype(int).tolist()

    def moved(row: int) -> int:
        return row + len(model.corpus.rows) if corpus.has_all_rows else int(joined.positions[new.codes[row]])

    added = [
        replace(topic, representatives=tuple(moved(row) for row in topic.representatives)) for topic in found.new_topics
    ]
    return tuple(replace(topic, size=size) for topic, size in zip([*model.topics, *added], sizes, strict=True))


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


def _with_details(result: Result, model: ClusteredTexts, new: ClusteredTexts) -> Result:
    """Append the dates, segments and shown columns of the new rows, and count the groups again."""
    if model.details is None or not result.corpus.has_all_rows:
        return replace(result, details=None, tally=None)
    details = model.details.joined(new.details, len(new.corpus.rows))
    codes = result.corpus.spread(result.distinct_codes, -1)
    every = model.tally.every if model.tally else None
    return replace(result, details=details, tally=tally_rows(details, codes, result.n_clusters, every))
