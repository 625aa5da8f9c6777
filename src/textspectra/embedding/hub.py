"""Models in folders and on the Hugging Face hub: their kind, their version, and the download."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs
from safetensors import SafetensorError, safe_open

from ..errors import ExternalError, UsageError, require

MODEL_SUFFIXES = {".bin", ".json", ".model", ".safetensors", ".txt"}
"""Files that decide what a model computes: weights, configuration, vocabulary."""

SAMPLE_BYTES = 2**20
"""Bytes at the start and at the end of a file that the fingerprint covers. Reading whole models takes minutes."""

OFFLINE = "HF_HUB_OFFLINE"
"""The environment variable with which the Hugging Face hub is switched off."""

NO_SERVER = "TEXTSPECTRA_OFFLINE"
"""The variable of --offline, which also forbids servers: the hub's own leaves a server on this machine alone."""

SHA256 = re.compile("[0-9a-f]{64}")

logger = logging.getLogger(__name__)


class NotHereError(UsageError):
    """A hub model is not on this machine and must not be downloaded."""


class HubError(ExternalError):
    """A hub model could not be downloaded."""


def check_installed(module: str, *, extra: str) -> None:
    """Raise the error that names the install line if a module is missing, without importing it."""
    if find_spec(module) is None:
        require(module, extra=extra)


def fingerprint(files: Iterable[Path]) -> str:
    """Return a hash of the names, sizes, starts and ends of files, whatever their order and folder."""
    parts = []
    for path in files:
        size = path.stat().st_size
        part = hashlib.blake2b(f"{path.name} {size} ".encode(), digest_size=16)
        with path.open("rb") as file:
            part.update(file.read(SAMPLE_BYTES))
            file.seek(max(0, size - SAMPLE_BYTES))
            part.update(file.read(SAMPLE_BYTES))
        parts.append(part.digest())
    return hashlib.blake2b(b"".join(sorted(parts)), digest_size=8).hexdigest()


def folder_fingerprint(folder: Path) -> str:
    """Return the fingerprint of the files that decide what the model in a folder computes."""
    return fingerprint(path for path in folder.rglob("*") if path.suffix in MODEL_SUFFIXES and path.is_file())


def is_model_folder(folder: Path) -> bool:
    """Return whether a folder holds a model of sentence-transformers, transformers or model2vec."""
    return (folder / "modules.json").is_file() or (folder / "config.json").is_file()


def is_static_model(folder: Path) -> bool:
    """Return whether a folder holds a model of model2vec: a table of vectors and no network."""
    configured = read_json(folder / "config.json").get("model_type")
    return configured == "model2vec" or (configured is None and "embeddings" in _tensor_names(folder))


