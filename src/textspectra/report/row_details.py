"""What else is known of each row that the page exports: its day, its segments, and the columns shown with its text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..io.frames import free_name
from ..texts.details import Details
from .pack import pack_array, pack_json
from .shown import Rows, cut_texts

MAX_CELLS = 4_000_000
"""Number of characters of all values of the shown columns together; if there are more, long values are cut."""

NO_DAY = -(2**31)
"""Stands for a row without a date."""

OWN_COLUMNS = ("row", "text", "cluster", "cluster_name", "similarity")
"""The columns that every download has."""


def describe_rows(details: Details | None, rows: Rows) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the further columns of the downloads, and the blocks with their values.

    A column that is also shown is taken from there, where it is as it came in.
    """
    details = details or Details()
    taken, columns, blocks = set(OWN_COLUMNS), [], {}
    for name, kind, at in _sources(details):
        free = free_name(name, taken)
        taken.add(free)
        columns.append({"name": free, "title": name, "kind": kind, "at": at})
    if details.days is not None:
        days = details.days[rows.numbers]
        blocks["days"] = pack_array(np.where(np.isnat(days), NO_DAY, days.astype(np.int64)), "i4")
    if details.segments:
        codes = [segment.codes[rows.numbers] for segment in details.segments.values()]
        blocks["codes"] = pack_array(np.array(codes), "u1")
    cut_at = None
    if details.shown:
        numbers = rows.numbers.tolist()
        cells, cut_at = cut_texts([values[row] for values in details.shown.values() for row in numbers], MAX_CELLS)
        blocks["cells"] = pack_json(cells)
    return {"columns": columns, "cut_at": cut_at, "filters": details.is_counted}, blocks


def _sources(details: Details) -> list[tuple[str, str, int]]:
    """Return the name of each column, which kind of detail it is, and its number among those."""
    time = [(details.time, "time", 0)] if details.time is not None and details.days is not None else []
    segments = [(name, "segment", number) for number, name in enumerate(details.segments)]
    shown = [(name, "shown", number) for number, name in enumerate(details.shown)]
    return [*(one for one in (*time, *segments) if one[0] not in details.shown), *shown]
