"""Who does the work on many files: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..core import Rows
from ..errors import ExternalError, require
from .partition import File, Job, load_new_vectors

CONNECT_SECONDS, RESTART_SECONDS, CLOSE_SECONDS = 20, 300, 20
"""How long the scheduler may take to answer, and workers of this machine to be replaced if they die, and to end.

Dask's 15 seconds for a replacement are too few on a busy machine.
"""

OPEN_FILES = 64
"""Memory maps that are open at a time; each takes one of the files that a process may open."""

Output = TypeVar("Output")


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
        self, function: Callable[..., Output], tasks: Sequence[tuple[object, ...]],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Output]:  # fmt: skip
        """Call ``function(*task)`` for every task."""
        results = []
        for done, task in enumerate(tasks):
            if progress is not None:
                progress(done, len(tasks))
            results.append(function(*task))
        return results

    def rows(self, job: Job, sizes: Mapping[File, int], dimension: int) -> Rows:
        """Return the vectors of the texts that each file is the first to have, given with their number."""
        return JoinedRows(job, sizes, dimension)

    def save_parts(self, save: Callable[..., None], job: Job, values: Any, sizes: Mapping[File, int]) -> None:
        """Call ``save(job, file, part)`` with the part of `values` of each file, given with its size."""
        for file, part in zip(sizes, np.split(values, np.cumsum([*sizes.values()])[:-1]), strict=True):
            save(job, file, part)


class DaskWorkers(Workers):
    """The workers of the cluster that the active client is connected to: each method does the same there."""

    def each(
        self, function: Callable[..., Output], tasks: Sequence[tuple[object, ...]],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Output]:  # fmt: skip
        """Call the function on the workers."""
        from ..core.dask_blocks import call_each

        return call_each(function, tasks, progress)

    def rows(self, job: Job, sizes: Mapping[File, int], dimension: int) -> Rows:
        """Return the vectors as a Dask array with one chunk per file."""
        import dask.array as da
        from dask.delayed import delayed

        load = delayed(load_new_vectors, pure=False)
        chunks = [da.from_delayed(load(job, file), (size, dimension), dtype=job.dtype) for file, size in sizes.items()]
        joined: Rows = da.concatenate(chunks)
        return joined

    def save_parts(self, save: Callable[..., None], job: Job, values: Any, sizes: Mapping[File, int]) -> None:
        """Save the part of each file where it is."""
        from ..core.dask_blocks import call_on_chunks

        call_on_chunks(save, values.rechunk((tuple(sizes.values()),)), [(job, file) for file in sizes])


class JoinedRows:
    """The vectors of all files as one array for the functions that read rows; they stay in their files."""

    def __init__(self, job: Job, sizes: Mapping[File, int], dimension: int) -> None:
        self.dtype, self.ndim = np.dtype(job.dtype), 2
        self.shape = (sum(sizes.values()), dimension)
        files = list(sizes)
        self._ends = np.cumsum([*sizes.values()])
        self._positions = [job.load("new", file) for file in files]
        self._open = lru_cache(OPEN_FILES)(lambda part: job.load("vectors", files[part], mapped=True))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> NDArray[np.floating]:
        """Return the rows of a slice, or those at the given positions."""
        rows = np.arange(*chosen.indices(len(self))) if isinstance(chosen, slice) else np.asarray(chosen)
        vectors = np.empty((len(rows), self.shape[1]), self.dtype)
        parts = np.searchsorted(self._ends, rows, side="right")
        for part in np.unique(parts).tolist():
            here = parts == part
            first = self._ends[part] - len(self._positions[part])
            vectors[here] = self._open(part)[self._positions[part][rows[here] - first]]
        return vectors

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.floating]:
        return self[:].astype(dtype or self.dtype, copy=False)


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
