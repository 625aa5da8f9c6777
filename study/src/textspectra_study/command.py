"""The command `textspectra-study`: run the paper's experiments, and write the page about them."""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from textspectra import ExternalError, UsageError, UserError

from . import __version__

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors and warnings.")


PLAN_OPTIONS = (
    click.option(
        "--data",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Folder of files with the columns text and label. [default: $TEXTSPECTRA_DATA, or the Hugging Face hub]",
    ),
    click.option(
        "--sets",
        metavar="NAME,...",
        help="Names of the paper's datasets or of files. [default: the paper's six, or all files if none is in FOLDER]",
    ),
    click.option(
        "--models",
        metavar="NAME,...",
        default="wordllama",
        show_default=True,
        help="Embedding models; `textspectra models` lists them. `paper` selects the paper's four.",
    ),
    click.option(
        "--max-size",
        metavar="N|MODEL=N",
        multiple=True,
        help="Skip samples with more than N rows, for all models or for one. Can be repeated.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of cells to compute in parallel. [default: one per core]",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same numbers."
    ),
)
"""The options that decide which cells a study has."""


def plan_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that decide which cells a study has."""
    for option in reversed(PLAN_OPTIONS):
        function = option(function)
    return function


@click.group(context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "TEXTSPECTRA_STUDY"})
@click.version_option(__version__, prog_name="textspectra-study")
def command() -> None:
    """Compare clustering algorithms on labeled datasets as the paper does.

    `plan` estimates what a run will take. `run` computes the numbers; it can be stopped and continued at any time.
    `report` writes a page with the numbers beside the paper's.
    """


class Stopped(BaseException):
    """Ctrl-C, or SIGTERM, the signal that systems and containers stop a process with."""


def main() -> None:
    """Run the command; a signal is one line, and the exit code that a shell expects."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell ignores it in the background
        signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    try:
        run()
    except Stopped as stopped:
        click.echo("stopped. Finished cells are kept, and are not computed again.", err=True)
        sys.exit(128 + int(stopped.args[0]))


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def run() -> None:
    """Run the command; an expected error is one line, with the same exit codes as `textspectra`."""
    warnings.showwarning = lambda message, *_: click.echo(f"warning: {message}", err=True)
    try:
        command.main(prog_name="textspectra-study", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (UserError, ExternalError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:  # the package of a model that is not installed
        if "pip install" not in str(error):
            raise
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    sys.exit(0)


@command.command("run", short_help="Compute the missing cells of a study.")
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@plan_options
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=1800, show_default=True, help="Time limit of a cell, in seconds."
)
@click.option(
    "--memory", type=click.FloatRange(min=0.5), default=8, show_default=True, help="Memory limit of a cell, in GB."
)
@click.option("--retry", is_flag=True, help="Recompute cells that failed or hit a limit.")
@quiet_option
def run_command(
    folder: Path, data: Path | None, sets: str | None, models: str, max_size: tuple[str, ...], jobs: int | None,
    timeout: float, memory: float, retry: bool, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Compute the missing cells of a study, and store them in the folder STUDY.

    It can be stopped at any time; the same command continues.
    """
    from .cells import Limits
    from .run import run_study

    with _ProgressBar(quiet=quiet) as progress:
        results = run_study(
            folder,
            **_choices(data, sets, models, max_size, seed),
            jobs=jobs,
            limits=Limits(timeout, memory),
            retry=retry,
            progress=progress,
        )
    if not quiet:
        without = sum(not cell.ok for cell in results.cells)
        which = f"{without:,} of them without numbers (the report says why)" if without else "all with numbers"
        click.echo(f"{len(results.cells):,} cells in {folder}, {which}.")
        click.echo(f"Next: textspectra-study report {folder}")


@command.command("plan", short_help="Estimate the time, memory and disk space that a run will take.")
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@plan_options
@click.option(
    "--measured",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The resources.csv of another study. [default: the finished cells of STUDY]",
)
def plan_command(
    folder: Path, data: Path | None, sets: str | None, models: str, max_size: tuple[str, ...], jobs: int | None,
    seed: int, measured: Path | None,
) -> None:  # fmt: skip
    """Estimate what `run` with the same options still needs on this machine; nothing is written.

    Embedding and scoring are timed now, on a few texts. The cells are estimated from finished ones.
    """
    from .plan import plan_study

    forecast = plan_study(folder, jobs=jobs, measured=measured, **_choices(data, sets, models, max_size, seed))
    click.echo(f"{forecast.cells:,} of {forecast.planned:,} cells are left to compute.")
    for model, (texts, seconds) in forecast.embedding.items():
        click.echo(f"Embedding: {texts:,} texts with {model}, about {_duration(seconds)}.")
    if forecast.slowest[0]:
        time_alone, memory_alone = _duration(forecast.slowest[1]), f"{forecast.largest[1] / 1024:.1f} GB"
        click.echo(
            f"Time: about {_duration(forecast.seconds)} for the cells; the slowest, {forecast.slowest[0]}, takes "
            f"{time_alone}."
        )
        click.echo(
            f"Memory: up to {forecast.megabytes / 1024:.1f} GB; the largest cell, {forecast.largest[0]}, needs "
            f"{memory_alone}."
        )
        also = "and about as much for the cache of embeddings"
        click.echo(f"Disk: {forecast.disk / 1e9:.1f} GB, {also}; {forecast.free / 1e9:.0f} GB are free.")
    if forecast.unknown:
        click.echo(f"Not measured, and not counted: {', '.join(forecast.unknown)}.")


@command.command("report", short_help="Write the page of a study.")
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--out", metavar="FOLDER", type=click.Path(path_type=Path), help="The folder of the page. [default: STUDY/report]"
)
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@quiet_option
def report_command(folder: Path, out: Path | None, overwrite: bool, quiet: bool) -> None:
    """Write the page of a study: the paper's claims, tables and figures, each beside our numbers."""
    from .page import OUTPUTS, write_page
    from .store import Store

    target = out or folder / "report"
    results = Store(folder).read()
    existing = [str(target / name) for name in OUTPUTS if (target / name).exists()]
    if existing and not overwrite:
        raise UsageError(f"Use --overwrite or another --out; there is already {', '.join(existing)}.")
    written = write_page(results, target)
    if not quiet:
        click.echo(f"{len(results.cells):,} of {results.n_planned:,} cells; open {written[0]}")


def _choices(data: Path | None, sets: str | None, models: str, max_size: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return the options that decide which cells a study has as `run_study` and `plan_study` take them."""
    for_all, for_some = _sizes(max_size)
    return {
        "data": data,
        "sets": _names(sets) if sets is not None else None,
        "models": _models(models),
        "max_size": for_all,
        "max_size_of": for_some,
        "seed": seed,
    }


def _models(listed: str) -> list[str]:
    names = _names(listed)
    if "paper" not in names:
        return names
    from .page.paper import MODELS  # slow to import

    return [model for name in names for model in (MODELS if name == "paper" else (name,))]


def _names(listed: str) -> list[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if not names:
        raise click.UsageError("A list of names is empty. Separate names by commas.")
    return names


def _sizes(given: tuple[str, ...]) -> tuple[int | None, dict[str, int]]:
    for_all: int | None = None
    for_some: dict[str, int] = {}
    for size in given:
        model, equals, number = size.rpartition("=")
        if not number.isdecimal() or int(number) < 2 or (equals and not model):
            raise click.BadParameter(f"{size!r} is neither a number of rows nor MODEL=N.", param_hint="--max-size")
        if model:
            for_some[model] = int(number)
        else:
            for_all = int(number)
    return for_all, for_some


class _ProgressBar:
    """Shows progress on standard error: a bar in a terminal, one line per minute in a log file."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bars: Progress | None = None
        self._task: TaskID | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> _ProgressBar:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
            self._task = self._bars.add_task("reading the datasets", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def embedding(self, what: str, done: int, total: int) -> None:
        """Show how many texts are embedded."""
        self._show(f"embedding {what}", done, total)

    def computing(self, done: int, total: int, seconds_left: float | None) -> None:
        """Show how many cells are finished, and the time left."""
        left = "" if seconds_left is None else f", about {_duration(seconds_left)} left"
        self._show(f"computing{left}", done, total)

    def _show(self, what: str, done: int, total: int) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, description=what, completed=done, total=total)
        elif not self._quiet and time.monotonic() - self._last_line > 60:
            self._last_line = time.monotonic()
            click.echo(f"{what}: {done:,} of {total:,}", err=True)


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
