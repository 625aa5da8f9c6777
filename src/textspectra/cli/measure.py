"""`textspectra embed`, `estimate` and `score`: embeddings, the number of groups, and the scores of any clustering."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import check_outputs, command, given_embeddings, read_input
from .output import Options, Stages, Summary, manner, present, stages
from .summary import count_of, model_line

if TYPE_CHECKING:
    from ..core.estimate import Method
    from ..tables.columns import TextTable
    from ..texts.corpus import EmbeddedTexts

_Described = dict[str, str | None]
"""The model and why it was chosen, as --json prints them."""


@command("embed")
def embed_command(source: str, target: str, overwrite: bool, **chosen: Any) -> None:
    """Write the embeddings of the texts of FILE to OUT: .npy, or .parquet with the texts beside them.

    There is one row per text. Blank texts get a row of zeros, which no other command counts.
    """
    from ..tables.write import write_embeddings

    path = Path(target)
    check_outputs({"embeddings": path}, overwrite=overwrite)
    with stages() as tell:
        table, texts, described = _embed(source, chosen, tell)
        X = texts.vectors_of_rows()
        tell("writing")
        write_embeddings(X, path, texts=table.texts(), overwrite=True)
    summary = {"input": source, "texts": X.shape[0], "dimensions": X.shape[1], "outputs": {"embeddings": str(path)}}
    lines = [f"{count_of(X.shape[0], 'embedding')} of {X.shape[1]} dimensions in {path}", *_model_lines(described)]
    present(summary | described, lambda: click.echo("\n".join(lines)))


@command("estimate")
def estimate_command(source: str, method: Method, seed: int, **chosen: Any) -> None:
    """Estimate how many groups the texts of FILE have, with the interval of the estimate."""
    from ..core.estimate import estimate_k
    from ..errors import UserError
    from ..texts.sentences import levels_in_words

    with stages() as tell:
        _, texts, described = _embed(source, chosen, tell)
        tell("estimating")
        if len(texts.vectors) < 2:
            raise UserError(f"There are {len(texts.vectors)} different texts that the model knows; 2 are needed.")
        estimate = estimate_k(texts.vectors, method=method, sample_weight=texts.weights, random_state=seed)
    summary = {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "confidence": estimate.confidence,
        "suggestions": [suggestion._asdict() for suggestion in estimate.suggestions],
        "method": estimate.method,
        "texts": len(texts.corpus.rows),
        "texts_used": int(texts.weights.sum()),
        **described,
    }
    lines = [repr(estimate), *_model_lines(described)]
    if len(estimate.suggestions) > 1:
        lines.append(levels_in_words(estimate.suggestions))
    _print(summary, str(estimate.k) if manner().quiet else "\n".join(lines))


@command("score")
def score_command(source: str, labels: str, truth: str | None, seed: int, **chosen: Any) -> None:
    """Score the clustering in a column of FILE: the Cohesion Ratio and every other metric."""
    import numpy as np

    from ..core.metrics import evaluate
    from ..errors import UserError
    from ..tables.columns import column_values
    from ..texts.sentences import worth_in_words

    with stages() as tell:
        table, texts, described = _embed(source, chosen, tell, labels, truth)
        tell("scoring")
        clusters = column_values(table.table, labels)
        classes = column_values(table.table, truth) if truth else None
        keep = [row for row in np.flatnonzero(texts.rows_that_count) if clusters[row] not in (None, "")]
        if len(keep) < 2:
            raise UserError(f"Only {len(keep)} rows have both a text that can be embedded and a value in {labels!r}.")
        scores = evaluate(
            texts.X[texts.corpus.codes[keep]],
            [clusters[row] for row in keep],
            None if classes is None else [classes[row] if classes[row] is not None else "" for row in keep],
            random_state=seed,
        )
    left_out, ratio = len(clusters) - len(keep), scores["cohesion_ratio"]
    lines = [] if manner().quiet else _model_lines(described)
    if left_out:
        lines.append(f"left out, without a label or a text that can be embedded: {left_out:,}")
    for name, value in scores.items():
        digits = 0 if float(value).is_integer() else 4
        figure = "not defined" if math.isnan(value) else f"{value:,.{digits}f}"
        lines.append(f"{name.replace('_', ' '):>20}  {figure}")
    if not math.isnan(ratio) and not manner().quiet:
        lines.append(f"\n{worth_in_words(ratio, len({clusters[row] for row in keep}))}")
    _print({**scores, "rows_left_out": left_out, **described}, "\n".join(lines))


def _embed(
    source: str, chosen: Options, tell: Stages, *columns: str | None
) -> tuple[TextTable, EmbeddedTexts, _Described]:
    """Read a table, which must have the columns, and embed its texts."""
    from ..tables.columns import find_column
    from ..texts.corpus import Corpus
    from ..texts.notes import doubt_about_languages
    from ..texts.pipeline import embed_source

    tell("reading")
    table = read_input(source, chosen)
    for column in filter(None, columns):
        find_column(table.table, column)
    corpus = Corpus.from_texts(table.texts(), keep_all=chosen.get("keep_all", True))
    corpus.check_content()
    embeddings = given_embeddings(chosen.get("embeddings"), table)
    cache = not chosen["no_cache"]
    texts, languages, encoder, reason = embed_source(corpus, chosen["model"], embeddings, cache=cache, progress=tell)
    name = encoder.name if encoder else None
    if doubt := doubt_about_languages(languages, name):
        warnings.warn(doubt, stacklevel=2)
    return table, texts, {"model": name, "model_reason": reason or None}


def _model_lines(described: _Described) -> list[str]:
    reason = described["model_reason"]
    return [model_line(described["model"], reason)] if reason else []


def _print(summary: Summary, text: str) -> None:
    """Print a summary as JSON, or a text, which --quiet has made short."""
    if manner().json:
        present(summary, lambda: None)
    else:
        click.echo(text)
