"""`textspectra apply`, run as a person runs it: the model and the table beside it."""

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from report_data import quick_map, read_page

import textspectra as ts
from textspectra.cli.cluster import run_cluster
from textspectra.cli.main import root
from textspectra.cli.output import Stages
from textspectra.core.kmeans import same_clusters
from textspectra.errors import ExternalError, UserError
from textspectra.report.build import corpus_fingerprint, grouping_mark
from textspectra.report.state import CHANGED, FORMAT
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery"]


@pytest.fixture(scope="module")
def clustered(planted, tmp_path_factory):
    """Write a table with its vectors, and group it; the groups differ in size, so that a merge changes their order."""
    folder = tmp_path_factory.mktemp("clustered")
    X, truth = planted(6, 120, d=512, noise=0.1)
    keep = np.flatnonzero(np.arange(120) >= 6 * truth)
    lines = [f"{i},{'=' if i % 9 == 0 else ''}my {WORDS[truth[i]]} number {i}" for i in keep]
    (folder / "x.csv").write_text("\n".join(["id,message", *lines, "999,", ""]))
    np.save(folder / "x.npy", np.vstack([X[keep], X[:1]]))
    cluster(folder, "x.csv")
    return folder


@pytest.fixture
def folder(clustered, tmp_path, monkeypatch):
    shutil.copytree(clustered, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cluster(folder, name, **options):
    vectors = str(folder / "x.npy")
    run_cluster(
        [str(folder / name)], Stages(None), embeddings=vectors, clusters="6", no_report=True, overwrite=True, **options
    )


def apply(*options, model="x.model"):
    """Run the command in this process, and return what it prints."""
    arguments = ["apply", "state.json", model, "--embeddings", "x.npy", *options]
    return CliRunner().invoke(root, arguments, catch_exceptions=False).output


def load(folder, name="x.model"):
    return ts.TextClustering.load(folder / name, embeddings=np.load(folder / "x.npy"))


def write_state(folder, result, names, base=None):
    """Write what "Download JSON" writes for a result with some groups renamed, which is a cut of the base."""
    clusters = [
        {"cluster": cluster.label, "name": names.get(cluster.label, cluster.name), "size": cluster.size}
        for cluster in result.clusters
    ]
    marks = {"fingerprint": corpus_fingerprint(result.corpus), "grouping": grouping_mark(base or result)}
    state = {"format": FORMAT, **marks, "edited": False, "clusters": clusters}
    (folder / "state.json").write_text(json.dumps(state))


def read_csv(path, opener=open):
    with opener(path, "rt", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def clusters_of(result):
    return [
        ("" if label < 0 else str(label), name or "") for label, name in zip(result.labels, result.names, strict=True)
    ]


def test_a_workbook_keeps_its_sheet_of_groups(folder):
    pytest.importorskip("python_calamine")
    pytest.importorskip("xlsxwriter")
    cluster(folder, "x.csv", table_format=TableFormat.XLSX)
    (folder / "x.clusters.csv").unlink()
    write_state(folder, load(folder), {2: "=delivery"})
    assert "every text with its group: x.clusters.xlsx" in apply()
    table = read_table("x.clusters.xlsx", text_column="message").table
    clusters = read_table("x.clusters.xlsx", text_column="name", sheet="groups").table.to_pylist()
    clusters.sort(key=lambda cluster: cluster["cluster"])  # they stand by their themes
    assert clusters[2]["name"] == "=delivery"
    assert [cluster["size"] for cluster in clusters] == np.bincount(table["cluster"].drop_null()).tolist()
    assert "=delivery" in table["cluster_name"].to_pylist()


def test_names_reach_the_model_and_the_table(folder):
    before = load(folder)
    write_state(folder, before, {2: "my, “own” name", 5: before.clusters[5].name})
    table = read_csv(folder / "x.clusters.csv")
    assert apply() == "x.model: 1 group renamed, 5 groups unchanged\nevery text with its group: x.clusters.csv\n"
    after = load(folder)
    assert (after.labels == before.labels).all()
    assert [cluster.name for cluster in after.clusters] == [
        "my, “own” name" if cluster.label == 2 else cluster.name for cluster in before.clusters
    ]
    rows = read_csv(folder / "x.clusters.csv")
    assert [(row["cluster"], row["cluster_name"]) for row in rows] == clusters_of(after)
    for name in ("id", "message", "cluster", "similarity"):
        assert [row[name] for row in rows] == [row[name] for row in table]
    assert apply().startswith("x.model: 6 groups unchanged\n")
    in_python = before.apply(folder / "state.json")
    assert [cluster.name for cluster in in_python.clusters] == [cluster.name for cluster in after.clusters]


@pytest.mark.parametrize(("k", "told"), [(4, "merged into"), (9, "split into")])
def test_groups_that_stay_the_same_keep_their_number(folder, k, told):
    before = load(folder)
    cut = before.cut(k)
    same = same_clusters(before.distinct_codes, cut.distinct_codes)
    write_state(folder, cut, {}, base=before)
    assert (
        apply().splitlines()[0]
        == f"x.model: {6 - len(same)} groups {told} {k - len(same)}, {len(same)} groups unchanged"
    )
    after = load(folder)
    assert len(same) > 1
    for label in same.values():
        np.testing.assert_array_equal(after.labels == label, before.labels == label)
        assert after.clusters[after.position(label)].name == before.clusters[label].name
    new = [cluster.label for cluster in after.clusters if cluster.label not in same.values()]
    assert new == list(range(6, 6 + k - len(same)))  # no label is given twice
    assert [(row["cluster"], row["cluster_name"]) for row in read_csv(folder / "x.clusters.csv")] == clusters_of(after)


def test_the_report_beside_the_model_follows(folder):
    before = load(folder)
    page = folder / "x.report.html"
    with quick_map():
        ts.write_report(before, page)
        write_state(folder, before.cut(4), {}, base=before)
        assert apply().splitlines()[2] == "open this in a browser: x.report.html"
        after = load(folder)
        meta, _, _ = read_page(page)
        assert meta["base"]["labels"] == [cluster.label for cluster in after.clusters]
        assert meta["about"]["grouping"] == grouping_mark(after)
        ts.write_report(after, page, truth=after.labels, overwrite=True)
        there = page.read_bytes()
        write_state(folder, after, {after.clusters[0].label: "new"})
        told = "x.report.html compares with a ground truth, which the model does not have, so it was left alone; "
        assert apply().splitlines()[2] == f"{told}--overwrite replaces it"
        assert page.read_bytes() == there
        page.write_text("<p>my own page</p>")
        write_state(folder, load(folder), {after.clusters[0].label: "newer"})
        assert "x.report.html is not a report of these texts, so it was left alone" in apply()
        assert page.read_text() == "<p>my own page</p>"
        apply("--overwrite")
        assert "newer" in read_page(page)[0]["nodes"]["name"]


def test_without_vectors_names_are_applied_and_the_report_stays(folder):
    before = load(folder)
    page = folder / "x.report.html"
    with quick_map():
        ts.write_report(before, page)
    there = page.read_bytes()
    write_state(folder, before, {0: "new"})
    out = CliRunner().invoke(root, ["apply", "state.json", "x.model"], catch_exceptions=False).output
    assert out.splitlines()[2].startswith("x.report.html still has the groups from before: ")
    assert load(folder).clusters[0].name == "new"
    assert page.read_bytes() == there


def test_a_table_for_excel_keeps_its_mark(folder):
    cluster(folder, "x.csv", table_format=TableFormat.EXCEL_CSV)
    write_state(folder, load(folder), {0: "Rückgabe"})
    apply()
    content = (folder / "x.clusters.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfid,message,cluster")
    assert "Rückgabe".encode() in content


@pytest.mark.parametrize("options", [{"table_format": TableFormat.EXCEL_CSV}, {"spreadsheet_safe": True}])
def test_a_table_for_spreadsheets_stays_safe(folder, options):
    cluster(folder, "x.csv", **options)
    assert "'=my parcel" in (folder / "x.clusters.csv").read_text()
    write_state(folder, load(folder), {0: "=HYPERLINK(1)"})
    assert "every text with its group: x.clusters.csv" in apply()
    rows = read_csv(folder / "x.clusters.csv")
    assert {row["cluster_name"] for row in rows if row["cluster"] == "0"} == {"'=HYPERLINK(1)"}
    assert not [row for row in rows if row["message"].startswith("=")]
    write_state(folder, load(folder), {0: "=HYPERLINK(2)"})
    assert "every text with its group: x.clusters.csv" in apply()  # its groups are those of the model


def test_a_compressed_table_stays_compressed(folder):
    (folder / "y.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    cluster(folder, "y.csv.gz")
    write_state(folder, load(folder, "y.model"), {0: "new"})
    apply(model="y.model")
    names = {row["cluster_name"] for row in read_csv(folder / "y.clusters.csv.gz", gzip.open) if row["cluster"] == "0"}
    assert names == {"new"}


def test_columns_of_the_input_with_the_same_names_stay(folder):
    text = (folder / "x.csv").read_text().replace("id,message", "cluster,message")
    (folder / "x.csv").write_text(text)
    cluster(folder, "x.csv")
    write_state(folder, load(folder), {0: "new"})
    apply()
    rows = read_csv(folder / "x.clusters.csv")
    assert list(rows[0])[:5] == ["cluster", "message", "cluster_2", "cluster_name", "similarity"]
    assert [row["cluster"] for row in rows] == [line.split(",")[0] for line in text.splitlines()[1:]]
    assert {row["cluster_name"] for row in rows if row["cluster_2"] == "0"} == {"new"}


def reverse_rows(text):
    header, *lines = text.splitlines()
    return "\n".join([header, *reversed(lines), ""])


@pytest.mark.parametrize(
    "change",
    [reverse_rows, lambda text: "\n".join(text.splitlines()[:-1]), lambda _: "a,b\n1,2\n", lambda _: "", None],
    ids=["other order", "fewer rows", "another table", "empty", "no table"],
)
def test_a_table_of_other_texts_is_left_alone(folder, change):
    before = load(folder)
    path = folder / "x.clusters.csv"
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    there = path.read_bytes() if path.exists() else None
    write_state(folder, before, {0: "new"})
    out = apply("--overwrite")
    assert out.splitlines()[1] == "no table of its texts is beside it; get one with: textspectra predict x.model FILE"
    assert load(folder).clusters[0].name == "new"
    assert (path.read_bytes() if path.exists() else None) == there


def test_a_table_whose_groups_were_edited_is_replaced_only_on_demand(folder):
    before = load(folder)
    path = folder / "x.clusters.csv"
    edited = path.read_text().replace(f",1,{before.clusters[1].name},", ",1,edited by hand,")
    path.write_text(edited)
    write_state(folder, before, {0: "new"})
    told = "x.clusters.csv has other groups than the model had, so it was left alone; --overwrite replaces it"
    assert apply().splitlines()[1] == told
    assert path.read_text() == edited
    assert apply("--overwrite", "--quiet") == ""
    assert [(row["cluster"], row["cluster_name"]) for row in read_csv(path)] == clusters_of(load(folder))


def test_a_full_disk_changes_neither_the_model_nor_the_table(folder):
    """A limit on the size of files stands for a full disk: the table fits, the model does not."""
    write_state(folder, load(folder), {0: "new"})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    size = (folder / "x.clusters.csv").stat().st_size + 500
    assert size < max(path.stat().st_size for path in (folder / "x.model").iterdir())
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}));"
        "from textspectra.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "apply", "state.json", "x.model", "--embeddings", "x.npy"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 4
    assert b"'x.model' cannot be written" in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_state_that_does_not_fit_changes_nothing(folder):
    write_state(folder, load(folder), {0: " "})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="The names in the state are blank or not all different"):
        apply()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="locks of Unix")
