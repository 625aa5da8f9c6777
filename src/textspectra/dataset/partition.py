"""What is done with one file of a data set, wherever that is; every step leaves a file, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..embedding import Backend, embed_texts, load_backend
from ..errors import NoRowsError, UserError
from ..io import TableFormat, TextTable, cluster_columns, list_column, read_table, with_columns, write_table
from ..io.writing import replacing
from ..rows import cosines_to_centers, nonzero_rows


@dataclass(frozen=True)
class Job:
    """What a run does to every file, and where it keeps what is finished."""

    files: tuple[str, ...]
    work: Path
    text_column: str
    encoding: str | None
    model: str
    embeddings: str | None
    cache: bool
    seed: int

    def path(self, what: str, number: int, suffix: str = ".npy") -> Path:
        """Return where a step keeps what it made of a file."""
        return self.work / f"{what}-{number:05d}{suffix}"

    def output(self, number: int) -> Path:
        """Return where a file is written with its new columns, until all of them are."""
        return self.path("table/part", number, ".parquet")


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
def _backend(name: str) -> Backend:
    # Loading a model takes longer than most partitions do; a worker does it once.
    return load_backend(name)


def embed_partition(job: Job, number: int) -> Embedded:
    """Give the texts of a file vectors, unless that was done before."""
    done = job.path("embedded", number, ".json")
    if done.exists():
        return Embedded(**json.loads(done.read_text()))
    try:
        found = _embed(job, number)
    except NoRowsError:
        found = Embedded(0, 0, 0, 0)
    with replacing(done) as stream:
        stream.write(json.dumps(found._asdict()).encode())
    return found


def _embed(job: Job, number: int) -> Embedded:
    table = _read(job, number)
    texts = table.texts()
    if job.embeddings is None:
        vectors: NDArray[Any] = embed_texts(texts, _backend(job.model), cache=job.cache)
    else:
        vectors = list_column(table.table, job.embeddings)
    written = np.array([bool(text.strip()) for text in texts])
    usable = np.flatnonzero(written & nonzero_rows(vectors))
    save_array(job.path("usable", number), usable)
    save_array(job.path("vectors", number), np.asarray(vectors[usable], np.float32))
    return Embedded(len(texts), int((~written).sum()), len(usable), vectors.shape[1])


def load_vectors(job: Job, number: int) -> NDArray[np.float32]:
    """Return the vectors of a file as a memory map."""
    vectors: NDArray[np.float32] = np.load(job.path("vectors", number), mmap_mode="r")
    return vectors


def save_labels(job: Job, number: int, labels: NDArray[np.intp]) -> None:
    """Keep the clusters of the rows of a file that have one; what was written of others is no longer true."""
    path = job.path("labels", number)
    if path.exists() and np.array_equal(np.load(path), labels):
        return
    job.output(number).unlink(missing_ok=True)
    save_array(path, labels)


def sample_partition(job: Job, number: int, share: NDArray[np.float64]) -> Sampled:
    """Draw a share of the rows of each cluster; which ones depends on the seed and the file's number alone."""
    labels = np.load(job.path("labels", number))
    order = np.random.default_rng([job.seed, number]).random(len(labels)) / share[labels]
    chosen = np.flatnonzero(order < 1)
    texts = _read(job, number).texts()
    usable = np.load(job.path("usable", number))
    vectors = np.array(load_vectors(job, number)[chosen])
    return Sampled(order[chosen], labels[chosen], [texts[row] for row in usable[chosen]], vectors)


def write_partition(job: Job, number: int, names: list[str], centers: NDArray[np.float32]) -> None:
    """Write a file again, with the columns cluster, cluster_name and similarity."""
    target = job.output(number)
    if target.exists():
        return
    table = _read(job, number)
    usable, labels = np.load(job.path("usable", number)), np.load(job.path("labels", number))
    cosines = cosines_to_centers(load_vectors(job, number), labels, centers, n_jobs=1)
    n = len(table.table)
    cluster, similarity = np.full(n, -1), np.zeros(n)
    cluster[usable], similarity[usable] = labels, cosines
    labelled, _ = with_columns(table.table, cluster_columns(cluster, names, similarity))
    write_table(labelled, target, format=TableFormat.PARQUET, overwrite=True)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; the file is complete or not there."""
    with replacing(path) as stream:
        np.save(stream, array, allow_pickle=False)


def _read(job: Job, number: int) -> TextTable:
    file = job.files[number]
    try:
        return read_table(file, text_column=job.text_column, encoding=job.encoding)
    except UserError as error:
        if file in str(error):
            raise
        raise UserError(f"'{file}': {error}") from None
