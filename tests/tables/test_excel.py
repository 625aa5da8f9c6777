"""Excel workbooks: what cells hold, which sheet is read, and the message for each kind of bad file."""

import datetime as dt
import io
import math
import socket
import zipfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_helpers import files_here, message, write_table

from textspectra.errors import ExternalError, UsageError, UserError
from textspectra.tables import excel as module
from textspectra.tables.columns import ClusterColumns, TextTable
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat
from textspectra.tables.write import name_parts, output_format, write_labeled

pytest.importorskip("python_calamine")
xlsxwriter = pytest.importorskip("xlsxwriter")


LOCKED = Path(__file__).with_name("locked.xlsx")
BERLIN = pa.timestamp("us", "Europe/Berlin")


def workbook(*sheets):
    """Return the bytes of a workbook; a sheet is a name and its rows, from the left upper corner."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    for name, rows in sheets:
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                if isinstance(value, dt.date):
                    sheet.write_datetime(number, column, value, book.add_format({"num_format": "dd/mm/yyyy hh:mm"}))
                elif value == "#DIV/0!":
                    sheet.write_formula(number, column, "=1/0", None, value)
                else:
                    sheet.write(number, column, value)
    book.close()
    return stream.getvalue()


def rows_of(save, *rows, **options):
    return read_table(save("a.xlsx", workbook(("Sheet1", rows))), **options).table.to_pylist()


def read_back(table, path, **options):
    write_table(table, path, TableFormat.XLSX, overwrite=True, **options)
    return read_table(path, text_column=table.column_names[0]).table


def sheet_xml(path, number=1):
    with zipfile.ZipFile(path) as archive:
        return archive.read(f"xl/worksheets/sheet{number}.xml").decode()


def test_cells_keep_their_kind(save):
    table = read_table(
        save(
            "a.xlsx",
            workbook(
                (
                    "Data",
                    [
                        ["text", "id", "share", "day", "when", "ok", "nothing"],
                        ["naïve 🙂", 7, 0.25, dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 5), True, None],
                        ["=1+1 is two", 8, 2, dt.date(2024, 3, 1), dt.datetime(2024, 3, 1), False, None],
                    ],
                )
            ),
        )
    )
    assert (table.text_column, table.format) == ("text", "xlsx")
    kinds = {field.name: str(field.type) for field in table.table.schema}
    assert kinds == {
        "text": "string", "id": "int64", "share": "double", "day": "date32[day]", "when": "timestamp[us]", "ok": "bool",
        "nothing": "null",
    }  # fmt: skip
    assert table.table.column("when").to_pylist() == [dt.datetime(2024, 2, 29, 13, 5), dt.datetime(2024, 3, 1)]


def test_a_column_of_several_kinds_is_text(save):
    rows = [["text"], ["hello"], [5], [2.5], [True], [dt.datetime(2024, 2, 29, 13, 5)]]
    texts = [row["text"] for row in rows_of(save, *rows)]
    assert texts == ["hello", "5", "2.5", "True", "2024-02-29 13:05:00"]


def test_empty_rows_and_columns_and_errors(save):
    rows = [
        [],
        [None, "id", None, "text"],
        [],
        [None, 1, None, "a"],
        [None, "#DIV/0!", None, "b"],
        [None] * 4,
        [None, 3],
    ]
    expected = [{"id": 1, "text": "a"}, {"id": None, "text": "b"}, {"id": 3, "text": None}]
    assert rows_of(save, *rows, text_column="text") == expected


def test_columns_without_a_name(save):
    assert rows_of(save, [None, "text"], [0, "hello you"], [1, "bye"]) == [
        {"column 1": 0, "text": "hello you"},
        {"column 1": 1, "text": "bye"},
    ]


def test_titles_above_the_header(save):
    titles = [["Tickets of October"], ["made on 1 November 2024"], []]
    assert rows_of(save, *titles, ["id", "Message text"], [1, "hello"]) == [{"id": 1, "Message text": "hello"}]


def test_a_header_of_one_cell_is_no_title(save):
    rows = [["Feedback"], ["all fine"], ["too slow", "a remark in another column"]]
    assert [row["Feedback"] for row in rows_of(save, *rows, text_column="Feedback")] == ["all fine", "too slow"]
    assert [row["Feedback"] for row in rows_of(save, *[["Feedback"]], *[["x"]] * 20)] == ["x"] * 20
    rows = [["Reply"], ["Great"], ["Bad", "Angry"], ["ok"]]
    assert [row["Reply"] for row in rows_of(save, *rows, text_column="Reply")] == ["Great", "Bad", "ok"]
    rows = [["text"], ["first"], ["second"], ["third", "late note"]]
    assert [row["text"] for row in rows_of(save, *rows, text_column="text")] == ["first", "second", "third"]


def test_of_merged_cells_the_first_has_the_value(save):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["team", "text"])
    sheet.merge_range(1, 0, 2, 0, "north")
    sheet.write_column(1, 1, ["a", "b"])
    book.close()
    table = read_table(save("a.xlsx", stream.getvalue()), text_column="text").table
    assert table.to_pylist() == [{"team": "north", "text": "a"}, {"team": None, "text": "b"}]


SHEETS = (("Cover", []), ("Sept", [["text"], ["a"]]), ("Oct", [["text"], ["b"]]), ("3", [["text"], ["c"]]))


@pytest.mark.parametrize(("sheet", "text"), [("oct", "b"), ("3", "c"), ("2", "a")])
def test_the_sheet_that_is_read(save, sheet, text):
    assert read_table(save("a.xlsx", workbook(*SHEETS)), sheet=sheet).texts() == [text]


def test_a_hidden_sheet_is_read_only_by_name(save):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    for name in ("Lookup", "Data"):
        book.add_worksheet(name).write_column(0, 0, ["text", f"from {name}"])
    book.get_worksheet_by_name("Lookup").hide()
    book.get_worksheet_by_name("Data").activate()
    book.close()
    name = save("a.xlsx", stream.getvalue())
    assert read_table(name).texts() == ["from Data"]
    assert read_table(name, sheet="lookup").texts() == ["from Lookup"]


@pytest.mark.parametrize("sheet", ["Nov", "5", "0", ""])
def test_no_such_sheet(save, sheet):
    assert message(read_table, save("a.xlsx", workbook(*SHEETS)), sheet=sheet) == (
        f"'a.xlsx' has no sheet {sheet!r}. Choose with --sheet; the sheets are: 'Cover', 'Sept', 'Oct', '3'"
    )


def test_standard_input_and_compression(save):
    data = workbook(*SHEETS)
    found = read_table("-", stdin=io.BytesIO(data), sheet="Oct")
    assert (found.texts(), found.format) == (["b"], "xlsx")
    assert name_parts("-", found) == ("texts", ".xlsx")


def test_an_opendocument_sheet(save):
    names = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "table", "text")}
    spaces = " ".join(f'xmlns:{name}="{space}"' for name, space in names.items())
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    body = "".join(f"<table:table-row>{cell.format(text)}</table:table-row>" for text in ("text", "naïve"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="S">{body}'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
    found = read_table(save("a.ods", stream.getvalue()))
    assert (found.texts(), name_parts("a.ods", found)) == (["naïve"], ("a", ".xlsx"))


DAMAGED = "is a workbook that is damaged or cut short, or another kind of archive. Save it as .xlsx again."


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.xlsx", b"", "'a.xlsx' is empty"),
        ("a.xlsx", workbook(("Sheet1", [])), "'a.xlsx' is empty"),
        ("a.xlsx", workbook(("Sheet1", [["text"]])), "'a.xlsx' has no rows"),
        ("a.xlsx", workbook(*SHEETS)[:-40], f"'a.xlsx' {DAMAGED}"),
        ("a.xlsx", b"PK\x03\x04rest", f"'a.xlsx' {DAMAGED}"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3000), f"'a.xls' {DAMAGED}"),
        ("a.xlsx", LOCKED.read_bytes(), "'a.xlsx' is protected by a password. Save a copy without one."),
        (
            "a.xlsx",
            "id,text\n1,a\n",
            "'a.xlsx' is not a workbook, although its name says so. It reads like .csv: rename it.",
        ),
        (
            "a.xls",
            "<html><table><tr><td>a</td></tr></table>",
            "'a.xls' is not a workbook, although its name says so. Save it as .xlsx or .csv again.",
        ),
        (
            "a.csv",
            workbook(*SHEETS),
            "'a.csv' is an Excel workbook or another archive, although its name says otherwise. Rename a workbook to "
            ".xlsx, or unpack the archive.",
        ),
        (
            "a.xlsx",
            workbook(("Sheet1", [["text", "text"], ["a", "b"]])),
            "'a.xlsx' has more than one column called 'text'. Give each column a name of its own.",
        ),
    ],
)
def test_message(save, name, content, expected):
    assert message(read_table, save(name, content)) == expected


def test_any_damage_is_a_user_error():
    data, rng = workbook(*SHEETS), np.random.default_rng(0)
    for _ in range(200):
        broken = bytearray(data)
        for place in rng.integers(0, len(data), 5):
            broken[place] = rng.integers(256)
        with suppress(UserError):
            read_table("-", stdin=io.BytesIO(bytes(broken)))


def test_a_zip_bomb(save, monkeypatch):
    monkeypatch.setattr(module, "MAX_UNPACKED", 2**30)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", bytes(2**20))
    whole = stream.getvalue().replace((2**20).to_bytes(4, "little"), (2**31).to_bytes(4, "little"))
    expected = "'a.xlsx' has more than 1 GB once it is unpacked. Save it as CSV."
    assert message(read_table, save("a.xlsx", whole)) == expected


def test_a_stray_cell_far_away(save):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    sheet = book.add_worksheet()
    sheet.write_column(0, 0, ["text", "a"])
    sheet.write_string(1_048_575, 16_383, "stray")
    book.close()
    assert message(read_table, save("a.xlsx", stream.getvalue())) == (
        "'a.xlsx' has a sheet with cells as far as XFD1048576. Delete the empty rows and columns, or save the table as "
        "CSV."
    )


cell_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=20
)
finite = st.floats(-1e307, 1e307)
cell_kinds = st.sampled_from(
    [
        cell_text,
        st.integers(-(10**15) + 1, 10**15 - 1),
        st.booleans(),
        st.dates(dt.date(1900, 3, 1)),
        st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(9999, 12, 31)).map(
            lambda when: when.replace(microsecond=when.microsecond // 1000 * 1000)
        ),
    ]
)


@given(data=st.data(), kind=cell_kinds)
@settings(max_examples=60)
def test_values_come_back(tmp_path_factory, data, kind):
    values = data.draw(st.lists(st.none() | kind, min_size=1, max_size=6).filter(any))
    table = pa.table({"text": ["t"] * len(values), "value": values})
    found = read_back(table, tmp_path_factory.getbasetemp() / "round.xlsx").column("value").to_pylist()
    assert [_midnight(value) for value in found] == [_midnight(value) for value in values]


def _midnight(value):
    return dt.datetime(value.year, value.month, value.day) if type(value) is dt.date else value


@given(values=st.lists(finite, min_size=1, max_size=6))
@settings(max_examples=40)
def test_numbers_come_back_to_15_digits(tmp_path_factory, values):
    table = pa.table({"text": ["t"] * len(values), "value": pa.array(values, pa.float64())})
    found = read_back(table, tmp_path_factory.getbasetemp() / "numbers.xlsx").column("value").to_pylist()
    assert all(math.isclose(ours, theirs, rel_tol=1e-15) for ours, theirs in zip(found, values, strict=True))


def test_what_a_cell_cannot_hold(tmp_path):
    summer = dt.datetime(2024, 7, 1, 10, tzinfo=dt.UTC)
    columns = {
        "text": pa.array(["a", None]).dictionary_encode(),
        "share": [float("nan"), float("inf")],
        "card": [4111_1111_1111_1111, -1],
        "price": [Decimal("9.95"), None],
        "old": [dt.date(1899, 12, 31), None],
        "moment": pa.array([summer, None], BERLIN),
        "precise": pa.array([1_719_828_000_123_456_789, None], pa.timestamp("ns")),
        "lasted": [dt.timedelta(hours=30), dt.timedelta(seconds=-1)],
        "at": [dt.time(23, 59, 59), None],
        "raw": [b"hi", None],
        "list": [[1.0, float("inf")], None],
        "none": pa.nulls(2),
    }
    found = read_back(pa.table(columns), tmp_path / "a.xlsx").to_pylist()
    assert found[0] == {
        "text": "a", "share": None, "card": "4111111111111111", "price": 9.95, "old": "1899-12-31",
        "moment": dt.datetime(2024, 7, 1, 10), "precise": dt.datetime(2024, 7, 1, 10, 0, 0, 123000),
        "lasted": "1 day, 6:00:00", "at": dt.time(23, 59, 59), "raw": "aGk=", "list": "[1.0, null]", "none": None,
    }  # fmt: skip
    assert found[1]["card"] == "-1"
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert 'hh:mm:ss" UTC"'.replace('"', "&quot;") in archive.read("xl/styles.xml").decode()


def test_a_text_is_never_a_formula(tmp_path):
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "{=1}", "\t=1", "https://example.org", "=HYPERLINK(1)", "007", "1e5"]
    path = tmp_path / "a.xlsx"
    assert read_back(pa.table({"=text": texts}), path).column("=text").to_pylist() == texts
    xml = sheet_xml(path)
    assert "<f>" not in xml
    assert "<v>" not in xml
    assert "hyperlink" not in xml
    assert xml.count('t="inlineStr"') == 1 + len(texts)


def test_characters_that_xml_forbids(tmp_path):
    texts = ["a\x00b\x07\x1f", "_x0041_", "\ufffe", "\r\n\t"]
    found = read_back(pa.table({"text": texts}), tmp_path / "a.xlsx").column("text").to_pylist()
    assert found == ["a\x00b\x07\x1f", "_x0041_", "_xFFFE_", "\r\n\t"]


@pytest.mark.parametrize("letter", ["x", "🙂"])
def test_long_texts_are_cut_with_a_warning(tmp_path, letter):
    units = len(letter.encode("utf-16-le")) // 2
    fits, long = letter * (32_767 // units), letter * 40_000
    with pytest.warns(UserWarning, match=r"^1 text was cut to 32,767 characters, the most that a cell of Excel holds"):
        found = read_back(pa.table({"text": [fits, long]}), tmp_path / "a.xlsx").column("text").to_pylist()
    assert found[0] == fits
    assert found[1] == letter * (32_766 // units) + "…"


def test_a_table_that_is_too_large(tmp_path):
    expected = (
        "a sheet of Excel holds 1,048,575 rows and 16,384 columns, but the table has {} rows and {} columns. Use "
        "--format csv or --format parquet."
    )
    high = TextTable(pa.table({"text": pa.array(["a"] * 1_048_576)}), "text", TableFormat.PARQUET)
    assert message(output_format, Path("a.xlsx"), high) == expected.format("1,048,576", 7)
    assert output_format(Path("a.parquet"), high) == "parquet"
    fits = TextTable(high.table.slice(1), "text", TableFormat.PARQUET)
    assert output_format(Path("a"), fits, TableFormat.XLSX) == "xlsx"
    wide = pa.table({str(number): ["a"] for number in range(16_385)})
    found = message(write_table, wide, tmp_path / "a.xlsx", TableFormat.XLSX)
    assert found == expected.replace("{} rows", "1 row").format("16,385")
    assert not list(tmp_path.iterdir())


def test_the_groups_are_a_second_sheet(save):
    source = save("a.xlsx", workbook(("Tickets", [["id", "text"], [1, "pay"], [2, "log in"], [3, ""], [4, "=pay"]])))
    table = read_table(source, text_column="text")
    texts = [["=pay", "2 × invoice", "bill", "fourth"], ["log in"]]
    columns = ClusterColumns([0, 1], ["billing", "login"], [2.5, None], [False, True], ["pay, invoice", ""], texts)
    clusters = columns.count(np.array([0, 1, -1, 0]))
    write_labeled(table, {"cluster": pa.array([0, 1, None, 0])}, Path("b.xlsx"), clusters=clusters)
    assert read_table("b.xlsx", text_column="text").table.column("cluster").to_pylist() == [0, 1, None, 0]
    second = read_table("b.xlsx", sheet="groups", text_column="name").table.to_pylist()
    assert second == [
        {"cluster": 0, "name": "billing", "size": 2, "share": pytest.approx(2 / 3), "cohesion": 2.5, "mixed": False,
         "keywords": "pay, invoice", "typical_text": "=pay", "typical_text_2": "2 × invoice", "typical_text_3": "bill"},
        {"cluster": 1, "name": "login", "size": 1, "share": pytest.approx(1 / 3), "cohesion": None, "mixed": True,
         "keywords": None, "typical_text": "log in", "typical_text_2": None, "typical_text_3": None},
    ]  # fmt: skip


def test_same_table_same_bytes(tmp_path):
    for name in "ab":
        write_table(pa.table({"text": ["a", "b"]}), tmp_path / name, TableFormat.XLSX)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_failure_leaves_the_old_file(save, monkeypatch, tmp_path_factory, failure):
    def fail(*_):
        raise failure

    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(module.tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(module, "_number_format" if isinstance(failure, OSError) else "_values", fail)
    path = Path(save("a.xlsx", "old"))
    with pytest.raises((KeyboardInterrupt, ExternalError)):
        write_table(pa.table({"text": ["a"]}), path, TableFormat.XLSX, overwrite=True)
    assert (path.read_text(), files_here(), list(temporary.iterdir())) == ("old", ["a.xlsx"], [])


def test_a_full_disk_while_the_archive_is_made(save, monkeypatch):
    close = xlsxwriter.Workbook.close

    def full(book):
        close(book)
        raise xlsxwriter.exceptions.FileCreateError(OSError(28, "No space left on device"))

    monkeypatch.setattr(xlsxwriter.Workbook, "close", full)
    options = {"form": TableFormat.XLSX}
    expected = "'a.xlsx' cannot be written: No space left on device"
    assert message(write_table, pa.table({"text": ["a"]}), Path("a.xlsx"), **options) == expected
    assert files_here() == []


TABLES = {
    "a.csv": TableFormat.CSV, "a.xls": TableFormat.XLSX, "a.ods": TableFormat.XLSX, "a.XLSX": TableFormat.XLSX,
    "a.txt": TableFormat.TEXT, "a": TableFormat.XLSX,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "chosen", "suffix"),
    [
        ("a.csv", None, ".csv"),
        ("a.csv", TableFormat.XLSX, ".xlsx"),
        ("a.csv", TableFormat.EXCEL_CSV, ".csv"),
        ("a.xls", None, ".xlsx"),
        ("a.ods", None, ".xlsx"),
        ("a.XLSX", None, ".XLSX"),
        ("a.XLSX", TableFormat.JSONL, ".jsonl"),
        ("a.txt", None, ".csv"),
        ("a.txt", TableFormat.PARQUET, ".parquet"),
        ("a", None, ".xlsx"),
    ],
)
def test_names_of_outputs(name, chosen, suffix):
    table = TextTable(pa.table({"text": ["a"]}), "text", TABLES[name])
    assert name_parts(name, table, chosen) == ("a", suffix)


def test_names_that_contradict_the_format():
    table = TextTable(pa.table({"text": ["a"]}), "text", TableFormat.CSV)
    assert output_format(Path("a.csv"), table, TableFormat.EXCEL_CSV) == "excel-csv"
    assert message(output_format, Path("a.csv"), table, TableFormat.XLSX) == (
        "'a.csv' is the name of a csv file, but the format is to be xlsx. Choose one of them."
    )
    for name in ("a.xls", "a.ods", "a.xls.gz"):
        expected = f"'{name}': workbooks are written as .xlsx only. Give the output that name."
        assert message(output_format, Path(name), table) == expected


def test_csv_for_excel_has_a_mark_and_its_delimiter(save):
    table = read_table(save("a.csv", "id;text\n1;café\n"))
    write_labeled(table, {"cluster": [0]}, Path("b.csv"), chosen=TableFormat.EXCEL_CSV)
    assert Path("b.csv").read_bytes() == "\ufeffid;text;cluster\n1;café;0\n".encode()
    assert read_table("b.csv").table.column_names == ["id", "text", "cluster"]


def test_tabs_do_not_get_into_csv(save):
    table = read_table(save("a.tsv", "id\ttext\n1\ta, b\n"))
    write_labeled(table, {"cluster": [0]}, Path("b.csv"))
    assert Path("b.csv").read_text() == 'id,text,cluster\n1,"a, b",0\n'


def test_a_workbook_that_would_take_many_minutes_is_refused_at_once(tmp_path):
    table = pa.table({f"c{i}": pa.nulls(1_000_000, pa.int8()) for i in range(10)})
    with pytest.raises(UserError) as error:
        write_table(table, tmp_path / "a.xlsx", TableFormat.XLSX)
    assert str(error.value) == (
        "the table has 1,000,000 rows and 10 columns; a workbook of more than 8,000,000 cells takes many minutes to "
        "write and to open. Use --format csv or --format parquet."
    )
    assert list(tmp_path.iterdir()) == []
    # The columns that a clustering adds count before the work begins.
    with pytest.raises(UserError, match="has 1,000,000 rows and 12 columns"):
        output_format(tmp_path / "a.xlsx", TextTable(table.select(range(6)), "c0", TableFormat.XLSX))


def test_monthly_sheets_are_not_chosen_for_the_user(save):
    name = save("a.xlsx", workbook(*SHEETS))
    with pytest.raises(UsageError) as caught:
        read_table(name)
    assert str(caught.value) == (
        "'a.xlsx' has texts in several sheets: 'Sept' (1 text), 'Oct' (1 text), '3' (1 text). Choose one with --sheet."
    )


README = ("Read me", [["This workbook holds all complaints."], ["Do not change the columns."], ["Ask Jo about it."]])
DATA = ("Data", [["id", "comment"], *([number, f"the parcel {number} is late"] for number in range(20))])


@pytest.mark.parametrize("sheets", [(README, DATA), (DATA, README)])
def test_a_sheet_of_explanations_is_not_taken_for_the_data(save, sheets):
    found = read_table(save("a.xlsx", workbook(*sheets)))
    assert (found.sheet, found.text_column, found.table.num_rows) == ("Data", "comment", 20)
    counted = ", ".join({"Read me": "'Read me' (2 texts)", "Data": "'Data' (20 texts)"}[name] for name, _ in sheets)
    assert found.notes == (
        f"'a.xlsx' has texts in several sheets: {counted}. 'Data' was read; for another, use --sheet 'Read me'.",
    )
    assert read_table(save("a.xlsx", workbook(*sheets)), sheet="read me").table.num_rows == 2
    assert read_table(save("a.xlsx", workbook(*sheets)), text_column="comment").notes == ()


def test_a_sheet_of_numbers_does_not_count(save):
    numbers = ("Totals", [["month", "tickets"], *([f"2024-0{month}", month] for month in range(1, 10))])
    found = read_table(save("a.xlsx", workbook(numbers, DATA)))
    assert (found.sheet, found.notes) == ("Data", ())


def merged_header(*, twice=False):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    sheet = book.add_worksheet("Q3")
    sheet.merge_range(0, 0, 0, 4, "Customer feedback, third quarter")
    sheet.write_row(1, 0, ["exported", "2024-10-01"])
    sheet.merge_range(3, 0, 4, 0, "id")
    sheet.merge_range(3, 1, 3, 2, "Delivery")
    sheet.merge_range(3, 3, 3, 4, "Service")
    sheet.write_row(4, 1, ["rating", "remark" if twice else "said", "score" if not twice else "rating", "remark"])
    for row in range(12):
        sheet.write_row(5 + row, 0, [row, row % 5, f"box {row}", row % 3, f"nobody answered my call number {row}"])
    book.close()
    return stream.getvalue()


def test_a_header_below_titles_and_merged_cells(save):
    found = read_table(save("a.xlsx", merged_header()))
    assert found.table.column_names == ["id", "rating", "said", "score", "remark"]
    assert (found.text_column, found.header_row, found.table.num_rows) == ("remark", 5, 12)
    assert "remark" not in found.texts()


LONG = ["ID", "Date", "Please describe in your own words what happened on that day", "Kind"]


@pytest.mark.parametrize("is_merged", [True, False])
@pytest.mark.parametrize("names", [["No.", "Opened", "What happened?", "Kind"], LONG])
def test_questions_and_abbreviations_are_names_below_titles(save, names, is_merged):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    sheet = book.add_worksheet()
    sheet.merge_range(0, 0, 0, 3, "Feedback report 2024")
    sheet.write(1, 0, "Exported on 2 May by J. Doe")
    if is_merged:
        sheet.merge_range(3, 0, 3, 1, "Ticket")
        sheet.merge_range(3, 2, 3, 3, "Customer")
    sheet.write_row(4, 0, names)
    for row in range(12):
        kind = "new" if row % 2 else "old"
        sheet.write_row(5 + row, 0, [row, f"2024-05-{row + 1:02}", f"nobody answered my call number {row}", kind])
    book.close()
    found = read_table(save("a.xlsx", stream.getvalue()))
    assert (found.table.column_names, found.header_row, found.table.num_rows) == (names, 5, 12)
    assert (found.text_column, found.notes) == (names[2], ())


def test_a_title_that_was_taken_as_the_header_is_named(save):
    long = ["Please describe what went well for you", "Please describe what we should do better"]
    rows = [["Survey of May"], long, *([f"the staff was kind {i}", f"the wait was long {i}"] for i in range(9))]
    found = read_table(save("a.xlsx", workbook(("Sheet1", rows))), text_column="column 2")
    assert found.notes[0] == (
        "The first row of 'a.xlsx', sheet 'Sheet1', was taken as the header: 'Survey of May'. If it is a text, use "
        "--header-row 0; if row 3 has the column names, --header-row 3."
    )


@pytest.mark.parametrize("merged", [(0, 0, 0, 7, "Feedback of the year"), (0, 5, 0, 6, "")])
def test_merged_cells_may_stretch_beyond_the_columns_of_the_table(save, merged):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    sheet = book.add_worksheet()
    sheet.write(0, 0, "Feedback")
    sheet.merge_range(*merged)
    sheet.write_row(1, 0, ["id", "text", "channel"])
    for row in range(10):
        sheet.write_row(2 + row, 0, [row, f"my parcel number {row} is late again", "web"])
    book.close()
    found = read_table(save("a.xlsx", stream.getvalue()))
    assert (found.table.column_names, found.header_row, found.table.num_rows) == (["id", "text", "channel"], 2, 10)


def test_equal_names_are_told_apart_by_the_merged_cells_above(save):
    found = read_table(save("a.xlsx", merged_header(twice=True)), text_column="Service remark")
    names = ["id", "Delivery rating", "Delivery remark", "Service rating", "Service remark"]
    assert found.table.column_names == names


def test_the_header_row_is_given(save):
    rows = [["my parcel is late", "web"], ["topic", "channel"], ["the invoice is wrong", "phone"]]
    name = save("a.xlsx", workbook(("Sheet1", rows)))
    assert read_table(name, header_row=2).table.to_pylist() == [{"topic": "the invoice is wrong", "channel": "phone"}]
    assert read_table(name, header_row=0).table.column_names == ["column 1", "column 2"]
    assert message(read_table, name, header_row=9) == (
        "'a.xlsx', sheet 'Sheet1', has no row 9 that could be the header, or it is empty; see --header-row."
    )
    read_me = ("Read me", [["All answers of May"], ["Made by the office"], ["Ask us"]])
    name = save("a.xlsx", workbook(read_me, ("Data", [["id", "text"], [], [], [1, "the invoice is wrong"]])))
    assert message(read_table, name, header_row=3) == (
        "'a.xlsx', sheet 'Data', has no row 3 that could be the header, or it is empty; see --header-row."
    )


def test_a_sheet_without_a_header_is_noticed(save):
    rows = [[1, "my parcel is late"], [2, "the invoice is wrong"], [3, "nobody answers"]]
    found = read_table(save("a.xlsx", workbook(("Sheet1", rows))))
    assert found.texts() == ["my parcel is late", "the invoice is wrong", "nobody answers"]
    assert found.notes == (
        "'a.xlsx', sheet 'Sheet1', has no header: its first row ('1', 'my parcel is late') looks like the others. The "
        "columns are called 'column 1', 'column 2' and so on. If the first row is the header, use --header-row 1.",
    )


@pytest.fixture
def listener():
    """Open a port to which nobody may connect."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening
        with pytest.raises(BlockingIOError):
            listening.accept()


