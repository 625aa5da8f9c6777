"""Where converted weights are kept: one folder per model and number format in the user's cache."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import warnings
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..atomic import TEMPORARY, replacing_folder
from ..errors import OutsideError, UserError
from ..packages import require
from .checkpoint import CONFIG, Checkpoint
from .convert import converted_spec
from .folders import cache_folder, fingerprint

CHECKSUMS = "checksums.json"

LEFTOVER_SECONDS = 3600.0
"""Age of a temporary folder after which its process must be dead; a conversion takes seconds."""


def converted_files(checkpoint: Checkpoint, compute_type: str) -> dict[str, bytes]:
    """Return the files of the model in the format of CTranslate2; convert it if that has not been done yet.

    The files are checked against their checksums, and converted again if they are damaged. Any number of processes
    may do that at the same time: each writes a folder of its own, renames it, and uses what it has read.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    compute_type : {"int8", "float32"}
        The number format of the weights.

    Returns
    -------
    dict of str to bytes
        File names and contents, as ``ctranslate2.Encoder(files=...)`` takes them.

    Raises
    ------
    UserError
        If the model is damaged, or there is no space for the converted one in any folder.
    """
    # Another version of CTranslate2 may write another format.
    version = require("ctranslate2", extra="minilm").__version__
    source = fingerprint([checkpoint.weights, checkpoint.weights.with_name(CONFIG)])
    folder = weights_folder() / f"{source}-{compute_type}-{version}"
    files = _read(folder)
    if files is not None:
        return files
    spec = converted_spec(checkpoint, compute_type)
    _remove_leftovers()
    try:
        with replacing_folder(folder) as temporary:
            files = _write(spec, temporary)
    except UserError as error:
        # If only the renaming failed, another process has put the same files there first.
        if files is None:
            warnings.warn(
                f"The converted weights cannot be kept, so every run converts them again: {str(error).rstrip('.')}. "
                "Set TEXTSPECTRA_CACHE to another folder to change that.",
                RuntimeWarning,
                stacklevel=2,
            )
            files = _write_elsewhere(spec)
    return files


def weights_folder() -> Path:
    """Return the folder of the converted weights, which may have to be made first."""
    return cache_folder() / "weights"


def weights_size() -> tuple[int, int]:
    """Return how many models are converted, and the bytes of all files in the folder."""
    folder = weights_folder()
    n_models = sum(not path.name.startswith(".") for path in folder.glob("*"))
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # another process has deleted it
            total += path.stat().st_size if path.is_file() else 0
    return n_models, total


def clear_weights() -> None:
    """Delete all converted weights, and what killed processes have left."""
    shutil.rmtree(weights_folder(), ignore_errors=True)


def _remove_leftovers() -> None:
    """Delete what conversions left that were killed; a young folder may belong to one that is under way."""
    for path in weights_folder().glob(f"{TEMPORARY}*"):
        with suppress(OSError):  # another process has deleted it
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(path)


def _write(spec: Any, folder: Path) -> dict[str, bytes]:
    spec.save(str(folder))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / CHECKSUMS).write_text(json.dumps({name: zlib.crc32(content) for name, content in files.items()}))
    return files


def _write_elsewhere(spec: Any) -> dict[str, bytes]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _write(spec, Path(folder))
    except OSError as error:
        raise OutsideError(
            f"There is no space for the converted weights, not even in {tempfile.gettempdir()} ({error.strerror}); "
            "free some, or set TEXTSPECTRA_CACHE to a folder on another disk."
        ) from error


def _read(folder: Path) -> dict[str, bytes] | None:
    """Return the files, or None if they are not there or not what was written."""
    try:
        checksums = json.loads((folder / CHECKSUMS).read_text())
        files = {name: (folder / name).read_bytes() for name in checksums}
        sound = "model.bin" in files and all(zlib.crc32(files[name]) == checksums[name] for name in files)
    except (OSError, ValueError, TypeError):
        return None
    return files if sound else None
