"""Tables that are read: what is preserved, what is guessed, and the message for each kind of bad input."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_helpers import COMPRESS, message

from textspectra.embedding.hub import full_hub_name
from textspectra.embedding.registry import knows_only_english
from textspectra.report.state import META
from textspectra.tables.columns import CALENDAR, CODE_SIGNS
from textspectra.tables.dates import SHAPES
from textspectra.tables.delimited import made_safe
from textspectra.tables.excel import DIMENSION
from textspectra.tables.headers import HEADER_CELL
from textspectra.tables.read import read_table
from textspectra.tables.source import JSON_START, TableFormat
from textspectra.tables.write import write_table
from textspectra.words.languages import _WORD
from textspectra.words.tokens import _phrases, clean_text


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_byte_order_marks(save, codec, name):
    content = {"a.csv": "text\nnaïve 🙂\n", "a.jsonl": '{"text": "naïve 🙂"}\n', "a.txt": "naïve 🙂\n"}[name]
    found = read_table(save(name, content.encode(codec)))
    assert (found.text_column, found.texts()) == ("text", ["naïve 🙂"])


def test_encoding_is_obeyed(save):
    assert read_table(save("a.txt", "café".encode("latin-1")), encoding="latin-1").texts() == ["café"]
    assert read_table(save("a.csv", "text\nä\n".encode("utf-16-le")), encoding="utf-16-le").texts() == ["ä"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_breaks(save, newline):
    assert read_table(save("a.txt", newline.join(["a", "", "b\u2028c\x0b"]))).texts() == ["a", "", "b\u2028c\x0b"]
    csv = newline.join(["id,text", "", '1,"a', 'b"', "2,c", "", ""])
    assert read_table(save("a.csv", csv)).texts() == [f"a{newline}b", "c"]


@pytest.mark.parametrize(
    ("content", "form", "texts"),
    [
        (b"id,text\n1,a\n2,b\n", "csv", ["a", "b"]),
        (b"id|text\n1|a, b\n", "csv", ["a, b"]),
        (b"id\ttext\n1\ta, b\n", "tsv", ["a, b"]),
        (b",text\n0,a\n", "csv", ["a"]),
        (b"text\na\nb\n", "csv", ["a", "b"]),
        (b'\n{"text": "a"}\n\n{"text": null}\n', "jsonl", ["a", ""]),
        (b"one\n\ntwo, three\n", "text", ["one", "", "two, three"]),
        (b"Hello, you\nBye, you\n", "text", ["Hello, you", "Bye, you"]),
        (b"text\na, b\nc\n", "text", ["text", "a, b", "c"]),
        (b"2 apples,1 pear\n3 apples,4 pears\n", "text", ["2 apples,1 pear", "3 apples,4 pears"]),
        (b"alone", "text", ["alone"]),
    ],
)
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_standard_input_is_sniffed(content, form, texts, compression):
    data = COMPRESS[compression](content) if compression else content
    found = read_table("-", stdin=io.BytesIO(data))
    assert (found.format, found.texts(), found.compression) == (form, texts, compression)


def test_parquet_from_standard_input_in_small_pieces():
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": ["a"], "x": [1]}), buffer)
    buffer.seek(0)

    class Pipe:
        def read(self, size):
            return buffer.read(min(size, 3))

    assert read_table("-", stdin=Pipe()).table.to_pylist() == [{"text": "a", "x": 1}]


def test_long_sample_is_cut_inside_a_row(save):
    rows = [["1", "x, y; " * 4000, "z"] for _ in range(12)]
    content = "a|b|c\n" + "".join("|".join(row) + "\n" for row in rows)
    found = read_table(save("a.csv", content), text_column="b")
    assert (found.delimiter, found.table.num_rows) == ("|", 12)
    quoted = "id,text\n" + "".join(f'{i},"{"one line" + chr(10)}{"x" * 9000}"\n' for i in range(12))
    for codec in ("utf-8", "utf-16", "utf-32"):
        found = read_table("-", stdin=io.BytesIO(quoted.encode(codec)))
        assert (found.format, found.table.num_rows) == ("csv", 12)


def test_many_batches(save):
    found = read_table(save("a.csv", "text,n\n" + "".join(f"t,{i}\n" for i in range(25_000))))
    assert found.table.column("n").to_pylist() == [str(i) for i in range(25_000)]


def test_a_cell_above_the_limit_of_the_csv_module(save):
    table = read_table(save("a.csv", "text\n" + "x" * 200_000 + "\n"))
    assert table.table["text"].to_pylist() == ["x" * 200_000]
    assert table.texts() == ["x" * 100_000]


def test_json_keeps_what_arrow_would_change(save):
    rows = [
        {"text": "a", "mixed": 1, "object": {"b": 1, "a": 2}, "big": 2**80, "date": "2024-01-01T00:00:00Z"},
        {"text": "b", "mixed": "x", "object": {"a": 1}, "late": [1, 2.5]},
    ]
    found = read_table(save("a.jsonl", "\n".join(map(json.dumps, rows))))
    assert found.table.schema.field("date").type == pa.string()
    assert found.table.schema.field("late").type == pa.list_(pa.float64())
    write_table(found.table, Path("b.jsonl"), format=TableFormat.JSONL)
    first, second = map(json.loads, Path("b.jsonl").read_text().splitlines())
    assert first == {**rows[0], "late": None}
    assert list(first["object"]) == ["b", "a"]
    assert second == {**rows[1], "big": None, "date": None}


def test_half_an_emoji(save):
    content = '{"text": "cut \\ud83d", "nested": [{"\\ude00": "\\ud83d"}]}\n{"text": "\\ud83d\\ude00", "nested": 1}\n'
    table = read_table(save("a.jsonl", content)).table
    assert table.column("text").to_pylist() == ["cut \ufffd", "😀"]
    assert table.column("nested").to_pylist() == ['[{"\ufffd": "\ufffd"}]', "1"]


def test_one_row_and_equal_rows_are_fine(save):
    assert read_table(save("a.txt", "x")).texts() == ["x"]
    assert read_table(save("a.csv", "text\nx\nx\n")).texts() == ["x", "x"]


def test_the_limit_of_the_csv_module_is_put_back(save):
    before = csv.field_size_limit()
    read_table(save("a.csv", "text\nx\n"))
    message(read_table, save("a.csv", "id,text\nx\n"))
    assert csv.field_size_limit() == before


def test_folder_names_add_no_columns(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["a"]}), folder / "a.parquet")
    assert read_table(folder / "a.parquet").table.column_names == ["text"]


UNCLOSED = (
    "'a.csv', line 3: a quote (\") opens here and is never closed. Close it, or, where it belongs to the text, double "
    'it ("") inside quotes.'
)
DAMAGED = "is damaged or cut short: its {} data cannot be decompressed. Fetch it or compress it again."
CUT_PARQUET = "is a Parquet file that is damaged or cut short. Fetch it again."
OWN_NAME = "Give each column a name of its own."
SEPARATOR = "Put quotes around a text that holds the separator."


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "id,text\n1,a\n2,b,c\n", f"'a.csv', line 3: 3 fields found, but the header has 2. {SEPARATOR}"),
        ("a.tsv", 'id\ttext\n1\t"a\nb"\n2\n', f"'a.tsv', line 4: 1 field found, but the header has 2. {SEPARATOR}"),
        ("a.csv", 'id,text\n1,"ab"\n2,"c\n3,d\n', UNCLOSED),
        ("a.csv", 'text\nfine\n"open', UNCLOSED),
        ("a.csv", "id,text,id\n1,a,2\n", f"'a.csv' has more than one column called 'id'. {OWN_NAME}"),
        ("a.csv", "id,text\n", "'a.csv' has no rows"),
        ("a.csv", "\n\r\n", "'a.csv' is empty"),
        ("a.csv", "", "'a.csv' is empty"),
        ("a.jsonl", "\n \n", "'a.jsonl' has no rows"),
        ("a.jsonl", "{}\n", "'a.jsonl': the objects have no keys, so there are no columns"),
        (
            "a.jsonl",
            '{"text": "a"}\n{"text": "b" 3}\n',
            "'a.jsonl', line 2: not valid JSON (Expecting ',' delimiter at character 14)."
            " Each line must hold one object.",
        ),
        (
            "a.jsonl",
            '{"text": "a"}\n3\n',
            '\'a.jsonl\', line 2: a number instead of an object such as {"text": "..."}.',
        ),
        (
            "a.json",
            '[\n  {"text": "a"}\n]\n',
            '\'a.json\', line 1: an array instead of an object such as {"text": "..."}. To turn an array into '
            "lines: jq -c '.[]'.",
        ),
        (
            "a.jsonl",
            '{"text": ' + "[" * 200_000,
            "'a.jsonl', line 1: this JSON has too long a number or is nested too deeply.",
        ),
        (
            "a.jsonl",
            '{"text": "a", "n": ' + "1" * 5000 + "}",
            "'a.jsonl', line 1: this JSON has too long a number or is nested too deeply.",
        ),
        (
            "a.csv",
            b"id,text\n1,a\0b\n",
            "'a.csv', line 2: a NUL byte, which no text has. If the file is UTF-16, use --encoding utf-16-le; "
            "otherwise it is damaged or not a text file.",
        ),
        (
            "a.csv",
            b"text\ncaf\x81\n",
            "'a.csv' is not utf-8: the byte 0x81 at offset 8 cannot be decoded. Name the encoding, for example "
            "--encoding cp1252.",
        ),
        ("a.parquet", b"hello", "'a.parquet' is not a Parquet file"),
        ("a.parquet", b"PAR1" + b"x" * 50, f"'a.parquet' {CUT_PARQUET}"),
        (
            "a.csv.gz",
            b"text\na\n",
            "'a.csv.gz' is not gzip data, although its name says so. Rename it or compress it again.",
        ),
        (
            "a.csv",
            b"PK\x03\x04rest",
            "'a.csv' is an Excel workbook or another archive, although its name says otherwise. Rename a workbook to "
            ".xlsx, or unpack the archive.",
        ),
    ],
)
def test_message(save, name, content, expected):
    assert message(read_table, save(name, content)) == expected


def test_offset_far_into_the_file(save):
    content = "é".encode() * 100_001 + b"\n" + b"\xff\n"
    assert "byte 0xff at offset 200,003 " in message(read_table, save("a.txt", content), encoding="utf-8")
    assert "byte 0xff at offset 200,006 " in message(read_table, save("a.txt", b"\xef\xbb\xbf" + content))
    assert "byte 0xff at offset 200,003 " in message(
        read_table, save("a.txt", gzip.compress(content)), encoding="utf-8"
    )


def test_text_that_ends_inside_a_character(save):
    name = save("a.txt", b"abc\xc3")
    assert "'a.txt' is not utf-8: the byte 0xc3 at offset 3 " in message(read_table, name, encoding="utf-8")


def test_utf16_without_its_mark(save):
    name = save("a.txt", "text".encode("utf-16-le"))
    assert message(read_table, name, encoding="utf-16") == (
        "'a.txt' is not utf-16: UTF-16 stream does not start with BOM. Name another encoding with --encoding."
    )


@pytest.mark.parametrize("encoding", ["utf9", "hex", "a\0b"])
def test_unknown_encoding(save, encoding):
    assert message(read_table, save("a.txt", "a"), encoding=encoding) == (
        f"there is no encoding called {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, shift_jis and "
        "gb18030"
    )


def test_no_such_file(save):
    save("a.txt", "x")
    assert message(read_table, "b.csv") == "there is no file 'b.csv'"
    assert message(read_table, "a.txt/b.csv") == "there is no file 'a.txt/b.csv'"


def test_a_folder(save):
    Path("here").mkdir()
    assert message(read_table, "here") == "'here' is a folder; name one of the files in it"


def test_no_permission(save, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    expected = "'a.csv' cannot be read: no permission. Ask its owner, or change it with chmod."
    assert message(read_table, "a.csv") == expected


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission_for_real(save):
    Path(save("a.csv", "text\na\n")).chmod(0)
    expected = "'a.csv' cannot be read: no permission. Ask its owner, or change it with chmod."
    assert message(read_table, "a.csv") == expected


@pytest.mark.parametrize("compression", COMPRESS)
def test_cut_archive(save, compression):
    noise = np.random.default_rng(0).integers(97, 122, 300_000, np.uint8).tobytes()
    whole = COMPRESS[compression](b"text\n" + noise + b"\n")
    for cut in (len(whole) // 2, len(whole) - 3):
        name = save("a.csv", whole[:cut])
        assert message(read_table, name) == f"'a.csv' {DAMAGED.format(compression)}"


def test_flipped_bytes_in_an_archive(save):
    whole = bytearray(gzip.compress(b"text\n" + bytes(range(32, 127)) * 50))
    whole[30] ^= 0xFF
    assert message(read_table, save("a.csv", bytes(whole))) == f"'a.csv' {DAMAGED.format('gzip')}"


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_line_without_end(save, monkeypatch, name):
    monkeypatch.setattr("textspectra.tables.source.MAX_LINE", 1000)
    content = '{"text": "a"}\n' + "x" * 2000 if name == "a.jsonl" else "text\n" + "x" * 2000
    assert message(read_table, save(name, content)) == (
        f"'{name}', line 2: longer than 1,000 characters. Are its line breaks missing?"
    )


def test_cell_without_end(save, monkeypatch):
    monkeypatch.setattr("textspectra.tables.source.MAX_LINE", 1000)
    assert message(read_table, save("a.csv", 'id,text\n1,a\n2,"' + "line\n" * 500)) == (
        "'a.csv', line 3: a cell longer than 1,000 characters. Is a quote (\") never closed?"
    )


def test_parquet_cut_short(save):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": ["a"] * 1000}), buffer)
    half = buffer.getvalue()[: buffer.tell() // 2]
    assert message(read_table, save("a.parquet", half)) == f"'a.parquet' {CUT_PARQUET}"
    assert message(read_table, "-", stdin=io.BytesIO(half)) == f"standard input {CUT_PARQUET}"


def test_parquet_with_a_column_twice(save):
    pq.write_table(pa.Table.from_arrays([pa.array(["a"])] * 2, names=["x", "x"]), save("a.parquet", ""))
    assert message(read_table, "a.parquet") == f"'a.parquet' has more than one column called 'x'. {OWN_NAME}"


def test_nothing_on_standard_input():
    assert message(read_table, "-", stdin=io.BytesIO()) == "standard input is empty"


AS_WESTERN = (
    "'a.csv' is not UTF-8. It was read as cp1252, the encoding in which Excel saves CSV. If letters look wrong, name "
    "another one with --encoding."
)
FRENCH = "id;commentaire\n1;Le café est fermé – «\u00a0CAFÉ»\n2;À bientôt, 5 €\n"


@pytest.mark.parametrize("filler", [0, 100_000])
def test_what_is_not_utf_8_is_read_as_excel_saves_it(save, filler):
    content = FRENCH + "3;plain\n" * filler
    found = read_table(save("a.csv", content.encode("cp1252")))
    assert found.texts()[:2] == ["Le café est fermé – «\u00a0CAFÉ»", "À bientôt, 5 €"]
    assert found.notes[0] == AS_WESTERN
    last = read_table(save("a.csv", ("id;commentaire\n" + "3;plain\n" * filler + "1;fermé\n").encode("cp1252")))
    assert (last.texts()[-1], last.notes[0]) == ("fermé", AS_WESTERN)
    assert read_table(save("a.csv", content.encode("cp1252")), encoding="latin-1").notes == ()
    assert read_table(save("a.csv", content)).notes == ()


def test_standard_input_that_is_not_utf_8():
    found = read_table("-", stdin=io.BytesIO(FRENCH.encode("cp1252")))
    assert found.texts()[1] == "À bientôt, 5 €"
    assert found.notes[0] == AS_WESTERN.replace("'a.csv'", "standard input")


def test_other_encodings_are_not_taken_for_western_ones(save):
    russian = "текст\nГде моя посылка\nПароль не подходит\n".encode("cp1251")
    assert message(read_table, save("a.csv", russian)) == (
        "'a.csv' is not utf-8: the byte 0xf2 at offset 0 cannot be decoded. Name the encoding, for example --encoding "
        "cp1252."
    )


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


N = 100_000

PIECES = [
    *" \t\n01aA_.-',;:/=+#()[{\"<", "\r\n", "\u0301", "a\u0301", "\u0301\u0302", "a-", "a'", "-a", "a+", "a++", "http://",
    "www.", "jan", "jan ", "jan.", "mon, ", "1 jan", "1.", "1:", " at ", "2026-", "[{", "東", "あ", "カ", "ก", "é",
    "\u200b", "=\t", ";=", "𝐚",
]  # fmt: skip
STARTS = ["", "1 ", "jan", "mon", "2026-01-01T10:00", "1 jan 2026", "1/1/2026 1:00 ", '<dimension ref="', "http", "a"]
ENDS = ["", "!", "\x00", "é", "(", "x"]

USES = {
    "words": lambda text: (_phrases(text), clean_text(text)),
    "languages": _WORD.findall,
    "dates": lambda text: [shape.fullmatch(text) for shape in SHAPES],
    "columns": lambda text: (CALENDAR.sub("", text), CODE_SIGNS.search(text)),
    "formats": lambda text: (HEADER_CELL.fullmatch(text), JSON_START.match(text)),
    "workbooks": lambda text: DIMENSION.search(text.encode()),
    "reports": lambda text: META.search(f'id="block-meta">{text}'.encode()),
    "formulas": lambda text: made_safe([text]),
    "models": lambda text: (full_hub_name(text), knows_only_english(text)),
}


@pytest.mark.parametrize("use", USES)
def test_no_text_makes_a_pattern_slow(use):
    for number, piece in enumerate(PIECES):
        start, end = STARTS[number % len(STARTS)], ENDS[number % len(ENDS)]
        for text in (piece * (N // len(piece)), start + piece * (N // len(piece)) + end):
            USES[use](text)
