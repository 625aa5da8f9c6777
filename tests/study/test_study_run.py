"""Running a study: cells in processes of their own, the store, the command, and being killed."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textspectra import __version__
from textspectra.errors import UserError
from textspectra_study.cells import CellProcess, Limits, Work
from textspectra_study.results import OK, Manifest, Variant
from textspectra_study.run import run_study
from textspectra_study.store import Planned, Store, cell_key
from textspectra_study.tasks import TASKS, tasks_of

pytest.importorskip("wordllama")

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"

GENEROUS = Limits(seconds=600, gigabytes=8)


def example_rows(intents):
    with EXAMPLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["message"].strip() and row["intent"] in intents]
    return [row["message"] for row in rows], [row["intent"] for row in rows]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make a folder with one small set: messages of the example."""
    folder = tmp_path_factory.mktemp("data")
    texts, labels = example_rows({"reset_password", "subscription_cancel"})
    pq.write_table(pa.table({"text": texts, "label": labels}), folder / "messages.parquet")
    return folder


@pytest.fixture
def work(tmp_path):
    """Build the work for one cell: a task on some rows around three directions."""

    def build(task, n=60, d=8, truth=None):
        rng = np.random.default_rng(0)
        classes = np.arange(n) % 3
        np.save(tmp_path / "v.npy", (np.eye(3, d)[classes] + 0.1 * rng.standard_normal((n, d))).astype(np.float32))
        return Work(task, tmp_path / "v.npy", np.arange(n), classes if truth is None else truth, 0)

    return build


def outcome_of(work, limits=GENEROUS):
    process = CellProcess(work, limits)
    process.connection.poll(None)
    return process.outcome()


def test_a_cell_has_scores_time_and_memory(work):
    outcome = outcome_of(work("kmeans_true"))
    assert outcome["status"] == OK
    assert outcome["values"]["k"] == 3
    assert outcome["values"]["ari"] == 1.0
    assert outcome["peak_mb"] > 10
    assert outcome["seconds"] > 0
    json.dumps(outcome, allow_nan=False)


def test_an_error_in_a_cell_is_its_outcome(work):
    outcome = outcome_of(work("kmeans_true", truth=np.arange(59)))
    assert outcome["status"].startswith("failed: ")
    assert outcome["values"] == {}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit address space, or nothing")
def test_a_cell_may_not_take_more_memory_than_allowed(work):
    outcome = outcome_of(work("affinity_propagation", n=5000), Limits(600, 0.3))
    assert outcome["status"].startswith("out of memory")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_is_told_by_its_signal(work):
    process = CellProcess(work("optics", n=4000), GENEROUS)
    os.kill(process._process.pid, signal.SIGSEGV)
    process.connection.poll(None)
    assert process.outcome()["status"] == "crashed (signal 11)"


def test_rows_without_a_direction_are_left_out(work):
    some = work("kmeans_true")
    vectors = np.load(some.vectors)
    vectors[7] = 0
    np.save(some.vectors, vectors)
    assert outcome_of(some)["values"]["k"] == 3


def test_limits_make_rows_and_the_others_go_on(data, tmp_path):
    results = run_study(tmp_path / "study", data=data, sets=["messages"], limits=Limits(0.02, 8), jobs=2)
    assert len(results.cells) == results.n_planned
    assert {cell.status for cell in results.cells} <= {OK, "timed out after 0.02 s"}
    late = [cell for cell in results.cells if cell.task == "umap_hdbscan"]
    assert late[0].status == "timed out after 0.02 s"


def test_what_is_too_large_says_so(data, tmp_path, monkeypatch):
    only(monkeypatch, "similarity", "optics")
    monkeypatch.setitem(TASKS, "optics", TASKS["optics"]._replace(max_rows=10))
    results = run_study(tmp_path / "study", data=data, sets=["messages"])
    told = {cell.task: cell.status for cell in results.cells}
    assert told["optics"] == "not run: n > 10"
    assert told["similarity"] == OK


def only(monkeypatch, *names):
    """Leave out all tasks but these."""
    for name in set(TASKS) - set(names):
        monkeypatch.setitem(TASKS, name, TASKS[name]._replace(max_rows=1))


def test_what_failed_is_computed_again_when_asked_for(data, tmp_path, monkeypatch):
    only(monkeypatch, "kmeans_true")

    def status(limits, **options):
        results = run_study(tmp_path / "study", data=data, sets=["messages"], limits=limits, **options)
        return next(results.of("kmeans_true")).status

    assert status(Limits(0.001, 8)) == "timed out after 0.001 s"
    assert status(GENEROUS) == "timed out after 0.001 s"
    assert status(GENEROUS, retry=True) == OK


