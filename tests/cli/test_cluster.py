"""Several files at once, and groups made elsewhere, from the outside: the same outputs as for one file."""

import csv
import json

import numpy as np
import pytest

import textspectra as ts

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


def test_the_map_is_two_columns_of_the_table(run, months):
    points = {}
    for sources, table in ((["july.csv"], "july.clusters.csv"), (["july.csv", "august.csv"], "july+august.clusters")):
        run("cluster", *sources, "--clusters", 4, "--map", "-q")
        path = months / table
        rows = read_csv(path if path.is_file() else path / "july.csv")
        assert [row["map_x"] == row["map_y"] == "" for row in rows] == [row["cluster"] == "" for row in rows]
        points[len(sources)] = np.array([[row["map_x"], row["map_y"]] for row in rows if row["map_x"]], float)
        assert np.abs(points[len(sources)]).max() <= 1
    drawn = ts.TextClustering.load(months / "july.model").map().to_numpy()
    np.testing.assert_allclose(points[1], drawn[~np.isnan(drawn[:, 0])], atol=1e-4)
    recipe = json.loads((months / "july.model" / "clustering.json").read_text())["recipe"]
    assert recipe["command"].endswith(" --map")


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


@pytest.fixture
def coded(tmp_path):
    """Write a CSV file with a column of names and a column of numbers, with gaps in both."""
    lines = [f"my {WORDS[i % 4]} has a problem with item {i},{WORDS[i % 4] if i > 1 else ''},{3 * (i % 4) - 3}"
             for i in range(40)]  # fmt: skip
    (tmp_path / "a.csv").write_text("\n".join(["message,code,number", *lines]))
    return tmp_path


def test_groups_made_elsewhere_have_the_outputs_of_a_clustering(run, coded):
    options = ("--labels", "code", "--text-column", "message", "--model", "wordllama")
    summary = json.loads(run("describe", "a.csv", *options, "--json").out)
    assert (summary["k"], summary["texts_without_label"], summary["algorithm"]) == (4, 2, "given")
    assert sorted(cluster["name"] for cluster in summary["clusters"]) == sorted(WORDS)
    table = read_csv(coded / "a.clusters.csv")
    assert [row["cluster_name"] for row in table] == [row["code"] for row in table]
    recipe = json.loads((coded / "a.model" / "clustering.json").read_text())["recipe"]
    assert recipe["command"] == (
        "textspectra describe a.csv --labels code --text-column message --model wordllama --seed 0"
    )
    run("predict", "a.model", "a.csv", "--text-column", "message")
    predicted = read_csv(coded / "a.predicted.csv")
    assert all(row["cluster_name"] == row["code"] for row in predicted if row["code"])
    assert "38 of 40 texts in 4 groups, by their labels" in run("describe", "a.csv", *options, "--overwrite").out


def test_numbers_are_labels_and_negative_ones_are_noise(run, coded):
    run("describe", "a.csv", "--labels", "number", "--text-column", "message", "--model", "wordllama", "--no-report")
    table = read_csv(coded / "a.clusters.csv")
    assert [row["cluster"] for row in table] == [row["number"].replace("-3", "") for row in table]
    error = run("describe", "a.csv", "--labels", "cod", "--text-column", "message", "--overwrite", code=3).err
    assert "unknown column 'cod'; did you mean 'code'?" in error


def test_known_groups_come_from_a_table(run, months):
    (months / "known.csv").write_text(
        "name,example\nlogin,my password has a problem\nlogin,problem with password\nmoney,my refund has a problem\n"
    )
    run("cluster", "july.csv", "--known", "known.csv", "--clusters", 4, "--no-report", "-q")
    groups = {row["message"].split()[1]: row["cluster_name"] for row in read_csv(months / "july.clusters.csv")[:40]}
    assert (groups["password"], groups["refund"]) == ("login", "money")
    recipe = json.loads((months / "july.model" / "clustering.json").read_text())["recipe"]
    assert "--known known.csv" in recipe["command"]
    assert json.loads(recipe["known"])["money"] == ["my refund has a problem"]
    assert "as you asked" not in run("cluster", "july.csv", "--known", "known.csv", "--overwrite").out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,text\na,b\n", "example"),
        ("group,example\na,b\n", "name"),
        ("name,example\n ,my refund\n", "the name in row 1 is blank; every example needs the name of its group."),
        ("name,example\na, \n", "The known group 'a' has no example; give at least one text."),
    ],
)
def test_a_table_of_known_groups_that_does_not_fit_is_refused(run, months, content, message):
    (months / "known.csv").write_text(content)
    done = run("cluster", "july.csv", "--known", "known.csv", code=3)
    assert message in done.err


