"""What is done with one file of many, by whichever process; every step leaves a complete file or none."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..core.rows import cosines_to_centers, unit_rows
from ..embedding.base import Backend
from ..embedding.hub import no_downloads
from ..embedding.registry import load_model
from ..errors import ExternalError, NoRowsError, TextspectraError
from ..files import replacing_file
from ..tables.columns import ClusterColumns, TextTable, column_values
from ..tables.dates import Problem, Reading, Survey, check_dates, survey
from ..tables.parquet import list_column
from ..tables.read import read_table
from ..tables.source import TableFormat, open_file
from ..tables.write import name_parts, output_format, write_labeled
from .corpus import Corpus, Totals, embed_corpus
from .details import Wanted, read_details
from .history import content_digest
from .tally import Part

WORK_FORMAT = 3
"""What is left of a run of another format is not used."""


class File(NamedTuple):
    """A file of the input: its position among them, its path, and its size and time when the run began."""

    number: int
    path: str
    state: tuple[int, int]

    @staticmethod
    def at(number: int, path: str) -> File:
        """Describe a file as it is now."""
        return File(number, str(Path(path).absolute()), _state(path))


@dataclass(frozen=True)
class Job:
    """What a run does to every file, and the folder where it keeps what is finished.

    `settings` are those of the model, as JSON; a worker that has another model under the same name must not go on.
    `offline` forbids workers to download the model. With `half`, vectors wait in half precision.
    """

    work: Path
    text_column: str
    encoding: str | None
    model: str
    settings: str
    offline: bool
    embeddings: str | None
    cache: bool
    truth: str | None
    spreadsheet_safe: bool
    sheet: str | None = None
    table_format: TableFormat | None = None
    wanted: Wanted = field(default=Wanted())
    half: bool = False
    keep_all: bool = False
    header_row: int | None = None

    def embedded(self, what: str, file: File) -> Path:
        """Return where something about the vectors of a file is kept, as long as neither it nor the model changes."""
        reading = [self.text_column, self.encoding, self.sheet, self.table_format, self.keep_all, self.header_row]
        decisive = [WORK_FORMAT, self.half, *file[1:], *reading, self.embeddings or [self.model, self.settings]]
        return self.work / f"{hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:24]}-{what}"

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Return the type in which vectors wait on the disk."""
        return np.float16 if self.half else np.float32

    def grouped(self, what: str, file: File | None = None) -> Path:
        """Return where something about the groups of a file, or of all files, is kept during a run."""
        return self.work / (f"{what}.npy" if file is None else f"{what}-{file.number:05d}.npy")

    @property
    def tables(self) -> Path:
        """Return the folder in which the output tables wait until all of them are complete."""
        return self.work / "tables"


class Embedded(NamedTuple):
    """What is known of a file once its texts have vectors."""

    rows: int
    blank: int  # rows without text
    usable: int  # distinct texts that the model could represent
    dimension: int  # length of a vector
    name: str  # of the output table
    without_content: dict[str, int]  # texts that say nothing, with their numbers of rows
    notes: list[str]  # on how it was read
    digest: str = ""  # of its content


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


def embed_partition(job: Job, file: File) -> Embedded:
    """Give the distinct texts of a file vectors, unless that was done before."""
    done = job.embedded("done.json", file)
    if done.exists():
        return Embedded(**json.loads(done.read_text()))
    try:
        found = _embed(job, file)
    except NoRowsError:
        found = Embedded(0, 0, 0, 0, "", {}, [])
    with replacing_file(done) as temporary:
        temporary.write_text(json.dumps(found._asdict()))
    return found


