"""Texts with their vectors, and which of them count."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import nonzero_rows
from ..embedding import Backend, EmbeddingCache, embed_texts, load_backend
from ..embedding.folders import is_on
from ..embedding.guarded import printable
from ..embedding.openai import public_url
from ..errors import UsageError, UserError
from ..topics.markup import plain_text
from ..validation import check_embeddings
from .corpus import Corpus, Totals

ALLOW_SERVER = "TEXTSPECTRA_ALLOW_SERVER"
"""The variable with which a user lets the models of all folders send texts to the server of ``OPENAI_BASE_URL``."""


class EmbeddingSource(NamedTuple):
    """The model that made the embeddings, and its settings; `model` is None if the user gave the embeddings.

    Examples
    --------
    >>> EmbeddingSource("wordllama", {"dimension": 256}).model
    'wordllama'
    """

    model: str | None
    settings: dict[str, Any]

    @staticmethod
    def of(encoder: Backend | None) -> EmbeddingSource:
        """Describe a model.

        Examples
        --------
        >>> EmbeddingSource.of(None)
        EmbeddingSource(model=None, settings={})
        """
        return EmbeddingSource(None, {}) if encoder is None else EmbeddingSource(encoder.name, dict(encoder.settings))

    @property
    def is_elsewhere(self) -> bool:
        """Whether texts would be sent to a server, or the model is in a folder of another machine."""
        return any(mark in (self.model or "").lower() for mark in ("openai:", "//", "\\\\"))

    def load(self, *, allow_server: bool = False) -> Backend:
        """Load the model; warn if it is not exactly the one that made the embeddings.

        Its name may come from a stranger's folder. Models are read as data, but texts leave this machine only if the
        user allows it.
        """
        if self.model is None:
            raise UserError(
                "This clustering was made from given embeddings, which are not saved with it: give embeddings= to "
                "predict, and to load before you cut or merge."
            )
        if self.is_elsewhere and not (allow_server or is_on(ALLOW_SERVER)):
            where = public_url() if "openai:" in self.model.lower() else "another machine"
            raise UsageError(
                f"This model folder was made with {printable(self.model)}, so texts would be sent to {where}. The "
                f"folder may come from somebody else. Allow it with --allow-server, {ALLOW_SERVER}=1 or, in your own "
                "settings, allow-server = true; in Python, with TextClustering.load(folder, allow_server=True)."
            )
        encoder = load_backend(self.model)
        if json.dumps(dict(encoder.settings), sort_keys=True) != json.dumps(self.settings, sort_keys=True):
            warnings.warn(
                f"{self.model} is not exactly the model that made this clustering (its files or settings differ), so "
                "texts may land in other clusters than they would have then.",
                stacklevel=3,
            )
        return encoder


@dataclass(frozen=True, eq=False)
class EmbeddedTexts:
    """Distinct texts with a vector each.

    A text counts if the model could represent it: its vector has a value that is not zero. Blank texts, and texts
    that say nothing, are not among the distinct ones, so they never count.

    Attributes
    ----------
    corpus : Corpus
        The texts.
    X : ndarray of shape (n_distinct, d)
        The vector of each distinct text.

    Examples
    --------
    >>> texts = EmbeddedTexts(Corpus.from_texts(["a", "", "b", "a"]), np.array([[1.0, 2.0], [0.0, 0.0]]))
    >>> texts.vectors, texts.weights, texts.rows_that_count
    (array([[1., 2.]]), array([2.]), array([ True, False, False,  True]))
    """

    corpus: Corpus
    X: NDArray[Any]

    @cached_property
    def counting(self) -> NDArray[np.intp]:
        """Positions of the distinct texts that count."""
        return np.flatnonzero(nonzero_rows(self.X))

    @property
    def vectors(self) -> NDArray[Any]:
        """The vectors of the texts that count; not copied where all of them do."""
        return self.X if len(self.counting) == len(self.X) else self.X[self.counting]

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many rows have each of the texts that count."""
        return self.corpus.counts[self.counting].astype(float)

    @property
    def rows_that_count(self) -> NDArray[np.bool_]:
        """Whether each row has a text that counts."""
        return self.corpus.spread(self.scatter(np.ones(len(self.counting), bool), False), False)

    @property
    def totals(self) -> Totals:
        """How many rows there are, and why some of them have no group."""
        without_content = self.corpus.without_content().total()
        blank = int((self.corpus.codes < 0).sum()) - without_content
        unknown = len(self.corpus.rows) - blank - without_content - int(self.weights.sum())
        return Totals(len(self.corpus.rows), len(self.counting), blank, unknown, without_content)

    def scatter(self, values: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        """Give each distinct text its value, given those of the texts that count; the others get `otherwise`.

        Examples
        --------
        >>> texts = EmbeddedTexts(Corpus.from_texts(["a", "b"]), np.array([[0.0], [1.0]]))
        >>> texts.scatter(np.array([7]), -1)
        array([-1,  7])
        """
        scattered = np.full(len(self.X), otherwise, values.dtype)
        scattered[self.counting] = values[: len(self.counting)]
        return scattered

    def vectors_of_rows(self) -> NDArray[Any]:
        """Return the vector of each row; rows that do not count have zeros.

        Examples
        --------
        >>> EmbeddedTexts(Corpus.from_texts(["a", "", "a"]), np.array([[2.0]])).vectors_of_rows().ravel()
        array([2., 0., 2.])
        """
        return self.corpus.spread(self.X, 0)


def embed_corpus(
    corpus: Corpus,
    encoder: Backend | None,
    given: ArrayLike | None = None,
    *,
    cache: EmbeddingCache | bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> EmbeddedTexts:
    """Give each distinct text a vector: from `given`, which has one per row, or else from the model.

    The model gets what a text says, without markup and web addresses; the text itself stays as it came.
    """
    if given is not None:
        X = check_embeddings(given, minimum=1)
        if len(X) != len(corpus.rows):
            raise UserError(f"There are {len(corpus.rows):,} texts but {len(X):,} rows of embeddings.")
        return EmbeddedTexts(corpus, X if len(corpus.distinct) == len(X) else X[corpus.first_rows])
    if encoder is None:
        raise ValueError("either a model or embeddings are needed")
    texts = [plain_text(text) for text in corpus.distinct]
    return EmbeddedTexts(corpus, embed_texts(texts, encoder, cache=cache, progress=progress))
