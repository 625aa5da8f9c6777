"""`textspectra compare`: what is new in a file, against a model that stays as it is."""

from __future__ import annotations

from typing import Any

import click

from .common import make_folder, stages
from .comparing import compare_inputs, comparing_options, read_inputs, write_outputs
from .output import print_json, printing


@click.command("compare")
@comparing_options
def command(model: str, sources: tuple[str, ...], as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Tell what is new in FILE, against the saved MODEL folder, which stays as it is.

    Finds new groups, groups that grow, shrink or are gone since the last file of the model, and texts that fit
    nothing. Writes FILE.compared.* (every column of the input, and cluster, cluster_name, similarity, novelty and
    is_new) and FILE.compared.html, a page that begins with what changed. Several files, or a pattern in quotes, are
    compared together. A novelty of 0 is usual, and nine tenths of the texts of the model are below 1.
    """
    from ..atomic import replacing_together
    from ..texts.result import TextClustering
    from .changes import print_changes, summarize_changes

    with stages(quiet=quiet or as_json) as tell:
        inputs = read_inputs(sources, "compared", tell, **chosen)
        found = compare_inputs(TextClustering.load(model), inputs, tell, **chosen)
        make_folder(inputs.outputs["table"].parent)
        with replacing_together(*inputs.outputs.values()) as together:
            write_outputs(found, inputs, together, tell, **chosen)
    summary = summarize_changes(found, model, sources, inputs.outputs, tell.seconds)
    with printing(summary["outputs"].values()):
        if as_json:
            print_json(summary)
        elif not quiet:
            print_changes(summary)