def _embed(job: Job, file: File) -> Embedded:
    with named_in_errors(file.path):
        table = _read(job, file)
        output = "".join(name_parts(file.path, table, job.table_format))
        output_format(Path(output), table, job.table_format)  # an output that does not fit is reported before any work
        corpus = Corpus.from_texts(table.texts(), keep_all=job.keep_all)
        given = None if job.embeddings is None else list_column(table.table, job.embeddings)
        encoder = None if given is not None else _encoder(job.model, job.settings, job.offline)
        texts = embed_corpus(corpus, encoder, given, cache=job.cache)
        # A row that cannot be used is reported here, where its file is known.
        units = unit_rows(texts.vectors, first_row=corpus.first_rows[texts.counting])
        vectors = (units if job.half else texts.vectors).astype(job.dtype)
    arrays: dict[str, NDArray[Any]] = {
        "codes": corpus.codes.astype(np.int32), "counts": corpus.counts.astype(np.int32),
        "digests": _digests(corpus.distinct), "usable": texts.counting.astype(np.int32), "vectors": vectors,
    }  # fmt: skip
    for name, array in arrays.items():
        save_array(job.embedded(f"{name}.npy", file), array)
    without_content = corpus.without_content()
    notes = [note.replace(file.path, Path(file.path).name) for note in table.notes]
    blank, digest = int((corpus.codes < 0).sum()) - without_content.total(), content_digest(table.table)
    return Embedded(len(corpus.rows), blank, len(vectors), vectors.shape[1], output, without_content, notes, digest)


def _digests(texts: list[str]) -> NDArray[np.uint8]:
    digests = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)


def load_own_vectors(job: Job, file: File) -> NDArray[np.floating[Any]]:
    """Return the vectors of the texts that occur in this file first; a memory map if that is all of them."""
    vectors: NDArray[np.floating[Any]] = np.load(job.embedded("vectors.npy", file), mmap_mode="r")
    own = np.load(job.grouped("own", file))
    return vectors if len(own) == len(vectors) else vectors[own]


def save_clusters(job: Job, file: File, labels: NDArray[np.intp], *, centers: NDArray[np.float32]) -> None:
    """Keep the clusters of the texts that occur in this file first, and their similarity to the center."""
    save_array(job.grouped("labels", file), labels.astype(np.int32))
    similarity = cosines_to_centers(load_own_vectors(job, file), labels, centers, n_jobs=1)
    save_array(job.grouped("similarity", file), similarity)


class Sampled(NamedTuple):
    """Some texts of a file with their vectors, their true classes if there are some, and their shown columns."""

    texts: list[str]
    vectors: NDArray[np.float32]
    classes: list[Any]
    shown: list[list[str]]


def sample_partition(job: Job, file: File, chosen: NDArray[np.intp]) -> Sampled:
    """Return some of the texts that occur in this file first, with what the first row of each of them says.

    They are chosen by their positions among these texts.
    """
    table = _read(job, file)
    corpus = Corpus.from_texts(table.texts(), keep_all=job.keep_all)
    positions = np.load(job.embedded("usable.npy", file))[np.load(job.grouped("own", file))[chosen]]
    texts = [corpus.distinct[position] for position in positions]
    rows = corpus.first_rows[positions]
    classes = []
    if job.truth:
        truth = column_values(table.table, job.truth)
        classes = [truth[row] for row in rows]
    shown = read_details(table.table.take(rows), Wanted(show=job.wanted.show), None).details.shown
    return Sampled(texts, np.asarray(load_own_vectors(job, file)[chosen], np.float32), classes, list(shown.values()))


def survey_partition(job: Job, file: File) -> Survey:
    """Check that a file has the wanted columns, and look at how its dates are written."""
    try:
        table = _read(job, file).table
    except NoRowsError:
        return Survey()
    with named_in_errors(file.path):
        job.wanted.check_columns(table)
        found = Survey() if job.wanted.time is None else survey(table.column(job.wanted.time))
        if job.wanted.time is not None and found.filled:
            check_dates(table, job.wanted.time, found)
    return found


class Counted(NamedTuple):
    """The groups of a file by day and by segment, and what was left out of its dates."""

    part: Part
    missing: int
    problems: dict[str, Problem]


def count_partition(job: Job, file: File, *, reading: Reading, n_clusters: int) -> Counted:
    """Count the groups of a file by day and by segment."""
    wanted = job.wanted._replace(show=())
    details, missing, problems = read_details(_read(job, file).table, wanted, reading, Path(file.path).name)
    return Counted(Part.of(details, _labels_of_rows(job, file)[0], n_clusters), missing, problems)


