"""Draws docs/cluster.svg: what `textspectra cluster` prints for the example, for the README. Run by `make picture`."""

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from textspectra.cli.cluster import run_cluster
from textspectra.cli.output import Stages
from textspectra.cli.summary import print_summary, summarize

EXAMPLE = Path(__file__).parents[1] / "examples" / "customer_messages.csv"

with tempfile.TemporaryDirectory() as folder:
    done = run_cluster([str(EXAMPLE)], Stages(None), out=folder)
    done = done._replace(outputs={name: Path(path.name) for name, path in done.outputs.items()})
    summary = summarize(done, EXAMPLE.name, {})

console = Console(record=True, width=118, file=io.StringIO(), highlight=False, force_terminal=True)
console.print("$ textspectra cluster customer_messages.csv", style="bold green")
print_summary(summary, console)
svg = console.export_svg(title="textspectra")
# Rich links web fonts; a picture in a repository should fetch nothing.
Path(__file__).with_name("cluster.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL))
