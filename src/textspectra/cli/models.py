"""`textspectra models`: the embedding models that can be used here."""

from __future__ import annotations

from dataclasses import asdict

import click

from .output import json_option, print_json

LABELS = {"ready": "ready", "download": "download of ", "missing": "needs: "}


@click.command("models")
@json_option
def command(as_json: bool) -> None:
    """List the embedding models that can be used, and what each needs."""
    from ..embedding import known_models

    models = known_models()
    if as_json:
        print_json({"models": [asdict(model) for model in models]})
        return
    for model in models:
        dimension = f", {model.dimension:,} dimensions" if model.dimension else ""
        click.secho(model.name, bold=True, nl=False)
        click.echo(f" ({LABELS[model.status]}{model.needs}{dimension})")
        click.echo(f"    {model.summary}")
