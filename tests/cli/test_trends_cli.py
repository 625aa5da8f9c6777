"""Dates and segments on the command line, from the outside."""

import json

import numpy as np
import pytest

pytest.importorskip("wordllama")

WORDS = ["parcel", "password", "subscription", "refund", "invoice", "printer"]


@pytest.fixture
def tickets(tmp_path):
    """Write tickets of six topics over six months; refunds grow, and passwords come by phone."""
    rng = np.random.default_rng(0)
    lines = ["id,received,channel,message"]
    for row in range(900):
        word = WORDS[row % 6]
        month = 1 + int(6 * (rng.random() ** (0.3 if word == "refund" else 1)))
        channel = "phone" if word == "password" and row % 4 else rng.choice(["web", "mail"])
        received = f"2025-{month:02d}-{1 + row % 28:02d}T10:00:00Z" if row else "someday"
        lines.append(f"T{row},{received},{channel},my {word} has a problem with item {row}")
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(lines))
    return path


OPTIONS = ("--clusters", 6, "--no-report", "--time", "received", "--by", "channel", "--show", "id")


def test_the_summary_says_what_changes_and_where(run, tickets, tmp_path):
    out = run("cluster", tickets, *OPTIONS, "--every", "month").out
    over_time, by_segment = out.split("Over time\n")[1].split("By segment\n")
    flat = " ".join(over_time.split())
    assert flat.startswith("· Texts per month: ")
    assert "· refund: growing from " in flat
    assert " last third), Jan to Jun 2025 · Tested: trends, bursts and any other difference between months, " in flat
    assert "of texts with channel phone, 17% (150 of 900) overall" in " ".join(by_segment.split())
    assert "1 row has no date that can be read, in 'received'; the first is 'someday' in row 1." in out
    recipe = json.loads((tmp_path / "tickets.model" / "clustering.json").read_text())["recipe"]["command"]
    assert recipe.endswith("--time received --every month --by channel --show id")


@pytest.mark.parametrize("split", [False, True])
def test_json_has_the_groups_over_time_and_by_segment(run, tickets, tmp_path, split):
    sources = [tickets]
    if split:
        header, *lines = tickets.read_text().split("\n")
        sources = [tmp_path / "a.csv", tmp_path / "b.csv"]
        for source, part in zip(sources, (lines[:500], lines[500:]), strict=True):
            source.write_text("\n".join([header, *part]))
    summary = json.loads(run("cluster", *sources, *OPTIONS, "--every", "month", "--json").out)
    assert sum(row["texts"] for row in summary["over_time"]) == 899
    assert {row["period"] for row in summary["over_time"]} >= {"2025-01-01", "2025-06-01"}
    assert len(summary["trends"]) == 6
    assert [row["cluster_name"] for row in summary["trends"] if row["kind"] == "growing"] == ["refund"]
    assert sum(row["texts"] for row in summary["by"]["channel"]) == 900
    growing = next(row for row in summary["trends"] if row["kind"] == "growing")
    assert growing["after"] == growing["texts_after"] / growing["total_after"] > growing["before"]
    assert {(row["period"], row["volume"]) for row in summary["over_time"]} >= {("2025-01-01", "usual")}
    assert summary["changes"]
    assert summary["differences"]
    assert "over_time" not in json.loads(run("cluster", sources[0], "--json", "--no-report", "--out", "plain").out)


def test_mistakes_are_explained_before_any_work(run, tickets):
    assert (
        "--every needs --time: the column that holds the dates."
        in run("cluster", tickets, "--every", "week", code=2).err
    )
    for options, message in {
        ("--time", "channel"): "the column 'channel' holds no dates; its first value is ",
        ("--time", "recieved"): "unknown column 'recieved'; did you mean 'received'?",
        ("--by", "channel", "--by", "channel"): "the column 'channel' is named twice",
        ("--show", "ids"): "unknown column 'ids'; did you mean 'id'?",
    }.items():
        code = 2 if "twice" in message else 3
        assert message in run("cluster", tickets, *options, code=code).err
    assert not tickets.with_name("tickets.model").exists()
