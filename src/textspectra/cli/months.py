"""`textspectra compare` and `update`: what is new in texts, compared with a saved model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from ..files import Outputs
from ..hygiene import plural
from ..report.build import write_report
from ..report.saving import made_with
from ..tables.columns import SHARE_MARK, TextTable, as_strings
from ..tables.write import ADDED, name_parts, output_format
from ..texts.comparison import Comparison, compare_texts, updated
from ..texts.history import check_not_taken_in, columns_of, content_digest
from ..texts.many_files import write_manifest
from ..texts.result import TextClustering
from ..texts.storage import write_clustering
from . import inputs
from .measure import describe_drift
from .output import Options, Stages, Summary, present, stages
from .summary import Terminal, clusters_as_json, describe_run, describe_totals, one_line, print_clusters, print_head

_OUTPUTS = {
    "report": "what changed, and all groups: open this in a browser",
    "table": "every text with its group and its novelty",
    "model": "the model, which has the new texts now (`textspectra report` makes its page)",
}

_NAMED = 5  # groups of a kind that the terminal names
_NOTABLE = 0.1  # share of the texts in new groups that is said, because it lowers all other shares
_KINDS = {
    ("growing", False): "Growing",
    ("growing", True): "Larger share, about the same number of texts",
    ("shrinking", False): "Shrinking",
    ("shrinking", True): "Smaller share, about the same number of texts",
    ("gone", False): "Gone",
}
"""Words for groups, by their status and by whether they have about the same number of texts."""


def compare_command(model: str, sources: tuple[str, ...], **chosen: Any) -> None:
    """Say what is new in files, compared with a model."""
    _compare(model, sources, "compared", None, chosen)


def update_command(model: str, sources: tuple[str, ...], again: bool, **chosen: Any) -> None:
    """Take files into a model, and say what is new."""
    _compare(model, sources, "updated", again, chosen)


def _compare(model: str, sources: Sequence[str], kind: str, again: bool | None, options: Options) -> None:
    """Compare files with a model; `again` is None if the model does not take them in."""
    is_update = again is not None
    with stages() as tell:
        tell("reading")
        files, place = inputs.find_files(sources)
        tables = {name: inputs.read_input(name, options) for name in files}
        outputs = _place_outputs(tables, place, kind, options)
        if is_update:
            outputs["model"] = Path(model)
        with inputs.replacing_outputs(outputs) as together:  # until the end, nobody else may change the model
            before = TextClustering.load(model)
            digests = {f"'{name}'": content_digest(table.table) for name, table in tables.items() if is_update}
            if again is False:
                check_not_taken_in(before, digests, "--again")
            comparison = _comparison(before, tables, tell, options)
            if again is False and set(comparison.result.corpus.distinct) <= set(before.corpus.distinct):
                warnings.warn(
                    "The model has every text of the file already. If the file was taken in before, its texts count "
                    "twice.", stacklevel=2,
                )  # fmt: skip
            _write(comparison, model, tables, outputs, together, tell, options)
            if is_update:
                with together.folder(Path(model)) as waiting:
                    write_clustering(updated(before, comparison, list(digests.values())), waiting)
    present(summarize_changes(comparison, model, sources, outputs, tell.seconds), print_changes)


def _place_outputs(tables: Mapping[str, TextTable], place: Path, kind: str, options: Options) -> dict[str, Path]:
    """Decide where the outputs go; an output that cannot be written is reported at once."""
    parts = [name_parts(name, table, options["table_format"]) for name, table in tables.items()]
    for name, table in zip(parts, tables.values(), strict=True):
        output_format(Path("".join(name)), table, options["table_format"], ADDED + 2)
    stem, suffix = parts[0] if len(tables) == 1 else (place.name, None)
    return inputs.place_outputs(place.parent / stem, suffix, options, table=f".{kind}", report=f".{kind}.html")


def _comparison(model: TextClustering, tables: Mapping[str, TextTable], tell: Stages, options: Options) -> Comparison:
    """Compare the texts of all files with the model."""
    tell("embedding")
    (first, table), *others = tables.items()
    given = [inputs.given_embeddings(options["embeddings"], table) for table in tables.values()]
    vectors = [X for X in given if X is not None]
    names = [Path(name).name if name != "-" else "standard input" for name in tables]
    comparison = compare_texts(
        model, _all_rows(model, tables) if others else table.table, text_column=table.text_column,
        cache=not options["no_cache"], embeddings=np.concatenate(vectors) if vectors else None,
        progress=partial(tell, "embedding"),
        source=" and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other files",
    )  # fmt: skip
    read = f"{len(tables):,} files, column {table.text_column!r}" if others else inputs.describe_reading(first, table)
    result = comparison.result
    return replace(comparison, result=replace(result, recipe={**result.recipe, "read": read}))


def _all_rows(model: TextClustering, tables: Mapping[str, TextTable]) -> pa.Table:
    """Return the texts of all files in one table, with the columns that the model keeps beside its texts."""
    details, first = model.details, next(iter(tables.values())).text_column
    names = [] if details is None else [*filter(None, [details.time]), *details.segments, *details.shown]
    parts = []
    for table in tables.values():
        columns = {first: as_strings(table.table.column(table.text_column))}
        columns |= {name: as_strings(table.table.column(name)) for name in names if name in table.table.column_names}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def _write(
    comparison: Comparison, model: str, tables: Mapping[str, TextTable], outputs: Mapping[str, Path],
    together: Outputs, tell: Stages, options: Options,
) -> None:  # fmt: skip
    """Write the page and the tables; they take their places when `together` ends."""
    if "report" in outputs:
        with together.file(outputs["report"]) as waiting:
            write_report(comparison.result, waiting, changes=comparison, model=model, overwrite=True, progress=tell)
    tell("writing")
    is_one, result, start, names = len(tables) == 1, comparison.result, 0, []
    novelty, is_new, changes = comparison.novelty, comparison.is_new, _changes_table(comparison)
    with (together.file if is_one else together.folder)(outputs["table"]) as waiting:
        for number, (source, table) in enumerate(tables.items(), 1):
            rows = slice(start, start + table.table.num_rows)
            start = rows.stop
            names.append(f"{number:03d}-{''.join(name_parts(source, table, options['table_format']))}")
            inputs.write_rows(
                table, result, result.labels[rows], result.similarity[rows], waiting if is_one else waiting / names[-1],
                options, novelty=novelty[rows], is_new=is_new[rows], changes=changes,
            )  # fmt: skip
        if not is_one:
            write_manifest(waiting, names)


def _changes_table(comparison: Comparison) -> pa.Table:
    """Return the sheet `changes` of a workbook: a row for each group, as in :attr:`Comparison.changes`."""
    changes = comparison.cluster_changes
    table = pa.table({**columns_of(changes), "compared": [comparison.in_words] * len(changes)})
    marked = [field.with_metadata(SHARE_MARK) if field.name.startswith("share") else field for field in table.schema]
    return table.cast(pa.schema(marked))


def summarize_changes(
    comparison: Comparison, model: str, sources: Sequence[str], outputs: Mapping[str, Path],
    seconds: Mapping[str, float],
) -> Summary:  # fmt: skip
    """Return the summary that --json prints."""
    result, changes = comparison.result, comparison.cluster_changes
    names = {cluster.label: cluster.name for cluster in comparison.model.clusters}
    described = [{**asdict(change), "same_count": change.keeps_count, "figures": change.figures} for change in changes]
    beside = made_with(Path(model)) if "model" in outputs else []
    return {
        "read": result.reading,
        "model": model,
        "input": " ".join(sources),
        **describe_totals(result.totals),
        "texts_of_the_model": comparison.model.totals.rows,
        "clusters_of_the_model": comparison.model.n_clusters,
        "compared": comparison.in_words,
        "new_clusters": clusters_as_json(result, comparison.new_clusters),
        "changes": [{"cluster": change.pop("label"), **change} for change in described],
        "misfits": [result.corpus.distinct[position] for position in comparison.misfits],
        "splits": [{"cluster": label, "name": names[label]} for label in comparison.splits],
        **describe_drift(comparison.drift),
        "outdated": [str(path) for path in beside if path.exists()],  # they do not have the texts of an update yet
        "notes": list(result.notes),
        **describe_run(outputs, seconds),
    }


def print_changes(summary: Summary, console: Console | None = None) -> None:
    """Print for a person the new groups, the changed ones, and the texts that fit nothing."""
    console, new = console or Terminal(highlight=False), summary["new_clusters"]
    texts = f"{plural(summary['texts'], 'text')} against {plural(summary['clusters_of_the_model'], 'group')}"
    headline = plural(len(new), "new group") if new else "Nothing new"
    print_head(summary, _OUTPUTS, Text.assemble((headline, "bold"), f" in {texts} of {summary['model']}"), console)
    for note in summary["notes"]:
        console.print(Text(note, "yellow"))
    if new:
        print_clusters(new, "smaller new group", summary["outputs"], console)
    console.print(Text(), *map(Text, _lines(summary)), sep="\n")


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
        lines.append(f"New groups have {100 * share_of_new:.0f}% of the texts, which lowers the shares of the others.")
    for kind, words in _KINDS.items():
        changes = [change for change in summary["changes"] if (change["status"], change["same_count"]) == kind]
        changes.sort(key=lambda change: -abs(change["share_after"] - change["share_before"]))
        named = [f"{change['name']} ({change['figures']})" for change in changes[:_NAMED]]
        named += [f"and {len(changes) - _NAMED} more"] if len(changes) > _NAMED else []
        lines += [f"{words}: {', '.join(named)}"] if named else []
    steady = sum(change["status"] == "steady" for change in summary["changes"])
    if steady:
        other = "the other " if steady < len(summary["changes"]) else ""
        groups = "the other group" if other and steady == 1 else f"{other}{plural(steady, 'group')}"
        lines.append(f"No significant change in {groups}")
    if summary["misfits"]:
        verb = "fits" if len(summary["misfits"]) == 1 else "fit"
        lines.append(f"{plural(len(summary['misfits']), 'text')} {verb} no group well, such as:")
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
