"""Files and folders that appear complete or not at all, one by one or several together.

What is promised:

1. An output is written beside its place under a hidden name, and takes its place in one step once it is complete.
2. Outputs of a run take their places together, under a lock. If one of them cannot, the older ones come back. A marker
   says meanwhile which outputs are the new ones. After a kill, the next process that writes the same outputs finishes
   the switch before it does anything else, so they are all old or all new.
3. Readers never write, delete or wait. They get the old folder or the new one (:func:`read_folder`).
4. Every name is made from the name of an output and a token; nothing that a file holds is ever a path. A process
   touches its own outputs and their hidden files, and nothing else. It ignores hidden files that are links or belong to
   another user. The marker knows outputs by their numbers in this file system, so a copy, an archive or a download is
   never taken for what a killed process left.

Where a file system cannot exchange two names, an older output is missing between two renames.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .errors import ExternalError, TextspectraError, UserError, cannot_write

TEMPORARY = ".textspectra-"
"""What the names of unfinished files and folders start with."""

LONGEST_NAME = 200
"""Bytes of its output's name that the name of an unfinished one has; file systems allow 255 in all."""

LONGEST_MARKER = 4096
"""Bytes that are read of a marker; a run has a handful of outputs."""

READS = 100
"""How often a folder is read that is replaced every time."""

_TOKEN = "[0-9a-f]" * 16
_HIDDEN = re.compile(f"{re.escape(TEMPORARY)}{_TOKEN}-")

_held: set[tuple[int, Path]] = set()
"""What :func:`only_one` lets each thread of this process change."""

Result = TypeVar("Result")


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, which is renamed to `path` at the end.

    If the body of the ``with`` statement fails, the temporary file is removed, and an older file at `path` stays. What
    killed processes left of the same file is removed, too. Any OSError becomes a UserError. The new file gets the
    permissions of the older one, or those of any new file. A symbolic link stays a link. A `path` that is such a
    temporary file is yielded as it is.
    """
    if _HIDDEN.match(path.name):
        with _user_errors(path):
            yield path
    else:
        with Outputs(path) as outputs, outputs.file(path) as temporary:
            yield temporary


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `folder`, which is renamed to `folder` at the end.

    It is as in :func:`replacing_file`; an older folder is removed with all that it holds, and parents are created.
    """
    with _user_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with Outputs(folder) as outputs, outputs.folder(folder) as temporary:
        yield temporary


@contextmanager
def replacing_together(path: Path, *others: Path) -> Iterator[Outputs]:
    """Yield outputs that take their places together at the end; the lock and the marker are named after `path`.

    Only one process at a time can do that. A UserError is raised if there is another one. What a killed process had
    begun to put in place at these paths is finished first.
    """
    with only_one(path), Outputs(path, *others) as outputs:
        yield outputs


class _Move(NamedTuple):
    """The hidden name of a new output, its place, and its number, which it keeps under either name."""

    hidden: Path
    target: Path
    number: str

    def forward(self) -> None:
        """Put the new output in its place; the older one gets the hidden name."""
        if _number(self.hidden) == self.number:
            _swap(self.hidden, self.target)

    def back(self) -> None:
        """Put the older output in its place again."""
        if _number(self.target) == self.number:
            if os.path.lexists(self.hidden):
                _swap(self.hidden, self.target)
            else:
                self.target.rename(self.hidden)