def test_known_groups_are_for_one_file(run, months):
    done = run("cluster", "july.csv", "august.csv", "--known", "known.csv", code=2)
    assert "--known is for one file" in done.err


FLIGHTS = "\n".join(
    [
        "text",
        *(
            f"@{who} my {what} is {how}"
            for who in ("ann", "bob")
            for what in ("bag", "seat")
            for how in ("late", "lost", "wet")
        ),
        "@ann",
        "",
    ]
)


def test_words_to_ignore_and_stop_words_are_settings_of_the_result(run, tmp_path):
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    (tmp_path / "words.txt").write_bytes("\ufeff# filler\nlate\n\nLost\n".encode())
    (tmp_path / "textspectra.toml").write_text('ignore = ["handles", "/x+y/"]\n')
    options = ("--model", "wordllama", "--clusters", 2, "--no-report", "--json")
    summary = json.loads(run("cluster", "flights.csv", "--stop-words", "words.txt", *options).out)
    assert summary["texts_without_content"] == 1
    assert summary["notes"] == [
        "1 text has no words left after --ignore and stays without a group.",
        "--ignore '/x+y/' matches none of the texts.",
    ]
    words = {word for cluster in summary["clusters"] for word in cluster["keywords"]}
    assert words.isdisjoint(["ann", "bob", "late", "lost"])
    assert "wet" in words
    model = ts.TextClustering.load(tmp_path / "flights.model")
    assert (model.corpus.ignore, model.stop_words) == (("handles", "/x+y/"), ("late", "lost"))
    assert "--ignore handles --ignore /x+y/" in model.recipe["command"]
    assert "--stop-words words.txt" in model.recipe["command"]
    (tmp_path / "textspectra.toml").unlink()
    predicted = json.loads(run("predict", "flights.model", "flights.csv", "--json").out)
    assert (predicted["without_cluster"], predicted["notes"]) == (1, summary["notes"][:1])
    run("report", "flights.model", "-q")
    page = run("describe", "flights.clusters.csv", "--labels", "cluster", "--ignore", "bag", "--json", "--no-report")
    assert "bag" not in {word for cluster in json.loads(page.out)["clusters"] for word in cluster["keywords"]}
    estimated = run("estimate", "flights.csv", "--model", "wordllama", "--ignore", "@*", "--ignore", "/x+y/")
    assert "--ignore '/x+y/' matches none of the texts." in estimated.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "file not found: 'words.txt'"),
        (b"# nothing\n\n", "--stop-words 'words.txt' has no words; give one word per line."),
        (b"late\nvery late\n", "--stop-words 'words.txt', line 2: 'very late' is not one word; write one per line."),
        (b"sch\xf6n\n", "--stop-words 'words.txt' is not in UTF-8; save it as UTF-8."),
        (b"late\n" * 300_000, "--stop-words 'words.txt' is larger than 1 MB; shorten it."),
    ],
)
def test_a_bad_file_of_stop_words_is_refused(call, tmp_path, content, message):
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    if content is not None:
        (tmp_path / "words.txt").write_bytes(content)
    assert message in call("cluster", "flights.csv", "--stop-words", "words.txt", code=3).err


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("/(a/", "The expression '/(a/' to ignore cannot be used: missing ) at character 3 between the slashes."),
        (
            "*",
            "None of the 13 texts has a word left after --ignore, such as '@ann my bag is late'; ignore fewer words.",
        ),
        (" ", "ignore has ' ', which is blank; leave it out."),
    ],
)
def test_bad_words_to_ignore_are_refused(call, tmp_path, pattern, message):
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    said = call("cluster", "flights.csv", "--ignore", pattern, code=3).err
    assert message in " ".join(said.split())
