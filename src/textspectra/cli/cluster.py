"""`textspectra cluster`: the main job."""

from __future__ import annotations

import glob
import itertools
import shlex
import webbrowser
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .options import (
    Stages,
    check_folder,
    given_embeddings,
    keep_option,
    make_folder,
    model_options,
    output_options,
    read_input,
    reading_options,
    seed_option,
    stages,
    table_options,
)
from .output import json_option, print_json, printing
from .summary import print_summary, summarize

if TYPE_CHECKING:
    from ..files import Outputs
    from ..tables.columns import TextTable
    from ..tables.source import TableFormat
    from ..texts.result import TextClustering


@click.command("open")
@click.argument("name", metavar="NAME")
def open_command(name: str) -> None:
    """Open the report of NAME in the browser.

    NAME is the report itself, the file that was clustered, the folder NAME.model, or what their names begin with.
    """
    path = find_report(name)
    open_in_browser(path)


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
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        such = f", such as {places[-1]}" if places else ""
        raise UserError(
            f"There is no report of {name!r}{such}. "
            "Make one with `textspectra cluster FILE` or `textspectra report MODEL`."
        )
    return found


def open_in_browser(path: Path) -> None:
    """Open a page in the user's browser; where there is none, say so and name the file."""
    if not webbrowser.open(path.absolute().as_uri()):
        click.echo(f"There is no browser here that could be opened; open this file in one: {path}", err=True)


@click.command("cluster")
@click.argument("sources", metavar="FILE...", nargs=-1, required=True)
@click.option("--out", metavar="FOLDER", help="Where outputs go; next to the input by default.")
@reading_options
@click.option("--algorithm", type=click.Choice(["kmeans", "hac"]), default="kmeans", show_default=True)
@click.option(
    "--clusters",
    default="auto",
    show_default=True,
    metavar="auto|coarse|suggested|fine|N",
    help="The level to show (auto is suggested), or a number that overrules it.",
)
@model_options
@keep_option
@click.option("--name-with", metavar="MODEL", help="Name groups by a chat model (OPENAI_BASE_URL, OPENAI_API_KEY).")
@seed_option
@table_options
@click.option("--time", metavar="COLUMN", help="A column of dates: say which groups grow, shrink, burst or vary.")
@click.option(
    "--every",
    type=click.Choice(["day", "week", "month", "quarter", "year"]),
    help="The periods for --time; by default they suit the dates and the number of texts.",
)
@click.option("--by", metavar="COLUMN", multiple=True, help="A column of categories to compare groups by; repeatable.")
@click.option("--show", metavar="COLUMN", multiple=True, help="A column to show with each text; repeatable.")
@click.option("--truth", metavar="COLUMN", help="A column of true classes, to compare with in the report.")
@click.option("--no-report", is_flag=True, help="Leave out the report, which takes longest for many texts.")
@click.option("--open", "open_it", is_flag=True, help="Open the report in the browser.")
@click.option(
    "--scheduler", metavar="tcp://HOST:PORT|local", help="For many files: let the workers of Dask do the work."
)
@click.option("--restart", is_flag=True, help="For many files: do not go on with the work of a run that was stopped.")
@output_options
@json_option
def cluster_command(sources: tuple[str, ...], as_json: bool, quiet: bool, open_it: bool, **chosen: Any) -> None:
    """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, Excel, text; compressed too; - for standard input).

    Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity, and with
    cluster_coarse and cluster_coarse_name the broader theme of each group),
    FILE.report.html (a page to explore the groups in a browser) and the folder FILE.model, and
    prints what was found.

    Several files, or a pattern in quotes such as 'folder/*.csv', are grouped together and need not fit into
    memory. The folder NAME.clusters gets a table for each of them. A run that was stopped goes on where it was;
    with --restart, it begins anew.
    With --scheduler, Dask workers that see the same folders share the work.
    """
    from .summary import print_summary, summarize

    if open_it and chosen["no_report"]:
        raise click.UsageError("--open needs the report, which --no-report leaves out.")
    with stages(quiet=quiet or as_json) as tell:
        done = run(sources, tell, **chosen)
    summary = summarize(done, " ".join(sources), tell.seconds)
    if done.reused is not None:
        summary["files_embedded_before"] = done.reused
    with printing(done.outputs.values()):
        if as_json:
            print_json(summary)
        elif not quiet:
            print_summary(summary)
    if open_it:
        open_in_browser(done.outputs["report"])