class Outputs:
    """Files and folders that wait beside their places until all are complete, see :func:`replacing_together`."""

    def __init__(self, path: Path, *others: Path) -> None:
        self._path, self._others = path, others
        self._token = secrets.token_hex(8)
        self._moves: list[_Move] = []
        self._later: list[Callable[[], Any]] = []
        self._unfinished = ExitStack()

    def __enter__(self) -> Outputs:
        if _markers(self._path):
            with only_one(self._path), _user_errors(self._path):
                for marker in _markers(self._path):
                    _finish(marker, [path.resolve() for path in (self._path, *self._others)])
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        with self._unfinished:
            if failure is None:
                with _user_errors(self._path):
                    self._switch()
        if failure is None:
            for call in self._later:
                call()

    @contextmanager
    def file(self, path: Path) -> Iterator[Path]:
        """Yield an empty temporary file, as :func:`replacing_file` does; it is renamed with all other outputs."""
        with self._waiting(path, partial(Path.touch, exist_ok=False)) as temporary:
            target = path.resolve()
            mode = (target if target.exists() else temporary).stat().st_mode
            yield temporary
            _to_disk(temporary)
            temporary.chmod(mode)

    @contextmanager
    def folder(self, folder: Path) -> Iterator[Path]:
        """Yield an empty temporary folder, as :func:`replacing_folder` does; it is renamed with all other outputs."""
        with self._waiting(folder, Path.mkdir) as temporary:
            yield temporary
            mode = temporary.stat().st_mode & 0o666
            for path in temporary.rglob("*"):
                if path.is_file():
                    _to_disk(path)
                    path.chmod(mode)

    @contextmanager
    def _waiting(self, path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
        with _user_errors(path):
            target = path.resolve()
            _remove_abandoned(target)
            hidden = _hidden(target, self._token)
            _make_locked(hidden, make, self._unfinished)
            yield hidden
            self._moves.append(_Move(hidden, target, _number(hidden)))

    def then(self, call: Callable[[], Any]) -> None:
        """Call a function when all outputs are in their places."""
        self._later.append(call)

    def _switch(self) -> None:
        if len(self._moves) == 1:
            hidden, target, _ = self._moves[0]
            if hidden.is_file() or not os.path.lexists(target):  # then it is a single step
                hidden.replace(target)
                return
        with only_one(self._path):
            marker = _hidden(self._path.resolve(), f"commit-{self._token}")
            try:
                marker.write_text(" ".join(move.number for move in self._moves))
                _to_disk(marker)
                for move in self._moves:
                    move.forward()
            except BaseException:
                waiting = self._unfinished.pop_all()  # nothing is removed if an older output cannot go back
                for move in reversed(self._moves):
                    move.back()
                _remove(marker)
                waiting.close()
                raise
            try:
                for move in self._moves:
                    _remove(move.hidden)
            finally:
                _remove(marker)  # last, so that a process that has nothing to write finds the older outputs, too


def _markers(path: Path) -> list[Path]:
    """Return what says that a process was killed while it put `path` and other outputs in their places."""
    target = path.resolve()
    markers = target.parent.glob(f"{TEMPORARY}commit-{_TOKEN}-{glob.escape(_tail(target))}")
    return [marker for marker in markers if _number(marker) and marker.is_file()]


def _finish(marker: Path, targets: list[Path]) -> None:
    """Put the outputs of a killed process in their places, as far as they are among `targets`."""
    token = marker.name.removeprefix(f"{TEMPORARY}commit-")[:16]
    with marker.open("rb") as file:
        new = file.read(LONGEST_MARKER).decode(errors="replace").split()
    for target in targets:
        hidden = _hidden(target, token)
        if _number(hidden) in new:
            _swap(hidden, target)
        if _number(hidden) and _number(target) in new:
            _remove(hidden)
    marker.unlink()


def _number(path: Path) -> str:
    """Return what a file or a folder keeps under any name; nothing for a link, or if it is another user's."""
    with suppress(OSError):
        status = path.lstat()
        plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if plain and (sys.platform == "win32" or status.st_uid == os.geteuid()):
            return f"{status.st_dev:x}-{status.st_ino:x}"
    return ""


def _swap(hidden: Path, target: Path) -> None:
    """Give a new output the name `target`; what was there gets the hidden name."""
    if not os.path.lexists(target):
        hidden.rename(target)
    elif not _exchange(hidden, target):
        aside = _hidden(target, secrets.token_hex(8))
        try:
            target.rename(aside)
            hidden.rename(target)
        finally:
            if os.path.lexists(aside):
                aside.rename(target if os.path.lexists(hidden) else hidden)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False if the system or the file system cannot."""
    import ctypes

    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    sys.audit("os.rename", one, other, -1, -1)  # as Python announces any other rename
    return call is not None and call(0, os.fsencode(one), 0, os.fsencode(other), ctypes.c_uint(2)) == 0


def read_folder(folder: Path, read: Callable[[], Result]) -> Result:
    """Return what `read` makes of a folder; if the folder is replaced meanwhile, it is read again."""
    for _ in range(READS):
        before = _version(folder)
        try:
            result = read()
        except (TextspectraError, OSError):
            if _version(folder) == before:
                raise
        else:
            if _version(folder) == before:
                return result
    raise ExternalError(f"'{folder}' is being replaced all the time; try again later.")


def _version(folder: Path) -> tuple[int, ...]:
    with suppress(OSError):
        status = folder.stat()
        return status.st_dev, status.st_ino, status.st_ctime_ns  # numbers are used again, so they are not enough
    return ()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let only one process at a time change `path`; a second one gets a UserError.

    The lock is a file beside it, which the system releases when the process ends, however it ends.
    """
    target = path.resolve()
    mine = (threading.get_ident(), target)
    if mine in _held:
        yield
        return
    if not target.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}.")
    lock = _hidden(target, "lock")
    with ExitStack() as locked:
        with _user_errors(path):
            descriptor = _open_lock(lock)
            locked.callback(os.close, descriptor)
            # The process that held it may have just removed it.
            if _lock(descriptor) is False or os.fstat(descriptor).st_nlink == 0:
                raise ExternalError(f"'{path}' is being changed by another process; try again when that has ended.")
            locked.callback(_remove, lock)
            _held.add(mine)
            locked.callback(_held.discard, mine)
        yield


