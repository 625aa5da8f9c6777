"""The formats of office programs, from the outside: workbooks in and out, and CSV for Excel."""

import csv
import datetime as dt
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textspectra.tables.read import read_table

pytest.importorskip("wordllama")
pytest.importorskip("python_calamine")
xlsxwriter = pytest.importorskip("xlsxwriter")

WORDS = ["parcel", "password", "subscription", "refund"]
OPTIONS = ["--clusters", 4, "--model", "wordllama", "--json", "--no-report"]


@pytest.fixture
def tickets(tmp_path):
    """Write a workbook with a cover sheet, a title, dates, a formula-like text and a blank text."""
    texts = [f"my {WORDS[i % 4]} has a problem with item {i // 4}" for i in range(60)] + ["=1+1 café parcel", " "]
    book = xlsxwriter.Workbook(tmp_path / "tickets.xlsx")
    book.add_worksheet("Cover")
    sheet = book.add_worksheet("Tickets")
    sheet.write_string(0, 0, "All tickets")
    sheet.write_row(2, 0, ["id", "message", "received"])
    day = book.add_format({"num_format": "dd.mm.yyyy"})
    for row, text in enumerate(texts):
        sheet.write_number(3 + row, 0, row)
        sheet.write_string(3 + row, 1, text)
        sheet.write_datetime(3 + row, 2, dt.datetime(2024, 9, 1) + dt.timedelta(days=row), day)
    book.add_worksheet("Notes").write_string(0, 0, "nothing")
    book.close()
    return texts


def test_a_workbook_comes_back_as_a_workbook(run, tickets, tmp_path):
    summary = json.loads(run("cluster", "tickets.xlsx", *OPTIONS).out)
    assert summary["outputs"]["table"] == "tickets.clusters.xlsx"
    table = read_table(tmp_path / "tickets.clusters.xlsx", text_column="message").table
    assert table.column_names == ["id", "message", "received", "cluster", "cluster_name", "similarity"]
    assert table.column("message").to_pylist() == tickets
    assert table.column("received")[1].as_py() == dt.date(2024, 9, 2)
    assert table.column("cluster")[-1].as_py() is None
    clusters = read_table(tmp_path / "tickets.clusters.xlsx", sheet="groups", text_column="name").table.to_pylist()
    told = sorted(summary["clusters"], key=lambda cluster: cluster["cluster"])
    assert [(cluster["name"], cluster["size"]) for cluster in clusters] == [
        (cluster["name"], cluster["size"]) for cluster in told
    ]
    assert [cluster["keywords"] for cluster in clusters] == [", ".join(cluster["keywords"]) for cluster in told]
    assert [cluster["typical_text"] for cluster in clusters] == [cluster["representatives"][0] for cluster in told]
    assert sum(cluster["share"] for cluster in clusters) == pytest.approx(1)
    run("predict", "tickets.model", "tickets.xlsx", "--sheet", "2")
    again = read_table(tmp_path / "tickets.predicted.xlsx", text_column="message").table
    assert again.column("cluster").equals(table.column("cluster"))
    assert read_table(tmp_path / "tickets.predicted.xlsx", sheet="groups", text_column="name").table.num_rows == 4


def test_formats_can_be_chosen(run, tickets, tmp_path):
    summary = json.loads(run("cluster", "tickets.xlsx", *OPTIONS, "--excel-csv").out)
    assert summary["outputs"]["table"] == "tickets.clusters.csv"
    assert (tmp_path / "tickets.clusters.csv").read_bytes().startswith(b"\xef\xbb\xbfid,message,received,cluster")
    with (tmp_path / "tickets.clusters.csv").open(encoding="utf-8-sig", newline="") as file:
        safe = [row["message"] for row in csv.DictReader(file)]
    assert safe == [f"'{text}" if text.startswith("=") else text for text in tickets]
    for form in ("xlsx", "tsv"):
        run("predict", "tickets.model", "tickets.clusters.csv", "--format", form, "--text-column", "message", "-q")
        found = read_table(tmp_path / f"tickets.clusters.predicted.{form}", text_column="message")
        assert (found.format, found.texts()) == (form, safe)
    run("predict", "tickets.model", "tickets.xlsx", "--out", "new.parquet")
    assert read_table(tmp_path / "new.parquet").table.schema.field("received").type == pa.date32()


