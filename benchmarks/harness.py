"""What the benchmarks share: timing, the table, one process a measurement."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("TEXTSPECTRA_DATA", ROOT.parent / "shared" / "data"))
TITLES = DATA / "stackexchange121.parquet"
Row = tuple[str, str, str, str]
"""The measurement, its target, the result, and details."""


def seconds(call: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the median time and the last result."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


@lru_cache(maxsize=1)
def mapped(path: str) -> Any:
    """Open a file of vectors; the last one stays open, and its pages count as memory of the process."""
    return np.load(path, mmap_mode="r")


def rows_of(path: str, start: int, stop: int) -> Any:
    """Return some rows of a file; here, because workers can import this module."""
    return mapped(path)[start:stop]


def child_cpu() -> float:
    """Return the CPU time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_cpu(*command: str, repeat: int = 5) -> float:
    """Return the lowest CPU time of a command; unlike the time, it hardly depends on other work of the machine."""
    times = []
    for _ in range(repeat):
        start = child_cpu()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        times.append(child_cpu() - start)
    return min(times)


def process_seconds(*command: str, repeat: int = 9) -> float:
    """Return the median time of a command."""
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True), repeat)[0]  # noqa: S603


def met(bar: str, value: str) -> str:
    """Say whether a result such as "2.1×" meets a target such as "≤ 4×"; a dash stands for no target."""
    if bar == "–":
        return ""
    limit, reached = (float(text.strip("≤≥ ×%MGB").replace(",", "")) for text in (bar, value))
    return "yes" if (reached <= limit if bar.startswith("≤") else reached >= limit) else "**no**"


def main(script: str, target: str, title: str, parts: Mapping[str, Callable[[], list[Row]]]) -> None:
    """Run every part in a process of its own and write the table; with an argument, run that part here."""
    if len(sys.argv) == 2:
        print(json.dumps(parts[sys.argv[1]]()))
        return
    if not TITLES.exists():
        sys.exit(f"This benchmark needs {TITLES.name}; point TEXTSPECTRA_DATA to its folder.")
    lines = ["| measurement | target | result | met | details |", "|---|---|---|---|---|"]
    for name in parts:
        print(name, flush=True)
        process = subprocess.run([sys.executable, script, name], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for what, bar, value, details in json.loads(process.stdout.splitlines()[-1]):
            lines.append(f"| {what} | {bar} | {value} | {met(bar, value)} | {details} |")
            print(lines[-1], flush=True)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    note = "Every ratio comes from one run on one machine; tools that compile code are warmed up first."
    text = f"# {title}\n\nWritten by `benchmarks/{Path(script).name}` ({machine}). {note}\n\n" + "\n".join(lines) + "\n"
    (ROOT / "benchmarks" / target).write_text(text)
