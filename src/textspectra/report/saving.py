"""Put the edits of a reader into a saved model, and into the table and the page beside it: all together, or nothing."""

from __future__ import annotations

import codecs
import glob
import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ..errors import TextspectraError
from ..files import Outputs, replacing_together
from ..hygiene import plural
from ..tables.columns import TextTable, holds_text
from ..tables.frames import with_columns
from ..tables.lines import made_safe
from ..tables.read import read_table
from ..tables.source import TableFormat
from ..tables.write import write_labeled
from ..texts.clustered import clusters_of
from ..texts.result import TextClustering
from ..texts.storage import SUMMARY, write_clustering
from .build import ReportProgress, report_blocks
from .page import render_page
from .state import EditCounts, count_changes, what_only_it_has


class SavedEdits(NamedTuple):
    """What was saved: the model before and after, what became of its table and its page, and the new page."""

    before: TextClustering
    after: TextClustering
    version: str  # of the model folder
    notes: list[str]
    blocks: dict[str, str] | None  # the data of the new page; None if none was made

    @property
    def changes(self) -> EditCounts:
        """How many groups differ."""
        return count_changes(self.before, self.after)


def report_path(model: Path) -> Path:
    """Return where the page of a model folder is by default."""
    return model.with_name(f"{model.name.removesuffix('.model')}.report.html")


def made_with(model: Path) -> list[Path]:
    """Return the page of a model folder NAME.model, and the tables NAME.clusters.* next to it."""
    stem = glob.escape(model.name.removesuffix(".model"))
    return [report_path(model), *sorted(model.parent.glob(f"{stem}.clusters.*"))]


def model_version(folder: Path) -> str:
    """Return a digest of what a model folder holds, an empty string if it is gone.

    The summary has the digests of the other files.
    """
    with suppress(OSError):
        return hashlib.sha256((folder / SUMMARY).read_bytes()).hexdigest()[:32]
    return ""


def save_edits(
    folder: Path,
    edit: Callable[[], tuple[TextClustering, TextClustering]],
    *,
    overwrite: bool = False,
    progress: ReportProgress | None = None,
) -> SavedEdits:
    """Replace a model folder, the table and the page beside it by edited ones.

    `edit` returns the model before and after the edits. No other process changes the folder from then on.
    """
    with replacing_together(folder, *made_with(folder)) as together:
        before, after = edit()
        on_table = _update_table(folder, before, after, together, overwrite=overwrite)
        on_report, blocks = _update_report(folder, after, together, progress, overwrite=overwrite)
        with together.folder(folder) as waiting:
            write_clustering(after, waiting)
            version = model_version(waiting)
    return SavedEdits(before, after, version, [on_table, *filter(None, [on_report])], blocks)


def _update_table(
    model: Path, before: TextClustering, after: TextClustering, together: Outputs, *, overwrite: bool
) -> str:
    """Write the table beside the model again, if there is one; return what became of it."""
    table = find_table(model, before)
    if table is None:
        return f"no table of its texts is beside it; get one with: textspectra predict {model} FILE"
    if not (table.is_current or overwrite):
        return f"{table.path} has other groups than the model had, so it was left alone; --overwrite replaces it"
    clusters = clusters_of(after)
    with together.file(table.path) as waiting:
        write_labeled(
            table.bare, clusters.columns(after.labels, after.similarity), waiting, chosen=table.chosen,
            clusters=clusters.count(after.labels), spreadsheet_safe=table.spreadsheet_safe, overwrite=True,
        )  # fmt: skip
    return f"every text with its group: {table.path}"


def _update_report(
    model: Path, after: TextClustering, together: Outputs, progress: ReportProgress | None, *, overwrite: bool
) -> tuple[str, dict[str, str] | None]:
    """Make the page beside the model again, if there is one; return what became of it, and its data."""
    path = report_path(model)
    if not path.exists():
        return "", None
    only = what_only_it_has(path, after)
    if only and not overwrite:
        return f"{path} {only}, so it was left alone; --overwrite replaces it", None
    try:
        blocks = report_blocks(after, model=model, progress=progress)
    except TextspectraError as error:
        return f"{path} still has the groups from before: {error}", None
    with together.file(path) as waiting:
        waiting.write_bytes(render_page(blocks).encode())
    return f"open this in a browser: {path}", blocks


class LabeledTable(NamedTuple):
    """A table beside a model, without its columns of groups, whether these are the model's, and how it was written."""

    path: Path
    bare: TextTable
    is_current: bool
    chosen: TableFormat | None
    spreadsheet_safe: bool


def find_table(folder: Path, model: TextClustering) -> LabeledTable | None:
    """Return the first table beside a model that has its texts in the same order, or None."""
    for path in made_with(folder)[1:]:
        with suppress(TextspectraError, OSError):  # it cannot be read as a table of groups
            status = path.stat()
            table = _read_unchanged(path, (status.st_mtime_ns, status.st_size, status.st_ino))
            if (labeled := _without_clusters(table, path, model)) is not None:
                return labeled
    return None


@lru_cache(1)
def _read_unchanged(path: Path, stamp: tuple[int, ...]) -> TextTable:
    """Read a table, unless it was read last, and has the same stamp as then."""
    return read_table(path, text_column="cluster_name")  # any column of strings will do: the texts are compared


def _without_clusters(table: TextTable, path: Path, model: TextClustering) -> LabeledTable | None:
    """Take off the columns of groups; return None if the texts are not those of the model, in the same order."""
    columns = clusters_of(model).columns(model.labels, model.similarity)
    bare = table.table.select(table.table.column_names[: -len(columns)])
    rows = model.corpus.rows
    texts = (replace(table, text_column=field.name).texts() for field in bare.schema if holds_text(field))
    is_plain = next((cells == rows for cells in texts if cells == rows or cells == made_safe(rows)), None)
    if is_plain is None:
        return None
    expected, names = with_columns(bare, columns)
    if expected.column_names != table.table.column_names:
        return None
    clusters = [names["cluster"], names["cluster_name"]]
    pairs = [(_cells(expected[name]), _cells(table.table[name])) for name in clusters]
    is_current = all(target == cells or made_safe(target) == made_safe(cells) for target, cells in pairs)
    with path.open("rb") as file:
        is_marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    chosen = TableFormat.EXCEL_CSV if is_marked else None
    return LabeledTable(path, replace(table, table=bare), is_current, chosen, not is_plain)


def _cells(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def edits_in_words(changes: EditCounts) -> str:
    """Say how many groups were renamed, merged, split, or exchanged texts."""
    regrouped = changes.regrouped()
    into = {"merged": "merged into", "split": "split into", "mixed": "rearranged into"}
    parts = {
        f"{plural(changes.renamed, 'group')} renamed": changes.renamed,
        **{f"{plural(before, 'group')} {into[kind]} {after}": before for kind, (before, after) in regrouped.items()},
        f"{plural(changes.unchanged, 'group')} unchanged": changes.unchanged,
    }
    return ", ".join(part for part, number in parts.items() if number)
