"""The files of the cache: written once, never changed, checked when read.

A segment is the vectors of some texts, then their keys and row checksums, then a trailer that says
how many there are and vouches for keys and checksums. It is written under a temporary name and
renamed when complete, so a reader never sees half of one, and it needs no lock.
"""

from __future__ import annotations

import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SUFFIX = ".segment"
TEMPORARY = ".part"

TRAILER = struct.Struct("<QQI4x8s")
MAGIC = b"TSPECTR1"
ENTRY_BYTES = 16 + 4
"""A key and a checksum: what a row takes beside its vector."""


@dataclass(frozen=True)
class Segment:
    """One file of vectors, with its keys in memory and its vectors on disk."""

    path: Path
    dimension: int
    keys: NDArray[np.uint64] = field(repr=False, compare=False)
    checksums: NDArray[np.uint32] = field(repr=False, compare=False)

    def read(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the vectors of `rows`, and which of them are still what was written.

        Raises
        ------
        FileNotFoundError
            If another process has merged this segment into a larger one in the meantime.
        """
        try:
            stored = np.memmap(self.path, "<f4", "r", shape=(len(self.keys), self.dimension))
        except ValueError:  # the file has become shorter
            return np.zeros((len(rows), self.dimension), np.float32), np.zeros(len(rows), bool)
        vectors = np.asarray(stored[rows], np.float32)
        return vectors, row_checksums(vectors) == self.checksums[rows]


def row_checksums(vectors: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each row.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = row_checksums(np.array([[1, 2], [2, 1]], np.float32))
    >>> bool(one == other)
    False
    """
    return np.fromiter(map(zlib.crc32, vectors), np.uint32, len(vectors))


def write_segment(folder: Path, blocks: Iterable[tuple[NDArray[np.uint64], NDArray[np.float32]]]) -> None:
    """Write blocks of keys and vectors as one new segment; nothing is visible until all of it is written.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as name:
    ...     keys, vectors = np.arange(4, dtype=np.uint64).reshape(2, 2), np.eye(2, dtype=np.float32)
    ...     write_segment(Path(name), [(keys, vectors)])
    ...     [segment] = open_segments(Path(name))
    ...     segment.read(np.array([1]))
    (array([[0., 1.]], dtype=float32), array([ True]))
    """
    # Names sort by time, so that of two vectors for one text the newer one is found. There is no
    # fsync: a power cut can leave a damaged file, which the checksums find, and waiting for the
    # disk after every batch would cost every user more than that.
    stem = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
    temporary = folder / (stem + TEMPORARY)
    all_keys, all_checksums, dimension = [], [], 0
    try:
        with temporary.open("wb") as file:
            for keys, vectors in blocks:
                plain = np.ascontiguousarray(vectors, "<f4")
                file.write(plain.data)
                all_keys.append(keys)
                all_checksums.append(row_checksums(plain))
                dimension = plain.shape[1]
            index = np.concatenate(all_keys).astype("<u8").tobytes()
            index += np.concatenate(all_checksums).astype("<u4").tobytes()
            rows = len(index) // ENTRY_BYTES
            file.write(index + TRAILER.pack(rows, dimension, _index_checksum(index, rows, dimension), MAGIC))
        temporary.replace(folder / (stem + SUFFIX))
    finally:
        temporary.unlink(missing_ok=True)


def _index_checksum(index: bytes, rows: int, dimension: int) -> int:
    return zlib.crc32(index, zlib.crc32(struct.pack("<QQ", rows, dimension)))


def segment_paths(folder: Path) -> list[Path]:
    """Return the segments of a folder, the oldest first; none where there is no such folder."""
    return sorted(folder.glob("*" + SUFFIX))


def open_segments(folder: Path) -> list[Segment]:
    """Return the sound segments of a folder, the oldest first, and delete those that are damaged."""
    opened = []
    for path in segment_paths(folder):
        try:
            segment = _open(path)
        except OSError:  # merged by another process just now, or not ours to read
            continue
        if segment is None:
            discard(path)
        else:
            opened.append(segment)
    return opened


def _open(path: Path) -> Segment | None:
    """Return a segment, or None if its file is not what was written."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        shape = _read_trailer(file.fileno(), size)
        if shape is None:
            return None
        rows, dimension, checksum = shape
        file.seek(rows * dimension * 4)
        index = file.read(rows * ENTRY_BYTES)
    if _index_checksum(index, rows, dimension) != checksum:
        return None
    keys = np.frombuffer(index, "<u8", 2 * rows).reshape(rows, 2)
    return Segment(path, dimension, keys, np.frombuffer(index, "<u4", rows, offset=16 * rows))


def _read_trailer(descriptor: int, size: int) -> tuple[int, int, int] | None:
    if size < TRAILER.size:
        return None
    os.lseek(descriptor, size - TRAILER.size, os.SEEK_SET)
    rows, dimension, checksum, magic = TRAILER.unpack(os.read(descriptor, TRAILER.size))
    complete = magic == MAGIC and size == rows * (4 * dimension + ENTRY_BYTES) + TRAILER.size
    return (rows, dimension, checksum) if complete else None


def count_rows(path: Path) -> int:
    """Return how many vectors a segment says it holds, without reading them; 0 if it is damaged or gone."""
    try:
        with path.open("rb") as file:
            shape = _read_trailer(file.fileno(), file.seek(0, os.SEEK_END))
    except OSError:
        return 0
    return shape[0] if shape else 0


def discard(path: Path) -> None:
    """Delete a file that nobody needs; one that is gone already, or in use, is no reason to stop."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


class KeyIndex:
    """Finds keys in many segments at once.

    A place is a number over all rows of all segments. Only the first word of a key is sorted; the
    second is compared. Two texts that share the first word (one set in 37 million has such a pair
    among a million texts) cost no more than embedding one of them again.

    Examples
    --------
    >>> import numpy as np
    >>> def segment(*keys):
    ...     return Segment(Path(), 1, np.array(keys, np.uint64), np.zeros(len(keys), np.uint32))
    >>> index = KeyIndex([segment((7, 1), (3, 1)), segment((5, 1), (7, 1))])
    >>> index.find(np.array([(3, 1), (7, 1), (7, 2), (4, 4)], np.uint64))
    array([ 1,  3, -1, -1])
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self.starts = np.cumsum([0, *(len(segment.keys) for segment in segments)])
        empty = np.zeros((0, 2), np.uint64)
        keys = np.concatenate([empty, *(segment.keys for segment in segments)])
        self._order = np.argsort(keys[:, 0], kind="stable")
        self._first, self._second = keys[self._order, 0], keys[self._order, 1]

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the place of each key, the newest where there are several; -1 where there is none."""
        if not len(self._order):
            return np.full(len(keys), -1, np.intp)
        # The sort is stable, so the last of equal keys is in the newest segment.
        at = np.maximum(np.searchsorted(self._first, keys[:, 0], side="right") - 1, 0)
        same = (self._first[at] == keys[:, 0]) & (self._second[at] == keys[:, 1])
        return np.where(same, self._order[at], -1)
