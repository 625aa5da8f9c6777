"""`textspectra cluster`: the main job."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .common import (
    Stages,
    check_folder,
    given_embeddings,
    input_options,
    json_option,
    model_options,
    name_parts,
    overwrite_option,
    quiet_option,
    read_input,
    seed_option,
    source_argument,
    stages,
    write_labelled,
)

if TYPE_CHECKING:
    from ..io import TextTable
    from ..result import TextClustering


@click.command("cluster")
@source_argument
@click.option("--out", metavar="FOLDER", help="Where outputs go; next to the input by default.")
@input_options
@click.option("--algorithm", type=click.Choice(["kmeans", "hac"]), default="kmeans", show_default=True)
@click.option(
    "--clusters", default="auto", show_default=True, metavar="auto|N", help="A number overrules the estimate."
)
@model_options
@click.option("--name-with", metavar="MODEL", help="Name groups by a chat model (OPENAI_BASE_URL, OPENAI_API_KEY).")
@seed_option
@click.option("--spreadsheet-safe", is_flag=True, help="Escape cells of CSV output that a spreadsheet would run.")
@overwrite_option
@quiet_option
@json_option
def command(source: str, out: str | None, as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, text; compressed too; - for standard input).

    Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity)
    and the folder FILE.model, and prints what was found.
    """
    from .summary import print_summary, summarize

    with stages(quiet=quiet or as_json) as tell:
        result, table, outputs = run(source, out, tell, **chosen)
    summary = summarize(result, source, table.text_column, outputs, tell.seconds)
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    elif not quiet:
        print_summary(summary)


def run(
    source: str, out: str | None, tell: Stages, *, text_column: str | None = None, encoding: str | None = None,
    algorithm: Any = "kmeans", clusters: str = "auto", model: str = "wordllama", embeddings: str | None = None,
    no_cache: bool = False, name_with: str | None = None, seed: int = 0, spreadsheet_safe: bool = False,
    overwrite: bool = False,
) -> tuple[TextClustering, TextTable, dict[str, Path]]:  # fmt: skip
    """Do what the command does, but print nothing."""
    from ..io import output_paths_free
    from ..pipeline import cluster_texts
    from ..storage import model_folder_free

    n_clusters = _number_of_clusters(clusters)
    tell("reading")
    table = read_input(source, text_column, encoding)
    outputs = output_paths(source, out, table)
    check_folder(outputs["table"].parent)
    output_paths_free([outputs["table"]], overwrite=overwrite)
    model_folder_free(outputs["model"], overwrite=overwrite)
    result = cluster_texts(
        table.texts(),
        model=model,
        embeddings=given_embeddings(embeddings, table),
        algorithm=algorithm,
        n_clusters=n_clusters,
        random_state=seed,
        cache=not no_cache,
        progress=tell,
    )
    if name_with:
        result = _named_by(name_with, result)
    tell("writing")
    _write(result, table, outputs, spreadsheet_safe=spreadsheet_safe, overwrite=overwrite)
    return result, table, outputs


def output_paths(source: str, out: str | None, table: TextTable) -> dict[str, Path]:
    """Return where the table and the model go."""
    stem, suffix = name_parts(source, table)
    folder = Path(out) if out else Path(source).parent
    return {"table": folder / f"{stem}.clusters{suffix}", "model": folder / f"{stem}.model"}


def _number_of_clusters(clusters: str) -> Any:
    if clusters == "auto":
        return clusters
    if clusters.isdecimal() and int(clusters) > 0:
        return int(clusters)
    raise click.BadParameter(f"{clusters!r} is neither auto nor a whole number above 0.", param_hint="--clusters")


def _named_by(model: str, result: TextClustering) -> TextClustering:
    from dataclasses import replace

    from ..naming import name_topics
    from ..openai_http import OpenAIServer

    return replace(
        result, topics=tuple(name_topics(result.topics, result.corpus.rows, model=model, server=OpenAIServer()))
    )


def _write(
    result: TextClustering, table: TextTable, outputs: dict[str, Path], *, spreadsheet_safe: bool, overwrite: bool
) -> None:
    import pyarrow as pa

    labels = result.labels
    columns = {
        "cluster": pa.array(labels, mask=labels < 0),
        "cluster_name": pa.array(result.names, pa.string()),
        "similarity": pa.array(result.similarity.astype(float).round(4), mask=labels < 0),
    }
    target = outputs["table"]
    target.parent.mkdir(parents=True, exist_ok=True)
    # The table waits under another name until the model is there: both appear, or neither.
    waiting = target.with_name(f".{secrets.token_hex(8)}.{target.name}")
    try:
        write_labelled(table, columns, waiting, spreadsheet_safe=spreadsheet_safe, overwrite=False)
        result.save(outputs["model"], overwrite=overwrite)
        waiting.replace(target)
    finally:
        waiting.unlink(missing_ok=True)
