"""`textspectra cluster`: the main job."""

from __future__ import annotations

import glob
import itertools
import json
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .common import (
    Stages,
    check_folder,
    given_embeddings,
    input_options,
    json_option,
    model_options,
    overwrite_option,
    quiet_option,
    read_input,
    seed_option,
    stages,
    write_labelled,
)

if TYPE_CHECKING:
    from ..texts.result import TextClustering


@click.command("cluster")
@click.argument("sources", metavar="FILE...", nargs=-1, required=True)
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
def command(sources: tuple[str, ...], as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, text; compressed too; - for standard input).

    Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity),
    FILE.report.html (a page to explore the groups in a browser) and the folder FILE.model, and
    prints what was found.

    Several files, or a pattern in quotes such as 'folder/*.csv', are grouped together and need not fit into
    memory. The folder NAME.clusters gets a table for each of them. A run that was stopped goes on where it was.
    With --scheduler, Dask workers that see the same folders share the work.
    """
    from .summary import print_summary, summarize

    with stages(quiet=quiet or as_json) as tell:
        done = run(sources, tell, **chosen)
        tell.finish()
        summary = summarize(done.result, " ".join(sources), done.text_column, done.outputs, tell.seconds)
    if done.reused is not None:
        summary["files_embedded_before"] = done.reused
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    elif not quiet:
        print_summary(summary)


class Done(NamedTuple):
    """What a run produced, the text column, the outputs, and how many of many files were embedded before."""

    result: TextClustering
    text_column: str
    outputs: dict[str, Path]
    reused: int | None = None


def run(
    sources: Sequence[str], tell: Stages, *, out: str | None = None, scheduler: str | None = None,
    text_column: str | None = None, encoding: str | None = None, algorithm: Any = "kmeans", clusters: str = "auto",
    model: str = "wordllama", embeddings: str | None = None, no_cache: bool = False, name_with: str | None = None,
    seed: int = 0, spreadsheet_safe: bool = False, truth: str | None = None, no_report: bool = False,
    overwrite: bool = False,
) -> Done:  # fmt: skip
    """Do what the command does, but print nothing."""
    from ..io import is_pattern

    options = {
        "--text-column": text_column, "--encoding": encoding, "--algorithm": algorithm, "--clusters": clusters,
        "--model": None if embeddings else model, "--embeddings": embeddings, "--name-with": name_with,
        "--seed": str(seed), "--truth": truth,
    }  # fmt: skip
    finish = _Finish(_command_line(sources, options), name_with, tell, with_report=not no_report, overwrite=overwrite)
    common = {"algorithm": algorithm, "n_clusters": _number_of_clusters(clusters), "cache": not no_cache}
    if len(sources) > 1 or is_pattern(sources[0]):
        reading = {"text_column": text_column, "encoding": encoding, "model": model, "embeddings": embeddings}
        writing = {"truth": truth, "spreadsheet_safe": spreadsheet_safe, "overwrite": overwrite}
        return _run_on_many(sources, out, finish, scheduler=scheduler, seed=seed, **common, **reading, **writing)
    if scheduler is not None:
        raise click.UsageError("--scheduler is for many files: give a pattern in quotes, such as 'folder/*.parquet'.")
    return _run_on_one(
        sources[0], out, finish, text_column, encoding, embeddings, truth, model=model, random_state=seed,
        spreadsheet_safe=spreadsheet_safe, **common,
    )  # fmt: skip


def _run_on_one(
    source: str, out: str | None, finish: _Finish, text_column: str | None, encoding: str | None,
    embeddings: str | None, truth: str | None, *, spreadsheet_safe: bool, **options: Any,
) -> Done:  # fmt: skip
    from ..atomic import replacing_file
    from ..io import cluster_columns, column_values, name_parts, output_paths_free
    from ..texts.pipeline import cluster_texts

    finish.tell("reading")
    table = read_input(source, text_column, encoding)
    classes = column_values(table.table, truth) if truth else None
    stem, suffix = name_parts(source, table)
    outputs = finish.outputs(Path(out) if out else Path(source).parent, stem, f".clusters{suffix}")
    output_paths_free([outputs["table"]], overwrite=finish.overwrite)
    given = given_embeddings(embeddings, table)
    result = cluster_texts(table.texts(), embeddings=given, progress=finish.tell, **options)
    with ExitStack() as together:
        result = finish.describe(result, classes, outputs, together)
        finish.tell("writing")
        columns = cluster_columns(result.labels, [topic.name for topic in result.topics], result.similarity)
        waiting = together.enter_context(replacing_file(outputs["table"]))
        write_labelled(table, columns, waiting, spreadsheet_safe=spreadsheet_safe, overwrite=True)
        result.save(outputs["model"], overwrite=finish.overwrite)
    return Done(result, table.text_column, outputs)


def _run_on_many(sources: Sequence[str], out: str | None, finish: _Finish, **options: Any) -> Done:
    from ..texts.files import cluster_files
    from ..texts.files.run import folder_free

    embeddings = options["embeddings"]
    if embeddings and Path(embeddings).suffix in (".npy", ".parquet"):
        raise click.UsageError(f"--embeddings must be a column of each file, but {embeddings!r} looks like a file.")
    files, place = _files(sources)
    outputs = finish.outputs(Path(out) if out else place.parent, place.name, ".clusters")
    folder_free(outputs["table"], overwrite=finish.overwrite)
    with ExitStack() as together:
        done = cluster_files(
            files,
            outputs["table"],
            progress=finish.tell,
            refine=lambda result, classes: finish.describe(result, classes, outputs, together),
            **options,
        )
        done.result.save(outputs["model"], overwrite=finish.overwrite)
    return Done(done.result, done.text_column, outputs, done.reused)


def _files(sources: Sequence[str]) -> tuple[list[str], Path]:
    """Return the files that the sources name, each once, and the path from which the outputs get their names."""
    from ..io import is_pattern, matching_files

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


class _Finish:
    """What follows the grouping, for one file and for many: names by a chat model, the report, the model folder."""

    def __init__(
        self, command_line: str, name_with: str | None, tell: Stages, *, with_report: bool, overwrite: bool
    ) -> None:
        self.tell, self.overwrite = tell, overwrite
        self._command_line, self._name_with, self._with_report = command_line, name_with, with_report

    def outputs(self, folder: Path, name: str, table_suffix: str) -> dict[str, Path]:
        """Return where the outputs go, once it is clear that they can be written."""
        from ..io import output_paths_free
        from ..texts.storage import model_folder_free

        check_folder(folder)
        outputs = {"table": folder / f"{name}{table_suffix}", "model": folder / f"{name}.model"}
        if self._with_report:
            outputs["report"] = folder / f"{name}.report.html"
            output_paths_free([outputs["report"]], overwrite=self.overwrite)
        model_folder_free(outputs["model"], overwrite=self.overwrite)
        return outputs

    def describe(
        self, result: TextClustering, classes: list[Any] | None, outputs: dict[str, Path], together: ExitStack
    ) -> TextClustering:
        """Name the groups and make the report; it takes its place when all outputs are complete."""
        from ..atomic import replacing_file
        from ..report import write_report

        if self._name_with:
            result = _named_by(self._name_with, result)
        result = replace(result, recipe={**result.recipe, "command": self._command_line})
        outputs["table"].parent.mkdir(parents=True, exist_ok=True)
        if not self._with_report:
            return result
        result = result.with_hierarchy()
        waiting = together.enter_context(replacing_file(outputs["report"]))
        write_report(result, waiting, truth=classes, overwrite=True, progress=self.tell)
        return result


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


def _command_line(sources: Sequence[str], options: dict[str, str | None]) -> str:
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    return f"textspectra cluster {shlex.join([*sources, *given])}"
