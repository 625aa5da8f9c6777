"""Run many small tasks on all cores, with one BLAS thread each and results in the order of the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")


def run_tasks(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None,
    shared_memory: bool = False,
) -> list[Result]:
    """Call ``function(*task)`` for every task and return the results in order.

    The function should spend its time outside the GIL: it runs in threads, unless an active ``joblib.parallel_config``
    chooses another back end and `shared_memory` is False. A generator of tasks is consumed as workers become free.
    `n_jobs` is as in joblib, but None means all cores if no such configuration is active.

    Examples
    --------
    >>> run_tasks(pow, [(2, 3), (3, 2)], n_jobs=2)
    [8, 9]
    """
    hint = {"require": "sharedmem"} if shared_memory else {"prefer": "threads"}
    # One BLAS thread per task, for any n_jobs: oversubscribed BLAS threads can cost a factor of 50,
    # and a varying number of threads would make results depend on the machine.
    with threadpool_limits(1, user_api="blas"):
        return list(Parallel(n_jobs=_all_cores(n_jobs), **hint)(delayed(function)(*task) for task in tasks))


def stream_tasks(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None
) -> Iterator[Result]:
    """Yield the results of :func:`run_tasks` in threads, so that few of them are in memory at a time."""
    with threadpool_limits(1, user_api="blas"):
        run = Parallel(n_jobs=_all_cores(n_jobs), require="sharedmem", return_as="generator")
        yield from run(delayed(function)(*task) for task in tasks)


def _all_cores(n_jobs: int | None) -> int | None:
    return -1 if n_jobs is None and get_active_backend()[1] is None else n_jobs
