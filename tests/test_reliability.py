"""Some damaged inputs of each kind, always the same, and every input that was ever found to break the program."""

from pathlib import Path

import pytest
from inputs import KINDS, case
from targets import try_case

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
