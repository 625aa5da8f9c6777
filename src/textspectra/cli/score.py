"""`textspectra score`: score a clustering that comes from anywhere."""

from __future__ import annotations

import math

import click

from .common import embed_source, input_options, measuring_options, model_line, model_options, read_input, stages
from .output import print_json


@click.command("score")
@click.option("--labels", required=True, metavar="COLUMN", help="The column that holds the cluster of each text.")
@click.option("--truth", metavar="COLUMN", help="A column of true classes; adds ARI, NMI and others.")
@input_options
@model_options
@measuring_options
def command(
    source: str, labels: str, truth: str | None, text_column: str | None, encoding: str | None, sheet: str | None,
    header_row: int | None, model: str, embeddings: str | None, no_cache: bool, seed: int, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Score the clustering in a column of FILE: the Cohesion Ratio and every other metric."""
    import numpy as np

    from ..errors import UserError
    from ..io import column_values
    from ..metrics.evaluation import evaluate
    from ..report.sentences import worth_in_words

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
        n_groups = len({found[row] for row in keep})
        click.echo(f"\n{worth_in_words(scores['cohesion_ratio'], n_groups)}")
