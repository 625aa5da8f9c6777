"""`textspectra compare`, `update` and the novelty of `predict`, run as a person runs them."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from python_calamine import CalamineWorkbook

import textspectra as ts
from textspectra.files import lock

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery", "warranty", "coupon"]


def write_month(folder, name, classes, seed):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).standard_normal((8, 48))
    X = centers[classes] + 0.6 * rng.standard_normal((len(classes), 48))
    lines = [f"{seed}{row},web,my {WORDS[one]} question {seed}-{row}" for row, one in enumerate(classes)]
    (folder / f"{name}.csv").write_text("\n".join(["id,channel,message", *lines, ""]))
    np.save(folder / f"{name}.npy", X)


@pytest.fixture
def months(tmp_path, run):
    write_month(tmp_path, "september", np.arange(600) % 6, 0)
    write_month(tmp_path, "october", np.concatenate([np.arange(160) % 6, np.full(40, 7)]), 1)
    run("cluster", "september.csv", "--embeddings", "september.npy", "--clusters", 6, "--no-report", "-q")
    return tmp_path


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_compare_changes_nothing_and_update_takes_the_texts_in(run, months):
    before = ts.TextClustering.load(months / "september.model")
    said = run("compare", "september.model", "october.csv", "--embeddings", "october.npy")
    assert "1 new group in 200 texts against 6 groups of september.model" in said.out
    assert 0 < said.out.index("october.compared.html") < said.out.index("coupon")
    page = (months / "october.compared.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert len(ts.TextClustering.load(months / "september.model")) == 600
    rows = read_csv(months / "october.compared.csv")
    added = ["cluster", "cluster_name", "similarity", "cluster_coarse", "cluster_coarse_name"]
    assert list(rows[0]) == ["id", "channel", "message", *added, "novelty", "is_new"]
    assert {row["cluster"] for row in rows if row["is_new"] == "true"} == {"6"}

    summary = json.loads(
        run("update", "september.model", "october.csv", "--embeddings", "october.npy", "--no-report", "--json").out
    )
    assert [cluster["cluster"] for cluster in summary["new_clusters"]] == [6]
    assert summary["changes"][0].keys() >= {"cluster", "name", "status", "share_before", "share_after"}
    after = ts.TextClustering.load(months / "september.model")
    assert (after.labels[:600] == before.labels).all()
    assert [row["cluster"] for row in read_csv(months / "october.updated.csv")] == [str(x) for x in after.labels[600:]]
    again = run(
        "compare", "september.model", "october.csv", "--embeddings", "october.npy", "--no-report", "--overwrite"
    )
    assert "Nothing new in 200 texts against 7 groups" in again.out
    same = ["update", "september.model", "october.csv", "--embeddings", "october.npy", "--no-report", "--overwrite"]
    refused = run(*same, code=3)
    assert refused.err == (
        f"error: 'october.csv' went into this model on {after.history[-1].date} already, and every text would count "
        "twice. If that is what you want, use --again.\n"
    )
    assert len(ts.TextClustering.load(months / "september.model")) == 800
    assert run(*same, "--again").err == ""
    assert len(ts.TextClustering.load(months / "september.model")) == 1000
    first = ["update", "september.model", "september.csv", "--embeddings", "september.npy", "--no-report"]
    assert run(*first, code=3).err == (
        "error: 'september.csv' is in this model from the start, and every text would count twice. If that is what you "
        "want, use --again.\n"
    )
    (months / "september.csv").write_text((months / "september.csv").read_text().replace(",web,", ",mail,"))
    assert "warning: The model has every text of the file already. If the file was taken in before" in run(*first).err


def test_a_file_that_the_model_was_made_from_or_that_comes_twice_is_refused(run, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        vectors = (np.eye(8)[np.arange(60) % 6] + rng.random((60, 8)) / 9).tolist()
        rows = [{"text": f"{name} {WORDS[i % 6]} {i}", "vector": vector} for i, vector in enumerate(vectors)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "d.jsonl").write_text((tmp_path / "c.jsonl").read_text())
    options = ["--embeddings", "vector", "--no-report", "-q"]
    run("cluster", "a.jsonl", "b.jsonl", "--clusters", 6, *options)
    wanted = "and every text would count twice. If that is what you want, use --again."
    said = run("update", "a+b.model", "b.jsonl", *options, code=3)
    assert said.err == f"error: 'b.jsonl' is in this model from the start, {wanted}\n"
    said = run("update", "a+b.model", "c.jsonl", "d.jsonl", *options, code=3)
    assert said.err == f"error: 'd.jsonl' has the same content as 'c.jsonl', {wanted}\n"
    assert len(ts.TextClustering.load(tmp_path / "a+b.model")) == 120
    run("update", "a+b.model", "c.jsonl", "d.jsonl", "--again", *options)


def without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_result_that_cannot_be_printed_is_there_all_the_same(months):
    """The message said that nothing had changed, and the retry that it advised counted every text twice."""
    arguments = [*READING["compare"], "--overwrite"]
    written = "these are written: 'october.updated.csv', 'september.model'.\n"
    update = [sys.executable, "-m", "textspectra", "update", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(update, cwd=months, stdout=full, stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert (done.returncode, done.stderr) == (
        4, f"error: The result cannot be printed (No space left on device), but all is done, and {written}"
    )  # fmt: skip
    assert len(ts.TextClustering.load(months / "september.model")) == 800
    assert subprocess.run(update, cwd=months, stderr=subprocess.DEVNULL).returncode == 3  # noqa: S603
    assert len(ts.TextClustering.load(months / "september.model")) == 800
    closed = without_reader()
    done = subprocess.run([*update, "--again"], cwd=months, stdout=closed, stderr=subprocess.PIPE, text=True)  # noqa: S603
    os.close(closed)
    assert (done.returncode, done.stderr) == (
        141, f"warning: Nobody reads the result any more, but all is done, and {written}"
    )  # fmt: skip


def test_several_files_are_compared_together(run, months):
    write_month(months, "november", np.arange(90) % 6, 2)
    for name in ("october", "november"):
        X, rows = np.load(months / f"{name}.npy"), read_csv(months / f"{name}.csv")
        lines = [json.dumps({**row, "vector": x.tolist()}) for row, x in zip(rows, X, strict=True)]
        (months / f"{name}.jsonl").write_text("\n".join(lines))
    options = ["--embeddings", "vector", "--text-column", "message", "--json"]
    summary = json.loads(run("compare", "september.model", "october.jsonl", "november.jsonl", *options).out)
    assert summary["texts"] == 290
    folder = months / summary["outputs"]["table"]
    first, second = sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    rows = [json.loads(line) for path in (first, second) for line in path.read_text().splitlines()]
    assert [row["id"] for row in rows] == [row["id"] for name in ("october", "november") for row in
                                           read_csv(months / f"{name}.csv")]  # fmt: skip
    assert sum(row["is_new"] for row in rows) > 35
    refused = run("compare", "september.model", "october.jsonl", "november.jsonl", *options, code=2)
    assert "exists already" in refused.err


def test_predict_tells_novelty_and_warns_of_drift(run, months):
    said = run("predict", "september.model", "october.csv", "--embeddings", "october.npy", "--json")
    summary = json.loads(said.out)
    assert summary["drift"]
    assert summary["novelty"]["share_above_1"] > 0.2
    assert "out of date. See what is new with: textspectra compare september.model october.csv" in said.err
    rows = read_csv(months / "october.predicted.csv")
    assert list(rows[0])[-4:] == ["similarity", "cluster_coarse", "cluster_coarse_name", "novelty"]
    write_month(months, "same", np.arange(150) % 6, 3)
    calm = run("predict", "september.model", "same.csv", "--embeddings", "same.npy", "--json")
    assert not json.loads(calm.out)["drift"]
    assert "warning" not in calm.err


def test_compare_and_update_say_that_the_groups_are_out_of_date(run, months):
    given = ["september.model", "october.csv", "--embeddings", "october.npy", "--no-report"]
    predicted = json.loads(run("predict", *given[:4], "--json").out)
    for command in ("compare", "update"):
        summary = json.loads(run(command, *given, "--json").out)
        assert summary["drift"] is True
        assert summary["novelty"] == predicted["novelty"]
        share = round(100 * summary["novelty"]["share_above_1"])
        said = f"{share}% of the texts in october.csv are unlike the texts of the model, where 10% is usual"
        assert summary["notes"][0].startswith(f"{said}: its groups are out of date.")
    write_month(months, "same", np.arange(150) % 6, 3)
    calm = run("compare", "september.model", "same.csv", "--embeddings", "same.npy", "--no-report")
    assert "out of date" not in calm.out
    assert "same.csv (150 texts) compared with october.csv (200 texts), by share of the texts:" in calm.out


def test_a_workbook_has_a_sheet_of_changes(run, months):
    given = ["september.model", "october.csv", "--embeddings", "october.npy", "--no-report", "--format", "xlsx"]
    summary = json.loads(run("compare", *given, "--json").out)
    book = CalamineWorkbook.from_path(months / "october.compared.xlsx")
    assert book.sheet_names == ["texts", "groups", "changes"]
    header, *rows = book.get_sheet_by_name("changes").to_python()
    sizes = ["size_before", "size_after", "share_before", "share_after", "p"]
    assert header == ["cluster", "name", "status", *sizes, "mixed", "compared"]
    assert len(rows) == len(summary["changes"]) == 7
    assert rows[0][2] == "new"
    assert {row[-1] for row in rows} == {"october.csv (200 texts) compared with the model (600 texts)"}
    run("update", *given, "-q")
    assert CalamineWorkbook.from_path(months / "october.updated.xlsx").sheet_names == ["texts", "groups", "changes"]


def test_a_share_that_falls_while_the_number_stays_is_said_so(run, months):
    write_month(months, "doubled", np.concatenate([np.arange(600) % 6, np.full(600, 7)]), 4)
    said = run("compare", "september.model", "doubled.csv", "--embeddings", "doubled.npy", "--no-report").out
    words = " ".join(said.split())
    assert "New groups have 50% of the texts, which lowers the shares of the others." in words
    assert "Smaller share, about the same number of texts: " in words
    assert "(16.7% → 8.3%, 100 → 100 texts)" in words
    assert "Shrinking" not in words


def test_an_update_keeps_the_map_and_does_without_one(run, months):
    """The fixture has no report, so its model has no map, and gets none."""
    update = ("update", "september.model", "october.csv", "--embeddings", "october.npy", "-q", "--overwrite", "--again")
    run(*update)
    assert ts.TextClustering.load(months / "september.model").row_map.known is None
    run("cluster", "september.csv", "--embeddings", "september.npy", "--clusters", 6, "-q", "--overwrite")
    before = ts.TextClustering.load(months / "september.model")
    run(*update)
    after = ts.TextClustering.load(months / "september.model")
    np.testing.assert_array_equal(after.map_points()[:600], before.map_points())
    assert not np.isnan(after.map_points()).any()
    assert [cluster.color for cluster in after.clusters] == list(range(7))


def test_an_update_names_what_it_leaves_out_of_date(run, months):
    (months / "september.report.html").write_text("a page")
    given = ["september.model", "october.csv", "--embeddings", "october.npy", "--no-report"]
    assert json.loads(run("compare", *given, "--json").out)["outdated"] == []
    said = " ".join(run("update", *given).out.split())
    assert "september.report.html and september.clusters.csv do not have the new texts." in said
    assert "For a page of all texts: textspectra report september.model --overwrite" in said
    assert (months / "september.report.html").read_text() == "a page"


def test_two_updates_at_once_are_not_possible(run, months):
    with lock(months / "september.model"):
        said = run("update", "september.model", "october.csv", "--embeddings", "october.npy", code=4)
    assert said.err == (
        "error: 'september.model' is being changed by another process; try again when that has ended.\n"
    )
    assert not (months / "october.updated.csv").exists()
    assert not list(months.glob(".textspectra-*"))


READING = {
    "predict": ["september.model", "october.csv", "--embeddings", "october.npy"],
    "report": ["september.model", "--embeddings", "september.npy"],
    "compare": ["september.model", "october.csv", "--embeddings", "october.npy", "--no-report"],
}
WRITING = {
    "update": READING["compare"],
    "cluster": ["september.csv", "--embeddings", "september.npy", "--clusters", 6, "--no-report", "--overwrite"],
}


def tree(*folders):
    paths = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


def test_files_that_come_along_with_data_act_nowhere(run, months, tmp_path_factory):
    """A hidden journal in a downloaded folder once let any of these commands delete any path."""
    home = tmp_path_factory.mktemp("home")
    victims = [home / "victim", months.parent / "victim"]
    for victim in victims:
        (victim / "Documents").mkdir(parents=True)
        (victim / "Documents" / "letter.txt").write_text("kept")
    (months / "link").symlink_to(home / "victim")
    names = {"output": "Documents", "new": "Documents", "old": "Documents"}
    journal = json.dumps([{"folder": folder, **names} for folder in ("../victim", str(home / "victim"), "link")])
    for output in ("september.model", "september.clusters.csv", "october.compared.csv", "october.updated.csv"):
        (months / f".textspectra-{output}.switch").write_text(journal)
        (months / f".textspectra-commit-0123456789abcdef-{output}").write_text(journal)
        (months / f".textspectra-0123456789abcdef-{output}").symlink_to(home / "victim" / "Documents")
        (months / f".textspectra-lock-{output}").symlink_to(home / "victim" / "lock")
    outside, beside = tree(*victims), tree(months)
    ts.TextClustering.load(months / "september.model")
    assert tree(months) == beside
    for command, arguments in READING.items():
        run(command, *arguments, "-q")
    # Who reads a model touches nothing that was there before, but for what is named after its own output.
    kept = {path: content for path, content in beside.items() if "october.compared" not in path.name}
    assert tree(months).items() >= kept.items()
    for command, arguments in WRITING.items():
        run(command, *arguments, "-q")
    assert tree(*victims) == outside


def test_an_update_that_is_killed_leaves_the_model_as_it_was(months):
    before = {path.name: path.read_bytes() for path in (months / "september.model").iterdir()}
    program = (
        "import os, signal, textspectra.texts.storage as storage\n"
        "def kill(*args, **kwargs): os.kill(os.getpid(), signal.SIGKILL)\n"
        "storage.pq.write_table = kill\n"
        "from textspectra.cli import main\n"
        "main()\n"
    )
    options = ["update", "september.model", "october.csv", "--embeddings", "october.npy", "--no-report"]
    done = subprocess.run([sys.executable, "-c", program, *options], cwd=months, capture_output=True)  # noqa: S603
    assert done.returncode == -signal.SIGKILL
    assert {path.name: path.read_bytes() for path in (months / "september.model").iterdir()} == before
    again = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "textspectra", *options, "-q"], cwd=months, capture_output=True
    )
    assert again.returncode == 0, again.stderr


def test_a_model_that_is_not_there(run, months):
    said = run("update", "no.model", "october.csv", code=3)
    assert said.err == "error: No model folder at no.model.\n"
