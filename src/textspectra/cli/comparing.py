"""What `compare` and `update` share: read the files, compare them with a model, write the tables and the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .common import (
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
    table_options,
)
from .output import json_option

if TYPE_CHECKING:
    import pyarrow as pa

    from ..atomic import Outputs
    from ..io import TextTable
    from ..texts.comparison import Comparison
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
    from ..io import is_pattern, name_parts, output_format, output_paths_free
    from ..io.labelled import ADDED
    from ..texts.files.run import folder_free
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

    from ..io.columns import as_strings

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
    from ..io import output_format, write_labelled
    from ..report import write_report

    make_folder(inputs.outputs["table"].parent)
    if "report" in inputs.outputs:
        with together.file(inputs.outputs["report"]) as waiting:
            write_report(found.result, waiting, changes=found, overwrite=True, progress=tell)
    tell("writing")
    place = together.file if inputs.is_one else together.folder
    with place(inputs.outputs["table"]) as waiting:
        changes = _changes_table(found)
        for name, table, columns, groups in _parts(found, inputs):
            path = waiting if inputs.is_one else waiting / name
            form = output_format(inputs.outputs["table"] if inputs.is_one else path, table, chosen["table_format"])
            write_labelled(
                table, columns, path, chosen=form, groups=groups, changes=changes,
                spreadsheet_safe=chosen["spreadsheet_safe"], overwrite=True,
            )  # fmt: skip
        if not inputs.is_one:
            from ..texts.files.run import MANIFEST

            written = [str(path.relative_to(waiting)) for path in waiting.rglob("*") if path.is_file()]
            (waiting / MANIFEST).write_text(json.dumps(written))


def _changes_table(found: Comparison) -> pa.Table:
    """Return the sheet `changes` of a workbook: a row for each group, as in :attr:`Comparison.changes`."""
    import pyarrow as pa

    from ..io.table import SHARE_MARK
    from ..texts.history import columns_of

    columns = columns_of(found.group_changes)
    columns["compared"] = [found.in_words] * len(found.group_changes)
    table = pa.table(columns)
    marked = [field.with_metadata(SHARE_MARK) if field.name.startswith("share") else field for field in table.schema]
    return table.cast(pa.schema(marked))


def _parts(found: Comparison, inputs: Inputs) -> Iterator[tuple[str, TextTable, dict[str, Any], pa.Table]]:
    """Yield the name of the output of each file, its table, the columns that are added, and the sizes of its groups."""
    from ..texts.clustered import groups_of

    result, start, groups = found.result, 0, groups_of(found.result)
    for number, (name, table) in enumerate(zip(inputs.names, inputs.tables, strict=True), 1):
        rows = slice(start, start + table.table.num_rows)
        start = rows.stop
        labels = result.labels[rows]
        columns = groups.columns(labels, result.similarity[rows]) | novelty_columns(
            found.novelty[rows], found.is_new[rows]
        )
        yield f"{number:03d}-{name}", table, columns, groups.count(labels)


def novelty_columns(novelty: Any, is_new: Any = None) -> dict[str, Any]:
    """Return the columns novelty and is_new of a table; texts without a group, and unknown novelty, are missing."""
    import numpy as np
    import pyarrow as pa

    without = np.isnan(novelty)
    columns = {"novelty": pa.array(novelty.astype(float).round(3), mask=without)}
    return columns if is_new is None else columns | {"is_new": pa.array(is_new)}
