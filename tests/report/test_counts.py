"""The counts of all nodes over time and by segments, as the page has them."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from report_data import contents, cut_labels, unpack

import textspectra as ts
from textspectra.report import counts as report_counts
from textspectra.report.counts import NO_DAY, binomial_p
from textspectra.texts.shares import LEVEL, compare_shares
from textspectra.texts.tally import tally_rows


@pytest.fixture(scope="module")
def counted(planted):
    X, truth = planted(6, 600, noise=0.25, seed=1)
    rng = np.random.default_rng(0)
    month = rng.integers(1, 7, 600)
    month[truth == 0] = np.sqrt(rng.integers(1, 49, (truth == 0).sum())).astype(int)
    days = [None if i % 50 == 0 else f"2026-{m:02d}-15" for i, m in enumerate(month)]
    channel = np.where(truth == 1, "phone", rng.choice(["web", "app"], 600)).tolist()
    texts = [f"{'abcdef'[cluster]} number {i // 2 if i < 30 else i}" for i, cluster in enumerate(truth)]
    return ts.cluster_texts(
        texts, embeddings=X, n_clusters=8, time=days, by={"channel": channel, "half": ["x", "y"] * 300}, every="month"
    )


@pytest.fixture(scope="module")
def page(counted):
    return contents(counted)


def tables(page):
    """Return the counts of the nodes by period, and by the values of each segment."""
    meta, _, blocks = page
    n_nodes, tally = len(meta["nodes"]["size"]), meta["tally"]

    def read(name):
        return np.frombuffer(unpack(blocks[name]), "<u4").reshape(n_nodes, -1)

    return read("periods"), [read(f"segment{number}") for number in range(len(tally["segments"]))]


@pytest.mark.parametrize("k", [1, 3, 8, 20])
def test_counts_of_every_cut_are_those_of_its_rows(counted, page, k):
    periods, segments = tables(page)
    cut = counted.cut(k)
    of_label = cut_labels(page[0], k)[1]
    assert sorted(of_label) == [cluster.label for cluster in cut.clusters]
    for position, cluster in enumerate(cut.clusters):
        node = of_label[cluster.label]
        np.testing.assert_array_equal(periods[node], cut.tally.by_period[position])
        for table, expected in zip(segments, cut.tally.segments.values(), strict=True):
            np.testing.assert_array_equal(table[node], expected.counts[position])


def test_the_groups_of_the_result_have_its_tests(counted, page):
    meta, _, blocks = page
    trends, nodes, time = counted.tally.trends, meta["base"]["nodes"], meta["tally"]["time"]
    assert [time["kind"][node] for node in nodes] == trends.kind
    assert "growing" in trends.kind
    assert time["kind"][-1] == "steady"  # all texts together
    assert time["names"] == [f"{month} 2026" for month in ("Jan", "Feb", "Mar", "Apr", "May", "Jun")]
    frame = counted.by("channel")
    width = len(meta["tally"]["segments"][0]["values"])
    marks = np.unpackbits(np.frombuffer(unpack(blocks["marks0"]), "u1"), bitorder="little")
    marks = marks[: len(meta["nodes"]["size"]) * width].reshape(-1, width)
    np.testing.assert_array_equal(marks[nodes].ravel(), frame["p"] < LEVEL)
    assert marks[nodes].any()
    assert not marks[-1].any()


def test_without_rows_only_merged_groups_are_known(counted, page):
    meta, _, blocks = less = contents(replace(counted, details=None))
    known = np.array(meta["tally"]["known"])
    of_label = cut_labels(meta, 20)[1]
    assert not all(known[node] for node in of_label.values())
    whole, _ = tables(page)
    part, _ = tables(less)
    for k in (1, 2, 8):
        assert all(known[node] for node in cut_labels(meta, k)[1].values())
    np.testing.assert_array_equal(part[known], whole[known])
    assert not meta["details"]["filters"]
    assert not {"days", "codes", "cells"} & set(blocks)


def test_the_test_of_other_nodes_is_close_to_fishers_and_no_bolder():
    counts = np.random.default_rng(0).poisson([0.5, 3, 30, 300], (200, 4))
    counts[0] = 9, 9, 9, 9
    totals, sizes = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    exact = compare_shares(counts, totals, sizes - counts, totals.sum() - totals)
    np.testing.assert_allclose(binomial_p(counts, totals), exact, atol=0.01)
    half = np.array([[60, 240], [40, 260]])
    p = binomial_p(half, half.sum(axis=0))
    assert (p > compare_shares(half, half.sum(axis=0), half[::-1], 600 - half.sum(axis=0))).all()


def test_one_period_and_no_dates(planted):
    X, _ = planted(2, 12)
    texts = [f"text {i}" for i in range(12)]
    one = ts.cluster_texts(texts, embeddings=X, n_clusters=2, time=["2026-01-01"] * 12, every="month")
    assert set(contents(one)[0]["tally"]["time"]["kind"]) == {"steady"}
    none = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
    meta, _, blocks = contents(none)
    assert meta["tally"] == {"time": None, "segments": [], "known": []}
    assert meta["details"] == {"columns": [], "cut_at": None, "filters": False}
    assert meta["changes"] is None
    assert tally_rows(one.details, one.labels, 2, "month").by_period.sum() == 12
    assert not {"periods", "days", "cells"} & set(blocks)


def test_periods_of_a_day_keep_their_counts(planted):
    X, _ = planted(2, 90)
    days = [str(np.datetime64("2026-01-01") + i) for i in range(90)]
    result = ts.cluster_texts([f"t {i}" for i in range(90)], embeddings=X, n_clusters=2, time=days, every="day")
    page = contents(result)
    periods, _ = tables(page)
    assert periods.shape[1] == 90
    assert Counter(periods[-1].tolist()) == {1: 90}


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
    assert [(column["name"], column["kind"]) for column in meta["details"]["columns"]] == [
        ("time", "time"), ("channel", "segment"), ("id", "shown"),
    ]  # fmt: skip


def test_columns_have_names_of_their_own():
    result = ts.cluster_texts(
        TEXTS, embeddings=VECTORS, n_clusters=2, by={"cluster": list("ababa"), "same": list("xyxyx")},
        show={"text": TEXTS, "same": list("xyxyx")},
    )  # fmt: skip
    columns = contents(result)[0]["details"]["columns"]
    assert [(column["name"], column["title"], column["kind"], column["at"]) for column in columns] == [
        ("cluster_2", "cluster", "segment", 0), ("text_2", "text", "shown", 0), ("same", "same", "shown", 1),
    ]  # fmt: skip


def test_long_cells_are_cut(monkeypatch):
    monkeypatch.setattr(report_counts, "MAX_CELL_CHARACTERS", 100)
    result = ts.cluster_texts(TEXTS, embeddings=VECTORS, n_clusters=2, show={"id": ["x" * 500, *"abcd"]})
    meta, _, blocks = contents(result)
    assert meta["details"]["cut_at"] == 96
    assert json.loads(unpack(blocks["cells"])) == ["x" * 96 + "…", *"abcd"]
