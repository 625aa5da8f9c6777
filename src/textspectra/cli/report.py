"""`textspectra report` and `apply`: the page of a model, and the edits in it back into the model and its table."""

from __future__ import annotations

import codecs
import glob
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from .options import check_outputs, command
from .output import Stages, present, stages
from .summary import count_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..files import Outputs
    from ..report.state import EditCounts
    from ..tables.columns import TextTable
    from ..tables.source import TableFormat
    from ..texts.result import TextClustering


@command("report")
def report_command(model: str, out: str | None, embeddings: str | None, overwrite: bool) -> None:
    """Write a page to explore the saved MODEL folder in a browser: one HTML file that needs no network."""
    from ..report.build import write_report

    path = Path(out) if out else report_path(Path(model))
    with stages() as tell:
        tell("reading")
        check_outputs({"report": path}, overwrite=overwrite)
        write_report(_load(model, embeddings), path, overwrite=True, progress=tell)
    summary = {"model": model, "outputs": {"report": str(path)}}
    present(summary, lambda: click.echo(f"open this in a browser: {path}"))


def report_path(model: Path) -> Path:
    """Return where the page of a model folder is by default."""
    return model.with_name(f"{model.name.removesuffix('.model')}.report.html")


def made_with(model: Path) -> list[Path]:
    """Return the page of a model folder NAME.model, and the tables NAME.clusters.* next to it."""
    stem = glob.escape(model.name.removesuffix(".model"))
    return [report_path(model), *sorted(model.parent.glob(f"{stem}.clusters.*"))]


def _load(model: str, embeddings: str | None) -> TextClustering:
    """Load a model folder, with its embeddings if a file of them is given."""
    from ..tables.parquet import read_embeddings
    from ..texts.result import TextClustering

    return TextClustering.load(model, embeddings=None if embeddings is None else read_embeddings(Path(embeddings)))


@command("apply")
def apply_command(state: str, model: str, embeddings: str | None, overwrite: bool) -> None:
    """Give the saved MODEL folder the groups and the names of STATE.json.

    STATE.json is the file that "Download JSON" of a report writes. Groups whose texts stay the same keep their
    number. A merged group keeps the number of the first, and parts of a split group get new ones. The new groups
    also go into the table NAME.clusters.* next to the folder NAME.model, if it has the texts of the model in the
    same order, and into the page NAME.report.html. If the table has other groups than the model, or if the page
    compares with a ground truth, they need --overwrite.
    """
    from ..files import replacing_together
    from ..report.state import apply_state, count_changes, read_state
    from ..texts.storage import write_clustering

    folder, edits = Path(model), read_state(Path(state))
    with replacing_together(folder, *made_with(folder)) as together, stages() as tell:
        tell("reading")
        before = _load(model, embeddings)
        after = apply_state(before, edits)
        notes = [
            _update_table(folder, before, after, together, overwrite=overwrite),
            _update_report(folder, after, together, tell, overwrite=overwrite),
        ]
        with together.folder(folder) as waiting:
            write_clustering(after, waiting)
    changes, notes = count_changes(before, after), [note for note in notes if note]
    summary = {
        "model": model,
        "unchanged": changes.unchanged,
        "renamed": changes.renamed,
        **{kind: {"before": was, "after": now} for kind, (was, now) in changes.regrouped().items()},
        "notes": notes,
    }
    present(summary, lambda: click.echo("\n".join([f"{model}: {edits_in_words(changes)}", *notes])))


def _update_table(
    model: Path, before: TextClustering, after: TextClustering, together: Outputs, *, overwrite: bool
) -> str:
    from ..tables.write import write_labeled
    from ..texts.clustered import clusters_of

    table = find_table(model, before)
    if table is None:
        return f"no table of its texts is beside it; get one with: textspectra predict {model} FILE"
    if not (table.is_current or overwrite):
        return f"{table.path} has other groups than the model had, so it was left alone; --overwrite replaces it"
    with together.file(table.path) as waiting:
        clusters = clusters_of(after).count(after.labels)
        write_labeled(
            table.bare, _columns(after), waiting, chosen=table.form, clusters=clusters,
            spreadsheet_safe=table.spreadsheet_safe, overwrite=True,
        )  # fmt: skip
    return f"every text with its group: {table.path}"


def _update_report(model: Path, after: TextClustering, together: Outputs, tell: Stages, *, overwrite: bool) -> str:
    """Make the page beside the model again, if there is one; return what became of it."""
    from ..errors import TextspectraError
    from ..report.build import report_blocks
    from ..report.page import render_page
    from ..report.state import what_only_it_has

    path = report_path(model)
    if not path.exists():
        return ""
    only = what_only_it_has(path, after)
    if only and not overwrite:
        return f"{path} {only}, so it was left alone; --overwrite replaces it"
    try:
        page = render_page(report_blocks(after, progress=tell))
    except TextspectraError as error:
        return f"{path} still has the groups from before: {error}"
    with together.file(path) as waiting:
        waiting.write_bytes(page.encode())
    return f"open this in a browser: {path}"


class LabeledTable(NamedTuple):
    """The table beside a model, without its columns of groups."""

    path: Path
    bare: TextTable
    is_current: bool  # it has the groups of the model
    form: TableFormat | None  # a format that does not follow from the name
    spreadsheet_safe: bool  # its texts are escaped


def find_table(folder: Path, model: TextClustering) -> LabeledTable | None:
    """Return the table NAME.clusters.* next to NAME.model that has the texts of the model, in the same order."""
    from ..errors import TextspectraError

    for path in made_with(folder)[1:]:
        with suppress(TextspectraError):  # it cannot be read as a table of groups
            if (table := _read_clusters(path, model)) is not None:
                return table
    return None


def _read_clusters(path: Path, model: TextClustering) -> LabeledTable | None:
    from ..tables.columns import holds_text
    from ..tables.frames import with_columns
    from ..tables.lines import made_safe
    from ..tables.read import read_table
    from ..tables.source import TableFormat

    # Every column of strings will do here: the texts are compared below.
    table = read_table(path, text_column="cluster_name")
    columns = _columns(model)
    bare = table.table.select(table.table.column_names[: -len(columns)])
    texts = [field.name for field in bare.schema if holds_text(field)]
    known = model.corpus.rows, made_safe(model.corpus.rows)
    forms = [known.index(cells) for name in texts if (cells := replace(table, text_column=name).texts()) in known]
    if not forms:
        return None
    expected, names = with_columns(bare, columns)
    if expected.column_names != table.table.column_names:
        return None
    clusters = [names["cluster"], names["cluster_name"]]
    is_current = all(made_safe(_cells(expected[name])) == made_safe(_cells(table.table[name])) for name in clusters)
    with path.open("rb") as file:
        marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    form = TableFormat.EXCEL_CSV if marked else None
    return LabeledTable(path, replace(table, table=bare), is_current, form, spreadsheet_safe=forms[0] == 1)


def _columns(result: TextClustering) -> dict[str, pa.Array]:
    from ..texts.clustered import clusters_of

    return clusters_of(result).columns(result.labels, result.similarity)


def _cells(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def edits_in_words(changes: EditCounts) -> str:
    """Say how many groups were renamed, merged, split, or exchanged texts."""
    regrouped = changes.regrouped()
    parts = {
        f"{count_of(changes.renamed, 'group')} renamed": changes.renamed,
        **{f"{count_of(before, 'group')} {verb} into {after}": before for verb, (before, after) in regrouped.items()},
        f"{count_of(changes.unchanged, 'group')} unchanged": changes.unchanged,
    }
    return ", ".join(part for part, number in parts.items() if number)
