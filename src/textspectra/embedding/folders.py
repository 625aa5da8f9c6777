"""Models in folders and on the Hugging Face hub: what they are, and which version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..validation import require

MODEL_SUFFIXES = {".bin", ".json", ".model", ".safetensors", ".txt"}
"""Files that decide what a model computes: weights, configuration, vocabulary."""

SAMPLE_BYTES = 2**20
"""Bytes at the start and the end of a file that the fingerprint covers; whole models would take minutes."""


def check_installed(module: str, *, extra: str) -> None:
    """Raise the error that names the install line, without importing a module that is there.

    Examples
    --------
    >>> check_installed("json", extra="transformers")
    """
    if find_spec(module) is None:
        require(module, extra=extra)


def fingerprint(files: Iterable[Path]) -> str:
    """Return a hash of names, sizes, starts and ends of files, in any order and wherever they are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "config.json")
    ...     _ = file.write_text("{}")
    ...     before = fingerprint([file])
    ...     _ = file.write_text("[]")
    ...     before == fingerprint([file])
    False
    """
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
    """Tell whether a folder holds a model of sentence-transformers, transformers or model2vec."""
    return (folder / "modules.json").is_file() or (folder / "config.json").is_file()


def is_static_model(folder: Path) -> bool:
    """Tell whether a folder holds a model of model2vec: a table of vectors and no network."""
    configured = _read_json(folder / "config.json").get("model_type")
    return configured == "model2vec" or (configured is None and "embeddings" in _tensor_names(folder))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _tensor_names(folder: Path) -> set[str]:
    """Return the names in the header of a safetensors file: its length in 8 bytes, then JSON."""
    try:
        with (folder / "model.safetensors").open("rb") as file:
            return set(json.loads(file.read(int.from_bytes(file.read(8), "little"))))
    except (OSError, ValueError, OverflowError, MemoryError):
        return set()


def hub_revision(name: str, *, file: str) -> str | None:
    """Return which revision of a hub model is on this machine with that file, or None."""
    check_installed("huggingface_hub", extra="transformers")
    found = require("huggingface_hub", extra="transformers").try_to_load_from_cache(name, file)
    return Path(found).parent.name if isinstance(found, str) else None


def check_on_hub(name: str) -> None:
    """Ask the hub for a model, so that a wrong name or a missing connection is an error at once.

    The loaders themselves try again for more than a minute, file by file.
    """
    hub = require("huggingface_hub", extra="transformers")
    try:
        hub.HfApi().model_info(name, timeout=10)
    except (hub.errors.RepositoryNotFoundError, hub.errors.HFValidationError) as error:
        raise UserError(
            f"{name!r} is no folder here and no public model on the Hugging Face hub. Check the spelling; for a "
            "private model log in with `hf auth login`; `textspectra models` lists names that work."
        ) from error
    except Exception as error:  # the connection can fail in the ways of several HTTP libraries
        raise cannot_load(name, error) from error


def cannot_load(name: str, error: Exception) -> UserError:
    """Return the error for a hub model that is not here and cannot be fetched."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return UserError(
        f"The model {name!r} is not on this machine and could not be fetched from the Hugging Face hub ({reason[0]}). "
        "Connect to the internet, or fetch it elsewhere with `hf download "
        f"{name} --local-dir FOLDER`, copy that folder here and give its path as the model."
    )
