"""Some damaged inputs of each kind, always the same, and every input that was ever found to break the program."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from inputs import KINDS, case
from targets import try_case, watch

HARNESS = Path(__file__).parents[1] / "reliability"

CASES = {
    "bombs": 15, "settings": 6, "project settings": 12, "journal": 20, "workbook": 10, "text": 25,
    "parquet": 25, "model": 20,
}  # fmt: skip
"""How many cases take about a second of one processor; 40 of the other kinds."""


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_inputs_are_messages(kind):
    if kind == "server":
        pytest.importorskip("openai")
    if kind == "workbook":
        pytest.importorskip("python_calamine")
    found = {number: try_case(kind, *case(kind, number)) for number in range(CASES.get(kind, 40))}
    assert {number: trouble for number, trouble in found.items() if trouble} == {}


@pytest.mark.parametrize("path", sorted((HARNESS / "cases").glob("*-*")), ids=lambda path: path.name)
def test_what_broke_the_program_once_does_not_again(path):
    name, content = path.read_bytes().split(b"\n", 1)
    assert try_case(path.name.rpartition("-")[0], name.decode(), content) == ""


def test_cases_are_always_the_same():
    assert [case(kind, 7) for kind in KINDS if kind != "workbook"] == [
        case(kind, 7) for kind in KINDS if kind != "workbook"
    ]


TRESPASSES = {
    "write": lambda victim: (victim / "new").write_text("x"),
    "write through a link": lambda victim: Path("link", "note").write_text("x"),
    "read": lambda victim: (victim / "note").read_text(),
    "rename": lambda victim: Path("mine").rename(victim / "mine"),
    "delete": lambda victim: (victim / "note").unlink(),
    "delete in an open folder": lambda victim: shutil.rmtree(victim),
    "permissions": lambda victim: (victim / "note").chmod(0o777),
    "program": lambda victim: subprocess.run([sys.executable, "-V"], check=False),
    "connection": lambda victim: socket.create_connection(("127.0.0.1", 9)),
}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    place, victim = tmp_path / "place", tmp_path / "placebo"  # the name of one begins with that of the other
    place.mkdir()
    victim.mkdir()
    (place / "mine").write_text("x")
    (place / "link").symlink_to(victim)
    (victim / "note").write_text("x")
    monkeypatch.chdir(place)
    return place, victim


@pytest.mark.parametrize("act", TRESPASSES.values(), ids=TRESPASSES)
def test_the_watch_stops_what_is_done_outside_even_if_the_error_is_caught(folders, act):
    place, victim = folders
    outside = pytest.raises(AssertionError, match="done outside the folder")
    with outside, watch()(place, forbidden=victim), suppress(AssertionError):
        act(victim)
    assert [path.name for path in victim.iterdir()] == ["note"]


def test_the_watch_allows_what_is_done_inside(folders):
    place, victim = folders
    with watch()(place, forbidden=victim):
        Path("deep").mkdir()
        Path("deep", "new").write_text("x")
        Path("mine").rename("deep/mine")
        shutil.rmtree("deep")
        Path("link").unlink()
        Path(os.devnull).write_text("x")
        Path(__file__).read_text()
