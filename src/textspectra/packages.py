"""Optional packages: imported on first use, with the command that installs them if they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency; if it is missing, the error has the command that installs it.

    Examples
    --------
    >>> require("json", extra="minilm").dumps(None)
    'null'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ModuleNotFoundError(
            f'{module} is needed for this and is not installed: pip install "textspectra[{extra}]"', name=error.name
        ) from None
