"""What `AutoKMeans` on Dask costs, by formula; rewrites the table of ``docs/guides/dask.md``.

Bytes, operations and memory follow from the code, except for GRAPH_BYTES, and leave out small terms. Seconds are
fitted to what ``scale.py`` measured (``scale.json``), without the size that is held back, which is then compared with.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import numpy as np
from harness import ROOT

PAGE = ROOT / "docs" / "guides" / "dask.md"
MEASURED = ROOT / "benchmarks" / "scale.json"
HELD_BACK = 2_000_000

PASSES = 1
"""Over all rows, to assign them; it has the sums of the Cohesion Ratio, too."""

TRAINING_ROWS = 8192
ESTIMATE_ROWS = 22 * 6000 + 2000
PAIR_ROWS = 2 * 256 * 128
"""Rows drawn to train centers, to estimate k, and for the pairs of the Cohesion Ratio (all rows, and clusters)."""

CHUNK_BYTES = 100e6
NUMBER_BYTES = 2
"""Of float16."""

GRAPH_BYTES = 3e4
"""What a chunk takes in the client's graph: assumed, not measured."""

GROUP_BYTES = 2**27
"""Drawn rows that a worker holds at a time, at most."""


class Cost(NamedTuple):
    """Of one fit, k given or estimated."""

    chunks: int
    read: float
    operations: float
    network: float
    worker: float
    client: float


def cost(n: float, d: int, k: int, workers: int) -> Cost:
    """Return bytes read, floating-point operations, bytes sent, and bytes of memory of a worker and of the client."""
    row = d * NUMBER_BYTES
    chunks = int(np.ceil(n * row / CHUNK_BYTES))
    in_shares = (ESTIMATE_ROWS + max(PAIR_ROWS, 16 * 128 * k)) * row
    drawn = in_shares + TRAINING_ROWS * row
    statistics = 8 * k * d
    return Cost(
        chunks,
        PASSES * n * row + drawn,
        2 * n * d * PASSES * (k + 2),
        in_shares * workers + TRAINING_ROWS * row + PASSES * chunks * statistics * 8 / 7,
        2 * CHUNK_BYTES + 2 * GROUP_BYTES + 9 * statistics + 16 * n / workers,
        2 * TRAINING_ROWS * d * 4 + 32e6 + 8 * chunks * k + GRAPH_BYTES * chunks,
    )


def size(amount: float, units: str = "kMGTP", base: str = "B") -> str:
    """Return an amount with three digits at most.

    >>> size(51.2e9)
    '51 GB'
    """
    power = min(len(units), max(0, int(np.log10(max(amount, 1)) // 3)))
    unit = (" " + units)[power].strip()
    return f"{amount / 1000**power:.3g} {unit}{base}"


def table() -> str:
    lines = [
        "| rows | columns | workers | chunks | read | operations | network | a worker | the client |",
        "|" + "---|" * 9,
    ]
    for n, workers in ((1e6, 2), (1e7, 4), (1e8, 16), (1e9, 64), (1e10, 256)):
        for d in (256, 1024, 4096):
            found = cost(n, d, 100, workers)
            amounts = [size(found.read), size(found.operations, base="flop"), size(found.network)]
            memory = [size(found.worker), size(found.client)]
            cells = [f"10^{np.log10(n):.0f}", str(d), str(workers), f"{found.chunks:,}", *amounts, *memory]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def fitted() -> str:
    if not MEASURED.exists():
        return "Not measured yet: `make bench-scale` does it."
    known: dict[str, Any] = json.loads(MEASURED.read_text())
    rows, seconds = (np.array([one[name] for one in known["measured"]]) for name in ("rows", "seconds"))
    used = rows != HELD_BACK
    slope, start = np.polyfit(rows[used], seconds[used], 1, w=1 / seconds[used])
    guess, truth = start + slope * HELD_BACK, float(seconds[~used][0])
    lines = [f"{start:.1f} s + {slope * 1e6:.2f} µs a row, at k = {known['clusters']} and {known['columns']} columns "
             "on two workers of one core each.", "",
             "| rows | measured | by the fit | client | a worker |", "|---|---|---|---|---|"]  # fmt: skip
    for one in known["measured"]:
        mark = " (held back)" if one["rows"] == HELD_BACK else ""
        lines.append(
            f"| {one['rows']:,}{mark} | {one['seconds']:.1f} s | {start + slope * one['rows']:.1f} s | "
            f"{one['client']:.0f} MB | {one['worker']:.0f} MB |"
        )
    return "\n".join([*lines, "", f"The size that was held back took {truth / guess:.2f} times what the fit says."])


def main() -> None:
    text = PAGE.read_text()
    for name, made in (("costs", table()), ("fit", fitted())):
        marked = f"<!-- {name} -->\n\n{made}\n\n<!-- end of {name} -->"
        text = re.sub(rf"<!-- {name} -->.*<!-- end of {name} -->", lambda _, new=marked: new, text, flags=re.DOTALL)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
