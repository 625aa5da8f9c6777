"""The files of a run: how each is embedded, sampled, counted and written, and by which processes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from ..core import Rows
from ..core.rows import unit_rows
from ..embedding.base import Backend
from ..embedding.hub import no_downloads
from ..embedding.registry import load_model
from ..errors import ExternalError, NoRowsError, TextspectraError, require
from ..files import replacing_file
from ..tables.columns import ClusterColumns, TextTable, column_values
from ..tables.dates import Problem, Reading, Survey, check_dates, survey
from ..tables.parquet import list_column
from ..tables.source import TableFormat, open_file
from ..tables.write import ADDED, name_parts, output_format, write_labeled
from .corpus import Corpus, Scalar, Totals, embed_corpus
from .details import Wanted, read_details
from .history import content_digest
from .tally import Part

# How long the scheduler may take to answer, and workers of this machine to be replaced if they die, and to end.
# Dask's 15 seconds for a replacement are too few on a busy machine.
CONNECT_SECONDS, RESTART_SECONDS, CLOSE_SECONDS = 20, 300, 20
OPEN_FILES = 64  # memory maps that are open at a time; each takes one of the files that a process may open

Output = TypeVar("Output")


class File(NamedTuple):
    """A file of the input: its position among them, its path, and its size and time when the run began."""

    number: int
    path: str
    state: tuple[int, int]

    @staticmethod
    def at(number: int, path: str) -> File:
        """Describe a file as it is now."""
        return File(number, str(Path(path).absolute()), _state(path))


def _state(path: str) -> tuple[int, int]:
    with open_file(Path(path)) as file:
        status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Job:
    """What a run does to every file, and the folder for vectors and labels, which is removed at the end.

    `settings` identify the model: a worker that has another model under the same name must not go on. `offline`
    forbids workers to download the model. `dtype` is the type of the stored vectors.
    """

    work: Path
    read: Callable[[str], TextTable]
    model: str
    settings: str
    offline: bool
    embeddings: str | None
    cache: bool
    dtype: type[np.float16 | np.float32]
    keep_all: bool
    wanted: Wanted
    truth: str | None
    table_format: TableFormat | None
    spreadsheet_safe: bool
    add_map: bool
    ignore: tuple[str, ...] = ()

    def load(self, what: str, file: File | None = None, *, mapped: bool = False) -> NDArray[np.generic]:
        """Read an array of a file, or of all files, or map it into memory."""
        array: NDArray[np.generic] = np.load(self._path(what, file), mmap_mode="r" if mapped else None)
        return array

    def save(self, what: str, file: File | None, array: NDArray[np.generic]) -> None:
        """Write such an array; the file is complete or missing, even if two workers have the same task."""
        with replacing_file(self._path(what, file)) as temporary, temporary.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)

    def _path(self, what: str, file: File | None) -> Path:
        return self.work / (f"{what}.npy" if file is None else f"{what}-{file.number:05d}.npy")

    def table(self, file: File) -> TextTable:
        """Read a file, which must be the one that the run began with."""
        with named_in_errors(file.path):
            table = self.read(file.path)
        if _state(file.path) != file.state:
            raise ExternalError(f"'{file.path}' has changed since the run began. Run it again.")
        return table

    def corpus(self, table: TextTable) -> Corpus:
        """Return the texts of a table."""
        return Corpus.from_texts(table.texts(), keep_all=self.keep_all, ignore=self.ignore)


@contextmanager
def named_in_errors(path: str) -> Iterator[None]:
    """Name the file in the message of an expected error."""
    try:
        yield
    except TextspectraError as error:
        if path in str(error):
            raise
        raise type(error)(f"'{path}': {error}") from None


class Embedded(NamedTuple):
    """The facts about a file once its texts have vectors."""

    totals: Totals
    dimension: int  # length of a vector
    name: str  # of the output table
    without_content: dict[str, int]  # texts that say nothing, with their numbers of rows
    emptied: dict[str, int]  # those of them that say something in words to ignore
    unmatched: tuple[str, ...]  # patterns of words to ignore that no text has
    notes: list[str]  # on how it was read
    digest: str  # of its content


@lru_cache(maxsize=1)
def _encoder(name: str, settings: str, offline: bool) -> Backend:
    # Loading a model takes longer than most files do, so a worker does it once.
    with no_downloads(offline):
        encoder = load_model(name)
    if settings_of(encoder) != settings:
        raise ExternalError(f"The model {name} on a worker is not the one of the process that started the run.")
    return encoder


def settings_of(encoder: Backend) -> str:
    """Return what the vectors of a model depend on, as JSON."""
    return json.dumps(dict(encoder.settings), sort_keys=True)


def embed_file(job: Job, file: File) -> Embedded | None:
    """Give the distinct texts of a file vectors; None if it has no rows."""
    try:
        table = job.table(file)
    except NoRowsError:
        return None
    with named_in_errors(file.path):
        output = "".join(name_parts(file.path, table, job.table_format))
        # An output that does not fit is reported before any work.
        output_format(Path(output), table, job.table_format, ADDED + 2 * job.add_map)
        corpus = job.corpus(table)
        given = None if job.embeddings is None else list_column(table.table, job.embeddings)
        encoder = None if given is not None else _encoder(job.model, job.settings, job.offline)
        texts = embed_corpus(corpus, encoder, given, cache=job.cache)
        # A row that cannot be used is reported here, where its file is known.
        units = unit_rows(texts.vectors, first_row=corpus.first_rows[texts.counting])
    vectors = (units if job.dtype is np.float16 else texts.vectors).astype(job.dtype)
    texts_as_bytes = (text.encode("utf-8", "surrogatepass") for text in corpus.distinct)
    digests = b"".join(hashlib.blake2b(text, digest_size=16).digest() for text in texts_as_bytes)
    job.save("codes", file, corpus.codes.astype(np.int32))
    job.save("counts", file, corpus.counts.astype(np.int32))
    job.save("digests", file, np.frombuffer(digests, np.uint8).reshape(-1, 16))
    job.save("usable", file, texts.counting.astype(np.int32))
    job.save("vectors", file, vectors)
    notes = [note.replace(file.path, Path(file.path).name) for note in table.notes]
    digest, without_content = content_digest(table.table), corpus.without_content()
    return Embedded(
        texts.totals, vectors.shape[1], output, without_content, corpus.emptied(), corpus.unmatched, notes, digest
    )


class DistinctTexts(NamedTuple):
    """The texts of all files that count, each once, in the order of their first occurrence."""

    counts: NDArray[np.intp]  # how many rows of all files have each of them
    starts: NDArray[np.intp]  # file i is the first to have the texts from starts[i] to starts[i + 1]
    totals: Totals


def find_distinct(job: Job, parts: Mapping[File, Embedded]) -> DistinctTexts:
    """Find the distinct texts of all files, and leave for each file what it needs to know.

    That is `new`, the positions among its usable texts of those that no earlier file has, and `rows`, the position of
    each of its texts among all that count (-1 for a text that does not).
    """
    digests, counts, usable = [], [], []
    for file in parts:
        digests.append(job.load("digests", file))
        counts.append(job.load("counts", file))
        usable.append(np.isin(np.arange(len(counts[-1])), job.load("usable", file)))
    buffer = pa.py_buffer(np.concatenate(digests))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), sum(map(len, counts)), [None, buffer])
    # Codes are given in the order of first appearance, so a text that is new has a higher code than all before it.
    codes = array.dictionary_encode().indices.to_numpy().astype(np.intp)
    is_new = codes > np.maximum.accumulate(np.append(-1, codes))[:-1]
    # A text counts if the file that has it first could represent it.
    counting = np.concatenate(usable)[is_new]
    positions = np.where(counting, np.cumsum(counting) - 1, -1)
    starts = [0]
    for file, of_file, (low, high) in zip(parts, usable, pairwise(np.cumsum([0, *map(len, counts)])), strict=True):
        new = np.flatnonzero(is_new[low:high][of_file])
        job.save("new", file, new.astype(np.int32))
        job.save("rows", file, positions[codes[low:high]].astype(np.int32))
        starts.append(starts[-1] + len(new))
    all_counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)[counting]
    summed = Totals(*map(sum, zip(*(part.totals for part in parts.values()), strict=True)))
    unknown = summed.rows - summed.blank - summed.without_content - int(all_counts.sum())
    totals = summed._replace(distinct=len(all_counts), unknown=unknown)
    return DistinctTexts(all_counts, np.array(starts), totals)


def load_new_vectors(job: Job, file: File) -> NDArray[np.generic]:
    """Return the vectors of the texts that no earlier file has; a memory map if that is all of them."""
    vectors, new = job.load("vectors", file, mapped=True), job.load("new", file)
    return vectors if len(new) == len(vectors) else vectors[new]


def survey_file(job: Job, file: File) -> Survey:
    """Check that a file has the wanted columns, and look at how its dates are written."""
    dates = Survey()
    with suppress(NoRowsError):
        table = job.table(file).table
        with named_in_errors(file.path):
            job.wanted.check_columns(table)
            if job.wanted.time is not None:
                dates = survey(table.column(job.wanted.time))
                if dates.filled:
                    check_dates(table, job.wanted.time, dates)
    return dates


class Sampled(NamedTuple):
    """Texts of a file with their vectors, classes and shown columns, and the counts of all of its rows."""

    texts: list[str]
    vectors: NDArray[np.float32]
    classes: list[object]
    shown: list[list[str]]
    counts: Part
    missing: int  # dates
    problems: dict[str, Problem]  # with dates


def sample_file(job: Job, file: File, chosen: NDArray[np.intp], *, reading: Reading, n_clusters: int) -> Sampled | None:
    """Return texts that no earlier file has, with what their first rows say, and count all rows by day and segment.

    Texts are chosen by their positions among these texts. None if there is nothing to return.
    """
    counted = job.wanted._replace(show=())
    if not (len(chosen) or counted.names):
        return None
    table = job.table(file)
    corpus = job.corpus(table)
    positions = job.load("usable", file)[job.load("new", file)[chosen]]
    rows = corpus.first_rows[positions]
    truth = column_values(table.table, job.truth) if job.truth else []
    columns = read_details(table.table.take(rows), Wanted(show=job.wanted.show), None)[0].shown
    details, missing, problems = read_details(table.table, counted, reading, Path(file.path).name)
    return Sampled(
        [corpus.distinct[position] for position in positions],
        np.asarray(load_new_vectors(job, file)[chosen], np.float32),
        [truth[row] for row in rows if job.truth],
        list(columns.values()),
        Part.of(details, _spread(job, file, "labels", np.intp(-1)), n_clusters),
        missing,
        problems,
    )


def _spread(job: Job, file: File, what: str, otherwise: Scalar) -> NDArray[Scalar]:
    """Return a value for each row of a file, from the values of all texts that count."""
    positions = np.append(job.load("rows", file), -1)[job.load("codes", file)]
    values = job.load(what, mapped=True)
    spread = np.full((len(positions), *values.shape[1:]), otherwise)
    spread[positions >= 0] = values[positions[positions >= 0]]
    return spread


def write_file(job: Job, file: File, target: Path, *, clusters: ClusterColumns) -> None:
    """Write the table of a file again, with the columns of the clustering."""
    table = job.table(file)
    labels = _spread(job, file, "labels", np.intp(-1))
    similarity = _spread(job, file, "similarity", np.float32(0))
    points = _spread(job, file, "map", np.float32(np.nan)) if job.add_map else None
    target.parent.mkdir(parents=True, exist_ok=True)
    write_labeled(
        table, clusters.columns(labels, similarity, points), target, chosen=job.table_format,
        clusters=clusters.count(labels), spreadsheet_safe=job.spreadsheet_safe, overwrite=True,
    )  # fmt: skip


class JoinedRows:
    """The vectors of all files as one array for the functions that read rows; they stay in their files."""

    def __init__(self, job: Job, sizes: Mapping[File, int], dimension: int) -> None:
        self.dtype, self.ndim = np.dtype(job.dtype), 2
        self.shape = (sum(sizes.values()), dimension)
        self._starts = np.cumsum([0, *sizes.values()])
        self._positions = [job.load("new", file) for file in sizes]
        files = list(sizes)
        self._open = lru_cache(OPEN_FILES)(lambda part: job.load("vectors", files[part], mapped=True))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> NDArray[np.floating]:
        """Return the rows of a slice, or those at the given positions."""
        rows = np.arange(*chosen.indices(len(self))) if isinstance(chosen, slice) else np.asarray(chosen)
        vectors = np.empty((len(rows), self.shape[1]), self.dtype)
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        for part in np.unique(parts).tolist():
            here = parts == part
            vectors[here] = self._open(part)[self._positions[part][rows[here] - self._starts[part]]]
        return vectors

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.floating]:
        return self[:].astype(dtype or self.dtype, copy=False)


class Workers(NamedTuple):
    """Who does the work: this process, one file after the other, or the workers of the active Dask client."""

    on_dask: bool

    @staticmethod
    @contextmanager
    def at(scheduler: str | None) -> Iterator[Workers]:
        """Connect to a scheduler, start one for "local", or work here without one."""
        if scheduler is None:
            yield Workers(on_dask=False)
            return
        distributed = require("distributed", extra="dask")
        from ..core.dask_blocks import check_workers

        with _local_client(distributed) if scheduler == "local" else _client_of(distributed, scheduler):
            check_workers()
            yield Workers(on_dask=True)

    def each(
        self, function: Callable[..., Output], tasks: Sequence[tuple[object, ...]],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Output]:  # fmt: skip
        """Call ``function(*task)`` for every task."""
        if self.on_dask:
            from ..core.dask_blocks import call_each

            return call_each(function, tasks, progress)
        results = []
        for done, task in enumerate(tasks):
            if progress is not None:
                progress(done, len(tasks))
            results.append(function(*task))
        return results

    def rows(self, job: Job, sizes: Mapping[File, int], dimension: int) -> Rows:
        """Return the vectors of the texts that each file is the first to have, given with their number."""
        if not self.on_dask:
            return JoinedRows(job, sizes, dimension)
        import dask.array as da
        from dask.delayed import delayed

        load = delayed(load_new_vectors, pure=False)
        chunks = [da.from_delayed(load(job, file), (size, dimension), dtype=job.dtype) for file, size in sizes.items()]
        joined: Rows = da.concatenate(chunks)
        return joined


def _client_of(distributed: ModuleType, scheduler: str) -> AbstractContextManager[object]:
    try:
        client: AbstractContextManager[object] = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise ExternalError(
            f"No Dask scheduler answers at {scheduler} ({error}). Give its address, such as tcp://host:8786, or "
            "local for workers on this machine."
        ) from None
    return client


@contextmanager
def _local_client(distributed: ModuleType) -> Iterator[None]:
    import dask

    try:
        # What Dask logs of a worker that died is not news: the work goes to others, or an error ends the run.
        cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
    except (RuntimeError, OSError) as error:  # such as a worker that is killed before it is there
        raise ExternalError(
            f"The Dask workers of this machine could not be started ({error}). Run it again."
        ) from error
    settings = {"distributed.deploy.lost-worker-timeout": RESTART_SECONDS}
    try:
        with dask.config.set(settings), distributed.Client(cluster):
            yield
    finally:
        with suppress(TimeoutError):  # the results are there, and workers end with this process in any case
            cluster.close(timeout=CLOSE_SECONDS)