def test_a_study_that_goes_on_reads_the_vectors_of_its_beginning(tmp_path, monkeypatch):
    texts, labels = example_rows({"reset_password", "subscription_cancel"})
    repeated = 1100 // len(texts) + 1
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"text": texts * repeated, "label": labels * repeated}), tmp_path / "data" / "a.parquet")
    only(monkeypatch, "kmeans_constant")
    for max_rows in (500, 1000):  # the second time only the larger samples are missing
        monkeypatch.setitem(TASKS, "kmeans_constant", TASKS["kmeans_constant"]._replace(max_rows=max_rows))
        run_study(tmp_path / "study", data=tmp_path / "data")
        for file in (tmp_path / "study" / "cells").iterdir():
            if b"not run: n > 500" in file.read_bytes():
                file.unlink()
    assert len(list((tmp_path / "study" / "vectors").iterdir())) == 1


def test_a_model_can_have_a_limit_of_its_own(tmp_path, monkeypatch):
    only(monkeypatch)
    texts, labels = example_rows({"reset_password", "subscription_cancel"})
    folder = tmp_path / "data"
    folder.mkdir()
    repeated = 600 // len(texts) + 1
    pq.write_table(pa.table({"text": texts * repeated, "label": labels * repeated}), folder / "many.parquet")
    results = run_study(tmp_path / "study", data=folder, max_size_of={"wordllama": 400})
    assert {cell.status for cell in results.cells} == {"not run: n > 400 for wordllama"}


def one_cell(folder, **changes):
    variant = Variant("bless", "whole", 200, 17, 0)
    planned = Planned(variant, "wordllama", "optics", cell_key(variant, "source", "optics"))
    store = Store(folder)
    store.check()
    store.begin(Manifest((), (variant,), ("wordllama",), 0), [planned])
    described = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(described | changes))
    return store, planned


def test_a_cell_that_is_stored_is_read_again(tmp_path):
    store, planned = one_cell(tmp_path / "s")
    assert store.get(planned) is None
    store.put(planned, {"status": OK, "values": {"k": 3}, "seconds": 1.5, "peak_mb": 9.0})
    results = Store(tmp_path / "s").read()
    assert results.n_planned == 1
    assert results.cells[0].values == {"k": 3}
    assert next(results.of("optics")).ok


def test_a_store_of_another_version_is_not_mixed_with_this_one(tmp_path):
    one_cell(tmp_path / "s", textspectra="0.0.1")
    with pytest.raises(
        UserError, match=rf"was written by textspectra 0.0.1, and this is {__version__}: one table must"
    ):
        one_cell(tmp_path / "s")
    assert len(Store(tmp_path / "s").read().cells) == 0


def test_a_store_in_another_format_is_not_read(tmp_path):
    one_cell(tmp_path / "s", format=99)
    with pytest.raises(
        UserError, match=r"in format 99, and this is .* Choose another folder, or install that version.$"
    ):
        Store(tmp_path / "s").read()


def test_a_damaged_cell_is_computed_again(tmp_path):
    store, planned = one_cell(tmp_path / "s")
    store.put(planned, {"status": OK, "values": {}, "seconds": 1.5, "peak_mb": 9.0})
    file = next((tmp_path / "s" / "cells").iterdir())
    for content in (b"", file.read_bytes()[:20], b"[]", b'{"status": "ok", "more": 1}'):
        file.write_bytes(content)
        assert store.get(planned) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"format": 1, "textspectra": __version__})])
def test_a_damaged_manifest_is_told_and_its_advice_works(tmp_path, content):
    store, _ = one_cell(tmp_path / "s")
    (tmp_path / "s" / "study.json").write_text(content)
    with pytest.raises(UserError, match=r"study.json is damaged; remove it and run the study again. Finished cells"):
        store.read()
    (tmp_path / "s" / "study.json").unlink()
    one_cell(tmp_path / "s")


def test_a_folder_with_other_things_is_not_written_to(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="has other files in it; choose a new or an empty folder for the study"):
        one_cell(tmp_path)


def test_the_key_follows_inputs_and_code(monkeypatch):
    variant = Variant("bless", "whole", 200, 17, 0)
    key = cell_key(variant, "source", "leiden")
    assert key == cell_key(variant, "source", "leiden")
    others = {
        cell_key(variant._replace(seed=1), "source", "leiden"),
        cell_key(variant, "other vectors", "leiden"),
        cell_key(variant, "source", "optics"),
    }
    monkeypatch.setattr("textspectra_study.store.code_digest", lambda of_task: "other code")
    others.add(cell_key(variant, "source", "leiden"))
    monkeypatch.undo()
    monkeypatch.setattr("textspectra_study.store.version", lambda name: "99")
    others.add(cell_key(variant, "source", "leiden"))
    assert len(others - {key}) == 5


