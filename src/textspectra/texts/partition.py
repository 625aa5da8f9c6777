"""One file of many: embed it, sample it, count it, write it; any process can do that, in any order."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..core.rows import cosines_to_centers, unit_rows
from ..embedding.base import Backend
from ..embedding.hub import no_downloads
from ..embedding.registry import load_model
from ..errors import ExternalError, NoRowsError, TextspectraError
from ..files import replacing_file
from ..parallel import use_jobs
from ..tables.columns import ClusterColumns, TextTable, column_values
from ..tables.dates import Problem, Reading, Survey, check_dates, survey
from ..tables.parquet import list_column
from ..tables.source import TableFormat, open_file
from ..tables.write import name_parts, output_format, write_labeled
from .corpus import Corpus, Scalar, Totals, embed_corpus
from .details import Wanted, read_details
from .history import content_digest
from .tally import Part


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
    forbids workers to download the model. With `half`, vectors wait in half precision.
    """

    work: Path
    read: Callable[[str], TextTable]
    model: str
    settings: str
    offline: bool
    embeddings: str | None
    cache: bool
    half: bool
    keep_all: bool
    wanted: Wanted
    truth: str | None
    table_format: TableFormat | None
    spreadsheet_safe: bool

    @property
    def dtype(self) -> type[np.float16 | np.float32]:
        """The type of the stored vectors."""
        return np.float16 if self.half else np.float32

    def path(self, what: str, file: File | None = None) -> Path:
        """Return where an array of a file, or of all files, waits."""
        return self.work / (f"{what}.npy" if file is None else f"{what}-{file.number:05d}.npy")

    def load(self, what: str, file: File | None = None, *, mapped: bool = False) -> NDArray[np.generic]:
        """Read such an array, or map it into memory."""
        array: NDArray[np.generic] = np.load(self.path(what, file), mmap_mode="r" if mapped else None)
        return array

    def save(self, what: str, file: File | None, array: NDArray[np.generic]) -> None:
        """Write such an array; the file is complete or missing, even if two workers have the same task."""
        with replacing_file(self.path(what, file)) as temporary, temporary.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)

    def table(self, file: File) -> TextTable:
        """Read a file, which must be the one that the run began with."""
        with named_in_errors(file.path):
            table = self.read(file.path)
        if _state(file.path) != file.state:
            raise ExternalError(f"'{file.path}' has changed since the run began. Run it again.")
        return table

    def corpus(self, table: TextTable) -> Corpus:
        """Return the texts of a table."""
        return Corpus.from_texts(table.texts(), keep_all=self.keep_all)


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

    rows: int
    blank: int  # rows without text
    usable: int  # distinct texts that the model could represent
    dimension: int  # length of a vector
    name: str  # of the output table
    without_content: dict[str, int]  # texts that say nothing, with their numbers of rows
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


def embed_partition(job: Job, file: File) -> Embedded | None:
    """Give the distinct texts of a file vectors; None if it has no rows."""
    try:
        table = job.table(file)
    except NoRowsError:
        return None
    with named_in_errors(file.path):
        output = "".join(name_parts(file.path, table, job.table_format))
        output_format(Path(output), table, job.table_format)  # an output that does not fit is reported before any work
        corpus = job.corpus(table)
        given = None if job.embeddings is None else list_column(table.table, job.embeddings)
        encoder = None if given is not None else _encoder(job.model, job.settings, job.offline)
        texts = embed_corpus(corpus, encoder, given, cache=job.cache)
        # A row that cannot be used is reported here, where its file is known.
        units = unit_rows(texts.vectors, first_row=corpus.first_rows[texts.counting])
    vectors = (units if job.half else texts.vectors).astype(job.dtype)
    digests = b"".join(_digest(text) for text in corpus.distinct)
    job.save("codes", file, corpus.codes.astype(np.int32))
    job.save("counts", file, corpus.counts.astype(np.int32))
    job.save("digests", file, np.frombuffer(digests, np.uint8).reshape(-1, 16))
    job.save("usable", file, texts.counting.astype(np.int32))
    job.save("vectors", file, vectors)
    without_content = corpus.without_content()
    blank = int((corpus.codes < 0).sum()) - without_content.total()
    notes = [note.replace(file.path, Path(file.path).name) for note in table.notes]
    digest = content_digest(table.table)
    return Embedded(len(corpus.rows), blank, len(vectors), vectors.shape[1], output, without_content, notes, digest)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class DistinctTexts(NamedTuple):
    """The texts of all files that count, each once, in the order of their first occurrence."""

    counts: NDArray[np.intp]  # how many rows of all files have each of them
    starts: NDArray[np.intp]  # file i is the first to have the texts from starts[i] to starts[i + 1]
    totals: Totals


