"""What machines read: results as JSON on standard output, and errors as JSON on standard error."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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
    from ..errors import OutsideError

    try:
        yield
    except OSError as error:
        names = ", ".join(f"'{path}'" for path in outputs)
        done = f"but all is done, and these are written: {names}."
        if isinstance(error, BrokenPipeError):
            warnings.warn(f"Nobody reads the result any more, {done}", stacklevel=3)
            raise
        raise OutsideError(f"The result cannot be printed ({error.strerror}), {done}") from error


def print_error(code: int, kind: str, message: str) -> None:
    """Print an error as one line of JSON on standard error."""
    error = {"code": code, "kind": kind, "message": message}
    click.echo(json.dumps(_versioned({"error": error})), err=True)


def _versioned(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "textspectra_version": __version__, **summary}


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN and infinity, which it cannot, become null.

    Examples
    --------
    >>> _plain({"ratio": float("nan"), "sizes": (1, 2)})
    {'ratio': None, 'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
