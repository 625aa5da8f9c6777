"""`textspectra report` and `apply`: the page of a model, and the edits in it back into the model and its table."""

from __future__ import annotations

import codecs
import glob
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ..errors import TextspectraError, UsageError, UserError
from ..files import Outputs, replacing_together
from ..hygiene import plural
from ..report.build import corpus_fingerprint, report_blocks, write_report
from ..report.downloads import newest_state
from ..report.page import render_page
from ..report.state import EditCounts, State, apply_state, count_changes, read_state, what_only_it_has
from ..tables.columns import TextTable, holds_text
from ..tables.frames import with_columns
from ..tables.lines import made_safe
from ..tables.parquet import read_embeddings
from ..tables.read import read_table
from ..tables.source import TableFormat
from ..texts.clustered import clusters_of
from ..texts.result import TextClustering
from ..texts.storage import write_clustering
from .inputs import check_outputs, write_rows
from .output import Options, Stages, present, stages


def report_command(model: str, out: str | None, embeddings: str | None, overwrite: bool) -> None:
    """Write the page of a model."""
    path = Path(out) if out else report_path(Path(model))
    with stages() as tell:
        tell("reading")
        check_outputs({"report": path}, overwrite=overwrite)
        write_report(_load(model, embeddings), path, model=model, overwrite=True, progress=tell)
    present({"model": model, "outputs": {"report": str(path)}}, f"open this in a browser: {path}")


def report_path(model: Path) -> Path:
    """Return where the page of a model folder is by default."""
    return model.with_name(f"{model.name.removesuffix('.model')}.report.html")


def made_with(model: Path) -> list[Path]:
    """Return the page of a model folder NAME.model, and the tables NAME.clusters.* next to it."""
    stem = glob.escape(model.name.removesuffix(".model"))
    return [report_path(model), *sorted(model.parent.glob(f"{stem}.clusters.*"))]


def _load(model: str, embeddings: str | None) -> TextClustering:
    """Load a model folder, with its embeddings if a file of them is given."""
    return TextClustering.load(model, embeddings=None if embeddings is None else read_embeddings(Path(embeddings)))


def apply_command(paths: tuple[str, ...], embeddings: str | None, overwrite: bool) -> None:
    """Give a model, its table and its page the groups and the names of a state."""
    path, model = _state_and_model(paths)
    folder, chosen = Path(model), []
    edits = None if path is None else read_state(path)  # before anything is locked
    with replacing_together(folder, *made_with(folder)) as together, stages() as tell:
        tell("reading")
        before = _load(model, embeddings)
        if path is None:
            path = newest_state(corpus_fingerprint(before.corpus))
            chosen = [f"the newest state of the model: {path}, saved {_moment(path)}"]
        after = _applied(before, edits, path)
        on_table = _update_table(folder, before, after, together, overwrite=overwrite)
        on_report = _update_report(folder, after, together, tell, overwrite=overwrite)
        with together.folder(folder) as waiting:
            write_clustering(after, waiting)
    changes, notes = count_changes(before, after), [on_table, *filter(None, [on_report])]
    summary = {
        "model": model,
        "state": str(path),
        "unchanged": changes.unchanged,
        "renamed": changes.renamed,
        **{kind: {"before": was, "after": now} for kind, (was, now) in changes.regrouped().items()},
        "notes": notes,
    }
    present(summary, "\n".join([*chosen, f"{model}: {edits_in_words(changes)}", *notes]))


def _state_and_model(paths: tuple[str, ...]) -> tuple[Path | None, str]:
    """Return the state, if one is given, and the model folder."""
    *states, model = paths
    if len(states) > 1:
        raise UsageError(f"apply takes one state and one model, but got {len(paths)} names: {', '.join(paths)}")
    if states and Path(states[0]).is_dir() and not Path(model).is_dir():
        raise UsageError(f"The state comes before the model: textspectra apply {model} {states[0]}")
    if not states and Path(model).is_file():
        raise UsageError(f"{model} is not a model folder. If it is a state: textspectra apply {model} MODEL")
    return Path(states[0]) if states else None, model


def _applied(before: TextClustering, edits: State | None, path: Path) -> TextClustering:
    """Apply a state that was given, or the one of a file that was found; then, an error names the file."""
    if edits is not None:
        return apply_state(before, edits)
    try:
        return apply_state(before, path)
    except UserError as error:
        told = str(error)
        raise UserError(told if str(path) in told else f"{path} is the newest state of the model. {told}") from None


def _moment(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _update_table(
    model: Path, before: TextClustering, after: TextClustering, together: Outputs, *, overwrite: bool
) -> str:
    """Write the table beside the model again, if there is one; return what became of it."""
    for path in made_with(model)[1:]:
        with suppress(TextspectraError):  # it cannot be read as a table of groups
            if (table := _read_clusters(path, before)) is not None:
                break
    else:
        return f"no table of its texts is beside it; get one with: textspectra predict {model} FILE"
    if not (table.is_current or overwrite):
        return f"{path} has other groups than the model had, so it was left alone; --overwrite replaces it"
    with together.file(path) as waiting:
        write_rows(table.bare, after, after.labels, after.similarity, waiting, table.options)
    return f"every text with its group: {path}"


def _update_report(model: Path, after: TextClustering, together: Outputs, tell: Stages, *, overwrite: bool) -> str:
    """Make the page beside the model again, if there is one; return what became of it."""
    path = report_path(model)
    if not path.exists():
        return ""
    only = what_only_it_has(path, after)
    if only and not overwrite:
        return f"{path} {only}, so it was left alone; --overwrite replaces it"
    try:
        page = render_page(report_blocks(after, model=model, progress=tell))
    except TextspectraError as error:
        return f"{path} still has the groups from before: {error}"
    with together.file(path) as waiting:
        waiting.write_bytes(page.encode())
    return f"open this in a browser: {path}"


class LabeledTable(NamedTuple):
    """A table beside a model, without its columns of groups, whether these are the model's, and how it was written."""

    bare: TextTable
    is_current: bool
    options: Options


def _read_clusters(path: Path, model: TextClustering) -> LabeledTable | None:
    """Read a table NAME.clusters.*; return None if it does not have the texts of the model, in the same order."""
    # Every column of strings will do here: the texts are compared below.
    table = read_table(path, text_column="cluster_name")
    columns = clusters_of(model).columns(model.labels, model.similarity)
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
        is_marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    options = {"table_format": TableFormat.EXCEL_CSV if is_marked else None, "spreadsheet_safe": forms[0] == 1}
    return LabeledTable(replace(table, table=bare), is_current, options)


def _cells(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def edits_in_words(changes: EditCounts) -> str:
    """Say how many groups were renamed, merged, split, or exchanged texts."""
    regrouped = changes.regrouped()
    parts = {
        f"{plural(changes.renamed, 'group')} renamed": changes.renamed,
        **{f"{plural(before, 'group')} {verb} into {after}": before for verb, (before, after) in regrouped.items()},
        f"{plural(changes.unchanged, 'group')} unchanged": changes.unchanged,
    }
    return ", ".join(part for part, number in parts.items() if number)
