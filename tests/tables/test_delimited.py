"""No cell that a spreadsheet would run is left without an apostrophe."""

import csv
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.tables.delimited import made_safe

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
