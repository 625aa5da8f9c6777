"""`textspectra cache`: size of the cache, its limit, and how to empty it."""

from __future__ import annotations

from typing import Any

import click

from .output import json_option, print_json
from .summary import count_of


def _size(context: click.Context, option: click.Parameter, chosen: str | None) -> int | None:
    from ..embedding.cache import parse_size

    return None if chosen is None else parse_size(chosen)


@click.command("cache")
@click.option(
    "--clear", type=click.Choice(["cache", "work"]), is_flag=False, flag_value="cache",
    help="Delete all of it; with the word work, what runs over many files left when they failed.",
)  # fmt: skip
@click.option(
    "--limit",
    metavar="SIZE",
    callback=_size,
    allow_from_autoenv=False,  # TEXTSPECTRA_CACHE_LIMIT is a limit for now, this one is kept
    help="Room for embeddings from now on, such as 500MB or 20GB; 5GB by default. The least recently used go first.",
)
@json_option
def command(clear: str | None, limit: int | None, as_json: bool) -> None:
    """Show the folder and the size of the cache of embeddings and converted models; --clear empties it."""
    from ..embedding import EmbeddingCache
    from ..embedding.weights import clear_weights
    from ..errors import UsageError

    cache = EmbeddingCache()
    if limit is not None:
        cache.set_limit(limit)
    found = cache_sizes(cache)
    if not as_json:
        _print(found)
    told = "cleared"
    if clear == "work":
        from ..texts.files.working import clear_work, in_bytes

        n_folders, n_bytes = clear_work()
        told = f"{count_of(n_folders, 'work folder')} of failed runs, {in_bytes(n_bytes)}, removed"
    elif clear:
        cache.clear()
        clear_weights()
        left = cache_sizes(cache)
        if left["embeddings_bytes"] or left["converted_models_bytes"]:
            raise UsageError(f"{cache.folder} could not be cleared; check who may write there.")
    if as_json:
        print_json({**found, "cleared": clear is not None})
    elif clear:
        click.echo(told)


def cache_sizes(cache: Any) -> dict[str, Any]:
    """Return where a cache is, and how much it holds, as --json prints it."""
    from ..embedding.weights import weights_size

    size, (n_models, n_bytes) = cache.size(), weights_size()
    return {
        "folder": str(cache.folder),
        "embeddings": size.entries,
        "embeddings_bytes": size.bytes,
        "limit_bytes": cache.limit(),
        "models": list(size.models),
        "converted_models": n_models,
        "converted_models_bytes": n_bytes,
    }


def _print(found: dict[str, Any]) -> None:
    from ..embedding.folders import in_megabytes

    size, limit = (in_megabytes(found[name]) for name in ("embeddings_bytes", "limit_bytes"))
    click.echo(f"{count_of(found['embeddings'], 'embedding')}, {size} of at most {limit}, in {found['folder']}")
    for name in found["models"]:
        click.echo(f"  {name}")
    size = in_megabytes(found["converted_models_bytes"])
    click.echo(f"{count_of(found['converted_models'], 'converted model')}, {size}")