def _open_lock(lock: Path) -> int:
    if lock.is_symlink():
        lock.unlink()
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # neither a link nor a pipe can lead astray
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except PermissionError:
        if not lock.exists():
            raise
        return os.open(lock, os.O_RDONLY | flags)  # another user of the same folder left it


def _lock(descriptor: int, *, wait: bool = False) -> bool | None:
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


def discard(folder: Path, output: Path) -> None:
    """Remove a folder on the same disk that was needed for an output; it is gone at once, or whole.

    What a kill leaves of it is removed when the output is written again.
    """
    aside = _hidden(output.resolve(), secrets.token_hex(8))
    with suppress(OSError):
        folder.rename(aside)
    _remove(aside)


def _make_locked(hidden: Path, make: Callable[[Path], None], unfinished: ExitStack) -> None:
    """Make a file or a folder that other processes see to be in use; at the end, what has this name is removed."""
    while True:
        make(hidden)
        unfinished.callback(_remove, hidden)
        if sys.platform == "win32":  # an open file cannot be renamed there, and a folder cannot be opened
            return
        with suppress(FileNotFoundError):  # another process took it for abandoned, because it was not locked yet
            descriptor = os.open(hidden, os.O_RDONLY)
            unfinished.callback(os.close, descriptor)
            _lock(descriptor, wait=True)
            hidden.lstat()
            return


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes left of `target`."""
    for path in target.parent.glob(f"{TEMPORARY}{_TOKEN}-{glob.escape(_tail(target))}"):
        if sys.platform != "win32" and _number(path):
            with suppress(OSError), ExitStack() as opened:  # another process has just removed it
                descriptor = os.open(path, os.O_RDONLY)
                opened.callback(os.close, descriptor)
                if _lock(descriptor):
                    _remove(path)


def _remove(path: Path) -> None:
    """Remove a file or a folder even if Ctrl-C interrupts; nothing else would clean it up."""
    try:
        with suppress(OSError):  # there is nothing to remove where the folder does not exist
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    except KeyboardInterrupt:
        _remove(path)
        raise


def _to_disk(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())


def _hidden(target: Path, mark: str) -> Path:
    return target.with_name(f"{TEMPORARY}{mark}-{_tail(target)}")


def _tail(target: Path) -> str:
    """Return the name of an output, cut at the front if it is long."""
    return os.fsdecode(os.fsencode(target.name)[-LONGEST_NAME:])


def shown_path(path: object) -> str:
    """Return a path as users know it: the output's, if it is the path of a hidden file."""
    return _HIDDEN.sub("", str(path))


@contextmanager
def _user_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the disk may be full"
        raise cannot_write(f"'{shown_path(path)}' cannot be written: {reason}", error) from error
