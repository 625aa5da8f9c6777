"""What happened when: one line per event, on standard error with -v, and in the file of --log-file."""

from __future__ import annotations

import json
import logging
import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from .. import __version__

SCHEMA_VERSION = 1
"""The version of `data/schema.json`. A new key keeps it; a key that goes, or gets another name or type, raises it."""


@dataclass
class Asked:
    """How the command was asked to speak; click hands it to every command as the object of its context."""

    json: bool = False
    verbose: bool = False


def asked() -> Asked:
    """Return how the command that is running was asked to speak."""
    context = click.get_current_context(silent=True)
    return Asked() if context is None else context.ensure_object(Asked)


def at_terminal() -> bool:
    """Return whether somebody watches standard error, which a job may have closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def _remember(context: click.Context, option: click.Parameter, chosen: bool) -> bool:
    context.ensure_object(Asked).json |= chosen
    return chosen


json_option = click.option(
    "--json", "as_json", is_flag=True, is_eager=True, callback=_remember,
    help="Print the result as JSON (see `textspectra schema`), and an error as JSON on standard error.",
)  # fmt: skip


def print_json(summary: Mapping[str, Any]) -> None:
    """Print a summary with the versions that it is read by; what is not a finite number is null."""
    click.echo(json.dumps(_plain(_versioned(summary)), indent=1))


@contextmanager
def printing(outputs: Iterable[object]) -> Iterator[None]:
    """Print the result of a command that has written its outputs; if that fails, say that they are written."""
    from ..errors import ExternalError

    try:
        yield
    except OSError as error:
        names = ", ".join(f"'{path}'" for path in outputs)
        done = f"but all is done, and these are written: {names}."
        if isinstance(error, BrokenPipeError):
            warnings.warn(f"Nobody reads the result any more, {done}", stacklevel=3)
            raise
        raise ExternalError(f"The result cannot be printed ({error.strerror}), {done}") from error


def print_error(code: int, kind: str, message: str) -> None:
    """Print an error as one line of JSON on standard error."""
    error = {"code": code, "kind": kind, "message": message}
    click.echo(json.dumps(_versioned({"error": error})), err=True)


def _versioned(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "textspectra_version": __version__, **summary}


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN and infinity, which it cannot, become null."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


events = logging.getLogger("textspectra.cli")
"""The events of a command itself: its stages, its warnings, its end."""

logging.getLogger("textspectra").addHandler(logging.NullHandler())  # without it, Python would print warnings twice


class OneLine(logging.Formatter):
    r"""Write an event as one line, with the time in ISO 8601."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        return f"{time} {record.levelname} {message}"


class LogFile(logging.FileHandler):
    """A log that is given up, with a warning, if it cannot be written any more: the job itself goes on."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the name is that of logging
        """Warn, and write no more."""
        logging.getLogger("textspectra").removeHandler(self)
        click.echo(f"warning: '{self.baseFilename}' cannot be written any more: {sys.exc_info()[1]}", err=True)
        with suppress(OSError):  # what is left in its buffer cannot be written either
            self.close()


def _to_standard_error(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    if chosen:
        context.ensure_object(Asked).verbose = True
        if sys.stderr is not None:
            _listen(logging.StreamHandler(sys.stderr))


def _to_file(context: click.Context, option: click.Parameter, name: str | None) -> None:
    if not name:
        return
    try:
        _listen(LogFile(Path(name), encoding="utf-8", errors="backslashreplace"))
    except OSError as error:
        raise click.BadParameter(f"'{name}' cannot be written: {error.strerror}", param_hint="--log-file") from None


def _listen(handler: logging.Handler) -> None:
    handler.setFormatter(OneLine())
    logger = logging.getLogger("textspectra")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    start = f"textspectra {__version__}: {shlex.join(sys.argv[1:])}"
    handler.emit(logging.makeLogRecord({"msg": start, "levelname": "INFO"}))


def log_options() -> list[click.Parameter]:
    """Return the options by which every command tells what happens."""
    return [
        click.Option(
            ["--verbose", "-v"], is_flag=True, expose_value=False, callback=_to_standard_error,
            help="Tell what happens and when, line by line, on standard error.",
        ),
        click.Option(
            ["--log-file"], metavar="FILE", expose_value=False, callback=_to_file,
            help="Append what happens and when to a file, line by line.",
        ),
    ]  # fmt: skip
