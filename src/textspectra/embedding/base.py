"""The protocol of back ends, and encoders of the user as back ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import UserError

ENCODER_PREFIX = "encoder"
"""Prefix of the names of encoders."""


@runtime_checkable
class Backend(Protocol):
    """Something that turns texts into vectors.

    Attributes
    ----------
    name : str
        The name from which :func:`~textspectra.load_model` builds this back end again.
    settings : mapping
        Everything else that changes the vectors, as plain JSON values. Name and settings together identify cached
        vectors, so a setting that is missing here makes the cache return wrong ones.
    batch_size : int
        The number of texts per call of :meth:`embed`.

    Examples
    --------
    >>> import numpy as np
    >>> class Lengths:
    ...     name, settings, batch_size = "lengths", {}, 100
    ...     def embed(self, texts):
    ...         return np.array([[len(text), 1] for text in texts], np.float32)
    >>> isinstance(Lengths(), Backend)
    True
    """

    name: str
    settings: Mapping[str, object]
    batch_size: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a text without a known token may give a row of zeros."""
        ...


class Encoder(Protocol):
    """An object that embeds texts, such as a model of sentence-transformers or model2vec."""

    def encode(self, texts: list[str], /) -> object:
        """Return one vector per text."""


def identity(backend: Backend) -> bytes:
    """Return a hash of the name and the settings of a back end, 16 bytes long."""
    description = json.dumps([backend.name, dict(backend.settings)], sort_keys=True)
    return hashlib.blake2b(description.encode(), digest_size=16).digest()


def text_keys(backend: Backend, texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the cache key of each text under this back end: two 64-bit words per text."""
    model = hashlib.blake2b(identity(backend), digest_size=16)

    def digest(text: str) -> bytes:
        key = model.copy()
        # Half a surrogate pair is not valid text, but it occurs in scraped data and must not stop the run.
        key.update(text.encode("utf-8", "surrogatepass"))
        return key.digest()

    return np.fromiter(map(digest, texts), "V16", len(texts)).view("<u8").reshape(-1, 2)


class EncoderBackend:
    """An object with ``encode(texts)`` or ``embed(texts)``, or a callable, as a back end.

    Models of sentence-transformers and model2vec have ``encode``, models of FastEmbed have ``embed``, which may return
    a generator. An object does not say which model it is, so its vectors are not cached.
    """

    batch_size = 256
    settings: Mapping[str, object] = {}

    def __init__(self, encoder: object) -> None:
        if isinstance(encoder, type):
            raise UserError(f"model is the class {encoder.__name__}; give an object of that class instead.")
        methods = (getattr(encoder, "encode", None), getattr(encoder, "embed", None), encoder)
        method: Callable[[list[str]], Any] | None = next(filter(callable, methods), None)
        if method is None:
            raise UserError(
                "model must be a name, an object with encode(texts), or a function from a list of texts to an array, "
                f"but it is {encoder!r}."
            )
        self._encode = method
        self.name = f"{ENCODER_PREFIX}:{getattr(encoder, '__name__', type(encoder).__name__)}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        vectors = self._encode(list(texts))
        if sparse.issparse(vectors):
            raise UserError(
                f"{self.name} gave a sparse matrix, but a model must give dense vectors: reduce it first, for example "
                "with sklearn.decomposition.TruncatedSVD(256), or return its .toarray() if it is small."
            )
        return np.asarray(vectors if hasattr(vectors, "__len__") else list(vectors), np.float32)


def encoder_by_name(name: str) -> NoReturn:
    """Refuse to load an encoder by its name."""
    raise UserError(
        f"'{ENCODER_PREFIX}:{name}' is an object of a Python program and cannot be loaded by name. Pass it again as "
        "model=, for a saved clustering to TextClustering.load."
    )
