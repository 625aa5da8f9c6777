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

from ..packages import require
from .folders import check_installed, fingerprint

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
