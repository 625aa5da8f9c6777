"""`textspectra-study` as a person runs it."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import pytest
from study_factory import write_messages

import textspectra
from textspectra_study.command import run as run_command
from textspectra_study.tasks import TASKS

pytest.importorskip("wordllama")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make a folder with one small dataset."""
    folder = tmp_path_factory.mktemp("data")
    write_messages(folder / "messages.parquet")
    return folder


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the command in this process, and return what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def call(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["textspectra-study", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run_command()
        assert end.value.code == code
        printed = capsys.readouterr()
        return (printed.err if code else printed.out).strip()

    return call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--data", "nowhere"],
            "There is no folder nowhere. Give the folder of the labeled datasets with --data.",
        ),
        (["--models", "wordlama"], "error: Unknown model 'wordlama'. Did you mean wordllama?"),
        (["--sets", "cars"], "error: There is no dataset 'cars'; there are dbpedia_title, "),
        (
            ["--max-size", "many"],
            "Invalid value for --max-size: 'many' is neither a number of rows nor MODEL=N.",
        ),
        (["--max-size", "=9"], "Invalid value for --max-size: '=9' is neither a number of rows nor MODEL=N."),
        (["--sets", " , "], "Error: A list of names is empty. Separate names by commas."),
        (
            ["--max-size", "minilm=9"],
            "error: --max-size names minilm, which is not among the models: wordllama.",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_folder(command, data, tmp_path, arguments, message):
    code = 3 if "no folder" in message else 2
    assert message in command("run", "s", "--data", data, *arguments, code=code)
    assert not (tmp_path / "s").exists()


def test_the_papers_models_are_one_name_and_need_their_weights(command, data, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = command("run", "s", "--data", data, "--models", "paper", code=2)
    assert said.startswith(
        "error: The model 'intfloat/multilingual-e5-large-instruct' is not on this machine, and downloads are switched "
        "off (HF_HUB_OFFLINE or --offline)."
    )


def test_a_plan_says_time_memory_and_disk(command, data, tmp_path):
    measured = tmp_path / "resources.csv"
    header = "dataset,kind,size,model,task,status,seconds,peak_mb"
    measured.write_text(f"{header}\na,whole,60,m,optics,ok,7200,5120\na,whole,60,m,leiden,timed out after 9 s,0,0\n")
    said = command("plan", "s", "--data", data, "--jobs", "2", "--measured", measured).splitlines()
    n = len(TASKS)
    assert said[0] == f"{n} of {n} cells are left to compute."
    assert said[1] == "Embedding: 60 texts with wordllama, about 1 min."
    optics = "optics on messages-whole-60 with wordllama"
    assert said[2] == f"Time: about 2 h 00 min for the cells; the slowest, {optics}, takes 2 h 00 min."
    assert said[3] == f"Memory: up to 5.0 GB; the largest cell, {optics}, needs 5.0 GB."
    assert re.fullmatch(r"Disk: 0\.0 GB, and about as much for the cache of embeddings; \d+ GB are free\.", said[4])
    assert said[5].startswith("Not measured, and not counted: affinity_propagation, ")
    assert not (tmp_path / "s").exists()
    assert command("plan", "s", "--data", data, code=2).startswith("error: Nothing is measured yet. Run the smallest ")


def test_a_study_cannot_be_a_file(command, data, tmp_path):
    (tmp_path / "s").write_text("mine")
    said = command("run", "s", "--data", data, code=2)
    assert said == "error: The folder s/cells cannot be made: Not a directory."
    assert (tmp_path / "s").read_text() == "mine"


def test_both_packages_have_one_version(command):
    assert command("--version") == f"textspectra-study, version {textspectra.__version__}"


def test_an_option_can_be_a_variable(command, data, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_STUDY_RUN_SETS", "cars")
    assert "There is no dataset 'cars'" in command("run", "s", "--data", data, code=2)


def test_a_report_of_nothing_says_how_to_make_a_study(command):
    said = command("report", "s", code=3)
    assert said == "error: There is no study in s. Make one with `textspectra-study run s`."


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_study_is_stopped_reported_and_continued(command, data, tmp_path, monkeypatch):
    cells = tmp_path / "s" / "cells"
    arguments = ["run", "s", "--data", data, "--jobs", "2"]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "textspectra_study", *map(str, arguments)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell ignores it in the background
    )
    while process.poll() is None and not any(cells.glob("*.json")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130
    assert re.fullmatch(rb"stopped\b.*\n", said)  # one line, and no traceback of a cell
    before = {path.name: path.read_bytes() for path in cells.iterdir()}
    assert 0 < len(before) < len(TASKS)

    said = command("report", "s")
    assert said == f"{len(before)} of {len(TASKS)} cells; open s/report/index.html"
    said = command("report", "s", code=2)
    assert said.startswith("error: Use --overwrite or another --out; there is already s/report/index.html, ")
    command("report", "s", "--overwrite")

    for compiled_for_minutes in ("evoc", "umap_hdbscan"):
        monkeypatch.setitem(TASKS, compiled_for_minutes, TASKS[compiled_for_minutes]._replace(max_rows=1))
    assert command(*arguments).splitlines() == [
        f"{len(TASKS)} cells in s, 2 of them without numbers (the report says why).",
        "Next: textspectra-study report s",
    ]
    assert all((cells / name).read_bytes() == content for name, content in before.items())