def test_workbooks_and_csv_together(run, tickets, tmp_path):
    lines = [f"{i},my {WORDS[i % 4]} is late {i}" for i in range(20)]
    (tmp_path / "more.csv").write_text("\n".join(["id,message", *lines]))
    summary = json.loads(run("cluster", "tickets.xlsx", "more.csv", *OPTIONS, "--sheet", "Tickets").out)
    folder = tmp_path / summary["outputs"]["table"]
    assert summary["texts"] == len(tickets) + 20
    recipe = json.loads((tmp_path / "tickets+more.model" / "clustering.json").read_text())["recipe"]
    assert "--sheet Tickets" in recipe["command"]
    clusters = read_table(folder / "tickets.xlsx", sheet="groups", text_column="name").table
    assert sum(clusters.column("size").to_pylist()) == len(tickets) - 1
    assert read_table(folder / "more.csv").table.num_rows == 20
    run("cluster", "tickets.xlsx", "more.csv", *OPTIONS, "--format", "xlsx", "--out", "books", "-q")
    names = sorted(path.name for path in (tmp_path / "books" / "tickets+more.clusters").glob("*.xlsx"))
    assert names == ["more.xlsx", "tickets.xlsx"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--sheet", "Sept"], 3, "'tickets.xlsx' has no sheet 'Sept'. Choose with --sheet; the sheets are: 'Cover', "),
        (["--sheet", "Cover"], 3, "'tickets.xlsx', sheet 'Cover' is empty"),
        (["--format", "ods"], 2, "'ods' is not one of 'xlsx', 'csv', 'excel-csv', 'tsv', 'jsonl', 'parquet'"),
    ],
)
def test_mistakes(run, tickets, arguments, code, message):
    assert message in run("cluster", "tickets.xlsx", *OPTIONS, *arguments, code=code).err


def test_too_many_rows_are_refused_before_any_work(run, tmp_path):
    pq.write_table(pa.table({"text": ["a"] * 1_048_576}), tmp_path / "long.parquet")
    err = run("cluster", "long.parquet", "--format", "xlsx", "--model", "no such model", code=3).err
    assert "a sheet of Excel holds 1,048,575 rows" in err
    assert "Use --format csv or --format parquet." in err


def test_a_missing_package_names_its_install_line(tickets, tmp_path):
    code = (
        "import sys; sys.modules['python_calamine'] = None; sys.argv = ['textspectra', 'cluster', 'tickets.xlsx']\n"
        "from textspectra.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert 'pip install "textspectra[excel]"' in done.stderr


def test_the_summary_begins_with_what_was_read(run, tickets, tmp_path):
    summary = json.loads(run("cluster", "tickets.xlsx", *OPTIONS).out)
    assert (
        summary["read"] == "Read 'tickets.xlsx', sheet 'Tickets', header in row 3, column 'message': 62 rows, English."
    )
    assert (summary["sheet"], summary["header_row"], summary["text_column"]) == ("Tickets", 3, "message")
    done = run(
        "cluster", "tickets.xlsx", *OPTIONS[:-2], "--no-report", "--overwrite", "--header-row", "3", "--keep-all"
    )
    assert " ".join(done.out.split()).startswith(summary["read"])
    command = json.loads((tmp_path / "tickets.model" / "clustering.json").read_text(encoding="utf-8"))["recipe"][
        "command"
    ]
    assert "--header-row 3" in command
    assert command.endswith("--keep-all")


def test_what_was_read_is_said_of_new_files_too(run, tickets):
    run("cluster", "tickets.xlsx", *OPTIONS)
    wanted = "Read 'tickets.xlsx', sheet 'Tickets', header in row 3, column 'message': 62 rows, English."
    for command in ("predict", "compare"):
        arguments = [command, "tickets.model", "tickets.xlsx", "--overwrite"]
        assert json.loads(run(*arguments, "--json").out)["read"] == wanted
        assert " ".join(run(*arguments).out.split()).startswith(wanted)


def test_tables_of_several_new_files_get_the_chosen_format(run, tickets, tmp_path):
    run("cluster", "tickets.xlsx", *OPTIONS)
    (tmp_path / "more.csv").write_text("message\nmy parcel is late\nmy refund is late\n")
    run("compare", "tickets.model", "tickets.xlsx", "more.csv", "--format", "tsv", "--no-report")
    assert [path.name for path in sorted((tmp_path / "tickets+more.compared").glob("*sv"))] == [
        "001-tickets.tsv",
        "002-more.tsv",
    ]


@pytest.mark.parametrize(("command", "n_added"), [("predict", 7), ("compare", 8)])
def test_a_workbook_without_room_for_new_columns_is_refused_before_any_work(run, tickets, tmp_path, command, n_added):
    run("cluster", "tickets.xlsx", *OPTIONS)
    wide = pa.table({"message": ["my parcel"], **{f"c{i}": [i] for i in range(16_384 - n_added)}})
    pq.write_table(wide, tmp_path / "wide.parquet")
    said = run(command, "tickets.model", "wide.parquet", "--format", "xlsx", "-v", code=3).err
    assert "but the table has 1 row and 16,385 columns" in said
    assert "embedding" not in said


def test_a_group_of_one_text_that_was_sent_often_is_not_called_mixed(run, tmp_path):
    others = [f"my {WORDS[i % 4]} has a problem with item {i // 4}" for i in range(60)]
    odd = ["thanks, the weather is fine", "we contacted you about jazz", "thank the moon"]
    texts = ["Thank you for contacting us"] * 500 + others + odd
    (tmp_path / "a.csv").write_text("\n".join(["text", *(f'"{text}"' for text in texts)]))
    found = json.loads(run("cluster", "a.csv", "--model", "wordllama", "--json", "--no-report").out)
    largest = dict(found["clusters"][0])
    assert (largest["representatives"][0], largest["representative_counts"][0]) == (texts[0], 500)
    assert "leftover" not in " ".join(found["verdict_reasons"])
