"""Vectors that were computed once, kept in one SQLite database per model."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .base import Backend, identity
from .folders import cache_folder

SUFFIX = ".sqlite"

BLOCK_ROWS = 128
"""Vectors per row of the database. More make large look-ups faster and look-ups of a few texts slower."""

PAGE_BYTES = 16384
"""Page size of the database. SQLite's default of 4 KB reads a block of vectors in many small steps."""

WAIT_SECONDS = 60.0
"""How long one process waits for another one that writes."""

KEY_BYTES = 16

# NORMAL waits for the disk at checkpoints only: a power cut can cost the last groups, but never the database.
SCHEMA = f"""
    PRAGMA page_size = {PAGE_BYTES};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS model (name TEXT PRIMARY KEY, settings TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS block (
        id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, keys BLOB NOT NULL, vectors BLOB NOT NULL);
"""

DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""SQLite's codes for a damaged file; the last one says that its tables are not ours."""

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the second one if its message quotes a damaged name that is no UTF-8."""

Found = tuple[NDArray[np.intp], NDArray[np.float32]]
"""Positions among the keys that were asked for, and their vectors."""


@dataclass(frozen=True)
class CacheSize:
    """Size of a cache: vectors, bytes on disk, and the names of the models.

    Examples
    --------
    >>> CacheSize(entries=2, bytes=4096, models=("wordllama",)).entries
    2
    """

    entries: int
    bytes: int
    models: tuple[str, ...]


class EmbeddingCache:
    """Vectors on disk, found again by model, settings and text.

    All processes of one machine may use the same folder at the same time, and each may be killed at any
    moment. Damaged vectors are noticed and never returned. A full disk or a folder without write
    permission disables the caching with a warning, and the run goes on.

    Parameters
    ----------
    folder : path, optional
        Where to keep the vectors. The default is the environment variable ``TEXTSPECTRA_CACHE``, or else
        the user's cache folder of the platform.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from types import SimpleNamespace
    >>> from textspectra.embedding.base import text_keys
    >>> backend = SimpleNamespace(name="lengths", settings={})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = EmbeddingCache(folder)
    ...     with cache.open(backend) as stored:
    ...         stored.add(text_keys(backend, ["one", "three"]), np.array([[3], [5]], np.float32))
    ...         list(stored.find(text_keys(backend, ["two", "three"])))
    ...     cache.size().entries
    [(array([1]), array([[5.]], dtype=float32))]
    2
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = cache_folder(folder)

    @contextmanager
    def open(self, backend: Backend) -> Iterator[CachedVectors]:
        """Open the vectors of one model for the time of one run."""
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", backend.name)[-40:].strip("-.")
        path = self.folder / "embeddings" / f"{readable}-{identity(backend).hex()}{SUFFIX}"
        with closing(CachedVectors(path, backend)) as vectors:
            yield vectors

    def size(self) -> CacheSize:
        """Return how much is stored."""
        entries, models = 0, set()
        for path in self._databases():
            with suppress(*DATABASE_ERRORS), closing(_connect(path)) as database:
                [[key_bytes]] = database.execute("SELECT total(length(keys)) FROM block")
                entries += int(key_bytes) // KEY_BYTES
                models |= {str(name) for [name] in database.execute("SELECT name FROM model")}
        n_bytes = sum(file.stat().st_size for path in self._databases() for file in _files(path) if file.exists())
        return CacheSize(entries, n_bytes, tuple(sorted(models)))

    def clear(self) -> None:
        """Delete every cached vector; other files in the folder stay."""
        for path in self._databases():
            _delete(path)

    def _databases(self) -> list[Path]:
        return sorted((self.folder / "embeddings").glob("*" + SUFFIX))


