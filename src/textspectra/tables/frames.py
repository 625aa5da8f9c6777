"""Data frames of pandas, polars, pyarrow and others: the texts in them, and columns added to them."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ..errors import NoRowsError, UserError
from ..hygiene import plural
from .columns import TextTable, choose_text_column, refuse_duplicates
from .lines import build_column, table_of
from .source import TableFormat

if TYPE_CHECKING:
    from narwhals import Series
    from narwhals.typing import IntoDataFrame

Frame = TypeVar("Frame", bound="IntoDataFrame")

LIBRARIES = ("pandas", "polars", "pyarrow")


def is_data_frame(data: object) -> bool:
    """Return True for data frames, lazy ones included, and tables of pyarrow."""
    from narwhals import dependencies

    tests = (dependencies.is_into_dataframe, dependencies.is_polars_lazyframe, dependencies.is_dask_dataframe)
    return any(test(data) for test in tests)


def library_of(data: object) -> str | None:
    """Return the library of a data frame, table or series; None if it is something else."""
    library = type(data).__module__.partition(".")[0]
    return library if library in LIBRARIES else None


def as_table(data: Any, text_column: str | None = None) -> TextTable:
    """Find the texts in a data frame, and copy all columns but the index of pandas; what fits no Arrow type is JSON."""
    import narwhals

    if not narwhals.dependencies.is_into_dataframe(data):
        kind, lazy = type(data).__qualname__, {"polars": "collect", "dask": "compute"}
        call = lazy.get(type(data).__module__.partition("_")[0].partition(".")[0])
        hint = f" Its values are not computed yet: pass .{call}() of it." if call else ""
        raise UserError(f"a data frame of pandas, polars or pyarrow is needed, but this is a {kind}.{hint}")
    is_arrow = isinstance(data, pa.Table)
    names = data.column_names if is_arrow else [str(name) for name in data.columns]
    refuse_duplicates(names, "the data frame")
    frame = narwhals.from_native(data, eager_only=True)
    table = data if is_arrow else table_of(map(_arrow_column, names, frame.iter_columns()))
    if not table.num_rows:
        raise NoRowsError("the data frame has no rows")
    column = choose_text_column(table, text_column, option="text_column=")
    return TextTable(table, column, TableFormat.PARQUET)


def _arrow_column(name: str, series: Series[Any]) -> tuple[pa.Field, pa.Array]:
    try:
        array = series.to_arrow()
    except (pa.ArrowException, UnicodeEncodeError):
        missing = series.is_null().to_list()
        values = [None if gap else value for value, gap in zip(series.to_list(), missing, strict=True)]
        return build_column(name, values)
    return pa.field(name, array.type), array


def new_frame(columns: Mapping[str, object], like: object = None) -> Any:
    """Return a data frame of the library of `like`, or else of the first library that is installed."""
    import narwhals

    backend: Any = library_of(like) or next(name for name in LIBRARIES if find_spec(name))
    return narwhals.from_dict(columns, backend=backend).to_native()


def with_columns(table: Frame, columns: Mapping[str, Sized]) -> tuple[Frame, dict[str, str]]:
    """Return a data frame with further columns, and their names: one that is taken gets ``_2``, ``_3`` and so on."""
    import narwhals

    frame = narwhals.from_native(table, eager_only=True)
    names: dict[str, str] = {}
    added = []
    for wanted, values in columns.items():
        if len(values) != len(frame):
            raise ValueError(
                f"the column {wanted!r} has {plural(len(values), 'value')} but the table has "
                f"{plural(len(frame), 'row')}; they must have the same length."
            )
        names[wanted] = free_name(wanted, {*frame.columns, *names.values()})
        added.append(narwhals.new_series(names[wanted], values, backend=frame.implementation))
    return frame.with_columns(*added).to_native(), names


def free_name(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, followed by a number if it is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
