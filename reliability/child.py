"""Run a command in a child process that can be killed: before a change of a file, at a moment, or only its workers.

The child has an audit hook that counts what changes files: opening one to write, renaming, removing, making.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import time
import traceback
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from targets import changed_paths

import textspectra.cli
import textspectra.report.serving
import textspectra_study.command

MODULES = (
    "cli.main cli.cluster cli.months cli.report cli.system cli.measure texts.pipeline texts.many_files report.build"
)

LONGEST = 180
"""Seconds after which a command hangs."""

ORPHAN_SECONDS = 15
"""How long processes that a command started may outlive it."""

BECOME_REAPER = 36
"""The option of Linux's prctl by which orphans of a process become its own children."""

command_line = textspectra.cli.main
for module in MODULES.split():
    importlib.import_module(f"textspectra.{module}")  # here, so that a child can begin at once


class Kill(NamedTuple):
    """What is killed, and when: before the change of a file with a number, or after some seconds.

    Attributes
    ----------
    which : signal.Signals
    number : int
        0: not before any change.
    after : float
        Seconds since the start, or since the first worker of Dask was there if those are killed; 0: never.
    workers : int
        How many workers of Dask are killed in place of the command itself.
    seconds : float
        For how long workers are killed whenever there are any.
    """

    which: signal.Signals = signal.SIGKILL
    number: int = 0
    after: float = 0.0
    workers: int = 0
    seconds: float = 0.0


class Ended(NamedTuple):
    """How a command ended, what it said, how many changes of files it made, how long it took, and what outlived it."""

    code: int
    said: str
    changes: int
    seconds: float
    orphans: list[str]
    killed: int


def call(folder: Path, arguments: list[str], kill: Kill | None = None) -> Ended:
    """Run a command in a child, and kill it or its workers."""
    kill = kill or Kill()
    count, said = folder.with_name(f"{folder.name}.count"), folder.with_name(f"{folder.name}.said")
    ctypes.CDLL(None).prctl(BECOME_REAPER, 1, 0, 0, 0)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["TEXTSPECTRA_CACHE"] = str(folder / "cache")
        file = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _run(arguments, kill, count)
    killed = _kill(child, kill)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seconds = time.monotonic() - start
    changes = int(count.read_text()) if count.exists() else 0
    ended = Ended(code, said.read_text(errors="replace"), changes, seconds, _orphans(), killed)
    for path in (count, said):
        path.unlink(missing_ok=True)
    return ended


def _run(arguments: list[str], kill: Kill, count: Path) -> None:
    owner, seen, code = os.getpid(), 0, 1

    def watch(event: str, details: tuple[Any, ...]) -> None:
        nonlocal seen
        if os.getpid() == owner and any(not path.startswith("/dev/") for path in changed_paths(event, details)):
            seen += 1
            if seen == kill.number:
                seen += 1  # the kill is an event, too
                os.kill(owner, kill.which)

    main = sys.modules["__main__"]
    main.__spec__ = main.__file__ = None  # processes of the command import the main module, and this is not its own
    is_study = arguments[0] == "study"
    sys.argv = ["textspectra-study", *arguments[1:]] if is_study else ["textspectra", *arguments]
    if arguments[0] == "open":
        from runs import visit

        webbrowser.open = visit  # type: ignore[assignment]
        textspectra.report.serving.GRACE_SECONDS = 0.05
    sys.addaudithook(watch)
    try:
        (textspectra_study.command.main if is_study else command_line)()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        owner = 0  # what the harness writes itself is no change of the command
        count.write_text(str(seen))
        os._exit(code)


def _runs(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _kill(child: int, kill: Kill) -> int:
    """Send the signal when it is time, and wait until the child has ended; return how many processes got it."""
    start, killed = time.monotonic(), 0
    due = start + kill.after if kill.after else float("inf")
    if kill.workers:
        while _runs(child) and not _workers(child):
            time.sleep(0.01)
        due = time.monotonic() + kill.after
    while _runs(child):
        now = time.monotonic()
        if due <= now <= due + kill.seconds or (now >= due and not killed):
            killed += _send(_workers(child)[: kill.workers] if kill.workers else [child], kill.which)
        if now - start > LONGEST:
            os.kill(child, signal.SIGABRT)
        time.sleep(0.01)
    return killed


def _send(processes: list[int], which: signal.Signals) -> int:
    sent = 0
    for process in processes:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(process, which)
            sent += 1
    return sent


def _workers(child: int) -> list[int]:
    """Return the processes of a command in which workers of Dask run."""
    import psutil

    found = []
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(child).children(recursive=True):
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if "spawn_main" in " ".join(process.cmdline()):
                    found.append(process.pid)
    return found


def _orphans() -> list[str]:
    """Wait for the processes that a command left behind; return those that do not end, and kill them."""
    deadline = time.monotonic() + ORPHAN_SECONDS
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:  # there is none
            return []
    left = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((path / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                left.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120])
                os.kill(int(path.name), signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return left
