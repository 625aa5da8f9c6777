"""Errors that are no bugs: each kind has an exit code, by which a job knows what to do."""

from __future__ import annotations

import errno
import importlib
import os
from types import ModuleType
from typing import ClassVar

WRONG_PLACE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
    errno.EINVAL, errno.ELOOP,
}  # fmt: skip
"""What a system says if a file cannot be written where it was to go; a retry fails for the same reason."""


class UserError(ValueError):
    """An input that cannot be used, and the base of the other errors that are no bugs.

    The message says what is wrong and what to do; `exit_code` is that of the command.
    """

    exit_code: ClassVar[int] = 3
    kind: ClassVar[str] = "input"


class UsageError(UserError):
    """An option, an argument or a setting that cannot be used, whatever the input is."""

    exit_code = 2
    kind = "usage"


class ExternalError(UserError):
    """Something outside failed: a network, a server, a disk, a cluster. The same call may succeed later."""

    exit_code = 4
    kind = "outside"


class NoRowsError(UserError):
    """A table has no rows; among many tables, such a one is skipped."""


def cannot_write(message: str, error: OSError) -> UserError:
    """Return the error for an output that the system refused: a wrong place, or a disk that failed or is full."""
    return (UsageError if error.errno in WRONG_PLACE else ExternalError)(message)


def check_path(path: str | os.PathLike[str]) -> None:
    """Raise a UserError if a path is not valid UTF-8: no output could name it."""
    raw = os.fsencode(path)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        name = raw.decode("utf-8", "backslashreplace")
        raise UserError(f"the name '{name}' is not valid UTF-8, so no output could hold it. Rename it.") from None


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency; if it is missing, the error has the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ModuleNotFoundError(
            f'{module} is needed for this and is not installed: pip install "textspectra[{extra}]"', name=error.name
        ) from None