@dataclass(frozen=True)
class Options:
    """The options of the command, under their names on the command line."""

    out: str | None = None
    text_column: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    algorithm: Any = "kmeans"
    clusters: str = "auto"
    model: str = "auto"
    embeddings: str | None = None
    no_cache: bool = False
    keep_all: bool = False
    name_with: str | None = None
    seed: int = 0
    table_format: TableFormat | None = None
    spreadsheet_safe: bool = False
    time: str | None = None
    every: Any = None
    by: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    truth: str | None = None
    no_report: bool = False
    scheduler: str | None = None
    restart: bool = False
    overwrite: bool = False

    def for_details(self) -> dict[str, Any]:
        """Return the options that name further columns, as one file and many files take them."""
        return {"time": self.time, "by": self.by, "show": self.show, "every": self.every}

    def for_grouping(self) -> dict[str, Any]:
        """Return the options that decide the groups, as one file and many files take them."""
        n_clusters = _number_of_clusters(self.clusters)
        return {
            "model": self.model, "algorithm": self.algorithm, "n_clusters": n_clusters, "cache": not self.no_cache,
            "keep_all": self.keep_all,
        }  # fmt: skip


class Done(NamedTuple):
    """What a run read and produced, and how many of many files were embedded before."""

    result: TextClustering
    text_column: str
    outputs: dict[str, Path]
    sheet: str | None = None
    header_row: int | None = None
    reused: int | None = None


def run(sources: Sequence[str], tell: Stages, **chosen: Any) -> Done:
    """Do what the command does with the chosen :class:`Options`, but print nothing."""
    from ..tables.read import is_pattern

    options = Options(**chosen)
    grouping = options.for_grouping()
    if options.every and not options.time:
        raise click.UsageError("--every needs --time: the column that holds the dates.")
    if len(sources) > 1 or is_pattern(sources[0]):
        return _run_on_many(sources, options, grouping, tell)
    if options.scheduler is not None:
        raise click.UsageError("--scheduler is for many files: give a pattern in quotes, such as 'folder/*.parquet'.")
    return _run_on_one(sources[0], options, grouping, tell)


def _run_on_one(source: str, options: Options, grouping: dict[str, Any], tell: Stages) -> Done:
    from ..tables.columns import column_values
    from ..tables.write import name_parts, output_format, output_paths_free, write_labeled
    from ..texts.clustered import clusters_of
    from ..texts.history import DIGESTS, content_digest
    from ..texts.pipeline import cluster_texts

    tell("reading")
    reading = (options.text_column, options.encoding, options.sheet, options.header_row)
    table = read_input(source, *reading, warn=False)
    classes = column_values(table.table, options.truth) if options.truth else None
    stem, suffix = name_parts(source, table, options.table_format)
    outputs = _outputs(Path(source).parent, stem, f".clusters{suffix}", options)
    output_paths_free([outputs["table"]], overwrite=options.overwrite)
    form = output_format(outputs["table"], table, options.table_format)
    given = given_embeddings(options.embeddings, table)
    with _replacing(outputs) as together:
        result = cluster_texts(
            table.table, text_column=table.text_column, embeddings=given, random_state=options.seed, progress=tell,
            **options.for_details(), **grouping,
        )  # fmt: skip
        recipe = {"read": describe_reading(source, table), DIGESTS: content_digest(table.table), **result.recipe}
        result = replace(result, recipe=recipe, notes=(*table.notes, *result.notes))
        result = _finish(result, classes, [source], options, outputs, together, tell)
        tell("writing")
        clusters = clusters_of(result)
        with together.file(outputs["table"]) as waiting:
            write_labeled(
                table, clusters.columns(result.labels, result.similarity), waiting, chosen=form,
                clusters=clusters.count(result.labels),
                spreadsheet_safe=options.spreadsheet_safe, overwrite=True,
            )  # fmt: skip
    return Done(result, table.text_column, outputs, table.sheet, table.header_row)


def _run_on_many(sources: Sequence[str], options: Options, grouping: dict[str, Any], tell: Stages) -> Done:
    from ..texts.many_files import cluster_files

    embeddings = options.embeddings
    if embeddings and Path(embeddings).suffix in (".npy", ".parquet"):
        raise click.UsageError(f"--embeddings must be a column of each file, but {embeddings!r} looks like a file.")
    files, place = find_files(sources)
    outputs = _outputs(place.parent, place.name, ".clusters", options)
    with _replacing(outputs) as together:
        done = cluster_files(
            files, outputs["table"], together=together, scheduler=options.scheduler, text_column=options.text_column,
            encoding=options.encoding, sheet=options.sheet, header_row=options.header_row,
            embeddings=embeddings, seed=options.seed,
            truth=options.truth, table_format=options.table_format, spreadsheet_safe=options.spreadsheet_safe,
            overwrite=options.overwrite, restart=options.restart, progress=tell, **options.for_details(), **grouping,
            refine=lambda result, classes: _finish(result, classes, sources, options, outputs, together, tell),
        )  # fmt: skip
    return Done(done.result, done.text_column, outputs, reused=done.reused)


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
    files = list({Path(name).resolve(): name for name in itertools.chain.from_iterable(matched)}.values())
    if len(sources) == 1:
        # The folder of the files is the part of the pattern before its first wildcard.
        fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(sources[0]).parts))
        return files, fixed.parent / (fixed.name or "texts")
    stems = [Path(name).name.partition(".")[0] for name in files]
    return files, Path(files[0]).with_name("+".join(stems) if len(stems) < 4 else f"{stems[0]}+{len(stems) - 1}")