def find_distinct(job: Job, files: Sequence[File], embedded: Sequence[Embedded]) -> DistinctTexts:
    """Find the distinct texts of all files, and leave for each file what it needs to know.

    That is `new`, the positions among its usable texts of those that no earlier file has, and `rows`, the position of
    each of its texts among all that count (-1 for a text that does not).
    """
    digests, counts, usable = [], [], []
    for file in files:
        digests.append(job.load("digests", file))
        counts.append(job.load("counts", file))
        usable.append(np.isin(np.arange(len(counts[-1])), job.load("usable", file)))
    codes, first = _encode(np.concatenate(digests))
    # A text counts if the file that has it first could represent it.
    counting = np.concatenate(usable)[first]
    positions = np.where(counting, np.cumsum(counting) - 1, -1)
    ends = np.cumsum([0, *map(len, counts)])
    starts = [0]
    for file, of_file, (low, high) in zip(files, usable, pairwise(ends), strict=True):
        new = np.isin(np.arange(low, high), first)[of_file]
        job.save("new", file, np.flatnonzero(new).astype(np.int32))
        job.save("rows", file, positions[codes[low:high]].astype(np.int32))
        starts.append(starts[-1] + int(new.sum()))
    all_counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)
    rows, blank = sum(part.rows for part in embedded), sum(part.blank for part in embedded)
    without_content = sum(sum(part.without_content.values()) for part in embedded)
    unknown = rows - blank - without_content - int(all_counts[counting].sum())
    totals = Totals(rows, int(counting.sum()), blank, unknown, without_content)
    return DistinctTexts(all_counts[counting], np.array(starts), totals)


def _encode(digests: NDArray[np.generic]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a number for each digest, in the order of first appearance, and where each number appears first."""
    buffer = pa.py_buffer(np.ascontiguousarray(digests))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(digests), [None, buffer])
    codes = array.dictionary_encode().indices.to_numpy().astype(np.intp)
    highest = np.maximum.accumulate(np.append(-1, codes))
    return codes, np.flatnonzero(codes > highest[:-1])


def load_new_vectors(job: Job, file: File) -> NDArray[np.generic]:
    """Return the vectors of the texts that no earlier file has; a memory map if that is all of them."""
    vectors, new = job.load("vectors", file, mapped=True), job.load("new", file)
    return vectors if len(new) == len(vectors) else vectors[new]


def save_clusters(job: Job, file: File, labels: NDArray[np.intp], *, centers: NDArray[np.float32]) -> None:
    """Keep the clusters of the texts that no earlier file has, and their similarity to the center."""
    job.save("labels", file, labels.astype(np.int32))
    with use_jobs(1):
        job.save("similarity", file, cosines_to_centers(load_new_vectors(job, file), labels, centers))


def survey_partition(job: Job, file: File) -> Survey:
    """Check that a file has the wanted columns, and look at how its dates are written."""
    try:
        table = job.table(file).table
    except NoRowsError:
        return Survey()
    with named_in_errors(file.path):
        job.wanted.check_columns(table)
        dates = Survey() if job.wanted.time is None else survey(table.column(job.wanted.time))
        if job.wanted.time is not None and dates.filled:
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


def sample_partition(
    job: Job, file: File, chosen: NDArray[np.intp], *, reading: Reading, n_clusters: int
) -> Sampled | None:
    """Return texts that no earlier file has, with what their first rows say, and count all rows by day and segment.

    Texts are chosen by their positions among these texts. None if there is nothing to return.
    """
    counted = job.wanted._replace(show=())
    if not (len(chosen) or counted.time or counted.by):
        return None
    table = job.table(file)
    corpus = job.corpus(table)
    positions = job.load("usable", file)[job.load("new", file)[chosen]]
    rows = corpus.first_rows[positions]
    classes: list[object] = []
    if job.truth:
        truth = column_values(table.table, job.truth)
        classes = [truth[row] for row in rows]
    columns = read_details(table.table.take(rows), Wanted(show=job.wanted.show), None).details.shown
    details, missing, problems = read_details(table.table, counted, reading, Path(file.path).name)
    return Sampled(
        [corpus.distinct[position] for position in positions],
        np.asarray(load_new_vectors(job, file)[chosen], np.float32),
        classes,
        list(columns.values()),
        Part.of(details, _spread(job, file, "labels", np.intp(-1)), n_clusters),
        missing,
        problems,
    )


def _spread(job: Job, file: File, what: str, otherwise: Scalar) -> NDArray[Scalar]:
    """Return a value for each row of a file, from the values of all texts that count."""
    positions = np.append(job.load("rows", file), -1)[job.load("codes", file)]
    values = job.load(what, mapped=True)
    spread = np.full(len(positions), otherwise)
    spread[positions >= 0] = values[positions[positions >= 0]]
    return spread


def write_partition(job: Job, file: File, target: Path, *, clusters: ClusterColumns) -> None:
    """Write the table of a file again, with the columns cluster, cluster_name and similarity."""
    table = job.table(file)
    labels = _spread(job, file, "labels", np.intp(-1))
    similarity = _spread(job, file, "similarity", np.float32(0))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_labeled(
        table, clusters.columns(labels, similarity), target, chosen=job.table_format,
        clusters=clusters.count(labels), spreadsheet_safe=job.spreadsheet_safe, overwrite=True,
    )  # fmt: skip
