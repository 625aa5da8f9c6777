"""Packages of the extra `study`, imported when they are needed."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str) -> ModuleType:
    """Import a package of the extra `study`; if it is missing, the error says how to install it.

    Examples
    --------
    >>> require("json").dumps([])
    '[]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f'{error.name} is needed for this and is not installed: pip install "textspectra[study]"'
        raise ModuleNotFoundError(message, name=error.name) from None
