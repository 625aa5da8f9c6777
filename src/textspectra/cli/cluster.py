"""`textspectra cluster`: the main job; and `open` and `demo`, which go with it."""

from __future__ import annotations

import glob
import itertools
import shlex
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .options import COMMANDS, Setting, check_outputs, command, defaults_of, given_embeddings, make_folder, read_input
from .output import Options, Stages, present, stages
from .summary import print_summary, summarize

if TYPE_CHECKING:
    from ..core.validation import Level
    from ..files import Outputs
    from ..tables.columns import TextTable
    from ..texts.result import TextClustering


@command("cluster")
def cluster_command(sources: tuple[str, ...], open_it: bool, **chosen: Any) -> None:
    """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, Excel, text; compressed too; - for standard input).

    Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity, and with
    cluster_coarse and cluster_coarse_name the broader theme of each group),
    FILE.report.html (a page to explore the groups in a browser) and the folder FILE.model, and
    prints a summary.

    Several files, or a pattern in quotes such as 'folder/*.csv', are grouped together and need not fit into
    memory. The folder NAME.clusters gets a table for each of them. A run that was stopped finds the vectors that it
    computed in the cache.
    With --scheduler, Dask workers that see the same folders share the work.
    """
    if open_it and chosen["no_report"]:
        raise click.UsageError("--open needs the report, which --no-report leaves out.")
    with stages() as tell:
        done = run_cluster(sources, tell, **chosen)
    summary = summarize(done, " ".join(sources), tell.seconds)
    present(summary, partial(print_summary, summary))
    if open_it:
        open_in_browser(done.outputs["report"])


@command("demo")
def demo_command(out: str) -> None:
    """Group 1,019 customer messages that come with the package, and say what to open."""
    with as_file(files("textspectra") / "data" / "customer_messages.csv") as example:
        with stages() as tell:
            done = run_cluster([str(example)], tell, out=out, overwrite=True)
        summary = summarize(done, str(example), tell.seconds)
    present(summary, partial(print_summary, summary))


class Done(NamedTuple):
    """What a run read and wrote."""

    result: TextClustering
    text_column: str
    outputs: dict[str, Path]
    sheet: str | None = None
    header_row: int | None = None


def run_cluster(sources: Sequence[str], tell: Stages, **chosen: Any) -> Done:
    """Do what the command does with the chosen options, but print nothing."""
    from ..tables.read import is_pattern

    options = defaults_of("cluster") | chosen
    clustering = {
        "n_clusters": _number_of_clusters(options["clusters"]), "random_state": options["seed"],
        "cache": not options["no_cache"], "progress": tell,
        **{name: options[name] for name in ("algorithm", "model", "keep_all", "time", "by", "show", "every")},
    }  # fmt: skip
    if options["every"] and not options["time"]:
        raise click.UsageError("--every needs --time: the column that holds the dates.")
    if len(sources) > 1 or is_pattern(sources[0]):
        return _run_on_many(sources, options, clustering, tell)
    if options["scheduler"] is not None:
        raise click.UsageError("--scheduler is for many files: give a pattern in quotes, such as 'folder/*.parquet'.")
    return _run_on_one(sources[0], options, clustering, tell)


def _run_on_one(source: str, options: Options, clustering: Options, tell: Stages) -> Done:
    from ..tables.columns import column_values
    from ..tables.write import name_parts, output_format, write_labeled
    from ..texts.clustered import clusters_of
    from ..texts.history import DIGESTS, content_digest
    from ..texts.pipeline import cluster_texts

    tell("reading")
    table = read_input(source, options, warn=False)
    truth = column_values(table.table, options["truth"]) if options["truth"] else None
    stem, suffix = name_parts(source, table, options["table_format"])
    outputs = _outputs(Path(source).parent, stem, suffix, options)
    form = output_format(outputs["table"], table, options["table_format"])
    embeddings = given_embeddings(options["embeddings"], table)
    with _replacing(outputs) as together:
        result = cluster_texts(table, embeddings=embeddings, **clustering)
        recipe = {"read": describe_reading(source, table), DIGESTS: content_digest(table.table), **result.recipe}
        result = replace(result, recipe=recipe, notes=(*table.notes, *result.notes))
        result = _finish(result, truth, [source], options, outputs, together, tell)
        tell("writing")
        clusters = clusters_of(result)
        with together.file(outputs["table"]) as waiting:
            write_labeled(
                table, clusters.columns(result.labels, result.similarity), waiting, chosen=form,
                clusters=clusters.count(result.labels), spreadsheet_safe=options["spreadsheet_safe"], overwrite=True,
            )  # fmt: skip
    return Done(result, table.text_column, outputs, table.sheet, table.header_row)


def _run_on_many(sources: Sequence[str], options: Options, clustering: Options, tell: Stages) -> Done:
    from ..texts.many_files import cluster_files

    embeddings = options["embeddings"]
    if embeddings and Path(embeddings).suffix in (".npy", ".parquet"):
        raise click.UsageError(f"--embeddings must be a column of each file, but {embeddings!r} looks like a file.")
    paths, place = find_files(sources)
    outputs = _outputs(place.parent, place.name, None, options)
    names = ("text_column", "encoding", "sheet", "header_row", "embeddings", "truth", "table_format",
             "spreadsheet_safe", "overwrite", "scheduler")  # fmt: skip
    with _replacing(outputs) as together:
        done = cluster_files(
            paths, outputs["table"], outputs=together, **clustering, **{name: options[name] for name in names},
            refine=lambda result, truth: _finish(result, truth, sources, options, outputs, together, tell),
        )  # fmt: skip
    return Done(done.result, done.text_column, outputs)


