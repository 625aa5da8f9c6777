"""Names for tables that are written again."""

from __future__ import annotations

from pathlib import Path

from .formats import TableFormat
from .table import TextTable


def name_parts(source: str, table: TextTable) -> tuple[str, str]:
    """Return the stem and the suffix of the name for a table with new columns.

    The suffix is that of the input. Plain text becomes CSV, because it has no place for further columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> name_parts("data/tickets.txt", TextTable(pa.table({"text": ["a"]}), "text", TableFormat.TEXT))
    ('tickets', '.csv')
    """
    origin = Path("texts" if source == "-" else source)
    suffixes = origin.suffixes[-2:] if table.compression else origin.suffixes[-1:]
    stem = origin.name.removesuffix("".join(suffixes)) or origin.name
    if table.format is TableFormat.TEXT:
        return stem, ".csv"
    return stem, "".join(suffixes) or f".{table.format}"
