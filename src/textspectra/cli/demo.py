"""`textspectra demo`: the main job on the example."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

from .cluster import run
from .common import stages
from .output import json_option, print_json, printing
from .summary import print_summary, summarize


@click.command("demo")
@click.option("--out", default="textspectra-demo", show_default=True, metavar="FOLDER", help="Where outputs go.")
@json_option
def command(out: str, as_json: bool) -> None:
    """Group 1,019 customer messages that come with the package, and say what to open."""
    with as_file(files("textspectra") / "data" / "customer_messages.csv") as example:
        with stages(quiet=as_json) as tell:
            done = run([str(example)], tell, out=out, overwrite=True)
        summary = summarize(done, str(example), tell.seconds)
    with printing(done.outputs.values()):
        if as_json:
            print_json(summary)
        else:
            print_summary(summary)
