"""What a command says: results and errors for people and as JSON, progress, and a log with one line per event."""

from __future__ import annotations

import json
import logging
import math
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..errors import ExternalError

if TYPE_CHECKING:  # rich takes longer than most of what a command without progress does
    from rich.progress import Progress, TaskID

SCHEMA_VERSION = 1
"""The version of `data/schema.json`. A new key keeps it; a key that goes, or gets another name or type, raises it."""

Summary = dict[str, Any]
"""The result of a command, as --json prints it."""

Options = dict[str, Any]
"""The options of a command by name, as click read them."""

VERSIONS = {"schema_version": SCHEMA_VERSION, "textspectra_version": __version__}

STAGES = {
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

package_log = logging.getLogger("textspectra")
package_log.addHandler(logging.NullHandler())  # without it, Python would print warnings twice

events = logging.getLogger("textspectra.cli")
"""The events of a command itself: its stages, its warnings, its end."""


@dataclass
class Manner:
    """How the user asked a command to speak; click hands it to every command as the object of its context."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False


def manner() -> Manner:
    """Return how the command that is running should speak."""
    context = click.get_current_context(silent=True)
    return Manner() if context is None else context.ensure_object(Manner)


def remember(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    """Note that --json, --quiet or --verbose was given, and log events for the last."""
    if chosen:
        setattr(context.ensure_object(Manner), str(option.name), True)
    if chosen and option.name == "verbose" and sys.stderr is not None:
        _listen(logging.StreamHandler(sys.stderr))


def at_terminal() -> bool:
    """Return True if somebody watches standard error, which a job may have closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def model_lines(summary: Summary) -> list[str]:
    """Return a line that names the model and why it was chosen, if it was."""
    reason = summary["model_reason"]
    return [f"Model {summary['model']}, {reason.rstrip('.')}."] if reason else []


def present(summary: Summary, show: str | Callable[[Summary], object], bare: str = "") -> None:
    """Print the result of a command: its summary as JSON, or as text, which `show` is or prints; `bare` with --quiet.

    The outputs that the summary names are written by now. If printing fails, the error says so.
    """
    try:
        if manner().json:
            click.echo(json.dumps(_plain(VERSIONS | summary), indent=1))
        elif manner().quiet:
            click.echo(bare, nl=bool(bare))
        elif isinstance(show, str):
            click.echo(show)
        else:
            show(summary)
    except OSError as error:
        names = ", ".join(f"'{path}'" for path in summary.get("outputs", {}).values())
        if not names:
            raise
        done = f"but all is done, and these are written: {names}."
        if isinstance(error, BrokenPipeError):
            warnings.warn(f"Nobody reads the result any more, {done}", stacklevel=2)
            raise
        raise ExternalError(f"The result cannot be printed ({error.strerror}), {done}") from error


def print_error(code: int, kind: str, message: str) -> None:
    """Print an error as one line of JSON on standard error."""
    error = {"code": code, "kind": kind, "message": message}
    click.echo(json.dumps(VERSIONS | {"error": error}), err=True)


def _plain(value: object) -> object:
    """Return what JSON can hold: NaN and infinity, which it cannot, become null."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Stages:
    """Show the current stage and its progress, and remember how long each stage took."""

    def __init__(self, bars: Progress | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._bars = bars
        self._task: TaskID | None = None
        self._stage = ""
        self._start = 0.0

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Enter a stage, or report how far it is."""
        if stage != self._stage:
            self.finish()
            self._stage, self._start = stage, time.perf_counter()
            events.info("%s", STAGES[stage])
            if self._bars is not None:
                self._task = self._bars.add_task(STAGES[stage], total=None)
        if self._bars is not None and self._task is not None and total is not None and total > 1:
            self._bars.update(self._task, completed=done, total=total)

    def finish(self) -> None:
        """Close the current stage."""
        if not self._stage:
            return
        seconds = time.perf_counter() - self._start
        self.seconds[self._stage] = self.seconds.get(self._stage, 0) + seconds
        events.info("%s: done in %.3f s", STAGES[self._stage], seconds)
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=1, total=1)
        self._stage = ""


@contextmanager
def stages() -> Iterator[Stages]:
    """Show progress on standard error, if that is a terminal and the command is to speak to a person there."""
    silent = manner().quiet or manner().json or manner().verbose
    bars: AbstractContextManager[Progress | None] = nullcontext()
    if not silent and at_terminal():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bars = Progress(*columns, console=Console(stderr=True), transient=True)
    with bars as progress, nullcontext() if silent else _showing_log(progress):
        tell = Stages(progress)
        yield tell
        tell.finish()


@contextmanager
def _showing_log(bars: Progress | None) -> Iterator[None]:
    """Show on standard error what the library logs: a download, or work that takes long."""
    show = partial(click.echo, err=True) if bars is None else partial(bars.console.print, markup=False, highlight=False)
    handler = logging.Handler()
    handler.emit = lambda record: show(record.getMessage())  # type: ignore[method-assign]
    handler.addFilter(lambda record: record.levelno >= logging.INFO and record.name != events.name)
    package_log.setLevel(min(package_log.level or logging.INFO, logging.INFO))  # a log file may have asked for more
    package_log.addHandler(handler)
    try:
        yield
    finally:
        package_log.removeHandler(handler)


class OneLine(logging.Formatter):
    """Write an event as one line, with the time in ISO 8601."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        return f"{moment} {record.levelname} {message}"


class LogFile(logging.FileHandler):
    """A log that is given up, with a warning, if it cannot be written any more: the job itself goes on."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Warn, and write no more."""
        package_log.removeHandler(self)
        click.echo(f"warning: '{self.baseFilename}' cannot be written any more: {sys.exc_info()[1]}", err=True)
        with suppress(OSError):  # the rest of its buffer cannot be written either
            self.close()


def log_to_file(context: click.Context, option: click.Parameter, name: str | None) -> None:
    """Log events for --log-file."""
    if not name:
        return
    try:
        _listen(LogFile(Path(name), encoding="utf-8", errors="backslashreplace"))
    except OSError as error:
        raise click.BadParameter(f"'{name}' cannot be written: {error.strerror}", param_hint="--log-file") from None


def _listen(handler: logging.Handler) -> None:
    handler.setFormatter(OneLine())
    package_log.setLevel(logging.DEBUG)
    package_log.addHandler(handler)
    start = f"textspectra {__version__}: {shlex.join(sys.argv[1:])}"
    handler.emit(logging.makeLogRecord({"msg": start, "levelname": "INFO"}))
