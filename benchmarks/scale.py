"""The same calls on Dask against those on one array: a LocalCluster of two single-threaded workers.

``make bench-scale`` runs it and rewrites ``scale.md``, and ``scale.json``, to which ``docs/guides/dask.md`` is
fitted. Each part has a process of its own. The data are the 988,908 titles of ``core.py``, embedded once, and tiles of
them with noise in float16 for more rows.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from core import VECTORS, embed_once, load
from harness import ROOT, TITLES, Row, main, rows_of, seconds

CHUNKS = 64
CLUSTERS = 30
REPEATS = 5
"""Of which the median counts, after one to warm up."""

TILED = ROOT / ".cache" / "tiled"
SIZES = [100_000, 300_000, 1_000_000, 4_000_000]
HELD_BACK = 2_000_000
"""Not fitted to: what the cost model says of it is compared with what it takes."""

ROWS_A_FILE = 50_000
MEASURED = ROOT / "benchmarks" / "scale.json"


@contextmanager
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        client.wait_for_workers(2)
        yield client


def lazy(parts: list[tuple[str, int, int]], dtype: Any, width: int) -> Any:
    """Return a Dask array whose chunks are read from memory maps by the workers."""
    import dask.array as da
    from dask import delayed

    return da.concatenate(
        [da.from_delayed(delayed(rows_of)(*part), (part[2] - part[1], width), dtype=dtype) for part in parts]
    )


def titles_on_dask() -> Any:
    n, width = np.load(VECTORS, mmap_mode="r").shape
    edges = np.linspace(0, n, CHUNKS + 1).astype(int).tolist()
    return lazy([(str(VECTORS), a, b) for a, b in itertools.pairwise(edges)], np.float32, width)


def peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def compared(here: Callable[[], Any], there: Callable[[], Any]) -> tuple[float, float, Any, Any]:
    """Return the median time of each call and its result; they take turns, since the speed of a machine may drift."""
    here(), there()
    turns = [(seconds(here), seconds(there)) for _ in range(REPEATS)]
    one, other = zip(*turns, strict=True)
    return *(float(np.median([time for time, _ in times])) for times in (one, other)), one[-1][1], other[-1][1]


def bench_kmeans() -> list[Row]:
    import textspectra as ts

    X = load()
    with cluster():
        array = titles_on_dask()
        local, remote, here, there = compared(
            lambda: ts.AutoKMeans(CLUSTERS, random_state=0).fit(X),
            lambda: ts.AutoKMeans(CLUSTERS, random_state=0).fit(array),
        )
    gap = abs(there.inertia_ / here.inertia_ - 1)
    return [
        (f"`AutoKMeans({CLUSTERS})` on Dask, 988,908 × 256 in {CHUNKS} chunks, against the local one: time", "≤ 2×",
         f"{remote / local:.2f}×", f"{remote:.1f} s against {local:.1f} s"),
        ("the same: distance of the inertia", "≤ 1%", f"{gap:.4%}", ""),
    ]  # fmt: skip


def bench_estimate() -> list[Row]:
    import textspectra as ts

    X = load()
    rows = []
    with cluster():
        array = titles_on_dask()
        for method in ("auto", "spectral"):
            local, remote, here, there = compared(
                lambda method=method: ts.estimate_k(X, method=method, random_state=0),
                lambda method=method: ts.estimate_k(array, method=method, random_state=0),
            )
            rows.append(
                (f"`estimate_k(method={method!r})` on Dask against local: time", "≤ 1.5×", f"{remote / local:.2f}×",
                 f"{remote:.1f} s against {local:.1f} s; k = {there.k} and {here.k}")
            )  # fmt: skip
    return rows


def bench_cohesion() -> list[Row]:
    import textspectra as ts

    with cluster():
        array = titles_on_dask().persist()
        labels = ts.AutoKMeans(CLUSTERS, random_state=0).fit(array).labels_
        total, ours, *_ = compared(
            lambda: array.sum().compute(), lambda: ts.cohesion_ratio(array, labels, rectify=False)
        )
    return [
        ("`cohesion_ratio(rectify=False)` on Dask against `X.sum().compute()` on the same array: time", "≤ 3×",
         f"{ours / total:.2f}×", f"{ours:.2f} s against {total:.2f} s"),
    ]  # fmt: skip


def tile(n: int) -> list[tuple[str, int, int]]:
    """Write `n` rows as files of float16 once: the titles again and again, with noise."""
    TILED.mkdir(parents=True, exist_ok=True)
    X = np.load(VECTORS, mmap_mode="r")
    files = []
    for number, start in enumerate(range(0, n, ROWS_A_FILE)):
        path = TILED / f"{number:05d}.npy"
        if not path.exists():
            rng = np.random.default_rng(number)
            rows = X[np.arange(start, start + ROWS_A_FILE) % len(X)]
            noisy = rows + 0.05 * rows.std() * rng.standard_normal(rows.shape, np.float32)
            partial = path.with_suffix(".partial.npy")
            np.save(partial, noisy.astype(np.float16))
            partial.rename(path)
        files.append((str(path), 0, min(ROWS_A_FILE, n - start)))
    return files


def fit_tiled(n: int) -> dict[str, float]:
    import textspectra as ts

    with cluster() as client:
        array = lazy(tile(n), np.float16, 256)
        ts.AutoKMeans(3, random_state=0).fit(array[:5000])
        elapsed, _ = seconds(lambda: ts.AutoKMeans(CLUSTERS, random_state=0).fit(array))
        workers = list(client.run(peak_megabytes).values())
    return {"rows": n, "seconds": elapsed, "client": peak_megabytes(), "worker": max(workers)}


def bench_linear() -> list[Row]:
    tile(max(SIZES))  # here, because writing the files would count as memory of the client
    measured = [in_a_process(n) for n in sorted([*SIZES, HELD_BACK])]
    MEASURED.write_text(json.dumps({"clusters": CLUSTERS, "columns": 256, "measured": measured}, indent=1) + "\n")
    bottom, top = measured[0], measured[-1]
    per_row = [one["seconds"] / one["rows"] * 1e6 for one in (bottom, top)]
    return [
        ("`AutoKMeans` on float16 files, time a row at 4,000,000 rows against 100,000", "≤ 1.3×",
         f"{per_row[1] / per_row[0]:.2f}×", f"{per_row[1]:.2f} µs against {per_row[0]:.2f} µs"),
        ("the same at 4,000,000 × 256: peak memory of the client", "≤ 1024 MB", f"{top['client']:.0f} MB", ""),
        ("the same: peak memory of a worker", "≤ 2048 MB", f"{top['worker']:.0f} MB", ""),
    ]  # fmt: skip


def in_a_process(n: int) -> dict[str, float]:
    """Measure in a new process, whose peak of memory is its own."""
    import subprocess

    done = subprocess.run([sys.executable, __file__, "rows", str(n)], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


PARTS: dict[str, Callable[[], list[Row]]] = {
    name.removeprefix("bench_"): part for name, part in list(globals().items()) if name.startswith("bench_")
}

if __name__ == "__main__":
    if len(sys.argv) == 1 and TITLES.exists():
        embed_once()
    if len(sys.argv) == 3:
        print(json.dumps(fit_tiled(int(sys.argv[2]))))
    else:
        main(__file__, "scale.md", "Dask", PARTS)
