"""Whole commands in fresh processes, as a user meets them: ours and rivals on the same texts and vectors.

``make bench`` runs it and rewrites ``commands.md``. The data are titles of ``stackexchange121`` and their wordllama
vectors, which ``core.py`` keeps in ``.cache``. Each command may take 10 minutes and 8 GB.
Noise counts as a group in ARI. The CPU time counts all cores; unlike the time, it hardly depends on other work of
the machine.
"""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from core import LABELS, VECTORS, embed_once
from harness import TITLES, Row, child_cpu, main
from sklearn.metrics import adjusted_rand_score

TURFTOPIC = "its versions ask for igraph below 0.12 or huggingface-hub below 1, which are older than the locked ones"

SIZES = (1_000, 10_000, 100_000)
MAX_SECONDS = 600
MAX_BYTES = 8 * 2**30

READ = """import csv, sys, numpy as np
folder = sys.argv[1]
X = np.load(f"{folder}/X.npy")
texts = [row["text"] for row in csv.DictReader(open(f"{folder}/texts.csv", encoding="utf-8", newline=""))]
"""

BERTOPIC = """from bertopic import BERTopic
labels, _ = BERTopic(embedding_model=None).fit_transform(texts, X)
np.save(f"{folder}/labels.npy", labels)
"""

EVOC = """from evoc import EVoC
np.save(f"{folder}/labels.npy", EVoC(random_state=0).fit_predict(X))
"""


def commands(folder: str) -> dict[str, list[str]]:
    ours = [sys.executable, "-m", "textspectra", "cluster", f"{folder}/texts.csv", "--text-column", "text"]
    ours += ["--embeddings", f"{folder}/X.npy", "--out", f"{folder}/out", "--overwrite", "--quiet"]
    return {
        "`textspectra cluster` with its report": ours,
        "`textspectra cluster --no-report`": [*ours, "--no-report"],
        "EVoC, its defaults: labels only": [sys.executable, "-c", READ + EVOC, folder],
        "BERTopic, its defaults: groups with keywords": [sys.executable, "-c", READ + BERTOPIC, folder],
    }


def write_input(n: int, folder: str) -> Any:
    """Write the first n titles of a fixed random order with their vectors, and return their classes."""
    import pyarrow.parquet as pq

    table = pq.read_table(TITLES, columns=["text"])
    order = np.random.default_rng(0).permutation(len(table))[:n]  # as in core.py
    with Path(folder, "texts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in table["text"].take(order).to_pylist())])
    np.save(Path(folder, "X.npy"), np.load(VECTORS, mmap_mode="r")[:n])
    return np.load(LABELS)[:n]


def labels_in(folder: str) -> Any:
    saved = Path(folder, "labels.npy")
    if saved.exists():
        return np.load(saved)
    with Path(folder, "out", "texts.clusters.csv").open(encoding="utf-8", newline="") as file:
        return np.array([int(row["cluster"] or -1) for row in csv.DictReader(file)])


def run(command: list[str]) -> tuple[float, float, str]:
    """Return the time of a command, its CPU time, and what went wrong."""
    start, start_cpu = time.perf_counter(), child_cpu()
    limit = partial(resource.setrlimit, resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, preexec_fn=limit)  # noqa: S603
    except subprocess.TimeoutExpired:
        return MAX_SECONDS, child_cpu() - start_cpu, f"stopped after {MAX_SECONDS // 60} minutes"
    failure = (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else ""
    return time.perf_counter() - start, child_cpu() - start_cpu, f"failed: {failure}" if failure else ""


def bench(n: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        truth = write_input(n, folder)
        rows = []
        for name, command in commands(folder).items():
            if n == SIZES[0] and command[-1] == folder:
                run(command)  # rivals compile once
            Path(folder, "labels.npy").unlink(missing_ok=True)
            taken, cpu, failure = run(command)
            details = f"{cpu:.0f} s of CPU time; {failure or outcome(labels_in(folder), truth)}"
            rows.append((f"{n:,} texts: {name}", "–", f"{taken:.1f} s", details))
            print(rows[-1], file=sys.stderr, flush=True)
    return rows + ([("Turftopic", "–", "not run", TURFTOPIC)] if n == SIZES[-1] else [])


def outcome(labels: Any, truth: Any) -> str:
    clusters = len(set(labels.tolist()) - {-1})
    return f"{clusters} groups, {np.mean(labels == -1):.0%} noise, ARI {adjusted_rand_score(truth, labels):.3f}"


if __name__ == "__main__":
    if len(sys.argv) == 1 and TITLES.exists():
        embed_once()
    main(__file__, "commands.md", "Whole commands", {str(n): partial(bench, n) for n in SIZES})
