"""Faults from below: a full disk, a read-only one, little memory, a clock that jumps, two processes in one folder.

`python reliability/faults.py` runs a command under each of them. It must end with one line or a result, leave the old
outputs as they were or put new ones in their place, and leave nothing else. It also measures how the memory and the
work of `cluster` grow with the number of texts. The table goes to `reliability/results/faults.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from runs import COMMANDS, OUTPUTS, digest, prepare

HERE = Path(__file__).parent
OLD, FINE = "old outputs", "new outputs"


def command(
    folder: Path, arguments: list[str], before: str = "", **options: object
) -> subprocess.CompletedProcess[bytes]:
    code = f"{before}\nfrom textspectra.cli import main\nmain()"
    env = {**os.environ, "TEXTSPECTRA_CACHE": str(folder / "cache")}
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments], cwd=folder, env=env, capture_output=True, check=False, **options
    )


def limit(name: str, value: int) -> Callable[[], None]:
    def apply() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(getattr(resource, name), (value, value))

    return apply


def judged(folder: Path, done: subprocess.CompletedProcess[bytes], old: dict[str, str]) -> str:
    """Say what became of the outputs, or what is wrong."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if any("Traceback" in line for line in lines):
        return f"WRONG: a traceback, {lines[-1]}"
    if any(".textspectra-" in line for line in lines):
        return f"WRONG: the name of a hidden file, {lines[-1]}"
    left = [path.name for path in folder.rglob(".textspectra-*")]
    if done.returncode < 0:  # compiled code gave up, such as a package in Rust without memory
        kept = digest(folder, OUTPUTS["cluster"]) == old
        return f"ended by compiled code (signal {-done.returncode}), {OLD}" if kept else "WRONG: outputs were changed"
    if left:
        return f"WRONG: left behind {left}"
    new = digest(folder, OUTPUTS["cluster"])
    if done.returncode == 0:
        return FINE
    return OLD if new == old else "WRONG: outputs were changed"


def full_disk(folder: Path) -> subprocess.CompletedProcess[bytes]:
    return command(folder, COMMANDS["cluster"], preexec_fn=limit("RLIMIT_FSIZE", 4000))


