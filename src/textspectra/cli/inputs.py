"""What commands read and where they write: tables of texts, embeddings, and the places of the outputs."""

from __future__ import annotations

import glob
import itertools
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import UsageError, UserError, cannot_write
from ..files import Outputs, replacing_together
from ..tables.columns import TextTable, column_values
from ..tables.headers import quoted_names
from ..tables.parquet import list_column, read_embeddings
from ..tables.read import is_pattern, matching_files, read_table
from ..tables.source import open_file
from ..tables.write import output_paths_free, write_labeled
from ..texts.clustered import ClusteredTexts, clusters_of
from ..texts.many_files import folder_free
from ..texts.storage import model_folder_free
from .options import READING
from .output import Options

LARGEST_WORDS = 2**20  # bytes of a file of stop words


def read_input(source: str, options: Options, *, warn: bool = True) -> TextTable:
    """Read a table of texts from a file or standard input; warn of guesses."""
    reading = {str(option.name): options[str(option.name)] for option in READING}
    table = read_table(source, **reading, stdin=sys.stdin.buffer)
    for note in table.notes if warn else ():
        warnings.warn(note, stacklevel=2)
    return table


def describe_reading(source: str, table: TextTable) -> str:
    """Say where texts are: the file, the sheet and the header of a workbook, and the column."""
    parts = ["standard input" if source == "-" else f"'{Path(source).name}'"]
    parts += [f"sheet {table.sheet!r}"] if table.sheet else []
    parts += [f"header in row {table.header_row}"] if (table.header_row or 0) > 1 else []
    parts += ["no header"] if table.header_row == 0 else []
    return ", ".join([*parts, f"column {quoted_names([table.text_column])}"])


def given_embeddings(embeddings: str | None, table: TextTable) -> NDArray[np.generic] | None:
    """Return the embeddings that --embeddings names: a file, or a list column of the table."""
    if embeddings is None:
        return None
    if embeddings in table.table.column_names:
        return list_column(table.table, embeddings)
    return read_embeddings(Path(embeddings))


def read_known(source: str) -> dict[str, list[str]]:
    """Read the examples of each known group: a table with the columns name and example."""
    table = read_table(source, text_column="example")
    known: dict[str, list[str]] = {}
    names = column_values(table.table, "name")
    for row, (name, example) in enumerate(zip(names, table.texts(), strict=True), start=1):
        if name is None or not str(name).strip():
            raise UserError(f"'{source}': the name in row {row} is blank; every example needs the name of its group.")
        known.setdefault(str(name), []).append(example or "")
    return known


def read_stop_words(source: str) -> list[str]:
    """Read a file with one word per line; lines that begin with # are comments."""
    with open_file(Path(source)) as file:
        content = file.read(LARGEST_WORDS + 1)
    if len(content) > LARGEST_WORDS:
        raise UserError(f"--stop-words '{source}' is larger than {LARGEST_WORDS // 2**20} MB; shorten it.")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UserError(f"--stop-words '{source}' is not in UTF-8; save it as UTF-8.") from None
    words = {number: line.strip() for number, line in enumerate(lines, start=1) if not line.strip().startswith("#")}
    for number, word in words.items():
        if len(word.split()) > 1:
            raise UserError(f"--stop-words '{source}', line {number}: {word!r} is not one word; write one per line.")
    if not any(words.values()):
        raise UserError(f"--stop-words '{source}' has no words; give one word per line.")
    return list(filter(None, words.values()))


def is_single(sources: Sequence[str]) -> bool:
    """Return True if the sources are one file, and not a pattern for several."""
    return len(sources) == 1 and not is_pattern(sources[0])


def find_files(sources: Sequence[str]) -> tuple[list[str], Path]:
    """Return the files that the sources name, each once, and the path from which the outputs get their names."""
    if is_single(sources):
        return list(sources), Path(sources[0])
    if "-" in sources:
        raise click.UsageError("Standard input (-) cannot be combined with other files.")
    matched = [matching_files(source) if is_pattern(source) else [source] for source in sources]
    paths = list({Path(name).resolve(): name for name in itertools.chain.from_iterable(matched)}.values())
    if len(sources) == 1:
        # The folder of the files is the part of the pattern before its first wildcard.
        fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(sources[0]).parts))
        return paths, fixed.parent / (fixed.name or "texts")
    stems = [Path(name).name.partition(".")[0] for name in paths]
    return paths, Path(paths[0]).with_name("+".join(stems) if len(stems) < 4 else f"{stems[0]}+{len(stems) - 1}")


def place_outputs(place: Path, suffix: str | None, options: Options, **endings: str) -> dict[str, Path]:
    """Return where the outputs go, once it is clear that they can be written; several tables have no suffix."""
    folder = Path(options["out"]) if options["out"] else place.parent
    outputs = {name: folder / f"{place.name}{ending}" for name, ending in endings.items()}
    outputs["table"] = outputs["table"].with_name(outputs["table"].name + (suffix or ""))
    if options["no_report"]:
        del outputs["report"]
    check_outputs(outputs, overwrite=options["overwrite"], table_is_folder=suffix is None)
    return outputs


def check_outputs(outputs: Mapping[str, Path], *, overwrite: bool, table_is_folder: bool = False) -> None:
    """Raise unless all outputs can be written; no later step asks again."""
    folder = next(iter(outputs.values())).parent
    try:
        ancestor = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    except OSError as error:  # such as a name that is too long
        raise UsageError(f"'{folder}' cannot be a folder for the outputs: {error.strerror}.") from None
    if not ancestor.is_dir():
        raise UsageError(f"'{folder}' cannot be a folder for the outputs, because '{ancestor}' is a file.")
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise UsageError(f"You have no permission to write to '{ancestor}'; choose another place.")
    files = dict(outputs)
    if "model" in files:
        model_folder_free(files.pop("model"), overwrite=overwrite)
    if table_is_folder:
        folder_free(files.pop("table"), overwrite=overwrite)
    output_paths_free(files.values(), overwrite=overwrite)


@contextmanager
def replacing_outputs(outputs: Mapping[str, Path]) -> Iterator[Outputs]:
    """Keep other processes from the outputs, which take their places together at the end; make their folder."""
    folder = outputs["table"].parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(f"The folder '{folder}' cannot be made: {error.strerror}.", error) from error
    with replacing_together(outputs.get("model", outputs["table"]), *outputs.values()) as together:
        yield together


def write_rows(
    table: TextTable, model: ClusteredTexts, labels: NDArray[np.intp], similarity: NDArray[np.float32], path: Path,
    options: Options, *, novelty: NDArray[np.float32] | None = None, is_new: NDArray[np.bool_] | None = None,
    changes: pa.Table | None = None, points: NDArray[np.float32] | None = None,
) -> None:  # fmt: skip
    """Write a table with the group of each row; texts without a group, and unknown novelty, are missing values."""
    clusters = clusters_of(model)
    columns = clusters.columns(labels, similarity, points)
    if novelty is not None:
        columns["novelty"] = pa.array(novelty.astype(float).round(3), mask=np.isnan(novelty))
    if is_new is not None:
        columns["is_new"] = pa.array(is_new)
    write_labeled(
        table, columns, path, chosen=options["table_format"], clusters=clusters.count(labels), changes=changes,
        spreadsheet_safe=options["spreadsheet_safe"], overwrite=True,
    )  # fmt: skip
