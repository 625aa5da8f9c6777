"""Several files at once, from the outside: the same outputs as for one file."""

import csv
import json

import pytest

pytest.importorskip("wordllama")

WORDS = ["parcel", "password", "subscription", "refund"]


@pytest.fixture
def months(tmp_path):
    """Write three CSV files, with a blank text and a text that two files have."""
    for month, name in enumerate(["july", "august", "september"]):
        lines = [f"{month}-{i},my {WORDS[i % 4]} has a problem with item {i // 4 + 5 * month}" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,message", *lines, f"{month}-x, ", ""]))
    return tmp_path


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_several_files_have_the_outputs_of_one(run, months):
    files = ["july.csv", "august.csv", "september.csv"]
    summary = json.loads(run("cluster", *files, "--clusters", 4, "--json", "--truth", "id").out)
    name = "july+august+september"
    expected = {"table": f"{name}.clusters", "model": f"{name}.model", "report": f"{name}.report.html"}
    assert summary["outputs"] == expected
    assert summary["texts"] == 123
    assert summary["blank_texts"] == 3
    assert summary["distinct_texts"] == 4 * 20
    tables = {file: read_csv(months / f"{name}.clusters" / file) for file in files}
    for file, table in tables.items():
        assert [row["id"] for row in table] == [row["id"] for row in read_csv(months / file)]
        assert [row["cluster"] == "" for row in table] == [not row["message"].strip() for row in table]
    labels = {row["message"]: row["cluster"] for table in tables.values() for row in table}
    assert all(labels[row["message"]] == row["cluster"] for table in tables.values() for row in table)
    assert (months / f"{name}.report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (
        "textspectra cluster july.csv august.csv september.csv"
        in json.loads((months / f"{name}.model" / "clustering.json").read_text())["recipe"]["command"]
    )
    run("predict", f"{name}.model", "july.csv")
    assert [row["cluster"] for row in read_csv(months / "july.predicted.csv")] == [
        row["cluster"] for row in tables["july.csv"]
    ]
    run("report", f"{name}.model", "--overwrite", "-q")


def test_a_pattern_gives_the_answer_of_the_joined_file(run, months):
    lines = [
        line
        for name in ("august", "july", "september")
        for line in (months / f"{name}.csv").read_text().split("\n")[1:]
    ]
    (months / "all.txt").write_text("id,message\n" + "\n".join(line for line in lines if line))
    (months / "all.txt").rename(months / "all.tsv.csv")
    one = json.loads(run("cluster", "all.tsv.csv", "--json", "--no-report", "--out", "one").out)
    many = json.loads(run("cluster", "[ajs]*[yrt].csv", "--json", "--no-report", "--out", "many").out)
    ours = ("texts", "distinct_texts", "blank_texts", "k", "k_interval", "k_confidence", "k_suggestions", "clusters")
    assert {name: many[name] for name in ours} == {name: one[name] for name in ours}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["july.csv", "-"], 2, "Standard input (-) cannot be combined with other files."),
        (["july.csv", "june.csv"], 3, "file not found: 'june.csv'"),
        (
            ["july.csv", "august.csv", "--embeddings", "v.npy"],
            2,
            "--embeddings must be a column of each file, but 'v.npy'",
        ),
        (["july.csv", "--scheduler", "local"], 2, "--scheduler is for many files"),
        (["*.txt"], 3, "no file matches '*.txt'"),
    ],
)
def test_mistakes_with_several_files(run, months, arguments, code, message):
    assert message in run("cluster", *arguments, code=code).err


EMPTY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "tickets.march.report.html"
    path.write_text("<!doctype html>", encoding="utf-8")
    return path


@pytest.fixture
def browser(tmp_path):
    """Name a program that notes which address it was given."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened', encoding="utf-8")
    script.chmod(0o755)
    return {"BROWSER": f"{script} %s"}


@pytest.mark.parametrize(
    "name", ["tickets.march.report.html", "tickets.march.csv.gz", "tickets.march.model", "tickets.march"]
)
def test_the_report_of_a_name_is_opened(run, report, browser, name):
    run("open", name, **browser)
    assert (report.parent / "opened").read_text(encoding="utf-8") == report.as_uri()


def test_without_a_browser_the_file_is_named(run, report, tmp_path):
    done = run("open", "tickets.march", PATH=str(tmp_path / "empty"), **EMPTY)
    message = "No browser could be opened; open this file in one: tickets.march.report.html\n"
    assert (done.out, done.err) == ("", message)


def test_without_a_report_it_is_said_how_to_make_one(run):
    expected = (
        "error: No report found for 'tickets.csv', such as tickets.report.html. "
        "Make one with `textspectra cluster FILE` or `textspectra report MODEL`.\n"
    )
    assert run("open", "tickets.csv", code=3).err == expected


def test_cluster_opens_its_report(run, browser, tmp_path):
    pytest.importorskip("wordllama")
    (tmp_path / "few.txt").write_text("red wine\nwhite wine\nbread\nbutter\n", encoding="utf-8")
    options = ("--model", "wordllama", "--clusters", 2, "--quiet", "--open")
    assert "--open needs the report" in run("cluster", "few.txt", *options, "--no-report", code=2).err
    run("cluster", "few.txt", *options, **browser)
    assert (tmp_path / "opened").read_text(encoding="utf-8") == (tmp_path / "few.report.html").as_uri()
