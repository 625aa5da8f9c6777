"""A file or standard input as decompressed bytes and as lines of text."""

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

from ..errors import UserError
from .formats import SAMPLE_BYTES, compression_of, format_from_name

MAX_LINE = 2**24
"""Characters that a line, or a cell of CSV, may have. A longer one is refused as soon as this much of it has been
read: it is a file without line breaks or with a quote that never closes, not a short text."""

DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": lambda stream: pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"),
}


class ByteStream(io.BufferedIOBase):
    """Bytes that can be looked at before they are read, and are counted as they are read.

    Examples
    --------
    >>> import io
    >>> stream = ByteStream(io.BytesIO(b"abcdef"), "standard input")
    >>> stream.peek(2), stream.read(3), stream.delivered
    (b'ab', b'abc', 3)
    """

    def __init__(self, stream: Any, name: str, compression: str | None = None) -> None:
        self._stream = stream
        self._ahead = b""
        self._name = name
        self._compression = compression
        self.delivered = 0

    def readable(self) -> bool:
        """Return True, as :class:`io.TextIOWrapper` wants it."""
        return True

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, or what is left, without taking them."""
        while len(self._ahead) < size and (more := self._pull(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def read1(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        if not self._ahead:
            part = self._pull(size)
        elif size < 0:
            part, self._ahead = self._ahead, b""
        else:
            part, self._ahead = self._ahead[:size], self._ahead[size:]
        self.delivered += len(part)
        return part

    def read(self, size: int | None = -1) -> bytes:
        """Return `size` bytes, fewer only at the end; everything by default."""
        left = sys.maxsize if size is None or size < 0 else size
        parts = []
        while left and (part := self.read1(min(left, SAMPLE_BYTES))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _pull(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if self._compression is None:
                raise UserError(f"{self._name} cannot be read: {error}") from error
            raise UserError(
                f"{self._name} is damaged or cut short: its {self._compression} data cannot be decompressed. Fetch it "
                "or compress it again."
            ) from error


@dataclass(frozen=True)
class Source:
    """An input that is open: its name for messages, its bytes after decompression, and its compression."""

    name: str
    path: Path | None
    stream: ByteStream
    compression: str | None


@contextmanager
def open_source(source: str | Path, *, stdin: BinaryIO | None = None) -> Iterator[Source]:
    """Open a file, or standard input for ``"-"``, and decompress it where its first bytes ask for it.

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
    """Open a file for reading, or say in plain English why that is not possible.

    Examples
    --------
    >>> from pathlib import Path
    >>> open_file(Path("no such file.csv"))
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: there is no file 'no such file.csv'
    """
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"there is no file '{path}'") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder; name one of the files in it") from None
    except PermissionError:
        raise UserError(f"'{path}' cannot be read: no permission. Ask its owner, or change it with chmod.") from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}") from None


def _decompressed(raw: Any, name: str, path: Path | None) -> Source:
    stream = ByteStream(raw, name)
    start = stream.peek(16)
    compression = compression_of(start)
    promised = format_from_name(path)[1] if path else None
    if promised and start and compression is None:
        raise UserError(f"{name} is not {promised} data, although its name says so. Rename it or compress it again.")
    if compression is None:
        return Source(name, path, stream, None)
    return Source(name, path, ByteStream(DECOMPRESSORS[compression](stream), name, compression), compression)


def check_encoding(encoding: str) -> str:
    """Return `encoding` if Python knows it.

    Examples
    --------
    >>> check_encoding("latin-1")
    'latin-1'
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise UserError(
            f"there is no encoding called {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, shift_jis and "
            "gb18030"
        ) from None
    return encoding


def read_lines(source: Source, encoding: str) -> Iterator[str]:
    r"""Yield the lines with their line breaks (LF, CR LF or CR), without a byte order mark.

    Examples
    --------
    >>> import io
    >>> list(read_lines(Source("a", None, ByteStream(io.BytesIO(b"one\r\ntwo"), "a"), None), "utf-8"))
    ['one\r\n', 'two']
    """
    stream: Any = source.stream
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
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
        offset = source.stream.delivered - len(error.object) + error.start
        raise UserError(
            f"{source.name} is not {encoding}: the byte 0x{error.object[error.start]:02x} at offset {offset:,} cannot "
            "be decoded. Name the encoding, for example --encoding latin-1."
        ) from None
    except UnicodeError as error:
        raise UserError(f"{source.name} is not {encoding}: {error}. Name another encoding with --encoding.") from None
