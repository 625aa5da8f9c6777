"""`textspectra predict`: new texts into known groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import (
    cache_option,
    given_embeddings,
    input_options,
    offline_option,
    output_options,
    read_input,
    stages,
    table_options,
)

if TYPE_CHECKING:
    from ..io import TableFormat


@click.command("predict")
@click.argument("model", metavar="MODEL")
@click.option("--out", metavar="FILE", help="The output table; FILE.predicted.* next to the input by default.")
@input_options
@click.option(
    "--embeddings", metavar="FILE_OR_COLUMN", help="Embeddings of the texts, where the model was made of such."
)
@offline_option
@cache_option
@table_options
@output_options
def command(
    model: str, source: str, out: str | None, text_column: str | None, encoding: str | None, sheet: str | None,
    embeddings: str | None, no_cache: bool, table_format: TableFormat | None, spreadsheet_safe: bool, overwrite: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Add the columns cluster, cluster_name and similarity to the texts of FILE, by the saved MODEL folder."""
    from ..io import name_parts, output_format, output_paths_free, write_labelled
    from ..texts.clustered import groups_of
    from ..texts.result import TextClustering

    with stages(quiet=quiet) as tell:
        tell("reading")
        clustering = TextClustering.load(model)
        table = read_input(source, text_column, encoding, sheet)
        stem, suffix = name_parts(source, table, table_format)
        path = Path(out) if out else Path(source).with_name(f"{stem}.predicted{suffix}")
        output_paths_free([path], overwrite=overwrite)
        form = output_format(path, table, table_format)
        tell("embedding")
        given = given_embeddings(embeddings, table)
        labels, similarity = clustering.predict(
            table.texts(), embeddings=given, return_similarity=True, cache=not no_cache
        )
        tell("writing")
        groups = groups_of(clustering)
        write_labelled(
            table, groups.columns(labels, similarity), path, chosen=form, groups=groups.count(labels),
            spreadsheet_safe=spreadsheet_safe, overwrite=overwrite,
        )  # fmt: skip
    if not quiet:
        missing = int((labels < 0).sum())
        found = len(set(labels[labels >= 0]))
        click.echo(f"{len(labels) - missing:,} texts in {found} groups, {missing:,} without one, in {path}")
