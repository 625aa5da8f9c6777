"""Models in folders and on the Hugging Face hub: names, versions and downloads."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, TypeVar

import huggingface_hub
import platformdirs

from ..errors import ExternalError, UsageError, require

# Files that decide what a model computes: weights, configuration, vocabulary.
MODEL_SUFFIXES = {".bin", ".json", ".model", ".safetensors", ".txt"}
OFFLINE = "HF_HUB_OFFLINE"  # the environment variable that disables downloads from the hub
# The environment variable of --offline. It also forbids servers, even on this machine.
NO_SERVER = "TEXTSPECTRA_OFFLINE"
HUB_TIMEOUT = 5.0  # seconds to wait for the first answer of the hub
COPY_FOLDER = (
    "download it elsewhere with `hf download {} --local-dir FOLDER`, copy that folder here and give its path as the "
    "model."
)
INSTRUCTION = "Instruct: Identify the topic or theme of the given text\nQuery:"

MODEL_FILES = {"model.safetensors", "tokenizer.json", "config.json", "modules.json"}

_logger = logging.getLogger(__name__)

_Json = TypeVar("_Json", dict[str, Any], list[Any])


class NotSupportedError(Exception):
    """The reason why a model needs PyTorch, as the end of a sentence."""


@dataclass(frozen=True)
class HubModel:
    """A model of the Hugging Face hub that is known to work well, with the prompt that its model card asks for."""

    hub_name: str
    dimension: int
    megabytes: int
    prompt: str | None = None
    needs_torch: bool = False
    preset: str | None = None
    summary: str = "from the Hugging Face hub"


MINILM = HubModel(
    "sentence-transformers/all-MiniLM-L6-v2", 384, 91, preset="minilm",
    summary="all-MiniLM-L6-v2, a small transformer for English",
)  # fmt: skip
# Trained to give a sentence and its translations into 50 languages the same vector, so groups follow the content.
# multilingual-e5-small, of the same size, was trained to retrieve answers to questions, and needs a prompt.
MULTILINGUAL = HubModel(
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", 384, 471, preset="multilingual",
    summary="paraphrase-multilingual-MiniLM-L12-v2, a small transformer for 50 languages, from the Hugging Face hub",
)  # fmt: skip

HUB_MODELS = (
    MINILM,
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
    ("all-", "distiluse-", "multi-qa-", "paraphrase-"): "sentence-transformers",
    ("bge-",): "BAAI",
    ("gte-",): "thenlper",
    ("mxbai-embed-",): "mixedbread-ai",
    ("snowflake-arctic-embed-",): "Snowflake",
}
"""Prefixes of well-known model names and their owners, so that short names work."""


def find_hub_model(name: str) -> HubModel | None:
    """Return the known model for a preset, a hub name or its last part, or a folder with that name."""
    whole, last = name.lower(), Path(name).name.lower()
    return next(
        (known for known in HUB_MODELS if whole == known.preset or known.hub_name.lower().endswith(f"/{last}")), None
    )


def full_hub_name(name: str) -> str | None:
    """Return the hub name of a full or short name, or None if its owner is not known."""
    if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name):
        return name
    known = find_hub_model(name)
    if known:
        return known.hub_name
    owner = next((owner for prefixes, owner in OWNERS.items() if name.lower().startswith(prefixes)), None)
    return f"{owner}/{name}" if owner else None


def check_installed(module: str, *, extra: str) -> None:
    """Raise an error that names the install command if a module is missing, without importing the module."""
    if find_spec(module) is None:
        require(module, extra=extra)


def files_fingerprint(files: Iterable[Path]) -> str:
    """Return a hash of the names and sizes of files, in any order, and of their starts and ends, which is fast."""
    sample = 2**20
    parts = []
    for path in files:
        size = path.stat().st_size
        part = hashlib.blake2b(f"{path.name} {size} ".encode(), digest_size=16)
        with path.open("rb") as file:
            part.update(file.read(sample))
            file.seek(max(0, size - sample))
            part.update(file.read(sample))
        parts.append(part.digest())
    return hashlib.blake2b(b"".join(sorted(parts)), digest_size=8).hexdigest()


def folder_fingerprint(folder: Path) -> str:
    """Return the fingerprint of the files that decide what the model in a folder computes."""
    return files_fingerprint(path for path in folder.rglob("*") if path.suffix in MODEL_SUFFIXES and path.is_file())


def read_json(path: Path, kind: type[_Json]) -> _Json:
    """Return the content of a JSON file, or an empty one if the file is damaged or holds another type."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return kind()
    return content if isinstance(content, kind) else kind()


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for files that can be computed again: `folder`, ``TEXTSPECTRA_CACHE`` or the platform's."""
    chosen = folder or os.environ.get("TEXTSPECTRA_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("textspectra", appauthor=False)


def local_folder(name: str, *files: str) -> Path | None:
    """Return the folder of a hub model on this machine that has one of the files, or None. Its name is the revision."""
    paths = (huggingface_hub.try_to_load_from_cache(name, file) for file in files)
    return next((Path(path).parent for path in paths if isinstance(path, str)), None)


def hub_folder(name: str) -> Path:
    """Return the local folder of a hub model, after downloading it if necessary.

    One file is downloaded last, so an interrupted download is noticed and continues.
    """
    last = "modules.json"
    folder = local_folder(name, last)
    if folder:
        return folder
    sizes = check_on_hub(name)
    if not sizes.keys() >= MODEL_FILES:
        raise NotSupportedError(f"it lacks {' and '.join(sorted(MODEL_FILES - sizes.keys()))}")
    announce_download(name, sizes)
    try:
        snapshot = huggingface_hub.snapshot_download(
            name, allow_patterns=["*.json", *MODEL_FILES], ignore_patterns=[last, "onnx/*", "openvino/*"]
        )
        check_download(Path(snapshot))
        return Path(huggingface_hub.hf_hub_download(name, last)).parent
    except ExternalError:
        raise
    except Exception as error:  # each HTTP library raises its own errors
        raise cannot_load(name, error) from error


def check_download(folder: Path) -> None:
    """Raise an error if the checksum of a downloaded file is wrong, and delete the file.

    The hub's library compares only sizes. It stores each large file under its SHA-256, with a link in `folder`.
    """
    for path in folder.rglob("*"):
        blob = path.resolve()
        if path.is_file() and re.fullmatch("[0-9a-f]{64}", blob.name):
            with blob.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != blob.name:
                blob.unlink()
                path.unlink(missing_ok=True)
                raise ExternalError(
                    f"The download of {path.name} is damaged: its checksum is not the one of the Hugging Face hub. It "
                    "is deleted; run this again."
                )


def check_on_hub(name: str) -> dict[str, int]:
    """Return the files of a hub model with their sizes, or raise an error if downloads are off or the model is unknown.

    The libraries that load models would retry for more than a minute.
    """
    if is_offline():
        raise UsageError(
            f"The model {name!r} is not on this machine, and downloads are switched off ({OFFLINE} or --offline). "
            f"Switch them on, or {COPY_FOLDER.format(name)}"
        )
    errors = huggingface_hub.errors
    options = {"timeout": HUB_TIMEOUT, "files_metadata": True}
    try:
        # A name server that does not answer, or several addresses, would take a multiple of the timeout.
        with ThreadPool(1) as pool:
            info = pool.apply_async(huggingface_hub.HfApi().model_info, (name,), options).get(HUB_TIMEOUT)
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise UsageError(
            f"{name!r} is neither a folder nor a public model on the Hugging Face hub. Check the spelling; for a "
            "private model log in with `hf auth login`; `textspectra models` lists names that work."
        ) from error
    except Exception as error:  # each HTTP library raises its own errors
        raise cannot_load(name, error) from error
    return {file.rfilename: file.size or 0 for file in info.siblings or []}


def announce_download(name: str, sizes: Mapping[str, int]) -> None:
    """Log the download of a model, with the size of its weights and configuration."""
    has_safetensors = any(path.endswith(".safetensors") for path in sizes)  # then the older format is left out
    suffixes = MODEL_SUFFIXES - {".bin"} if has_safetensors else MODEL_SUFFIXES
    wanted = (path for path in sizes if Path(path).suffix in suffixes and not path.startswith(("onnx/", "openvino/")))
    total = sum(sizes[path] for path in wanted)
    _logger.info("Downloading %s from the Hugging Face hub (%s), which happens only once.", name, in_megabytes(total))


def in_megabytes(size: int) -> str:
    """Return a size in MB or GB."""
    if size >= 10**9:
        return f"{size / 10**9:.1f} GB"
    return f"{size / 10**6:.0f} MB" if size >= 10**6 else f"{size / 10**6:.1f} MB"


def is_offline() -> bool:
    """Return True if downloads are disabled now; the hub's own library reads the variable only once."""
    return is_on(OFFLINE)


def is_on(variable: str) -> bool:
    """Return True if an environment variable is set to a true value."""
    return os.environ.get(variable, "").upper() in {"1", "ON", "TRUE", "YES"}


@contextmanager
def no_downloads(forbidden: bool) -> Iterator[None]:
    """Disable downloads inside a ``with`` statement, if they are forbidden."""
    before = os.environ.get(OFFLINE)
    if forbidden:
        os.environ[OFFLINE] = "1"
    try:
        yield
    finally:
        if forbidden:
            os.environ.pop(OFFLINE)
            os.environ.update({OFFLINE: before} if before is not None else {})


def cannot_load(name: str, error: Exception) -> ExternalError:
    """Return the error for a hub model that is not here and cannot be downloaded."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return ExternalError(
        f"The model {name!r} is not on this machine and could not be downloaded from the Hugging Face hub "
        f"({reason[0]}). Connect to the internet, or {COPY_FOLDER.format(name)}"
    )
