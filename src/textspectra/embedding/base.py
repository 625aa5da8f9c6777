"""The interface of a back end, and the keys under which its vectors are cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Backend(Protocol):
    """Something that turns texts into vectors.

    Attributes
    ----------
    name : str
        The name with which :func:`~textspectra.embedding.load_backend` builds this back end again.
    settings : mapping
        Everything else that changes the vectors, as plain JSON values. Name and settings together
        identify the cached vectors, so a setting that is missing here makes the cache return wrong ones.
    batch_size : int
        How many texts one call of :meth:`embed` gets.

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
    settings: Mapping[str, Any]
    batch_size: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a text without any known token may give a row of zeros."""
        ...


def identity(backend: Backend) -> bytes:
    """Return a hash of the name and the settings of a back end, 16 bytes long."""
    described = json.dumps([backend.name, dict(backend.settings)], sort_keys=True)
    return hashlib.blake2b(described.encode(), digest_size=16).digest()


def text_keys(backend: Backend, texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the cache key of each text under this back end: two 64-bit words per text."""
    model = hashlib.blake2b(identity(backend), digest_size=16)

    def digest(text: str) -> bytes:
        hashed = model.copy()
        # Half a surrogate pair is not valid text, but it occurs in scraped data and must not stop the run.
        hashed.update(text.encode("utf-8", "surrogatepass"))
        return hashed.digest()

    return np.fromiter(map(digest, texts), "V16", len(texts)).view("<u8").reshape(-1, 2)
