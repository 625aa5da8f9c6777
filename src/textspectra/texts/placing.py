"""Put new texts into the groups of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import cosines_to_centers
from ..clustering.lloyd import labels_by
from ..embedding import EmbeddingCache
from ..errors import UserError
from ..topics.languages import language_shares
from .clustered import ClusteredTexts
from .corpus import Corpus
from .embedded import EmbeddedTexts, embed_corpus
from .notes import note_on_model, notes_on_content, notes_on_lengths

if TYPE_CHECKING:
    from .corpus import Texts


class Placed(NamedTuple):
    """New texts with their vectors, the group of each distinct text (-1: none), notes on them, and their languages."""

    texts: EmbeddedTexts
    codes: NDArray[np.intp]
    notes: tuple[str, ...]
    languages: dict[str, float]


def place_texts(
    model: ClusteredTexts,
    texts: Texts,
    *,
    text_column: str | None = None,
    embeddings: ArrayLike | None = None,
    cache: EmbeddingCache | bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Placed:
    """Embed new texts as those of a model, and assign them to its groups, given by their positions in `topics`."""
    corpus = Corpus.from_texts(texts, text_column, keep_all=model.corpus.keep_all)
    dimension = model.centers.shape[1]
    notes = notes_on_content(corpus.without_content())
    if not corpus.distinct:
        return Placed(EmbeddedTexts(corpus, np.zeros((0, dimension), np.float32)), np.zeros(0, np.intp), notes, {})
    encoder = model.load_encoder() if embeddings is None else None
    new = embed_corpus(corpus, encoder, embeddings, cache=cache, progress=progress)
    if new.X.shape[1] != dimension:
        raise UserError(
            f"These embeddings have {new.X.shape[1]} dimensions, but the clusters were found in {dimension}; use the "
            "same model."
        )
    codes = new.scatter(labels_by(new.vectors, model.rule), -1)
    languages = language_shares(corpus.distinct)
    on_model = note_on_model(languages, len(corpus.distinct), encoder)
    return Placed(new, codes, (*filter(None, [on_model]), *notes, *notes_on_lengths(corpus, encoder)), languages)


def similarity_to_groups(
    texts: EmbeddedTexts, codes: NDArray[np.intp], centers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each distinct text with the centre of its group; NaN if it has none."""
    return texts.scatter(cosines_to_centers(texts.vectors, codes[texts.counting], centers), np.nan)
