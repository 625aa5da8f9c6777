"""Files and folders that appear complete or not at all, one by one or several together.

An output is written beside its place under a hidden name and then renamed. Where one rename is not enough, because a
folder is replaced or several outputs belong together, a journal lists the renames before the first is done. Who
opens the outputs after a kill finishes what it lists, so they are all old or all new.
"""

from __future__ import annotations

import glob
import json
import os
import re
import secrets
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from .errors import OutsideError, UserError, cannot_write

TEMPORARY = ".textspectra-"
"""What the names of unfinished files and folders start with."""

LONGEST_NAME = 200
"""Bytes of its output's name that the name of an unfinished one has; file systems allow 255 in all."""

_HIDDEN = re.compile(re.escape(TEMPORARY) + "[0-9a-f]{16}-")

_held: set[tuple[int, Path]] = set()
"""What :func:`only_one` lets each thread of this process change."""


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, which is renamed to `path` at the end.

    If the body of the ``with`` statement fails, the temporary file is removed, and an older file at `path` stays. What
    killed processes left of the same file is removed, too. Any OSError becomes a UserError. The new file gets the
    permissions of the older one, or those of any new file. A symbolic link stays a link.

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
    with ExitStack() as unfinished, _user_errors(path):
        temporary = unfinished.enter_context(_temporary(path.resolve(), Path.touch))
        with _completing_file(temporary, path.resolve()):
            yield temporary
        temporary.replace(path.resolve())


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `folder`, which is renamed to `folder` at the end.

    If the body of the ``with`` statement fails, the temporary folder is removed, and an older `folder` stays; otherwise
    the older one is removed, with all that it holds. Any OSError becomes a UserError. The files get the permissions of
    any new file.
    """
    with _user_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    outputs = Outputs(folder)
    with outputs, outputs.folder(folder) as temporary:
        yield temporary


@contextmanager
def replacing_together(path: Path) -> Iterator[Outputs]:
    """Yield outputs that take their places together at the end, named after one of them, `path`.

    Only one process at a time can do that. A UserError is raised if there is another one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a, b = Path(folder, "a"), Path(folder, "b")
    ...     with replacing_together(a) as outputs:
    ...         for path in (a, b):
    ...             with outputs.file(path) as temporary:
    ...                 written = temporary.write_text("new")
    ...         too_early = a.exists()
    ...     too_early, a.read_text(), b.read_text()
    (False, 'new', 'new')
    """
    with only_one(path), Outputs(path) as outputs:
        yield outputs


class _Move(NamedTuple):
    """An output, the hidden name under which it waits, and the one that the older output gets meanwhile."""

    temporary: Path
    target: Path
    aside: Path

    def forward(self) -> None:
        """Put the new output in its place; what was done before is not done again."""
        if not os.path.lexists(self.temporary):
            return
        if os.path.lexists(self.target):
            self.target.rename(self.aside)
        self.temporary.rename(self.target)

    def back(self) -> None:
        """Put the older output in its place again."""
        if not os.path.lexists(self.temporary):
            self.target.rename(self.temporary)
        if os.path.lexists(self.aside):
            self.aside.rename(self.target)


class Outputs:
    """Files and folders that wait beside their places until all are complete, see :func:`replacing_together`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._moves: list[_Move] = []
        self._later: list[Callable[[], Any]] = []
        self._unfinished = ExitStack()

    def __enter__(self) -> Outputs:
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
        with _user_errors(path):
            target = path.resolve()
            temporary = self._unfinished.enter_context(_temporary(target, Path.touch))
            with _completing_file(temporary, target):
                yield temporary
        self._moves.append(_Move(temporary, target, _beside(target)))

    @contextmanager
    def folder(self, folder: Path) -> Iterator[Path]:
        """Yield an empty temporary folder, as :func:`replacing_folder` does; it is renamed with all other outputs."""
        with _user_errors(folder):
            target = folder.resolve()
            temporary = self._unfinished.enter_context(_temporary(target, Path.mkdir))
            yield temporary
            mode = temporary.stat().st_mode & 0o666
            for path in temporary.rglob("*"):
                if path.is_file():
                    _to_disk(path)
                    path.chmod(mode)
        self._moves.append(_Move(temporary, target, _beside(target)))

    def then(self, call: Callable[[], Any]) -> None:
        """Call a function when all outputs are in their places."""
        self._later.append(call)

    def _switch(self) -> None:
        is_one_step = len(self._moves) < 2 and not any(os.path.lexists(move.target) for move in self._moves)
        if is_one_step:
            for move in self._moves:
                move.forward()
            return
        with only_one(self._path):
            journal = _journal(self._path.resolve())
            _write_journal(journal, self._moves)
            try:
                for move in self._moves:
                    move.forward()
            except BaseException:
                for move in reversed(self._moves):
                    move.back()
                journal.unlink()
                raise
            _clear(journal, self._moves)


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let only one process at a time change `path`; a second one gets a UserError.

    The lock is a file beside it, which the system releases when the process ends, however it ends. What a killed
    process had begun to put in place is finished first.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with only_one(Path(folder, "a.model")):
    ...         [path.name for path in Path(folder).iterdir()]
    ['.textspectra-a.model.lock']
    """
    target = path.resolve()
    mine = (threading.get_ident(), target)
    if mine in _held:
        yield
        return
    if not target.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}.")
    lock = target.with_name(f"{TEMPORARY}{target.name}.lock")
    with ExitStack() as locked:
        with _user_errors(path):
            file = locked.enter_context(lock.open("a"))
            try:
                _lock(file)
            except BlockingIOError:
                raise OutsideError(
                    f"'{path}' is being changed by another process; try again when that has ended."
                ) from None
            _held.add(mine)
            locked.callback(_release, mine, lock)
            _finish(_journal(target))
        yield


def _release(mine: tuple[int, Path], lock: Path) -> None:
    _held.discard(mine)
    _remove_first(lock)


def settle(path: Path) -> None:
    """Finish what a killed process had begun to put in place together with `path`, if there is such a thing."""
    if _journal(path.resolve()).exists():
        with only_one(path):
            pass


def discard(folder: Path, output: Path) -> None:
    """Remove a folder on the same disk that was needed for an output; it is gone at once, or whole.

    What a kill leaves of it is removed when the output is written again.
    """
    aside = _beside(output.resolve())
    with suppress(OSError):
        folder.rename(aside)
    _remove_first(aside)


def _lock(file: IO[str]) -> None:
    """Lock an open file, or raise a BlockingIOError if another process has."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
    else:
        if _try_lock(file.fileno()) is False:
            raise BlockingIOError
        if not os.path.samestat(os.fstat(file.fileno()), Path(file.name).stat()):
            raise BlockingIOError  # the process that held it has just removed it


