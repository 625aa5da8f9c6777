"""`textspectra cache`: what is kept on disk."""

from __future__ import annotations

import click


@click.command("cache")
@click.option("--clear", is_flag=True, help="Delete every cached embedding.")
def command(clear: bool) -> None:
    """Show where the cache of embeddings is and how large; --clear empties it."""
    from ..embedding import EmbeddingCache

    cache = EmbeddingCache()
    size = cache.size()
    click.echo(f"{size.entries:,} embeddings, {size.bytes / 2**20:,.1f} MB, in {cache.folder}")
    for name in size.models:
        click.echo(f"  {name}")
    if clear:
        cache.clear()
        click.echo("cleared")
