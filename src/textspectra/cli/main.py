"""The `textspectra` command: find the sub-command, and turn errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from functools import partial
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

from .. import __version__
from ..errors import ExternalError, TextspectraError, cannot_write, check_path
from ..files import shown_path
from .options import COMMANDS, parameters_of
from .output import Manner, at_terminal, events, manner, print_error
from .settings import default_map, settings_files

SYSTEM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EIO: "the disk has failed",
    errno.EACCES: "no permission",
    errno.EROFS: "read-only",
}
"""Errors of the system that are not bugs, in words."""

LONGEST_MESSAGE = 4000  # characters of an error or a warning; texts, names and answers in it can be of any length


class ReaderGoneError(Exception):
    """The reader of the output is gone; click would end the process at once if it were a BrokenPipeError."""


class Commands(click.Group):
    """All commands, in the order of use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as they are declared."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Carry out the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error


def _call(name: str, /, **chosen: Any) -> object:
    """Import the module of a command, and carry it out."""
    module = import_module(f"{__package__}.{COMMANDS[name].module}")
    return getattr(module, f"{name}_command")(**chosen)


_commands = [
    click.Command(
        name, callback=partial(_call, name), params=parameters_of(name), help=declared.help, short_help=declared.summary
    )
    for name, declared in COMMANDS.items()
]

EXIT_CODES = (
    "Exit codes: 0 done; 2 wrong use; 3 an input that cannot be used; 4 something outside failed, so try again later; "
    "130 and 143 interrupted; 141 the reader of the output is gone; 1 a bug."
)


@click.group(
    cls=Commands, commands=_commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES
)
@click.version_option(__version__, prog_name="textspectra")
@click.pass_context
def root(context: click.Context) -> None:
    """How many groups are in a pile of short texts, what are they, and can you trust it?"""  # noqa: D400
    if {"-h", "--help"} & set(sys.argv[1:]):  # a wrong setting must not hide the help
        return
    for file in settings_files():
        values, before = default_map(file), dict(context.default_map or {})
        context.default_map = before | {name: before.get(name, {}) | chosen for name, chosen in values.items()}
        if not file.is_own and context.invoked_subcommand in values and not context.ensure_object(Manner).json:
            click.echo(f"settings from {file.name} in this folder (`textspectra config` shows them)", err=True)


def run() -> None:
    """Parse the command line, carry it out, and end with one of the EXIT_CODES."""
    warnings.showwarning = _show_warning
    if not at_terminal():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    mode = Manner(json="--json" in sys.argv[1:])  # also if the command line cannot be parsed
    try:
        for argument in sys.argv[1:]:
            check_path(argument)
        outcome = root.main(prog_name="textspectra", standalone_mode=False, obj=mode)
    except (click.exceptions.Abort, KeyboardInterrupt):
        events.error("stopped")
        raise KeyboardInterrupt from None
    except ReaderGoneError:
        # Python documents this way to avoid a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as any Unix command that a closed pipe (SIGPIPE) has ended
    except Exception as error:
        if isinstance(error, click.BadParameter):
            error = _with_origin(error)
        code, kind, message = describe(error)
        events.error("exit code %d (%s): %s", code, kind, message)
        if kind == "bug":
            traceback.print_exception(error)
            click.echo(
                "This is a bug in textspectra. Please report it with what `textspectra doctor` prints.", err=True
            )
        if mode.json:
            print_error(code, kind, message)
        elif isinstance(error, click.UsageError):
            error.show()
        elif kind != "bug":
            click.echo(_one_line(f"error: {message}"), err=True)
        sys.exit(code)
    else:
        events.info("done")
        sys.exit(outcome if isinstance(outcome, int) else 0)


def describe(error: Exception) -> tuple[int, str, str]:
    """Return the exit code, the kind of an error, and a message; whatever is not foreseen is a bug."""
    if isinstance(error, click.ClickException):
        return 2, "usage", error.format_message()
    if isinstance(error, OSError) and error.errno in SYSTEM:
        name = shown_path(error.filename or "writing")
        error = cannot_write(f"{name}: {SYSTEM[error.errno]}. Existing files are untouched.", error)
    if isinstance(error, ConnectionError | TimeoutError):
        error = ExternalError(f"A connection was lost: {error}. Run this again later.")
    if isinstance(error, MemoryError):
        error = ExternalError(
            "there is not enough memory for this. Split the input into several files and give a pattern in quotes, "
            "such as 'folder/*.csv': they need not fit into memory together."
        )
    if isinstance(error, TextspectraError):
        return error.exit_code, error.kind, str(error)
    return 1, "bug", f"{type(error).__name__}: {error}"


def _with_origin(error: click.BadParameter) -> click.BadParameter:
    """Return the error with the variable that a wrong value comes from, if it is not on the command line."""
    context, option = error.ctx, error.param
    if context is None or option is None or not isinstance(option.envvar, list):
        return error
    if context.get_parameter_source(str(option.name)) is not ParameterSource.ENVIRONMENT:
        return error
    variable = next(name for name in option.envvar if os.environ.get(name))
    return click.BadParameter(f"{error.message} It comes from {variable}.", context, option, error.param_hint)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    events.warning("%s", message)
    if not manner().verbose:
        click.echo(_one_line(f"warning: {message}"), err=True)


def _one_line(message: str) -> str:
    """Return a message on one line and of bounded length, whatever the names of files and columns in it are."""
    cut = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in cut)
