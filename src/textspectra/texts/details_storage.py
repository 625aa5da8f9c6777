"""The details of the rows, and the counts made from them, in the files of a model folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .details import Details, Segment
from .tally import Crosstab, Tally

TIME, BY, SHOW = "time", "by:", "show:"
"""Names of the columns beside the texts; those of segments and shown columns are prefixes."""


def add_details(texts: pa.Table, details: Details | None) -> pa.Table:
    """Append the details as columns to the table of texts."""
    if details is None:
        return texts
    if details.days is not None:
        texts = texts.append_column(TIME, pa.array(details.days))
    for name, segment in details.segments.items():
        texts = texts.append_column(BY + name, pa.DictionaryArray.from_arrays(segment.codes, segment.values))
    for name, values in details.shown.items():
        texts = texts.append_column(SHOW + name, pa.array(values, pa.large_string()))
    return texts


def details_from(texts: pa.Table, stored: Mapping[str, Any] | None) -> Details | None:
    """Read what :func:`add_details` appended."""
    if stored is None:
        return None
    names = texts.column_names
    segments = {}
    for name in names:
        if name.startswith(BY):
            column = texts[name].combine_chunks()
            segments[name.removeprefix(BY)] = Segment(column.indices.to_numpy(), column.dictionary.to_pylist())
    shown = {name.removeprefix(SHOW): texts[name].to_pylist() for name in names if name.startswith(SHOW)}
    days = texts[TIME].cast(pa.int32()) if TIME in names else None
    if days is not None:
        numbers = pc.fill_null(days, 0).to_numpy().astype("datetime64[D]")
        numbers[np.asarray(days.is_null())] = np.datetime64("NaT")
        days = numbers
    return Details(stored["time"], days, segments, shown)


def tally_arrays(tally: Tally) -> dict[str, NDArray[Any]]:
    """Return the arrays of the counts."""
    crosstabs = {f"tally.by.{number}": one.counts for number, one in enumerate(tally.segments.values())}
    return {"tally.periods": tally.periods.astype(np.int64), "tally.by_period": tally.by_period, **crosstabs}


def describe_tally(tally: Tally) -> dict[str, Any]:
    """Return all else that belongs to the counts."""
    values = [[name, one.values] for name, one in tally.segments.items()]
    return {"time": tally.time, "every": tally.every, "by": values}


def tally_from(arrays: Mapping[str, NDArray[Any]], stored: Mapping[str, Any] | None) -> Tally | None:
    """Put the counts together again."""
    if stored is None:
        return None
    crosstabs = {
        name: Crosstab(values, arrays[f"tally.by.{number}"]) for number, (name, values) in enumerate(stored["by"])
    }
    periods = arrays["tally.periods"].astype("datetime64[D]")
    return Tally(stored["time"], stored["every"], periods, arrays["tally.by_period"], crosstabs)
