"""Running a study: limits, retries, continued runs, and being killed."""

import subprocess
import sys
from contextlib import suppress

import pytest
from study_factory import write_messages

from textspectra import UserError
from textspectra_study.cells import Limits
from textspectra_study.page.write import results_csv
from textspectra_study.results import OK
from textspectra_study.run import run_study
from textspectra_study.store import Store
from textspectra_study.tasks import TASKS

pytest.importorskip("wordllama")

GENEROUS = Limits(seconds=600, gigabytes=8)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make a folder with one small dataset."""
    folder = tmp_path_factory.mktemp("data")
    write_messages(folder / "messages.parquet")
    return folder


def only(monkeypatch, *names):
    """Leave out all tasks but these."""
    for name in set(TASKS) - set(names):
        monkeypatch.setitem(TASKS, name, TASKS[name]._replace(max_rows=1))


def test_a_cell_that_takes_too_long_does_not_stop_the_others(data, tmp_path, monkeypatch):
    only(monkeypatch, "umap_hdbscan", "optics", "similarity")
    results = run_study(tmp_path / "study", data=data, sets=["messages"], limits=Limits(0.02, 8), jobs=2)
    assert len(results.cells) == results.n_planned
    status = {cell.task: cell.status for cell in results.cells}
    assert status["umap_hdbscan"] == "timed out after 0.02 s"
    assert {status["optics"], status["similarity"]} <= {OK, "timed out after 0.02 s"}


def test_k_against_size_is_known_first(tmp_path, monkeypatch):
    only(monkeypatch, "similarity", "kmeans_constant", "kmeans_kest", "default")
    write_messages(tmp_path / "data" / "many.parquet", rows=1100)
    finished, put = [], Store.put

    def record(store, planned, outcome):
        put(store, planned, outcome)
        if outcome["status"] == OK:
            finished.append((planned.task, planned.variant.size))

    monkeypatch.setattr(Store, "put", record)
    run_study(tmp_path / "s", data=tmp_path / "data", jobs=1)
    assert sorted(finished[:4]) == sorted((task, 500) for task in 2 * ("kmeans_kest", "default"))
    assert sorted(finished[4:8]) == sorted((task, 1000) for task in 2 * ("kmeans_kest", "default"))
    assert [size for _, size in finished[8:]] == [500, 500, 1000, 1000, 1000]


def test_a_sample_above_the_limit_of_a_task_is_not_run(data, tmp_path, monkeypatch):
    only(monkeypatch, "similarity", "optics")
    monkeypatch.setitem(TASKS, "optics", TASKS["optics"]._replace(max_rows=10))
    results = run_study(tmp_path / "study", data=data, sets=["messages"])
    status = {cell.task: cell.status for cell in results.cells}
    assert status["optics"] == "not run: n > 10"
    assert status["similarity"] == OK


def test_failed_cells_are_computed_again_on_request(data, tmp_path, monkeypatch):
    only(monkeypatch, "kmeans_true")

    def status(limits, **options):
        results = run_study(tmp_path / "study", data=data, sets=["messages"], limits=limits, **options)
        return next(results.of("kmeans_true")).status

    assert status(Limits(0.001, 8)) == "timed out after 0.001 s"
    assert status(GENEROUS) == "timed out after 0.001 s"
    assert status(GENEROUS, retry=True) == OK


def test_a_continued_study_reads_the_vectors_of_its_first_run(tmp_path, monkeypatch):
    write_messages(tmp_path / "data" / "a.parquet", rows=1100)
    only(monkeypatch, "kmeans_constant")
    for max_rows in (500, 1000):  # the second time only the larger samples are missing
        monkeypatch.setitem(TASKS, "kmeans_constant", TASKS["kmeans_constant"]._replace(max_rows=max_rows))
        run_study(tmp_path / "study", data=tmp_path / "data")
    assert len(list((tmp_path / "study" / "vectors").iterdir())) == 1


def test_a_model_can_have_a_limit_of_its_own(tmp_path, monkeypatch):
    only(monkeypatch)
    write_messages(tmp_path / "data" / "many.parquet", rows=600)
    results = run_study(tmp_path / "study", data=tmp_path / "data", max_size_of={"wordllama": 400})
    assert {cell.status for cell in results.cells} == {"not run: n > 400 for wordllama"}
    results = run_study(tmp_path / "study", data=tmp_path / "data", max_size_of={"wordllama": 450})
    assert {cell.status for cell in results.cells} == {"not run: n > 450 for wordllama"}


def test_a_study_without_any_sample_is_an_error(tmp_path):
    write_messages(tmp_path / "data" / "large.parquet", rows=1200)
    with pytest.raises(UserError, match=r"^No sample has at most 400 rows; the smallest has 500\. Use a larger --max"):
        run_study(tmp_path / "s", data=tmp_path / "data", max_size=400)
    assert not (tmp_path / "s").exists()


FEW = ("hac_true", "kmeans_constant", "kmeans_true", "profile-hac", "similarity", "spectrum", "sweep-raw-200")

FEW_TASKS = f"""
import sys
from pathlib import Path
from textspectra_study.run import run_study
from textspectra_study.tasks import TASKS
for name in TASKS.keys() - set({FEW}):
    TASKS[name] = TASKS[name]._replace(max_rows=1)
run_study(Path(sys.argv[1]), data=Path(sys.argv[2]), jobs=1)
"""
"""A study as `only` leaves it, in a process that can be killed."""


def test_a_study_that_is_killed_and_continued_has_the_same_results(data, tmp_path, monkeypatch):
    only(monkeypatch, *FEW)
    expected = run_study(tmp_path / "whole", data=data)
    assert sum(cell.ok for cell in expected.cells) == len(FEW)
    cells = tmp_path / "killed" / "cells"
    skipped = len(expected.cells) - len(FEW)  # these are stored at once
    process = subprocess.Popen([sys.executable, "-c", FEW_TASKS, tmp_path / "killed", data])  # noqa: S603
    while process.poll() is None and len(list(cells.glob("*.json"))) < skipped + 2:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    process.kill()
    process.wait()
    assert skipped + 2 <= len(Store(tmp_path / "killed").read().cells) < len(expected.cells)
    found = run_study(tmp_path / "killed", data=data)
    assert results_csv(found) == results_csv(expected)
    assert [(cell.task, cell.values) for cell in found.cells] == [(cell.task, cell.values) for cell in expected.cells]
    assert not list((tmp_path / "killed").rglob("*.tmp"))
