import threading

import joblib
import pytest
from threadpoolctl import threadpool_info

from textspectra.parallel import run_tasks, stream_tasks


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_results_come_in_the_order_of_the_tasks_with_one_blas_thread_each(n_jobs):
    before = blas_threads()
    results = run_tasks(lambda number: (number, blas_threads()), ((number,) for number in range(50)), n_jobs=n_jobs)
    assert results == [(number, {1}) for number in range(50)]
    assert blas_threads() == before


def test_tasks_start_only_as_results_are_taken():
    taken = []

    def tasks():
        for number in range(1000):
            taken.append(number)
            yield (number,)

    results = stream_tasks(lambda number: number, tasks(), n_jobs=2)
    assert next(results) == 0
    results.close()
    assert len(taken) < 10


def test_the_error_of_a_task_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        run_tasks(lambda number: 1 / number, [(1,), (0,), (2,)], n_jobs=2)


def test_a_configuration_of_joblib_sets_the_number_of_threads():
    with joblib.parallel_config(n_jobs=1):
        assert set(run_tasks(threading.get_ident, [()] * 9, n_jobs=None)) == {threading.get_ident()}
