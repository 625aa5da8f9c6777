"""`textspectra study` as a person runs it."""

import os
import signal
import subprocess
import sys
import warnings

import pytest
from study_factory import write_messages

from textspectra.cli.main import run as run_command
from textspectra_study.algorithms import ALGORITHMS
from textspectra_study.store import Store
from textspectra_study.tasks import TASKS

pytest.importorskip("wordllama")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make a folder with one small dataset."""
    folder = tmp_path_factory.mktemp("data")
    write_messages(folder / "messages.parquet")
    return folder


@pytest.fixture
def mistake(tmp_path, monkeypatch, capsys):
    """Run the command, in this process, and return the error that it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["textspectra", "study", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run_command()
        assert end.value.code == 2
        return capsys.readouterr().err.strip()

    return call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--data", "nowhere"],
            "There is no folder nowhere. Give the folder of the labelled datasets with --data.",
        ),
        (["--models", "wordlama"], "error: There is no model 'wordlama'. Did you mean wordllama?"),
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
def test_a_mistake_is_one_line_and_leaves_no_folder(mistake, data, tmp_path, arguments, message):
    assert message in mistake("run", "s", "--data", data, *arguments)
    assert not (tmp_path / "s").exists()


def test_a_study_cannot_be_a_file(mistake, data, tmp_path):
    (tmp_path / "s").write_text("mine")
    said = mistake("run", "s", "--data", data)
    assert said == "error: The folder s/cells cannot be made: Not a directory."
    assert (tmp_path / "s").read_text() == "mine"


def test_a_report_of_nothing_says_how_to_make_a_study(mistake):
    assert mistake("report", "s") == "error: There is no study in s. Make one with `textspectra study run s`."


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_study_is_stopped_continued_and_reported(start, run, mistake, data, tmp_path):
    for compiled_for_minutes in ("evoc", "umap"):  # as if they were not installed
        (tmp_path / f"{compiled_for_minutes}.py").write_text("raise ModuleNotFoundError(name=__name__)")
    cells = tmp_path / "s" / "cells"
    arguments = ["study", "run", "s", "--data", data]
    process = start(*arguments, "--jobs", "2", until=lambda: any(cells.glob("*.json")), output=subprocess.PIPE)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130
    assert said.strip() == b"stopped. What is finished is kept: the same command goes on from there."
    before = {path.name: path.read_bytes() for path in cells.iterdir()}
    assert 0 < len(Store(tmp_path / "s").read().cells) < len(TASKS)

    done = run(*arguments)
    assert f"{len(TASKS)} cells in s, 2 of them without numbers (the report says why)." in done.out
    assert all((cells / name).read_bytes() == content for name, content in before.items())

    assert f"{len(TASKS)} of {len(TASKS)} cells; open s/report/index.html" in run("study", "report", "s").out
    rows = (tmp_path / "s" / "report" / "results.csv").read_text().splitlines()
    assert len(rows) == 1 + len(ALGORITHMS)
    assert sum("is not installed: pip install" in row for row in rows) == 2
    said = mistake("report", "s")
    assert said.startswith("error: Use --overwrite or another --out; there is already s/report/index.html, ")
