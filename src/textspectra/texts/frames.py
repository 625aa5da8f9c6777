"""New data frames, of the library that the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

LIBRARIES = ("pandas", "polars", "pyarrow")


def new_frame(columns: Mapping[str, Any], like: Any = None) -> Any:
    """Return a data frame of the library of `like`; otherwise of the first that is installed."""
    import narwhals

    backend: Any = library_of(like) or next(name for name in LIBRARIES if find_spec(name))
    return narwhals.from_dict(columns, backend=backend).to_native()


def library_of(data: Any) -> str | None:
    """Return the library of a data frame, table or series; None if it is something else."""
    library = type(data).__module__.partition(".")[0]
    return library if library in LIBRARIES else None
