"""Models of sentence-transformers, from a folder, a package or the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, UserError, require
from .hub import (
    announce_download,
    cannot_load,
    check_installed,
    check_on_hub,
    checked_revision,
    folder_fingerprint,
    hub_revision,
)

COMPLETE_FILE = "modules.json"
"""Without this file, a model that another program has downloaded would silently get mean pooling."""

SAFE_VERSION = 6
"""The first version of sentence-transformers that never runs code of a folder; `pyproject.toml` asks for it, too."""

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+")

INSTRUCTION = "Instruct: Identify the topic or theme of the given text\nQuery:"


@dataclass(frozen=True)
class HubModel:
    """A model of the Hugging Face hub that is known to work well, with the prompt that its model card asks for."""

    hub_name: str
    dimension: int
    megabytes: int
    prompt: str | None = None
    needs_torch: bool = False
    preset: str | None = None


# It learned to give a sentence and its translations into 50 languages the same vector, so groups follow topics.
# multilingual-e5-small, of the same size, learned to find answers to questions, and needs a prompt.
MULTILINGUAL = HubModel("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", 384, 471, preset="multilingual")

HUB_MODELS = (
    MULTILINGUAL,
    HubModel("sentence-transformers/all-mpnet-base-v2", 768, 438, needs_torch=True),
    HubModel("BAAI/bge-small-en-v1.5", 384, 133),
    HubModel("thenlper/gte-small", 384, 67),
    HubModel("intfloat/e5-small-v2", 384, 133, "query: "),
    HubModel("intfloat/e5-base-v2", 768, 438, "query: "),
    HubModel("intfloat/e5-large-v2", 1024, 1340, "query: "),
    HubModel("intfloat/multilingual-e5-small", 384, 471, "query: "),
    HubModel("intfloat/multilingual-e5-base", 768, 1110, "query: "),
    HubModel("intfloat/multilingual-e5-large", 1024, 2240, "query: "),
    HubModel("intfloat/multilingual-e5-large-instruct", 1024, 1120, f"{INSTRUCTION} "),
    HubModel("Qwen/Qwen3-Embedding-0.6B", 1024, 1190, INSTRUCTION, needs_torch=True),
    HubModel("Qwen/Qwen3-Embedding-8B", 4096, 15130, INSTRUCTION, needs_torch=True),
    HubModel("Linq-AI-Research/Linq-Embed-Mistral", 4096, 14220, f"{INSTRUCTION} ", needs_torch=True),
)

OWNERS = {
    "all-": "sentence-transformers",
    "distiluse-": "sentence-transformers",
    "multi-qa-": "sentence-transformers",
    "paraphrase-": "sentence-transformers",
    "bge-": "BAAI",
    "gte-": "thenlper",
    "mxbai-embed-": "mixedbread-ai",
    "snowflake-arctic-embed-": "Snowflake",
}
"""Who publishes the models whose names start like this, so that their short names work."""


def find_hub_model(name: str) -> HubModel | None:
    """Return the known model of a preset, of a hub name or its last part, or of a folder with that name."""
    whole, last = str(name).lower(), Path(name).name.lower()
    return next((one for one in HUB_MODELS if whole == one.preset or one.hub_name.lower().endswith(f"/{last}")), None)


def full_hub_name(name: str) -> str | None:
    """Return the hub name that a short name stands for, or None if its owner is not known."""
    if HUB_NAME.fullmatch(name):
        return name
    known = find_hub_model(name)
    if known:
        return known.hub_name
    owner = next((owner for start, owner in OWNERS.items() if name.lower().startswith(start)), None)
    return f"{owner}/{name}" if owner else None


class SentenceTransformerBackend:
    """A model of sentence-transformers.

    The source is a folder, or a name on the Hugging Face hub, with or without its owner. The model is loaded when the
    first text is embedded, so that a run with all vectors in the cache does not wait for PyTorch. A hub model that is
    not on this machine is downloaded at once.
    """

    batch_size = 128

    def __init__(self, source: str, *, name: str | None = None) -> None:
        check_installed("sentence_transformers", extra="transformers")
        known = find_hub_model(source)
        self._prompt = known.prompt if known else None
        folder = Path(source).expanduser()
        if folder.is_dir():
            self._source, self._local = str(folder.resolve()), True
            self.name = name or f"sentence-transformers:{self._source}"
            version: dict[str, str | None] = {"fingerprint": folder_fingerprint(folder)}
        else:
            self._source = full_hub_name(source) or source
            self.name = name or self._source
            revision = hub_revision(self._source, file=COMPLETE_FILE)
            self._local = revision is not None
            version = {"revision": revision or self._fetch()}
        self.settings: Mapping[str, Any] = {"prompt": self._prompt, **version}

    def _fetch(self) -> str | None:
        announce_download(self._source, check_on_hub(self._source))
        try:
            self._model  # noqa: B018  loading downloads it
        except Exception as error:
            checked_revision(self._source, COMPLETE_FILE, "config.json")  # damaged files are the better reason
            if isinstance(error, OSError):
                raise cannot_load(self._source, error) from error
            raise
        return checked_revision(self._source, COMPLETE_FILE, "config.json")

    @cached_property
    def _model(self) -> Any:
        library = require("sentence_transformers", extra="transformers")
        if int(library.__version__.partition(".")[0]) < SAFE_VERSION:
            raise UsageError(
                f"sentence-transformers {library.__version__} may run code that comes with a model: pip install "
                '"textspectra[transformers]"'
            )
        try:
            # Only safetensors: the older format is a pickle, which can run code.
            return library.SentenceTransformer(
                self._source, local_files_only=self._local, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError, KeyError) as error:
            if not self._local:
                raise
            reason = " ".join(str(error).split())
            raise UserError(
                f"{self._source} could not be loaded by sentence-transformers ({reason}). It must be a complete copy "
                "of a model: configuration, tokenizer and weights."
            ) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        vectors = self._model.encode(
            list(texts), prompt=self._prompt, convert_to_numpy=True, show_progress_bar=False, batch_size=32
        )
        return np.asarray(vectors, np.float32)
