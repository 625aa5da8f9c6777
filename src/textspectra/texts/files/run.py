"""The walk through a data set: embed every file, group all rows, describe the groups, write every file."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...clustering.numbering import label_sizes
from ...embedding import DEFAULT_MODEL, load_backend
from ...errors import NoRowsError, UserError
from ...estimators import AutoAgglomerative, AutoKMeans
from ...estimators.base import AutoClusterer
from ...io import TextTable, read_table
from ...topics.describe import Topic, describe_clusters
from .partition import (
    Embedded,
    File,
    Job,
    Sampled,
    embed_partition,
    load_vectors,
    sample_partition,
    save_labels,
    settings_of,
    write_partition,
)
from .workers import Workers

DESCRIBED_ROWS = 20_000
"""Rows from which keywords and typical texts are taken, in all; at least DESCRIBED_LEAST for each cluster."""

DESCRIBED_LEAST = 20

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DatasetClustering:
    """What came out for a data set.

    Attributes
    ----------
    folder : Path
        The Parquet files, one for each file of the input that has rows, with its number in the order of their names.
    text_column : str
        Where the texts were found.
    rows, blank, unknown : int
        Rows in all, rows without text, and rows that the model could not represent.
    model : AutoClusterer
        The clusterer, fitted; its labels are not kept.
    topics : tuple of Topic
        Name, size and keywords of each cluster; `representatives` are positions in `texts`.
    texts : list of str
        The sample of texts that the topics were taken from.
    reused : int
        Files that an earlier, interrupted run had embedded already.
    """

    folder: Path
    text_column: str
    rows: int
    blank: int
    unknown: int
    model: AutoClusterer
    topics: tuple[Topic, ...]
    texts: list[str]
    reused: int


def cluster_files(
    files: list[str],
    folder: Path,
    *,
    scheduler: str | None = None,
    text_column: str | None = None,
    encoding: str | None = None,
    model: str = DEFAULT_MODEL,
    embeddings: str | None = None,
    algorithm: Literal["kmeans", "hac"] = "kmeans",
    n_clusters: int | Literal["auto"] = "auto",
    seed: int = 0,
    cache: bool = True,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> DatasetClustering:
    r"""Group the texts of many files together, which need not fit into memory.

    Each file that has rows becomes one Parquet file with the columns cluster, cluster_name and similarity. What is
    finished is kept beside `folder` until all is, so a run that was stopped goes on where it was.

    Parameters
    ----------
    files : list of str
        Tables of the same kind, at least one.
    folder : Path
        Where the Parquet files go; it appears when it is complete.
    scheduler : str, optional
        The address of a Dask scheduler whose workers do the work and see the same files, or "local" for workers on
        this machine. Without it, this process goes through the files and keeps vectors in memory maps.
    text_column, encoding, model, embeddings, algorithm, n_clusters, seed, cache
        As for ``textspectra cluster``; `embeddings` is a column of lists of numbers.
    overwrite : bool, default=False
        Replace a folder that an earlier run wrote.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    DatasetClustering

    Examples
    --------
    >>> import tempfile
    >>> from textspectra.io import matching_files
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name, text in (("a", "my parcel is late"), ("b", "reset my password")):
    ...         written = Path(place, f"{name}.txt").write_text(f"{text}\n{text} please\n")
    ...     found = cluster_files(matching_files(f"{place}/*.txt"), Path(place, "out"), n_clusters=2)
    ...     found.rows, sorted(path.name for path in found.folder.iterdir())
    (4, ['part-00000.parquet', 'part-00001.parquet'])
    """
    tell: Progress = progress or (lambda stage, done, total: None)
    folder_free(folder, overwrite=overwrite)
    given = _without_own(files, folder)
    first = _first_table(given, text_column, encoding)
    if Path(model).is_dir():  # as seen from here, wherever a worker is
        model = str(Path(model).absolute())
    settings = "" if embeddings else settings_of(load_backend(model))
    work = folder.with_name(f".{folder.name}-work").absolute()
    job = Job(work, first.text_column, encoding, model, settings, embeddings, cache, seed)
    job.table.mkdir(parents=True, exist_ok=True)
    every = [File.at(number, name) for number, name in enumerate(given)]
    reused = sum(job.embedded("done.json", file).exists() for file in every)
    with Workers.at(scheduler) as workers:
        embedded = workers.each(
            embed_partition, [(job, file) for file in every], lambda *done: tell("embedding", *done)
        )
        found = {file: one for file, one in zip(every, embedded, strict=True) if one.rows}
        _check_same_length(found)
        tell("grouping", 0, 1)
        fitted = _fit(
            {"kmeans": AutoKMeans, "hac": AutoAgglomerative}[algorithm](n_clusters, random_state=seed),
            job,
            found,
            workers,
        )
        tell("describing", 0, 1)
        topics, texts = _describe(job, found, fitted, workers)
        names = [topic.name for topic in topics]
        _forget_other_parts(job, list(found), names, fitted.cluster_centers_)
        write = partial(write_partition, names=names, centers=fitted.cluster_centers_)
        workers.each(write, [(job, file) for file in found], lambda *done: tell("writing", *done))
    _put_in_place(job, folder, {job.output(file) for file in found})
    rows, blank, usable = (sum(getattr(one, name) for one in found.values()) for name in ("rows", "blank", "usable"))
    return DatasetClustering(
        folder, first.text_column, rows, blank, rows - blank - usable, fitted, topics, texts, reused
    )


def folder_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if the output cannot take its place because something is there already.

    Examples
    --------
    >>> folder_free(Path("new.clusters"), overwrite=False)
    """
    if not folder.exists():
        return
    if not overwrite:
        raise UserError(f"'{folder}' exists already; use --overwrite or another --out")
    if not folder.is_dir() or any(path.suffix != ".parquet" for path in folder.iterdir()):
        raise UserError(f"'{folder}' holds something else than the files of an earlier run; it is not overwritten.")


