"""Look for inputs that break the program: `python reliability/fuzz.py --cases 10000 --kinds parquet npy`.

Each kind runs in a process of its own, with 10 seconds of a processor and 1 GB of memory for each case. A finding is
made smaller and written to `reliability/cases`, where the tests run it from then on. The table goes to
`reliability/results/fuzz.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from inputs import KINDS, case
from targets import try_case

HERE = Path(__file__).parent
SECONDS, MEGABYTES = 10, 1024
WALL_SECONDS = 60  # for a case that waits; a busy machine must not look like a hang
START_SECONDS = 300  # imports, on a busy machine
LIMITS = (
    (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
    (signal.SIGALRM, signal.ITIMER_REAL, WALL_SECONDS),
)

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - each case gets a folder of its own there
"""Where the files of a case lie, if the system has it: a case need not wait for the disk."""


class Hang(BaseException):
    """A case took too long."""


def _interrupt(which: int, _: Any) -> None:
    raise Hang(f"{SECONDS} s of a processor" if which == signal.SIGPROF else f"{WALL_SECONDS} s of the clock")


def guarded(kind: str, name: str, content: bytes) -> str:
    """Try a case within the limits of time and memory."""
    for which, timer, seconds in LIMITS:
        signal.signal(which, _interrupt)
        signal.setitimer(timer, seconds)
    try:
        found = try_case(kind, name, content)
    except Hang as hang:
        found = f"hang: more than {hang}"
    finally:
        for _, timer, _ in LIMITS:
            signal.setitimer(timer, 0)
    return found


def _peak() -> float:
    """Return the most memory that this process has used, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(kind: str, first: int, last: int, tell: Connection) -> None:
    """Try cases, and tell the number of each before it begins, and the finding after it."""
    tempfile.tempdir = str(MEMORY_DISK) if MEMORY_DISK.is_dir() else None
    try_case(kind, *case(kind, 0))  # what is loaded once does not count as the memory of a case
    reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # Allocators reserve more than they use, so this only stops what would fill the machine.
    resource.setrlimit(resource.RLIMIT_AS, (reserved + 6 * MEGABYTES * 2**20, resource.RLIM_INFINITY))
    before = _peak()
    tell.send((first, None, 0.0))
    for number in range(first, last):
        tell.send((number, None, 0.0))
        start = time.process_time()
        found = guarded(kind, *case(kind, number))
        if not found and _peak() - before > MEGABYTES:
            found, before = f"memory: {_peak() - before:.0f} MB", _peak()
        tell.send((number, found, time.process_time() - start))
    tell.send((last, "", 0.0))


def run(kind: str, first: int, last: int, until: float) -> dict[str, Any]:
    """Try the cases of a kind; a process that dies or does not answer is a finding, too."""
    context = multiprocessing.get_context("fork")
    findings: dict[int, str] = {}
    number, done, longest = first, 0, 0.0
    while number < last and time.monotonic() < until:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(kind, number, last, theirs))
        process.start()
        theirs.close()
        ours.poll(START_SECONDS)
        try:
            while number < last and time.monotonic() < until:
                if not ours.poll(2 * WALL_SECONDS):
                    raise EOFError
                number, found, seconds = ours.recv()
                if found is not None and number < last:
                    done, longest = done + 1, max(longest, seconds)
                    if found:
                        findings[number] = found
                    number += 1
        except EOFError:
            process.join(1)
            findings[number] = f"died: {process.exitcode}" if process.exitcode else "hang: in compiled code"
            number, done = number + 1, done + 1
        process.kill()
        process.join()
    return {"cases": done, "findings": findings, "longest": longest}


def smaller(kind: str, name: str, content: bytes, found: str) -> bytes:
    """Remove parts of a case as long as the same exception comes out."""
    kept, size, tries = content, max(1, len(content) // 2), 0
    while size and tries < 400:
        place, shrunk = 0, False
        while place < len(kept) and tries < 400:
            candidate = kept[:place] + kept[place + size :]
            tries += 1
            if guarded(kind, name, candidate).partition(":")[0] == found.partition(":")[0]:
                kept, shrunk = candidate, True
            else:
                place += size
        size = size if shrunk and size > 1 else size // 2
    return kept


def keep(kind: str, number: int, found: str) -> str:
    """Write a finding where the tests will run it; return its name."""
    name, content = case(kind, number)
    if not found.startswith(("died", "hang", "memory")):  # none of which `guarded` sees again at once
        content = smaller(kind, name, content, found)
    label = f"{kind}-{hashlib.sha256(content).hexdigest()[:8]}"
    (HERE / "cases" / label).write_bytes(name.encode() + b"\n" + content)
    return label


def main() -> None:
    """Fuzz all kinds, print a line for each, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000, help="cases of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first case; not 0: add to the table")
    parser.add_argument("--minutes", type=float, default=600.0, help="time for each kind")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    chosen = parser.parse_args()
    path = HERE / "results" / "fuzz.json"
    path.parent.mkdir(exist_ok=True)
    failed = False
    for kind in chosen.kinds:
        until = time.monotonic() + 60 * chosen.minutes
        result = run(kind, chosen.first, chosen.first + chosen.cases, until)
        different = {found.partition(":")[0] + found[-60:]: number for number, found in result["findings"].items()}
        kept = {keep(kind, number, result["findings"][number]): number for number in list(different.values())[:5]}
        table = json.loads(path.read_text()) if path.exists() else {}
        before = table.get(kind, {}) if chosen.first else {}
        table[kind] = {
            **before,
            "cases": result["cases"] + before.get("cases", 0),
            "findings": len(result["findings"]) + before.get("findings", 0),
            "processor": round(max(result["longest"], before.get("processor", 0)), 2),
        }
        findings = len(result["findings"])
        print(
            f"{kind:10} {result['cases']:7,} cases, {findings} findings, longest {result['longest']:.1f} s", flush=True
        )
        for label, number in kept.items():
            print(f"    case {number}, kept as {label}: {result['findings'][number]}")
        failed |= bool(result["findings"])
        path.write_text(json.dumps(table, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
