"""What `compare` and `update` share: read the files, compare them with a model, write the tables and the page."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .options import (
    Function,
    Stages,
    cache_option,
    check_folder,
    given_embeddings,
    make_folder,
    options,
    output_options,
    read_input,
    reading_options,
    saved_model_options,
    stages,
    table_options,
    terminal,
)
from .output import json_option, print_json, printing
from .summary import cluster_rows, count_of, one_line, print_outputs, where_all_are

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from ..files import Outputs
    from ..tables.columns import TextTable
    from ..texts.comparison import Comparison, Drift
    from ..texts.history import ClusterChange
    from ..texts.result import TextClustering

comparing_options: Callable[[Function], Function] = options(
    click.argument("model", metavar="MODEL"),
    click.argument("sources", metavar="FILE...", nargs=-1, required=True),
    click.option("--out", metavar="FOLDER", help="Where outputs go; next to the input by default."),
    reading_options,
    click.option(
        "--embeddings",
        metavar="FILE_OR_COLUMN",
        help="Embeddings of the new texts, if the model was built from precomputed embeddings.",
    ),
    saved_model_options,
    cache_option,
    table_options,
    click.option("--no-report", is_flag=True, help="Leave out the report, which takes longest for many texts."),
    output_options,
    json_option,
)


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


def read_inputs(sources: Sequence[str], kind: str, tell: Stages, **chosen: Any) -> Inputs:
    """Read the files, and find out where the outputs go; an output that cannot be written is reported at once."""
    from ..tables.read import is_pattern
    from ..tables.write import ADDED, name_parts, output_format, output_paths_free
    from ..texts.many_files import folder_free
    from .cluster import find_files

    tell("reading")
    if len(sources) == 1 and not is_pattern(sources[0]):
        files, place = [sources[0]], Path(sources[0])
    else:
        files, place = find_files(sources)
    reading = [chosen[name] for name in ("text_column", "encoding", "sheet", "header_row")]
    tables = [read_input(name, *reading) for name in files]
    folder = Path(chosen["out"]) if chosen["out"] else place.parent
    check_folder(folder)
    names = [name_parts(name, table, chosen["table_format"]) for name, table in zip(files, tables, strict=True)]
    for parts, table in zip(names, tables, strict=True):
        output_format(Path("".join(parts)), table, chosen["table_format"], ADDED + 2)
    if len(files) == 1:
        stem, suffix = names[0]
        outputs = {"table": folder / f"{stem}.{kind}{suffix}"}
        output_paths_free([outputs["table"]], overwrite=chosen["overwrite"])
    else:
        stem, outputs = place.name, {"table": folder / f"{place.name}.{kind}"}
        folder_free(outputs["table"], overwrite=chosen["overwrite"])
    if not chosen["no_report"]:
        outputs["report"] = folder / f"{stem}.{kind}.html"
        output_paths_free([outputs["report"]], overwrite=chosen["overwrite"])
    return Inputs(files, tables, ["".join(parts) for parts in names], outputs)


def compare_inputs(model: TextClustering, inputs: Inputs, tell: Stages, **chosen: Any) -> Comparison:
    """Compare the texts of all files with the model."""
    import numpy as np

    from ..texts.comparison import compare_texts
    from .cluster import describe_reading

    tell("embedding")
    parts = [given_embeddings(chosen["embeddings"], table) for table in inputs.tables]
    given = None if chosen["embeddings"] is None else np.concatenate([part for part in parts if part is not None])
    found = compare_texts(
        model, _all_rows(model, inputs), text_column=inputs.tables[0].text_column, embeddings=given,
        cache=not chosen["no_cache"], progress=lambda *step: tell("embedding", *step), source=_name_of(inputs.files),
    )  # fmt: skip
    column = inputs.tables[0].text_column
    where = (
        describe_reading(inputs.files[0], inputs.tables[0])
        if inputs.is_one
        else f"{len(inputs.files):,} files, column {column!r}"
    )
    return replace(found, result=replace(found.result, recipe={**found.result.recipe, "read": where}))


def _name_of(files: Sequence[str]) -> str:
    """Return what the new texts are called in statements about them."""
    names = [Path(name).name if name != "-" else "standard input" for name in files]
    if len(names) < 3:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} other files"


def _all_rows(model: TextClustering, inputs: Inputs) -> pa.Table:
    """Return the texts of all files in one table, with the columns that the model keeps beside its texts."""
    import pyarrow as pa

    from ..tables.columns import as_strings

    if inputs.is_one:
        return inputs.tables[0].table
    details, first = model.details, inputs.tables[0].text_column
    names = [] if details is None else [*filter(None, [details.time]), *details.segments, *details.shown]
    parts = []
    for one in inputs.tables:
        columns = {first: as_strings(one.table.column(one.text_column))}
        columns |= {name: as_strings(one.table.column(name)) for name in names if name in one.table.column_names}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def write_outputs(found: Comparison, inputs: Inputs, together: Outputs, tell: Stages, **chosen: Any) -> None:
    """Write the page and the tables; they take their places when `together` ends."""
    from ..report.write import write_report
    from ..tables.write import output_format, write_labeled

    make_folder(inputs.outputs["table"].parent)
    if "report" in inputs.outputs:
        with together.file(inputs.outputs["report"]) as waiting:
            write_report(found.result, waiting, changes=found, overwrite=True, progress=tell)
    tell("writing")
    place = together.file if inputs.is_one else together.folder
    with place(inputs.outputs["table"]) as waiting:
        changes = _changes_table(found)
        for name, table, columns, clusters in _parts(found, inputs):
            path = waiting if inputs.is_one else waiting / name
            form = output_format(inputs.outputs["table"] if inputs.is_one else path, table, chosen["table_format"])
            write_labeled(
                table, columns, path, chosen=form, clusters=clusters, changes=changes,
                spreadsheet_safe=chosen["spreadsheet_safe"], overwrite=True,
            )  # fmt: skip
        if not inputs.is_one:
            from ..texts.many_files import MANIFEST

            written = [str(path.relative_to(waiting)) for path in waiting.rglob("*") if path.is_file()]
            (waiting / MANIFEST).write_text(json.dumps(written))


def _changes_table(found: Comparison) -> pa.Table:
    """Return the sheet `changes` of a workbook: a row for each group, as in :attr:`Comparison.changes`."""
    import pyarrow as pa

    from ..tables.columns import SHARE_MARK
    from ..texts.history import columns_of

    columns = columns_of(found.cluster_changes)
    columns["compared"] = [found.in_words] * len(found.cluster_changes)
    table = pa.table(columns)
    marked = [field.with_metadata(SHARE_MARK) if field.name.startswith("share") else field for field in table.schema]
    return table.cast(pa.schema(marked))


def _parts(found: Comparison, inputs: Inputs) -> Iterator[tuple[str, TextTable, dict[str, Any], pa.Table]]:
    """Yield the name of the output of each file, its table, the columns that are added, and the sizes of its groups."""
    from ..texts.clustered import clusters_of

    result, start, clusters = found.result, 0, clusters_of(found.result)
    for number, (name, table) in enumerate(zip(inputs.names, inputs.tables, strict=True), 1):
        rows = slice(start, start + table.table.num_rows)
        start = rows.stop
        labels = result.labels[rows]
        columns = clusters.columns(labels, result.similarity[rows]) | novelty_columns(
            found.novelty[rows], found.is_new[rows]
        )
        yield f"{number:03d}-{name}", table, columns, clusters.count(labels)


def novelty_columns(novelty: Any, is_new: Any = None) -> dict[str, Any]:
    """Return the columns novelty and is_new of a table; texts without a group, and unknown novelty, are missing."""
    import numpy as np
    import pyarrow as pa

    without = np.isnan(novelty)
    columns = {"novelty": pa.array(novelty.astype(float).round(3), mask=without)}
    return columns if is_new is None else columns | {"is_new": pa.array(is_new)}


OUTPUTS = {
    "report": "what changed, and all groups: open this in a browser",
    "table": "every text with its group and its novelty",
    "model": "the model, which has the new texts now (`textspectra report` makes its page)",
}

NAMED = 5
"""Groups and texts of a kind that the terminal names."""

NOTABLE = 0.1
"""Share of the texts in new groups that is said, because it lowers all other shares."""


def summarize_changes(
    found: Comparison, model: str, sources: Sequence[str], outputs: Mapping[str, Path], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return the summary that --json prints."""
    result, totals = found.result, found.result.totals
    names = {cluster.label: cluster.name for cluster in found.model.clusters}
    mixed = {change.label for change in found.cluster_changes if change.mixed}
    return {
        "read": result.reading,
        "model": model,
        "input": " ".join(sources),
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "texts_without_content": totals.without_content,
        "texts_of_the_model": found.model.totals.rows,
        "clusters_of_the_model": found.model.n_clusters,
        "compared": found.in_words,
        "new_clusters": [
            {
                "cluster": cluster.label,
                "name": cluster.name,
                "size": cluster.size,
                "share": cluster.size / totals.grouped,
                "cohesion": result.ratios[result.position(cluster.label)],
                "keywords": list(cluster.keywords),
                "representatives": result.typical_texts(cluster),
                "representative_counts": result.typical_counts(cluster),
                "mixed": cluster.label in mixed,
            }
            for cluster in found.new_clusters
        ],
        "changes": [_change(change) for change in found.cluster_changes],
        "misfits": [result.corpus.distinct[position] for position in found.misfits],
        "splits": [{"cluster": label, "name": names[label]} for label in found.splits],
        **drift_summary(found.drift),
        "outdated": [str(path) for path in _outdated(Path(model))] if "model" in outputs else [],
        "notes": list(result.notes),
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _outdated(model: Path) -> list[Path]:
    """Return the page and the tables beside a model that do not have the texts of an update yet."""
    from .report import report_path, table_paths

    return [path for path in (report_path(model), *table_paths(model)) if path.exists()]


def _change(change: ClusterChange) -> dict[str, Any]:
    from dataclasses import asdict

    fields = asdict(change)
    return {"cluster": fields.pop("label"), **fields, "same_count": change.keeps_count, "figures": change.figures}


def drift_summary(drift: Drift) -> dict[str, Any]:
    """Return the keys of --json that say how new the texts are on the whole, and whether the groups are out of date."""
    figures = drift._asdict()
    return {"drift": figures.pop("is_significant"), "novelty": figures}


def print_changes(summary: Mapping[str, Any], console: Console | None = None) -> None:
    """Print for a person what is new, what grows, what shrinks, and what fits nothing."""
    console = console or terminal()
    console.print()
    console.print(summary["read"], markup=False)
    new = summary["new_clusters"]
    texts = f"{count_of(summary['texts'], 'text')} against {count_of(summary['clusters_of_the_model'], 'group')}"
    headline = f"{count_of(len(new), 'new group')}" if new else "Nothing new"
    console.print(f"[bold]{headline}[/bold] in {texts} of {summary['model']}", soft_wrap=True)
    print_outputs(summary["outputs"], OUTPUTS, console)
    for note in summary["notes"]:
        console.print(note, style="yellow", markup=False)
    if new:
        console.print()
        console.print(cluster_rows(new[: 2 * NAMED]))
        if len(new) > 2 * NAMED:
            rest = f"and {count_of(len(new) - 2 * NAMED, 'smaller new group')}"
            console.print(f"{rest}: all are in {where_all_are(summary)}", markup=False, soft_wrap=True)
    console.print()
    for line in _lines(summary):
        console.print(line, markup=False)


KINDS = {
    ("growing", False): "Growing",
    ("growing", True): "Larger share, about the same number of texts",
    ("shrinking", False): "Shrinking",
    ("shrinking", True): "Smaller share, about the same number of texts",
    ("gone", False): "Gone",
}
"""What is said of groups by their status, and by whether they have about the same number of texts."""


def _lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what changed in the groups of the model, and which texts fit nothing, in words."""
    lines = [f"{summary['compared']}, by share of the texts:"]
    mixed = [cluster["name"] for cluster in summary["new_clusters"] if cluster["mixed"]]
    if mixed:
        verb = "is" if len(mixed) == 1 else "are"
        lines.insert(0, f"{', '.join(mixed)} {verb} mixed: the name does not speak for all texts of the group.")
    share_of_new = sum(cluster["share"] for cluster in summary["new_clusters"])
    if share_of_new >= NOTABLE:
        lines.append(f"New groups have {100 * share_of_new:.0f} % of the texts, which lowers the shares of the others.")
    for kind, words in KINDS.items():
        of_kind = [change for change in summary["changes"] if (change["status"], change["same_count"]) == kind]
        of_kind.sort(key=lambda change: -abs(change["share_after"] - change["share_before"]))
        named = [f"{change['name']} ({change['figures']})" for change in of_kind[:NAMED]]
        more = [f"and {len(of_kind) - NAMED} more"] if len(of_kind) > NAMED else []
        if of_kind:
            lines.append(f"{words}: {', '.join([*named, *more])}")
    steady = sum(change["status"] == "steady" for change in summary["changes"])
    if steady:
        other = "the other " if steady < len(summary["changes"]) else ""
        clusters = f"{other}{count_of(steady, 'group')}" if steady > 1 or not other else "the other group"
        lines.append(f"No significant change in {clusters}")
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


@click.command("compare")
@comparing_options
def compare_command(model: str, sources: tuple[str, ...], as_json: bool, quiet: bool, **chosen: Any) -> None:
    """Tell what is new in FILE, against the saved MODEL folder, which stays as it is.

    Finds new groups, groups that grow, shrink or are gone since the last file of the model, and texts that fit
    nothing. Writes FILE.compared.* (every column of the input, and cluster, cluster_name, similarity, novelty and
    is_new) and FILE.compared.html, a page that begins with what changed. Several files, or a pattern in quotes, are
    compared together. A novelty of 0 is usual, and nine tenths of the texts of the model are below 1.
    """
    from ..files import replacing_together
    from ..texts.result import TextClustering

    with stages(quiet=quiet or as_json) as tell:
        inputs = read_inputs(sources, "compared", tell, **chosen)
        found = compare_inputs(TextClustering.load(model), inputs, tell, **chosen)
        make_folder(inputs.outputs["table"].parent)
        with replacing_together(*inputs.outputs.values()) as together:
            write_outputs(found, inputs, together, tell, **chosen)
    summary = summarize_changes(found, model, sources, inputs.outputs, tell.seconds)
    with printing(summary["outputs"].values()):
        if as_json:
            print_json(summary)
        elif not quiet:
            print_changes(summary)


@click.command("update")
@comparing_options
@click.option("--again", is_flag=True, help="Take in a file again that the model has already, so that it counts twice.")
def update_command(
    model: str, sources: tuple[str, ...], again: bool, as_json: bool, quiet: bool, **chosen: Any
) -> None:
    """Take the texts of FILE into the saved MODEL folder, and tell what is new, as `textspectra compare` does.

    Texts that fit a group of the model join it. New groups get new labels; a label never changes its meaning. Names
    that you gave are kept, and the model records what changed. Writes FILE.updated.* and FILE.updated.html. The
    model is replaced when all is complete; if the update is interrupted, it stays as it was. A file that the model
    took in before is refused, so that a job can be run again.
    """
    from ..files import replacing_together
    from ..texts.comparison import updated
    from ..texts.history import check_not_taken_in, content_digest
    from ..texts.result import TextClustering
    from ..texts.storage import write_clustering

    with stages(quiet=quiet or as_json) as tell:
        inputs = read_inputs(sources, "updated", tell, **chosen)
        with replacing_together(Path(model), *inputs.outputs.values()) as together:
            before = TextClustering.load(model)
            digests = {
                f"'{name}'": content_digest(one.table) for name, one in zip(inputs.files, inputs.tables, strict=True)
            }
            if not again:
                check_not_taken_in(before, digests, "--again")
            found = compare_inputs(before, inputs, tell, **chosen)
            if not again and set(found.result.corpus.distinct) <= set(before.corpus.distinct):
                warnings.warn(
                    "The model has every text of the file already. If the file was taken in before, its texts count "
                    "twice.",
                    stacklevel=2,
                )
            write_outputs(found, inputs, together, tell, **chosen)
            with together.folder(Path(model)) as waiting:
                write_clustering(updated(before, found, list(digests.values())), waiting)
    summary = summarize_changes(found, model, sources, {**inputs.outputs, "model": Path(model)}, tell.seconds)
    with printing(summary["outputs"].values()):
        if as_json:
            print_json(summary)
        elif not quiet:
            print_changes(summary)
