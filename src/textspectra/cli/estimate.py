"""`textspectra estimate`: k and nothing else."""

from __future__ import annotations

from typing import Any, Literal

import click

from .common import (
    embed_source,
    input_options,
    keep_option,
    measuring_options,
    model_line,
    model_options,
    read_input,
    stages,
)
from .output import print_json
from .summary import levels


@click.command("estimate")
@input_options
@model_options
@keep_option
@click.option(
    "--method",
    type=click.Choice(["auto", "reproducible", "spectral"]),
    default="auto",
    show_default=True,
    help="How to find k: by the agreement of two halves of the data, or by the paper's spectrum.",
)
@measuring_options
def command(
    source: str, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None, model: str,
    embeddings: str | None, no_cache: bool, method: Literal["auto", "reproducible", "spectral"], seed: int,
    quiet: bool, as_json: bool, keep_all: bool,
) -> None:  # fmt: skip
    """Estimate how many groups the texts of FILE have, with the interval of the estimate."""
    from ..errors import UserError
    from ..granularity.estimate import estimate_k

    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        table = read_input(source, text_column, encoding, sheet, header_row)
        texts, described = embed_source(table, model, embeddings, cache=not no_cache, tell=tell, keep_all=keep_all)
        tell("estimating")
        if len(texts.vectors) < 2:
            raise UserError(f"There are {len(texts.vectors)} different texts that the model knows; 2 are needed.")
        estimate = estimate_k(texts.vectors, method=method, sample_weight=texts.weights, random_state=seed)
    summary: dict[str, Any] = {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "confidence": estimate.confidence,
        "suggestions": [suggestion._asdict() for suggestion in estimate.suggestions],
        "method": estimate.method,
        "texts": len(texts.corpus.rows),
        "texts_used": int(texts.weights.sum()),
        **described,
    }
    if as_json:
        print_json(summary)
        return
    if quiet:
        click.echo(str(estimate.k))
        return
    click.echo(repr(estimate))
    if described["model_reason"]:
        click.echo(model_line(described))
    if len(estimate.suggestions) > 1:
        click.echo(levels(summary["suggestions"]))
