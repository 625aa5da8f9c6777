"""Cached vectors in SQLite databases, several for each model; the least recently used ones are deleted first.

A database may be damaged or belong to another program. Its schema is checked before anything else, and no statement may
take more steps than a file of its size can need.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, cannot_write
from .base import Backend, identity
from .hub import cache_folder

KEY_BYTES = 16

BLOCK_ROWS = 128  # vectors per row of a database; more speed up large look-ups and slow down small ones
PAGE_BYTES = 16384  # with SQLite's default of 4 KB, reading a block of vectors takes many small steps
BUSY_SECONDS = 60.0  # how long a process waits for another one that writes
LIMIT_BYTES = 5 * 10**9  # default limit for the vectors of all models: 3 million texts with 384 dimensions
DATABASE_BYTES = 2**28  # a database of this size is full, and the next one is started
STATEMENT_STEPS = 10**6  # steps of SQLite's machine after which it asks whether to continue
SAMPLE_BLOCKS = 100  # blocks read to estimate the number of vectors
TABLES = (
    "CREATE TABLE model (name TEXT PRIMARY KEY, settings TEXT NOT NULL)",
    "CREATE TABLE block ( id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, keys BLOB NOT NULL, "
    "vectors BLOB NOT NULL)",
)
# NORMAL waits for the disk only at checkpoints: a power cut can cost the last vectors, but never the database.
SCHEMA = f"""
    PRAGMA page_size = {PAGE_BYTES};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    {"; ".join(TABLES).replace("TABLE", "TABLE IF NOT EXISTS")};
"""

# SQLite's codes for a damaged file; the last one means that a statement took too many steps.
DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_INTERRUPT)
# Errors of SQLite; the second one occurs if its message quotes a damaged name that is not UTF-8.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
Hits = tuple[NDArray[np.intp], NDArray[np.float32]]
"""Positions among the requested keys, and their vectors."""


@dataclass(frozen=True)
class CacheSize:
    """Size of a cache: number of vectors (estimated if they are many), bytes on disk, and names of the models."""

    entries: int
    bytes: int
    models: tuple[str, ...]


class EmbeddingCache:
    """Vectors on disk, identified by model, settings and text.

    All processes of one machine may use the same folder at the same time, and each may be killed at any moment.
    Damaged vectors are noticed and never returned. If the disk is full or the folder cannot be written, caching is
    disabled with a warning, and the run continues. If the vectors take more than a limit (5 GB, unless
    ``textspectra cache --limit`` or ``TEXTSPECTRA_CACHE_LIMIT`` says otherwise), the least recently used ones are
    deleted.

    Parameters
    ----------
    folder : path, optional
        Where to keep the vectors. The default is the environment variable ``TEXTSPECTRA_CACHE``, or the user's cache
        folder of the platform.

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

    def open(self, backend: Backend) -> closing[CachedVectors]:
        """Open the vectors of one model for one run."""
        return closing(CachedVectors(self, backend))

    def size(self) -> CacheSize:
        """Return the size of the cache; what is in a damaged database does not count."""
        entries, models = 0, set[str]()
        for path in self._databases():
            with suppress(*DATABASE_ERRORS), closing(_connect(path)) as database:
                sample = "SELECT total(length(keys)), count(*) FROM (SELECT keys FROM block LIMIT ?)"
                [[key_bytes, blocks]] = database.execute(sample, (SAMPLE_BLOCKS,))
                [[last]] = database.execute("SELECT max(id) FROM block")
                models |= {str(name) for [name] in database.execute("SELECT name FROM model LIMIT 10")}
                entries += int(key_bytes * (last / blocks if blocks == SAMPLE_BLOCKS else 1)) // KEY_BYTES
        return CacheSize(entries, sum(map(_bytes, self._databases())), tuple(sorted(models)))

    def clear(self) -> None:
        """Delete every cached vector; other files in the folder stay."""
        for path in self._databases():
            _delete(path)

    def limit(self) -> int:
        """Return the limit in bytes."""
        chosen = os.environ.get("TEXTSPECTRA_CACHE_LIMIT")
        if chosen:
            return parse_size(chosen)
        with suppress(OSError, ValueError):
            return parse_size((self.folder / "limit").read_text("utf-8")[:40])
        return LIMIT_BYTES

    def set_limit(self, n_bytes: int) -> None:
        """Set the limit for all runs to come, and delete vectors beyond it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "limit").write_text(str(n_bytes))
        except OSError as error:
            raise cannot_write(f"The limit cannot be kept in '{self.folder}': {error.strerror}.", error) from None
        self.make_room(0)

    def make_room(self, n_bytes: int) -> None:
        """Delete the least recently used databases until `n_bytes` more fit."""
        excess = sum(map(_bytes, self._databases())) + n_bytes - self.limit()
        for path in sorted(self._databases(), key=_last_use):
            if excess > 0:
                excess -= _bytes(path)
                _delete(path)

    def databases_of(self, backend: Backend) -> list[Path]:
        """Return the databases of a model, the oldest first, and finally the path of the next one."""
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", backend.name)[-40:].strip("-.")
        stem = f"{readable}-{identity(backend).hex()}"
        numbered = {}
        for path in self._databases(stem):
            match = re.fullmatch(r"(?:\.(\d{1,9}))?\.sqlite", path.name.removeprefix(stem))
            if match:
                numbered[int(match[1] or 0)] = path
        following = f"{stem}.{max(numbered) + 1}" if numbered else stem
        return [*(numbered[number] for number in sorted(numbered)), self.folder / "embeddings" / f"{following}.sqlite"]

    def _databases(self, stem: str = "") -> list[Path]:
        return sorted((self.folder / "embeddings").glob(f"{stem}*.sqlite"))


def parse_size(text: str) -> int:
    """Return a number of bytes from a text such as 500000, 500MB or 5GB."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s?(|MB|GB|TB)\s*", text, re.IGNORECASE)
    if match is None:
        raise UsageError(f"{text!r} is not a size such as 500MB or 5GB.")
    return int(float(match[1]) * {"": 1, "MB": 10**6, "GB": 10**9, "TB": 10**12}[match[2].upper()])


