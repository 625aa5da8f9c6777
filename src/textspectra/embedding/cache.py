"""Vectors that were computed once, kept on disk under a hash of what they were computed from."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from .base import Backend, identity, text_keys
from .segments import TEMPORARY, KeyIndex, Segment, count_rows, discard, open_segments, segment_paths, write_segment

READ_ROWS = 4096
"""Vectors that are read at a time: a few MB, so that a look-up of millions needs no memory of its own."""

MERGE_ABOVE = 64
"""Small segments that a model may have before they are merged into one."""

SMALL_BYTES = 2**27
"""A segment of this size is never merged again, so that no vector is copied more than a few times."""

STALE_SECONDS = 3600
"""After this long a temporary file or a lock belongs to a process that is dead."""

LOOK_AGAIN = 3
"""How often a look-up starts again when another process merges segments under its hands."""

DESCRIPTION = "model.json"


@dataclass(frozen=True)
class CacheSize:
    """What a cache holds: vectors, bytes on disk, and the names of the models they are from."""

    entries: int
    bytes: int
    models: tuple[str, ...]


class EmbeddingCache:
    """Vectors on disk, found again by model, settings and text.

    Any number of processes may use one folder at the same time, and any of them may be killed at any
    moment. A damaged vector is noticed and not returned. A disk that is full, or a folder that
    cannot be written, costs a warning and the caching, never the run.

    Parameters
    ----------
    folder : path, optional
        Where to keep it. By default the environment variable ``TEXTSPECTRA_CACHE`` says so, or else
        it is the folder that the platform has for such things.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from types import SimpleNamespace
    >>> backend = SimpleNamespace(name="lengths", settings={})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = EmbeddingCache(folder)
    ...     cache.store(backend, ["one", "three"], np.array([[3], [5]], np.float32))
    ...     list(cache.lookup(backend, ["two", "three"]))
    ...     cache.size().entries
    [(array([1]), array([[5.]], dtype=float32))]
    2
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        chosen = folder or os.environ.get("TEXTSPECTRA_CACHE")
        self.folder = Path(chosen) if chosen else platformdirs.user_cache_path("textspectra", appauthor=False)
        self._writable = True
        self._prepared: set[Path] = set()
        self._indexes: dict[Path, tuple[list[Path], KeyIndex]] = {}

    def lookup(
        self, backend: Backend, texts: Sequence[str], *, keys: NDArray[np.uint64] | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield what is known about `texts`, block by block: positions in `texts`, and their vectors.

        The `keys` of the texts, where they are known already, save computing them.
        """
        folder = self._model_folder(backend)
        keys = text_keys(backend, texts) if keys is None else keys
        wanted = np.arange(len(keys))
        for _ in range(LOOK_AGAIN):
            vanished: list[NDArray[np.intp]] = []
            for segment, positions, rows in _places(self._index(folder), keys, wanted):
                try:
                    vectors, sound = segment.read(rows)
                except FileNotFoundError:
                    vanished.append(positions)
                    continue
                yield (positions, vectors) if sound.all() else (positions[sound], vectors[sound])
            if not vanished:
                return
            wanted = np.concatenate(vanished)

    def store(
        self,
        backend: Backend,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        *,
        keys: NDArray[np.uint64] | None = None,
    ) -> None:
        """Keep the vectors of `texts`; when this returns, a killed process does not lose them."""
        if not self._writable or not len(texts):
            return
        folder = self._model_folder(backend)
        try:
            self._write(folder, backend, text_keys(backend, texts) if keys is None else keys, vectors)
        except OSError as error:
            self._writable = False
            warnings.warn(
                f"The embedding cache in {self.folder} cannot be written ({error.strerror or error}), so this run goes "
                "on without it. Mend that, or let TEXTSPECTRA_CACHE name another folder.",
                RuntimeWarning,
                stacklevel=2,
            )

    def size(self) -> CacheSize:
        """Return how much there is."""
        entries, n_bytes, models = 0, 0, set()
        for folder in self._model_folders():
            counts = [count_rows(path) for path in segment_paths(folder)]
            n_bytes += sum(size for _, size in _sizes(folder.iterdir()))
            entries += sum(counts)
            if counts:
                models.add(_model_name(folder))
        return CacheSize(entries, n_bytes, tuple(sorted(models)))

    def clear(self) -> None:
        """Delete every cached vector; other files in the folder stay."""
        for folder in self._model_folders():
            for path in folder.iterdir():
                discard(path)
            with suppress(OSError):  # another process may have written there just now
                folder.rmdir()

    def _model_folders(self) -> list[Path]:
        return sorted(path.parent for path in (self.folder / "embeddings").glob("*/" + DESCRIPTION))

    def _model_folder(self, backend: Backend) -> Path:
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", backend.name)[-40:].strip("-.")
        return self.folder / "embeddings" / f"{readable}-{identity(backend).hex()}"

    def _write(self, folder: Path, backend: Backend, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        try:
            self._prepare(folder, backend)
            write_segment(folder, [(keys, vectors)])
        except FileNotFoundError:  # another process has just cleared the cache
            self._prepare(folder, backend)
            write_segment(folder, [(keys, vectors)])
        with suppress(FileNotFoundError):
            _merge_if_many(folder)

    def _prepare(self, folder: Path, backend: Backend) -> None:
        """Make the folder of a model and sweep it, once for each cache object."""
        description = folder / DESCRIPTION
        if folder in self._prepared and description.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*" + TEMPORARY):
            if _is_stale(path):
                discard(path)
        if not description.exists():
            temporary = folder / f"{os.getpid()}-{DESCRIPTION}{TEMPORARY}"
            temporary.write_text(json.dumps({"name": backend.name, "settings": dict(backend.settings)}, indent=1))
            temporary.replace(description)
        self._prepared.add(folder)

    def _index(self, folder: Path) -> KeyIndex:
        paths = segment_paths(folder)
        known = self._indexes.get(folder)
        if known is None or known[0] != paths:
            known = self._indexes[folder] = (paths, KeyIndex(open_segments(folder)))
        return known[1]


def _places(
    index: KeyIndex, keys: NDArray[np.uint64], wanted: NDArray[np.intp]
) -> Iterator[tuple[Segment, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield segments with the wanted positions that they know and the rows that these are in, in the order on disk."""
    places = index.find(keys[wanted])
    order = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
    bounds = np.searchsorted(places[order], index.starts)
    for segment, start, low, high in zip(index.segments, index.starts, bounds, bounds[1:], strict=False):
        for block in range(low, high, READ_ROWS):
            chosen = order[block : min(block + READ_ROWS, high)]
            yield segment, wanted[chosen], places[chosen] - start


def _merge_if_many(folder: Path) -> None:
    """Replace the small segments of a folder by one, when there are many.

    Readers that still want a segment that is gone look again and find the merged one. Two processes
    that merged the same segments would do no harm but waste work and space; the lock only avoids that.
    """
    small = [path for path, size in _sizes(segment_paths(folder)) if size < SMALL_BYTES]
    if len(small) <= MERGE_ABOVE:
        return
    lock = folder / "merge.lock"
    if _is_stale(lock):
        discard(lock)
    try:
        lock.open("x").close()
    except FileExistsError:
        return
    try:
        chosen = set(small)
        sources = [segment for segment in open_segments(folder) if segment.path in chosen]
        if len({segment.dimension for segment in sources}) == 1:
            write_segment(folder, _sound_blocks(sources))
            for segment in sources:
                discard(segment.path)
    finally:
        discard(lock)


def _sound_blocks(sources: Sequence[Segment]) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float32]]]:
    """Yield every undamaged vector of the segments once, the newest where a text has several."""
    newest_first = sources[::-1]
    _, first_seen = np.unique(np.concatenate([segment.keys[:, 0] for segment in newest_first]), return_index=True)
    starts = np.cumsum([0, *(len(segment.keys) for segment in newest_first)])
    places = np.sort(first_seen)
    for segment, low, high in zip(newest_first, starts, starts[1:], strict=False):
        rows = places[(places >= low) & (places < high)] - low
        for block in range(0, len(rows), READ_ROWS):
            some = rows[block : block + READ_ROWS]
            vectors, sound = segment.read(some)
            yield segment.keys[some[sound]], vectors[sound]


def _sizes(paths: Iterable[Path]) -> list[tuple[Path, int]]:
    sizes = []
    for path in paths:
        with suppress(OSError):  # deleted since the folder was listed
            sizes.append((path, path.stat().st_size))
    return sizes


def _is_stale(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > STALE_SECONDS
    except OSError:
        return False


def _model_name(folder: Path) -> str:
    try:
        return str(json.loads((folder / DESCRIPTION).read_text())["name"])
    except (OSError, ValueError, KeyError):
        return folder.name
