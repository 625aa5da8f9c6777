"""`textspectra cache`: size of the cache, and how to empty it."""

from __future__ import annotations

import click

from .summary import count_of


@click.command("cache")
@click.option("--clear", is_flag=True, help="Delete all of it.")
def command(clear: bool) -> None:
    """Show the folder and the size of the cache of embeddings and converted models; --clear empties it."""
    from ..embedding import EmbeddingCache
    from ..embedding.weights import clear_weights, weights_size
    from ..errors import UserError

    cache = EmbeddingCache()
    size = cache.size()
    click.echo(f"{count_of(size.entries, 'embedding')}, {size.bytes / 2**20:,.1f} MB, in {cache.folder}")
    for name in size.models:
        click.echo(f"  {name}")
    n_models, n_bytes = weights_size()
    click.echo(f"{count_of(n_models, 'converted model')}, {n_bytes / 2**20:,.1f} MB")
    if clear:
        cache.clear()
        clear_weights()
        if cache.size().bytes or weights_size()[1]:
            raise UserError(f"{cache.folder} could not be cleared; check who may write there.")
        click.echo("cleared")