def _labels_of_rows(job: Job, file: File) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the cluster of each row of a file (-1: none), and the position of its text among all that count."""
    positions = np.append(np.load(job.grouped("rows", file)), -1)[np.load(job.embedded("codes.npy", file))]
    grouped = positions >= 0
    labels = np.full(len(grouped), -1)
    labels[grouped] = np.load(job.grouped("labels"), mmap_mode="r")[positions[grouped]]
    return labels, positions


def write_partition(job: Job, file: File, name: str, *, clusters: ClusterColumns) -> None:
    """Write the table of a file again, with the columns cluster, cluster_name and similarity."""
    target = job.tables / name
    if target.exists():
        return
    table = _read(job, file)
    labels, positions = _labels_of_rows(job, file)
    grouped, similarity = positions >= 0, np.zeros(len(positions))
    similarity[grouped] = np.load(job.grouped("similarity"), mmap_mode="r")[positions[grouped]]
    target.parent.mkdir(parents=True, exist_ok=True)
    write_labeled(
        table, clusters.columns(labels, similarity), target, chosen=job.table_format, clusters=clusters.count(labels),
        spreadsheet_safe=job.spreadsheet_safe,
    )  # fmt: skip


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; the file is complete or not there."""
    with replacing_file(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def _read(job: Job, file: File) -> TextTable:
    with named_in_errors(file.path):
        table = read_table(
            file.path, text_column=job.text_column, encoding=job.encoding, sheet=job.sheet, header_row=job.header_row
        )
    if _state(file.path) != file.state:
        raise ExternalError(f"'{file.path}' has changed since the run began. Run it again.")
    return table


def _state(path: str) -> tuple[int, int]:
    with open_file(Path(path)) as file:
        found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


@contextmanager
def named_in_errors(path: str) -> Iterator[None]:
    """Name the file in the message of an expected error."""
    try:
        yield
    except TextspectraError as error:
        if path in str(error):
            raise
        raise type(error)(f"'{path}': {error}") from None


class DistinctTexts(NamedTuple):
    """The texts of all files that count, each once, in the order in which they occur first."""

    counts: NDArray[np.intp]  # how many rows of all files have each of them
    starts: NDArray[np.intp]  # file i is the first to have the texts from starts[i] to starts[i + 1]
    totals: Totals


def find_distinct(job: Job, files: Sequence[File], found: Sequence[Embedded]) -> DistinctTexts:
    """Find the distinct texts of all files, and leave for each file what it needs to know.

    That is `own`, the positions among its usable texts of those that no earlier file has, and `rows`, the position of
    each of its texts among all that count (-1 for a text that does not).
    """
    digests, counts, usable = [], [], []
    for file in files:
        digests.append(np.load(job.embedded("digests.npy", file)))
        counts.append(np.load(job.embedded("counts.npy", file)))
        usable.append(np.isin(np.arange(len(counts[-1])), np.load(job.embedded("usable.npy", file))))
    codes, first = _encode(np.concatenate(digests))
    # A text counts if the file that has it first could represent it.
    counting = np.concatenate(usable)[first]
    positions = np.where(counting, np.cumsum(counting) - 1, -1)
    ends = np.cumsum([0, *map(len, counts)])
    starts = [0]
    for file, of_file, (low, high) in zip(files, usable, pairwise(ends), strict=True):
        own = np.isin(np.arange(low, high), first)[of_file]
        save_array(job.grouped("own", file), np.flatnonzero(own).astype(np.int32))
        save_array(job.grouped("rows", file), positions[codes[low:high]].astype(np.int32))
        starts.append(starts[-1] + int(own.sum()))
    all_counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)
    rows, blank = (sum(getattr(one, name) for one in found) for name in ("rows", "blank"))
    without_content = sum(sum(one.without_content.values()) for one in found)
    unknown = rows - blank - without_content - int(all_counts[counting].sum())
    totals = Totals(rows, int(counting.sum()), blank, unknown, without_content)
    return DistinctTexts(all_counts[counting], np.array(starts), totals)


def _encode(digests: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a number for each digest, in the order of first appearance, and where each number appears first."""
    buffer = pa.py_buffer(np.ascontiguousarray(digests))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(digests), [None, buffer])
    codes = array.dictionary_encode().indices.to_numpy().astype(np.intp)
    highest = np.maximum.accumulate(np.append(-1, codes))
    return codes, np.flatnonzero(codes > highest[:-1])
