"""Open an input within limits: recognize its format, compression and encoding by its name or its first bytes."""

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
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import pyarrow as pa

from ..errors import ExternalError, NoRowsError, UserError, check_path
from .headers import SAMPLE_ROWS, below_titles, is_text_name, reads_like_names

MAX_ROWS = 5_000_000  # of one file
MAX_BYTES = 2**30  # of one file once it is unpacked: of the decompressed stream, or of the cells of a Parquet file
MAX_LINE = 2**24  # characters of a line or a CSV cell; longer ones lack line breaks, or a quote never closes
MAX_TEXT = 100_000  # characters of a text that are read; most embedding models read 512 tokens, none above 32,000
MAX_SUMMARY = 2**25  # bytes of the JSON file of a model folder; as Python objects, JSON takes up to 20 times its size
MAX_CLUSTER_NAME = 200  # characters of a group's name, which outputs repeat in every row of the group
PEEK_BYTES = 2**16  # sample that shows the format and the delimiter of a file

WESTERN = "cp1252"  # the encoding of Excel's CSV files in Western Europe and America
DELIMITERS = ",;\t|"  # of CSV files, the most likely first
JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')  # JSON Lines, or an array, for which the reader has a message
PARQUET_START = b"PAR1"
ZIP_START = b"PK\x03\x04"  # an archive, such as a modern workbook
OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # an old workbook, or one with a password

COMPRESSION_BY_SUFFIX = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
OTHER_WORKBOOKS = (".xlsm", ".xls", ".xlsb", ".ods")  # read like .xlsx but never written

INSTEAD = (
    "Split it into several files, and give a pattern in quotes such as 'folder/*.csv': they are read one after the "
    "other, however many there are."
)


class TableFormat(StrEnum):
    """The formats that are read and written."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    XLSX = "xlsx"
    TEXT = "text"
    EXCEL_CSV = "excel-csv"  # with the byte order mark that tells Excel it is UTF-8; reading drops the mark


# The suffixes of each format: outputs have the first. A file named ``.csv`` is read as CSV, which comes last.
SUFFIXES = {
    TableFormat.EXCEL_CSV: (".csv",),
    TableFormat.CSV: (".csv",),
    TableFormat.TSV: (".tsv", ".tab"),
    TableFormat.JSONL: (".jsonl", ".ndjson", ".json"),
    TableFormat.PARQUET: (".parquet", ".pq"),
    TableFormat.XLSX: (".xlsx", *OTHER_WORKBOOKS),
    TableFormat.TEXT: (".txt", ".text"),
}
FORMAT_BY_SUFFIX = {suffix: form for form, suffixes in SUFFIXES.items() for suffix in suffixes}


def check_row_count(n_rows: int, name: str, advice: str = INSTEAD) -> None:
    """Raise a UserError if a file has more rows than are read."""
    if n_rows > MAX_ROWS:
        raise UserError(f"{name} has more than {MAX_ROWS:,} rows. {advice}")


def check_bytes(n_bytes: int, name: str, advice: str = INSTEAD) -> None:
    """Raise a UserError if a file has more bytes than are read."""
    if n_bytes > MAX_BYTES:
        raise UserError(f"{name} holds more than {MAX_BYTES // 2**20:,} MB once it is unpacked. {advice}")


def format_from_name(path: str | Path) -> tuple[TableFormat | None, str | None]:
    """Return the format and the compression that a file name stands for; None if it says nothing."""
    name = Path(path)
    compression = COMPRESSION_BY_SUFFIX.get(name.suffix.lower())
    inner = name.with_suffix("") if compression else name
    return FORMAT_BY_SUFFIX.get(inner.suffix.lower()), compression


class Source(NamedTuple):
    """An open input: its name for messages, its decompressed bytes (`peek` has a sample), and its compression."""

    name: str
    path: Path | None
    stream: io.BufferedReader
    compression: str | None


@contextmanager
def open_source(source: str | Path, *, stdin: BinaryIO | None = None) -> Iterator[Source]:
    """Open a file, or standard input for ``"-"``, and decompress it if its first bytes say so."""
    path = None if str(source) == "-" else Path(source)
    name = f"'{path}'" if path else "standard input"
    with open_file(path) if path else nullcontext(stdin or sys.stdin.buffer) as file:
        stream: io.BufferedReader = io.BufferedReader(_RawBytes(file, name), PEEK_BYTES)
        start = stream.peek()
        magic = {"gzip": rb"\x1f\x8b", "xz": rb"\xfd7zXZ\x00", "zstd": rb"\x28\xb5\x2f\xfd"}
        magic["bz2"] = rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"
        compression = next((known for known, mark in magic.items() if re.match(mark, start)), None)
        promised = format_from_name(path)[1] if path else None
        if promised and start and compression is None:
            advice = "Rename it or compress it again."
            raise UserError(f"{name} is not {promised} data, although its name says so. {advice}")
        if compression is not None:
            unpacked = compressed(stream, compression, "rb")
            stream = io.BufferedReader(_RawBytes(unpacked, name, compression), PEEK_BYTES)
        yield Source(name, path, stream, compression)


def compressed(file: IO[bytes], compression: str | None, mode: Literal["rb", "wb"]) -> Any:
    """Return a stream that compresses or decompresses; without names and times, equal tables give equal bytes."""
    if compression is None:
        return nullcontext(file)
    if compression == "gzip":
        return gzip.GzipFile("", mode, fileobj=file, mtime=0)
    if compression == "zstd":
        zstd = pa.CompressedInputStream if mode == "rb" else pa.CompressedOutputStream
        return zstd(pa.PythonFile(file, mode=mode[0]), "zstd")
    return (bz2.BZ2File if compression == "bz2" else lzma.LZMAFile)(file, mode)


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, or raise a UserError that says why that is not possible."""
    check_path(path)
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"file not found: '{path}'") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder; name one of the files in it") from None
    except PermissionError:
        raise UserError(f"'{path}' cannot be read: no permission. Ask its owner, or change it with chmod.") from None
    except OSError as error:
        raise ExternalError(f"'{path}' cannot be read: {error.strerror}") from None


