"""What the tests of tables share."""

import bz2
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pytest

from textspectra.errors import TextspectraError
from textspectra.tables.columns import TextTable
from textspectra.tables.source import TableFormat
from textspectra.tables.write import write_labeled

COMPRESS = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
SUFFIX = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def message(call, *args, **options):
    with pytest.raises(TextspectraError) as caught:
        call(*args, **options)
    return str(caught.value)


def write_table(table, path, form, delimiter=",", **options):
    written = TextTable(table, table.column_names[0], TableFormat.CSV, delimiter=delimiter)
    write_labeled(written, {}, path, chosen=form, **options)


def files_here():
    return sorted(path.name for path in Path().iterdir())