def read_json(path: Path, kind: type[Any] = dict) -> Any:
    """Return the content of a JSON file, or an empty one if it cannot be read or is not of that kind."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return kind()
    return content if isinstance(content, kind) else kind()


def _tensor_names(folder: Path) -> set[str]:
    try:
        with safe_open(folder / "model.safetensors", "numpy") as file:
            return set(file.keys())
    except (OSError, SafetensorError):
        return set()


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for what can be computed again: the given one, ``TEXTSPECTRA_CACHE``, or the platform's."""
    chosen = folder or os.environ.get("TEXTSPECTRA_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("textspectra", appauthor=False)


def hub_revision(name: str, *, file: str) -> str | None:
    """Return the revision of a hub model on this machine that has the file, or None."""
    found = require("huggingface_hub", extra="transformers").try_to_load_from_cache(name, file)
    return Path(found).parent.name if isinstance(found, str) else None


def checked_revision(name: str, *files: str) -> str | None:
    """Return the revision that has one of the files, once its download was compared with the hub's checksums."""
    hub = require("huggingface_hub", extra="transformers")
    found = [path for path in (hub.try_to_load_from_cache(name, file) for file in files) if isinstance(path, str)]
    if not found:
        return None
    check_download(Path(found[0]).parent)
    return Path(found[0]).parent.name


def hub_folder(name: str, *, files: Sequence[str], last: str) -> Path | None:
    """Return where the hub keeps a model on this machine; download it if it is not there.

    Parameters
    ----------
    name : str
        The name on the hub.
    files : sequence of str
        What the model must have; if the hub lacks one of them, nothing is downloaded and None is returned.
    last : str
        The file that is downloaded last, so that a download that was stopped is noticed and goes on.
    """
    hub = require("huggingface_hub", extra="minilm")
    found = hub.try_to_load_from_cache(name, last)
    if isinstance(found, str):
        return Path(found).parent
    sizes = check_on_hub(name)
    if not set(files) <= set(sizes):
        return None
    announce_download(name, sizes)
    try:
        folder = hub.snapshot_download(
            name, allow_patterns=["*.json", *files], ignore_patterns=[last, "onnx/*", "openvino/*"]
        )
        check_download(Path(folder))
        return Path(hub.hf_hub_download(name, last)).parent
    except ExternalError:
        raise
    except Exception as error:  # the connection can fail in the ways of several HTTP libraries
        raise cannot_load(name, error) from error


def check_download(folder: Path) -> None:
    """Raise an error if a file of a hub model is not what the hub has, and delete it.

    The hub's library compares sizes only. It keeps a large file, such as the weights, under its SHA-256, and a link to
    it in the folder of the model.
    """
    for path in folder.rglob("*"):
        blob = path.resolve()
        if path.is_file() and SHA256.fullmatch(blob.name):
            with blob.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != blob.name:
                blob.unlink()
                path.unlink(missing_ok=True)
                raise HubError(
                    f"The download of {path.name} is damaged: its checksum is not the one of the Hugging Face hub. It "
                    "is deleted; run this again."
                )


def check_on_hub(name: str) -> dict[str, int]:
    """Return the files of a model with their sizes; raise an error at once if the hub has no such model.

    The same holds if the hub cannot be reached or is switched off. The loaders themselves retry for more than a
    minute, file by file.
    """
    hub = require("huggingface_hub", extra="minilm")
    if is_offline():
        raise NotHereError(
            f"The model {name!r} is not on this machine, and downloads are switched off ({OFFLINE} or --offline). "
            f"Switch them on, or download it elsewhere with `hf download {name} --local-dir FOLDER`, copy that folder "
            "here and give its path as the model."
        )
    try:
        found = hub.HfApi().model_info(name, timeout=10, files_metadata=True)
    except (hub.errors.RepositoryNotFoundError, hub.errors.HFValidationError) as error:
        raise UsageError(
            f"{name!r} is neither a folder nor a public model on the Hugging Face hub. Check the spelling; for a "
            "private model log in with `hf auth login`; `textspectra models` lists names that work."
        ) from error
    except Exception as error:  # the connection can fail in the ways of several HTTP libraries
        raise cannot_load(name, error) from error
    return {file.rfilename: file.size or 0 for file in found.siblings or []}


def announce_download(name: str, sizes: Mapping[str, int]) -> None:
    """Log that a model is about to be downloaded, and its size: that of its weights and of its configuration."""
    wanted = {path: size for path, size in sizes.items() if Path(path).suffix in MODEL_SUFFIXES}
    if any(path.endswith(".safetensors") for path in wanted):  # then the older format is left out
        wanted = {path: size for path, size in wanted.items() if not path.endswith(".bin")}
    total = sum(size for path, size in wanted.items() if not path.startswith(("onnx/", "openvino/")))
    logger.info("Downloading %s from the Hugging Face hub (%s), which happens only once.", name, in_megabytes(total))


def in_megabytes(size: int) -> str:
    """Return a size in MB or GB."""
    if size >= 10**9:
        return f"{size / 10**9:.1f} GB"
    return f"{size / 10**6:.0f} MB" if size >= 10**6 else f"{size / 10**6:.1f} MB"


def is_offline() -> bool:
    """Return whether downloads are switched off; unlike the hub's own library, at the time of the call."""
    return is_on(OFFLINE)


def is_on(variable: str) -> bool:
    """Return whether an environment variable says yes."""
    return os.environ.get(variable, "").upper() in {"1", "ON", "TRUE", "YES"}


@contextmanager
def no_downloads(forbidden: bool) -> Iterator[None]:
    """Switch downloads off for the time of a ``with`` statement, if they are forbidden."""
    before = os.environ.get(OFFLINE)
    if forbidden:
        os.environ[OFFLINE] = "1"
    try:
        yield
    finally:
        if forbidden:
            os.environ.pop(OFFLINE)
            os.environ.update({OFFLINE: before} if before is not None else {})


def cannot_load(name: str, error: Exception) -> HubError:
    """Return the error for a hub model that is not here and cannot be downloaded."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return HubError(
        f"The model {name!r} is not on this machine and could not be downloaded from the Hugging Face hub "
        f"({reason[0]}). Connect to the internet, or download it elsewhere with `hf download {name} --local-dir "
        "FOLDER`, copy that folder here and give its path as the model."
    )
