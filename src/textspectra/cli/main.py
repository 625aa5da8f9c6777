"""The `textspectra` command: find the sub-command, and turn errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from typing import Any

import click

from .. import __version__

COMMANDS = {
    "cluster": "Group the texts of a file: how many groups, what they are, which text is in which.",
    "estimate": "Estimate how many groups there are, and nothing else.",
    "embed": "Turn texts into embeddings (.npy or .parquet).",
    "score": "Score a clustering that you have, by its labels.",
    "predict": "Put new texts into the groups of a saved model.",
    "compare": "Tell what is new in a file, against a saved model.",
    "update": "Take a new file into a saved model, and tell what is new.",
    "report": "Make the page to explore a saved model in a browser.",
    "open": "Open a report in the browser.",
    "apply": "Give a model the number of groups and the names that you set in its report.",
    "study": "Compare clusterings on labelled sets, as the paper does.",
    "models": "List the embedding models that can be used, and what each needs.",
    "cache": "Show or clear the cache of embeddings and converted models.",
    "demo": "Run `cluster` on the example that comes with the package.",
}


class LazyCommands(click.Group):
    """Imports a command's module when it is used, so that --help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of their story, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the command."""
        if name not in COMMANDS:
            return None
        # The study is a package of its own, beside this one.
        module = "textspectra_study.command" if name == "study" else f"{__package__}.{name}"
        command: click.Command = importlib.import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="textspectra")
def group() -> None:
    """How many groups are in a pile of short texts, what are they, and can you trust it?"""  # noqa: D400


def run() -> None:
    """Parse the command line and carry it out.

    Exit codes: 0 done, 2 a mistake that the user can fix, 130 interrupted, 1 a bug (with its traceback).
    """
    from ..errors import UserError

    warnings.showwarning = _show_warning
    try:
        outcome: Any = group.main(prog_name="textspectra", standalone_mode=False)
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        _stop(error.format_message(), 2)
    except (UserError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and "pip install" not in str(error):
            raise
        _stop(f"error: {error}", 2)
    except BrokenPipeError:
        # The reader of the output is gone (such as `head`). Python documents this way to avoid a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        reason = {errno.ENOSPC: "the disk is full", errno.EACCES: "no permission", errno.EROFS: "read-only"}
        if error.errno not in reason:
            raise
        _stop(f"error: {error.filename or 'writing'}: {reason[error.errno]}. What was there before is untouched.", 2)
    else:
        sys.exit(outcome if isinstance(outcome, int) else 0)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {message}", err=True)


def _stop(message: str, code: int) -> None:
    click.echo(message, err=True)
    sys.exit(code)
