"""The row that has the column names: the first one, one below titles, or none."""

import pytest
from io_helpers import message

from textspectra.tables.headers import find_header, quoted_names
from textspectra.tables.read import read_table


@pytest.mark.parametrize(
    ("content", "column", "texts"),
    [
        ("1,my parcel is late,web\n2,the invoice is wrong,phone\n3,no answer yet,web\n", "column 2", 3),
        ("2024-01-03;late parcel again\n2024-01-04;wrong invoice sent\n", "column 2", 2),
        ("T-1,my parcel is late\nT-2,wrong invoice\n", "column 2", 2),
        ("my parcel is late,web\nthe invoice is wrong,web\nno answer yet,web\nbroken,phone\n", "column 1", 4),
    ],
)
def test_a_file_without_a_header_is_noticed(save, content, column, texts):
    found = read_table(save("a.csv", content))
    assert (found.text_column, found.table.num_rows, found.header_row) == (column, texts, 0)
    first = ", ".join(map(repr, content.partition("\n")[0].replace(";", ",").split(",")))
    assert found.notes == (
        f"'a.csv' has no header: its first row ({first}) looks like the others. The columns are called 'column 1', "
        "'column 2' and so on. If the first row is the header, use --header-row 1.",
    )
    given = read_table(save("a.csv", content), header_row=1, text_column=found.table[column][0].as_py())
    assert (given.table.num_rows, given.notes) == (texts - 1, ())


def test_a_first_text_that_may_be_a_header_is_named(save):
    name = save("a.csv", "my parcel is late again\nthe invoice is wrong\nno answer so far\n")
    assert read_table(name).notes == (
        "The first row of 'a.csv' was taken as the header: 'my parcel is late again'. If it is a text, use "
        "--header-row 0; if row 3 has the column names, --header-row 3.",
    )
    assert read_table(name, header_row=0).texts()[0] == "my parcel is late again"


@pytest.mark.parametrize(
    "content",
    [
        "id,text\n1,a\n2,b\n",
        "Year,2019,2020,What would you change?\n1,12,13,the long wait\n2,14,15,the high price\n",
        "How satisfied are you with our service?\nvery satisfied\nnot at all\n",
        ",said\n0,my parcel is late\n1,the invoice is wrong\n",
        "id,answer\n1,answer\n2,b\n",
    ],
)
def test_a_header_is_not_doubted_without_a_reason(save, content):
    found = read_table(save("a.csv", content))
    assert (found.header_row, found.notes) == (1, ())


def test_titles_above_the_header_of_csv(save):
    name = save("a.csv", "Complaints of March\n\nid;comment\n1;the parcel, again\n2;the price\n")
    found = read_table(name)
    assert (found.texts(), found.header_row, found.delimiter) == (["the parcel, again", "the price"], 3, ";")
    assert message(read_table, name, header_row=2) == (
        "'a.csv' has no row 2 that could be the header, or it is empty; see --header-row."
    )
    assert message(read_table, save("a.jsonl", '{"text": "a"}'), header_row=2) == (
        "--header-row is for CSV, TSV and Excel; 'a.jsonl' has no header row."
    )


@pytest.mark.parametrize(
    ("rows", "merged", "expected"),
    [
        ([["id", "text"], [1, "a b"], [2, "c d"]], (), 3),
        ([["Tickets", None], ["id", "text"], [1, "a"], [2, "b"]], (), 4),
        ([["Delivery", None], ["rating", "remark"], [1, "late"], [2, "fine"]], {0}, 4),
        ([["id", "text", "note"], ["id", "text", "note"], [1, "a", "b"]], (), 3),
        ([[1, "late"], [2, "wrong"], [3, "fine"]], (), 0),
    ],
)
def test_the_number_of_the_header_is_its_row_in_the_file(rows, merged, expected):
    header = find_header(rows, range(3, 3 + len(rows)), None, "'a.xlsx'", merged)
    assert header.number == expected
    assert header.position == (expected - 3 if expected else -1)
    assert bool(header.notes) is (expected == 0)


def test_a_list_of_names_stays_readable():
    assert quoted_names(["a", "b" * 70]) == f"'a', '{'b' * 60}…'"
    assert quoted_names([str(number) for number in range(1033)]).endswith(", '29' and 1,003 others")
