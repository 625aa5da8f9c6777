"""Tables that are read: what is preserved, what is guessed, and the message for each kind of bad input."""

import csv
import gzip
import io
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
from textspectra.tables import source
from textspectra.tables.columns import CALENDAR, CODE_SIGNS
from textspectra.tables.dates import SHAPES
from textspectra.tables.excel import DIMENSION
from textspectra.tables.headers import HEADER_CELL
from textspectra.tables.lines import made_safe
from textspectra.tables.read import read_table
from textspectra.tables.source import JSON_START
from textspectra.words.languages import _WORD
from textspectra.words.tokens import clean_text, split_phrases


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
    "'a.csv', line 3: a quote (\") opens here and is never closed. Close it, or, if it belongs to the text, double it "
    '("") inside quotes.'
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
        ("a.jsonl", "{}\n", "'a.jsonl': the objects have no keys, so the table has no columns"),
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
        f"unknown encoding {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, shift_jis and gb18030"
    )


def test_no_such_file(save):
    save("a.txt", "x")
    assert message(read_table, "b.csv") == "file not found: 'b.csv'"
    assert message(read_table, "a.txt/b.csv") == "file not found: 'a.txt/b.csv'"


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


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(source, "MAX_ROWS", 20_000)
    monkeypatch.setattr(source, "MAX_BYTES", 2**20)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("suffix", "line", "n_lines", "what"),
    [
        (".txt.gz", "\n", 30_000, "more than 20,000 rows"),
        (".csv.gz", "1,a\n", 30_001, "more than 20,000 rows"),
        (".jsonl.gz", '{"text":""}\n', 30_000, "more than 20,000 rows"),
        (".txt.gz", "x" * 1000 + "\n", 2000, "holds more than 1 MB once it is unpacked"),
        (".csv.gz", "1," + "x" * 1000 + "\n", 2000, "holds more than 1 MB once it is unpacked"),
    ],
)
def test_a_stream_is_read_up_to_the_limit(tmp_path, suffix, line, n_lines, what):
    path = tmp_path / f"a{suffix}"
    header = "id,text\n" if "csv" in suffix else ""
    path.write_bytes(gzip.compress((header + line * n_lines).encode()))
    assert what in message(read_table, path)


N = 100_000

PIECES = [
    *" \t\n01aA_.-',;:/=+#()[{\"<", "\r\n", "\u0301", "a\u0301", "\u0301\u0302", "a-", "a'", "-a", "a+", "a++", "http://",
    "www.", "jan", "jan ", "jan.", "mon, ", "1 jan", "1.", "1:", " at ", "2026-", "[{", "東", "あ", "カ", "ก", "é",
    "\u200b", "=\t", ";=", "𝐚",
]  # fmt: skip
STARTS = ["", "1 ", "jan", "mon", "2026-01-01T10:00", "1 jan 2026", "1/1/2026 1:00 ", '<dimension ref="', "http", "a"]
ENDS = ["", "!", "\x00", "é", "(", "x"]

USES = {
    "words": lambda text: (split_phrases(text), clean_text(text)),
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
