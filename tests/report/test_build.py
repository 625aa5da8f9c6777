"""The file of the report: written whole or not at all, from any result."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_data import contents, quick_map, read_page

import textspectra as ts
from textspectra.errors import UserError


@pytest.mark.parametrize(
    ("texts", "vectors", "k"),
    [
        (["one text"], [[1, 0]], 1),
        (["same"] * 5, [[1, 0]] * 5, 1),
        (["a", "b"], [[1, 0], [0, 1]], 2),
        ([f"text {i}" for i in range(30)], np.ones((30, 4)), 1),
        (["a", "", "🦄", "b"], [[1, 0], [0, 0], [0, 0], [0.5, 1]], 1),
    ],
)
def test_reports_of_next_to_nothing(texts, vectors, k, tmp_path):
    result = replace(ts.cluster_texts(texts, embeddings=vectors, n_clusters=k), notes=("a note",))
    path = tmp_path / "report.html"
    with quick_map():
        ts.write_report(result, str(path))
    meta, found, _ = read_page(path)
    assert meta["base"]["k"] == k == len(meta["base"]["nodes"])
    assert set(found) == set(texts)
    assert meta["about"]["texts"] == len(texts)
    assert meta["about"]["notes"] == ["a note"]
    assert meta["about"]["grouped"] == int((result.labels >= 0).sum())


def test_the_same_result_gives_the_same_report(result, page_data):
    assert contents(result)[2] == page_data[2]


def test_a_report_is_written_whole_or_not_at_all(result, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(UserError, match=re.escape(f"'{path}' exists already; use --overwrite or another --out")):
        ts.write_report(result, path)
    with pytest.raises(UserError, match="truth has 3 entries, but there are 700 texts"):
        ts.write_report(result, path, truth=["a", "b", "c"], overwrite=True)
    assert path.read_text() == "mine"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match=re.escape(f"The folder {tmp_path / 'no'} for the report does not exist.")):
        ts.write_report(result, tmp_path / "no" / "report.html")
    assert not (tmp_path / "no").exists()


def test_progress_is_reported(planted, tmp_path):
    X, _ = planted(2, 12)
    result = ts.cluster_texts([f"text {i}" for i in range(12)], embeddings=X, n_clusters=2)
    steps = []
    with quick_map():
        ts.write_report(result, tmp_path / "report.html", progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in steps)) == ["mapping", "reporting"]
    assert all(0 <= done <= total for _, done, total in steps)
