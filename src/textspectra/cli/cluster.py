"""`textspectra cluster`: the main job."""

from __future__ import annotations

import glob
import itertools
import json
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
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
    from ..texts.result import TextClustering


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
@click.option("--truth", metavar="COLUMN", help="A column of true classes, to compare with in the report.")
@click.option("--no-report", is_flag=True, help="Leave out the report, which takes longest for many texts.")
@click.option(
    "--scheduler", metavar="tcp://HOST:PORT|local", help="For many files: let the workers of Dask do the work."
)
@overwrite_option
@quiet_option
@json_option
def command(source: str, out: str | None, as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, text; compressed too; - for standard input).

    Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity),
    FILE.report.html (a page to explore the groups in a browser) and the folder FILE.model, and
    prints what was found.

    FILE may be a pattern in quotes, such as 'folder/*.parquet': the texts of all files, which need not fit into
    memory, are grouped together, and the folder folder.clusters gets a Parquet file for each. A run that was stopped
    goes on where it was. With --scheduler the files are shared out to workers that see the same folders.
    """
    from ..io import is_pattern
    from .summary import print_summary, summarize

    scheduler = chosen.pop("scheduler")
    with stages(quiet=quiet or as_json) as tell:
        if is_pattern(source):
            summary = run_on_many(source, out, tell, scheduler=scheduler, **chosen)
        elif scheduler is not None:
            raise click.UsageError(
                "--scheduler is for many files: give a pattern in quotes, such as 'folder/*.parquet'."
            )
        else:
            result, table, outputs = run(source, out, tell, **chosen)
            tell.finish()
            summary = summarize(result, source, table.text_column, outputs, tell.seconds)
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    elif not quiet:
        print_summary(summary)


def run(
    source: str, out: str | None, tell: Stages, *, text_column: str | None = None, encoding: str | None = None,
    algorithm: Any = "kmeans", clusters: str = "auto", model: str = "wordllama", embeddings: str | None = None,
    no_cache: bool = False, name_with: str | None = None, seed: int = 0, spreadsheet_safe: bool = False,
    truth: str | None = None, no_report: bool = False, overwrite: bool = False,
) -> tuple[TextClustering, TextTable, dict[str, Path]]:  # fmt: skip
    """Do what the command does, but print nothing."""
    from dataclasses import replace

    from ..io import cluster_columns, column_values, output_paths_free
    from ..texts.hierarchy import hierarchy_of
    from ..texts.pipeline import cluster_texts
    from ..texts.storage import model_folder_free

    n_clusters = _number_of_clusters(clusters)
    tell("reading")
    table = read_input(source, text_column, encoding)
    classes = column_values(table.table, truth) if truth else None
    outputs = output_paths(source, out, table)
    if no_report:
        del outputs["report"]
    check_folder(outputs["table"].parent)
    output_paths_free([path for name, path in outputs.items() if name != "model"], overwrite=overwrite)
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
    options = {
        "--text-column": table.text_column, "--encoding": encoding, "--algorithm": algorithm, "--clusters": clusters,
        "--model": None if embeddings else model, "--embeddings": embeddings, "--name-with": name_with,
        "--seed": str(seed), "--truth": truth,
    }  # fmt: skip
    result = replace(result, recipe={**result.recipe, "command": _command_line(source, options)})
    with _put_in_place_together(outputs) as waiting:
        if not no_report:
            result = replace(result, hierarchy=hierarchy_of(result))
            result.report(waiting["report"], truth=classes, progress=tell)
        tell("writing")
        columns = cluster_columns(result.labels, [topic.name for topic in result.topics], result.similarity)
        write_labelled(table, columns, waiting["table"], spreadsheet_safe=spreadsheet_safe, overwrite=False)
        result.save(outputs["model"], overwrite=overwrite)
    return result, table, outputs


def run_on_many(
    pattern: str, out: str | None, tell: Stages, *, clusters: str, model: str, embeddings: str | None, no_cache: bool,
    name_with: str | None, spreadsheet_safe: bool, truth: str | None, no_report: bool, **chosen: Any,
) -> dict[str, Any]:  # fmt: skip
    """Group the texts of all files that a pattern stands for, and return what to print."""
    from ..io import matching_files
    from ..texts.files import cluster_files
    from .summary import summarize_dataset

    for option, value in (("--name-with", name_with), ("--truth", truth), ("--spreadsheet-safe", spreadsheet_safe)):
        if value:
            raise click.UsageError(f"{option} is for a single file, but {pattern!r} stands for many.")
    if embeddings and Path(embeddings).suffix in (".npy", ".parquet"):
        raise click.UsageError(f"--embeddings must be a column of each file, but {embeddings!r} looks like a file.")
    n_clusters = _number_of_clusters(clusters)
    files = matching_files(pattern)
    # The folder of the files is the part of the pattern before its first sign.
    fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))
    place = (Path(out) if out else fixed.parent) / f"{fixed.name or 'texts'}.clusters"
    check_folder(place.parent)
    place.parent.mkdir(parents=True, exist_ok=True)
    found = cluster_files(
        files,
        place,
        model=model,
        embeddings=embeddings,
        n_clusters=n_clusters,
        cache=not no_cache,
        progress=tell,
        **chosen,
    )
    tell.finish()
    return summarize_dataset(found, pattern, None if embeddings else model, chosen["algorithm"], tell.seconds)


def output_paths(source: str, out: str | None, table: TextTable) -> dict[str, Path]:
    """Return where the table, the report and the model go."""
    stem, suffix = name_parts(source, table)
    folder = Path(out) if out else Path(source).parent
    return {
        "table": folder / f"{stem}.clusters{suffix}",
        "report": folder / f"{stem}.report.html",
        "model": folder / f"{stem}.model",
    }


def _number_of_clusters(clusters: str) -> Any:
    if clusters == "auto":
        return clusters
    if clusters.isdecimal() and int(clusters) > 0:
        return int(clusters)
    raise click.BadParameter(f"{clusters!r} is neither auto nor a whole number above 0.", param_hint="--clusters")


def _named_by(model: str, result: TextClustering) -> TextClustering:
    from dataclasses import replace

    from ..embedding.openai import OpenAIServer
    from ..topics.chat_names import name_topics

    return replace(
        result, topics=tuple(name_topics(result.topics, result.corpus.rows, model=model, server=OpenAIServer()))
    )


def _command_line(source: str, options: dict[str, str | None]) -> str:
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    return f"textspectra cluster {shlex.join([source, *given])}"


@contextmanager
def _put_in_place_together(outputs: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """Yield other names for the files among the outputs; they get their own once all of them are there."""
    files = {name: path for name, path in outputs.items() if name != "model"}
    outputs["table"].parent.mkdir(parents=True, exist_ok=True)
    waiting = {name: path.with_name(f".{secrets.token_hex(8)}.{path.name}") for name, path in files.items()}
    try:
        yield waiting
        for name, path in files.items():
            waiting[name].replace(path)
    finally:
        for path in waiting.values():
            path.unlink(missing_ok=True)
