"""Models behind any server that speaks the OpenAI embeddings API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .openai_http import OpenAIServer

REQUEST_CHARACTERS = 400_000
"""Characters sent at once, to stay below the 300,000 tokens that OpenAI takes in one request."""


class OpenAIBackend:
    """A model of an OpenAI-compatible server, chosen as ``openai:MODEL``.

    The address comes from ``OPENAI_BASE_URL`` (by default OpenAI's own), the key from ``OPENAI_API_KEY``.
    Blank texts are not sent, since OpenAI refuses them; they get a row of zeros.

    Parameters
    ----------
    model : str
        The name under which the server knows the model.
    server : OpenAIServer, optional
        The server, where it is not the one that the environment names.
    """

    batch_size = 128

    def __init__(self, model: str, *, server: OpenAIServer | None = None) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._server = server or OpenAIServer()
        self.settings: Mapping[str, Any] = {"model": model, "base_url": self._server.public_url}
        self._dimension: int | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a blank text gives zeros."""
        if len(texts) > 1 and sum(map(len, texts)) > REQUEST_CHARACTERS:
            middle = len(texts) // 2
            return np.concatenate([self.embed(texts[:middle]), self.embed(texts[middle:])])
        filled = [row for row, text in enumerate(texts) if text.strip()]
        # Where all texts are blank, something must still tell how long a vector is.
        vectors = self._request([texts[row] for row in filled] or ["text"])
        result = np.zeros((len(texts), vectors.shape[1]), np.float32)
        result[filled] = vectors[: len(filled)]
        return result

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        answer = self._server.post("embeddings", {"model": self._model, "input": texts})
        try:
            rows = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
            vectors = [np.asarray(rows[index], np.float32) for index in sorted(rows)]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{self._server.public_url} gave an answer without vectors for {self.name} ({error!r}); "
                "it does not speak the OpenAI embeddings API."
            ) from error
        if sorted(rows) != list(range(len(texts))):
            raise UserError(
                f"{self._server.public_url} gave {len(rows):,} vectors for {len(texts):,} texts, so it is not clear "
                "which belongs to which. The server or its model does not handle lists of texts; use another one."
            )
        return self._check_dimension(vectors)

    def _check_dimension(self, vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        lengths = {vector.shape for vector in vectors} | ({(self._dimension,)} if self._dimension else set())
        if len(lengths) > 1 or vectors[0].ndim != 1:
            found = ", ".join(str(shape).strip("(,)") for shape in sorted(lengths))
            raise UserError(
                f"{self._server.public_url} gave vectors of different lengths ({found}) for {self.name}: its model was "
                "changed while this ran. Run it again when the server keeps to one model."
            )
        self._dimension = len(vectors[0])
        return np.stack(vectors)
