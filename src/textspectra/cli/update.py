"""`textspectra update`: take a new file into a model, whose groups keep their labels and names."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from .common import stages
from .comparing import compare_inputs, comparing_options, read_inputs, write_outputs
from .output import print_json, printing


@click.command("update")
@comparing_options
@click.option("--again", is_flag=True, help="Take in a file again that the model has already, so that it counts twice.")
def command(model: str, sources: tuple[str, ...], again: bool, as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Take the texts of FILE into the saved MODEL folder, and tell what is new, as `textspectra compare` does.

    Texts that fit a group of the model join it. New groups get new labels; a label never changes its meaning. Names
    that you gave are kept, and the model records what changed. Writes FILE.updated.* and FILE.updated.html. The
    model is replaced when all is complete; if the update is interrupted, it stays as it was. A file that the model
    took in before is refused, so that a job can be run again.
    """
    from ..atomic import replacing_together
    from ..texts.history import check_not_taken_in, content_digest
    from ..texts.result import TextClustering
    from ..texts.storage import write_clustering
    from ..texts.updating import updated
    from .changes import print_changes, summarize_changes

    with stages(quiet=quiet or as_json) as tell:
        inputs = read_inputs(sources, "updated", tell, **chosen)
        with replacing_together(Path(model), *inputs.outputs.values()) as together:
            before = TextClustering.load(model)
            digests = {
                f"'{name}'": content_digest(one.table) for name, one in zip(inputs.files, inputs.tables, strict=True)
            }
            if not again:
                check_not_taken_in(before, digests, "--again")
            found = compare_inputs(before, inputs, tell, **chosen)
            if not again and set(found.result.corpus.distinct) <= set(before.corpus.distinct):
                warnings.warn(
                    "The model has every text of the file already. If the file was taken in before, its texts count "
                    "twice.",
                    stacklevel=2,
                )
            write_outputs(found, inputs, together, tell, **chosen)
            with together.folder(Path(model)) as waiting:
                write_clustering(updated(before, found, list(digests.values())), waiting)
    summary = summarize_changes(found, model, sources, {**inputs.outputs, "model": Path(model)}, tell.seconds)
    with printing(summary["outputs"].values()):
        if as_json:
            print_json(summary)
        elif not quiet:
            print_changes(summary)
