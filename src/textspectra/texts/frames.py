"""Data frames of whatever library the user has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ..io import free_name, is_data_frame

LIBRARIES = ("pandas", "polars", "pyarrow")


def add_columns(given: Any, texts: Sequence[str], columns: Mapping[str, Any]) -> Any:
    """Return a data frame of texts with further columns.

    Parameters
    ----------
    given : data frame, series or None
        What the texts came in. A data frame keeps its columns and its index; a new column whose name is taken
        gets ``_2``, ``_3`` and so on.
    texts : sequence of str
        The column text, if `given` is not a data frame.
    columns : mapping of str to array-like
        The new columns.

    Examples
    --------
    >>> import pandas
    >>> add_columns(pandas.DataFrame({"cluster": ["x"]}, index=[5]), ["x"], {"cluster": [0]})
      cluster  cluster_2
    5       x          0
    """
    import narwhals

    if not is_data_frame(given):
        frame = new_frame({"text": texts, **columns}, like=given)
        if library_of(given) == "pandas":
            frame.index = given.index
        return frame
    frame = narwhals.from_native(given, eager_only=True)
    taken = set(frame.columns)
    for wanted, values in columns.items():
        name = free_name(wanted, taken)
        taken.add(name)
        series = narwhals.new_series(name, values, backend=frame.implementation)
        frame = frame.with_columns(series)
    return frame.to_native()


def new_frame(columns: Mapping[str, Any], like: Any = None) -> Any:
    """Return a data frame of the library of `like`; otherwise of the first that is installed.

    Examples
    --------
    >>> new_frame({"a": [1, 2]}).shape
    (2, 1)
    """
    import narwhals

    backend: Any = library_of(like) or next(name for name in LIBRARIES if find_spec(name))
    return narwhals.from_dict(columns, backend=backend).to_native()


def library_of(data: Any) -> str | None:
    """Return the library of a data frame, table or series; None if it is something else.

    Examples
    --------
    >>> library_of([1, 2]) is None
    True
    """
    library = type(data).__module__.partition(".")[0]
    return library if library in LIBRARIES else None
