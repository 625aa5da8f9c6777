"""Tell the format and compression of a file by its name or its first bytes."""

from __future__ import annotations

import codecs
import csv
import io
import re
from enum import StrEnum
from itertools import islice
from pathlib import Path

from .headers import SAMPLE_ROWS, below_titles, reads_like_names
from .names import ALL_TEXT_NAMES

SAMPLE_BYTES = 2**16
"""Size of the sample that tells the format and the delimiter of a file."""

WESTERN = "cp1252"
"""The encoding in which Excel saves CSV in Western Europe and America."""

MOST_ACCENTED, ENOUGH = 0.6, 10
"""Largest share of accented letters in words that have some, and the number of letters that can tell. In cp1252 it is
about a quarter; Russian that is taken for cp1252 has nothing else."""

DELIMITERS = ",;\t|"
"""Possible delimiters of a CSV file, the most likely first."""

JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')
"""The start of JSON Lines, or of an array, for which the reader has a message."""

ZIP_START = b"PK\x03\x04"
"""The start of an archive, which new workbooks are."""

OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The start of an old workbook, or of one with a password."""

BZIP2_START = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")


class TableFormat(StrEnum):
    """The formats that are read and written.

    Examples
    --------
    >>> TableFormat("jsonl"), str(TableFormat.CSV)
    (<TableFormat.JSONL: 'jsonl'>, 'csv')
    """

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    XLSX = "xlsx"
    TEXT = "text"
    EXCEL_CSV = "excel-csv"
    """CSV with a byte order mark, by which Excel recognises UTF-8. It is only written: reading drops the mark."""


OTHER_WORKBOOKS = (".xlsm", ".xls", ".xlsb", ".ods")
"""Workbooks that are read as ``.xlsx`` is; none of them is written."""

FORMAT_BY_SUFFIX = {
    ".csv": TableFormat.CSV,
    ".tsv": TableFormat.TSV,
    ".tab": TableFormat.TSV,
    ".jsonl": TableFormat.JSONL,
    ".ndjson": TableFormat.JSONL,
    ".json": TableFormat.JSONL,
    ".parquet": TableFormat.PARQUET,
    ".pq": TableFormat.PARQUET,
    ".xlsx": TableFormat.XLSX,
    **dict.fromkeys(OTHER_WORKBOOKS, TableFormat.XLSX),
    ".txt": TableFormat.TEXT,
    ".text": TableFormat.TEXT,
}

COMPRESSION_BY_SUFFIX = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}


def format_from_name(path: str | Path) -> tuple[TableFormat | None, str | None]:
    """Return the format and the compression that a file name stands for; None if it says nothing.

    Examples
    --------
    >>> format_from_name("reviews.CSV.gz"), format_from_name("notes")
    ((<TableFormat.CSV: 'csv'>, 'gzip'), (None, None))
    """
    name = Path(path)
    compression = COMPRESSION_BY_SUFFIX.get(name.suffix.lower())
    inner = name.with_suffix("") if compression else name
    return FORMAT_BY_SUFFIX.get(inner.suffix.lower()), compression


def compression_of(start: bytes) -> str | None:
    """Return the compression that the first bytes of a file show."""
    if BZIP2_START.match(start):
        return "bz2"
    magic = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
    return next((name for mark, name in magic.items() if start.startswith(mark)), None)


def is_workbook(start: bytes) -> bool:
    """Tell whether a file begins as a workbook does; other archives do, too."""
    return start.startswith((ZIP_START, OLE_START))


def encoding_of(start: bytes) -> str:
    """Return the encoding of a byte order mark; without one, UTF-8, or cp1252 if the file is clearly not UTF-8."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return WESTERN if reads_as_western(start) else "utf-8"
    return "utf-8"


def reads_as_western(data: bytes) -> bool:
    r"""Return True if bytes that are not UTF-8 read like cp1252, in which Excel saves CSV: few letters have accents.

    Examples
    --------
    >>> reads_as_western("é was missing".encode("cp1252")), reads_as_western("Где моя посылка".encode("cp1251"))
    (True, False)
    """
    try:
        data.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    words = b"".join(re.findall(rb"[A-Za-z]*[\xc0-\xff][A-Za-z\xc0-\xff]*", data))
    return len(words) < ENOUGH or sum(byte >= 0xC0 for byte in words) <= MOST_ACCENTED * len(words)


def decode_sample(start: bytes, encoding: str) -> str:
    """Decode the first bytes of a file; the reader reports those that cannot be decoded."""
    try:
        return codecs.getincrementaldecoder(encoding)("replace").decode(start).removeprefix("\ufeff")
    except UnicodeError:  # another encoding: the reader reports the place
        return ""


def sniff_format(start: bytes, encoding: str) -> TableFormat:
    r"""Tell the format of an input without a name from its first bytes.

    Parquet and workbooks have magic numbers, and JSON Lines start with a brace. In CSV and TSV, the first line reads
    like column names and all rows have the same number of cells. Anything else is plain text with one text per line.

    Examples
    --------
    >>> sniff_format(b'{"text": "a"}', "utf-8")
    <TableFormat.JSONL: 'jsonl'>
    >>> sniff_format(b"id;text\n1;hello, you\n", "utf-8")
    <TableFormat.CSV: 'csv'>
    >>> sniff_format(b"Well, hello\nOh, it is you\n", "utf-8")
    <TableFormat.TEXT: 'text'>
    """
    if start.startswith(b"PAR1"):
        return TableFormat.PARQUET
    if is_workbook(start):
        return TableFormat.XLSX
    sample = decode_sample(start, encoding)
    if JSON_START.match(sample):
        return TableFormat.JSONL
    delimiter = sniff_delimiter(sample)
    if not _has_header(_sample_rows(sample, delimiter)):
        return TableFormat.TEXT
    return TableFormat.TSV if delimiter == "\t" else TableFormat.CSV


def sniff_delimiter(sample: str) -> str:
    """Return the delimiter that splits most of the first rows into the same number of cells as the header.

    Only delimiters in the header count, because sentences have commas, too.
    """
    best, best_score = DELIMITERS[0], (0.0, 1)
    for delimiter in DELIMITERS:
        rows = _sample_rows(sample, delimiter)
        rows = rows[below_titles([[cell or None for cell in row] for row in rows]) :]
        width = len(rows[0]) if rows else 0
        if width > 1:
            score = (sum(len(row) == width for row in rows) / len(rows), width)
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows = [row for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), SAMPLE_ROWS) if row]
    # A full sample, at up to four bytes a character, may end inside a row.
    may_be_cut = len(sample) >= SAMPLE_BYTES // 4 - 1 and 2 < len(rows) < SAMPLE_ROWS
    return rows[:-1] if may_be_cut else rows


def _has_header(rows: list[list[str]]) -> bool:
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    header = rows[0]
    if len(header) == 1:
        return header[0].strip().lower() in ALL_TEXT_NAMES
    # The index of a written data frame is a first column without a name.
    named = header if header[0] else header[1:]
    return reads_like_names(named)
