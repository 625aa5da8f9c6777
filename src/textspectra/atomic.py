"""Files and folders that appear complete or not at all: written under another name, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import OutsideError, UserError, cannot_write

TEMPORARY = ".textspectra-"
"""What the names of unfinished files and folders start with."""


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, which is renamed to `path` at the end.

    If the body of the ``with`` statement fails, the temporary file is removed, and an older file at `path` stays. Any
    OSError becomes a UserError. The new file gets the permissions of the older one, or those of any new file. A
    symbolic link stays a link. Several files of an :class:`contextlib.ExitStack` are renamed together, after all of
    them have been written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with replacing_file(path) as temporary:
    ...         written = temporary.write_text("half")
    ...         too_early = path.exists()
    ...     too_early, path.read_text()
    (False, 'half')
    """
    target = path.resolve()
    temporary = _beside(target)
    try:
        with _user_errors(path):
            temporary.touch(exist_ok=False)
            mode = (target if target.exists() else temporary).stat().st_mode
            yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            temporary.chmod(mode)
            temporary.replace(target)
    finally:
        with suppress(OSError):  # there is nothing to remove where the folder does not exist
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `folder`, which is renamed to `folder` at the end.

    If the body of the ``with`` statement fails, the temporary folder is removed, and an older `folder` stays; otherwise
    the older one is removed, with all that it holds. Any OSError becomes a UserError. The files get the permissions of
    any new file.
    """
    temporary = _beside(folder.resolve())
    try:
        with _user_errors(folder):
            temporary.mkdir(parents=True)
            yield temporary
            mode = temporary.stat().st_mode & 0o666
            for path in temporary.rglob("*"):
                if path.is_file():
                    path.chmod(mode)
        move_folder(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let only one process at a time change `path`; a second one gets a UserError.

    The lock is a file beside it, which the system releases when the process ends, however it ends.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, only_one(Path(folder, "a.model")):
    ...     with only_one(Path(folder, "a.model")):  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...         pass
    Traceback (most recent call last):
        ...
    textspectra.errors.OutsideError: 'a.model' is being changed by another process; try again when that has ended.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}.")
    lock = target.with_name(f"{TEMPORARY}{target.name}.lock")
    with _user_errors(path), lock.open("a") as file:
        try:
            _lock(file)
        except OSError:
            raise OutsideError(
                f"'{path}' is being changed by another process; try again when that has ended."
            ) from None
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()


def _lock(file: IO[str]) -> None:
    """Lock an open file, or raise an OSError if another process has."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(file.fileno()), Path(file.name).stat()):
            raise OSError  # the process that held it has just removed it


def move_folder(source: Path, folder: Path) -> None:
    """Rename `source`, on the same disk, to `folder`; an older `folder` is removed, or put back if that fails."""
    target = folder.resolve()
    aside = _beside(target)  # a folder cannot be replaced in one step
    with _user_errors(folder):
        if not target.exists():
            source.rename(target)
            return
        target.rename(aside)
        try:
            source.rename(target)
        except BaseException:
            aside.rename(target)
            raise
    shutil.rmtree(aside, ignore_errors=True)


def _beside(target: Path) -> Path:
    return target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}{target.suffix}")


@contextmanager
def _user_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(f"'{path}' cannot be written: {error.strerror or 'the disk may be full'}", error) from error
