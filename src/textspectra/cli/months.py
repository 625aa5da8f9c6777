"""`textspectra predict`, `compare` and `update`: new texts against a saved model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .cluster import describe_reading, find_files
from .options import check_outputs, command, given_embeddings, make_folder, read_input
from .output import Options, Stages, Summary, present, stages, terminal
from .report import made_with
from .summary import clusters_as_json, count_of, describe_run, one_line, print_clusters, print_outputs

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from rich.console import Console

    from ..files import Outputs
    from ..tables.columns import TextTable
    from ..texts.comparison import Comparison, Drift
    from ..texts.result import TextClustering

_OUTPUTS = {
    "report": "what changed, and all groups: open this in a browser",
    "table": "every text with its group and its novelty",
    "model": "the model, which has the new texts now (`textspectra report` makes its page)",
}

_NAMED = 5
"""Groups of a kind that the terminal names."""

_NOTABLE = 0.1
"""Share of the texts in new groups that is said, because it lowers all other shares."""

_KINDS = {
    ("growing", False): "Growing",
    ("growing", True): "Larger share, about the same number of texts",
    ("shrinking", False): "Shrinking",
    ("shrinking", True): "Smaller share, about the same number of texts",
    ("gone", False): "Gone",
}
"""Words for groups, by their status and by whether they have about the same number of texts."""


@command("predict")
def predict_command(model: str, source: str, **chosen: Any) -> None:
    """Add cluster, cluster_name, similarity and novelty to the texts of FILE, by the saved MODEL folder.

    A novelty of 0 is usual, and nine tenths of the texts of the model are below 1. A warning tells if far more of the
    new texts are above 1: then the model no longer fits, and `textspectra compare` tells what is new.
    """
    import numpy as np

    from ..tables.write import ADDED, name_parts, output_format, write_labeled
    from ..texts.clustered import clusters_of
    from ..texts.comparison import Drift, novelty_of
    from ..texts.grouping import place_texts, similarity_to_clusters
    from ..texts.notes import reading_in_words
    from ..texts.result import TextClustering

    with stages() as tell:
        tell("reading")
        clustering = TextClustering.load(model)
        table = read_input(source, chosen)
        stem, suffix = name_parts(source, table, chosen["table_format"])
        path = Path(chosen["out"]) if chosen["out"] else Path(source).with_name(f"{stem}.predicted{suffix}")
        check_outputs({"table": path}, overwrite=chosen["overwrite"])
        form = output_format(path, table, chosen["table_format"], ADDED + 1)
        tell("embedding")
        placed = place_texts(
            clustering, table.texts(), embeddings=given_embeddings(chosen["embeddings"], table),
            cache=not chosen["no_cache"], progress=partial(tell, "embedding"),
        )  # fmt: skip
        corpus, clusters = placed.texts.corpus, clusters_of(clustering)
        labels = corpus.spread(clustering.labels_of(placed.codes), -1)
        similarity = corpus.spread(similarity_to_clusters(placed.texts, placed.codes, clustering.centers), np.nan)
        novelty = corpus.spread(novelty_of(clustering, placed.texts), np.nan)
        tell("writing")
        write_labeled(
            table, clusters.columns(labels, similarity) | _novelty_columns(novelty), path, chosen=form,
            clusters=clusters.count(labels), spreadsheet_safe=chosen["spreadsheet_safe"], overwrite=True,
        )  # fmt: skip
    drift = Drift.of(novelty)
    for note in placed.notes:
        warnings.warn(note, stacklevel=2)
    if clustering.reference is None:
        warnings.warn(
            "this model was saved without the vectors that novelty is measured by; cluster its texts again to get it.",
            stacklevel=2,
        )
    if drift.is_significant:
        again = f"textspectra compare {model} {source}"
        warnings.warn(f"{drift.in_words()} See what is new with: {again}", stacklevel=2)
    n_grouped, n_clusters = int((labels >= 0).sum()), len(set(labels[labels >= 0].tolist()))
    summary = {
        "read": reading_in_words(describe_reading(source, table), len(labels), placed.languages),
        "model": model, "input": source, "texts": len(labels), "without_cluster": len(labels) - n_grouped,
        "clusters": n_clusters, **_describe_drift(drift), "notes": list(placed.notes), "outputs": {"table": str(path)},
    }  # fmt: skip
    line = f"{n_grouped:,} texts in {n_clusters} groups, {len(labels) - n_grouped:,} without, in {path}"
    present(summary, lambda: click.echo(f"{summary['read']}\n{line}"))


def _describe_drift(drift: Drift) -> Summary:
    """Return the keys of --json that say how new the texts are on the whole, and whether the groups are out of date."""
    figures = drift._asdict()
    return {"drift": figures.pop("is_significant"), "novelty": figures}


def _novelty_columns(novelty: NDArray[np.float32], is_new: NDArray[np.bool_] | None = None) -> dict[str, pa.Array]:
    """Return the columns novelty and is_new of a table; texts without a group, and unknown novelty, are missing."""
    import numpy as np
    import pyarrow as pa

    columns = {"novelty": pa.array(novelty.astype(float).round(3), mask=np.isnan(novelty))}
    return columns if is_new is None else columns | {"is_new": pa.array(is_new)}


@command("compare")
def compare_command(model: str, sources: tuple[str, ...], **chosen: Any) -> None:
    """Say what is new in FILE, compared with the saved MODEL folder, which stays as it is.

    Finds new groups, groups that grow, shrink or are gone since the last file of the model, and texts that fit
    nothing. Writes FILE.compared.* (every column of the input, and cluster, cluster_name, similarity, novelty and
    is_new) and FILE.compared.html, a page that begins with what changed. Several files, or a pattern in quotes, are
    compared together. A novelty of 0 is usual, and nine tenths of the texts of the model are below 1.
    """
    _compare(model, sources, "compared", None, chosen)


@command("update")
def update_command(model: str, sources: tuple[str, ...], again: bool, **chosen: Any) -> None:
    """Take the texts of FILE into the saved MODEL folder, and say what is new, as `textspectra compare` does.

    Texts that fit a group of the model join it. New groups get new labels; a label never changes its meaning. Names
    that you gave are kept, and the model records what changed. Writes FILE.updated.* and FILE.updated.html. The
    model is replaced when all is complete; if the update is interrupted, it stays as it was. A file that the model
    took in before is refused, so that a job can be run again.
    """
    _compare(model, sources, "updated", again, chosen)


def _compare(model: str, sources: Sequence[str], kind: str, again: bool | None, options: Options) -> None:
    """Compare files with a model; `again` is None if the model does not take them in."""
    from ..files import replacing_together
    from ..texts.comparison import updated
    from ..texts.history import check_not_taken_in, content_digest
    from ..texts.result import TextClustering
    from ..texts.storage import write_clustering

    folder, is_update = Path(model), again is not None
    with stages() as tell, ExitStack() as stack:
        inputs = read_inputs(sources, kind, tell, options)
        outputs = {**inputs.outputs, "model": folder} if is_update else inputs.outputs
        if is_update:  # until the end, nobody else may change the model
            together = stack.enter_context(replacing_together(folder, *outputs.values()))
        before = TextClustering.load(model)
        digests = {f"'{name}'": content_digest(table.table) for name, table in inputs.by_name() if is_update}
        if again is False:
            check_not_taken_in(before, digests, "--again")
        comparison = _comparison(before, inputs, tell, options)
        if again is False and set(comparison.result.corpus.distinct) <= set(before.corpus.distinct):
            warnings.warn(
                "The model has every text of the file already. If the file was taken in before, its texts count twice.",
                stacklevel=2,
            )
        make_folder(inputs.outputs["table"].parent)
        if not is_update:
            together = stack.enter_context(replacing_together(*outputs.values()))
        _write(comparison, inputs, together, tell, options)
        if is_update:
            with together.folder(folder) as waiting:
                write_clustering(updated(before, comparison, list(digests.values())), waiting)
    summary = summarize_changes(comparison, model, sources, outputs, tell.seconds)
    present(summary, partial(print_changes, summary))


class Inputs(NamedTuple):
    """The files, their tables, the names of these with new columns, and where the outputs go."""

    files: list[str]
    tables: list[TextTable]
    names: list[str]
    outputs: dict[str, Path]

    @property
    def is_one(self) -> bool:
        """Whether there is a single file, whose output is a table and not a folder of tables."""
        return len(self.files) == 1

    def by_name(self) -> Iterator[tuple[str, TextTable]]:
        """Return each file with its table."""
        return zip(self.files, self.tables, strict=True)


def read_inputs(sources: Sequence[str], kind: str, tell: Stages, options: Options) -> Inputs:
    """Read the files, and decide where the outputs go; an output that cannot be written is reported at once."""
    from ..tables.read import is_pattern
    from ..tables.write import ADDED, name_parts, output_format

    tell("reading")
    is_one = len(sources) == 1 and not is_pattern(sources[0])
    files, place = ([sources[0]], Path(sources[0])) if is_one else find_files(sources)
    tables = [read_input(name, options) for name in files]
    parts = [name_parts(name, table, options["table_format"]) for name, table in zip(files, tables, strict=True)]
    for name, table in zip(parts, tables, strict=True):
        output_format(Path("".join(name)), table, options["table_format"], ADDED + 2)
    folder = Path(options["out"]) if options["out"] else place.parent
    stem, suffix = parts[0] if len(files) == 1 else (place.name, "")
    outputs = {"table": folder / f"{stem}.{kind}{suffix}"}
    if not options["no_report"]:
        outputs["report"] = folder / f"{stem}.{kind}.html"
    check_outputs(outputs, overwrite=options["overwrite"], table_is_folder=len(files) > 1)
    return Inputs(files, tables, ["".join(name) for name in parts], outputs)


def _comparison(model: TextClustering, inputs: Inputs, tell: Stages, options: Options) -> Comparison:
    """Compare the texts of all files with the model."""
    import numpy as np

    from ..texts.comparison import compare_texts

    tell("embedding")
    column = inputs.tables[0].text_column
    vectors = [X for table in inputs.tables if (X := given_embeddings(options["embeddings"], table)) is not None]
    names = [Path(name).name if name != "-" else "standard input" for name in inputs.files]
    comparison = compare_texts(
        model, _all_rows(model, inputs), text_column=column, cache=not options["no_cache"],
        embeddings=np.concatenate(vectors) if vectors else None,
        progress=partial(tell, "embedding"),
        source=" and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other files",
    )  # fmt: skip
    read = f"{len(inputs.files):,} files, column {column!r}"
    if inputs.is_one:
        read = describe_reading(inputs.files[0], inputs.tables[0])
    result = comparison.result
    return replace(comparison, result=replace(result, recipe={**result.recipe, "read": read}))


def _all_rows(model: TextClustering, inputs: Inputs) -> pa.Table:
    """Return the texts of all files in one table, with the columns that the model keeps beside its texts."""
    import pyarrow as pa

    from ..tables.columns import as_strings

    if inputs.is_one:
        return inputs.tables[0].table
    details, first = model.details, inputs.tables[0].text_column
    names = [] if details is None else [*filter(None, [details.time]), *details.segments, *details.shown]
    parts = []
    for table in inputs.tables:
        columns = {first: as_strings(table.table.column(table.text_column))}
        columns |= {name: as_strings(table.table.column(name)) for name in names if name in table.table.column_names}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def _write(comparison: Comparison, inputs: Inputs, together: Outputs, tell: Stages, options: Options) -> None:
    """Write the page and the tables; they take their places when `together` ends."""
    from ..report.build import write_report
    from ..tables.write import output_format, write_labeled
    from ..texts.many_files import write_manifest

    if "report" in inputs.outputs:
        with together.file(inputs.outputs["report"]) as waiting:
            write_report(comparison.result, waiting, changes=comparison, overwrite=True, progress=tell)
    tell("writing")
    place = together.file if inputs.is_one else together.folder
    changes, names = _changes_table(comparison), []
    with place(inputs.outputs["table"]) as waiting:
        for name, table, columns, clusters in _parts(comparison, inputs):
            path = waiting if inputs.is_one else waiting / name
            form = output_format(inputs.outputs["table"] if inputs.is_one else path, table, options["table_format"])
            write_labeled(
                table, columns, path, chosen=form, clusters=clusters, changes=changes,
                spreadsheet_safe=options["spreadsheet_safe"], overwrite=True,
            )  # fmt: skip
            names.append(name)
        if not inputs.is_one:
            write_manifest(waiting, names)


def _changes_table(comparison: Comparison) -> pa.Table:
    """Return the sheet `changes` of a workbook: a row for each group, as in :attr:`Comparison.changes`."""
    import pyarrow as pa

    from ..tables.columns import SHARE_MARK
    from ..texts.history import columns_of

    columns = columns_of(comparison.cluster_changes)
    columns["compared"] = [comparison.in_words] * len(comparison.cluster_changes)
    table = pa.table(columns)
    marked = [field.with_metadata(SHARE_MARK) if field.name.startswith("share") else field for field in table.schema]
    return table.cast(pa.schema(marked))


def _parts(comparison: Comparison, inputs: Inputs) -> Iterator[tuple[str, TextTable, dict[str, pa.Array], pa.Table]]:
    """Yield the name of the output of each file, its table, the columns that are added, and the sizes of its groups."""
    from ..texts.clustered import clusters_of

    result, start, clusters = comparison.result, 0, clusters_of(comparison.result)
    for number, (name, table) in enumerate(zip(inputs.names, inputs.tables, strict=True), 1):
        rows = slice(start, start + table.table.num_rows)
        start, labels = rows.stop, result.labels[rows]
        added = _novelty_columns(comparison.novelty[rows], comparison.is_new[rows])
        columns = clusters.columns(labels, result.similarity[rows]) | added
        yield f"{number:03d}-{name}", table, columns, clusters.count(labels)


def summarize_changes(
    comparison: Comparison, model: str, sources: Sequence[str], outputs: Mapping[str, Path],
    seconds: Mapping[str, float],
) -> Summary:  # fmt: skip
    """Return the summary that --json prints."""
    result, totals = comparison.result, comparison.result.totals
    names = {cluster.label: cluster.name for cluster in comparison.model.clusters}
    mixed = {change.label for change in comparison.cluster_changes if change.mixed}
    changes = [
        {**asdict(change), "same_count": change.keeps_count, "figures": change.figures}
        for change in comparison.cluster_changes
    ]
    beside = made_with(Path(model)) if "model" in outputs else []
    return {
        "read": result.reading,
        "model": model,
        "input": " ".join(sources),
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "texts_without_content": totals.without_content,
        "texts_of_the_model": comparison.model.totals.rows,
        "clusters_of_the_model": comparison.model.n_clusters,
        "compared": comparison.in_words,
        "new_clusters": [
            {**cluster, "mixed": cluster["cluster"] in mixed}
            for cluster in clusters_as_json(result, comparison.new_clusters)
        ],
        "changes": [{"cluster": change.pop("label"), **change} for change in changes],
        "misfits": [result.corpus.distinct[position] for position in comparison.misfits],
        "splits": [{"cluster": label, "name": names[label]} for label in comparison.splits],
        **_describe_drift(comparison.drift),
        "outdated": [str(path) for path in beside if path.exists()],  # they do not have the texts of an update yet
        "notes": list(result.notes),
        **describe_run(outputs, seconds),
    }


def print_changes(summary: Summary, console: Console | None = None) -> None:
    """Print for a person the new groups, the changed ones, and the texts that fit nothing."""
    console = console or terminal()
    console.print()
    console.print(summary["read"], markup=False)
    new = summary["new_clusters"]
    texts = f"{count_of(summary['texts'], 'text')} against {count_of(summary['clusters_of_the_model'], 'group')}"
    headline = f"{count_of(len(new), 'new group')}" if new else "Nothing new"
    console.print(f"[bold]{headline}[/bold] in {texts} of {summary['model']}", soft_wrap=True)
    print_outputs(summary["outputs"], _OUTPUTS, console)
    for note in summary["notes"]:
        console.print(note, style="yellow", markup=False)
    if new:
        print_clusters(new, "smaller new group", summary["outputs"], console)
    console.print()
    for line in _lines(summary):
        console.print(line, markup=False)


def _lines(summary: Summary) -> list[str]:
    """Return what changed in the groups of the model, and which texts fit nothing, in words."""
    lines = []
    mixed = [cluster["name"] for cluster in summary["new_clusters"] if cluster["mixed"]]
    if mixed:
        verb = "is" if len(mixed) == 1 else "are"
        lines.append(f"{', '.join(mixed)} {verb} mixed: the name does not speak for all texts of the group.")
    lines.append(f"{summary['compared']}, by share of the texts:")
    share_of_new = sum(cluster["share"] for cluster in summary["new_clusters"])
    if share_of_new >= _NOTABLE:
        lines.append(f"New groups have {100 * share_of_new:.0f} % of the texts, which lowers the shares of the others.")
    for kind, words in _KINDS.items():
        changes = [change for change in summary["changes"] if (change["status"], change["same_count"]) == kind]
        changes.sort(key=lambda change: -abs(change["share_after"] - change["share_before"]))
        named = [f"{change['name']} ({change['figures']})" for change in changes[:_NAMED]]
        named += [f"and {len(changes) - _NAMED} more"] if len(changes) > _NAMED else []
        lines += [f"{words}: {', '.join(named)}"] if named else []
    steady = sum(change["status"] == "steady" for change in summary["changes"])
    if steady:
        other = "the other " if steady < len(summary["changes"]) else ""
        groups = "the other group" if other and steady == 1 else f"{other}{count_of(steady, 'group')}"
        lines.append(f"No significant change in {groups}")
    if summary["misfits"]:
        verb = "fits" if len(summary["misfits"]) == 1 else "fit"
        lines.append(f"{count_of(len(summary['misfits']), 'text')} {verb} no group well, such as:")
        lines += [f"  · {one_line(text)}" for text in summary["misfits"][:3]]
    if summary["novelty"]["median"] is None:
        lines.append("The model has too few texts to tell what is new.")
    if summary["outdated"]:
        verb = "does" if len(summary["outdated"]) == 1 else "do"
        lines.append(f"{' and '.join(summary['outdated'])} {verb} not have the new texts.")
        lines.append(f"For a page of all texts: textspectra report {summary['model']} --overwrite")
    for split in summary["splits"]:
        lines.append(f"{split['name']!r} now looks like two groups. You can split it in the report.")
    return lines