def _try_lock(descriptor: int) -> bool | None:
    """Lock a file or a folder, and tell whether that was possible; None: the file system has no locks."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def _temporary(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Make a file or a folder beside `target`, and remove it at the end, unless it has been renamed."""
    _remove_abandoned(target)
    temporary, release = _reserved(target, make)
    try:
        yield temporary
    finally:
        release()
        _remove(temporary)


def _reserved(target: Path, make: Callable[[Path], None]) -> tuple[Path, Callable[[], None]]:
    """Make a file or a folder that is locked, so that other processes see that it is in use; return its release."""
    while True:
        temporary = _beside(target)
        make(temporary)
        if sys.platform == "win32":  # an open file cannot be renamed there, and a folder cannot be opened
            return temporary, lambda: None
        try:
            descriptor = os.open(temporary, os.O_RDONLY)
        except FileNotFoundError:
            continue
        if _try_lock(descriptor) is not False and os.path.lexists(temporary):
            return temporary, partial(os.close, descriptor)
        # Another process took it for abandoned, because it was not locked yet.
        os.close(descriptor)


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes left of `target`; not what a journal may still need."""
    journals = target.parent.glob(f"{TEMPORARY}*.switch")
    if sys.platform == "win32" or not all(_HIDDEN.match(journal.name) for journal in journals):
        return
    for path in target.parent.glob(f"{TEMPORARY}{'[0-9a-f]' * 16}-{glob.escape(_tail(target))}"):
        with suppress(OSError):  # another process has just removed it
            descriptor = os.open(path, os.O_RDONLY)
            try:
                if _try_lock(descriptor):
                    _remove(path)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    with suppress(OSError):  # there is nothing to remove where the folder does not exist
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _remove_first(path: Path) -> None:
    """Remove what nothing would remind of, also if Ctrl-C is pressed meanwhile."""
    try:
        _remove(path)
    except KeyboardInterrupt:
        _remove(path)
        raise


@contextmanager
def _completing_file(temporary: Path, target: Path) -> Iterator[None]:
    """At the end, bring a file to the disk and give it the permissions that `target` has or would have."""
    mode = (target if target.exists() else temporary).stat().st_mode
    yield
    _to_disk(temporary)
    temporary.chmod(mode)


def _to_disk(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())


def _journal(target: Path) -> Path:
    return target.with_name(f"{TEMPORARY}{target.name}.switch")


def _write_journal(journal: Path, moves: list[_Move]) -> None:
    """List the moves: the folder of each as seen from the journal, the output's name, and the hidden names."""
    entries = [
        {
            "folder": _as_seen_from(journal.parent, move.target.parent), "output": move.target.name,
            "new": move.temporary.name, "old": move.aside.name,
        }
        for move in moves
    ]  # fmt: skip
    with replacing_file(journal) as temporary:
        temporary.write_text(json.dumps(entries), encoding="utf-8")


