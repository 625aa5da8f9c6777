"""`textspectra models`: what can embed texts here."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from .common import json_option


@click.command("models")
@json_option
def command(as_json: bool) -> None:
    """List the embedding models that can be used, and what each needs."""
    from ..embedding import known_models

    models = known_models()
    if as_json:
        click.echo(json.dumps([asdict(model) for model in models], indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("model", "dimensions", "ready", "needs", "what it is"):
        table.add_column(column, overflow="fold")
    for model in models:
        dimension = str(model.dimension) if model.dimension else ""
        needs = "" if model.installed else model.needs.replace("[", "\\[")
        table.add_row(model.name, dimension, "yes" if model.installed else "no", needs, model.summary)
    Console(highlight=False).print(table)
