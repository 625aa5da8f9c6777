"""On a real cluster with worker processes: the same results, whatever happens to the workers."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import textspectra as ts
from textspectra.dataset import cluster_files, matching_files
from textspectra.engine import supervision

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

# Workers come and go here, and Dask speaks of each of them.
pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

EXAMPLE = Path(__file__).parents[1] / "examples" / "customer_messages.csv"
SIZES = (300, 0, 500, 400)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def blobs(planted):
    return planted(6, 1200, d=16, noise=0.4)[0]


@pytest.fixture(scope="module")
def fitted(blobs):
    return ts.AutoKMeans(6, random_state=0).fit(blobs)


def test_clusters_are_those_of_the_array_in_memory(client, blobs, fitted):
    array = da.from_array(blobs, chunks=(SIZES, 16))
    for form in (array, array.persist()):
        there = ts.AutoKMeans(6, random_state=0).fit(form)
        del form
        assert (there.labels_.compute() == fitted.labels_).all()
        assert there.inertia_ == pytest.approx(fitted.inertia_, rel=1e-5)
        assert there.cohesion_ratio_ == pytest.approx(fitted.cohesion_ratio_, rel=1e-5)
    tree = ts.AutoAgglomerative(6, random_state=0)
    assert (tree.fit(array).labels_.compute() == tree.fit(blobs).labels_).all()


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_k_does_not_depend_on_the_back_end_of_joblib(client, blobs, backend):
    options = {"method": "spectral", "max_sample": 100, "n_replicates": 4, "random_state": 0}
    expected = ts.estimate_k(blobs, **options)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = ts.estimate_k(blobs, **options)
    assert (found.k, found.interval) == (expected.k, expected.interval)


class Mortal:
    """Reads chunks, and stops for good in the middle of the n-th reading of the first one, so that it can be killed."""

    def __init__(self, folder, n):
        self.folder, self.n = folder, n

    def __call__(self, block, block_info=None):
        if block_info[0]["chunk-location"][0] == 0 and self._reading() == self.n:
            (self.folder / "pid").write_text(f"{os.getpid()}\n")
            threading.Event().wait(120)
        return block

    def _reading(self):
        number = 1
        while True:
            try:
                (self.folder / f"reading-{number}").touch(exist_ok=False)
                return number
            except FileExistsError:
                number += 1


@pytest.fixture
def executioner(tmp_path):
    """Kill the worker that says that it is in the middle of a task."""
    tmp_path = tmp_path / "readings"
    tmp_path.mkdir()
    over = threading.Event()
    killed = []

    def watch():
        told = tmp_path / "pid"
        while not over.wait(0.05):
            if told.exists() and told.read_text().endswith("\n") and not killed:
                killed.append(int(told.read_text()))
                os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    yield tmp_path, killed
    over.set()
    thread.join()


STAGES = ["training rows", "first pass", "second pass", "sums of clusters", "pairs of all rows", "pairs of clusters"]


@pytest.mark.parametrize("stage", range(len(STAGES)), ids=STAGES)
def test_a_worker_killed_in_any_stage_changes_nothing(client, blobs, executioner, stage, monkeypatch):
    monkeypatch.setattr("textspectra.clustering.kmeans.TRAINING_ROWS", 900)
    expected = ts.AutoKMeans(6, random_state=0).fit(blobs)
    folder, killed = executioner
    array = da.from_array(blobs, chunks=(SIZES, 16)).map_blocks(Mortal(folder, stage + 1), meta=blobs[:0])
    there = ts.AutoKMeans(6, random_state=0).fit(array)
    assert killed
    assert (there.labels_.compute() == expected.labels_).all()
    assert there.cohesion_ratio_ == pytest.approx(expected.cohesion_ratio_, rel=1e-5)


def test_a_worker_killed_during_the_estimate_changes_nothing(client, blobs, executioner):
    options = {"method": "spectral", "max_sample": 100, "n_replicates": 4, "random_state": 0}
    folder, killed = executioner
    array = da.from_array(blobs, chunks=(SIZES, 16)).map_blocks(Mortal(folder, 1), meta=blobs[:0])
    assert ts.estimate_k(array, **options).k == ts.estimate_k(blobs, **options).k
    assert killed


def set_version(version):
    import textspectra

    textspectra.__version__ = version


def hide_package(hidden):
    if hidden:
        sys.kept = sys.modules["textspectra"]
        sys.modules["textspectra"] = None
    else:
        sys.modules["textspectra"] = sys.kept


def test_a_worker_with_another_version_or_none_is_named(client, blobs):
    array = da.from_array(blobs, chunks=(SIZES, 16))
    client.wait_for_workers(2)
    worker = sorted(client.scheduler_info()["workers"])[0]
    client.run(set_version, "0.0.1", workers=[worker])
    try:
        with pytest.raises(ts.UserError, match=f"{worker} has textspectra 0.0.1, but {ts.__version__} is running here"):
            ts.estimate_k(array)
    finally:
        client.run(set_version, ts.__version__, workers=[worker])
    client.run(hide_package, True, workers=[worker])
    try:
        with pytest.raises(ts.UserError, match=f"{worker} does not have textspectra; install version"):
            ts.estimate_k(array)
    finally:
        client.run(hide_package, False, workers=[worker])


@pytest.fixture
def texts(tmp_path):
    """Four files of the example."""
    table = pc.read_csv(EXAMPLE)
    folder = tmp_path / "texts"
    folder.mkdir()
    for part in range(4):
        pq.write_table(table.slice(255 * part, 255), folder / f"{part}.parquet")
    return folder


def read_all(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.iterdir())])


def cluster(texts, out, **options):
    return cluster_files(matching_files(f"{texts}/*.parquet"), out, n_clusters=9, cache=False, **options)


def test_files_on_workers_are_grouped_as_they_are_here(client, texts, tmp_path):
    pytest.importorskip("wordllama")
    here = cluster(texts, tmp_path / "here")
    there = cluster(texts, tmp_path / "there", scheduler=client.scheduler.address)
    assert read_all(there.folder).drop(["similarity"]).equals(read_all(here.folder).drop(["similarity"]))
    ours, theirs = (read_all(one.folder)["similarity"].fill_null(0).to_numpy() for one in (there, here))
    assert ours == pytest.approx(theirs, abs=2e-4)
    assert [topic.name for topic in there.topics] == [topic.name for topic in here.topics]
    found, given = read_all(here.folder), read_all(texts)
    assert found.select(given.column_names).equals(given)
    assert found.column_names == [*given.column_names, "cluster", "cluster_name", "similarity"]
    blank = [not (text or "").strip() for text in given["message"].to_pylist()]
    assert [label is None for label in found["cluster"].to_pylist()] == blank
    assert here.rows == len(given)
    assert sum(topic.size for topic in here.topics) == here.rows - here.blank - here.unknown
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_file_is_named_and_nothing_is_written(client, texts, tmp_path):
    pytest.importorskip("wordllama")
    damaged = texts / "2.parquet"
    damaged.write_bytes(damaged.read_bytes()[:900])
    for scheduler in (None, client.scheduler.address):
        with pytest.raises(ts.UserError, match=r"2\.parquet' is a Parquet file that is damaged or cut short"):
            cluster(texts, tmp_path / "out", scheduler=scheduler)
        assert not (tmp_path / "out").exists()


def test_without_workers_the_run_is_given_up_and_nothing_is_written(blobs, texts, tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    monkeypatch.setattr(supervision, "PATIENCE", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
    ):
        with pytest.raises(ts.UserError, match="has had no worker for 1 seconds, so the run was given up"):
            ts.estimate_k(da.from_array(blobs, chunks=300))
        with pytest.raises(ts.UserError, match="has had no worker"):
            cluster(texts, tmp_path / "out", scheduler=client.scheduler.address)
    assert not (tmp_path / "out").exists()


def test_a_wrong_address_is_explained(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("textspectra.dataset.workers.CONNECT_SECONDS", 1)
    with pytest.raises(ts.UserError, match=r"There is no Dask scheduler at tcp://127\.0\.0\.1:9"):
        cluster(texts, tmp_path / "out", scheduler="tcp://127.0.0.1:9")


def test_a_killed_command_goes_on_where_it_was(client, texts, tmp_path):
    pytest.importorskip("wordllama")
    command = [
        sys.executable, "-m", "textspectra", "cluster", f"{texts}/*.parquet", "--clusters", "9", "--json", "--no-cache",
        "--scheduler", client.scheduler.address,
    ]  # fmt: skip
    environment = {**os.environ, "TEXTSPECTRA_CACHE": str(tmp_path / "cache")}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    tick = threading.Event()
    while first.poll() is None and not list(tmp_path.glob(".texts.clusters-*/embedded-*.json")):
        tick.wait(0.02)
    first.kill()
    first.wait()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert again.returncode == 0, again.stderr
    summary = json.loads(again.stdout)
    assert summary["files_embedded_before"] >= 1
    found, given = read_all(tmp_path / "texts.clusters"), read_all(texts)
    assert found.select(given.column_names).equals(given)
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert refused.returncode == 2
    assert "texts.clusters' exists already; use --overwrite or another --out" in refused.stderr


def test_the_command_takes_patterns_without_dask(texts, tmp_path):
    pytest.importorskip("wordllama")
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        f"sys.argv = ['textspectra', 'cluster', {str(texts / '*.parquet')!r}, '--clusters', '9', *sys.argv[1:]]\n"
        "from textspectra.cli import main; main()"
    )
    run = [sys.executable, "-c", code]
    needed = subprocess.run([*run, "--scheduler", "local"], capture_output=True, text=True, check=False)  # noqa: S603
    assert needed.returncode == 2
    assert 'distributed is needed for this and is not installed: pip install "textspectra[dask]"' in needed.stderr
    done = subprocess.run(run, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert "texts in 9 groups, as you asked" in done.stdout
    assert len(list((tmp_path / "texts.clusters").iterdir())) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing/*.csv"], "no file matches 'nothing/*.csv'"),
        (["texts/0.parquet", "--scheduler", "local"], "--scheduler is for many files"),
        (["texts/*.parquet", "--truth", "label"], "--truth is for a single file"),
    ],
)
def test_mistakes_are_explained(texts, tmp_path, arguments, message):
    command = [sys.executable, "-m", "textspectra", "cluster", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert message in done.stderr
