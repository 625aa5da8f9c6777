"""Where outputs go, and which files the sources name."""

from pathlib import Path

import pytest

from textspectra.cli.inputs import find_files, place_outputs
from textspectra.errors import UsageError

OPTIONS = {"out": None, "no_report": False, "overwrite": False}


@pytest.mark.parametrize(
    ("sources", "names", "place"),
    [
        (["a.csv"], ["a.csv"], "a.csv"),
        (["-"], ["-"], "-"),
        (["a.csv", "a.csv", "d/b.csv"], ["a.csv", "d/b.csv"], "a+b"),
        (["?.csv"], ["a.csv", "c.csv"], "texts"),
        (["d/*.csv"], ["d/b.csv"], "d"),
        (["?.csv", "d/b.csv", "e.csv", "f.csv"], ["a.csv", "c.csv", "d/b.csv", "e.csv", "f.csv"], "a+4"),
    ],
)
def test_outputs_are_named_after_the_files(tmp_path, monkeypatch, sources, names, place):
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    for name in ("a.csv", "c.csv", "d/b.csv"):
        Path(name).touch()
    assert find_files(sources) == (names, Path(place))


def test_outputs_go_beside_the_input_or_into_the_folder_that_was_named(tmp_path):
    endings = {"table": ".clusters", "model": ".model", "report": ".report.html"}
    beside = place_outputs(tmp_path / "t", ".csv.gz", OPTIONS, **endings)
    assert [path.name for path in beside.values()] == ["t.clusters.csv.gz", "t.model", "t.report.html"]
    options = {**OPTIONS, "out": str(tmp_path / "new"), "no_report": True}
    assert place_outputs(Path("t"), None, options, **endings) == {
        "table": tmp_path / "new" / "t.clusters",
        "model": tmp_path / "new" / "t.model",
    }
    (tmp_path / "t.report.html").touch()
    with pytest.raises(UsageError, match="exists already; use --overwrite or another --out"):
        place_outputs(tmp_path / "t", ".csv", OPTIONS, **endings)
    with pytest.raises(UsageError, match=r"t\.report\.html' is a file"):
        place_outputs(tmp_path / "t.report.html" / "below" / "t", ".csv", OPTIONS, **endings)
