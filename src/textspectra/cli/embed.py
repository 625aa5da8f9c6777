"""`textspectra embed`: texts to vectors."""

from __future__ import annotations

from pathlib import Path

import click

from .common import embed_source, input_options, overwrite_option, quiet_option, read_input, source_argument, stages


@click.command("embed")
@source_argument
@click.argument("target", metavar="OUT")
@input_options
@click.option("--model", default="wordllama", show_default=True, metavar="NAME", help="See `textspectra models`.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of embeddings.")
@overwrite_option
@quiet_option
def command(
    source: str, target: str, text_column: str | None, encoding: str | None, model: str, no_cache: bool,
    overwrite: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write the embeddings of the texts of FILE to OUT: .npy, or .parquet with the texts beside them.

    There is one row per text. Blank texts get a row of zeros, which no other command counts.
    """
    from ..io import output_paths_free, write_embeddings

    path = Path(target)
    output_paths_free([path], overwrite=overwrite)
    with stages(quiet=quiet) as tell:
        tell("reading")
        table = read_input(source, text_column, encoding)
        X = embed_source(table, model, None, cache=not no_cache, tell=tell).vectors_of_rows()
        tell("writing")
        write_embeddings(X, path, texts=table.texts(), overwrite=overwrite)
    if not quiet:
        click.echo(f"{X.shape[0]:,} embeddings of {X.shape[1]} dimensions in {path}")
