"""How much of one file is read into memory, and what to do with a larger one."""

from __future__ import annotations

from ..errors import UserError

MAX_ROWS = 5_000_000
"""Rows of one file."""

MAX_BYTES = 2**30
"""Bytes of one file once it is unpacked: those of the decompressed stream, or of the cells of a Parquet file."""

MAX_SUMMARY = 2**25
"""Bytes of the JSON file of a model folder. As Python objects, JSON takes up to 20 times its size."""

MAX_GROUP_NAME = 200
"""Characters of a group's name, which outputs repeat in every row of the group."""

MAX_CELLS = 200_000_000
"""Rows times columns of JSON Lines, where every object can have keys of its own."""

MAX_TEXT = 100_000
"""Characters of a text that are read. Embedding models read at most 32,000 tokens, and most of them 512."""

INSTEAD = (
    "Split it into several files, and give a pattern in quotes such as 'folder/*.csv': they are read one after the "
    "other, however many there are."
)


def check_rows(n_rows: int, name: str, advice: str = INSTEAD) -> None:
    """Raise a UserError if a file has more rows than are read.

    Examples
    --------
    >>> check_rows(5_000_001, "'a.csv'")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: 'a.csv' has more than 5,000,000 rows. Split it into several files, and give a pattern
    in quotes such as 'folder/*.csv': they are read one after the other, however many there are.
    """
    if n_rows > MAX_ROWS:
        raise UserError(f"{name} has more than {MAX_ROWS:,} rows. {advice}")


def check_bytes(n_bytes: int, name: str, advice: str = INSTEAD) -> None:
    """Raise a UserError if a file has more bytes than are read."""
    if n_bytes > MAX_BYTES:
        raise UserError(f"{name} holds more than {MAX_BYTES // 2**20:,} MB once it is unpacked. {advice}")
