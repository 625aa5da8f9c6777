"""One cell in a process of its own, with limits on time and memory; a crash ends only that cell."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .results import OK
from .tasks import TASKS
from .variants import with_direction

MEGABYTE = 2**20

GRACE_SECONDS = 5
"""How long a process may take to exit after it has sent its outcome."""

STOPPING = (signal.SIGINT, signal.SIGTERM)
"""The signals by which users and systems stop a study."""


class Work(NamedTuple):
    """The input of one cell.

    Attributes
    ----------
    task : str
    vectors : Path
        A file of vectors.
    positions : ndarray of int
        Its rows that belong to the variant.
    truth : ndarray of int
        The classes of these rows.
    seed : int
    """

    task: str
    vectors: Path
    positions: NDArray[np.intp]
    truth: NDArray[np.intp]
    seed: int


class Limits(NamedTuple):
    """The most that one cell may use: seconds, and gigabytes of memory."""

    seconds: float
    gigabytes: float


class CellProcess:
    """A cell that is being computed.

    Parameters
    ----------
    work : Work
    limits : Limits
    """

    def __init__(self, work: Work, limits: Limits) -> None:
        context = _context()
        self.connection, child_end = context.Pipe()
        self._limits = limits
        self._process = context.Process(target=_serve, args=(child_end, work, limits), daemon=True)
        with _signals_delayed():
            self._process.start()
        child_end.close()
        self.deadline = time.monotonic() + limits.seconds

    def outcome(self) -> Mapping[str, Any]:
        """Return the outcome; call it when the connection is ready to be read."""
        try:
            received: Mapping[str, Any] = self.connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            received = failure(self._how_it_ended(self._process.exitcode or 0))
        self._process.join(GRACE_SECONDS)
        self.stop()
        return received

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _how_it_ended(self, code: int) -> str:
        if code == -9:
            return f"killed, probably for lack of memory (limit {self._limits.gigabytes:g} GB)"
        return f"crashed (signal {-code})" if code < 0 else f"crashed (exit code {code})"


def failure(status: str) -> dict[str, Any]:
    """Return the outcome of a cell that has no values.

    Examples
    --------
    >>> failure("not run: n > 5,000")
    {'status': 'not run: n > 5,000', 'values': {}, 'seconds': 0.0, 'peak_mb': 0.0}
    """
    return {"status": status, "values": {}, "seconds": 0.0, "peak_mb": 0.0}


def _context() -> Any:
    """Return how processes start: forked from a server that has imported everything, if the system has that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


@contextmanager
def _signals_delayed() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM here, and let processes that start here ignore them: the study stops its cells itself.

    A signal mask is inherited by new processes, but other threads of this process still receive the signals and pass
    them on to the main thread. So a handler is needed too.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # its first start would unblock the signals
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, frame: received.append(number)) for number in STOPPING}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def _serve(connection: Connection, work: Work, limits: Limits) -> None:
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # read by packages that are imported later
        os.environ[variable] = "1"
    _limit_memory(limits.gigabytes)
    try:
        outcome = _compute(work)
    except MemoryError:
        outcome = failure(f"out of memory (limit {limits.gigabytes:g} GB)")
    except Exception as error:  # any error is the outcome of this cell
        message = " ".join(str(error).split())
        kind = "out of memory" if "memory" in message.lower() else "failed"
        outcome = failure(f"{kind}: {type(error).__name__}: {message}"[:300])
    connection.send(outcome)


def _end_with_parent(connection: Connection) -> None:
    """Exit when the other end of the connection closes, as it does when the study is killed."""
    try:
        connection.poll(None)
    finally:
        os._exit(1)


def _compute(work: Work) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    X, truth = with_direction(np.load(work.vectors, mmap_mode="r")[work.positions], work.truth)
    task = TASKS[work.task]
    with threadpool_limits(1):
        start = time.process_time()  # does not depend on how busy the machine is
        outcome = task.compute(X, truth, work.seed)
        seconds = time.process_time() - start
        peak = _peak_memory()
        values = outcome if task.score is None else task.score(outcome, X, truth, work.seed)
    return {"status": OK, "values": values, "seconds": round(seconds, 3), "peak_mb": round(peak, 1)}


def _limit_memory(gigabytes: float) -> None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    # Threads and memory maps reserve much more address space than they use, so limit the data where possible.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    limit = int(gigabytes * 2**30)
    _, highest = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit if highest == resource.RLIM_INFINITY else min(limit, highest), highest))


def _peak_memory() -> float:
    try:
        import resource
    except ModuleNotFoundError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024