def test_ablations_are_made_once_a_set():
    variants = [Variant("a", kind, size, 5, 0) for size in (500, 5000, 50_000) for kind in ("random", "stratified")]
    with_sweeps = [variant.name for variant in variants if "sweep-raw-1000" in tasks_of(variant, variants)]
    assert with_sweeps == ["a-stratified-5000"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "There is no folder nowhere. Give the folder of the labelled sets with --data."),
        (["--data", "{data}", "--models", "wordlama"], "There is no model 'wordlama'. Did you mean wordllama?"),
        (["--data", "{data}", "--sets", "cars"], "There is no set 'cars'. Known are: "),
        (["--data", "{data}", "--max-size", "many"], "'many' is neither a number of rows nor MODEL=N."),
        (["--data", "{data}", "--sets", " , "], "A list of names is empty; separate names by commas."),
        (["--data", "{data}", "--max-size", "minilm=9"], "There is a size for minilm, but the models are wordllama."),
    ],
)
def test_mistakes_get_one_line_and_no_store(run, data, tmp_path, arguments, message):
    done = run("study", "run", "s", *[part.format(data=data) for part in arguments], code=2)
    assert message in done.err
    assert not (tmp_path / "s").exists()


def test_a_study_of_nothing_is_a_mistake(tmp_path):
    texts, labels = [f"text {n}" for n in range(1200)], [n % 3 for n in range(1200)]
    pq.write_table(pa.table({"text": texts, "label": labels}), tmp_path / "large.parquet")
    with pytest.raises(UserError, match=r"^There is no sample with at most 400 rows; the smallest has 500\. Give a"):
        run_study(tmp_path / "s", data=tmp_path, max_size=400)
    assert not (tmp_path / "s").exists()


def test_a_study_cannot_be_a_file(run, data, tmp_path):
    (tmp_path / "s").write_text("mine")
    done = run("study", "run", "s", "--data", data, code=2)
    assert "'s' cannot be a folder for the outputs, because" in done.err
    assert (tmp_path / "s").read_text() == "mine"


def test_a_report_of_nothing_says_how_to_make_a_study(run):
    done = run("study", "report", "s", code=2)
    assert done.err.strip() == "error: There is no study in s: make one with `textspectra study run s`."


def table_of(run, folder, tmp_path):
    run("study", "report", folder)
    return (tmp_path / folder / "report" / "results.csv").read_bytes().splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_killed_three_times_a_study_ends_as_if_it_had_not_been(run, start, data, tmp_path):
    """A study in peace, and one killed at three random moments: equal rows, byte by byte."""
    for compiled_for_minutes in ("evoc", "umap"):  # so they are not installed, as far as this folder goes
        (tmp_path / f"{compiled_for_minutes}.py").write_text("raise ModuleNotFoundError(name=__name__)")
    done = run("study", "run", "peace", "--data", data, "--sets", "messages")
    assert "cells in peace, 2 of them without numbers" in done.out
    arguments = ["study", "run", "killed", "--data", data, "--sets", "messages"]
    cells = tmp_path / "killed" / "cells"
    for target in sorted(np.random.default_rng().integers(0, len(TASKS) - 1, 3).tolist()):
        process = start(*arguments, until=lambda target=target: len(list(cells.glob("*.json"))) >= target)
        process.kill()
        process.wait()
    run(*arguments)
    results = Store(tmp_path / "killed").read()
    assert len(results.cells) == results.n_planned
    rows = table_of(run, "killed", tmp_path)
    assert len(rows) == 16
    assert rows == table_of(run, "peace", tmp_path)
    told = run("study", "report", "peace", code=2).err
    assert "index.html'" in told
    assert "exist already; use --overwrite or another --out" in told


ENDLESS_CELL = """
import sys
import numpy as np
from textspectra_study.cells import CellProcess, Limits, Work
n = 30_000
np.save(sys.argv[1], np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32))
cell = CellProcess(Work("optics", sys.argv[1], np.arange(n), np.zeros(n, int), 0), Limits(3600, 8))
print("begun", flush=True)
cell.connection.poll(None)
"""
"""Minutes of work in a process that holds the standard output of its parent."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_cell_ends_with_a_study_that_is_killed(tmp_path):
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", ENDLESS_CELL, str(tmp_path / "v.npy")], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begun\n"
    process.kill()
    assert process.communicate(timeout=60) == (b"", None)  # the output is at its end when the last holder is gone


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_is_one_line_and_leaves_the_finished_cells(start, data, tmp_path):
    cells = tmp_path / "s" / "cells"
    arguments = ["study", "run", "s", "--data", data, "--jobs", "2"]
    process = start(*arguments, until=lambda: any(cells.glob("*.json")), output=subprocess.PIPE)
    os.killpg(process.pid, signal.SIGINT)
    told, _ = process.communicate()
    assert process.returncode == 130
    assert told.strip() == b"stopped. What is finished is kept: the same command goes on from there."
    assert Store(tmp_path / "s").read().cells
