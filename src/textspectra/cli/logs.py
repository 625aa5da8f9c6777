"""What happened when: one line per event, on standard error with -v, and in the file of --log-file."""

from __future__ import annotations

import logging
import shlex
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import click

from .. import __version__
from .output import Asked

events = logging.getLogger("textspectra.cli")
"""The events of a command itself: its stages, its warnings, its end."""

logging.getLogger("textspectra").addHandler(logging.NullHandler())  # without it, Python would print warnings twice


class OneLine(logging.Formatter):
    r"""Write an event as one line, with the time in ISO 8601.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "two\nlines", "levelname": "INFO", "created": 0})
    >>> OneLine().format(record).partition(" ")[2]
    'INFO two\\nlines'
    """

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
