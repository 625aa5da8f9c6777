"""Kill commands at every change of a file and at random moments: `python reliability/kill.py --kills 200`.

A command runs with an audit hook that counts what changes files: opening one to write, renaming, removing, making. The
process gets the signal before the change with a given number, or after a random time. Then the outputs must be all old
or all new once a command has opened them, the same command must succeed, and nothing else may be left.
The table goes to `reliability/results/kill.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

WATCHED = """
import os, sys, time, threading
number, which, after = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate")
place, seen, owner = os.getcwd(), 0, os.getpid()

def watch(event, arguments):
    global seen
    if os.getpid() != owner:
        return
    if event == "open":
        mode, flags = str(arguments[1]), arguments[2] or 0
        if not (set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR)):
            return
        if "dev/" in str(arguments[0]):
            return
    elif event not in CHANGES:
        return
    seen += 1
    if seen == number:
        seen += 1
        os.kill(owner, which)

if after > 0:
    timer = threading.Timer(after, os.kill, [owner, which])
    timer.daemon = True
    timer.start()
sys.argv = ["textspectra", *sys.argv[4:]]
from textspectra.cli import main
sys.addaudithook(watch)
try:
    main()
finally:
    if number == 0 and not after:
        with open(os.environ["COUNT_FILE"], "w") as file:
            file.write(str(seen))
"""


def texts(n: int, shift: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(shift)
    groups = np.arange(n) % 4
    words = ("parcel", "password", "refund", "invoice")
    found = [f"{words[group]} number {i + 1000 * shift}" for i, group in enumerate(groups)]
    return found, (np.eye(4, 12)[groups] + 0.1 * rng.uniform(size=(n, 12))).astype(np.float32)


def write_inputs(folder: Path) -> None:
    """Write two months of texts with their embeddings, the same in two Parquet files, and a small study."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, shift in (("a", 0), ("b", 1)):
        rows, X = texts(60, shift)
        (folder / f"{name}.csv").write_text("text\n" + "".join(f"{row}\n" for row in rows))
        np.save(folder / f"{name}.npy", X)
        (folder / "many").mkdir(exist_ok=True)
        pq.write_table(pa.table({"text": rows, "v": list(X)}), folder / "many" / f"{name}.parquet")


COMMON = ["--overwrite", "-q"]
COMMANDS = {
    "cluster": ["cluster", "a.csv", "--embeddings", "a.npy", "--clusters", "4", *COMMON],
    "update": ["update", "a.model", "b.csv", "--embeddings", "b.npy", "--no-report", *COMMON],
    "apply": ["apply", "state.json", "a.model", "--embeddings", "a.npy", *COMMON],
    "embed": ["embed", "a.csv", "out.npy", "--model", "wordllama", *COMMON],
    "many files": ["cluster", "many/*.parquet", "--embeddings", "v", "--text-column", "text", "--clusters", "4",
                   "--no-report", *COMMON],
    "many files on Dask": ["cluster", "many/*.parquet", "--embeddings", "v", "--text-column", "text", "--clusters", "4",
                           "--no-report", "--scheduler", "local", *COMMON],
}  # fmt: skip

OUTPUTS = {
    "cluster": ["a.model", "a.clusters.csv", "a.report.html"],
    "update": ["a.model", "b.updated.csv"],
    "apply": ["a.model", "a.clusters.csv"],
    "embed": ["out.npy"],
    "many files": ["many.model", "many.clusters"],
    "many files on Dask": ["many.model", "many.clusters"],
}


def call(
    folder: Path, arguments: list[str], number: int = 0, which: int = 9, after: float = 0.0
) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "TEXTSPECTRA_CACHE": str(folder / "cache"), "COUNT_FILE": str(folder / "cache" / "count")}
    (folder / "cache").mkdir(exist_ok=True)
    watched = [sys.executable, "-c", WATCHED, str(number), str(int(which)), str(after), *arguments]
    return subprocess.run(watched, cwd=folder, env=env, capture_output=True, timeout=300, check=False)  # noqa: S603


def digest(folder: Path, names: list[str]) -> dict[str, str]:
    """Return a digest of each output; what is different in every run, such as a date, is left out."""
    found = {}
    for name in names:
        path = folder / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        content = b"".join(file.read_bytes() for file in files if file.is_file() and file.name != "clustering.json")
        content += b"".join(_topics(file) for file in files if file.name == "clustering.json")
        found[name] = hashlib.sha256(content).hexdigest() if path.exists() else ""
    return found


def _topics(path: Path) -> bytes:
    kept = json.loads(path.read_text())
    return json.dumps([kept["topics"], kept["history"], kept["totals"]]).encode()


