"""Kill commands at every change of a file and at random moments: `python reliability/kill.py --kills 200`.

A command runs in a child with an audit hook that counts what changes files: opening one to write, renaming, removing,
making. It gets the signal before the change with a given number, or after a random time. Then the outputs must be all
old or all new once a command has opened them, the same command must succeed, and nothing else may be left.
The table goes to `reliability/results/kill.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import textspectra.cli

HERE = Path(__file__).parent

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate")
"""What Python announces of file operations, beside the opening of a file."""

MODULES = "cli.main cli.cluster cli.update cli.apply cli.embed texts.pipeline texts.files.run report"

command_line = textspectra.cli.main
for module in MODULES.split():
    importlib.import_module(f"textspectra.{module}")  # here, so that a child can begin at once


class Ended(NamedTuple):
    """How a command ended, what it said, and how many changes of files it made."""

    code: int
    said: str
    changes: int


def call(folder: Path, arguments: list[str], number: int = 0, which: int = 9, after: float = 0.0) -> Ended:
    """Run a command in a child; it gets the signal before the change with this number, or after some seconds."""
    count, said = folder.with_name(f"{folder.name}.count"), folder.with_name(f"{folder.name}.said")
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["TEXTSPECTRA_CACHE"] = str(folder / "cache")
        file = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _run(arguments, number, which, count)
    if after:
        deadline = time.monotonic() + after
        while time.monotonic() < deadline and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            time.sleep(0.01)
        os.kill(child, which)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = Ended(code, said.read_text(errors="replace"), int(count.read_text()) if count.exists() else 0)
    for path in (count, said):
        path.unlink(missing_ok=True)
    return ended


def _run(arguments: list[str], number: int, which: int, count: Path) -> None:
    owner, seen, code = os.getpid(), 0, 1

    def watch(event: str, details: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            mode, flags = str(details[1]), details[2] or 0
            if "/dev/" in str(details[0]) or not (set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR)):
                return
        elif event not in CHANGES:
            return
        if os.getpid() == owner:
            seen += 1
            if seen == number:
                seen += 1  # the kill is an event, too
                os.kill(owner, which)

    sys.argv = ["textspectra", *arguments]
    sys.addaudithook(watch)
    try:
        command_line()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        count.write_text(str(seen))
        os._exit(code)


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
    if done.code:
        raise RuntimeError(done.said)
    if command == "embed":
        np.save(folder / "out.npy", np.ones((60, 2), np.float32))
    if command == "update":
        (folder / "b.updated.csv").write_text("old\n")
    if command == "apply":
        write_state(folder)
    return folder


def write_state(folder: Path) -> None:
    """Write what a report downloads after its groups were edited."""
    from targets import downloaded_state

    from textspectra import TextClustering

    model = TextClustering.load(folder / "a.model", embeddings=np.load(folder / "a.npy"))
    (folder / "state.json").write_text(downloaded_state(model))


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
    if done.code not in (expected, 0):
        return f"ended with {done.code}: {done.said[-300:]}"
    if which != signal.SIGKILL and done.code == expected and "Traceback" in done.said:
        return "a traceback"
    settle(folder, names)
    found = digest(folder, names)
    if found not in (old, new):
        return (
            f"neither old nor new: {[name for name in names if found[name] not in (old[name], new[name])] or 'mixed'}"
        )
    if which != signal.SIGKILL and done.code == expected:
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
    if again.code:
        return f"the same command failed: {again.said[-300:]}"
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
    if done.code:
        raise RuntimeError(done.said)
    new, changes = digest(whole, OUTPUTS[command]), done.changes
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
    failed = False
    for command in chosen.commands:
        share = max(1, chosen.kills // len(chosen.commands))
        found = run(command, share, rng)
        table = {**(json.loads(path.read_text()) if path.exists() else {}), command: found}
        failed |= bool(table[command]["findings"])
        print(f"{command:20} {share} kills, {len(table[command]['findings'])} findings", flush=True)
        path.write_text(json.dumps(table, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
