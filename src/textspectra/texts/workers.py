"""Who does the work on the files of a data set: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ExternalError, UserError, require
from ..tables.dates import Reading, Survey, joined_problems, notes_on_dates
from .partition import File, Job, count_partition, load_own_vectors, survey_partition
from .tally import Tally, notes_on_segments

CONNECT_SECONDS = 20
"""How long the scheduler may take to answer."""

RESTART_SECONDS = 300
"""How long a worker of this machine that died may take to be there again; Dask's 15 are too few on a busy one."""

CLOSE_SECONDS = 20
"""How long the workers of this machine may take to end."""

OPEN_FILES = 64
"""Memory maps that are open at a time; each takes one of the files that a process may open."""

Tell = Callable[[int, int], None]


class Workers:
    """The process that runs this: files one after the other, rows in memory maps."""

    @staticmethod
    @contextmanager
    def at(scheduler: str | None) -> Iterator[Workers]:
        """Connect to a scheduler, start one for "local", or work here without one."""
        if scheduler is None:
            yield Workers()
            return
        distributed = require("distributed", extra="dask")
        from ..core.dask_blocks import check_workers

        with _local_client(distributed) if scheduler == "local" else _client_of(distributed, scheduler):
            check_workers()
            yield DaskWorkers()

    def each(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], tell: Tell | None = None
    ) -> list[Any]:
        """Call ``function(*task)`` for every task, and tell how many are done."""
        results = []
        for done, task in enumerate(tasks):
            if tell is not None:
                tell(done, len(tasks))
            results.append(function(*task))
        return results

    def rows(self, job: Job, sizes: Mapping[File, int], dimension: int) -> Any:
        """Return the vectors of the texts that each file has first, given with their number."""
        return JoinedRows(job, sizes, dimension)

    def save_parts(self, save: Callable[..., None], job: Job, values: Any, sizes: Mapping[File, int]) -> None:
        """Call ``save(job, file, part)`` with the part of `values` of each file, given with its size."""
        for file, part in zip(sizes, np.split(values, np.cumsum([*sizes.values()])[:-1]), strict=True):
            save(job, file, part)


class JoinedRows:
    """The vectors of all files as one array for the functions that read rows; they stay in the files of their parts."""

    def __init__(self, job: Job, sizes: Mapping[File, int], dimension: int) -> None:
        self.dtype, self.ndim = np.dtype(job.dtype), 2
        self.shape = (sum(sizes.values()), dimension)
        self._ends = np.cumsum([*sizes.values()])
        self._positions = [np.load(job.grouped("own", file)) for file in sizes]
        paths = [job.embedded("vectors.npy", file) for file in sizes]
        self._open = lru_cache(OPEN_FILES)(lambda part: np.load(paths[part], mmap_mode="r"))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> NDArray[Any]:
        """Return the rows of a slice, or those at the given positions."""
        rows = np.arange(*chosen.indices(len(self))) if isinstance(chosen, slice) else np.asarray(chosen)
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        parts = np.searchsorted(self._ends, rows, side="right")
        for part in np.unique(parts).tolist():
            here = parts == part
            first = self._ends[part] - len(self._positions[part])
            found[here] = self._open(part)[self._positions[part][rows[here] - first]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype, copy=False)


class DaskWorkers(Workers):
    """The workers of the cluster that the active client is connected to: each method does the same there."""

    def each(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], tell: Tell | None = None
    ) -> list[Any]:
        """Call the function on the workers."""
        from ..core.dask_blocks import call_each

        return call_each(function, tasks, tell)

    def rows(self, job: Job, sizes: Mapping[File, int], dimension: int) -> Any:
        """Return the vectors as a Dask array with one chunk per file."""
        import dask.array as da
        from dask.delayed import delayed

        load = delayed(load_own_vectors, pure=False)
        chunks = [da.from_delayed(load(job, file), (size, dimension), dtype=job.dtype) for file, size in sizes.items()]
        return da.concatenate(chunks)

    def save_parts(self, save: Callable[..., None], job: Job, values: Any, sizes: Mapping[File, int]) -> None:
        """Save the part of each file where it is."""
        from ..core.dask_blocks import call_on_chunks

        call_on_chunks(save, values.rechunk((tuple(sizes.values()),)), [(job, file) for file in sizes])


def _client_of(distributed: Any, scheduler: str) -> Any:
    try:
        return distributed.Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise ExternalError(
            f"There is no Dask scheduler at {scheduler} ({error}). Give its address, such as tcp://host:8786, or "
            "local for workers on this machine."
        ) from None


@contextmanager
def _local_client(distributed: Any) -> Iterator[None]:
    import dask

    try:
        # What Dask logs of a worker that died is no news: the work goes to others, or an error ends the run.
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


def survey_files(job: Job, files: Sequence[File], workers: Workers) -> Reading:
    """Check that the files have the wanted columns, and decide how the dates of all of them are read."""
    if not (job.wanted.time or job.wanted.by or job.wanted.show):
        return Survey().reading()
    found = sum(workers.each(survey_partition, [(job, file) for file in files]), Survey())
    if job.wanted.time is not None and not found.readable:
        raise UserError(f"the column {job.wanted.time!r} holds no dates; all of its values are missing.")
    return found.reading()


def count_files(
    job: Job, files: Sequence[File], workers: Workers, reading: Reading, n_clusters: int
) -> tuple[Tally | None, list[str]]:
    """Count the groups of all files; return the sums, and notes on what was left out."""
    wanted = job.wanted
    if wanted.time is None and not wanted.by:
        return None, []
    count = partial(count_partition, reading=reading, n_clusters=n_clusters)
    counted = workers.each(count, [(job, file) for file in files])
    parts = [one.part for one in counted]
    tally, notes = Tally.of(parts, wanted), []
    if wanted.time is not None:
        problems = joined_problems(one.problems for one in counted)
        notes += notes_on_dates(wanted.time, reading, sum(one.missing for one in counted), problems)
    return tally, [*notes, *notes_on_segments(parts, wanted.by), *tally.notes()]
