"""Formats by the name of a file."""

import pytest

from textspectra.tables.source import format_from_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ndjson.zst", ("jsonl", "zstd")),
        ("a.b/c.TAB", ("tsv", None)),
        ("a.gz", (None, "gzip")),
        ("a", (None, None)),
    ],
)
def test_format_from_name(name, expected):
    assert format_from_name(name) == expected
