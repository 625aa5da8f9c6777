"""Workers of a real cluster that die during the work, are missing, or run another version of textspectra."""

import logging
import os
import signal
import sys
import threading
from contextlib import suppress

import pytest
from on_cluster import MARKS, SIZES, crew_of, group_files, read_all

import textspectra as ts
from textspectra.core import dask_blocks as supervision
from textspectra.texts.partition import Workers

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [*MARKS, pytest.mark.skipif(sys.platform == "win32", reason="signals")]


@pytest.fixture(scope="module")
def blobs(planted):
    return planted(6, 1200, d=16, noise=0.4)


def stop_for_good(folder):
    """Say that a task is in the middle of its work, and stay there until the process is killed."""
    (folder / "pid").write_text(f"{os.getpid()}\n")
    threading.Event().wait(120)


class Mortal:
    """Reads chunks, and stops for good in the middle of the n-th reading of the first one."""

    def __init__(self, folder, n):
        self.folder, self.n = folder, n

    def __call__(self, block, block_info=None):
        if block_info[0]["chunk-location"][0] == 0 and self._reading() == self.n:
            stop_for_good(self.folder)
        return block

    def _reading(self):
        number = 1
        while True:
            try:
                (self.folder / f"reading-{number}").touch(exist_ok=False)
                return number
            except FileExistsError:
                number += 1


def make_mortal(name, folder):
    """Let the first call of a function that works on files stop for good; to be run on every worker."""
    from textspectra.texts import partition

    original = getattr(partition, name)

    def mortal(*arguments, **options):
        try:
            (folder / "called").touch(exist_ok=False)
        except FileExistsError:
            return original(*arguments, **options)
        return stop_for_good(folder)

    setattr(partition, name, mortal)


@pytest.fixture
def executioner(tmp_path):
    """Kill the worker that says that it is in the middle of a task."""
    folder = tmp_path / "readings"
    folder.mkdir()
    over = threading.Event()
    killed = []

    def watch():
        told = folder / "pid"
        while not over.wait(0.05):
            if told.exists() and told.read_text().endswith("\n") and not killed:
                killed.append(int(told.read_text()))
                os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    yield folder, killed
    over.set()
    thread.join()


KMEANS_STAGES = ["training rows", "pass", "pairs"]


@pytest.mark.parametrize("stage", range(len(KMEANS_STAGES)), ids=KMEANS_STAGES)
def test_kmeans_survives_the_death_of_a_worker_in_any_stage(client, blobs, executioner, stage, monkeypatch):
    monkeypatch.setattr("textspectra.core.discriminants.REFINED_ROWS", 900)
    X, _ = blobs
    expected = ts.AutoKMeans(6, random_state=0).fit(X)
    folder, killed = executioner
    there = ts.AutoKMeans(6, random_state=0).fit(read_by(X, Mortal(folder, stage + 1)))
    assert killed
    assert (there.labels_.compute() == expected.labels_).all()
    assert there.cohesion_ratio_ == pytest.approx(expected.cohesion_ratio_, rel=1e-5)


def read_by(X, mortal):
    return da.from_array(X, chunks=(SIZES, 16)).map_blocks(mortal, meta=X[:0])


def tree(X, truth):
    model = ts.AutoAgglomerative(6, random_state=0).fit(X)
    return [*model.labels_[:50], model.cohesion_ratio_]


CALLS = {
    "spectral estimate": lambda X, truth: ts.spectral_k(X, max_sample=99, random_state=0).interval,
    "estimate": lambda X, truth: [ts.estimate_k(X[:300], random_state=0).k],
    "tree": tree,
    "cohesion": lambda X, truth: [ts.cohesion_ratio(X, truth, random_state=0)],
    "evaluation": lambda X, truth: list(ts.evaluate(X, truth, truth, random_state=0).values()),
    "prediction": lambda X, truth: list(ts.AutoKMeans(3, random_state=0).fit(X).predict(X)[:50]),
}
READINGS = [("spectral estimate", 1), ("estimate", 1), ("estimate", 2), ("tree", 1), ("tree", 2), ("cohesion", 1),
            ("evaluation", 4), ("prediction", 6)]  # fmt: skip


