"""Write `docs/reliability.md` from what the harness found: `python reliability/table.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reliability.md"
CASES = 10_000
KILLS = 200

START = """# What was tried to break it

`make fuzz` and `make kill` write this page from their own output (`reliability/`). A finding is a traceback, a case of
more than 10 seconds of a processor or 60 in all, more than 1 GB of memory, a wrong vector from the cache, outputs that
are neither old nor new, a change outside the folder, a connection or another program (`bombs`, `project settings`,
`journal`), or a change by a command that only reads (`journal`).
What is found is made smaller and kept in `reliability/cases`; `make test` runs all of it, and the first cases of each
kind.
"""

WHAT = {
    "text": "CSV, TSV, JSON Lines and text, in several encodings, compressed or not; read, and written in all formats",
    "parquet": "Parquet with columns of every type and extreme values; read, and written in all formats",
    "workbook": "Excel workbooks, changed in the archive and inside its parts",
    "npy": "matrices with changed headers and bytes",
    "model": "model folders whose JSON, arrays or texts were changed, behind valid checksums",
    "bombs": "model folders with a small part that claims to be huge: texts stored once for many rows, shapes, long "
    "names and many levels",
    "cache": "databases of cached vectors, damaged or made by somebody else; the vectors must be right",
    "state": "what a report downloads and `apply` reads",
    "settings": "options of `cluster`",
    "project settings": "settings files that come with the data and want to write, read or send elsewhere; nothing is "
    "read, written, deleted, started or connected to outside their folder",
    "server": "answers of a server, with their status and headers",
    "journal": "hidden files of strangers beside a model (journals, markers, locks, links, pipes); every command",
}

END = """
## What is promised

- Reading never writes. `load`, `predict`, `report`, `compare` and `score` neither change nor delete a model or anything
  beside it, and they see the old model or the new one while it is replaced.
- Each output appears in one step, complete. The outputs of a run are all old or all new once a command that writes them
  has begun: it first finishes what a killed one had left, for its own outputs only. Names are derived from the outputs;
  nothing that a file holds is a path. What is left of a killed process counts only on the machine where it was killed,
  and for the user who ran it.
- A file is taken into a model once: `update` refuses the same content again (exit code 3), so a job can be retried
  after any end. `--again` takes it in on purpose.
- A message says that nothing has changed only if nothing has. If the result cannot be printed, it says what is written.
- A file is read up to 5,000,000 rows and 1 GB once it is unpacked, and a text up to 100,000 characters. Larger data is
  given as several files. The texts of a model folder are read by the same function, so they have the same limits; its
  JSON has at most 32 MB, and the name of a group at most 200 characters. What could not be loaded is not saved.
- A workbook of more than 8,000,000 cells is refused before the work begins.
- A run over many files says how much room it needs on the disk, and ends before it begins (exit code 4) if that is not
  free. Its vectors lie on the disk once: 400,000 titles in 40 files took 246 MB beside the cache, 614 bytes for each.
  A failed run leaves nothing half done, and the vectors of slow models in the cache.
- Models of format 3 and 4 are loaded; those of format 1 and 2 are refused with a sentence.
- A settings file in the working folder can set only what changes the result. It never decides where anything is read,
  written or sent; `SECURITY.md` says what else is not trusted.
- A model folder never decides that texts are sent to a server.
- A database of the cache is checked before it is asked anything; one that is not ours is deleted and made anew. The
  vectors of all models take at most 5 GB, unless another limit is set.
- An answer of a server is read up to 64 MB and for 60 seconds; a request with all its tries takes at most 5 minutes.

## What others do that we do not

