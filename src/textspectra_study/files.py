"""Files of a study: they appear complete or not at all, and failures are one-line errors."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from textspectra import OutsideError, UsageError


def make_folder(folder: Path) -> None:
    """Make a folder, with its parents, unless it exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     make_folder(Path(place, "a", "b"))
    ...     Path(place, "a", "b").is_dir()
    True
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be made: {error.strerror}.") from error


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write; it gets its name, and replaces an older file, when it is complete and on the disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a")) as stream:
    ...         _ = stream.write(b"content")
    ...     Path(folder, "a").read_bytes()
    b'content'
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OutsideError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)
