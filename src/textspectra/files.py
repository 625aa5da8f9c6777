"""Outputs that appear complete or not at all, alone or several together.

1. An output is written under a hidden name beside its place, and renamed once it is complete.
2. The outputs of a run are renamed together under a lock. If one of them fails, the older ones are restored. A journal
   lists the new outputs. After a crash, the next process to write the same outputs completes the journal first, so they
   are all old or all new.
3. Readers never write, delete or wait. They get the old folder or the new one (:func:`read_folder`).
4. A hidden name consists of the name of an output and a token, and the content of a file is never used as a path.
   Hidden files that are links or belong to another user are ignored. The journal lists inode numbers, so a copy, an
   archive or a download is never mistaken for the leftovers of a crash.

If the file system cannot exchange two names, an older output is missing between two renames.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from .errors import ExternalError, TextspectraError, UserError, cannot_write

TEMPORARY = ".textspectra-"  # start of every hidden name
_TOKEN = "[0-9a-f]" * 16
_HIDDEN = re.compile(f"{re.escape(TEMPORARY)}{_TOKEN}-")

Content = TypeVar("Content")


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Let only one process at a time change `path`; raise an ExternalError if another one holds the lock.

    The lock is a file beside `path`. The system releases it when the process ends, however it ends.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise UserError(f"The folder {path.parent} does not exist.")
    file = _hidden(target, "lock")
    with ExitStack() as cleanup:
        with _expected_errors(path):
            if file.is_symlink():
                file.unlink()
            flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # in case it is a link or a pipe again
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT | flags, 0o666)
            except PermissionError:
                if not file.exists():
                    raise
                descriptor = os.open(file, os.O_RDONLY | flags)  # another user of the same folder left it
            cleanup.callback(os.close, descriptor)
            # The process that held the lock may have just removed the file.
            if _acquire(descriptor) is False or os.fstat(descriptor).st_nlink == 0:
                raise ExternalError(f"'{path}' is being changed by another process; try again when that has ended.")
            cleanup.callback(_remove, file)
        yield


def _acquire(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock a file or a folder; return False if another process has, and None if the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        return False if sys.platform == "win32" or isinstance(error, BlockingIOError) else None
    return True


class Outputs:
    """Files and folders that wait beside their places until all are complete, see :func:`replacing_together`."""

    def __init__(
        self, path: Path, *others: Path, locking: Callable[[Path], AbstractContextManager[object]] = lock
    ) -> None:
        self._path, self._others, self._locking = path, others, locking
        self._token = secrets.token_hex(8)
        self._moves: list[tuple[Path, Path, str]] = []  # hidden name, place, inode
        self._unfinished = ExitStack()

    def __enter__(self) -> Outputs:
        if _leftovers(self._path.resolve(), "commit-"):
            with self._locking(self._path), _expected_errors(self._path):
                for journal in filter(Path.is_file, _leftovers(self._path.resolve(), "commit-")):
                    self._recover(journal)
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        with self._unfinished:
            if failure is None:
                with _expected_errors(self._path):
                    self._switch()

    def file(self, path: Path) -> AbstractContextManager[Path]:
        """Yield an empty temporary file, which is renamed together with the other outputs."""
        return self._waiting(path, partial(Path.touch, exist_ok=False))

    def folder(self, folder: Path) -> AbstractContextManager[Path]:
        """Yield an empty temporary folder, which is renamed together with the other outputs."""
        return self._waiting(folder, Path.mkdir)

    @contextmanager
    def _waiting(self, path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
        with _expected_errors(path):
            target = path.resolve()
            for abandoned in _leftovers(target):
                _remove_abandoned(abandoned)
            hidden = _hidden(target, self._token)
            self._make_locked(hidden, make)
            # A new file gets the default permissions, and a replaced file keeps its own.
            replaces_file = target.exists() and hidden.is_file()
            mode = target.stat().st_mode if replaces_file else hidden.stat().st_mode & 0o666
            yield hidden
            for written in (hidden, *hidden.rglob("*")):
                if written.is_file():
                    _flush(written)
                    written.chmod(mode)
            self._moves.append((hidden, target, _inode(hidden)))

    def _make_locked(self, hidden: Path, make: Callable[[Path], None]) -> None:
        """Make a file or a folder and lock it, so that other processes see that it is in use until the end."""
        while True:
            make(hidden)
            self._unfinished.callback(_remove, hidden)
            if sys.platform == "win32":  # an open file cannot be renamed there, and a folder cannot be opened
                return
            with suppress(FileNotFoundError):  # before it was locked, another process considered it abandoned
                descriptor = os.open(hidden, os.O_RDONLY)
                self._unfinished.callback(os.close, descriptor)
                _acquire(descriptor, wait=True)
                hidden.lstat()
                return

    def _switch(self) -> None:
        """Put all outputs in their places; the older ones are removed, or restored after an error."""
        if len(self._moves) == 1:
            hidden, target, _ = self._moves[0]
            if hidden.is_file() or not os.path.lexists(target):  # one rename is atomic without a journal
                hidden.replace(target)
                return
        with self._locking(self._path):
            journal = _hidden(self._path.resolve(), f"commit-{self._token}")
            try:
                journal.write_text(" ".join(inode for _, _, inode in self._moves))
                _flush(journal)
                for hidden, target, _ in self._moves:
                    _swap(hidden, target)
            except BaseException:
                waiting = self._unfinished.pop_all()  # keep everything if an older output cannot be restored
                for hidden, target, inode in reversed(self._moves):
                    if _inode(target) == inode:
                        _swap(target, hidden)
                _remove(journal)
                waiting.close()
                raise
            try:
                for hidden, _, _ in self._moves:
                    _remove(hidden)
            finally:
                _remove(journal)  # last, so that a recovery also removes the older outputs

    def _recover(self, journal: Path) -> None:
        """Complete the journal of a killed process for the outputs that are written now."""
        token = journal.name.removeprefix(f"{TEMPORARY}commit-")[:16]
        with journal.open("rb") as file:
            new = file.read(4096).decode(errors="replace").split()  # enough for the outputs of a run
        for path in (self._path, *self._others):
            target = path.resolve()
            hidden = _hidden(target, token)
            if _inode(hidden) in new:
                _swap(hidden, target)
            if _inode(hidden) and _inode(target) in new:
                _remove(hidden)
        journal.unlink()


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, which is renamed to `path` at the end.

    If the body of the ``with`` statement fails, an older file at `path` stays. It also passes on its permissions, and a
    symbolic link stays a link. If `path` is already a temporary file, it is yielded unchanged.
    """
    if _HIDDEN.match(path.name):
        with _expected_errors(path):
            yield path
    else:
        with Outputs(path) as outputs, outputs.file(path) as temporary:
            yield temporary


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that replaces `folder` and all its files at the end; parents are created."""
    with _expected_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with Outputs(folder) as outputs, outputs.folder(folder) as temporary:
        yield temporary


@contextmanager
def replacing_together(path: Path, *others: Path) -> Iterator[Outputs]:
    """Yield outputs that take their places together at the end; the lock and the journal are named after `path`."""
    with lock(path), Outputs(path, *others, locking=nullcontext) as outputs:
        yield outputs


def read_folder(folder: Path, read: Callable[[], Content]) -> Content:
    """Return the result of `read`; if the folder is replaced meanwhile, read it again."""

    def version() -> tuple[int, ...]:
        with suppress(OSError):
            status = folder.stat()
            return status.st_dev, status.st_ino, status.st_ctime_ns  # inode numbers are reused, so they are not enough
        return ()

    for _ in range(100):
        before = version()
        try:
            result = read()
        except (TextspectraError, OSError):
            if version() == before:
                raise
        else:
            if version() == before:
                return result
    raise ExternalError(f"'{folder}' is being replaced all the time; try again later.")


def _leftovers(target: Path, mark: str = "") -> list[Path]:
    """Return the hidden outputs or journals of this user beside `target`."""
    paths = target.parent.glob(f"{TEMPORARY}{mark}{_TOKEN}-{glob.escape(_tail(target))}")
    return [path for path in paths if _inode(path)]


def _inode(path: Path) -> str:
    """Identify a file or folder under any name; return an empty string for links and files of another user."""
    with suppress(OSError):
        status = path.lstat()
        plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if plain and (sys.platform == "win32" or status.st_uid == os.geteuid()):
            return f"{status.st_dev:x}-{status.st_ino:x}"
    return ""


def _swap(source: Path, target: Path) -> None:
    """Exchange two names; `target` may be missing."""
    if not os.path.lexists(target):
        source.rename(target)
    elif not _exchange(source, target):
        backup = _hidden(target, secrets.token_hex(8))
        try:
            target.rename(backup)
            source.rename(target)
        finally:
            if os.path.lexists(backup):
                backup.rename(target if os.path.lexists(source) else source)


def _exchange(source: Path, target: Path) -> bool:
    """Exchange two names in one step; return False if the system or the file system cannot."""
    import ctypes

    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    sys.audit("os.rename", source, target, -1, -1)  # as Python announces any other rename
    return call is not None and call(0, os.fsencode(source), 0, os.fsencode(target), ctypes.c_uint(2)) == 0


def _remove_abandoned(path: Path) -> None:
    """Remove a hidden output if the process that was writing it was killed."""
    if sys.platform != "win32":
        with suppress(OSError), ExitStack() as cleanup:  # another process may have just removed it
            descriptor = os.open(path, os.O_RDONLY)
            cleanup.callback(os.close, descriptor)
            if _acquire(descriptor):
                _remove(path)


def _remove(path: Path) -> None:
    """Remove a file or a folder even if Ctrl-C interrupts; nothing else would clean it up."""
    try:
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    except KeyboardInterrupt:
        _remove(path)
        raise


def _flush(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())


def _hidden(target: Path, mark: str) -> Path:
    return target.with_name(f"{TEMPORARY}{mark}-{_tail(target)}")


def _tail(target: Path) -> str:
    """Return the last 200 bytes of a name; a file system allows 255, and a hidden name has more in front."""
    return os.fsdecode(os.fsencode(target.name)[-200:])


def shown_path(path: object) -> str:
    """Return the path of an output if `path` is its hidden one."""
    return _HIDDEN.sub("", str(path))


@contextmanager
def _expected_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the disk may be full"
        raise cannot_write(f"'{shown_path(path)}' cannot be written: {reason}", error) from error
