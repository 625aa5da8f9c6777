"""Work handed to Dask: whoever its scheduler is, and what to say when its workers are gone or not like us."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_any
from contextlib import suppress
from typing import Any

import dask
import dask.threaded
from dask.base import get_scheduler
from threadpoolctl import threadpool_limits

from ...errors import UserError

PATIENCE = 30.0
"""Seconds without a single worker after which a run is given up."""

POLL = 0.5
"""Seconds between two looks at the workers while a run waits."""


def active_client() -> Any:
    """Return the distributed client that Dask would use now, or None where it would work in this process."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    client = getattr(get_scheduler(), "__self__", None)
    return client if isinstance(client, Client) else None


def compute(
    graph: Mapping[Any, Any], keys: Sequence[Any], *, tell: Callable[[int, int], None] | None = None
) -> list[Any]:
    """Return the results of some tasks of a graph, from whatever scheduler Dask is set to.

    Where that is a cluster, `tell` is called with the number of tasks that are done, and of all.

    Examples
    --------
    >>> compute({"two": 2, "eight": (pow, "two", 3)}, ["eight"])
    [8]
    """
    return compute_and_keep(graph, keys, [], tell=tell)[0]


def compute_and_keep(
    graph: Mapping[Any, Any],
    keys: Sequence[Any],
    kept: Sequence[Any],
    *,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[list[Any], dict[Any, Any]]:
    """Return the results of some tasks, and a graph of others whose results stay where the work is done.

    Examples
    --------
    >>> compute_and_keep({"two": 2, "eight": (pow, "two", 3)}, ["eight"], ["two"])
    ([8], {'two': 2})
    """
    client = active_client()
    if client is None:
        with threadpool_limits(1, user_api="blas"):
            results = list((get_scheduler() or dask.threaded.get)(graph, [*keys, *kept]))
        return results[: len(keys)], dict(zip(kept, results[len(keys) :], strict=True))
    # Centres of some megabytes in a graph are sent once, and survive the loss of a worker: no reason to warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        futures = client.get(dict(graph), [*keys, *kept], sync=False)
    with ThreadPoolExecutor(1) as waiter:
        try:
            outcome = waiter.submit(_finished, client, futures[: len(keys)], futures[len(keys) :])
            _watch(client, outcome, futures, tell)
            return outcome.result(), dict(zip(kept, futures[len(keys) :], strict=True))
        except BaseException as error:
            with suppress(Exception):  # a scheduler that is gone has nothing to cancel
                client.cancel(futures)
            told = explained(error)
            if told is None:
                raise
            raise told from error


def _finished(client: Any, wanted: list[Any], kept: list[Any]) -> list[Any]:
    """Wait until all is done, and return the results that are wanted here."""
    from distributed import wait

    results = list(client.gather(wanted))
    if kept:
        wait(kept)
    for future in kept:
        if future.status == "error":
            future.result()
    return results


def _watch(client: Any, outcome: Future[Any], futures: Sequence[Any], tell: Callable[[int, int], None] | None) -> None:
    """Return once there is an outcome; give up where there has been no worker for a while.

    Dask itself waits for ever, also for results that were there and were lost with their worker.
    """
    last_seen = time.monotonic()
    while not wait_for_any([outcome], timeout=POLL).done:
        if tell is not None:
            tell(sum(future.status == "finished" for future in futures), len(futures))
        now = time.monotonic()
        if client.scheduler_info()["workers"]:
            last_seen = now
        elif now - last_seen > PATIENCE:
            raise UserError(
                f"The Dask cluster at {client.scheduler.address} has had no worker for {PATIENCE:.0f} seconds, so the "
                "run was given up. Start workers and run it again."
            )


def n_threads() -> int:
    """Return how many tasks can run at a time; very many where that is not known yet."""
    client = active_client()
    return os.cpu_count() or 1 if client is None else sum(client.nthreads().values()) or 2**20


def kept_by_workers(collection: Any) -> bool:
    """Say whether a collection rests on results that workers of a cluster keep."""
    if "distributed" not in sys.modules:
        return False
    from distributed import futures_of

    return bool(futures_of(collection))


def explained(error: BaseException) -> UserError | None:
    """Return what to tell a person about an error that comes from Dask itself; None for any other."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    if isinstance(error, KilledWorker):
        return UserError(
            f"Several workers of the Dask cluster died at the same task, the last one at {error.last_worker.address}. "
            "They probably ran out of memory: use smaller chunks, or workers with more memory."
        )
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "textspectra":
        return UserError(
            "A worker of the Dask cluster cannot import textspectra; install the same version of it on every worker."
        )
    if isinstance(error, CommClosedError | CancelledError):
        return UserError(
            "The Dask scheduler was lost, or it has cancelled the work. Run it again once the scheduler is back."
        )
    return None


def check_workers() -> None:
    """Raise where a worker of the active cluster has no textspectra, or another version of it."""
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
            raise UserError(f"The Dask worker {worker} cannot import textspectra ({theirs}); mend its installation.")
        if not theirs:
            raise UserError(
                f"The Dask worker {worker} does not have textspectra; install version {ours} on every worker."
            )
        if theirs != ours:
            raise UserError(
                f"The Dask worker {worker} has textspectra {theirs}, but {ours} is running here; install the same "
                "version on every worker."
            )
