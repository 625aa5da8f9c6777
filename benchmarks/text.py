"""Texts in, groups out: time, memory and overhead of the command line and the embedding layer.

``make bench`` runs it and rewrites ``text.md``. The data are the 988,908 titles of ``stackexchange121``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import ROOT, TITLES, Row, main, process_cpu, process_seconds, seconds

EXAMPLE = ROOT / "src" / "textspectra" / "data" / "customer_messages.csv"
COMMAND = [sys.executable, "-m", "textspectra"]


def bench_cluster() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TEXTSPECTRA_CACHE": str(Path(folder, "cache"))}

        def run(out: str) -> dict[str, Any]:
            command = [
                *COMMAND,
                "cluster",
                str(TITLES),
                "--text-column",
                "text",
                "--json",
                "--no-report",
                "--out",
                str(Path(folder, out)),
            ]
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603
            summary: dict[str, Any] = json.loads(done.stdout)
            return summary

        first = run("first")
        gigabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        second = run("second")
    taken = first["seconds"]
    share = taken["embedding"] / sum(taken.values())
    stages = ", ".join(f"{stage} {value:.1f} s" for stage, value in taken.items())
    faster = taken["embedding"] / second["seconds"]["embedding"]
    return [
        (f"`textspectra cluster` on {first['texts']:,} titles: peak memory", "≤ 8 GB", f"{gigabytes:.1f} GB",
         f"k = {first['k']}, Cohesion Ratio {first['cohesion_ratio']:.2f}; {stages}"),
        ("the same: embedding's share of the time", "≥ 60%", f"{100 * share:.0f}%",
         f"{sum(taken.values()):.0f} s in all"),
        ("a second run on the same file: the embedding stage is faster by", "≥ 5×", f"{faster:.1f}×",
         f"{second['seconds']['embedding']:.1f} s against {taken['embedding']:.1f} s"),
    ]  # fmt: skip


def bench_overhead() -> list[Row]:
    import pyarrow.parquet as pq
    import wordllama

    from textspectra.embedding.cache import EmbeddingCache
    from textspectra.embedding.embed import embed_texts
    from textspectra.embedding.registry import load_model

    texts = list(dict.fromkeys(pq.read_table(TITLES)["text"].to_pylist()))[:100_000]
    backend = load_model("wordllama")
    backend.embed(texts[:1000])
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            embed_texts(texts, backend, cache=EmbeddingCache(Path(folder)))

    library_time, _ = seconds(lambda: library.embed(texts), 3)
    bare_time, _ = seconds(lambda: backend.embed(texts), 3)
    ours_time, _ = seconds(ours, 3)
    return [
        ("`embed_texts` with an empty cache over wordllama's own `embed`, 100,000 texts: overhead", "≤ 15%",
         f"{100 * (ours_time / library_time - 1):.1f}%",
         f"{ours_time:.2f} s against {library_time:.2f} s; our back end pools the same tokens in {bare_time:.2f} s, "
         f"so the cache and the bookkeeping cost {ours_time - bare_time:.2f} s"),
    ]  # fmt: skip


def bench_help() -> list[Row]:
    ours = process_seconds(*COMMAND, "--help")
    theirs = process_seconds(sys.executable, "-c", "import click")
    return [
        ("`textspectra --help` against `import click`, time of the process", "≤ 2×", f"{ours / theirs:.2f}×",
         f"{ours:.3f} s against {theirs:.3f} s"),
    ]  # fmt: skip


def bench_example() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMMAND, "cluster", str(EXAMPLE), "--out", folder, "--overwrite", "--quiet"]
        process_seconds(*command, repeat=1)  # fills the cache of vectors
        ours, ours_cpu = process_seconds(*command, repeat=5), process_cpu(*command)
    rival = (sys.executable, "-c", "import sklearn.cluster")
    theirs, theirs_cpu = process_seconds(*rival, repeat=5), process_cpu(*rival)
    return [
        ("`textspectra cluster` of the example with its report, vectors cached, against `import sklearn.cluster`",
         "≤ 3×", f"{ours / theirs:.1f}×", f"{ours:.1f} s against {theirs:.1f} s, medians of 5"),
        ("the same: CPU time", "–", f"{ours_cpu / theirs_cpu:.1f}×",
         f"{ours_cpu:.1f} s against {theirs_cpu:.1f} s"),
    ]  # fmt: skip


def bench_install() -> list[Row]:
    def packages(what: str) -> list[str]:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        done = subprocess.run([*command, "--report", "-", what], check=True, stdout=subprocess.PIPE, cwd=ROOT)  # noqa: S603
        return [item["metadata"]["name"] for item in json.loads(done.stdout)["install"]]

    names = packages(".")
    assert "torch" not in names  # noqa: S101
    return [("`pip install .`: packages, itself included, none of them PyTorch", "≤ 50", str(len(names)), "")]


PARTS = {name.removeprefix("bench_"): part for name, part in list(globals().items()) if name.startswith("bench_")}

if __name__ == "__main__":
    main(__file__, "text.md", "From texts to groups", PARTS)
