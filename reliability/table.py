"""Write `docs/reliability.md` from what the harness found: `python reliability/table.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reliability.md"
CASES = 10_000
KILLS = 200

START = """# Reliability tests

`make fuzz` and `make kill` write this page from their own output (`reliability/`).
A finding is one of the following:

- a traceback
- a case that takes more than 10 seconds of CPU time or 60 seconds in all, or more than 1 GB of memory
- a wrong vector from the cache
- outputs that are neither old nor new
- a change outside the folder, a connection or another program (`bombs`, `project settings`, `journal`)
- a change by a command that only reads (`journal`)

Inputs with a finding are minimized and kept in `reliability/cases`.
`make test` runs all of them, and the first cases of each kind.
"""

WHAT = {
    "text": "CSV, TSV, JSON Lines and text, in several encodings, compressed or not; read, and written in all formats",
    "parquet": "Parquet with columns of every type and extreme values; read, and written in all formats",
    "workbook": "Excel workbooks, changed in the archive and inside its parts",
    "npy": "matrices with changed headers and bytes",
    "model": "model folders with changed JSON, arrays or texts, and valid checksums",
    "bombs": "model folders with a small part that claims to be huge: texts stored once for many rows, shapes, long "
    "names and many levels",
    "cache": "databases of cached vectors, damaged or made by somebody else; the vectors must be correct",
    "state": "the JSON that a report saves and `apply` reads",
    "settings": "options of `cluster`",
    "project settings": "settings files that come with the data and try to write, read or send elsewhere; nothing is "
    "read, written, deleted, started or connected to outside their folder",
    "server": "answers of a server, with their status and headers",
    "journal": "hidden files of strangers beside a model (journals, markers, locks, links, pipes); every command",
}

END = """
## Guarantees

- Reading never writes.
  `load`, `predict`, `report`, `compare` and `score` do not change a model or anything beside it.
  While a model is being replaced, they see either the old or the new one.
- Each output appears complete, in one step.
  Once a command that writes the outputs of a run has started, they are all old or all new, because it first completes
  what a killed run left, for its own outputs only.
  Names are derived from the outputs, never read from a file.
  Leftovers of a killed process are used only on the same machine and for the same user.
- A file is added to a model once: `update` refuses the same content a second time (exit code 3), so a job can always be
  retried.
  `--again` adds it on purpose.
- A message says that nothing has changed only if that is true.
  If the result cannot be printed, it says which files were written.
- Limits: 5,000,000 rows and 1 GB for a file once it is unpacked, and 100,000 characters for a text.
  Split larger data into several files.
  The texts of a model folder have the same limits; its JSON has at most 32 MB, and the name of a group at most 200
  characters.
  A model that could not be loaded is not saved.
- A workbook of more than 8,000,000 cells is refused before the work begins.
- A run over many files says how much disk space it needs, and stops at the start (exit code 4) if there is not enough.
  Its vectors are stored once: 400,000 titles in 40 files took 246 MB beside the cache, 614 bytes each.
  A failed run leaves nothing half done, and the vectors of slow models in the cache.
- Models of formats 3 and 4 can be loaded; formats 1 and 2 are refused with a message.
- A settings file in the working folder can set only what changes the result.
  It never decides where anything is read, written or sent; `SECURITY.md` lists what else is not trusted.
- A model folder never decides that texts are sent to a server.
- A cache database is checked before it is queried; one that is not ours is deleted and created again.
  The vectors of all models take at most 5 GB, unless another limit is set.
- An answer of a server is read up to 64 MB and for 60 seconds; a request with all its retries takes at most 5 minutes.

## Limits of these tests

