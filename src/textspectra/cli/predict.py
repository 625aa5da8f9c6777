"""`textspectra predict`: new texts into known groups."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from .months import drift_summary, novelty_columns
from .options import (
    cache_option,
    given_embeddings,
    input_options,
    output_options,
    read_input,
    saved_model_options,
    stages,
    table_options,
)
from .output import json_option, print_json, printing

if TYPE_CHECKING:
    from ..tables.source import TableFormat
    from ..texts.comparison import Drift


@click.command("predict")
@click.argument("model", metavar="MODEL")
@click.option("--out", metavar="FILE", help="The output table; FILE.predicted.* next to the input by default.")
@input_options
@click.option(
    "--embeddings",
    metavar="FILE_OR_COLUMN",
    help="Embeddings of the new texts, if the model was built from precomputed embeddings.",
)
@saved_model_options
@cache_option
@table_options
@output_options
@json_option
def predict_command(
    model: str, source: str, out: str | None, text_column: str | None, encoding: str | None, sheet: str | None,
    header_row: int | None, embeddings: str | None, no_cache: bool, table_format: TableFormat | None,
    spreadsheet_safe: bool, overwrite: bool, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add cluster, cluster_name, similarity and novelty to the texts of FILE, by the saved MODEL folder.

    A novelty of 0 is usual, and nine tenths of the texts of the model are below 1. A warning tells if far more of the
    new texts are above 1: then the model no longer fits, and `textspectra compare` tells what is new.
    """
    from ..tables.write import ADDED, name_parts, output_format, output_paths_free, write_labeled
    from ..texts.clustered import clusters_of
    from ..texts.comparison import Drift, novelty_of
    from ..texts.notes import reading_in_words
    from ..texts.placing import place_texts, similarity_to_clusters
    from ..texts.result import TextClustering
    from .cluster import describe_reading

    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        clustering = TextClustering.load(model)
        table = read_input(source, text_column, encoding, sheet, header_row)
        stem, suffix = name_parts(source, table, table_format)
        path = Path(out) if out else Path(source).with_name(f"{stem}.predicted{suffix}")
        output_paths_free([path], overwrite=overwrite)
        form = output_format(path, table, table_format, ADDED + 1)
        tell("embedding")
        placed = place_texts(
            clustering, table.texts(), embeddings=given_embeddings(embeddings, table), cache=not no_cache,
            progress=lambda *step: tell("embedding", *step),
        )  # fmt: skip
        corpus, clusters = placed.texts.corpus, clusters_of(clustering)
        labels = corpus.spread(clustering.labels_of(placed.codes), -1)
        similarity = corpus.spread(similarity_to_clusters(placed.texts, placed.codes, clustering.centers), np.nan)
        novelty = corpus.spread(novelty_of(clustering, placed.texts), np.nan)
        tell("writing")
        write_labeled(
            table, clusters.columns(labels, similarity) | novelty_columns(novelty), path, chosen=form,
            clusters=clusters.count(labels), spreadsheet_safe=spreadsheet_safe, overwrite=overwrite,
        )  # fmt: skip
    drift = Drift.of(novelty)
    summary = {
        "read": reading_in_words(describe_reading(source, table), len(labels), placed.languages),
        "model": model, "input": source, "texts": len(labels), "without_cluster": int((labels < 0).sum()),
        "groups": len(set(labels[labels >= 0].tolist())), **drift_summary(drift), "notes": list(placed.notes),
        "outputs": {"table": str(path)},
    }  # fmt: skip
    _warn(drift, placed.notes, clustering.reference is None, f"textspectra compare {model} {source}")
    with printing([path]):
        if as_json:
            print_json(summary)
        elif not quiet:
            click.echo(summary["read"])
            grouped = int((labels >= 0).sum())
            click.echo(
                f"{grouped:,} texts in {summary['groups']} groups, {summary['without_cluster']:,} without, in {path}"
            )


def _warn(drift: Drift, notes: Sequence[str], lacks_vectors: bool, command: str) -> None:
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if lacks_vectors:
        warnings.warn(
            "this model was saved without the vectors that novelty is measured by; cluster its texts again to get it.",
            stacklevel=2,
        )
    if drift.is_significant:
        warnings.warn(f"{drift.in_words()} See what is new with: {predict_command}", stacklevel=2)
