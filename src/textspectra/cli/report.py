"""`textspectra report`: write the page of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import output_options, saved_model_options, stages
from .output import json_option, print_json, printing

if TYPE_CHECKING:
    from ..texts.result import TextClustering

model_argument = click.argument("model", metavar="MODEL")
embeddings_option = click.option(
    "--embeddings", metavar="FILE", help="The embeddings that the model was made from, if they were given as a file."
)


@click.command("report")
@model_argument
@click.option("--out", metavar="FILE", help="The page; NAME.report.html next to the folder NAME.model by default.")
@embeddings_option
@saved_model_options
@output_options
@json_option
def command(model: str, out: str | None, embeddings: str | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Write a page to explore the saved MODEL folder in a browser: one HTML file that needs no network."""
    from ..io import output_paths_free
    from ..report import write_report

    path = Path(out) if out else report_path(Path(model))
    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        output_paths_free([path], overwrite=overwrite)
        write_report(load_model(model, embeddings), path, overwrite=overwrite, progress=tell)
    with printing([path]):
        if as_json:
            print_json({"model": model, "outputs": {"report": str(path)}})
        elif not quiet:
            click.echo(f"open this in a browser: {path}")


def report_path(model: Path) -> Path:
    """Return where the page of a model folder is by default.

    Examples
    --------
    >>> report_path(Path("messages.model")).name
    'messages.report.html'
    """
    return model.with_name(f"{model.name.removesuffix('.model')}.report.html")


def load_model(model: str, embeddings: str | None) -> TextClustering:
    """Load a model folder, with its embeddings if a file of them is given."""
    from ..io import read_embeddings
    from ..texts.result import TextClustering

    return TextClustering.load(model, embeddings=None if embeddings is None else read_embeddings(Path(embeddings)))
