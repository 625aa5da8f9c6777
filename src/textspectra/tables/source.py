"""Tell the format and compression of a file by its name or its first bytes."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from ..errors import ExternalError, UserError, check_path
from .headers import ALL_TEXT_NAMES, SAMPLE_ROWS, below_titles, reads_like_names

MAX_ROWS = 5_000_000
"""Rows of one file."""

MAX_BYTES = 2**30
"""Bytes of one file once it is unpacked: those of the decompressed stream, or of the cells of a Parquet file."""

MAX_SUMMARY = 2**25
"""Bytes of the JSON file of a model folder. As Python objects, JSON takes up to 20 times its size."""

MAX_CLUSTER_NAME = 200
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
    """Raise a UserError if a file has more rows than are read."""
    if n_rows > MAX_ROWS:
        raise UserError(f"{name} has more than {MAX_ROWS:,} rows. {advice}")


def check_bytes(n_bytes: int, name: str, advice: str = INSTEAD) -> None:
    """Raise a UserError if a file has more bytes than are read."""
    if n_bytes > MAX_BYTES:
        raise UserError(f"{name} holds more than {MAX_BYTES // 2**20:,} MB once it is unpacked. {advice}")


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
    """CSV with a byte order mark, by which Excel recognizes UTF-8. It is only written: reading drops the mark."""


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
    """Return the format and the compression that a file name stands for; None if it says nothing."""
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
    r"""Return True if bytes that are not UTF-8 read like cp1252, in which Excel saves CSV: few letters have accents."""
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


MAX_LINE = 2**24
"""Maximum length of a line, or of a cell of CSV, in characters. Reading stops there: a longer line means that line
breaks are missing or that a quote never closes."""

DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": lambda stream: pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"),
}


class _RawBytes(io.RawIOBase):
    """The bytes of a stream. Each read fills the buffer, also where a pipe delivers small pieces."""

    def __init__(self, stream: Any, name: str, compression: str | None) -> None:
        self._stream = stream
        self._name = name
        self._compression = compression
        self._count = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._count

    def readinto(self, buffer: Any) -> int:
        filled = 0
        while filled < len(buffer) and (piece := self._piece(len(buffer) - filled)):
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
        self._count += filled
        check_bytes(self._count, self._name)
        return filled

    def _piece(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if self._compression is None:
                raise ExternalError(f"{self._name} cannot be read: {error}") from error
            raise UserError(
                f"{self._name} is damaged or cut short: its {self._compression} data cannot be decompressed. Fetch it "
                "or compress it again."
            ) from error


def buffered(stream: Any, name: str, compression: str | None = None) -> io.BufferedReader:
    """Return a buffered reader of a stream that can only be read forwards, such as a pipe or a decompressor.

    Before the first read, ``peek()`` returns the first `SAMPLE_BYTES` bytes, or all if there are fewer. ``tell()``
    returns the number of bytes read. A failure becomes a UserError that calls the stream `name`.
    """
    return io.BufferedReader(_RawBytes(stream, name, compression), SAMPLE_BYTES)


@dataclass(frozen=True)
class Source:
    """An open input: its name for messages, its decompressed bytes, and its compression."""

    name: str
    path: Path | None
    stream: io.BufferedReader
    compression: str | None


@contextmanager
def open_source(source: str | Path, *, stdin: BinaryIO | None = None) -> Iterator[Source]:
    """Open a file, or standard input for ``"-"``, and decompress it if its first bytes say so."""
    if str(source) == "-":
        yield _decompressed(stdin or sys.stdin.buffer, "standard input", None)
        return
    path = Path(source)
    with open_file(path) as file:
        yield _decompressed(file, f"'{path}'", path)


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, or raise a UserError that says why that is not possible."""
    check_path(path)
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"there is no file '{path}'") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder; name one of the files in it") from None
    except PermissionError:
        raise UserError(f"'{path}' cannot be read: no permission. Ask its owner, or change it with chmod.") from None
    except OSError as error:
        raise ExternalError(f"'{path}' cannot be read: {error.strerror}") from None


def _decompressed(raw: Any, name: str, path: Path | None) -> Source:
    stream = buffered(raw, name)
    start = stream.peek()
    compression = compression_of(start)
    promised = format_from_name(path)[1] if path else None
    if promised and start and compression is None:
        raise UserError(f"{name} is not {promised} data, although its name says so. Rename it or compress it again.")
    if compression is None:
        return Source(name, path, stream, None)
    return Source(name, path, buffered(DECOMPRESSORS[compression](stream), name, compression), compression)


class UndecodableError(UserError):
    """A text file is not in the encoding that was assumed; `is_western` says whether it reads like cp1252."""

    is_western = False


def check_encoding(encoding: str) -> str:
    """Return `encoding` if Python knows it."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise UserError(
            f"there is no encoding called {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, shift_jis and "
            "gb18030"
        ) from None
    return encoding


def read_lines(source: Source, encoding: str) -> Iterator[str]:
    """Yield the lines with their line breaks (LF, CR LF or CR), without a byte order mark."""
    text = io.TextIOWrapper(source.stream, encoding=encoding, newline="")
    number = 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            if "\0" in line:
                raise UserError(
                    f"{source.name}, line {number}: a NUL byte, which no text has. If the file is UTF-16, use "
                    "--encoding utf-16-le; otherwise it is damaged or not a text file."
                )
            if len(line) > MAX_LINE:
                raise UserError(
                    f"{source.name}, line {number}: longer than {MAX_LINE:,} characters. Are its line breaks missing?"
                )
            yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        offset = source.stream.tell() - len(error.object) + error.start
        failure = UndecodableError(
            f"{source.name} is not {encoding.removesuffix('-sig')}: the byte 0x{error.object[error.start]:02x} at "
            f"offset {offset:,} cannot be decoded. Name the encoding, for example --encoding cp1252."
        )
        failure.is_western = encoding == "utf-8" and reads_as_western(error.object[error.start :])
        raise failure from None
    except UnicodeError as error:
        raise UserError(f"{source.name} is not {encoding}: {error}. Name another encoding with --encoding.") from None
