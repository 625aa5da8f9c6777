"""Expected errors. Each kind maps to an exit code so that scripts can react."""

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
"""Error numbers of a path that cannot be written to; a retry would fail for the same reason."""


class TextspectraError(Exception):
    """Base class of all expected errors. The message states the problem and what to do."""

    exit_code: ClassVar[int]
    kind: ClassVar[str]


class UserError(TextspectraError, ValueError):
    """The input cannot be used. The message states the problem and what to do; the exit code is 3."""

    exit_code = 3
    kind = "input"


class UsageError(UserError):
    """An option, an argument or a setting cannot be used, whatever the input. The exit code is 2."""

    exit_code = 2
    kind = "usage"


class ExternalError(TextspectraError):
    """The network, a server, a disk or a Dask cluster failed. The same call may succeed later. The exit code is 4."""

    exit_code = 4
    kind = "external"


class MissingExtraError(ModuleNotFoundError, UsageError):
    """An optional package is not installed. It is an ImportError, too, for code that tries an import and goes on."""


class NoRowsError(UserError):
    """A table has no rows. Among many tables, empty ones are skipped."""


def cannot_write(message: str, error: OSError) -> TextspectraError:
    """Return a UsageError if an output is in the wrong place, or an ExternalError if the disk failed or is full."""
    return (UsageError if error.errno in WRONG_PLACE else ExternalError)(message)


def check_path(path: str | os.PathLike[str]) -> None:
    """Raise a UserError if a path is not valid UTF-8, because no output could name it."""
    raw = os.fsencode(path)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        name = raw.decode("utf-8", "backslashreplace")
        raise UserError(f"the name '{name}' is not valid UTF-8, so no output could hold it. Rename it.") from None


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency. If it is missing, the error names the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Only the module itself or a parent may be missing; anything else is a broken installation of it.
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise MissingExtraError(
            f'{module} is needed for this and is not installed: pip install "textspectra[{extra}]"', name=error.name
        ) from None
