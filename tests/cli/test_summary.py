"""The summary of `textspectra cluster`, as data and for people."""

import io

from rich.console import Console

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import one_line, print_summary, summarize

WORDS = ["parcel", "password", "refund", "invoice"]


def test_the_summary_for_people_says_what_the_data_says(planted, tmp_path):
    X, truth = planted(4, 80, d=64, noise=0.1)
    texts = [f"my {WORDS[cluster]} number {row}" for row, cluster in enumerate(truth)]
    result = ts.cluster_texts([*texts, " "], embeddings=[*X, X[0]], n_clusters=4)
    summary = summarize(Done(result, "text", {"table": tmp_path / "t.csv"}), "t.csv", {"reading": 0.12345})
    assert (summary["k"], summary["texts"], summary["blank_texts"]) == (4, 81, 1)
    assert sum(cluster["share"] for cluster in summary["clusters"]) == 1
    assert summary["seconds"] == {"reading": 0.123}
    console = Console(file=io.StringIO(), width=200, highlight=False)
    print_summary(summary, console)
    printed = console.file.getvalue()
    assert "80 of 81 texts in 4 groups" in printed
    assert "1 blank text without a group." in printed
    assert all(cluster["name"] in printed for cluster in summary["clusters"])
    assert "mixed" not in printed
    summary["clusters"][1]["mixed"] = True
    print_summary(summary, console)
    assert f"mixed · {summary['clusters'][1]['keywords'][0]}" in console.file.getvalue()


def test_texts_have_one_line():
    assert one_line("a\x1b[31m\n b") == "a [31m b"
    assert one_line("x" * 100) == "x" * 89 + "…"
