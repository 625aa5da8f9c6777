"""Run tasks on Dask, and report in plain words if workers are lost or run another version of textspectra."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_any
from contextlib import suppress
from typing import Any

import dask
from dask.delayed import Delayed
from threadpoolctl import threadpool_limits

from ...errors import OutsideError, UserError

PATIENCE = 30.0
"""A run is given up after this many seconds without a worker."""

POLL = 0.5
"""Seconds between two checks of the workers during a run."""


def active_client() -> Any:
    """Return the distributed client that Dask would use now, or None if it would work in this process."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    scheduler = dask.config.get("scheduler", None)
    if isinstance(scheduler, Client):
        return scheduler
    if scheduler not in (None, "dask.distributed", "distributed"):
        return None
    try:
        return Client.current()
    except ValueError:  # there is no client
        return None


def compute(tasks: Sequence[Delayed], *, progress: Callable[[int, int], None] | None = None) -> list[Any]:
    """Return the results of tasks, from whatever scheduler Dask is set to.

    On a cluster, `progress` is called with the number of finished tasks and of all tasks.
    """
    return compute_and_keep(tasks, [], progress=progress)[0]


def compute_and_keep(
    tasks: Sequence[Delayed], kept: Sequence[Delayed], *, progress: Callable[[int, int], None] | None = None
) -> tuple[list[Any], list[Delayed]]:
    """Return the results of some tasks, and other tasks as delayed values whose results stay on the workers."""
    client = active_client()
    if client is None:
        with threadpool_limits(1, user_api="blas"):
            started = dask.persist(*tasks, *kept)
            return list(dask.compute(*started[: len(tasks)])), list(started[len(tasks) :])
    from distributed import futures_of

    # Centres of some megabytes in a graph are sent once, and survive the loss of a worker: no reason to warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        started = client.persist([*tasks, *kept])
    futures = futures_of(started)
    with ThreadPoolExecutor(1) as waiter:
        try:
            outcome = waiter.submit(_finished, client, futures[: len(tasks)], futures[len(tasks) :])
            _watch(client, outcome, futures, progress)
            return outcome.result(), list(started[len(tasks) :])
        except BaseException as error:
            with suppress(Exception):  # a lost scheduler has nothing to cancel
                client.cancel(futures)
            fault = cluster_fault(error)
            if fault is None:
                raise
            raise fault from error


def _finished(client: Any, wanted: list[Any], kept: list[Any]) -> list[Any]:
    """Wait until all tasks are finished, and return the results that are needed here."""
    from distributed import wait

    results = list(client.gather(wanted))
    if kept:
        wait(kept)
    for future in kept:
        if future.status == "error":
            future.result()
    return results


def _watch(
    client: Any, outcome: Future[Any], futures: Sequence[Any], progress: Callable[[int, int], None] | None
) -> None:
    """Return once there is an outcome; give up if there is no worker for PATIENCE seconds.

    Dask itself waits forever, also for results that were lost with their worker.
    """
    last_seen = time.monotonic()
    while not wait_for_any([outcome], timeout=POLL).done:
        if progress is not None:
            progress(sum(future.status == "finished" for future in futures), len(futures))
        now = time.monotonic()
        if client.scheduler_info()["workers"]:
            last_seen = now
        elif now - last_seen > PATIENCE:
            raise OutsideError(
                f"The Dask cluster at {client.scheduler.address} has had no worker for {PATIENCE:.0f} seconds, so the "
                "run was given up. Start workers and run it again."
            )


def n_threads() -> int:
    """Return how many tasks can run at a time; a large number if no worker has arrived yet."""
    client = active_client()
    return os.cpu_count() or 1 if client is None else sum(client.nthreads().values()) or 2**20


def kept_by_workers(collection: Any) -> bool:
    """Return whether a collection depends on results that the workers of a cluster keep."""
    if "distributed" not in sys.modules:
        return False
    from distributed import futures_of

    return bool(futures_of(collection))


def cluster_fault(error: BaseException) -> UserError | None:
    """Return the message for an error of the cluster itself, or None for any other error."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    if isinstance(error, KilledWorker):
        return OutsideError(
            f"Several workers of the Dask cluster died at the same task, the last one at {error.last_worker.address}. "
            "They probably ran out of memory: use smaller chunks, or workers with more memory."
        )
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "textspectra":
        return OutsideError(
            "A worker of the Dask cluster cannot import textspectra; install the same version of it on every worker."
        )
    if isinstance(error, CommClosedError | CancelledError):
        return OutsideError(
            "The Dask scheduler was lost, or it has cancelled the work. Run it again once the scheduler is back."
        )
    return None


def check_workers() -> None:
    """Raise an error if a worker of the active cluster has no textspectra, or another version of it."""
    client = active_client()
    if client is None:
        return
    from ... import __version__ as ours

    def version() -> str:
        # Sent by value: a worker without the package can still run it.
        import importlib

        try:
            return str(importlib.import_module("textspectra").__version__)
        except ModuleNotFoundError:
            return ""

    for worker, theirs in sorted(client.run(version, on_error="return").items()):
        if isinstance(theirs, OSError):
            continue  # it has just died; Dask gives its work to others
        if isinstance(theirs, Exception):
            raise OutsideError(f"The Dask worker {worker} cannot import textspectra ({theirs}); fix its installation.")
        if not theirs:
            raise OutsideError(
                f"The Dask worker {worker} does not have textspectra; install version {ours} on every worker."
            )
        if theirs != ours:
            raise OutsideError(
                f"The Dask worker {worker} has textspectra {theirs}, but {ours} is running here; install the same "
                "version on every worker."
            )
