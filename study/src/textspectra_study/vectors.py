"""The embeddings of a study: made once for each dataset and model, kept in the store, read as memory maps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textspectra import Backend, UserError, embed_texts

from .datasets import Dataset
from .files import make_folder, whole_file
from .results import DatasetFacts


class Source(NamedTuple):
    """Where the vectors of a dataset come from: a model, and vectors of some rows that came with the dataset.

    Attributes
    ----------
    backend : Backend
    ready : ndarray
        Vectors from ``MODEL/FILE.npz`` beside the dataset's file, which holds ``embedding`` and ``row``.
    ready_rows : ndarray of int
        The rows of the dataset that they belong to.
    key : str
        A digest of the texts, the model and the ready vectors.
    """

    backend: Backend
    ready: NDArray[np.float32]
    ready_rows: NDArray[np.intp]
    key: str


def vector_source(dataset: Dataset, facts: DatasetFacts, model: str, backend: Backend) -> Source:
    """Find the vectors that came with a dataset, and compute the key of its source."""
    described = [facts.digest, backend.name, dict(backend.settings)]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    shipped = dataset.file.parent / model / f"{dataset.file.name.partition('.')[0]}.npz" if dataset.file else None
    if shipped is None or not shipped.is_file():
        return Source(backend, np.zeros((0, 0), np.float32), np.zeros(0, np.intp), digest.hexdigest()[:32])
    digest.update(hashlib.sha256(shipped.read_bytes()).digest())
    try:
        with np.load(shipped) as stored:
            vectors, file_rows = stored["embedding"].astype(np.float32), stored["row"].astype(np.intp)
        positions = np.full(max(int(dataset.file_rows.max()), int(file_rows.max())) + 1, -1)
    except (KeyError, ValueError, OSError) as error:
        raise UserError(
            f"{shipped} cannot be used: it must hold `embedding` and `row`, written by numpy.savez. Remove the file to "
            "embed the texts again."
        ) from error
    positions[dataset.file_rows] = np.arange(len(dataset.texts))
    rows = positions[file_rows]
    return Source(backend, vectors[rows >= 0], rows[rows >= 0], digest.hexdigest()[:32])


def vectors_file(source: Source, rows: NDArray[np.intp], folder: Path) -> Path:
    """Return the file of the vectors of some rows, which may not exist yet."""
    name = hashlib.sha256(source.key.encode() + np.asarray(rows, "<i8").tobytes()).hexdigest()[:32]
    return folder / f"{name}.npy"


def make_vectors(
    dataset: Dataset,
    source: Source,
    rows: NDArray[np.intp],
    folder: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Return a file with the vectors of some rows of a dataset, in the order of the rows; make it if necessary.

    Parameters
    ----------
    dataset : Dataset
    source : Source
    rows : ndarray of int
    folder : Path
        The folder of the file.
    progress : callable, optional
        Called as ``progress(done, total)``.
    """
    path = vectors_file(source, rows, folder)
    if path.is_file():
        return path
    known = np.full(len(dataset.texts), -1)
    known[source.ready_rows] = np.arange(len(source.ready_rows))
    ready = known[rows] >= 0
    texts = [dataset.texts[row] for row in rows[~ready].tolist()]
    made = embed_texts(texts, source.backend, progress=progress) if texts else source.ready[:0]
    vectors = np.empty((len(rows), made.shape[1]), np.float32)
    vectors[~ready] = made
    if ready.any():
        vectors[ready] = source.ready[known[rows[ready]]]
    make_folder(folder)
    with whole_file(path) as stream:
        np.save(stream, vectors)
    return path