class CachedVectors:
    """The cached vectors of one model, as :meth:`EmbeddingCache.open` gives them."""

    def __init__(self, cache: EmbeddingCache, backend: Backend) -> None:
        self._cache, self._backend = cache, backend
        self._connections: dict[Path, sqlite3.Connection] = {}
        self._unusable: set[Path] = set()

    def find(self, keys: NDArray[np.uint64]) -> Iterator[Hits]:
        """Yield the positions of known keys and their vectors, block by block."""
        for path in self._cache.databases_of(self._backend)[:-1]:
            with self._recovering(path):
                database = self._database(path)
                places = list(_places(database, keys, _bytes(path)))
                if places:
                    with suppress(OSError):
                        os.utime(path)  # the least recently used database is deleted first
                damaged = []
                for block, positions, rows in places:
                    vectors = _read_block(database, block)
                    if vectors is None or rows.max() >= len(vectors):
                        damaged.append((block,))
                    else:
                        yield positions, vectors[rows]
                if damaged:
                    damage = f"{len(damaged):,} blocks of the embedding cache {path} are damaged"
                    warnings.warn(f"{damage}, so their vectors are computed again.", RuntimeWarning, stacklevel=2)
                    with database:
                        database.executemany("DELETE FROM block WHERE id = ?", damaged)

    def add(self, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        """Store vectors under their keys; a process that is killed afterward does not lose them."""
        *present, path = self._cache.databases_of(self._backend)
        full = min(DATABASE_BYTES, self._cache.limit() // 4)
        if present and _bytes(present[-1]) < full:
            path = present[-1]
        else:
            self._cache.make_room(full)
        if path in self._unusable:
            return
        blocks = []
        for start in range(0, len(keys), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            content = keys[rows].astype("<u8").tobytes(), vectors[rows].astype("<f4").tobytes()
            blocks.append((_checksum(*content), *content))
        description = self._backend.name, json.dumps(dict(self._backend.settings), sort_keys=True)
        with self._recovering(path), self._database(path) as database:
            database.execute("INSERT OR IGNORE INTO model VALUES (?, ?)", description)
            database.executemany("INSERT INTO block (checksum, keys, vectors) VALUES (?, ?, ?)", blocks)

    def close(self) -> None:
        """Close the databases."""
        for connection in self._connections.values():
            connection.close()

    def _database(self, path: Path) -> sqlite3.Connection:
        if path not in self._connections:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connections[path] = _connect(path)
        _limit_steps(self._connections[path], path)
        return self._connections[path]

    @contextmanager
    def _recovering(self, path: Path) -> Iterator[None]:
        """Delete a damaged database; after any other error, go on without it."""
        try:
            yield
        except (*DATABASE_ERRORS, OSError) as error:
            if path in self._connections:
                self._connections.pop(path).close()
            reason = getattr(error, "strerror", None) or error
            if _has_code(error, *DAMAGE_CODES) or isinstance(error, UnicodeDecodeError):
                _delete(path)
                message = f"is damaged ({reason}), so it is deleted and its vectors are computed again."
            else:
                self._unusable.add(path)
                advice = "Fix that, or set TEXTSPECTRA_CACHE to another folder."
                message = f"cannot be used ({reason}), so this run goes on without it. {advice}"
            warnings.warn(f"The embedding cache {path} {message}", RuntimeWarning, stacklevel=3)


def _connect(path: Path) -> sqlite3.Connection:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return _prepared(path, str(path), SCHEMA)
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself while another process switches a new database to write-ahead logging.
            if _has_code(error, sqlite3.SQLITE_BUSY) and time.monotonic() < deadline:
                time.sleep(0.01)
            elif _has_code(error, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and path.exists():
                # Write-ahead logging needs a writable folder; without one, the database can still be read.
                return _prepared(path, f"{path.resolve().as_uri()}?immutable=1", "")
            else:
                raise


def _has_code(error: Exception, *codes: int) -> bool:
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in codes


def _prepared(path: Path, address: str, schema: str) -> sqlite3.Connection:
    """Open a database, and check that it is ours before it is changed."""
    if _names_another_file(path):
        raise _DamageError("its journal names another file")
    connection = sqlite3.connect(address, timeout=BUSY_SECONDS, uri=not schema)
    try:
        _limit_steps(connection, path)
        connection.execute("PRAGMA trusted_schema = OFF")
        statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 10")
        if not {" ".join(str(sql).split()) for [sql] in statements} <= {*TABLES}:
            raise _DamageError("it has tables, views or triggers that are not ours")
        connection.executescript(schema)
    except BaseException:
        connection.close()
        raise
    return connection


class _DamageError(sqlite3.DatabaseError):
    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _limit_steps(connection: sqlite3.Connection, path: Path) -> None:
    """Abort statements with more steps than a file of that size can need: the tree of a damaged one can be endless."""
    # The end of the iterator aborts. A function in Python would also abort at Ctrl-C, which would look like damage.
    go_on = repeat(False, 2 + _bytes(path) // STATEMENT_STEPS)
    connection.set_progress_handler(go_on.__next__, STATEMENT_STEPS)


def _names_another_file(path: Path) -> bool:
    """Return True if a journal ends with the mark after which SQLite would delete another file. Ours never do."""
    mark = bytes.fromhex("d9d505f920a163d7")
    try:
        with path.with_name(path.name + "-journal").open("rb") as journal:
            journal.seek(-len(mark), os.SEEK_END)
            return journal.read() == mark
    except OSError:  # there is almost never a journal
        return False


def _places(
    database: sqlite3.Connection, wanted: NDArray[np.uint64], n_bytes: int
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield each block that holds wanted keys, with the positions of these keys and their rows in the block.

    Only the first word of a key is sorted; the second is compared. If two texts share the first word (this
    happens in one of 37 million sets of a million texts), one of them is embedded again.
    """
    sound = f"typeof(keys) = 'blob' AND length(keys) % {KEY_BYTES} = 0"  # all other keys are damaged
    ids, parts = [], []
    for block, content in database.execute(f"SELECT id, keys FROM block WHERE {sound} ORDER BY id"):  # noqa: S608
        ids.append(block)
        parts.append(content)
        n_bytes -= len(content)
        if n_bytes < 0:
            raise _DamageError("it seems to hold more than its size")
    keys = np.frombuffer(b"".join(parts), "<u8").reshape(-1, 2)
    if not len(keys):
        return
    order = np.argsort(keys[:, 0], kind="stable")
    # The sort is stable, so the last of equal keys is the newest.
    last = order[np.maximum(np.searchsorted(keys[order, 0], wanted[:, 0], side="right") - 1, 0)]
    positions = np.flatnonzero((keys[last] == wanted).all(axis=1))
    positions = positions[np.argsort(last[positions])]
    bounds = np.cumsum([0, *(len(content) // KEY_BYTES for content in parts)])
    blocks = np.searchsorted(bounds, last[positions], side="right") - 1
    for part in np.split(np.arange(len(positions)), np.flatnonzero(np.diff(blocks)) + 1) if len(positions) else ():
        block = blocks[part[0]]
        yield ids[block], positions[part], last[positions[part]] - bounds[block]


def _read_block(database: sqlite3.Connection, block: int) -> NDArray[np.float32] | None:
    """Return the vectors of a block, or None if they are damaged."""
    query = "SELECT checksum, keys, vectors FROM block WHERE id = ? AND typeof(vectors) = 'blob'"
    checksum, keys, content = database.execute(query, (block,)).fetchone() or (None, b"", b"")
    n_rows = len(keys) // KEY_BYTES
    if checksum != _checksum(keys, content) or not (n_rows and content) or len(content) % (4 * n_rows):
        return None
    vectors = np.frombuffer(content, "<f4").reshape(n_rows, -1)
    return vectors if np.isfinite(vectors).all() else None


def _checksum(keys: bytes, vectors: bytes) -> int:
    return zlib.crc32(vectors, zlib.crc32(keys))


def _files(path: Path) -> dict[Path, os.stat_result]:
    """Return the files of a database, its logs first: if one of them stayed, SQLite would apply it to the next."""
    files = {}
    for file in (path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm", "")):
        with suppress(OSError):  # not there, or deleted by another process
            files[file] = file.stat()
    return files


def _bytes(path: Path) -> int:
    return sum(status.st_size for status in _files(path).values())


def _last_use(path: Path) -> float:
    return max((status.st_mtime for status in _files(path).values()), default=0.0)


def _delete(path: Path) -> None:
    for file in _files(path):
        with suppress(OSError):  # in use, or not ours to delete
            file.unlink(missing_ok=True)
