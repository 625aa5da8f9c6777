"""What the page knows of each row."""

import json

import numpy as np
from report_data import contents, unpack

import textspectra as ts
from textspectra.report import row_details
from textspectra.report.row_details import NO_DAY

TEXTS = ["b", "a", " ", "b", "c"]
VECTORS = [[0, 1], [1, 0], [0, 0], [0, 1], [1, 0.1]]
DAYS = ["2026-01-02", None, "2026-01-03", "1965-01-01", "2026-02-01"]


def test_each_row_has_its_day_segments_and_cells():
    result = ts.cluster_texts(
        TEXTS, embeddings=VECTORS, n_clusters=2, time=DAYS,
        by={"channel": ["web", "phone", None, "web", "web"]}, show={"id": ["1", None, "3", "4", "5"]},
    )  # fmt: skip
    meta, texts, blocks = contents(result)
    rows, positions = np.frombuffer(unpack(blocks["rows"]), "<u4").reshape(2, -1)
    assert [texts[i] for i in positions] == [TEXTS[row] for row in rows]
    days = np.frombuffer(unpack(blocks["days"]), "<i4")
    expected = [NO_DAY if day is None else int(np.datetime64(day).astype(int)) for day in DAYS]
    assert days.tolist() == [expected[row] for row in rows]
    values = meta["tally"]["segments"][0]["values"]
    assert [values[code] for code in unpack(blocks["codes"])] == ["web", "phone", "(missing)", "web", "web"]
    assert json.loads(unpack(blocks["cells"])) == ["1", "", "3", "4", "5"]
    assert meta["details"]["filters"]
    assert [(one["name"], one["kind"]) for one in meta["details"]["columns"]] == [
        ("time", "time"), ("channel", "segment"), ("id", "shown"),
    ]  # fmt: skip


def test_columns_have_names_of_their_own():
    result = ts.cluster_texts(
        TEXTS, embeddings=VECTORS, n_clusters=2, by={"cluster": list("ababa"), "same": list("xyxyx")},
        show={"text": TEXTS, "same": list("xyxyx")},
    )  # fmt: skip
    columns = contents(result)[0]["details"]["columns"]
    assert [(one["name"], one["title"], one["kind"], one["at"]) for one in columns] == [
        ("cluster_2", "cluster", "segment", 0), ("text_2", "text", "shown", 0), ("same", "same", "shown", 1),
    ]  # fmt: skip


def test_long_cells_are_cut(monkeypatch):
    monkeypatch.setattr(row_details, "MAX_CELLS", 100)
    result = ts.cluster_texts(TEXTS, embeddings=VECTORS, n_clusters=2, show={"id": ["x" * 500, *"abcd"]})
    meta, _, blocks = contents(result)
    assert meta["details"]["cut_at"] == 96
    assert json.loads(unpack(blocks["cells"])) == ["x" * 96 + "…", *"abcd"]