def _as_seen_from(start: Path, folder: Path) -> str:
    try:
        return os.path.relpath(folder, start)
    except ValueError:  # another drive of Windows
        return str(folder)


def _read_journal(journal: Path) -> list[_Move]:
    """Return the moves of a journal; it can name nothing but an output and the hidden files that belong to it."""
    moves = []
    try:
        for entry in json.loads(journal.read_text(encoding="utf-8")):
            folder, output = journal.parent / entry["folder"], entry["output"]
            target = folder / output
            hidden = [entry["new"], entry["old"]]
            if target.name != output or any(_HIDDEN.sub("", name, 1) != _tail(target) for name in hidden):
                raise ValueError("the names do not belong together")
            moves.append(_Move(*(folder / name for name in (hidden[0], output, hidden[1]))))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"'{journal}' is not what textspectra wrote; remove it.") from None
    return moves


def _finish(journal: Path) -> None:
    """Do what a journal lists, if there is one."""
    if journal.exists():
        moves = _read_journal(journal)
        for move in moves:
            move.forward()
        _clear(journal, moves)


def _clear(journal: Path, moves: list[_Move]) -> None:
    """Remove the older outputs; the journal, which knows of them, goes last."""
    for move in moves:
        _remove(move.aside)
    journal.unlink()


def _beside(target: Path) -> Path:
    return target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}-{_tail(target)}")


def _tail(target: Path) -> str:
    """Return the name of an output, cut at the front where it is long; of a hidden file, that of its output.

    Examples
    --------
    >>> _tail(Path("out/.textspectra-0123456789abcdef-a.csv")), len(_tail(Path("a" * 250)))
    ('a.csv', 200)
    """
    return os.fsdecode(os.fsencode(_HIDDEN.sub("", target.name, 1))[-LONGEST_NAME:])


def shown_path(path: object) -> str:
    """Return a path as users know it: that of the output where it is that of a hidden file.

    Examples
    --------
    >>> shown_path("out/.textspectra-0123456789abcdef-a.csv")
    'out/a.csv'
    """
    return _HIDDEN.sub("", str(path))


@contextmanager
def _user_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the disk may be full"
        raise cannot_write(f"'{shown_path(path)}' cannot be written: {reason}", error) from error