def prepare(command: str) -> Path:
    """Make a folder with the inputs, and outputs of an earlier run that differ from the ones to come."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-kill-"))
    write_inputs(folder)
    earlier = {
        "cluster": [*COMMANDS["cluster"], "--clusters", "3"],
        "embed": [*COMMANDS["embed"]],
        "many files": [*COMMANDS["many files"], "--clusters", "3"],
    }
    first = earlier.get(command.removesuffix(" on Dask"), COMMANDS["cluster"])
    done = call(folder, first)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    if command == "embed":
        np.save(folder / "out.npy", np.ones((60, 2), np.float32))
    if command == "update":
        (folder / "b.updated.csv").write_text("old\n")
    if command == "apply":
        write_state(folder)
    return folder


def write_state(folder: Path) -> None:
    """Write what a report downloads after its groups were renamed."""
    from textspectra import TextClustering
    from textspectra.report.state import FORMAT
    from textspectra.report.write import fingerprint

    model = TextClustering.load(folder / "a.model")
    groups = [{"cluster": one.label, "name": f"group {one.label}", "size": one.size} for one in model.topics]
    content = {"format": FORMAT, "fingerprint": fingerprint(model.corpus), "clusters": groups}
    (folder / "state.json").write_text(json.dumps(content))


def settle(folder: Path, outputs: list[str]) -> None:
    """Open the outputs as any command does."""
    from textspectra.atomic import settle as finish

    finish(folder / outputs[0])


def trial(base: Path, command: str, new: dict[str, str], number: int, which: int, after: float) -> str:
    """Kill a command once; return what is wrong then, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-kill-"))
    shutil.rmtree(folder)
    shutil.copytree(base, folder)
    names = OUTPUTS[command]
    old = digest(folder, names)
    done = call(folder, COMMANDS[command], number, which, after)
    expected = {9: -9, 15: 143, 2: 130}[which]
    if done.returncode not in (expected, 0):
        return f"ended with {done.returncode}: {done.stderr.decode()[-300:]}"
    if which != signal.SIGKILL and done.returncode == expected and b"Traceback" in done.stderr:
        return "a traceback"
    settle(folder, names)
    found = digest(folder, names)
    if found not in (old, new):
        return (
            f"neither old nor new: {[name for name in names if found[name] not in (old[name], new[name])] or 'mixed'}"
        )
    if which != signal.SIGKILL and done.returncode == expected:
        left = [
            path.name for path in folder.rglob(".textspectra-*") if not any(p.endswith("-work") for p in path.parts)
        ]
        if left:
            return f"left behind: {left}"
    # An update that has been made before would be made twice; the harness starts from the old model then.
    if command == "update" and found == new:
        shutil.rmtree(folder)
        return ""
    again = call(folder, COMMANDS[command])
    if again.returncode:
        return f"the same command failed: {again.stderr.decode()[-300:]}"
    if digest(folder, names) != new:
        return "the same command gave another result"
    left = [str(path.relative_to(folder)) for path in folder.rglob(".*") if ".textspectra.json" not in path.name]
    if left:
        return f"left behind: {left}"
    shutil.rmtree(folder)
    return ""


def run(command: str, kills: int, rng: random.Random) -> dict[str, object]:
    """Kill a command at changes of files, spread over all of them, and at random moments."""
    base = prepare(command)
    whole = Path(tempfile.mkdtemp(prefix="textspectra-kill-"))
    shutil.rmtree(whole)
    shutil.copytree(base, whole)
    done = call(whole, COMMANDS[command])
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    new, changes = digest(whole, OUTPUTS[command]), int((whole / "cache" / "count").read_text())
    findings = []
    for kill in range(kills):
        which = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[kill % 4]
        at_random = kill % 5 == 4
        # The last changes put the outputs in place, so each of them is tried first.
        number = 0 if at_random else max(1, changes - kill) if kill < 60 else 1 + rng.randrange(changes)
        wrong = trial(base, command, new, number, which, 3 * rng.random() if at_random else 0.0)
        if wrong:
            findings.append(f"{which.name} before change {number} of {changes}: {wrong}")
            print(f"    {findings[-1]}", flush=True)
    for folder in (base, whole):
        shutil.rmtree(folder, ignore_errors=True)
    return {"kills": kills, "changes of files": changes, "findings": findings}


def main() -> None:
    """Kill all commands, print a line for each, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200, help="kills of all commands together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)  # noqa: S311 - no secrets here
    path = HERE / "results" / "kill.json"
    path.parent.mkdir(exist_ok=True)
    table = json.loads(path.read_text()) if path.exists() else {}
    failed = False
    for command in chosen.commands:
        share = max(1, chosen.kills // len(chosen.commands))
        table[command] = run(command, share, rng)
        failed |= bool(table[command]["findings"])
        print(f"{command:20} {share} kills, {len(table[command]['findings'])} findings", flush=True)
        path.write_text(json.dumps(table, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
