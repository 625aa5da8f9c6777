"""Kill commands at every change of a file and at random moments: `python reliability/kill.py --kills 200`.

A command gets a signal before the change of a file with a given number, or after a random time. Then each output must
be the old or the new one, and all must be old or all new once a command that writes them has begun; a study must have
kept its finished cells. The same command must succeed, and neither files nor processes may be left. If workers of Dask
are killed, the command must finish, or end with one line and exit code 4. The table goes to
`reliability/results/kill.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from child import Ended, Kill, call
from runs import COMMANDS, OUTPUTS, copied, digest, prepare, study_cells

HERE = Path(__file__).parent

WORKERS = "many files on Dask, workers killed"
"""The run in which the command lives on and its workers are killed."""

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}

REFUSED = 3
"""The exit code if an input cannot be used, such as a file that the model has already."""

OUTSIDE = 4
"""The exit code if something outside failed."""


class Trial(NamedTuple):
    """What is wrong after a kill, or nothing, and how the command ended."""

    wrong: str
    done: Ended


def run_of(command: str) -> str:
    """Return the command of a row of the table."""
    return "many files on Dask" if command == WORKERS else command


def left_in(folder: Path) -> list[str]:
    """Return the hidden files in a folder that belong to no output."""
    hidden = [path.relative_to(folder) for path in folder.rglob(".*") if path.name != ".textspectra.json"]
    return [str(path) for path in hidden if not any(part.endswith("-work") for part in path.parts)]


def judged_kill(folder: Path, command: str, kill: Kill, done: Ended, old: dict[str, str], new: dict[str, str]) -> str:
    """Say what is wrong with how a command ended and with its outputs."""
    from textspectra.files import replacing_together

    if done.orphans:
        return f"processes left behind: {done.orphans}"
    expected = OUTSIDE if kill.workers else CODES[kill.which]
    if done.code not in (expected, 0):
        return f"ended with {done.code}: {done.said[-300:]}"
    stopped = kill.which != signal.SIGKILL or kill.workers  # then it is the command that has the last word
    if stopped and ("Traceback" in done.said or len(done.said.strip().splitlines()) > 1):
        return f"more than a line: {done.said[-500:]}"
    left = left_in(folder)
    if command == "study run":
        study_cells(folder / "study")  # an error if the manifest is damaged
    else:
        found = digest(folder, OUTPUTS[command])
        if any(found[name] not in (old[name], new[name]) for name in found):
            return f"a reader sees neither old nor new: {found}"
        with replacing_together(*(folder / name for name in OUTPUTS[command])):  # as a command that writes them begins
            found = digest(folder, OUTPUTS[command])
        if found not in ((new,) if done.code == 0 else (old,) if kill.workers else (old, new)):
            return f"neither old nor new: {[name for name in found if found[name] not in (old[name], new[name])]}"
    return f"left behind: {left}" if kill.which != signal.SIGKILL and left else ""


def cells(folder: Path) -> dict[Path, bytes]:
    """Return the finished cells of a study; their times make each of them unlike any other."""
    return {path: path.read_bytes() for path in folder.glob("study/cells/*.json")}


def judged_again(folder: Path, command: str, new: dict[str, str], before: dict[Path, bytes]) -> str:
    """Run the command again, and say what is wrong then; `before` are the cells from before the kill."""
    finished = {**cells(folder), **before}
    is_made = command == "update" and digest(folder, OUTPUTS[command]) == new  # then it must not be made twice
    again = call(folder, COMMANDS[command])
    if again.code != (REFUSED if is_made else 0):
        return f"the same command failed: {again.said[-300:]}"
    if digest(folder, OUTPUTS[command]) != new:
        return "the same command gave another result"
    if any(path.read_bytes() != content for path, content in finished.items()):
        return "a finished cell was computed again"
    left = [path for path in folder.rglob(".*") if path.name != ".textspectra.json"]
    return f"left behind: {[str(path.relative_to(folder)) for path in left]}" if left or again.orphans else ""


def trial(base: Path, command: str, new: dict[str, str], kill: Kill, *, afresh: bool) -> Trial:
    """Kill a command once; `afresh`: without the study that is there."""
    folder = copied(base)
    if afresh:
        shutil.rmtree(folder / "study")
    old = digest(folder, OUTPUTS[command])
    before = cells(folder)
    done = call(folder, COMMANDS[command], kill)
    try:
        wrong = judged_kill(folder, command, kill, done, old, new) or judged_again(folder, command, new, before)
    except Exception as error:  # what cannot be read is a finding
        wrong = f"{type(error).__name__}: {error}"
    if not wrong:
        shutil.rmtree(folder)
    return Trial(wrong, done)


def planned(command: str, kill: int, whole: Ended, rng: random.Random) -> Kill:
    """Return the kill with a number."""
    moment = 0.05 + whole.seconds * rng.random()
    if command == WORKERS:
        # One worker, all at once, or for some seconds every worker that there is.
        return Kill(after=moment, workers=(1, 1, 99, 99)[kill % 4], seconds=5.0 * (kill % 4 == 3))
    which = rng.choice(SIGNALS)
    if kill % 5 == 4:
        return Kill(which, after=moment)
    # The last changes put the outputs in place, so each of them is tried; between them, any other.
    return Kill(which, max(1, whole.changes - kill // 2) if kill % 2 == 0 else 1 + rng.randrange(whole.changes))


def run(row: str, kills: int, rng: random.Random, before: Any, note: Callable[[dict[str, Any]], None]) -> None:
    """Kill a command at changes of files, spread over all of them, and at random moments; add to an earlier run."""
    command = run_of(row)
    base = prepare(command)
    whole = copied(base)
    if command == "study run":
        shutil.rmtree(whole / "study")
    done = call(whole, COMMANDS[command])
    if done.code:
        raise RuntimeError(done.said)
    new = digest(whole, OUTPUTS[command])
    found: dict[str, Any] = {"changes of files": 0 if row == WORKERS else done.changes, "kills": 0, "findings": []}
    if row == WORKERS:
        found |= {"finished": 0, "given up": 0}
    found |= before
    number = found["kills"]
    kills += number
    while found["kills"] < kills:
        kill = planned(row, number, done, rng)
        tried = trial(base, command, new, kill, afresh=command == "study run" and rng.random() < 0.5)
        number += 1
        found["kills"] += bool(tried.done.killed if kill.workers else tried.done.code)  # it may have been too late
        if tried.done.killed and row == WORKERS:
            found["finished"] += tried.done.code == 0
            found["given up"] += tried.done.code == OUTSIDE
        if tried.wrong:
            found["findings"].append(f"{kill.which.name} before change {kill.number}: {tried.wrong}")
            print(f"    {kill}: {tried.wrong}", flush=True)
        note(found)
    for folder in (base, whole):
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Kill all commands, print a line for each, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200, help="kills of all commands together")
    parser.add_argument("--seed", type=int, default=0, help="not 0: add to the table")
    parser.add_argument("--commands", nargs="*", default=[*COMMANDS, WORKERS], choices=[*COMMANDS, WORKERS])
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)  # noqa: S311 - no secrets here
    path = HERE / "results" / "kill.json"
    path.parent.mkdir(exist_ok=True)
    table = json.loads(path.read_text()) if path.exists() else {}
    for command in chosen.commands:

        def note(found: dict[str, Any], command: str = command) -> None:
            table[command] = found
            path.write_text(json.dumps(table, indent=1) + "\n")

        start, before = time.monotonic(), table.get(command, {}) if chosen.seed else {}
        run(command, max(1, chosen.kills // len(chosen.commands)), rng, before, note)
        kills, findings = table[command]["kills"], table[command]["findings"]
        print(f"{command:20} {kills} kills, {len(findings)} findings, {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(any(table[command]["findings"] for command in chosen.commands))


if __name__ == "__main__":
    main()