SQLite ([how it is tested](https://www.sqlite.org/testing.html)) tests every branch of its machine code, makes every
single allocation fail in turn, and simulates power cuts with an in-memory file system that loses writes.
It is fuzzed continuously on many machines.
We measure branch coverage (`make coverage`) but do not require all branches, limit memory as a whole, and kill
processes, which does not lose completed writes.
Files are flushed to disk (`fsync`) before they are renamed.
Fuzzing is started by hand, with random changes of inputs.
A coverage-guided fuzzer (atheris, 445,000 runs in 15 minutes on the readers of `.npy`, CSV, JSON Lines, states, models
and answers of a server) found nothing, so it is not included.

scikit-learn tests on Windows, macOS and several processors, against old and upcoming versions of its dependencies, and
on builds of Python without the global lock.
Our tests run on Linux, and include scikit-learn's checks of estimators (`check_estimator`).

When memory runs out, Python raises an error, which becomes a one-line message, but compiled code may abort the process,
as the tokenizer of wordllama does.
The same limit can end either way: 300 MB did both in two runs.
Allocating 128 MB before each call of the tokenizer did not prevent it.

If a file system cannot exchange two names (Windows, some network drives), an output that is replaced together with
others is missing between two renames; after a kill at that point, the next command that writes it restores it.
The limits for Parquet rely on the metadata of the file; a file with forged metadata can take 2 GB per page before it is
refused.

Not tested: other file systems, network drives without locks, faulty memory, and attacks by other users who can write to
the same folder while a command runs.
"""


def load(name: str) -> dict[str, Any]:
    path = HERE / "results" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def fuzz_table() -> list[str]:
    found = load("fuzz")
    lines = ["## Damaged inputs", "", "| kind | inputs | cases | findings | longest case |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {kind} | {WHAT[kind]} | {one['cases']:,} | {one['findings']} | "
        f"{max(one.get('processor', 0), one.get('longest', 0)):.1f} s |"
        for kind, one in found.items()
    ]
    older = [kind for kind, one in found.items() if "longest" in one]
    if older:
        lines += ["", f"Times are CPU times, except for earlier runs, which state elapsed times: {', '.join(older)}."]
    short = [kind for kind, one in found.items() if one["cases"] < CASES]
    if short:
        lines += ["", f"The goal is {CASES:,} cases of each kind; there were fewer for: {', '.join(short)}."]
    return lines


def kill_table() -> list[str]:
    found = load("kill")
    lines = ["", "## Kills", "", "| command | file changes | kills | findings |", "|---|---:|---:|---:|"]
    for name, one in found.items():
        lines.append(f"| {name} | {one['changes of files'] or '–'} | {one['kills']} | {len(one['findings'])} |")
    total = sum(one["kills"] for one in found.values())
    lines += ["", f"There were {total} kills by SIGKILL, SIGTERM and SIGINT; the goal is {KILLS} without a finding."]
    earlier = [name for name, one in found.items() if "earlier" in one]
    if earlier:
        kills = sum(found[name]["kills"] for name in earlier)
        lines.append(f"{kills} of them used an earlier version: {'; '.join(earlier)}.")
    for one in found.values():
        if "given up" in one:
            lines.append(
                f"When Dask workers were killed, {one['finished']} runs finished with correct outputs, and "
                f"{one['given up']} ended with a one-line error and exit code 4, and kept the old outputs."
            )
    lines += [f"- {name}: {finding.strip()}" for name, one in found.items() for finding in one["findings"]]
    return lines


def fault_table() -> list[str]:
    found = load("faults")
    lines = ["", "## System faults", "", "| fault of `cluster` | outcome | last line |", "|---|---|---|"]
    lines += [f"| {name} | {one['outcome']} | {one['said']} |" for name, one in found.get("faults", {}).items()]
    lines += ["", "## Memory and time", ""]
    lines += [
        "| `cluster` on a table of | distinct texts | peak memory | seconds of CPU time |",
        "|---:|---:|---:|---:|",
    ]
    for one in (*found.get("texts", {}).values(), *found.get("repeated", {}).values()):
        lines.append(f"| {one['rows']:,} rows | {one['distinct']:,} | {one['MB']:,} MB | {one['seconds']} |")
    lines += ["", "Each row is one run.", "Repeated rows are still read, compared and written one by one."]
    return lines


def main() -> None:
    """Write the page."""
    PAGE.write_text("\n".join([START, *fuzz_table(), *kill_table(), *fault_table()]) + "\n" + END)
    print(PAGE)


if __name__ == "__main__":
    main()
