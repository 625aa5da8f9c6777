"""`textspectra apply`: from the report back into the model."""

from __future__ import annotations

from pathlib import Path

import click

from .common import quiet_option
from .report import embeddings_option, load_model, model_argument


@click.command("apply")
@click.argument("state", metavar="STATE.json")
@model_argument
@embeddings_option
@quiet_option
def command(state: str, model: str, embeddings: str | None, quiet: bool) -> None:
    """Give the saved MODEL folder the number of groups and the names of STATE.json.

    The file is what "Download JSON" of a report writes. The model is replaced whole or not at all;
    `textspectra predict` and `textspectra report` follow it from then on.
    """
    from ..report import apply_state, read_state

    settled = read_state(Path(state))
    before = load_model(model, embeddings)
    after = apply_state(before, settled)
    after.save(model, overwrite=True)
    if not quiet:
        known = {topic.name for topic in before.topics}
        new = sum(topic.name not in known for topic in after.topics)
        click.echo(f"{model} has {after.n_clusters} groups now (it had {before.n_clusters}), {new} with a new name")