class _RawBytes(io.RawIOBase):
    """The bytes of a stream that can only be read forward, such as a pipe or a decompressor."""

    def __init__(self, stream: IO[bytes], name: str, compression: str | None = None) -> None:
        self._stream, self._name, self._compression, self._count = stream, name, compression, 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._count

    def readinto(self, buffer: Any) -> int:
        filled = 0
        try:
            # Fill the buffer even if a pipe delivers small pieces, so that `peek` returns a whole sample.
            while filled < len(buffer) and (piece := self._stream.read(len(buffer) - filled)):
                buffer[filled : filled + len(piece)] = piece
                filled += len(piece)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if self._compression is None:
                raise ExternalError(f"{self._name} cannot be read: {error}") from error
            damage = f"its {self._compression} data cannot be decompressed. Fetch it or compress it again."
            raise UserError(f"{self._name} is damaged or cut short: {damage}") from error
        self._count += filled
        check_bytes(self._count, self._name)
        return filled


def recognize(source: Source, encoding: str | None) -> tuple[TableFormat, str, str]:
    """Return the format, the encoding and the delimiter of an input that has not been read."""
    start = source.stream.peek()
    form = format_from_name(source.path)[0] if source.path else None
    if not start:  # valid Parquet files and workbooks have bytes even without rows
        has_bytes = form in (TableFormat.PARQUET, TableFormat.XLSX)
        raise (UserError if has_bytes else NoRowsError)(f"{source.name} is empty")
    encoding = encoding or _encoding_of(start)
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs that are not for text
        sample = codecs.getincrementaldecoder(encoding)("replace").decode(start).removeprefix("\ufeff")
    except UnicodeError:  # such as UTF-16 without its mark, which the reader reports
        sample = ""
    except (LookupError, ValueError):
        common = "utf-8, utf-16, latin-1, cp1252, shift_jis and gb18030"
        raise UserError(f"unknown encoding {encoding!r}; common ones are {common}") from None
    is_workbook = start.startswith((ZIP_START, OLE_START))
    if form is None:
        form = _sniff_format(start, sample)
    elif is_workbook != (form is TableFormat.XLSX) and form is not TableFormat.PARQUET:
        if is_workbook:
            advice = "Rename a workbook to .xlsx, or unpack the archive."
            problem = f"is an Excel workbook or another archive, although its name says otherwise. {advice}"
            raise UserError(f"{source.name} {problem}")
        kind = _sniff_format(start, sample)
        advice = "Save it as .xlsx or .csv again." if kind is TableFormat.TEXT else f"It reads like .{kind}: rename it."
        raise UserError(f"{source.name} is not a workbook, although its name says so. {advice}")
    if form is TableFormat.CSV:
        return form, encoding, _sniff_delimiter(sample)
    return form, encoding, "\t" if form is TableFormat.TSV else ","