def with_parts(content, **parts):
    """Return a workbook with further parts, or with other ones."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.pop(name, old.read(name)))
        for name, part in parts.items():
            new.writestr(name, part)
    return stream.getvalue()


def test_links_and_macros_of_a_workbook_do_nothing_and_are_not_passed_on(tmp_path, listener):
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    stream = io.BytesIO()
    module.write_workbook({"texts": pa.table({"text": ["a parcel", "my password"]})}, stream)
    with zipfile.ZipFile(stream) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    formulas = (
        f'<row r="4"><c r="A4" t="str"><f>WEBSERVICE("{address}")</f><v>as it was</v></c></row>'
        '<row r="5"><c r="A5" t="str"><f>cmd|\'/C calc\'!A0</f><v>saved</v></c></row></sheetData>'
    )
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLinkPath"
    content = with_parts(stream.getvalue(), **{
        "xl/worksheets/sheet1.xml": sheet.replace("</sheetData>", formulas),
        "xl/externalLinks/externalLink1.xml": '<externalLink><externalBook r:id="rId1"/><ddeLink/></externalLink>',
        "xl/externalLinks/_rels/externalLink1.xml.rels":
            f'<Relationships><Relationship Id="rId1" Type="{relation}" Target="{address}" TargetMode="External"/>'
            "</Relationships>",
        "xl/vbaProject.bin": b"macro",
        "xl/connections.xml": f'<connections><connection url="{address}"/></connections>',
    })  # fmt: skip
    path = tmp_path / "a.xlsm"
    path.write_bytes(content)
    table = read_table(path)
    assert table.texts() == ["a parcel", "my password", "as it was", "saved"]
    write_labeled(table, {"cluster": [0, 0, 1, 1]}, tmp_path / "b.xlsx")
    with zipfile.ZipFile(tmp_path / "b.xlsx") as written:
        parts = {name: written.read(name) for name in written.namelist()}
    assert not [name for name in parts if "vba" in name or "external" in name or "connections" in name]
    assert not [name for name, part in parts.items() if b"<f>" in part or address.encode() in part]


def test_entities_of_a_workbook_are_not_followed(tmp_path, listener):
    stream = io.BytesIO()
    module.write_workbook({"texts": pa.table({"text": ["first text", "second text"]})}, stream)
    with zipfile.ZipFile(stream) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    (tmp_path / "secret").write_text("do not tell")
    entities = (
        f'<!DOCTYPE worksheet [<!ENTITY file SYSTEM "file://{tmp_path}/secret"><!ENTITY page SYSTEM "http://127.0.0.1:'
        f'{listener.getsockname()[1]}"><!ENTITY a "{"x" * 1000}"><!ENTITY b "{"&a;" * 999}"><!ENTITY c "{"&b;" * 999}">'
        "]>"
    )
    head, _, tail = sheet.partition("?>")
    hostile = f"{head}?>{entities}{tail.replace('first text', '&file;&page;&c;')}"
    (tmp_path / "a.xlsx").write_bytes(with_parts(stream.getvalue(), **{"xl/worksheets/sheet1.xml": hostile}))
    with suppress(UserError):
        texts = read_table(tmp_path / "a.xlsx").texts()
        assert "do not tell" not in "".join(texts)
        assert sum(map(len, texts)) < 1000