class CachedVectors:
    """The cached vectors of one model, as :meth:`EmbeddingCache.open` gives them."""

    def __init__(self, path: Path, backend: Backend) -> None:
        self._path, self._backend = path, backend
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def find(self, keys: NDArray[np.uint64]) -> Iterator[Found]:
        """Yield the positions in `keys` whose vectors are known, and these vectors, block by block."""
        if not (self._usable and self._path.exists()):
            return
        try:
            database = self._database()
            damaged: list[int] = []
            for block, positions, rows in _places(database, keys):
                vectors = _read_block(database, block)
                if vectors is None:
                    damaged.append(block)
                else:
                    yield positions, vectors[rows]
            if damaged:
                self._forget(damaged)
        except (*DATABASE_ERRORS, OSError) as error:
            self._give_up(error)

    def add(self, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        """Store vectors under their keys; when this returns, a killed process does not lose them."""
        if not (self._usable and len(keys)):
            return
        blocks = []
        for start in range(0, len(keys), BLOCK_ROWS):
            some = slice(start, start + BLOCK_ROWS)
            content = keys[some].astype("<u8").tobytes(), vectors[some].astype("<f4").tobytes()
            blocks.append((_checksum(*content), *content))
        description = self._backend.name, json.dumps(dict(self._backend.settings), sort_keys=True)
        try:
            with self._database() as database:
                database.execute("INSERT OR IGNORE INTO model VALUES (?, ?)", description)
                database.executemany("INSERT INTO block (checksum, keys, vectors) VALUES (?, ?, ?)", blocks)
        except (*DATABASE_ERRORS, OSError) as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _database(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connect(self._path)
        return self._connection

    def _forget(self, damaged: list[int]) -> None:
        warnings.warn(
            f"{len(damaged):,} blocks of the embedding cache {self._path} are damaged, so their vectors are computed "
            "again.",
            RuntimeWarning,
            stacklevel=3,
        )
        with self._database() as database:
            database.executemany("DELETE FROM block WHERE id = ?", [(block,) for block in damaged])

    def _give_up(self, error: sqlite3.Error | UnicodeDecodeError | OSError) -> None:
        """Start a damaged database again; after any other error, go on without the cache."""
        self.close()
        reason = getattr(error, "strerror", None) or error
        if _is_error(error, DAMAGE) or isinstance(error, UnicodeDecodeError):
            _delete(self._path)
            message = f"is damaged ({reason}), so it is deleted and its vectors are computed again."
        else:
            self._usable = False
            message = (
                f"cannot be used ({reason}), so this run goes on without it. Fix that, or set TEXTSPECTRA_CACHE to "
                "another folder."
            )
        warnings.warn(f"The embedding cache {self._path} {message}", RuntimeWarning, stacklevel=3)


def _connect(path: Path) -> sqlite3.Connection:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return _prepared(sqlite3.connect(path, timeout=WAIT_SECONDS))
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself while another process switches a new database to write-ahead logging.
            if _is_error(error, [sqlite3.SQLITE_BUSY]) and time.monotonic() < deadline:
                time.sleep(0.01)
            elif _is_error(error, [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY]) and path.exists():
                # Write-ahead logging needs a writable folder; without one, the database can still be read.
                return sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)
            else:
                raise


def _is_error(error: Exception, codes: Sequence[int]) -> bool:
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in codes


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.executescript(SCHEMA)
    except DATABASE_ERRORS:
        connection.close()
        raise
    return connection


def _index(database: sqlite3.Connection) -> tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.intp]]:
    """Return the block, the key and the row in its block of every stored vector, the oldest first."""
    sound = f"typeof(keys) = 'blob' AND length(keys) % {KEY_BYTES} = 0"  # all other keys are damaged
    found = database.execute(f"SELECT id, keys FROM block WHERE {sound} ORDER BY id").fetchall()  # noqa: S608
    counts = np.array([len(keys) // KEY_BYTES for _, keys in found], np.intp)
    blocks = np.repeat(np.array([block for block, _ in found], np.intp), counts)
    keys = np.frombuffer(b"".join(keys for _, keys in found), "<u8").reshape(-1, 2)
    return blocks, keys, np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)


def _places(
    database: sqlite3.Connection, wanted: NDArray[np.uint64]
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield each block that holds wanted keys, with the positions of these keys and their rows in the block.

    Only the first word of a key is sorted; the second is compared. Two texts that share the first
    word (one set of a million texts in 37 million has such a pair) cost no more than embedding one of them again.
    """
    blocks, keys, rows = _index(database)
    if not len(keys):
        return
    order = np.argsort(keys[:, 0], kind="stable")
    # The sort is stable, so the last of equal keys is the newest.
    last = order[np.maximum(np.searchsorted(keys[order, 0], wanted[:, 0], side="right") - 1, 0)]
    positions = np.flatnonzero((keys[last] == wanted).all(axis=1))
    positions = positions[np.argsort(last[positions])]
    bounds = np.flatnonzero(np.diff(blocks[last[positions]])) + 1
    for some in np.split(positions, bounds) if len(positions) else ():
        yield int(blocks[last[some[0]]]), some, rows[last[some]]


def _read_block(database: sqlite3.Connection, block: int) -> NDArray[np.float32] | None:
    """Return the vectors of a block, or None if they are not what was written."""
    wanted = "SELECT checksum, keys, vectors FROM block WHERE id = ? AND typeof(vectors) = 'blob'"
    found = database.execute(wanted, (block,)).fetchone()
    if found is None or _checksum(found[1], found[2]) != found[0]:
        return None
    return np.frombuffer(found[2], "<f4").reshape(len(found[1]) // KEY_BYTES, -1)


def _checksum(keys: bytes, vectors: bytes) -> int:
    return zlib.crc32(vectors, zlib.crc32(keys))


def _files(path: Path) -> list[Path]:
    """Return the files of a database: its log first, which would outlive it otherwise."""
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm", "")]


def _delete(path: Path) -> None:
    for file in _files(path):
        with suppress(OSError):  # in use, or not ours to delete
            file.unlink(missing_ok=True)