def _outputs(beside: Path, stem: str, suffix: str | None, options: Options) -> dict[str, Path]:
    """Return where the outputs go, once it is clear that they can be written; many files have no suffix."""
    folder = Path(options["out"]) if options["out"] else beside
    outputs = {"table": folder / f"{stem}.clusters{suffix or ''}", "model": folder / f"{stem}.model"}
    if not options["no_report"]:
        outputs["report"] = folder / f"{stem}.report.html"
    check_outputs(outputs, overwrite=options["overwrite"], table_is_folder=suffix is None)
    return outputs


def _replacing(outputs: Mapping[str, Path]) -> AbstractContextManager[Outputs]:
    """Keep other processes from the outputs, which take their places together at the end."""
    from ..files import replacing_together

    make_folder(outputs["model"].parent)
    return replacing_together(outputs["model"], *outputs.values())


def _finish(
    result: TextClustering, truth: Sequence[object] | None, sources: Sequence[str], options: Options,
    outputs: Mapping[str, Path], together: Outputs, tell: Stages,
) -> TextClustering:  # fmt: skip
    """Name the groups, and write the model and the report, which take their places when all outputs are complete."""
    from ..report.build import write_report
    from ..texts.storage import write_clustering

    if options["name_with"]:
        result = result.name(options["name_with"])
    result = replace(result, recipe={**result.recipe, "command": _command_line(sources, options, result)})
    if "report" in outputs:
        result = result.with_hierarchy()
        with together.file(outputs["report"]) as waiting:
            write_report(result, waiting, truth=truth, overwrite=True, progress=tell)
    with together.folder(outputs["model"]) as waiting:
        write_clustering(result, waiting)
    return result


def _command_line(sources: Sequence[str], options: Options, result: TextClustering) -> str:
    """Return the command that makes the same result again, on any machine: with the model that "auto" chose."""
    model = result.source.model if "model_reason" in result.recipe else options["model"]
    chosen = {**options, "model": None if options["embeddings"] else model}
    words, flags = ["textspectra", "cluster", *sources], []
    for option in COMMANDS["cluster"].parameters:
        if isinstance(option, Setting) and option.recipe:
            value = chosen[str(option.name)]
            if option.is_flag:
                flags += [f"--{option.key}"] if value else []
            elif value is not None:
                for part in value if option.multiple else [value]:
                    words += [f"--{option.key}", str(part)]
    return shlex.join([*words, *flags])


def _number_of_clusters(clusters: str) -> int | Level:
    from ..core.validation import LEVELS

    for level in LEVELS:
        if clusters == level:
            return level
    if clusters.isdecimal() and int(clusters) > 0:
        return int(clusters)
    raise click.BadParameter(
        f"{clusters!r} is not auto, coarse, suggested, fine or a whole number above 0.", param_hint="--clusters"
    )


def describe_reading(source: str, table: TextTable) -> str:
    """Say where texts are: the file, the sheet and the header of a workbook, and the column."""
    from ..tables.headers import quoted_names

    parts = ["standard input" if source == "-" else f"'{Path(source).name}'"]
    parts += [f"sheet {table.sheet!r}"] if table.sheet else []
    parts += [f"header in row {table.header_row}"] if (table.header_row or 0) > 1 else []
    parts += ["no header"] if table.header_row == 0 else []
    return ", ".join([*parts, f"column {quoted_names([table.text_column])}"])


def find_files(sources: Sequence[str]) -> tuple[list[str], Path]:
    """Return the files that the sources name, each once, and the path from which the outputs get their names."""
    from ..tables.read import is_pattern, matching_files

    if "-" in sources:
        raise click.UsageError("Standard input (-) cannot be combined with other files.")
    matched = [matching_files(source) if is_pattern(source) else [source] for source in sources]
    paths = list({Path(name).resolve(): name for name in itertools.chain.from_iterable(matched)}.values())
    if len(sources) == 1:
        # The folder of the files is the part of the pattern before its first wildcard.
        fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(sources[0]).parts))
        return paths, fixed.parent / (fixed.name or "texts")
    stems = [Path(name).name.partition(".")[0] for name in paths]
    return paths, Path(paths[0]).with_name("+".join(stems) if len(stems) < 4 else f"{stems[0]}+{len(stems) - 1}")


@command("open")
def open_command(name: str) -> None:
    """Open the report of NAME in the browser.

    NAME is the report itself, the file that was clustered, the folder NAME.model, or what their names begin with.
    """
    open_in_browser(find_report(name))


def find_report(name: str) -> Path:
    """Return the report that belongs to a file, a model folder or the beginning of their names."""
    from ..errors import UserError

    path = Path(name)
    if path.suffix == ".html" and path.is_file():
        return path
    stems = [path.name]
    while Path(stems[-1]).suffix:  # such as tickets.csv.gz
        stems.append(Path(stems[-1]).stem)
    places = [path.with_name(f"{stem}.report.html") for stem in stems if stem]
    for place in places:
        if place.is_file():
            return place
    example = f", such as {places[-1]}" if places else ""
    raise UserError(
        f"No report found for {name!r}{example}. "
        "Make one with `textspectra cluster FILE` or `textspectra report MODEL`."
    )


def open_in_browser(path: Path) -> None:
    """Open a page in the user's browser; if there is none, say so and name the file."""
    if not webbrowser.open(path.absolute().as_uri()):
        click.echo(f"No browser could be opened; open this file in one: {path}", err=True)
