"""Run many small tasks on all cores, with one BLAS thread each and results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from numbers import Integral
from typing import TypeVar

import scipy.linalg  # noqa: F401 (its BLAS must be there when `_blas` looks for the libraries)
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from threadpoolctl import ThreadpoolController

from .errors import UserError

_Result = TypeVar("_Result")


def use_jobs(n_jobs: object) -> AbstractContextManager[object]:
    """Run the tasks of a ``with`` block on this many cores, as in joblib; None keeps the active configuration."""
    is_whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (is_whole and n_jobs):
        raise UserError(f"n_jobs must be a whole number other than 0 (-1: all cores) or None, but it is {n_jobs!r}.")
    config: AbstractContextManager[object] = nullcontext() if n_jobs is None else parallel_config(n_jobs=n_jobs)
    return config


def run_tasks(
    function: Callable[..., _Result],
    tasks: Iterable[tuple[object, ...]],
    *,
    n_jobs: int | None = None,
    shared_memory: bool = False,
) -> list[_Result]:
    """Call ``function(*task)`` for every task and return the results in order.

    The function should spend its time outside the GIL: it runs in threads, unless an active ``joblib.parallel_config``
    chooses another back end and `shared_memory` is False. A generator of tasks is consumed as workers become free.
    `n_jobs` is as in joblib, but None means all cores unless the configuration says otherwise.
    """
    if shared_memory or isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend):
        return list(stream_tasks(function, tasks, n_jobs=n_jobs))
    with one_blas_thread():
        return list(Parallel(n_jobs=n_jobs)(delayed(function)(*task) for task in tasks))


def stream_tasks(
    function: Callable[..., _Result], tasks: Iterable[tuple[object, ...]], *, n_jobs: int | None = None
) -> Iterator[_Result]:
    """Yield the results of :func:`run_tasks` in threads, so that few of them are in memory at a time."""
    # joblib would do the same, but it looks for results every 10 ms, which is longer than most tasks take.
    if n_jobs is None:
        n_jobs = get_active_backend()[1] or -1
    n_threads = get_active_backend(require="sharedmem")[0].effective_n_jobs(n_jobs)
    with one_blas_thread():
        if n_threads == 1:
            yield from (function(*task) for task in tasks)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            started: deque[Future[_Result]] = deque()
            for task in tasks:
                started.append(pool.submit(function, *task))
                if len(started) > 2 * n_threads:
                    yield started.popleft().result()
            while started:
                yield started.popleft().result()


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to the thread that calls it, so that results do not depend on the machine.

    Threads of BLAS beside ours, or on small matrices, can also cost a factor of 50.
    """
    limited: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limited


@cache  # the search for BLAS libraries takes longer than most passes over a block
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