def full_disk_at_the_model(folder: Path) -> subprocess.CompletedProcess[bytes]:
    largest = max(path.stat().st_size for path in (folder / "a.model").iterdir())
    return command(folder, [*COMMANDS["cluster"], "--no-report"], preexec_fn=limit("RLIMIT_FSIZE", largest // 2))


def few_open_files(folder: Path) -> subprocess.CompletedProcess[bytes]:
    return command(folder, COMMANDS["cluster"], preexec_fn=limit("RLIMIT_NOFILE", 40))


def little_memory(folder: Path, megabytes: int) -> subprocess.CompletedProcess[bytes]:
    (folder / "a.csv").write_text("text\n" + "".join(f"message {i} of many\n" for i in range(400_000)))
    used = "import textspectra.texts.pipeline, textspectra.cli.cluster, textspectra.report, wordllama\n"
    used += "import os, resource\n"
    used += "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
    used += f"resource.setrlimit(resource.RLIMIT_AS, (size + {megabytes} * 2**20,) * 2)"
    return command(folder, ["cluster", "a.csv", "--model", "wordllama", "--no-cache", "--overwrite", "-q"], used)


def no_permission(folder: Path) -> subprocess.CompletedProcess[bytes]:
    """As root, who may write everywhere, /proc stands for a folder without permission."""
    return command(folder, [*COMMANDS["cluster"], "--out", "/proc/no"])


def clock_jumps(folder: Path) -> subprocess.CompletedProcess[bytes]:
    jump = "import itertools, time\nbits = itertools.count()\nreal = time.time\n"
    jump += "time.time = lambda: real() + (-10**9 if next(bits) % 2 else 10**9)"
    return command(folder, COMMANDS["cluster"], jump)


def slow_disk(folder: Path) -> subprocess.CompletedProcess[bytes]:
    slow = "import os, time\nreal = os.fsync\n"
    slow += "def late(file):\n    time.sleep(0.2)\n    real(file)\nos.fsync = late"
    return command(folder, COMMANDS["cluster"], slow)


def two_processes(folder: Path) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "TEXTSPECTRA_CACHE": str(folder / "cache")}
    words = [sys.executable, "-m", "textspectra", *COMMANDS["cluster"]]
    both = [subprocess.Popen(words, cwd=folder, env=env, stderr=subprocess.PIPE) for _ in range(2)]  # noqa: S603
    ended = [(process.communicate()[1], process.returncode) for process in both]
    errors = b"".join(said for said, code in ended if code)
    if errors and b"is being changed by another process" not in errors:
        return subprocess.CompletedProcess(words, 1, b"", b"Traceback: " + errors)
    return subprocess.CompletedProcess(words, min(code for _, code in ended), b"", b"")


FAULTS = {
    "a full disk": full_disk, "a disk that is full when the model is written": full_disk_at_the_model,
    "no permission to write": no_permission, "40 open files at most": few_open_files,
    **{f"{one} MB of memory for 400,000 texts": partial(little_memory, megabytes=one) for one in (150, 300, 350, 450)},
    "a clock that jumps": clock_jumps, "a slow disk": slow_disk,
    "two processes in one folder": two_processes,
}  # fmt: skip


def measured(rows: int, distinct: int) -> dict[str, float]:
    """Return what `cluster` takes on a table with so many rows and distinct texts: the peak in MB, and CPU seconds."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-memory-"))
    with (folder / "a.csv").open("w") as file:
        file.write("text\n")
        numbers = (row % distinct for row in range(rows))
        file.writelines(f"message {i} about topic {i % 97} and matter {i % 1009}\n" for i in numbers)
    done = command(
        folder, ["cluster", "a.csv", "--model", "wordllama", "--no-cache", "--no-report", "-q"],
        "import atexit, resource, time\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "atexit.register(lambda: print(peak(), time.process_time()))",
    )  # fmt: skip
    shutil.rmtree(folder)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    kilobytes, seconds = done.stdout.split()[-2:]
    return {"rows": rows, "distinct": distinct, "MB": int(kilobytes) // 1024, "seconds": round(float(seconds), 1)}


def tried(name: str, base: Path) -> dict[str, str]:
    """Return what became of the outputs under a fault, and the last line."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-fault-")) / "work"
    shutil.copytree(base, folder)
    old = digest(folder, OUTPUTS["cluster"])
    done = FAULTS[name](folder)
    said = done.stderr.decode(errors="replace").strip().replace(str(folder), "FOLDER").splitlines()
    outcome = judged(folder, done, old)
    shutil.rmtree(folder.parent)
    return {"outcome": outcome, "said": said[-1] if said else ""}


def main() -> None:
    """Run the faults, measure runs with many texts and with few distinct ones, and write the table; all by default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", nargs="*", default=list(FAULTS), choices=list(FAULTS))
    parser.add_argument("--texts", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeated", nargs="*", type=int, default=[2_000, 200_000], help="rows with the same text")
    chosen = parser.parse_args()
    path = HERE / "results" / "faults.json"
    path.parent.mkdir(exist_ok=True)
    table = json.loads(path.read_text()) if path.exists() else {}
    base = prepare("cluster")
    runs: list[tuple[str, str, Callable[[], dict[str, Any]]]] = [
        *(("faults", name, partial(tried, name, base)) for name in chosen.faults),
        *(("texts", f"{n:,}", partial(measured, n, n)) for n in chosen.texts),
        *(("repeated", f"{n:,}", partial(measured, n, 1)) for n in chosen.repeated),
    ]
    for part, name, run in runs:
        table.setdefault(part, {})[name] = found = run()
        print(f"{part}, {name}: {found}", flush=True)
        path.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(base)
    sys.exit(any("WRONG" in one["outcome"] for one in table.get("faults", {}).values()))


if __name__ == "__main__":
    main()
