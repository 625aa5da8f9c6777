"""`textspectra embed`, `estimate` and `score`: embeddings, the number of groups, and the scores of any clustering."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..core.estimate import Method, estimate_k
from ..core.metrics import evaluate
from ..errors import UserError
from ..tables.columns import TextTable, column_values, find_column
from ..tables.write import write_embeddings
from ..texts.corpus import Corpus, EmbeddedTexts
from ..texts.notes import doubt_about_languages
from ..texts.pipeline import embed_source
from ..texts.sentences import levels_in_words, worth_in_words
from .inputs import check_outputs, given_embeddings, read_input
from .output import Options, Stages, Summary, count_of, present, stages
from .summary import model_lines


def embed_command(source: str, target: str, overwrite: bool, **chosen: Any) -> None:
    """Write the embeddings of the texts of a file."""
    path = Path(target)
    check_outputs({"embeddings": path}, overwrite=overwrite)
    with stages() as tell:
        table, texts, described = _embed(source, chosen, tell)
        X = texts.vectors_of_rows()
        tell("writing")
        write_embeddings(X, path, texts=table.texts(), overwrite=True)
    summary = {"input": source, "texts": X.shape[0], "dimensions": X.shape[1], "outputs": {"embeddings": str(path)}}
    lines = [f"{count_of(X.shape[0], 'embedding')} of {X.shape[1]} dimensions in {path}", *model_lines(described)]
    present(summary | described, "\n".join(lines))


def estimate_command(source: str, method: Method, seed: int, **chosen: Any) -> None:
    """Estimate how many groups the texts of a file have."""
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
    lines = [repr(estimate), *model_lines(described)]
    if len(estimate.suggestions) > 1:
        lines.append(levels_in_words(estimate.suggestions))
    present(summary, "\n".join(lines), bare=str(estimate.k))


def score_command(source: str, labels: str, truth: str | None, seed: int, **chosen: Any) -> None:
    """Score the clustering in a column of a file."""
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
    left_out, ratio, figures = len(clusters) - len(keep), scores["cohesion_ratio"], []
    if left_out:
        figures.append(f"left out, without a label or a text that can be embedded: {left_out:,}")
    for name, value in scores.items():
        digits = 0 if float(value).is_integer() else 4
        figure = "not defined" if math.isnan(value) else f"{value:,.{digits}f}"
        figures.append(f"{name.replace('_', ' '):>20}  {figure}")
    lines = [*model_lines(described), *figures]
    if not math.isnan(ratio):
        lines.append(f"\n{worth_in_words(ratio, len({clusters[row] for row in keep}))}")
    present({**scores, "rows_left_out": left_out, **described}, "\n".join(lines), bare="\n".join(figures))


def _embed(
    source: str, chosen: Options, tell: Stages, *columns: str | None
) -> tuple[TextTable, EmbeddedTexts, Summary]:
    """Read a table, which must have the columns, and embed its texts; return them, the model and why it was chosen."""
    tell("reading")
    table = read_input(source, chosen)
    for column in filter(None, columns):
        find_column(table.table, column)
    corpus = Corpus.from_texts(table.texts(), keep_all=chosen.get("keep_all", True))
    corpus.check_content()
    embeddings = given_embeddings(chosen.get("embeddings"), table)
    embedded = embed_source(corpus, chosen["model"], embeddings, cache=not chosen["no_cache"], progress=tell)
    name = embedded.encoder.name if embedded.encoder else None
    if doubt := doubt_about_languages(embedded.languages, name):
        warnings.warn(doubt, stacklevel=2)
    return table, embedded.texts, {"model": name, "model_reason": embedded.reason or None}