def _sniff_format(start: bytes, sample: str) -> TableFormat:
    """Return the format of an input without a name; all that has no magic number, brace or header is plain text."""
    if start.startswith(PARQUET_START):
        return TableFormat.PARQUET
    if start.startswith((ZIP_START, OLE_START)):
        return TableFormat.XLSX
    if JSON_START.match(sample):
        return TableFormat.JSONL
    delimiter = _sniff_delimiter(sample)
    header, *rows = _sample_rows(sample, delimiter) or [[]]
    if not rows or any(len(row) != len(header) for row in rows):
        return TableFormat.TEXT
    names = header if header[0] else header[1:]  # the index of a data frame is a first column without a name
    if not (reads_like_names(names) if len(header) > 1 else is_text_name(header[0])):
        return TableFormat.TEXT
    return TableFormat.TSV if delimiter == "\t" else TableFormat.CSV


def _sniff_delimiter(sample: str) -> str:
    """Return the delimiter that splits most of the first rows into the same number of cells as the header."""

    def score(delimiter: str) -> tuple[float, int]:
        rows = _sample_rows(sample, delimiter)
        rows = rows[below_titles([[cell or None for cell in row] for row in rows]) :]
        width = len(rows[0]) if rows else 0
        # Only delimiters in the header count, because sentences have commas, too.
        return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0, 1)

    return max(DELIMITERS, key=score)


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows = [row for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), SAMPLE_ROWS) if row]
    # A full sample, at up to four bytes a character, may end inside a row.
    may_be_cut = len(sample) >= PEEK_BYTES // 4 - 1 and 2 < len(rows) < SAMPLE_ROWS
    return rows[:-1] if may_be_cut else rows


def _encoding_of(start: bytes) -> str:
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
        return WESTERN if _reads_as_western(start) else "utf-8"
    return "utf-8"


def _reads_as_western(data: bytes) -> bool:
    """Return True if bytes that are not UTF-8 read like cp1252: few letters have accents."""
    if re.search(rb"[\x81\x8d\x8f\x90\x9d]", data):  # cp1252 lacks these
        return False
    # In words with accents, about a quarter of the letters have one; Russian taken for cp1252 has nothing else. Fewer
    # than ten letters say nothing.
    letters = b"".join(re.findall(rb"[A-Za-z]*[\xc0-\xff][A-Za-z\xc0-\xff]*", data))
    return len(letters) < 10 or sum(byte >= 0xC0 for byte in letters) <= 0.6 * len(letters)


class WesternError(UserError):
    """A text file is not UTF-8 but reads like cp1252."""


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
        is_western = encoding == "utf-8" and _reads_as_western(error.object[error.start :])
        raise (WesternError if is_western else UserError)(
            f"{source.name} is not {encoding.removesuffix('-sig')}: the byte 0x{error.object[error.start]:02x} at "
            f"offset {offset:,} cannot be decoded. Name the encoding, for example --encoding cp1252."
        ) from None
    except UnicodeError as error:
        raise UserError(f"{source.name} is not {encoding}: {error}. Name another encoding with --encoding.") from None
