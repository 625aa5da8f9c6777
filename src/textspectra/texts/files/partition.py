"""What is done with one file of a data set, wherever that is; every step leaves a file, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays.rows import cosines_to_centers, nonzero_rows, scaled_rows
from ...embedding import Backend, embed_texts, load_backend
from ...errors import NoRowsError, UserError
from ...io import TableFormat, TextTable, cluster_columns, list_column, read_table, with_columns, write_table
from ...io.writing import replacing


class File(NamedTuple):
    """A file of the data set: its number among them, its path, and its size and time when the run began."""

    number: int
    path: str
    state: tuple[int, int]

    @staticmethod
    def at(number: int, path: str) -> File:
        """Return what a file is now."""
        return File(number, str(Path(path).absolute()), _state(path))


@dataclass(frozen=True)
class Job:
    """What a run does to every file, and where it keeps what is finished.

    `settings` are those of the model, in letters; a worker that has another one under the same name must not go on.
    """

    work: Path
    text_column: str
    encoding: str | None
    model: str
    settings: str
    embeddings: str | None
    cache: bool
    seed: int

    def embedded(self, what: str, file: File) -> Path:
        """Return where something about the vectors of a file is kept, as long as neither it nor the model changes."""
        decisive = [*file[1:], self.text_column, self.encoding, self.embeddings or [self.model, self.settings]]
        return self.work / f"{hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:24]}-{what}"

    def labels(self, file: File) -> Path:
        """Return where the clusters of a file are kept."""
        return self.work / f"labels-{file.number:05d}.npy"

    def output(self, file: File) -> Path:
        """Return where a file is written with its new columns, until all of them are."""
        return self.table / f"part-{file.number:05d}.parquet"

    @property
    def table(self) -> Path:
        """Return the folder of the outputs."""
        return self.work / "table"


class Embedded(NamedTuple):
    """What is known of a file once its texts have vectors."""

    rows: int
    blank: int
    usable: int
    dimension: int


class Sampled(NamedTuple):
    """Some rows of a file: where they stand in a random order of all, their clusters, texts and vectors."""

    order: NDArray[np.float64]
    labels: NDArray[np.intp]
    texts: list[str]
    vectors: NDArray[np.float32]


@lru_cache(maxsize=1)
def _backend(name: str, settings: str) -> Backend:
    # Loading a model takes longer than most partitions do; a worker does it once.
    backend = load_backend(name)
    if settings_of(backend) != settings:
        raise UserError(f"The model {name} of a worker is not the one of the process that it works for.")
    return backend


def settings_of(backend: Backend) -> str:
    """Return what a model's vectors depend on, in letters."""
    return json.dumps(dict(backend.settings), sort_keys=True)


def embed_partition(job: Job, file: File) -> Embedded:
    """Give the texts of a file vectors, unless that was done before."""
    done = job.embedded("done.json", file)
    if done.exists():
        return Embedded(**json.loads(done.read_text()))
    try:
        found = _embed(job, file)
    except NoRowsError:
        found = Embedded(0, 0, 0, 0)
    with replacing(done) as stream:
        stream.write(json.dumps(found._asdict()).encode())
    return found


def _embed(job: Job, file: File) -> Embedded:
    with _named_in_errors(file):
        table = _read(job, file)
        texts = table.texts()
        if job.embeddings is None:
            vectors: NDArray[Any] = embed_texts(texts, _backend(job.model, job.settings), cache=job.cache)
        else:
            vectors = list_column(table.table, job.embeddings)
        written = np.array([bool(text.strip()) for text in texts])
        usable = np.flatnonzero(written & nonzero_rows(vectors))
        kept = np.asarray(vectors[usable], np.float32)
        scaled_rows(kept, first_row=usable)  # a row that cannot be used is told while its file is known
    save_array(job.embedded("usable.npy", file), usable)
    save_array(job.embedded("vectors.npy", file), kept)
    return Embedded(len(texts), int((~written).sum()), len(usable), vectors.shape[1])


def load_vectors(job: Job, file: File) -> NDArray[np.float32]:
    """Return the vectors of a file as a memory map."""
    vectors: NDArray[np.float32] = np.load(job.embedded("vectors.npy", file), mmap_mode="r")
    return vectors


def save_labels(job: Job, file: File, labels: NDArray[np.intp]) -> None:
    """Keep the clusters of the rows of a file that have one; what was written of others is no longer true."""
    path = job.labels(file)
    if path.exists() and np.array_equal(np.load(path), labels):
        return
    job.output(file).unlink(missing_ok=True)
    save_array(path, labels)


def sample_partition(job: Job, file: File, share: NDArray[np.float64]) -> Sampled:
    """Draw a share of the rows of each cluster; which ones depends on the seed and the file's number alone."""
    labels = np.load(job.labels(file))
    order = np.random.default_rng([job.seed, file.number]).random(len(labels)) / share[labels]
    chosen = np.flatnonzero(order < 1)
    texts = _read(job, file).texts()
    usable = np.load(job.embedded("usable.npy", file))
    vectors = np.array(load_vectors(job, file)[chosen])
    return Sampled(order[chosen], labels[chosen], [texts[row] for row in usable[chosen]], vectors)


def write_partition(job: Job, file: File, *, names: list[str], centers: NDArray[np.float32]) -> None:
    """Write a file again, with the columns cluster, cluster_name and similarity."""
    target = job.output(file)
    if target.exists():
        return
    table = _read(job, file)
    usable, labels = np.load(job.embedded("usable.npy", file)), np.load(job.labels(file))
    cosines = cosines_to_centers(load_vectors(job, file), labels, centers, n_jobs=1)
    n = len(table.table)
    cluster, similarity = np.full(n, -1), np.zeros(n)
    cluster[usable], similarity[usable] = labels, cosines
    labelled, _ = with_columns(table.table, cluster_columns(cluster, names, similarity))
    write_table(labelled, target, format=TableFormat.PARQUET, overwrite=True)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; the file is complete or not there."""
    with replacing(path) as stream:
        np.save(stream, array, allow_pickle=False)


def _read(job: Job, file: File) -> TextTable:
    with _named_in_errors(file):
        table = read_table(file.path, text_column=job.text_column, encoding=job.encoding)
    if _state(file.path) != file.state:
        raise UserError(f"'{file.path}' has changed since the run began. Run it again.")
    return table


def _state(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


@contextmanager
def _named_in_errors(file: File) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        if file.path in str(error):
            raise
        raise UserError(f"'{file.path}': {error}") from None
