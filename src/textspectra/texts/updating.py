"""Take new texts into a model, whose groups keep their identity."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np

from ..arrays.rows import take_units
from ..metrics.cohesion import report_if_defined
from .clustered import ClusteredTexts
from .comparison import Comparison
from .corpus import Totals
from .history import Update
from .reference import Reference, draw_reference, extend_reference

Result = TypeVar("Result", bound=ClusteredTexts)


def updated(model: Result, found: Comparison) -> Result:
    """Return the model with the new texts in its groups, and with the new groups.

    The Cohesion Ratio is then that of the sample of vectors which the model keeps.
    """
    new = found.result
    corpus, positions = model.corpus.joined(new.corpus)
    topics = [*model.topics, *found.new_topics]
    place = {topic.label: number for number, topic in enumerate(topics)}
    codes_of_new = np.append([place[topic.label] for topic in new.topics], -1)[new.distinct_codes]
    n_old = len(model.corpus.distinct)
    fresh = positions >= n_old
    codes = np.concatenate([model.distinct_codes, np.empty(len(corpus.distinct) - n_old, np.intp)])
    similarity = np.concatenate([model.distinct_similarity, np.empty(len(corpus.distinct) - n_old, np.float32)])
    codes[positions[fresh]], similarity[positions[fresh]] = codes_of_new[fresh], new.distinct_similarity[fresh]
    sizes = np.bincount(codes[codes >= 0], corpus.counts[codes >= 0], len(topics)).astype(int)
    offset = len(model.corpus.rows) if corpus.has_all_rows else None
    old_labels = {topic.label for topic in model.topics}
    described = tuple(
        replace(
            topic,
            size=int(size),
            representatives=topic.representatives
            if topic.label in old_labels
            else tuple(
                row + offset if offset is not None else int(positions[new.corpus.codes[row]])
                for row in topic.representatives
            ),
        )
        for topic, size in zip(topics, sizes.tolist(), strict=True)
    )
    reference = _reference(model, found, codes, positions, fresh)
    entry = Update(datetime.now(UTC).date().isoformat(), new.totals.rows, found.group_changes)
    counting = codes[reference.positions]
    return replace(
        model,
        corpus=corpus,
        totals=Totals(
            model.totals.rows + new.totals.rows,
            int((codes >= 0).sum()) if corpus.has_all_rows else model.totals.distinct + int(fresh.sum()),
            model.totals.blank + new.totals.blank,
            model.totals.unknown + new.totals.unknown,
        ),
        distinct_codes=codes,
        distinct_similarity=similarity,
        centers=np.concatenate([model.centers, found.new_centers]),
        rule=found.rule,
        topics=described,
        next_label=new.next_label,
        cohesion=report_if_defined(reference.units, counting, len(topics), random_state=0),
        k_estimate=None,
        hierarchy=None,
        notes=tuple(dict.fromkeys([*model.notes, *new.notes])),
        known_embeddings=None,
        frame=None,
        details=None,
        tally=None,
        reference=reference,
        history=(*model.history, entry),
    )


def _reference(model, found, codes, positions, fresh) -> Reference:  # type: ignore[no-untyped-def]
    texts = found.result.embedded()
    known = model.reference or draw_reference(model.embedded(), model.distinct_codes)
    own = texts.counting[fresh[texts.counting]]
    order = np.argsort(positions[own], kind="stable")
    new = Reference(positions[own][order], take_units(texts.X, own[order]))
    return extend_reference(known, int((model.distinct_codes >= 0).sum()), new, codes)
