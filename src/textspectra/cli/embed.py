"""`textspectra embed`: texts to vectors."""

from __future__ import annotations

from pathlib import Path

import click

from .common import (
    cache_option,
    embed_source,
    input_options,
    model_line,
    model_option,
    output_options,
    read_input,
    stages,
)
from .output import json_option, print_json, printing
from .summary import count_of


@click.command("embed")
@input_options
@click.argument("target", metavar="OUT")
@model_option
@cache_option
@output_options
@json_option
def command(
    source: str, target: str, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None,
    model: str, no_cache: bool, overwrite: bool, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write the embeddings of the texts of FILE to OUT: .npy, or .parquet with the texts beside them.

    There is one row per text. Blank texts get a row of zeros, which no other command counts.
    """
    from ..io import output_paths_free, write_embeddings

    path = Path(target)
    output_paths_free([path], overwrite=overwrite)
    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        table = read_input(source, text_column, encoding, sheet, header_row)
        texts, described = embed_source(table, model, None, cache=not no_cache, tell=tell)
        X = texts.vectors_of_rows()
        tell("writing")
        write_embeddings(X, path, texts=table.texts(), overwrite=overwrite)
    summary = {"input": source, "texts": X.shape[0], "dimensions": X.shape[1], "outputs": {"embeddings": str(path)}}
    with printing([path]):
        if as_json:
            print_json({**summary, **described})
        elif not quiet:
            click.echo(f"{count_of(X.shape[0], 'embedding')} of {X.shape[1]} dimensions in {path}")
            if described["model_reason"]:
                click.echo(model_line(described))