SQLite ([how it is tested](https://www.sqlite.org/testing.html)) has tests for every branch of its machine code, an
allocator that fails at the first, second, third ... allocation, and a file system in memory that loses the writes a
power cut would lose. We count branches (`make coverage`) but do not demand all of them. We kill processes, which loses
no write that was made, and do not simulate power cuts; files are brought to the disk (`fsync`) before they are renamed.
We limit memory as a whole and do not let single allocations fail. SQLite is fuzzed all the time, on many machines; here
a person starts the run. Inputs are changed at random: a coverage-guided fuzzer (atheris, 445,000 runs in 15 minutes on
the readers of `.npy`, CSV, JSON Lines, states, models and answers of a server) found nothing, so it is no part of this.

scikit-learn tests on Windows, macOS and several processors, against old and coming versions of its dependencies, and
on builds of Python without the global lock. Our tests run on Linux. Its checks of estimators
(`check_estimator`) run here, too.

Without memory, Python raises an error, which becomes a line; compiled code may end the process, as the tokenizer of
wordllama does. The same limit can end either way: 300 MB did both in two runs. Asking for 128 MB before each call of
the tokenizer did not prevent it.

Where a file system cannot exchange two names (Windows, some network drives), an output that is replaced together with
others is missing between two renames; after a kill there, the next command that writes it brings it back.
The limits of Parquet rely on what the file says of itself; one that was made by hand to lie can take 2 GB for each page
before it is refused.

Not looked at: other file systems than the one of the test machine, network drives without locks, memory that is
damaged, and attacks by other users who may write to the same folder while a command runs.
"""


def load(name: str) -> dict[str, Any]:
    path = HERE / "results" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def fuzz_table() -> list[str]:
    found = load("fuzz")
    lines = ["## Damaged inputs", "", "| kind | what | cases | findings | longest case |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {kind} | {WHAT[kind]} | {one['cases']:,} | {one['findings']} | "
        f"{max(one.get('processor', 0), one.get('longest', 0)):.1f} s |"
        for kind, one in found.items()
    ]
    older = [kind for kind, one in found.items() if "longest" in one]
    if older:
        lines += ["", f"Seconds are of a processor; of the clock, in earlier runs, for: {', '.join(older)}."]
    short = [kind for kind, one in found.items() if one["cases"] < CASES]
    if short:
        lines += ["", f"The bar is {CASES:,} cases of each kind. Fewer were run of: {', '.join(short)}."]
    return lines


def kill_table() -> list[str]:
    found = load("kill")
    lines = ["", "## Kills", "", "| command | changes of files | kills | findings |", "|---|---:|---:|---:|"]
    for name, one in found.items():
        lines.append(f"| {name} | {one['changes of files'] or '–'} | {one['kills']} | {len(one['findings'])} |")
    total = sum(one["kills"] for one in found.values())
    lines += ["", f"{total} kills in all, by SIGKILL, SIGTERM and SIGINT; the bar is {KILLS} with no finding."]
    earlier = [name for name, one in found.items() if "earlier" in one]
    if earlier:
        kills = sum(found[name]["kills"] for name in earlier)
        lines.append(f"{kills} of them were made with an earlier version: {'; '.join(earlier)}.")
    for one in found.values():
        if "given up" in one:
            lines.append(
                f"When workers of Dask were killed, {one['finished']} runs finished with the right outputs, and "
                f"{one['given up']} ended with one line and exit code 4, and left the old outputs."
            )
    lines += [f"- {name}: {finding.strip()}" for name, one in found.items() for finding in one["findings"]]
    return lines


def fault_table() -> list[str]:
    found = load("faults")
    lines = ["", "## Faults from below", "", "| fault of `cluster` | outcome | last line |", "|---|---|---|"]
    lines += [f"| {name} | {one['outcome']} | {one['said']} |" for name, one in found.get("faults", {}).items()]
    lines += ["", "## Memory and time", ""]
    lines += ["| `cluster` on a table of | distinct texts | peak | seconds of a processor |", "|---:|---:|---:|---:|"]
    for one in (*found.get("texts", {}).values(), *found.get("repeated", {}).values()):
        lines.append(f"| {one['rows']:,} rows | {one['distinct']:,} | {one['MB']:,} MB | {one['seconds']} |")
    lines += ["", "Each figure is one run. Rows that repeat are still read, compared and written one by one."]
    return lines


def main() -> None:
    """Write the page."""
    PAGE.write_text("\n".join([START, *fuzz_table(), *kill_table(), *fault_table()]) + "\n" + END)
    print(PAGE)


if __name__ == "__main__":
    main()
