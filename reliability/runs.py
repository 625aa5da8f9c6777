"""The commands that are killed: their inputs, what they write, and how to see whether that is right."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from child import call

COMMON = ["--overwrite", "-q"]
MANY = ["cluster", "many/*.parquet", "--embeddings", "v", "--text-column", "text", "--clusters", "4", "--no-report"]
COMMANDS = {
    "cluster": ["cluster", "a.csv", "--embeddings", "a.npy", "--clusters", "4", *COMMON],
    "update": ["update", "a.model", "b.csv", "--embeddings", "b.npy", "--no-report", *COMMON],
    "apply": ["apply", "state.json", "a.model", "--embeddings", "a.npy", *COMMON],
    "save in the page": ["open", "a.model", "--embeddings", "a.npy", "-q"],
    "embed": ["embed", "a.csv", "out.npy", "--model", "wordllama", *COMMON],
    "study run": ["study", "run", "study", "--data", "labeled", "--models", "wordllama", "-q"],
    "many files": [*MANY, *COMMON],
    "many files on Dask": [*MANY, "--scheduler", "local", *COMMON],
}

OUTPUTS = {
    "cluster": ["a.model", "a.clusters.csv", "a.report.html"],
    "update": ["a.model", "b.updated.csv"],
    "apply": ["a.model", "a.clusters.csv"],
    "save in the page": ["a.model", "a.clusters.csv", "a.report.html"],
    "embed": ["out.npy"],
    "study run": ["study"],
    "many files": ["many.model", "many.clusters"],
    "many files on Dask": ["many.model", "many.clusters"],
}

EARLIER = {
    "embed": COMMANDS["embed"],
    "study run": [*COMMANDS["study run"], "--seed", "1"],
    "many files": [*COMMANDS["many files"], "--clusters", "3"],
    "cluster": [*COMMANDS["cluster"], "--clusters", "3"],
}
"""What ran before the command; before any other, `cluster` as it is."""

CELLS = ("hac_true", "kmeans_constant", "kmeans_true", "similarity", "spectrum")
"""The tasks of the study; all others take longer, and are stored as not run."""


def texts(n: int, shift: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(shift)
    clusters = np.arange(n) % 4
    words = ("parcel", "password", "refund", "invoice")
    found = [f"{words[cluster]} number {i + 1000 * shift}" for i, cluster in enumerate(clusters)]
    return found, (np.eye(4, 12)[clusters] + 0.1 * rng.uniform(size=(n, 12))).astype(np.float32)


def write_inputs(folder: Path) -> None:
    """Write two months of texts with their embeddings, the same in two Parquet files, and a labeled set."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, shift in (("a", 0), ("b", 1)):
        rows, X = texts(60, shift)
        (folder / f"{name}.csv").write_text("text\n" + "".join(f"{row}\n" for row in rows))
        np.save(folder / f"{name}.npy", X)
        (folder / "many").mkdir(exist_ok=True)
        pq.write_table(pa.table({"text": rows, "v": list(X)}), folder / "many" / f"{name}.parquet")
    (folder / "labeled").mkdir()
    rows, _ = texts(40, 2)
    (folder / "labeled" / "set.csv").write_text("text,label\n" + "".join(f"{row},{row.split()[0]}\n" for row in rows))


def prepare(command: str) -> Path:
    """Make a folder with the inputs, and outputs of an earlier run that differ from the ones to come."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-kill-"))
    write_inputs(folder)
    if command == "study run":
        _few_tasks()
    done = call(folder, EARLIER.get(command.removesuffix(" on Dask"), COMMANDS["cluster"]))
    if done.code:
        raise RuntimeError(done.said)
    if command == "embed":
        np.save(folder / "out.npy", np.ones((60, 2), np.float32))
    if command == "update":
        (folder / "b.updated.csv").write_text("old\n")
    if command in ("apply", "save in the page"):
        write_state(folder)
    return folder


def copied(folder: Path) -> Path:
    """Return a copy of a folder."""
    place = Path(tempfile.mkdtemp(prefix="textspectra-kill-"))
    shutil.copytree(folder, place, dirs_exist_ok=True)
    return place


def write_state(folder: Path) -> None:
    """Write what a report downloads after its groups were edited."""
    from targets import downloaded_state

    from textspectra import TextClustering

    model = TextClustering.load(folder / "a.model", embeddings=np.load(folder / "a.npy"))
    (folder / "state.json").write_text(downloaded_state(model))


def visit(address: str) -> bool:
    """Do what a browser does: open the page, save the state that is in the working folder, and close the page."""
    threading.Thread(target=_save, args=(address,), daemon=True).start()
    return True


def _save(address: str) -> None:
    host, token = address.split("/")[2:4]
    origin = {"Origin": f"http://{host}"}

    def answer(method: str, name: str, body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(host)
        connection.request(method, f"/{token}/{name}", body, origin | headers)
        return connection.getresponse()

    alive = answer("POST", "alive", b"")
    version = answer("GET", "").read().partition(b'name="model-version" content="')[2].partition(b'"')[0]
    saved = answer("POST", "save", Path("state.json").read_bytes(), **{"Model-Version": version.decode()})
    if saved.status != 200:
        print(saved.read().decode(), file=sys.stderr)
    alive.close()


def _few_tasks() -> None:
    from textspectra_study.tasks import TASKS

    for name in TASKS.keys() - set(CELLS):
        TASKS[name] = TASKS[name]._replace(max_rows=1)


def digest(folder: Path, names: list[str]) -> dict[str, str]:
    """Return a digest of each output; what is different in every run, such as a date, is left out."""
    found = {}
    for name in names:
        path = folder / name
        if name == "study":
            content = json.dumps(study_cells(path)).encode()
        else:
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            content = b"".join(_lasting(file) for file in files if file.is_file())
        found[name] = hashlib.sha256(content).hexdigest() if path.exists() else ""
    return found


def _lasting(path: Path) -> bytes:
    if path.name != "clustering.json":
        return path.read_bytes()
    kept = json.loads(path.read_text())
    return json.dumps([kept["clusters"], kept["history"], kept["totals"]]).encode()


def study_cells(folder: Path) -> list[Any]:
    """Return the finished cells of a study without their time and memory; a damaged manifest is an error."""
    from textspectra_study.store import Store

    if not (folder / "study.json").exists():
        return []
    return [(cell.variant, cell.model, cell.task, cell.status, cell.values) for cell in Store(folder).read().cells]
