"""What several commands share: options, input, progress."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .output import asked, at_terminal, events, json_option

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import Progress

    from ..tables.columns import TextTable
    from ..tables.source import TableFormat
    from ..texts.corpus import EmbeddedTexts

Function = TypeVar("Function", bound=Callable[..., Any])

LABELS = {
    "reading": "reading the texts",
    "embedding": "embedding",
    "estimating": "estimating the number of groups",
    "grouping": "finding the groups",
    "describing": "finding keywords and names",
    "scoring": "scoring",
    "mapping": "drawing the map",
    "reporting": "making the report",
    "writing": "writing",
}


def options(*decorators: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Bundle option decorators, in the order in which --help shows them."""

    def bundle(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return bundle


reading_options = options(
    click.option("--text-column", metavar="NAME", help="The column that holds the texts, if it is not obvious."),
    click.option("--encoding", metavar="NAME", help="Character encoding of a text file, if not UTF-8 or cp1252."),
    click.option(
        "--sheet", metavar="NAME_OR_NUMBER", help="The sheet of a workbook; by default the one with the most texts."
    ),
    click.option(
        "--header-row", type=click.IntRange(min=0), metavar="N",
        help="The row with the column names, from 1, if it is not found; 0 if there is none.",
    ),
)  # fmt: skip
input_options = options(click.argument("source", metavar="FILE"), reading_options)


def _switch_on(*variables: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return the callback of a flag that the library knows as environment variables."""

    def switch(context: click.Context, option: click.Parameter, chosen: bool) -> None:
        if chosen:
            os.environ.update(dict.fromkeys(variables, "1"))

    return switch


offline_option = click.option(
    "--offline", is_flag=True, expose_value=False, callback=_switch_on("HF_HUB_OFFLINE", "TEXTSPECTRA_OFFLINE"),
    help="Never download a model, and send nothing to a server.",
)  # fmt: skip
saved_model_options = options(
    offline_option,
    click.option(
        "--allow-server", is_flag=True, expose_value=False, callback=_switch_on("TEXTSPECTRA_ALLOW_SERVER"),
        help="Send texts to your server (OPENAI_BASE_URL) if the model was made with one.",
    ),
)  # fmt: skip
model_option = options(
    click.option("--model", default="auto", show_default=True, metavar="NAME", help="See `textspectra models`."),
    offline_option,
)
cache_option = click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of embeddings.")
model_options = options(
    model_option,
    click.option(
        "--embeddings", metavar="FILE_OR_COLUMN",
        help="Skip the model: a .npy or .parquet file with one row per text, or a list column of the input.",
    ),
    cache_option,
)  # fmt: skip
keep_option = click.option("--keep-all", is_flag=True, help='Group texts that say nothing, too: "n/a", "-", emoji.')
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same result."
)
output_options = options(
    click.option("--overwrite", is_flag=True, help="Replace outputs that exist already."),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors and warnings."),
)


def _table_format(context: click.Context, option: click.Parameter, chosen: str | None) -> TableFormat | None:
    from ..tables.source import TableFormat

    return TableFormat(chosen) if chosen else None


_formats = click.Choice(["xlsx", "csv", "excel-csv", "tsv", "jsonl", "parquet"])
table_options = options(
    click.option(
        "--format", "table_format", type=_formats, callback=_table_format,
        help="Format of the output table; by default that of the input.",
    ),
    click.option(
        "--excel-csv", "table_format", type=_formats, flag_value="excel-csv", callback=_table_format,
        help="Short for --format excel-csv: CSV with a mark by which Excel recognizes UTF-8, and spreadsheet-safe.",
    ),
    click.option(
        "--spreadsheet-safe", is_flag=True, help="Escape cells of CSV and TSV output that a spreadsheet would run."
    ),
)  # fmt: skip
measuring_options = options(
    seed_option,
    click.option("--quiet", "-q", is_flag=True, help="Print the bare result, and no progress."),
    json_option,
)
"""For a command that prints numbers and writes no file."""


class Stages:
    """Show the current stage and its progress, and remember how long each stage took."""

    def __init__(self, bars: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._bars = bars
        self._task: Any = None
        self._stage = ""
        self._start = 0.0

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Enter a stage, or report how far it is."""
        if stage != self._stage:
            self.finish()
            self._stage, self._start = stage, time.perf_counter()
            events.info("%s", LABELS[stage])
            if self._bars is not None:
                self._task = self._bars.add_task(LABELS[stage], total=None)
        if self._bars is not None and total is not None and total > 1:
            self._bars.update(self._task, completed=done, total=total)

    def finish(self) -> None:
        """Close the stage that is under way."""
        if not self._stage:
            return
        seconds = time.perf_counter() - self._start
        self.seconds[self._stage] = self.seconds.get(self._stage, 0) + seconds
        events.info("%s: done in %.3f s", LABELS[self._stage], seconds)
        if self._bars is not None:
            self._bars.update(self._task, completed=1, total=1)
        self._stage = ""


@contextmanager
def stages(*, quiet: bool) -> Iterator[Stages]:
    """Show progress on standard error, if that is a terminal and neither `quiet` nor line by line (-v)."""
    quiet = quiet or asked().verbose
    bars: AbstractContextManager[Progress | None] = nullcontext()
    if not quiet and at_terminal():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bars = Progress(*columns, console=Console(stderr=True), transient=True)
    with bars as shown, nullcontext() if quiet else _showing_log(shown):
        progress = Stages(shown)
        yield progress
        progress.finish()


class _Shown(logging.Handler):
    """Pass on what is logged to a function that prints it."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        self._show(record.getMessage())


@contextmanager
def _showing_log(bars: Progress | None) -> Iterator[None]:
    """Show on standard error what the library logs: a download, or work that takes long."""
    show = partial(click.echo, err=True) if bars is None else partial(bars.console.print, markup=False, highlight=False)
    logger, handler = logging.getLogger("textspectra"), _Shown(show)
    handler.addFilter(lambda record: record.levelno >= logging.INFO and record.name != events.name)
    logger.setLevel(min(logger.level or logging.INFO, logging.INFO))  # a log file may have asked for more
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def terminal() -> Console:
    """Return the console for results; a reader that has gone is an error like any other, not the end of the process."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(highlight=False)


def read_input(
    source: str, text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None, *,
    warn: bool = True,
) -> TextTable:  # fmt: skip
    """Read a table of texts from a file or standard input; warn of what was not sure."""
    from ..tables.read import read_table

    table = read_table(
        source, text_column=text_column, encoding=encoding, sheet=sheet, header_row=header_row, stdin=sys.stdin.buffer
    )
    for note in table.notes if warn else ():
        warnings.warn(note, stacklevel=2)
    return table


def given_embeddings(embeddings: str | None, table: TextTable) -> NDArray[Any] | None:
    """Return the embeddings that --embeddings names: a file, or a list column of the table."""
    if embeddings is None:
        return None
    from ..tables.parquet import list_column, read_embeddings

    if embeddings in table.table.column_names:
        return list_column(table.table, embeddings)
    return read_embeddings(Path(embeddings))


def embed_source(
    table: TextTable, model: str, embeddings: str | None, *, cache: bool, tell: Stages, keep_all: bool = True
) -> tuple[EmbeddedTexts, dict[str, str | None]]:
    """Give the distinct texts of a table their vectors; return them with the model and why it was chosen."""
    from ..embedding.registry import chosen_backend
    from ..texts.corpus import Corpus, embed_corpus
    from ..texts.notes import doubt_about_languages, is_foreign
    from ..words.languages import language_shares

    corpus = Corpus.from_texts(table.texts(), keep_all=keep_all)
    corpus.check_content()
    given = given_embeddings(embeddings, table)
    tell("embedding")
    encoder, reason = None, ""
    if given is None:
        languages = language_shares(corpus.distinct)
        encoder, reason = chosen_backend(model, len(corpus.distinct), is_foreign=is_foreign(languages))
        if doubt := doubt_about_languages(languages, encoder.name):
            warnings.warn(doubt, stacklevel=2)
    texts = embed_corpus(corpus, encoder, given, cache=cache, progress=lambda *step: tell("embedding", *step))
    return texts, {"model": encoder.name if encoder else None, "model_reason": reason or None}


def model_line(described: Mapping[str, Any]) -> str:
    """Return a line that names the model and why it was chosen."""
    return f"Model {described['model']}, {described['model_reason'].rstrip('.')}."


def make_folder(folder: Path) -> None:
    """Make the folder of the outputs, if it is not there."""
    from ..errors import cannot_write

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(f"The folder '{folder}' cannot be made: {error.strerror}.", error) from error


def check_folder(folder: Path) -> None:
    """Raise if nothing can be written to a folder that may have to be made first."""
    from ..errors import UsageError

    try:
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    except OSError as error:  # such as a name that is too long
        raise UsageError(f"'{folder}' cannot be a folder for the outputs: {error.strerror}.") from None
    if not there.is_dir():
        raise UsageError(f"'{folder}' cannot be a folder for the outputs, because '{there}' is a file.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"There is no permission to write to '{there}'; choose another place.")
