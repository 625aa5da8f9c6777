"""Models that other libraries run: sentence-transformers, model2vec and WordLlama."""

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

from ..errors import TextspectraError, UsageError, UserError, require
from . import hub


class _PretrainedBackend:
    """A model in a folder or on the Hugging Face hub, which a library loads and downloads.

    The model is loaded when the first text is embedded, so that a run with all vectors in the cache does not wait for
    it. A hub model that is not on this machine is downloaded at once.
    """

    complete_file = "config.json"  # without it, a download is incomplete
    download_errors: type[Exception] = Exception  # each HTTP library raises its own errors
    _model: Any  # loaded on first use by each library; loading downloads what is missing

    def __init__(self, source: str, hub_name: str) -> None:
        folder = Path(source).expanduser()
        if folder.is_dir():
            self._source, self._is_local = str(folder.resolve()), True
            self._version: dict[str, str | None] = {"fingerprint": hub.folder_fingerprint(folder)}
        else:
            self._source, snapshot = hub_name, hub.local_folder(hub_name, self.complete_file)
            self._is_local = snapshot is not None
            self._version = {"revision": snapshot.name if snapshot else self._download()}

    def _download(self) -> str | None:
        hub.announce_download(self._source, hub.check_on_hub(self._source))
        try:
            try:
                self._model  # noqa: B018  loading downloads it
            finally:
                snapshot = hub.local_folder(self._source, self.complete_file, "config.json")
                if snapshot:
                    hub.check_download(snapshot)  # damaged files explain a failure best
        except TextspectraError:
            raise
        except self.download_errors as error:
            raise hub.cannot_load(self._source, error) from error
        return snapshot.name if snapshot else None


class SentenceTransformerBackend(_PretrainedBackend):
    """A model of sentence-transformers: a folder, or a name on the Hugging Face hub, with or without its owner."""

    batch_size = 128
    complete_file = "modules.json"  # without it, the library would silently use mean pooling
    download_errors = OSError

    def __init__(self, source: str, *, name: str | None = None) -> None:
        hub.check_installed("sentence_transformers", extra="transformers")
        super().__init__(source, hub.full_hub_name(source) or source)
        prefix = "sentence-transformers:" if "fingerprint" in self._version else ""
        self.name = name or f"{prefix}{self._source}"
        known = hub.find_hub_model(source)
        self._prompt = known.prompt if known else None
        self.settings: Mapping[str, object] = {"prompt": self._prompt, **self._version}

    @cached_property
    def _model(self) -> Any:
        library = require("sentence_transformers", extra="transformers")
        if int(library.__version__.partition(".")[0]) < 6:  # the first version that never runs code of a folder
            raise UsageError(
                f"sentence-transformers {library.__version__} may run code that comes with a model: pip install "
                '"textspectra[transformers]"'
            )
        # Only safetensors: the older format is a pickle, which can run code.
        options = {"local_files_only": self._is_local, "model_kwargs": {"use_safetensors": True}}
        try:
            return library.SentenceTransformer(self._source, **options)
        except (OSError, ValueError, KeyError) as error:
            if not self._is_local:
                raise
            reason = " ".join(str(error).split())
            raise UserError(
                f"{self._source} could not be loaded by sentence-transformers ({reason}). It must be a complete copy "
                "of a model: configuration, tokenizer and weights."
            ) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        options = {"prompt": self._prompt, "convert_to_numpy": True, "show_progress_bar": False, "batch_size": 32}
        return np.asarray(self._model.encode(list(texts), **options), np.float32)


class Model2VecBackend(_PretrainedBackend):
    """A model of model2vec in a folder or on the Hugging Face hub, chosen as ``model2vec:NAME_OR_FOLDER``."""

    batch_size = 4096

    def __init__(self, source: str) -> None:
        hub.check_installed("model2vec", extra="model2vec")
        super().__init__(source, source)
        self.name = f"model2vec:{self._source}"
        self.settings: Mapping[str, object] = self._version

    @cached_property
    def _model(self) -> Any:
        static = require("model2vec", extra="model2vec").StaticModel
        return static.from_pretrained(self._source, force_download=False)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a text without a known token gives zeros."""
        return np.asarray(self._model.encode(list(texts), use_multiprocessing=False), np.float32)


class WordLlamaBackend:
    """The mean of the vectors of a text's tokens, in 256 dimensions; the weights come with the package.

    The vectors equal ``WordLlama.embed(texts, norm=False)`` bit for bit, at almost twice the speed: a sparse product
    sums the tokens of each text, whereas WordLlama pads a batch to its longest text, which can need gigabytes.
    """

    name = "wordllama"
    batch_size = 4096

    def __init__(self) -> None:
        spec = find_spec("wordllama")
        if spec is None:
            raise UsageError("wordllama has no package for this Python or platform; use the model minilm instead.")
        self._folder = Path(spec.origin or "").parent
        files = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
        version = hub.files_fingerprint(path for path in map(self._folder.joinpath, files) if path.is_file())
        self.settings: Mapping[str, object] = {"weights": "l2_supercat_256", "fingerprint": version}

    @cached_property
    def _model(self) -> Any:
        # Importing wordllama configures logging for the whole program, which a library must not do.
        root = logging.getLogger()
        level, handlers = root.level, root.handlers[:]
        import wordllama

        root.setLevel(level)
        root.handlers[:] = handlers
        model = wordllama.WordLlama.load(cache_dir=self._folder, disable_download=True)
        model.tokenizer.no_padding()
        return model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; an empty text gives zeros."""
        vectors = self._model.embedding
        encoded = self._model.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        tokens = [encoding.ids for encoding in encoded]
        counts = np.fromiter(map(len, tokens), np.int32, len(tokens))
        columns = np.fromiter(chain.from_iterable(tokens), np.int32, int(counts.sum()))
        np.minimum(columns, len(vectors) - 1, out=columns)  # as WordLlama does for tokens without a vector
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        chosen = sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(tokens), len(vectors)))
        sums: NDArray[np.float32] = chosen @ vectors
        sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
        return sums
