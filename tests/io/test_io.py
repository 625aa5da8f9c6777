"""Tables in and out: what is kept, what is guessed, and the exact sentence for every kind of bad input."""

import bz2
import datetime
import gzip
import io
import json
import lzma
import os
import string
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textspectra.errors import UserError
from textspectra.io import (
    TableFormat,
    TextTable,
    choose_text_column,
    column_values,
    format_from_name,
    list_column,
    output_paths_free,
    read_embeddings,
    read_table,
    write_embeddings,
    write_table,
)

COMPRESS = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
SUFFIX = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}

unicode_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
column_names = st.lists(
    st.text(string.ascii_letters + " ,;|\t\"'é", min_size=1, max_size=8), min_size=1, max_size=4, unique=True
)


@st.composite
def string_tables(draw):
    names = draw(column_names)
    n_rows = draw(st.integers(1, 8))
    return pa.table({name: pa.array(draw(st.lists(unicode_text, min_size=n_rows, max_size=n_rows))) for name in names})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | unicode_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(unicode_text, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def save(tmp_path, monkeypatch):
    """Write bytes to a file in the current folder and return its name, so that messages are short."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write


def message(call, *args, **options):
    with pytest.raises(UserError) as caught:
        call(*args, **options)
    return str(caught.value)


def files_here():
    return sorted(path.name for path in Path().iterdir())


def read_back(table, path, form, **options):
    """Write and read; the first column is named so that none has to be guessed."""
    write_table(table, path, format=form, overwrite=True, **options)
    return read_table(path, text_column=table.column_names[0])


class TestRoundTrips:
    @pytest.mark.parametrize("form", [TableFormat.CSV, TableFormat.TSV, TableFormat.JSONL, TableFormat.PARQUET])
    @given(table=string_tables())
    @settings(max_examples=60, deadline=None)
    def test_strings_come_back(self, tmp_path_factory, form, table):
        path = tmp_path_factory.getbasetemp() / f"round.{form}"
        found = read_back(table, path, form)
        assert found.table.equals(table)
        assert found.texts() == table.column(0).to_pylist()

    @given(texts=st.lists(unicode_text.filter(lambda text: not set(text) & set("\r\n\ufeff")), min_size=1).filter(any))
    @settings(max_examples=60, deadline=None)
    def test_plain_text_comes_back(self, tmp_path_factory, texts):
        path = tmp_path_factory.getbasetemp() / "round.txt"
        assert read_back(pa.table({"text": texts}), path, TableFormat.TEXT).texts() == texts

    @given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), json_values), min_size=1, max_size=6))
    @settings(max_examples=150, deadline=None)
    def test_json_values_come_back(self, tmp_path_factory, rows):
        base = tmp_path_factory.getbasetemp()
        source, target = base / "values.jsonl", base / "again.jsonl"
        rows = [{"text": "t", **row} for row in rows]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        write_table(read_table(source).table, target, format=TableFormat.JSONL, overwrite=True)
        again = [json.loads(line) for line in target.read_text("utf-8").split("\n")[:-1]]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        assert again == [{key: row.get(key) for key in keys} for row in rows]
        assert all(list(row) == keys for row in again)

    @pytest.mark.parametrize("compression", COMPRESS)
    @pytest.mark.parametrize("form", list(TableFormat))
    def test_every_compression(self, tmp_path, form, compression):
        path = tmp_path / f"a.{'txt' if form == 'text' else form}{SUFFIX[compression]}"
        table = pa.table({"text": [f"a text {i % 7}" for i in range(30_000)]})
        write_table(table, path, format=form, compression=compression)
        found = read_table(path)
        assert found.table.equals(table)
        assert (found.format, found.compression) == (form, compression)

    @pytest.mark.parametrize("compression", COMPRESS)
    def test_compression_by_content(self, save, compression):
        found = read_table(save("a.csv", COMPRESS[compression](b"id,text\n1,a\n")))
        assert (found.texts(), found.compression) == (["a"], compression)

    def test_csv_bytes_are_kept(self, save):
        content = b'id;text;when\n007;"a;b";NA\n; x ;\n1e5;"two\nlines";2024-01-01\n'
        found = read_table(save("a.csv", content))
        write_table(found.table, Path("b.csv"), format=found.format, delimiter=found.delimiter)
        assert Path("b.csv").read_bytes() == content

    def test_types_in_csv_and_json(self, tmp_path):
        day = datetime.date(2024, 2, 29)
        table = pa.table(
            {
                "text": pa.array(["a", None]).dictionary_encode(),
                "share": [0.1, float("nan")],
                "yes": [True, None],
                "n": [10**17, None],
                "day": [day, None],
                "raw": [b"hi", None],
                "list": [[1.0, float("inf")], None],
                "none": pa.nulls(2),
            }
        )
        write_table(table, tmp_path / "a.csv", format=TableFormat.CSV)
        assert (tmp_path / "a.csv").read_text() == (
            "text,share,yes,n,day,raw,list,none\n"
            'a,0.1,true,100000000000000000,2024-02-29,aGk=,"[1.0, null]",\n'
            ",nan,,,,,,\n"
        )
        write_table(table, tmp_path / "a.jsonl", format=TableFormat.JSONL)
        first, second = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
        assert list(first.values()) == ["a", 0.1, True, 10**17, "2024-02-29", "aGk=", [1.0, None], None]
        assert set(second.values()) == {None}

    def test_spreadsheet_safe(self, tmp_path):
        cells = ["=1", "+1", "-1", "@a", "\tx", "\rx", "a=1", "", "'=1"]
        path = tmp_path / "a.csv"
        table = pa.table({"=text": cells, "n": list(range(-4, 5))})
        write_table(table, path, format=TableFormat.CSV, spreadsheet_safe=True)
        found = read_table(path, text_column="'=text").table
        assert found.column("'=text").to_pylist() == [f"'{cell}" for cell in cells[:6]] + cells[6:]
        assert found.column("n").to_pylist() == [str(n) for n in range(-4, 5)]


class TestReading:
    @pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
    def test_byte_order_marks(self, save, codec, name):
        content = {"a.csv": "text\nnaïve 🙂\n", "a.jsonl": '{"text": "naïve 🙂"}\n', "a.txt": "naïve 🙂\n"}[name]
        found = read_table(save(name, content.encode(codec)))
        assert (found.text_column, found.texts()) == ("text", ["naïve 🙂"])

    def test_encoding_is_obeyed(self, save):
        assert read_table(save("a.txt", "café".encode("latin-1")), encoding="latin-1").texts() == ["café"]
        assert read_table(save("a.csv", "text\nä\n".encode("utf-16-le")), encoding="utf-16-le").texts() == ["ä"]

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_line_breaks(self, save, newline):
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
    def test_standard_input_is_sniffed(self, content, form, texts, compression):
        data = COMPRESS[compression](content) if compression else content
        found = read_table("-", stdin=io.BytesIO(data))
        assert (found.format, found.texts(), found.compression) == (form, texts, compression)

    def test_parquet_from_standard_input_in_small_pieces(self):
        buffer = io.BytesIO()
        pq.write_table(pa.table({"text": ["a"], "x": [1]}), buffer)
        buffer.seek(0)

        class Pipe:
            def read(self, size):
                return buffer.read(min(size, 3))

        assert read_table("-", stdin=Pipe()).table.to_pylist() == [{"text": "a", "x": 1}]

    def test_long_sample_is_cut_inside_a_row(self, save):
        rows = [["1", "x, y; " * 4000, "z"] for _ in range(12)]
        content = "a|b|c\n" + "".join("|".join(row) + "\n" for row in rows)
        found = read_table(save("a.csv", content), text_column="b")
        assert (found.delimiter, found.table.num_rows) == ("|", 12)
        quoted = "id,text\n" + "".join(f'{i},"{"one line" + chr(10)}{"x" * 9000}"\n' for i in range(12))
        for codec in ("utf-8", "utf-16", "utf-32"):
            found = read_table("-", stdin=io.BytesIO(quoted.encode(codec)))
            assert (found.format, found.table.num_rows) == ("csv", 12)

    def test_many_batches(self, save):
        found = read_table(save("a.csv", "text,n\n" + "".join(f"t,{i}\n" for i in range(25_000))))
        assert found.table.column("n").to_pylist() == [str(i) for i in range(25_000)]

    def test_a_cell_above_the_limit_of_the_csv_module(self, save):
        assert read_table(save("a.csv", "text\n" + "x" * 200_000 + "\n")).texts() == ["x" * 200_000]

    def test_json_keeps_what_arrow_would_change(self, save):
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

    def test_half_an_emoji(self, save):
        content = (
            '{"text": "cut \\ud83d", "nested": [{"\\ude00": "\\ud83d"}]}\n{"text": "\\ud83d\\ude00", "nested": 1}\n'
        )
        table = read_table(save("a.jsonl", content)).table
        assert table.column("text").to_pylist() == ["cut \ufffd", "😀"]
        assert table.column("nested").to_pylist() == ['[{"\ufffd": "\ufffd"}]', "1"]

    def test_one_row_and_equal_rows_are_fine(self, save):
        assert read_table(save("a.txt", "x")).texts() == ["x"]
        assert read_table(save("a.csv", "text\nx\nx\n")).texts() == ["x", "x"]

    def test_the_limit_of_the_csv_module_is_put_back(self, save):
        import csv

        before = csv.field_size_limit()
        read_table(save("a.csv", "text\nx\n"))
        message(read_table, save("a.csv", "id,text\nx\n"))
        assert csv.field_size_limit() == before

    def test_folder_names_add_no_columns(self, tmp_path):
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


class TestBadInput:
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
                b"text\ncaf\xe9\n",
                "'a.csv' is not utf-8: the byte 0xe9 at offset 8 cannot be decoded. Name the encoding, for example "
                "--encoding latin-1.",
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
                "'a.csv' is a zip archive or an Excel workbook. Save the table as CSV (UTF-8) first.",
            ),
        ],
    )
    def test_message(self, save, name, content, expected):
        assert message(read_table, save(name, content)) == expected

    def test_offset_far_into_the_file(self, save):
        content = "é".encode() * 100_001 + b"\n" + b"\xff\n"
        assert "byte 0xff at offset 200,003 " in message(read_table, save("a.txt", content))
        assert "byte 0xff at offset 200,006 " in message(read_table, save("a.txt", b"\xef\xbb\xbf" + content))
        assert "byte 0xff at offset 200,003 " in message(read_table, save("a.txt", gzip.compress(content)))

    def test_text_that_ends_inside_a_character(self, save):
        assert "'a.txt' is not utf-8: the byte 0xc3 at offset 3 " in message(read_table, save("a.txt", b"abc\xc3"))

    def test_utf16_without_its_mark(self, save):
        name = save("a.txt", "text".encode("utf-16-le"))
        assert message(read_table, name, encoding="utf-16") == (
            "'a.txt' is not utf-16: UTF-16 stream does not start with BOM. Name another encoding with --encoding."
        )

    @pytest.mark.parametrize("encoding", ["utf9", "hex", "a\0b"])
    def test_unknown_encoding(self, save, encoding):
        assert message(read_table, save("a.txt", "a"), encoding=encoding) == (
            f"there is no encoding called {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, shift_jis and "
            "gb18030"
        )

    def test_no_such_file(self, save):
        save("a.txt", "x")
        assert message(read_table, "b.csv") == "there is no file 'b.csv'"
        assert message(read_table, "a.txt/b.csv") == "there is no file 'a.txt/b.csv'"

    def test_a_folder(self, save):
        Path("here").mkdir()
        assert message(read_table, "here") == "'here' is a folder; name one of the files in it"

    def test_no_permission(self, save, monkeypatch):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        expected = "'a.csv' cannot be read: no permission. Ask its owner, or change it with chmod."
        assert message(read_table, "a.csv") == expected

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_no_permission_for_real(self, save):
        Path(save("a.csv", "text\na\n")).chmod(0)
        assert "no permission" in message(read_table, "a.csv")

    @pytest.mark.parametrize("compression", COMPRESS)
    def test_cut_archive(self, save, compression):
        noise = np.random.default_rng(0).integers(97, 122, 300_000, np.uint8).tobytes()
        whole = COMPRESS[compression](b"text\n" + noise + b"\n")
        for cut in (len(whole) // 2, len(whole) - 3):
            name = save("a.csv", whole[:cut])
            assert message(read_table, name) == f"'a.csv' {DAMAGED.format(compression)}"

    def test_flipped_bytes_in_an_archive(self, save):
        whole = bytearray(gzip.compress(b"text\n" + bytes(range(32, 127)) * 50))
        whole[30] ^= 0xFF
        assert message(read_table, save("a.csv", bytes(whole))) == f"'a.csv' {DAMAGED.format('gzip')}"

    @pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
    def test_line_without_end(self, save, monkeypatch, name):
        monkeypatch.setattr("textspectra.io.source.MAX_LINE", 1000)
        content = '{"text": "a"}\n' + "x" * 2000 if name == "a.jsonl" else "text\n" + "x" * 2000
        assert message(read_table, save(name, content)) == (
            f"'{name}', line 2: longer than 1,000 characters. Are its line breaks missing?"
        )

    def test_cell_without_end(self, save, monkeypatch):
        monkeypatch.setattr("textspectra.io.source.MAX_LINE", 1000)
        assert message(read_table, save("a.csv", 'id,text\n1,a\n2,"' + "line\n" * 500)) == (
            "'a.csv', line 3: a cell longer than 1,000 characters. Is a quote (\") never closed?"
        )

    def test_parquet_cut_short(self, save):
        buffer = io.BytesIO()
        pq.write_table(pa.table({"text": ["a"] * 1000}), buffer)
        half = buffer.getvalue()[: buffer.tell() // 2]
        assert message(read_table, save("a.parquet", half)) == f"'a.parquet' {CUT_PARQUET}"
        assert message(read_table, "-", stdin=io.BytesIO(half)) == f"standard input {CUT_PARQUET}"

    def test_parquet_with_a_column_twice(self, save):
        pq.write_table(pa.Table.from_arrays([pa.array(["a"])] * 2, names=["x", "x"]), save("a.parquet", ""))
        assert message(read_table, "a.parquet") == f"'a.parquet' has more than one column called 'x'. {OWN_NAME}"

    def test_nothing_on_standard_input(self):
        assert message(read_table, "-", stdin=io.BytesIO()) == "standard input is empty"


WHICH = "which column holds the texts? Choose with --text-column; the columns are: "
PROSE = ["my card was declined again", "where is my order today", "please cancel the whole thing"]


class TestTextColumn:
    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ({"x": ["a1", "a2"]}, "x"),
            ({"id": ["a"], "TEXT ": ["b"]}, "TEXT "),
            ({"text": ["a"], "message": ["b"], "title": ["c"]}, "text"),
            ({"message": ["a"], "title": ["b"]}, "message"),
            ({"n": [1], "Review": ["good"]}, "Review"),
            ({"text": [1], "body": ["a"]}, "body"),
            ({"comment": ["12", "7"], "question": ["what is it", "who"]}, "question"),
            ({"n": [1, 2], "words": ["yes", "yes"]}, "words"),
            ({"id": ["u_1", "u_2", "u_3"], "said": PROSE, "kind": ["a", "b", "b"]}, "said"),
            ({"when": ["12 March 2024 10:00", "1 May 2023", "Mon, 3 Jun 2022"], "said": PROSE}, "said"),
            ({"url": ["https://a.b/c?d=1"] * 3, "who": ["Jo Doe", "Al Roe", "Cy Coe"], "said": PROSE}, "said"),
            ({"short": PROSE, "long": [text * 3 for text in PROSE]}, "long"),
            ({"a": ["今天天气很好我们去公园", "我的订单在哪里呢", "请取消我的订阅"], "b": ["好", "坏", "好"]}, "a"),
        ],
    )
    def test_obvious(self, columns, expected):
        assert choose_text_column(pa.table(columns)) == expected

    @pytest.mark.parametrize(
        "columns",
        [
            {"title": ["a"], "body": ["b"]},
            {"Text": ["a"], "text": ["b"]},
            {"id": ["a1", "a2"], "n": [1, 2]},
            {"day": ["2024-01-01T10:00:00Z", "2024-01-02"], "n": [1, 2]},
            {"url": ["https://a.b/c", "www.a.b/d"], "n": [1, 2]},
            {"id": ["1", "2"], "kind": ["sport and leisure", "sport and leisure"]},
            {"kind": ["sport and leisure now"] * 30, "place": ["the north of it"] * 30},
            {"first": ["Jo", "Al"], "last": ["Doe", "Roe"]},
            {"left": PROSE, "right": PROSE},
            {"a": [1], "b": [2.5]},
            {"a": pa.nulls(1), "b": [""], "c": [" "]},
        ],
    )
    def test_not_obvious(self, columns):
        names = ", ".join(map(repr, columns))
        if columns.keys() == {"id", "kind"}:
            columns = {name: values * 20 for name, values in columns.items()}
        assert message(choose_text_column, pa.table(columns)) == WHICH + names

    def test_no_such_column(self, save):
        name = save("a.csv", "id,Text\n1,a\n")
        assert message(read_table, name, text_column="text") == (
            "there is no column 'text'; did you mean 'Text'? The columns are: 'id', 'Text'"
        )
        assert message(read_table, name, text_column="price") == (
            "there is no column 'price'. The columns are: 'id', 'Text'"
        )

    @pytest.mark.parametrize(
        ("value", "holds"),
        [
            ("1.5", "numbers (double)"),
            ("true", "true and false (bool)"),
            ("null", "nothing but missing values (null)"),
            ("[1]", "nested values (list<item: int64>)"),
        ],
    )
    def test_not_a_text_column(self, save, value, holds):
        name = save("a.jsonl", f'{{"x": {value}, "text": "a"}}\n')
        assert message(read_table, name, text_column="x") == (
            f"the column 'x' holds {holds}, not text. Choose another with --text-column; the columns are: 'x', 'text'"
        )

    def test_mixed_values_are_no_texts(self, save):
        name = save("a.jsonl", '{"x": 1}\n{"x": "a"}\n')
        assert message(read_table, name) == f"{WHICH}'x'"
        assert "'x' holds JSON values of several kinds, not text." in message(read_table, name, text_column="x")

    def test_an_explicit_choice_wins(self, save):
        assert read_table(save("a.csv", "id,text\n007,a\n"), text_column="id").texts() == ["007"]


class TestWriting:
    TABLE = pa.table({"text": ["a", "b"]})

    def test_existing_files_are_safe(self, save):
        Path(save("a.csv", "old")).chmod(0o640)
        expected = "'a.csv' exists already; use --overwrite or another --out"
        assert message(write_table, self.TABLE, Path("a.csv"), format=TableFormat.CSV) == expected
        assert Path("a.csv").read_text() == "old"
        write_table(self.TABLE, Path("a.csv"), format=TableFormat.CSV, overwrite=True)
        assert Path("a.csv").read_text() == "text\na\nb\n"
        assert Path("a.csv").stat().st_mode & 0o777 == 0o640
        assert files_here() == ["a.csv"]

    def test_several_that_exist(self, save):
        paths = [Path(save("a.csv", "")), Path("b.csv"), Path(save("c.csv", ""))]
        expected = "'a.csv', 'c.csv' exist already; use --overwrite or another --out"
        assert message(output_paths_free, paths, overwrite=False) == expected
        output_paths_free(paths, overwrite=True)
        output_paths_free([Path("b.csv"), Path("a.csv/below")], overwrite=False)

    def test_a_folder_is_never_replaced(self, save):
        Path("here").mkdir()
        assert message(output_paths_free, [Path("here")], overwrite=True) == "'here' is a folder; name a file in it"

    @pytest.mark.parametrize("compression", [None, *COMPRESS])
    @pytest.mark.parametrize("form", [TableFormat.CSV, TableFormat.JSONL, TableFormat.PARQUET])
    def test_failure_leaves_the_old_file(self, save, monkeypatch, form, compression):
        path = Path(save("a.out", "old"))

        def full_disk(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full_disk)
        options = {"format": form, "compression": compression, "overwrite": True}
        assert message(write_table, self.TABLE, path, **options) == "'a.out' cannot be written: No space left on device"
        assert (path.read_text(), files_here()) == ("old", ["a.out"])

    @pytest.mark.parametrize("compression", [None, *COMPRESS])
    @pytest.mark.parametrize("module", ["delimited", "jsonlines"])
    def test_interruption_leaves_nothing(self, save, monkeypatch, module, compression):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        save("a.out", "old")
        monkeypatch.setattr(f"textspectra.io.{module}.{'_cells' if module == 'delimited' else '_encoded'}", interrupt)
        form = TableFormat.CSV if module == "delimited" else TableFormat.JSONL
        with pytest.raises(KeyboardInterrupt):
            write_table(self.TABLE, Path("a.out"), format=form, compression=compression, overwrite=True)
        assert (Path("a.out").read_text(), files_here()) == ("old", ["a.out"])

    def test_no_such_folder(self, save):
        save("file", "x")
        options = {"format": TableFormat.CSV}
        expected = "'none/a.csv' cannot be written: No such file or directory"
        assert message(write_table, self.TABLE, Path("none/a.csv"), **options) == expected
        expected = "'file/a.csv' cannot be written: Not a directory"
        assert message(write_table, self.TABLE, Path("file/a.csv"), **options) == expected

    def test_a_link_stays_a_link(self, save):
        Path("link.csv").symlink_to(save("a.csv", "old"))
        write_table(self.TABLE, Path("link.csv"), format=TableFormat.CSV, overwrite=True)
        assert Path("link.csv").is_symlink()
        assert Path("a.csv").read_text() == "text\na\nb\n"

    @pytest.mark.parametrize("compression", COMPRESS)
    def test_same_table_same_bytes(self, tmp_path, compression):
        for name in "ab":
            write_table(self.TABLE, tmp_path / name, format=TableFormat.CSV, compression=compression)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_unknown_compression(self, tmp_path):
        with pytest.raises(ValueError, match="compression must be None or one of gzip, bz2, xz, zstd, but it is 'rar'"):
            write_table(self.TABLE, tmp_path / "a", format=TableFormat.CSV, compression="rar")

    def test_what_plain_text_cannot_hold(self, tmp_path):
        options = {"path": tmp_path / "a.txt", "format": TableFormat.TEXT}
        assert message(write_table, pa.table({"a": ["x"], "b": ["y"]}), **options) == (
            "plain text holds one column, but the table has 2. Write .csv, .jsonl or .parquet instead."
        )
        assert message(write_table, pa.table({"a": ["x", "y\nz"]}), **options) == (
            "the text in row 2 has a line break, so it cannot be written as plain text. Write .csv, .jsonl or .parquet "
            "instead."
        )
        assert not list(tmp_path.iterdir())


class TestColumns:
    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    )
    def test_texts_of_any_string_type(self, kind):
        table = pa.table({"text": pa.array(["a", None, "b"]).cast(kind)})
        assert TextTable(table, choose_text_column(table), TableFormat.PARQUET).texts() == ["a", "", "b"]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("a.ndjson.zst", ("jsonl", "zstd")),
            ("a.b/c.TAB", ("tsv", None)),
            ("a.gz", (None, "gzip")),
            ("a", (None, None)),
        ],
    )
    def test_format_from_name(self, name, expected):
        assert format_from_name(name) == expected


class TestEmbeddings:
    ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)

    def test_npy_is_a_memory_map(self, tmp_path):
        np.save(tmp_path / "a.npy", self.ROWS)
        rows = read_embeddings(tmp_path / "a.npy")
        assert isinstance(rows, np.memmap)
        np.testing.assert_array_equal(rows, self.ROWS)

    @pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float16())])
    @pytest.mark.parametrize("row_group_size", [None, 2])
    def test_parquet(self, tmp_path, kind, row_group_size):
        column = pa.array(self.ROWS.astype(kind.value_type.to_pandas_dtype()).tolist(), kind)
        pq.write_table(
            pa.table({"id": list("abcd"), "v": column}), tmp_path / "a.parquet", row_group_size=row_group_size
        )
        rows = read_embeddings(tmp_path / "a.parquet")
        assert rows.dtype == kind.value_type.to_pandas_dtype()
        np.testing.assert_array_equal(rows, self.ROWS)

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ({"a": [1.0]}, "'a.parquet' must have exactly one column of lists of numbers; found: none"),
            ({"a": [[1]], "b": [[2]]}, "'a.parquet' must have exactly one column of lists of numbers; found: 'a', 'b'"),
            ({"a": [[1.0], None]}, "'a.parquet': row 1 of 'a' is missing"),
            ({"a": [[1.0], [2.0, 3.0]]}, "'a.parquet': row 1 of 'a' has 2 numbers, but row 0 has 1"),
            ({"a": [[], []], "n": [1, 2]}, "'a.parquet' must have exactly one column of lists of numbers; found: none"),
            ({"a": pa.array([[]], pa.list_(pa.int8()))}, "'a.parquet': the lists of 'a' are empty"),
            ({"a": [[1.0, None]]}, "'a.parquet': a number in 'a' is missing. Embed such texts again, or remove them."),
            ({"a": pa.array([], pa.list_(pa.float32()))}, "'a.parquet' has no rows"),
        ],
    )
    def test_bad_parquet(self, save, columns, expected):
        pq.write_table(pa.table(columns), save("a.parquet", ""))
        assert message(read_embeddings, Path("a.parquet")) == expected

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            (np.zeros(3), "'a.npy' must hold a matrix of numbers, but its shape is (3,) and its type float64."),
            (np.full((1, 2), "x"), "'a.npy' must hold a matrix of numbers, but its shape is (1, 2) and its type <U1."),
        ],
    )
    def test_npy_without_a_matrix(self, save, rows, expected):
        np.save(save("a.npy", ""), rows)
        assert message(read_embeddings, Path("a.npy")) == expected

    def test_damaged_files(self, save):
        np.save(save("a.npy", ""), self.ROWS)
        not_npy = "'b.npy' is not a .npy file of numbers, or it is cut short. Write it with numpy.save."
        for content in (Path("a.npy").read_bytes()[:-5], b"", b"hello", Path("a.npy").read_bytes()[:40]):
            assert message(read_embeddings, Path(save("b.npy", content))) == not_npy
        np.save("b.npy", np.array([[None]]), allow_pickle=True)
        assert message(read_embeddings, Path("b.npy")) == not_npy
        np.savez("c.npz", a=self.ROWS)
        Path("c.npz").rename("c.npy")
        assert message(read_embeddings, Path("c.npy")) == "'c.npy' holds several arrays. Write the one with numpy.save."
        expected = "'a.parquet' is not a Parquet file, or it is damaged or cut short."
        assert message(read_embeddings, Path(save("a.parquet", b"PAR1 and more"))) == expected
        assert message(read_embeddings, Path("no.npy")) == "there is no file 'no.npy'"
        assert message(read_embeddings, Path("a.h5")) == "'a.h5': embeddings are read from .npy and .parquet files"

    @pytest.mark.parametrize("name", ["a.npy", "a.parquet"])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_written_and_read(self, save, name, dtype):
        rows = np.asfortranarray(self.ROWS.astype(dtype))
        write_embeddings(rows, Path(name), texts=list("abcd"))
        found = read_embeddings(Path(name))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, rows)
        expected = f"'{name}' exists already; use --overwrite or another --out"
        assert message(write_embeddings, rows, Path(name)) == expected
        write_embeddings(rows[:2], Path(name), overwrite=True)
        assert (read_embeddings(Path(name)).shape, files_here()) == ((2, 3), [name])
        assert (
            message(write_embeddings, rows, Path("a.h5")) == "'a.h5': embeddings are written to .npy and .parquet files"
        )

    def test_columns_of_a_table(self, save):
        table = read_table(save("a.jsonl", '{"text": "a", "v": [1, 0.5]}\n{"text": "b", "v": [2, 1]}\n')).table
        np.testing.assert_array_equal(list_column(table, "v"), [[1, 0.5], [2, 1]])
        np.testing.assert_array_equal(list_column(table.slice(1), "v"), [[2, 1]])
        assert message(list_column, table, "text") == "the column 'text' holds text (string), not lists of numbers"
        assert (
            message(list_column, pa.table({"v": [[1], [1, 2]]}), "v") == "row 1 of 'v' has 2 numbers, but row 0 has 1"
        )
        assert column_values(table, "text") == ["a", "b"]
        expected = "there is no column 'txt'; did you mean 'text'? The columns are: 'text', 'v'"
        assert message(column_values, table, "txt") == expected
