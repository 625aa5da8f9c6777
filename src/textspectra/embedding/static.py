"""The fast back end: WordLlama's table of token vectors, offline."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import require
from .hub import (
    announce_download,
    cannot_load,
    check_installed,
    check_on_hub,
    checked_revision,
    fingerprint,
    folder_fingerprint,
    hub_revision,
)

COMPLETE_FILE = "config.json"


class Model2VecBackend:
    """A model of model2vec in a folder or on the Hugging Face hub, chosen as ``model2vec:NAME_OR_FOLDER``.

    A folder is loaded when the first text is embedded. A hub model that is not on this machine is downloaded at once.
    """

    batch_size = 4096

    def __init__(self, source: str) -> None:
        check_installed("model2vec", extra="model2vec")
        folder = Path(source).expanduser()
        if folder.is_dir():
            self._source = str(folder.resolve())
            version: dict[str, str | None] = {"fingerprint": folder_fingerprint(folder)}
        else:
            self._source = source
            version = {"revision": hub_revision(source, file=COMPLETE_FILE) or self._fetch()}
        self.name = f"model2vec:{self._source}"
        self.settings: Mapping[str, Any] = version

    def _fetch(self) -> str | None:
        announce_download(self._source, check_on_hub(self._source))
        try:
            self._model  # noqa: B018  loading downloads it
        except Exception as error:  # the connection can fail in the ways of several HTTP libraries
            checked_revision(self._source, COMPLETE_FILE)  # damaged files are the better reason
            raise cannot_load(self._source, error) from error
        return checked_revision(self._source, COMPLETE_FILE)

    @cached_property
    def _model(self) -> Any:
        static = require("model2vec", extra="model2vec").StaticModel
        return static.from_pretrained(self._source, force_download=False)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a text without any known token gives zeros."""
        return np.asarray(self._model.encode(list(texts), use_multiprocessing=False), np.float32)


FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")


class WordLlamaBackend:
    """Mean of the vectors of a text's tokens, 256 dimensions; the weights come with the package.

    The vectors equal those of ``WordLlama.embed(texts, norm=False)`` bit for bit, at almost twice its speed: a
    sparse product sums the tokens of each text, whereas WordLlama pads all texts of a batch to the
    longest one, which needs gigabytes if that one is long.
    """

    name = "wordllama"
    batch_size = 4096

    def __init__(self) -> None:
        check_installed("wordllama", extra="wordllama")
        spec = find_spec("wordllama")
        self._folder = Path(spec.origin or "").parent if spec else Path()
        files = [path for path in (self._folder / file for file in FILES) if path.is_file()]
        self.settings: Mapping[str, Any] = {"weights": "l2_supercat_256", "fingerprint": fingerprint(files)}

    @cached_property
    def _model(self) -> Any:
        # Importing wordllama configures logging for the whole program, which a library must not do.
        root = logging.getLogger()
        level, handlers = root.level, root.handlers[:]
        wordllama = require("wordllama", extra="wordllama")
        root.setLevel(level)
        root.handlers[:] = handlers
        model = wordllama.WordLlama.load(cache_dir=self._folder, disable_download=True)
        model.tokenizer.no_padding()
        return model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; an empty text gives zeros."""
        vectors = self._model.embedding
        tokens = [
            encoded.ids for encoded in self._model.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ]
        counts = np.fromiter(map(len, tokens), np.int32, len(tokens))
        columns = np.fromiter(chain.from_iterable(tokens), np.int32, int(counts.sum()))
        np.minimum(columns, len(vectors) - 1, out=columns)  # as WordLlama does for tokens without a vector
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        chosen = sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(tokens), len(vectors)))
        sums: NDArray[np.float32] = chosen @ vectors
        sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
        return sums
