"""CSV without cells that a spreadsheet would run; JSON that comes back as it was, and lines that cannot be read."""

import csv
import io
import json
import re
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from io_helpers import message, write_table

from textspectra.tables import lines
from textspectra.tables.lines import made_safe, to_json
from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat

SIGN = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"


@pytest.mark.parametrize("before", ["", "\n", " ", *"\u00a0\u200b\ufeff\u202e\x00\t\u3000", "\r\n"])
@pytest.mark.parametrize("sign", SIGN)
def test_a_sign_behind_what_nobody_sees_is_escaped(before, sign):
    [safe] = made_safe([f"{before}{sign}cmd|' /C calc'!A0"])
    assert re.search(rf"'[^;\w]*{re.escape(sign)}", safe)
    assert safe.replace("'", "") == f"{before}{sign}cmd| /C calc!A0"


@given(st.text(alphabet=f"{SIGN}ab1;,\t\r\n \u200b\"'|", max_size=12))
def test_no_piece_starts_with_a_sign(text):
    [safe] = made_safe([text])
    for piece in re.split("[;\t\r\n]", safe):
        seen = [letter for letter in piece if not letter.isspace() and unicodedata.category(letter)[0] not in "CZ"]
        assert not seen or seen[0] not in SIGN
    left = iter(safe)
    assert all(letter in left for letter in text)  # nothing is lost, only apostrophes are added
    assert len(safe) - len(text) == safe.count("'") - text.count("'")


@pytest.mark.parametrize("text", ["a=1", "one + one", "x@y.org", "wait, -5", "5-1", "", "'=1", "été", "ok; fine"])
def test_ordinary_texts_are_unchanged(text):
    assert made_safe([text]) == [text]


def test_a_spreadsheet_that_splits_at_semicolons_finds_no_formula():
    line = io.StringIO()
    csv.writer(line).writerow(made_safe(["7", "hello;=1+1;@x", "a\n=2"]))
    for row in csv.reader(io.StringIO(line.getvalue()), delimiter=";"):
        assert not any(cell.lstrip(' "\n').startswith(tuple("=+-@")) for cell in row)


def test_json_keeps_what_arrow_would_change(save):
    rows = [
        {"text": "a", "mixed": 1, "object": {"b": 1, "a": 2}, "big": 2**80, "date": "2024-01-01T00:00:00Z"},
        {"text": "b", "mixed": "x", "object": {"a": 1}, "late": [1, 2.5]},
    ]
    found = read_table(save("a.jsonl", "\n".join(map(json.dumps, rows))))
    assert found.table.schema.field("date").type == pa.string()
    assert found.table.schema.field("late").type == pa.list_(pa.float64())
    write_table(found.table, Path("b.jsonl"), TableFormat.JSONL)
    first, second = map(json.loads, Path("b.jsonl").read_text().splitlines())
    assert first == {**rows[0], "late": None}
    assert list(first["object"]) == ["b", "a"]
    assert second == {**rows[1], "big": None, "date": None}


def test_half_an_emoji(save):
    content = '{"text": "cut \\ud83d", "nested": [{"\\ude00": "\\ud83d"}]}\n{"text": "\\ud83d\\ude00", "nested": 1}\n'
    table = read_table(save("a.jsonl", content)).table
    assert table.column("text").to_pylist() == ["cut \ufffd", "😀"]
    assert table.column("nested").to_pylist() == ['[{"\ufffd": "\ufffd"}]', "1"]


@pytest.mark.parametrize("depth", [101, 500, 900, 5000, 200_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_json_that_is_nested_too_deeply_is_a_message(depth, brackets):
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    line = '{"text": "a", "x": ' + opening * depth + "1" + closing * depth + "}"
    assert "nested" in message(read_table, "-", stdin=io.BytesIO(line.encode()))


def test_json_nested_as_deeply_as_allowed_is_kept(tmp_path):
    nested = "[" * 98 + "1" + "]" * 98
    lines = '{"text": "a", "x": %s}\n{"text": "b", "x": {"y": %s}}\n' % (nested, nested)  # noqa: UP031
    table = read_table("-", stdin=io.BytesIO(lines.encode())).table
    for form in (TableFormat.JSONL, TableFormat.CSV, TableFormat.PARQUET):
        write_table(table, tmp_path / f"a.{form}", form)
    assert json.loads(Path(tmp_path, "a.jsonl").read_text().splitlines()[0])["x"] == json.loads(nested)


def test_json_whose_keys_are_values_is_a_message(monkeypatch):
    monkeypatch.setattr(lines, "MAX_KEYS", 50)
    content = "".join(f'{{"text": "a", "key {i}": 1}}\n' for i in range(100))
    assert message(read_table, "-", stdin=io.BytesIO(content.encode())) == (
        "standard input, line 50: 51 different keys so far, in 50 objects. That is too much for a table; are some keys "
        "values? Put these objects into one field."
    )


def test_values_that_json_lacks():
    values = {"n": float("nan"), "pairs": [("a", float("inf"))], "bytes": b"hi"}
    assert to_json(values) == '{"n": null, "pairs": [["a", null]], "bytes": "aGk="}'
