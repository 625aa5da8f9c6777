"""The embedding cache: SQLite against the files of an own format that it replaced.

Both run the same code below, in turn, each with the sources of its revision. The back end returns
its vectors at once, so that only the cache is timed. Temporary files must be on a disk.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import ROOT, Row, main, seconds

BEFORE = "aea5574"
"""The last revision whose cache has files of its own format."""

N, DIMENSION = 1_000_000, 256
ROUNDS = 2


class InstantBackend:
    """Gives vectors at once, and counts the texts that it was asked for."""

    name, batch_size = "instant", 4096
    settings: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self._vectors = np.random.default_rng(0).standard_normal((self.batch_size, DIMENSION)).astype(np.float32)
        self.asked = 0

    def embed(self, texts: list[str]) -> Any:
        self.asked += len(texts)
        return self._vectors[: len(texts)]


def embed(start: int, stop: int, step: int = 1, *, cache: bool = True, kill_at: int | None = None) -> tuple[float, int]:
    """Embed the texts of these numbers; return the seconds, and how many the cache did not know."""
    from textspectra.embedding.embed import embed_texts

    def progress(done: int, total: int) -> None:
        if kill_at is not None and done >= kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    texts, backend = [f"this is text {number}" for number in range(start, stop, step)], InstantBackend()
    taken, _ = seconds(lambda: embed_texts(texts, backend, cache=cache, progress=progress))
    return taken, backend.asked


def run(sources: Path, folder: Path, **options: Any) -> subprocess.Popen[str]:
    """Start `embed` in a process of its own, with these sources and this cache."""
    environment = os.environ | {"PYTHONPATH": str(sources), "TEXTSPECTRA_CACHE": str(folder)}
    command = [sys.executable, __file__, "embed", json.dumps(options)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603


def answer(process: subprocess.Popen[str]) -> tuple[float, int]:
    output, _ = process.communicate()
    return tuple(json.loads(output))


def measure(sources: Path) -> dict[str, float]:
    """Return the seconds of each step, on an empty folder."""
    times = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "one")
        without, _ = answer(run(sources, folder, start=0, stop=N, cache=False))
        times["write"] = answer(run(sources, folder, start=0, stop=N))[0] - without
        times["all"], asked = answer(run(sources, folder, start=0, stop=N))
        times["new"], asked_new = answer(run(sources, folder, start=N // 100, stop=N + N // 100))
        times["few"], asked_few = answer(run(sources, folder, start=0, stop=N, step=N // 1000))
        assert (asked, asked_new, asked_few) == (0, N // 100, 0)  # noqa: S101
    with tempfile.TemporaryDirectory() as name:
        writers = [run(sources, Path(name), start=start, stop=start + N // 2) for start in (0, N // 2)]
        times["two writers"] = max(answer(writer)[0] for writer in writers)
        assert answer(run(sources, Path(name), start=0, stop=N))[1] == 0  # noqa: S101
    with tempfile.TemporaryDirectory() as name:
        killed = run(sources, Path(name), start=0, stop=N, kill_at=N // 2)
        assert killed.wait() == -signal.SIGKILL  # noqa: S101
        times["after kill -9"], asked = answer(run(sources, Path(name), start=0, stop=N))
        times["lost by kill -9"] = asked - N // 2
    return times


def wordllama_seconds() -> float:
    """Return the seconds that the default model takes for as many titles, without a cache."""
    import pyarrow.parquet as pq
    from harness import TITLES

    from textspectra.embedding.embed import embed_texts
    from textspectra.embedding.registry import load_model

    texts = pq.read_table(TITLES, columns=["text"])["text"].slice(0, 50_000).to_pylist()
    backend = load_model("wordllama")
    backend.embed(texts[:100])
    return seconds(lambda: embed_texts(texts, backend, cache=False))[0] * N / len(texts)


def compare() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        get = f"git -C '{ROOT}' archive {BEFORE} src | tar -x -C '{name}'"
        subprocess.run(get, shell=True, check=True)  # noqa: S602
        rounds = [[measure(sources) for sources in (Path(name, "src"), ROOT / "src")] for _ in range(ROUNDS)]
    before, after = ({step: min(pair[side][step] for pair in rounds) for step in rounds[0][0]} for side in (0, 1))
    model = wordllama_seconds()
    cold = (model + after["write"]) / (model + before["write"])

    def row(step: str, what: str, bar: str = "–") -> Row:
        return what, bar, f"{after[step] / before[step]:.2f}×", f"{after[step]:.1f} s against {before[step]:.1f} s"

    return [
        row("all", "`embed_texts` with all vectors in the cache", "≤ 1.5×"),
        ("a first run with the default model", "≤ 1.5×", f"{cold:.2f}×", f"embedding: {model:.0f} s; cache: as below"),
        row("write", "writing all vectors, over a run without a cache"),
        row("new", "`embed_texts` with 1% new texts"),
        row("few", "`embed_texts` of every thousandth text"),
        row("two writers", "two processes that write half of the vectors each, at the same time"),
        row("after kill -9", "a run after one that was killed half-way"),
        ("vectors lost by kill -9", "–", f"{after['lost by kill -9']:.0f}",
         f"against {before['lost by kill -9']:.0f}; a group that is written together has 4,096"),
    ]  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["embed"]:
        print(json.dumps(embed(**json.loads(sys.argv[2]))))
    else:
        title = f"The embedding cache in SQLite compared with its former files, {N:,} × {DIMENSION} float32"
        main(__file__, "cache.md", title, {"cache": compare})