def _outputs(beside: Path, name: str, table_suffix: str, options: Options) -> dict[str, Path]:
    """Return where the outputs go, once it is clear that they can be written."""
    from ..tables.write import output_paths_free
    from ..texts.storage import model_folder_free

    folder = Path(options.out) if options.out else beside
    check_folder(folder)
    outputs = {"table": folder / f"{name}{table_suffix}", "model": folder / f"{name}.model"}
    if not options.no_report:
        outputs["report"] = folder / f"{name}.report.html"
        output_paths_free([outputs["report"]], overwrite=options.overwrite)
    model_folder_free(outputs["model"], overwrite=options.overwrite)
    return outputs


def _replacing(outputs: dict[str, Path]) -> AbstractContextManager[Outputs]:
    """Keep other processes from the outputs, which take their places together at the end."""
    from ..files import replacing_together

    make_folder(outputs["model"].parent)
    return replacing_together(outputs["model"], *outputs.values())


def _finish(
    result: TextClustering, classes: list[Any] | None, sources: Sequence[str], options: Options,
    outputs: dict[str, Path], together: Outputs, tell: Stages,
) -> TextClustering:  # fmt: skip
    """Name the groups, and write the model and the report, which take their places when all outputs are complete."""
    from ..report.write import write_report
    from ..texts.storage import write_clustering

    if options.name_with:
        from ..embedding.server import OpenAIServer
        from ..words.describe import name_clusters

        server = OpenAIServer()
        clusters = name_clusters(
            result.clusters, result.corpus.rows, result.centers, model=options.name_with, server=server
        )
        result = replace(result, clusters=tuple(clusters))
    if "model_reason" in result.recipe:  # the command is to give the same result on any machine
        options = replace(options, model=str(result.source.model))
    result = replace(result, recipe={**result.recipe, "command": _command_line(sources, options)})
    if not options.no_report:
        result = result.with_hierarchy()
        with together.file(outputs["report"]) as waiting:
            write_report(result, waiting, truth=classes, overwrite=True, progress=tell)
    with together.folder(outputs["model"]) as waiting:
        write_clustering(result, waiting)
    return result


def _number_of_clusters(clusters: str) -> Any:
    from ..core.validation import LEVELS

    if clusters in LEVELS:
        return clusters
    if clusters.isdecimal() and int(clusters) > 0:
        return int(clusters)
    raise click.BadParameter(
        f"{clusters!r} is not auto, coarse, suggested, fine or a whole number above 0.", param_hint="--clusters"
    )


def _command_line(sources: Sequence[str], options: Options) -> str:
    """Return the command that makes the same result again."""
    names = (
        "text_column", "encoding", "sheet", "header_row", "algorithm", "clusters", "model", "embeddings", "name_with",
        "seed", "time", "every", "by", "show", "truth",
    )  # fmt: skip
    words = ["textspectra", "cluster", *sources]
    for name in names:
        value = getattr(options, name)
        if value is not None and not (name == "model" and options.embeddings):
            for one in value if isinstance(value, tuple) else [value]:
                words += [f"--{name.replace('_', '-')}", str(one)]
    words += ["--keep-all"] if options.keep_all else []
    return shlex.join(words)


@click.command("demo")
@click.option("--out", default="textspectra-demo", show_default=True, metavar="FOLDER", help="Where outputs go.")
@json_option
def demo_command(out: str, as_json: bool) -> None:
    """Group 1,019 customer messages that come with the package, and say what to open."""
    with as_file(files("textspectra") / "data" / "customer_messages.csv") as example:
        with stages(quiet=as_json) as tell:
            done = run([str(example)], tell, out=out, overwrite=True)
        summary = summarize(done, str(example), tell.seconds)
    with printing(done.outputs.values()):
        if as_json:
            print_json(summary)
        else:
            print_summary(summary)
