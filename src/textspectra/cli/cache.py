"""`textspectra cache`: size of the embedding cache, and how to empty it."""

from __future__ import annotations

import click


@click.command("cache")
@click.option("--clear", is_flag=True, help="Delete every cached embedding.")
def command(clear: bool) -> None:
    """Show the folder and the size of the embedding cache; --clear empties it."""
    from ..embedding import EmbeddingCache

    cache = EmbeddingCache()
    size = cache.size()
    click.echo(f"{size.entries:,} embeddings, {size.bytes / 2**20:,.1f} MB, in {cache.folder}")
    for name in size.models:
        click.echo(f"  {name}")
    if clear:
        cache.clear()
        click.echo("cleared")
