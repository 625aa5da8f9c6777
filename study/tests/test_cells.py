"""One cell in a process of its own: outcome, limits, crashes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from textspectra_study.cells import STOPPING, CellProcess, Limits, Work, _signals_delayed
from textspectra_study.results import OK

GENEROUS = Limits(seconds=600, gigabytes=8)


@pytest.fixture
def work(tmp_path):
    """Build the work for one cell: a task on some rows around three directions."""

    def build(task, n=60, d=8, truth=None):
        rng = np.random.default_rng(0)
        classes = np.arange(n) % 3
        np.save(tmp_path / "v.npy", (np.eye(3, d)[classes] + 0.1 * rng.standard_normal((n, d))).astype(np.float32))
        return Work(task, tmp_path / "v.npy", np.arange(n), classes if truth is None else truth, 0)

    return build


def outcome_of(work, limits=GENEROUS):
    process = CellProcess(work, limits)
    process.connection.poll(None)
    return process.outcome()


def test_a_cell_has_scores_time_and_memory(work):
    start = time.monotonic()
    outcome = outcome_of(work("kmeans_true"))
    elapsed = time.monotonic() - start
    assert outcome["status"] == OK
    assert outcome["values"]["k"] == 3
    assert outcome["values"]["ari"] == 1.0
    assert 0 < outcome["seconds"] < elapsed
    assert 20 < outcome["peak_mb"] < 8 * 1024
    json.dumps(outcome, allow_nan=False)


def test_an_error_in_a_cell_is_its_outcome(work):
    outcome = outcome_of(work("kmeans_true", truth=np.arange(59)))
    assert outcome["status"].startswith("failed: IndexError: boolean index did not match indexed array")
    assert outcome["values"] == {}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit address space, or nothing")
def test_a_cell_may_not_take_more_memory_than_allowed(work):
    outcome = outcome_of(work("affinity_propagation", n=5000), Limits(600, 0.3))
    assert outcome["status"].startswith("out of memory")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_is_reported_with_its_signal(work):
    process = CellProcess(work("optics", n=4000), GENEROUS)
    os.kill(process._process.pid, signal.SIGSEGV)
    process.connection.poll(None)
    assert process.outcome()["status"] == "crashed (signal 11)"


def test_rows_without_a_direction_are_left_out(work):
    some = work("kmeans_true")
    vectors = np.load(some.vectors)
    vectors[7] = 0
    np.save(some.vectors, vectors)
    outcome = outcome_of(some)
    assert outcome["status"] == OK
    assert outcome["values"]["ari"] == 1.0


ENDLESS_CELL = """
import sys
import numpy as np
from textspectra_study.cells import CellProcess, Limits, Work
n = 30_000
np.save(sys.argv[1], np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32))
cell = CellProcess(Work("optics", sys.argv[1], np.arange(n), np.zeros(n, int), 0), Limits(3600, 8))
print("begun", flush=True)
cell.connection.poll(None)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_cell_ends_with_a_study_that_is_killed(tmp_path):
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", ENDLESS_CELL, str(tmp_path / "v.npy")], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begun\n"
    process.kill()
    assert process.communicate(timeout=60) == (b"", None)  # the output ends when no process holds it


@pytest.fixture
def other_thread():
    """Have a second thread, which receives the signals that the main thread blocks, and Python's handler of Ctrl-C."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    end.set()
    thread.join()


@pytest.fixture
def received():
    """Have a socket from which a byte can be read as soon as this process has received a signal."""
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)
    before = signal.set_wakeup_fd(pythons.fileno())
    yield ours
    signal.set_wakeup_fd(before)
    ours.close()
    pythons.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("stop", STOPPING)
def test_a_signal_does_not_interrupt_the_start_of_a_process(other_thread, received, stop):
    steps = []

    def start():
        with _signals_delayed():
            os.kill(os.getpid(), stop)
            steps.append(received.recv(1))
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps[-1] == "started"
