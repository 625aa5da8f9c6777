"""`textspectra update`: take a new file into a model, whose groups keep their labels and names."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from .common import stages
from .comparing import compare_inputs, comparing_options, read_inputs, write_outputs
from .output import print_json


@click.command("update")
@comparing_options
def command(model: str, sources: tuple[str, ...], as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Take the texts of FILE into the saved MODEL folder, and tell what is new, as `textspectra compare` does.

    Texts that fit a group of the model join it. New groups get new labels; a label never changes its meaning. Names
    that you gave are kept, and the model records what changed. Writes FILE.updated.* and FILE.updated.html. The
    model is replaced when all is complete; if the update is interrupted, it stays as it was.
    """
    from ..atomic import replacing_together
    from ..texts.result import TextClustering
    from ..texts.storage import write_clustering
    from ..texts.updating import updated
    from .changes import print_changes, summarize_changes

    with stages(quiet=quiet or as_json) as tell:
        inputs = read_inputs(sources, "updated", tell, **chosen)
        with replacing_together(Path(model), *inputs.outputs.values()) as together:
            before = TextClustering.load(model)
            found = compare_inputs(before, inputs, tell, **chosen)
            if set(found.result.corpus.distinct) <= set(before.corpus.distinct):
                warnings.warn(
                    "The model has every text of the file already. If the file was taken in before, its texts count "
                    "twice.",
                    stacklevel=2,
                )
            write_outputs(found, inputs, together, tell, **chosen)
            with together.folder(Path(model)) as waiting:
                write_clustering(updated(before, found), waiting)
    summary = summarize_changes(found, model, sources, {**inputs.outputs, "model": Path(model)}, tell.seconds)
    if as_json:
        print_json(summary)
    elif not quiet:
        print_changes(summary)