def _without_own(files: list[str], folder: Path) -> list[str]:
    """Leave out what an earlier run wrote to the same place, which a wide pattern matches too."""
    others = [name for name in files if folder.absolute() not in Path(name).absolute().parents]
    if not others:
        raise UserError(f"All of the files are in '{folder}', where the output goes. Give another --out.")
    return others


def _first_table(files: list[str], text_column: str | None, encoding: str | None) -> TextTable:
    for name in files:
        with suppress(NoRowsError):
            return read_table(name, text_column=text_column, encoding=encoding)
    raise NoRowsError("None of the files has any rows.")


def _check_same_length(found: Mapping[File, Embedded]) -> None:
    first = min(found)
    for file, one in found.items():
        if one.dimension != found[first].dimension:
            raise UserError(
                f"'{file.path}' has vectors of {one.dimension} numbers, but those of '{first.path}' have "
                f"{found[first].dimension}; they must be equally long."
            )
    if not sum(one.usable for one in found.values()):
        raise UserError("None of the texts could be represented; all are blank or unknown to the model.")


def _fit(estimator: AutoClusterer, job: Job, found: Mapping[File, Embedded], workers: Workers) -> AutoClusterer:
    """Group all rows, and keep the labels of each file."""
    parts = [(load_vectors, (job, file), (one.usable, one.dimension)) for file, one in found.items()]
    fitted = estimator.fit(workers.rows(parts, job.work))
    workers.save_parts(save_labels, job, fitted.labels_, {file: one.usable for file, one in found.items()})
    return fitted


def _describe(
    job: Job, files: Iterable[File], fitted: AutoClusterer, workers: Workers
) -> tuple[tuple[Topic, ...], list[str]]:
    """Name the clusters from a sample of their texts, and count all of their rows."""
    sizes = label_sizes(fitted.labels_, fitted.n_clusters_)
    wanted = max(DESCRIBED_LEAST, DESCRIBED_ROWS // len(sizes))
    # Twice as many as wanted, so that there are enough by chance; of those, the first in the random order are taken.
    share = np.minimum(1.0, 2 * wanted / sizes)
    parts: list[Sampled] = workers.each(sample_partition, [(job, file, share) for file in files])
    order, labels = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:2])
    vectors, texts = np.concatenate([part.vectors for part in parts]), [text for part in parts for text in part.texts]
    kept = np.sort(np.concatenate([_first(np.flatnonzero(labels == k), order, wanted) for k in range(len(sizes))]))
    some = [texts[row] for row in kept]
    topics = describe_clusters(some, vectors[kept], labels[kept])
    return tuple(replace(topic, size=int(sizes[topic.label])) for topic in topics), some


def _first(rows: NDArray[np.intp], order: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    return rows[np.argsort(order[rows], kind="stable")[:n]]


def _forget_other_parts(job: Job, files: list[File], names: list[str], centers: NDArray[np.float32]) -> None:
    """Remove what an earlier run wrote, unless this one would write the same."""
    decisive = json.dumps([__version__, files, job.text_column, job.encoding, names]).encode() + centers.tobytes()
    digest = hashlib.sha256(decisive).hexdigest()
    mark = job.work / "written.txt"
    if not mark.exists() or mark.read_text() != digest:
        for path in job.table.iterdir():
            path.unlink()
        mark.write_text(digest)


def _put_in_place(job: Job, folder: Path, parts: Set[Path]) -> None:
    for path in set(job.table.iterdir()) - parts:  # half-written by a process that was killed
        path.unlink()
    if folder.exists():
        folder.replace(job.work / "replaced")
    job.table.replace(folder)
    shutil.rmtree(job.work, ignore_errors=True)
