"""`textspectra cluster`, the main job, `demo`, which runs it on an example, and `describe`, for groups of your own."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from ..core.validation import LEVELS, Level
from ..embedding.registry import is_auto
from ..files import Outputs
from ..report.build import write_report
from ..tables.columns import column_values
from ..tables.write import ADDED, name_parts, output_format
from ..texts.history import DIGESTS, content_digest
from ..texts.labels import MADE_ELSEWHERE, describe_texts
from ..texts.many_files import cluster_files
from ..texts.pipeline import cluster_texts
from ..texts.result import TextClustering
from ..texts.storage import write_clustering
from . import inputs
from .options import COMMANDS, Setting, defaults_of
from .output import Options, Stages, present, stages
from .summary import Done, print_summary, summarize
from .system import open_report


def cluster_command(sources: tuple[str, ...], **chosen: Any) -> int:
    """Group the texts of files, print a summary, and open the report."""
    return _run_and_present(run_cluster, sources, **chosen)


def describe_command(source: str, **chosen: Any) -> int:
    """Describe the groups in a column of a file, print a summary, and open the report."""
    return _run_and_present(_run_describe, [source], **chosen)


def demo_command(out: str) -> None:
    """Group the messages that come with the package."""
    with as_file(files("textspectra") / "data" / "customer_messages.csv") as example:
        _run_and_present(run_cluster, [str(example)], out=out, overwrite=True)


def _run_and_present(
    run: Callable[..., Done], sources: Sequence[str], *, open_it: bool = False, no_save: bool = False, **chosen: Any
) -> int:
    if open_it and chosen["no_report"]:
        raise click.UsageError("--open needs the report, which --no-report leaves out.")
    with stages() as tell:
        done = run(sources, tell, **chosen)
    present(summarize(done, " ".join(sources), tell.seconds), print_summary)
    if not open_it:
        return 0
    return open_report(done.outputs["report"], result=done.result, no_save=no_save)


def run_cluster(sources: Sequence[str], tell: Stages, **chosen: Any) -> Done:
    """Do what the command does with the chosen options, but print nothing."""
    options = defaults_of("cluster") | chosen
    clustering = {
        "n_clusters": _number_of_clusters(options["clusters"]), "random_state": options["seed"],
        "cache": not options["no_cache"], "progress": tell,
        **{name: options[name] for name in ("algorithm", "method", "model", "keep_all")}, **_words_and_columns(options),
    }  # fmt: skip
    _check_periods(options)
    if not inputs.is_single(sources):
        return _run_on_many(sources, options, clustering, tell)
    if options["scheduler"] is not None:
        raise click.UsageError("--scheduler is for many files: give a pattern in quotes, such as 'folder/*.parquet'.")
    known = inputs.read_known(options["known"]) if options["known"] else None
    return _run_on_one(sources[0], options, partial(cluster_texts, known=known, **clustering), tell)


def _run_describe(sources: Sequence[str], tell: Stages, **chosen: Any) -> Done:
    options = defaults_of("describe") | chosen
    _check_periods(options)
    describe = partial(
        describe_texts, random_state=options["seed"], cache=not options["no_cache"], progress=tell,
        labels=options["labels"], model=options["model"], **_words_and_columns(options),
    )  # fmt: skip
    return _run_on_one(sources[0], {**options, "truth": None}, describe, tell)


def _words_and_columns(options: Options) -> Options:
    """Return what the calls of `cluster` and `describe` have in common."""
    stop_words = inputs.read_stop_words(options["stop_words"]) if options["stop_words"] else ()
    return {
        "stop_words": stop_words,
        **{name: options[name] for name in ("ignore", "time", "by", "show", "every", "name_with")},
    }


def _check_periods(options: Options) -> None:
    if options["every"] and not options["time"]:
        raise click.UsageError("--every needs --time: the column that holds the dates.")


def _run_on_one(source: str, options: Options, group: Callable[..., TextClustering], tell: Stages) -> Done:
    """Read a file, let `group` make a result of it, and write the outputs."""
    tell("reading")
    table = inputs.read_input(source, options, warn=False)
    truth = column_values(table.table, options["truth"]) if options["truth"] else None
    stem, suffix = name_parts(source, table, options["table_format"])
    outputs = _place_outputs(Path(source).parent / stem, suffix, options)
    output_format(outputs["table"], table, options["table_format"], ADDED + 2 * options["map"])
    embeddings = inputs.given_embeddings(options["embeddings"], table)
    with inputs.replacing_outputs(outputs) as together:
        result = group(table, embeddings=embeddings)
        reading = {"read": inputs.describe_reading(source, table), DIGESTS: content_digest(table.table)}
        result = replace(result, recipe=reading | result.recipe, notes=(*table.notes, *result.notes))
        points = result.map_points() if options["map"] else None  # before the model is written, which keeps them
        result = _finish(result, truth, [source], options, outputs, together, tell)
        tell("writing")
        with together.file(outputs["table"]) as waiting:
            inputs.write_rows(table, result, result.labels, result.similarity, waiting, options, points=points)
    return Done(result, table.text_column, outputs, table.sheet, table.header_row)


def _run_on_many(sources: Sequence[str], options: Options, clustering: Options, tell: Stages) -> Done:
    if options["known"]:
        raise click.UsageError("--known is for one file, but there are several; join them first.")
    embeddings = options["embeddings"]
    if embeddings and Path(embeddings).suffix in (".npy", ".parquet"):
        raise click.UsageError(f"--embeddings must be a column of each file, but {embeddings!r} looks like a file.")
    paths, place = inputs.find_files(sources)
    outputs = _place_outputs(place, None, options)
    names = ("text_column", "encoding", "sheet", "header_row", "embeddings", "truth", "table_format",
             "spreadsheet_safe", "overwrite", "scheduler")  # fmt: skip
    with inputs.replacing_outputs(outputs) as together:
        done = cluster_files(
            paths, outputs["table"], outputs=together, add_map=options["map"], **clustering,
            **{name: options[name] for name in names},
            finish=lambda result, truth: _finish(result, truth, sources, options, outputs, together, tell),
        )  # fmt: skip
    return Done(done.result, done.text_column, outputs)


_place_outputs = partial(inputs.place_outputs, table=".clusters", model=".model", report=".report.html")


def _finish(
    result: TextClustering, truth: Sequence[object] | None, sources: Sequence[str], options: Options,
    outputs: Mapping[str, Path], together: Outputs, tell: Stages,
) -> TextClustering:  # fmt: skip
    """Write the model and the report, which take their places when all outputs are complete."""
    result = replace(result, recipe={**result.recipe, "command": _command_line(sources, options, result)})
    if "report" in outputs:
        result = result.with_hierarchy()
        with together.file(outputs["report"]) as waiting:
            write_report(result, waiting, truth=truth, model=outputs["model"], overwrite=True, progress=tell)
    with together.folder(outputs["model"]) as waiting:
        write_clustering(result, waiting)
    return result


def _command_line(sources: Sequence[str], options: Options, result: TextClustering) -> str:
    """Return the command that makes the same result again, on any machine: with the model that "auto" chose."""
    model = result.source.model if "model_reason" in result.recipe else options["model"]
    is_unused = options["embeddings"] and is_auto(options["model"])
    chosen = {**options, "model": None if is_unused else model}
    command = "describe" if result.algorithm == MADE_ELSEWHERE else "cluster"
    words, flags = ["textspectra", command, *sources], []
    for option in COMMANDS[command].parameters:
        if isinstance(option, Setting) and option.recipe:
            value = chosen[str(option.name)]
            if option.is_flag:
                flags += [f"--{option.key}"] if value else []
            elif value is not None:
                for part in value if option.multiple else [value]:
                    words += [f"--{option.key}", str(part)]
    return shlex.join([*words, *flags])


def _number_of_clusters(clusters: str) -> int | Level:
    for level in LEVELS:
        if clusters == level:
            return level
    if clusters.isdecimal() and int(clusters) > 0:
        return int(clusters)
    raise click.BadParameter(
        f"{clusters!r} is not auto, coarse, suggested, fine or a whole number above 0.", param_hint="--clusters"
    )