def test_a_model_that_is_being_updated_is_left_alone(folder):
    import fcntl

    write_state(folder, load(folder), {2: "mine"})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with Path(".textspectra-lock-x.model").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ExternalError) as caught:
            apply()
    assert str(caught.value) == "'x.model' is being changed by another process; try again when that has ended."
    assert {path: path.read_bytes() for path in before} == before


def test_a_state_that_is_too_large_is_not_read(folder, monkeypatch):
    monkeypatch.setattr("textspectra.report.state.MAX_STATE_BYTES", 2**20)
    (folder / "state.json").write_text("[" * (2**20 + 1))
    with pytest.raises(UserError, match=r"^state.json has more than 1 MB, which no report downloads.$"):
        apply()


@pytest.fixture
def downloads(folder, monkeypatch):
    place = folder / "loaded"
    place.mkdir()
    monkeypatch.setattr("platformdirs.user_downloads_path", lambda: place)
    return place


def run_apply(*arguments):
    return CliRunner().invoke(root, ["apply", *arguments, "--embeddings", "x.npy"], catch_exceptions=False)


def move_state(folder, place, *, age):
    path = (folder / "state.json").rename(place)
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_without_a_state_the_newest_one_in_the_downloads_folder_is_applied(folder, downloads):
    before = load(folder)
    write_state(folder, before, {2: "old"})
    move_state(folder, downloads / "x.state.json", age=60)
    write_state(folder, before, {2: "newest"})
    newest = move_state(folder, downloads / "x.state (1).json", age=20)
    (downloads / "other.json").write_text(newest.read_text().replace(corpus_fingerprint(before.corpus), "0" * 16))
    saved, *told = run_apply("x.model").output.splitlines()
    day = datetime.fromtimestamp(newest.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
    assert saved == f"the newest state of the model: {newest}, saved {day}"
    assert told == ["x.model: 1 group renamed, 5 groups unchanged", "every text with its group: x.clusters.csv"]
    assert load(folder).clusters[2].name == "newest"
    assert json.loads(run_apply("x.model", "--json").output)["state"] == str(newest)
    assert json.loads(run_apply(str(newest), "x.model", "--json").output)["state"] == str(newest)
    assert [cluster.name for cluster in before.apply().clusters][2] == "newest"


def test_a_state_that_was_found_and_does_not_fit_is_named(folder, downloads):
    before = load(folder)
    write_state(folder, before, {}, base=before.cut(4))
    path = move_state(folder, downloads / "x.state.json", age=1)
    with pytest.raises(UserError) as caught:
        run_apply("x.model")
    assert str(caught.value) == f"{path} is the newest state of the model. {CHANGED}"
    path.write_text(path.read_text()[:-9])
    with pytest.raises(UserError) as caught:
        run_apply("x.model")
    assert str(caught.value) == f"{path} is not JSON; use the file that “Download JSON” of a report writes."


def test_nothing_in_the_downloads_folder_is_an_error_that_changes_nothing(folder, downloads):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=rf"^No state of this model is in {downloads}\. Press “Download JSON”"):
        run_apply("x.model")
    downloads.rmdir()
    with pytest.raises(UserError, match=rf"^No state of this model is in {downloads}\. Press “Download JSON”"):
        run_apply("x.model")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["state.json"], "state.json is not a model folder. If it is a state: textspectra apply state.json MODEL"),
        (["x.model", "state.json"], "The state comes before the model: textspectra apply state.json x.model"),
        (["a", "b", "x.model"], "apply takes one state and one model, but got 3 names: a, b, x.model"),
        (["no.json", "x.model"], "no.json cannot be read: No such file or directory"),
    ],
)
def test_wrong_arguments_are_named(folder, downloads, names, message):
    write_state(folder, load(folder), {})
    with pytest.raises(UserError) as caught:
        run_apply(*names)
    assert str(caught.value) == message


def test_a_model_is_needed(folder, downloads):
    assert "Missing argument '[STATE.json] MODEL'" in run_apply().output
    with pytest.raises(UserError, match=r"no\.model"):
        run_apply("no.model")
