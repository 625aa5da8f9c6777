"""The summary of `textspectra cluster`, as data and for people."""

import io

from rich.console import Console

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import one_line, print_clusters, print_summary, summarize

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


def described(label, size, mixed=False):
    return {
        "cluster": label, "name": f"group {label}", "size": size, "share": size / 1000, "cohesion": 2.0, "mixed": mixed,
        "keywords": ["a", "b"], "representatives": ["a long text " * 9], "representative_counts": [2],
    }  # fmt: skip


def test_groups_stand_under_their_themes_the_largest_theme_first():
    clusters = [described(label, 100 - label) for label in range(20)]
    shapes = {0: [0], 1: list(range(1, 9)), 2: [9, 10], 3: list(range(11, 19))}
    themes = [
        {"theme": number, "name": f"theme {number}", "clusters": labels, "share": 0.5,
         "size": sum(100 - label for label in labels)}
        for number, labels in shapes.items()
    ]  # fmt: skip
    console = Console(file=io.StringIO(), width=80, highlight=False)
    print_clusters(clusters, "other group", {"table": "t.csv"}, console, themes)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    names = [line[27:].split("·")[0].rstrip() for line in lines if "group " in line[27:] or "theme " in line[27:]]
    assert names[1:] == [
        "theme 1 (8 groups)", *(f"  group {label}" for label in [1, 2, 3, 4, 5]),
        "theme 3 (8 groups)", *(f"  group {label}" for label in [11, 12, 13]),
        "theme 2 (2 groups)", "  group 9", "  group 10",
        "group 0", "group 19",
    ]  # fmt: skip
    assert lines[-1] == "and 8 other groups: all are in t.csv"
    one = Console(file=io.StringIO(), width=80, highlight=False)
    print_clusters(clusters, "smaller group", {"table": "t.csv"}, one)
    assert "theme" not in one.file.getvalue()
    assert one.file.getvalue().count("group ") == 10 + 1


def test_texts_have_one_line():
    assert one_line("a\x1b[31m\n b") == "a [31m b"
    assert one_line("x" * 100) == "x" * 89 + "…"
