"""Open a file or standard input, decompress it, and read its lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from ..errors import OutsideError, UserError, check_path
from .formats import SAMPLE_BYTES, compression_of, format_from_name, reads_as_western
from .limits import check_bytes

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
                raise OutsideError(f"{self._name} cannot be read: {error}") from error
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
    """Open a file, or standard input for ``"-"``, and decompress it if its first bytes are those of a compressed file.

    Examples
    --------
    >>> import gzip, io
    >>> with open_source("-", stdin=io.BytesIO(gzip.compress(b"hello"))) as opened:
    ...     opened.compression, opened.stream.read()
    ('gzip', b'hello')
    """
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
        raise OutsideError(f"'{path}' cannot be read: {error.strerror}") from None


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
