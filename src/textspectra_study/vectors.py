"""The embeddings of a study's rows: made once for each set and model, kept in the store as memory maps."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textspectra.embedding import embed_texts
from textspectra.embedding.base import Backend, identity
from textspectra.embedding.embed import Progress
from textspectra.errors import UserError
from textspectra.io.writing import replacing

from .datasets import Dataset
from .results import DatasetFacts


class Source(NamedTuple):
    """Where the vectors of one set come from: a model, and vectors of some rows that came with the set.

    Attributes
    ----------
    backend : Backend
    ready : ndarray
        Vectors that lie beside the set's file, as ``MODEL/FILE.npz`` with ``embedding`` and ``row``.
    ready_rows : ndarray of int
        The rows of the set that they belong to.
    key : str
        Stands for the texts, the model and the ready vectors.
    """

    backend: Backend
    ready: NDArray[np.float32]
    ready_rows: NDArray[np.intp]
    key: str


def vector_source(dataset: Dataset, facts: DatasetFacts, model: str, backend: Backend) -> Source:
    """Find out where the vectors of a set come from."""
    digest = hashlib.sha256(facts.digest.encode() + identity(backend))
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
            f"{shipped} cannot be used: it must hold `embedding` and `row`, as NumPy's savez writes them. Remove it "
            "to embed the texts anew."
        ) from error
    positions[dataset.file_rows] = np.arange(len(dataset.texts))
    rows = positions[file_rows]
    return Source(backend, vectors[rows >= 0], rows[rows >= 0], digest.hexdigest()[:32])


def make_vectors(
    dataset: Dataset, source: Source, rows: NDArray[np.intp], folder: Path, *, progress: Progress | None = None
) -> Path:
    """Return a file with the vectors of some rows of a set, in the order of the rows; made unless it is there.

    Parameters
    ----------
    dataset : Dataset
    source : Source
    rows : ndarray of int
    folder : Path
        Where the file is, or will be.
    progress : callable, optional
        Called as ``progress(done, total)``.
    """
    name = hashlib.sha256(source.key.encode() + np.asarray(rows, "<i8").tobytes()).hexdigest()[:32]
    path = folder / f"{name}.npy"
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
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        np.save(stream, vectors)
    return path
