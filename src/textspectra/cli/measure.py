"""`textspectra embed`, `estimate`, `score` and `predict`: embeddings, k, the scores of a clustering, and new texts."""

from __future__ import annotations

import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..core.estimate import Method, estimate_k
from ..core.metrics import evaluate
from ..errors import UserError
from ..hygiene import plural
from ..tables.columns import TextTable, column_values, find_column
from ..tables.write import ADDED, name_parts, output_format, write_embeddings
from ..texts.comparison import Drift, novelty_of
from ..texts.corpus import Corpus, EmbeddedTexts
from ..texts.grouping import place_texts, similarity_to_clusters
from ..texts.notes import doubt_about_languages, notes_on_ignored, notes_on_reading, reading_in_words
from ..texts.pipeline import embed_source
from ..texts.result import TextClustering
from ..texts.sentences import levels_in_words
from ..texts.verdict import judge
from .inputs import check_outputs, describe_reading, given_embeddings, read_input, write_rows
from .output import Options, Stages, Summary, model_lines, present, stages


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
    lines = [f"{plural(X.shape[0], 'embedding')} of {X.shape[1]} dimensions in {path}", *model_lines(described)]
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
        lines.append(f"\n{judge(ratio, len({clusters[row] for row in keep})).sentence}")
    present({**scores, "rows_left_out": left_out, **described}, "\n".join(lines), bare="\n".join(figures))


def predict_command(model: str, source: str, **chosen: Any) -> None:
    """Add the groups of a model to the texts of a file."""
    with stages() as tell:
        tell("reading")
        clustering = TextClustering.load(model)
        table = read_input(source, chosen)
        stem, suffix = name_parts(source, table, chosen["table_format"])
        path = Path(chosen["out"]) if chosen["out"] else Path(source).with_name(f"{stem}.predicted{suffix}")
        check_outputs({"table": path}, overwrite=chosen["overwrite"])
        output_format(path, table, chosen["table_format"], ADDED + 1)
        tell("embedding")
        placed = place_texts(
            clustering, table.texts(), embeddings=given_embeddings(chosen["embeddings"], table),
            cache=not chosen["no_cache"], progress=partial(tell, "embedding"),
        )  # fmt: skip
        corpus = placed.texts.corpus
        labels = corpus.spread(clustering.labels_of(placed.codes), -1)
        similarity = corpus.spread(similarity_to_clusters(placed.texts, placed.codes, clustering.centers), np.nan)
        novelty = corpus.spread(novelty_of(clustering, placed.texts), np.nan)
        tell("writing")
        write_rows(table, clustering, labels, similarity, path, chosen, novelty=novelty)
    drift, doubts = Drift.of(novelty), list(placed.notes)
    if clustering.reference is None:
        doubts.append(
            "this model was saved without the vectors that novelty is measured by; cluster its texts again to get it."
        )
    if drift.is_significant:
        doubts.append(f"{drift.in_words()} See what is new with: textspectra compare {model} {source}")
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)
    n_grouped, n_clusters = int((labels >= 0).sum()), len(set(labels[labels >= 0].tolist()))
    summary = {
        "read": reading_in_words(describe_reading(source, table), len(labels), placed.languages),
        "model": model, "input": source, "texts": len(labels), "without_cluster": len(labels) - n_grouped,
        "clusters": n_clusters, **describe_drift(drift), "notes": list(placed.notes), "outputs": {"table": str(path)},
    }  # fmt: skip
    line = f"{n_grouped:,} texts in {n_clusters} groups, {len(labels) - n_grouped:,} without, in {path}"
    present(summary, f"{summary['read']}\n{line}")


def describe_drift(drift: Drift) -> Summary:
    """Return the keys of --json that say how new the texts are on the whole, and whether the groups are out of date."""
    figures = drift._asdict()
    return {"drift": figures.pop("is_significant"), "novelty": figures}


def _embed(
    source: str, chosen: Options, tell: Stages, *columns: str | None
) -> tuple[TextTable, EmbeddedTexts, Summary]:
    """Read a table, which must have the columns, and embed its texts; return them, the model and why it was chosen."""
    tell("reading")
    table = read_input(source, chosen)
    for column in filter(None, columns):
        find_column(table.table, column)
    keep_all, ignore = chosen.get("keep_all", True), chosen.get("ignore", ())
    corpus = Corpus.from_texts(table.texts(), keep_all=keep_all, ignore=ignore)
    corpus.check_content()
    embeddings = given_embeddings(chosen.get("embeddings"), table)
    on_ignored = notes_on_ignored(corpus.ignore, corpus.unmatched, is_given=embeddings is not None)
    for note in (*notes_on_reading(corpus.emptied(), corpus.emptied()), *on_ignored):
        warnings.warn(note, stacklevel=2)
    cache = not chosen["no_cache"]
    texts, languages, encoder, reason = embed_source(corpus, chosen["model"], embeddings, cache=cache, progress=tell)
    name = encoder.name if encoder else None
    if doubt := doubt_about_languages(languages, name):
        warnings.warn(doubt, stacklevel=2)
    return table, texts, {"model": name, "model_reason": reason or None}
