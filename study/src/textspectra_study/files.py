"""Files of a study: they appear complete or not at all, and failures are one-line errors."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from textspectra import ExternalError, UsageError

UNFINISHED = f".{'[0-9a-f]' * 16}.tmp"
"""The names of files that are being written, as a pattern."""


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
    temporary = path
    try:
        with _new_file(path) as stream:
            temporary = Path(stream.name)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if sys.platform == "win32":  # an open file cannot be renamed there
                stream.close()
            temporary.replace(path)
    except OSError as error:
        raise ExternalError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        if temporary != path:
            temporary.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of killed processes, but not files that others are writing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a")) as stream:
    ...         remove_unfinished(Path(folder))
    ...     [path.name for path in Path(folder).iterdir()]
    ['a']
    """
    for path in folder.glob(UNFINISHED):
        with suppress(OSError), path.open("rb") as stream:  # it may have been renamed meanwhile
            if _lock(stream):
                path.unlink()


def _new_file(path: Path) -> IO[bytes]:
    """Open a new file beside `path`, and lock it, so that it is not mistaken for a leftover of a killed process."""
    while True:
        stream = path.with_name(f".{secrets.token_hex(8)}.tmp").open("xb")
        if _lock(stream) is not False and Path(stream.name).exists():
            return stream
        stream.close()  # somebody removed it before it was locked


def _lock(stream: IO[bytes]) -> bool | None:
    """Lock a file until it is closed; return False if another process holds it, None if the system has no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
