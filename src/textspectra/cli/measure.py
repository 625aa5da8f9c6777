"""`textspectra score`: score a clustering that comes from anywhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import click

from .options import (
    cache_option,
    embed_source,
    input_options,
    keep_option,
    measuring_options,
    model_line,
    model_option,
    model_options,
    output_options,
    read_input,
    stages,
)
from .output import json_option, print_json, printing
from .summary import count_of, levels


@click.command("embed")
@input_options
@click.argument("target", metavar="OUT")
@model_option
@cache_option
@output_options
@json_option
def embed_command(
    source: str, target: str, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None,
    model: str, no_cache: bool, overwrite: bool, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write the embeddings of the texts of FILE to OUT: .npy, or .parquet with the texts beside them.

    There is one row per text. Blank texts get a row of zeros, which no other command counts.
    """
    from ..tables.write import output_paths_free, write_embeddings

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
def estimate_command(
    source: str, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None, model: str,
    embeddings: str | None, no_cache: bool, method: Literal["auto", "reproducible", "spectral"], seed: int,
    quiet: bool, as_json: bool, keep_all: bool,
) -> None:  # fmt: skip
    """Estimate how many groups the texts of FILE have, with the interval of the estimate."""
    from ..core.estimate import estimate_k
    from ..errors import UserError

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


@click.command("score")
@click.option("--labels", required=True, metavar="COLUMN", help="The column that holds the cluster of each text.")
@click.option("--truth", metavar="COLUMN", help="A column of true classes; adds ARI, NMI and others.")
@input_options
@model_options
@measuring_options
def score_command(
    source: str, labels: str, truth: str | None, text_column: str | None, encoding: str | None, sheet: str | None,
    header_row: int | None, model: str, embeddings: str | None, no_cache: bool, seed: int, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Score the clustering in a column of FILE: the Cohesion Ratio and every other metric."""
    import numpy as np

    from ..core.metrics import evaluate
    from ..errors import UserError
    from ..tables.columns import column_values
    from ..texts.sentences import worth_in_words

    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        table = read_input(source, text_column, encoding, sheet, header_row)
        found = column_values(table.table, labels)
        true = column_values(table.table, truth) if truth else None
        texts, described = embed_source(table, model, embeddings, cache=not no_cache, tell=tell)
        tell("scoring")
        keep = [row for row in np.flatnonzero(texts.rows_that_count) if found[row] not in (None, "")]
        if len(keep) < 2:
            raise UserError(f"Only {len(keep)} rows have both a text that can be embedded and a value in {labels!r}.")
        scores = evaluate(
            texts.X[texts.corpus.codes[keep]],
            [found[row] for row in keep],
            None if true is None else [true[row] if true[row] is not None else "" for row in keep],
            random_state=seed,
        )
    left_out = len(found) - len(keep)
    if as_json:
        print_json({**scores, "rows_left_out": left_out, **described})
        return
    if described["model_reason"] and not quiet:
        click.echo(model_line(described))
    if left_out:
        click.echo(f"left out, without a label or a text that can be embedded: {left_out:,}")
    for name, value in scores.items():
        digits = 0 if float(value).is_integer() else 4
        figure = "not defined" if math.isnan(value) else f"{value:,.{digits}f}"
        click.echo(f"{name.replace('_', ' '):>20}  {figure}")
    if not math.isnan(scores["cohesion_ratio"]) and not quiet:
        n_clusters = len({found[row] for row in keep})
        click.echo(f"\n{worth_in_words(scores['cohesion_ratio'], n_clusters)}")
