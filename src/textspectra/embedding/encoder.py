"""Encoders of the user: any object with ``encode(texts)``, or any function from texts to vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError

PREFIX = "encoder"


class Encoder(Protocol):
    """An object that embeds texts, such as a model of sentence-transformers or model2vec.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text), 1] for text in texts]
    >>> encoder: Encoder = Lengths()
    """

    def encode(self, texts: list[str], /) -> Any:
        """Return one vector per text."""


class EncoderBackend:
    """An object with ``encode(texts)`` or ``embed(texts)``, or a callable, as a back end.

    Models of sentence-transformers and model2vec have ``encode``, those of FastEmbed have ``embed``. The result
    may be an array, a list of vectors, or a generator of vectors. Such an object does not say which model
    it is, so its vectors are not cached. Write a :class:`Backend` with a name and settings to cache them.

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), 1] for text in texts]
    >>> backend = EncoderBackend(lengths)
    >>> backend.name, backend.embed(["one", "three"]).tolist()
    ('encoder:lengths', [[3.0, 1.0], [5.0, 1.0]])
    """

    batch_size = 256
    settings: Mapping[str, Any] = {}

    def __init__(self, encoder: Any) -> None:
        self._encode = _encode_method(encoder)
        self.name = f"{PREFIX}:{getattr(encoder, '__name__', type(encoder).__name__)}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        vectors = self._encode(list(texts))
        return np.asarray(vectors if hasattr(vectors, "__len__") else list(vectors), np.float32)


def _encode_method(encoder: Any) -> Callable[[list[str]], Any]:
    if isinstance(encoder, type):
        raise UserError(f"model is the class {encoder.__name__}; give an object of that class instead.")
    for method in (getattr(encoder, "encode", None), getattr(encoder, "embed", None), encoder):
        if callable(method):
            return method  # type: ignore[no-any-return]
    raise UserError(
        "model must be a name, an object with encode(texts), or a function from a list of texts to an array, but it "
        f"is {encoder!r}."
    )


def encoder_by_name(name: str) -> NoReturn:
    """Refuse to load an encoder by its name.

    Examples
    --------
    >>> encoder_by_name("lengths")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: 'encoder:lengths' is an object of a Python program and cannot be loaded by name. Pass
    it again as model=, for a saved clustering to TextClustering.load.
    """
    raise UserError(
        f"'{PREFIX}:{name}' is an object of a Python program and cannot be loaded by name. Pass it again as model=, "
        "for a saved clustering to TextClustering.load."
    )
