"""What the tests on a real Dask cluster share."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textspectra.tables.read import matching_files
from textspectra.texts.many_files import cluster_files

SIZES = (300, 0, 500, 400)
"""Of the chunks of 1,200 rows."""

MARKS = [
    pytest.mark.xdist_group("cluster"),  # one process, because more workers would only wait for each other
    # Workers come and go, and Dask warns about each of them.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Crew:
    """Worker processes, each with a line of Python that it runs first; only this class starts and stops them."""

    def __init__(self, client):
        self.client = client
        self._processes = []

    def start(self, *prefaces):
        code = "{}\nfrom distributed.cli.dask_worker import main\nmain()"
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--death-timeout", "60"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # workers import test modules too
        for preface in prefaces:
            command = [sys.executable, "-c", code.format(preface), self.client.scheduler.address, *options]
            self._processes.append(subprocess.Popen(command, env=environment))  # noqa: S603
        if prefaces:
            self.client.wait_for_workers(len(self._processes), timeout=60)

    def replace_the_dead(self):
        living = [process for process in self._processes if process.poll() is None]
        n_dead = len(self._processes) - len(living)
        self._processes = living
        self.start(*[""] * n_dead)

    def stop(self):
        for process in self._processes:
            process.kill()
            process.wait()


@contextmanager
def crew_of(*prefaces):
    """Start a scheduler in this process, and a worker for each line of Python."""
    import distributed

    cluster = distributed.LocalCluster(n_workers=0, dashboard_address=":0")
    try:
        with distributed.Client(cluster) as client:
            crew = Crew(client)
            try:
                crew.start(*prefaces)
                yield crew
            finally:
                crew.stop()
    finally:
        cluster.close(timeout=60)


def read_all(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


def group_files(texts, out, model="wordllama", **options):
    pytest.importorskip("wordllama")
    files = matching_files(f"{texts}/*.parquet")
    return cluster_files(files, out, model=model, n_clusters=9, cache=False, **options)