@pytest.mark.parametrize(("call", "reading"), READINGS)
def test_every_call_survives_the_death_of_a_worker(client, blobs, executioner, call, reading, monkeypatch):
    monkeypatch.setattr("textspectra.core.clusters.HAC_EXACT_ROWS", 500)
    monkeypatch.setattr("textspectra.core.clusters.HAC_MICRO_CLUSTERS", 60)
    X, truth = blobs
    folder, killed = executioner
    found = CALLS[call](read_by(X, Mortal(folder, reading)), truth)
    assert [float(value) for value in found] == pytest.approx([float(v) for v in CALLS[call](X, truth)], rel=1e-4)
    assert killed


@pytest.mark.parametrize("step", ["embed_corpus", "load_new_vectors", "sample_file", "write_labeled"])
def test_files_survive_the_death_of_a_worker_in_any_step(client, texts, executioner, tmp_path, step):
    folder, killed = executioner
    client.run(make_mortal, step, folder)
    there = group_files(texts, tmp_path / "there", scheduler=client.scheduler.address)
    assert killed
    here = group_files(texts, tmp_path / "here")
    for column in ("message", "cluster", "cluster_name"):
        assert read_all(there.folder)[column].equals(read_all(here.folder)[column])


def test_without_workers_a_run_is_given_up(blobs, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(supervision, "PATIENCE", 1)
    with crew_of() as crew:
        with pytest.raises(ts.ExternalError, match="has had no worker for 1 seconds, so the run was given up"):
            ts.estimate_k(da.from_array(blobs[0], chunks=300))
        with pytest.raises(ts.ExternalError, match="has had no worker"):
            group_files(texts, tmp_path / "out", scheduler=crew.client.scheduler.address)
    assert not (tmp_path / "out").exists()


def test_when_the_last_worker_dies_a_run_is_given_up(blobs, executioner, monkeypatch):
    monkeypatch.setattr(supervision, "PATIENCE", 1)
    folder, killed = executioner
    with crew_of(""), pytest.raises(ts.ExternalError, match="has had no worker for 1 seconds"):
        ts.AutoKMeans(6, random_state=0).fit(read_by(blobs[0], Mortal(folder, 2)))
    assert killed


def test_when_the_last_worker_dies_nothing_is_half_written(texts, executioner, tmp_path, monkeypatch):
    monkeypatch.setattr(supervision, "PATIENCE", 1)
    folder, killed = executioner
    with crew_of("") as crew:
        crew.client.run(make_mortal, "write_labeled", folder)
        with pytest.raises(ts.ExternalError, match="has had no worker for 1 seconds"):
            group_files(texts, tmp_path / "out", scheduler=crew.client.scheduler.address)
    assert killed
    assert not (tmp_path / "out").exists()
    again = group_files(texts, tmp_path / "out")
    assert read_all(again.folder).select(["message"]).equals(read_all(texts).select(["message"]))


def die_once(folder, number):
    with suppress(FileExistsError):
        (folder / "died").touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    logging.getLogger("distributed.worker").error("as Dask does where it asks a dead worker for a result")
    return number


def test_workers_of_this_machine_survive_a_death_without_a_word(tmp_path, capfd):
    with Workers.at("local") as workers:
        assert workers.each(die_once, [(tmp_path, number) for number in range(6)]) == list(range(6))
    assert (tmp_path / "died").exists()
    assert capfd.readouterr() == ("", "")


def test_workers_of_this_machine_that_do_not_start_are_one_line(monkeypatch):
    def fails(**_):
        raise RuntimeError("Nanny failed to start.")  # what Dask says if one is killed meanwhile

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    with pytest.raises(ts.ExternalError, match="could not be started"), Workers.at("local"):
        pass


BROKEN = """
import sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "textspectra":
            raise ImportError("NumPy is too old")
sys.meta_path.insert(0, Finder)
"""
FOREIGN = {
    BROKEN: r"cannot import textspectra \(NumPy is too old\); fix its installation",
    "import textspectra; textspectra.__version__ = '0.0.1'": "has textspectra 0.0.1, but .* is running here",
    "import sys; sys.modules['textspectra'] = None": "does not have textspectra; install version .* on every worker",
}


@pytest.mark.parametrize(("preface", "message"), FOREIGN.items(), ids=["broken", "another version", "none"])
def test_a_worker_with_another_version_is_named(blobs, texts, tmp_path, preface, message):
    with crew_of("", preface) as crew:
        with pytest.raises(ts.ExternalError, match=r"The Dask worker tcp://\S+ " + message):
            ts.estimate_k(da.from_array(blobs[0], chunks=300))
        with pytest.raises(ts.ExternalError, match=message):
            group_files(texts, tmp_path / "out", scheduler=crew.client.scheduler.address)
    assert not (tmp_path / "out").exists()
