"""The folder in which a run over many files keeps what is finished: its room on the disk, and what becomes of it.

The cache of the user has an entry for each such folder, so that abandoned ones are found. The name of the entry is also
written inside the folder: nothing is removed because of a path that somebody wrote into the cache.
"""

from __future__ import annotations

import logging
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..embedding.base import Backend
from ..embedding.hub import cache_folder
from ..errors import ExternalError, TextspectraError
from ..files import delete, lock
from ..tables.columns import TextTable
from .corpus import Corpus
from .partition import File, Job

SUFFIX = "-work"
MARK = "textspectra-work.txt"
"""The file in a work folder that has the name of its entry in the cache."""

BYTES_OF_TEXT = 48
"""Bytes for each distinct text beside its vector: counts, digests, positions, labels and similarities."""

BYTES_OF_ROW = 40
"""Bytes that a row of an output has more than its input, at most in most formats: cluster, name and similarity."""

HALF_ABOVE = 2**28
"""Bytes of vectors in float32 above which they wait in half precision, which changes cosines by 0.000015."""

QUICK = ("wordllama", "model2vec:")
"""Models that compute vectors as quickly as a cache could be read."""

ANNOUNCED = 10**8
"""A need of less than this many bytes is not announced."""

logger = logging.getLogger(__name__)


def work_of(folder: Path) -> Path:
    """Return the work folder of an output folder."""
    return folder.with_name(f".{folder.name}{SUFFIX}").absolute()


def is_quick(model: str) -> bool:
    """Return whether vectors of a model need no cache: they lie in the work folder only."""
    return model.startswith(QUICK)


@contextmanager
def working(job: Job, files: Sequence[File], *, restart: bool) -> Iterator[None]:
    """Make the work folder, or take over an earlier one; if the run fails, say what is left of it."""
    work = job.work
    work.parent.mkdir(parents=True, exist_ok=True)
    with lock(work):
        if restart:
            remove_work(work)
        job.tables.mkdir(parents=True, exist_ok=True)
        _register(work)
        _forget_others(job, files)
        try:
            yield
        except BaseException:
            if any(work.glob("*-done.json")):
                logger.warning(
                    "What is finished is kept in '%s' (%s). The same command goes on with it; --restart begins anew.",
                    work,
                    in_bytes(size_of(work)),
                )
            else:
                remove_work(work)
            raise


class Need(NamedTuple):
    """What is expected of all files, judged by the first that has rows: they have as many texts for each byte."""

    rows: float
    texts: float  # different ones
    dimension: int  # of their vectors
    n_bytes: int  # of the input

    @staticmethod
    def of(
        first: TextTable, place: int, files: Sequence[File], encoder: Backend | None, embeddings: str | None
    ) -> Need:
        """Estimate from the first table with rows, which is the file at `place`.

        A model embeds one text to tell the length of its vectors.
        """
        corpus = Corpus.from_texts(first.texts())
        sizes = [file.state[0] for file in files]
        share = sum(sizes) / max(sizes[place], 1)
        if encoder is not None:
            dimension = np.shape(encoder.embed(corpus.distinct[:1] or ["a"]))[-1]
        else:  # whatever is wrong with given vectors is reported where they are read
            names = first.table.column_names
            vector = first.table.column(embeddings)[0].as_py() if embeddings in names else None
            dimension = len(vector) if isinstance(vector, list) else 0
        return Need(share * len(corpus.rows), share * len(corpus.distinct), dimension, sum(sizes))

    @property
    def full_precision(self) -> int:
        """Return the bytes of all vectors in float32."""
        return int(4 * self.texts * self.dimension)


def check_space(job: Job, need: Need) -> None:
    """Say how much of the disk the run needs, and raise an ExternalError if that is not free."""
    vectors = need.full_precision // (2 if job.half else 1)
    in_all = vectors + need.texts * BYTES_OF_TEXT + need.rows * BYTES_OF_ROW + need.n_bytes
    missing = max(0, int(in_all) - size_of(job.work))
    free = shutil.disk_usage(job.work).free
    where, wanted, there = job.work.parent, in_bytes(missing), in_bytes(free)
    if missing > ANNOUNCED:
        more = f", and up to {in_bytes(need.full_precision)} in the cache" if job.cache and not job.embeddings else ""
        logger.info("This needs about %s of the disk in '%s'%s; %s are free.", wanted, where, more, there)
    if missing > free:
        raise ExternalError(
            f"This needs about {wanted} of the disk in '{where}', but only {there} are free. Delete something, such as "
            "abandoned work (`textspectra cache --clear work`), or choose another --out."
        )


def remove_work(work: Path) -> None:
    """Remove a work folder and its entry in the cache; a kill leaves all of the folder, or nothing that is used."""
    with suppress(OSError):
        _entry(work).unlink()
    delete(work, work.with_name(work.name.removeprefix(".").removesuffix(SUFFIX)))


def clear_work() -> tuple[int, int]:
    """Remove the work folders of runs that failed; return their number and their bytes. Runs that go on keep theirs."""
    n_folders = n_bytes = 0
    for entry in sorted((cache_folder() / "work").glob("*")):
        work = None
        with suppress(OSError, ValueError):
            work = Path(entry.read_text(encoding="utf-8"))
        if work is None or not _belongs(work, entry):
            with suppress(OSError):
                entry.unlink()
            continue
        with suppress(TextspectraError), lock(work):
            n_folders, n_bytes = n_folders + 1, n_bytes + size_of(work)
            remove_work(work)
    return n_folders, n_bytes


def _belongs(work: Path, entry: Path) -> bool:
    """Return whether a folder is the work folder that an entry was made for."""
    is_named_so = work.is_absolute() and work.name.startswith(".") and work.name.endswith(SUFFIX)
    with suppress(OSError, ValueError):
        return is_named_so and work.is_dir() and not work.is_symlink() and _entry(work) == entry
    return False


def _entry(work: Path) -> Path:
    return cache_folder() / "work" / Path((work / MARK).read_text(encoding="utf-8")).name


def _register(work: Path) -> None:
    mark = work / MARK
    with suppress(OSError):  # without an entry, only `cache --clear work` does not find the folder
        if not mark.exists():
            mark.write_text(secrets.token_hex(16), encoding="utf-8")
        entry = _entry(work)
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(str(work), encoding="utf-8")


def _forget_others(job: Job, files: Sequence[File]) -> None:
    """Remove what belongs to other files, to another model or to no finished step."""
    kept = tuple(job.embedded("", file).name for file in files)
    for path in job.work.iterdir():
        is_step = path.suffix == ".npy" or path.name.endswith("-done.json") or path.name.startswith(".textspectra-")
        if is_step and not path.name.startswith(kept):
            path.unlink(missing_ok=True)


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder have."""
    with suppress(OSError):  # files that come and go
        return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    return 0


def in_bytes(n_bytes: float) -> str:
    """Return a size in the unit that a person would choose."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
