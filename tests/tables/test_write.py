"""Tables that are written, and read again."""

import datetime
import json
import os
import string
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from io_helpers import COMPRESS, SUFFIX, files_here, message, write_table

from textspectra.tables.read import read_table
from textspectra.tables.source import TableFormat
from textspectra.tables.write import output_paths_free

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


def read_back(table, path, form, **options):
    """Write and read; the first column is named so that none has to be guessed."""
    write_table(table, path, form, overwrite=True, **options)
    return read_table(path, text_column=table.column_names[0])


TABLE = pa.table({"text": ["a", "b"]})


def test_existing_files_are_safe(save):
    Path(save("a.csv", "old")).chmod(0o640)
    expected = "'a.csv' exists already; use --overwrite or another --out"
    assert message(write_table, TABLE, Path("a.csv"), TableFormat.CSV) == expected
    assert Path("a.csv").read_text() == "old"
    write_table(TABLE, Path("a.csv"), TableFormat.CSV, overwrite=True)
    assert Path("a.csv").read_text() == "text\na\nb\n"
    assert Path("a.csv").stat().st_mode & 0o777 == 0o640
    assert files_here() == ["a.csv"]


def test_several_that_exist(save):
    paths = [Path(save("a.csv", "")), Path("b.csv"), Path(save("c.csv", ""))]
    expected = "'a.csv', 'c.csv' exist already; use --overwrite or another --out"
    assert message(output_paths_free, paths, overwrite=False) == expected
    output_paths_free(paths, overwrite=True)
    output_paths_free([Path("b.csv"), Path("a.csv/below")], overwrite=False)


def test_a_folder_is_never_replaced(save):
    Path("here").mkdir()
    assert message(output_paths_free, [Path("here")], overwrite=True) == "'here' is a folder; name a file in it"


@pytest.mark.parametrize("compression", [None, *COMPRESS])
@pytest.mark.parametrize("form", [TableFormat.CSV, TableFormat.JSONL, TableFormat.PARQUET])
def test_failure_leaves_the_old_file(save, monkeypatch, form, compression):
    path = Path(save(f"a.out{SUFFIX.get(compression, '')}", "old"))

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    expected = f"'{path}' cannot be written: No space left on device"
    assert message(write_table, TABLE, path, form, overwrite=True) == expected
    assert (path.read_text(), files_here()) == ("old", [path.name])


@pytest.mark.parametrize("compression", [None, *COMPRESS])
@pytest.mark.parametrize(("form", "converter"), [(TableFormat.CSV, "_cells"), (TableFormat.JSONL, "_encoded")])
def test_interruption_leaves_nothing(save, monkeypatch, form, converter, compression):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    path = Path(save(f"a.out{SUFFIX.get(compression, '')}", "old"))
    monkeypatch.setattr(f"textspectra.tables.lines.{converter}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(TABLE, path, form, overwrite=True)
    assert (path.read_text(), files_here()) == ("old", [path.name])


def test_no_such_folder(save):
    save("file", "x")
    options = {"form": TableFormat.CSV}
    expected = "'none/a.csv' cannot be written: No such file or directory"
    assert message(write_table, TABLE, Path("none/a.csv"), **options) == expected
    expected = "'file/a.csv' cannot be written: Not a directory"
    assert message(write_table, TABLE, Path("file/a.csv"), **options) == expected


@pytest.mark.parametrize("compression", COMPRESS)
def test_same_table_same_bytes(tmp_path, compression):
    paths = [tmp_path / f"{name}{SUFFIX[compression]}" for name in "ab"]
    for path in paths:
        write_table(TABLE, path, TableFormat.CSV)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("form", [TableFormat.CSV, TableFormat.TSV, TableFormat.JSONL, TableFormat.PARQUET])
@given(table=string_tables())
@settings(max_examples=60, deadline=None)
def test_strings_come_back(tmp_path_factory, form, table):
    path = tmp_path_factory.getbasetemp() / f"round.{form}"
    # Cells and names with another delimiter may read like a header below a title, or decide which delimiter it is.
    cells = "".join(chain(table.column_names, *table.to_pydict().values()))
    assume(form is not TableFormat.CSV or set(";|\t").isdisjoint(cells))
    found = read_back(table, path, form)
    assert found.table.equals(table)
    assert found.texts() == table.column(0).to_pylist()


@given(texts=st.lists(unicode_text.filter(lambda text: not set(text) & set("\r\n\ufeff")), min_size=1).filter(any))
@settings(max_examples=60, deadline=None)
def test_lines_are_read_as_texts(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "round.txt"
    path.write_bytes("".join(f"{text}\n" for text in texts).encode())
    assert read_table(path).texts() == texts


@given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), json_values), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_json_values_come_back(tmp_path_factory, rows):
    base = tmp_path_factory.getbasetemp()
    source, target = base / "values.jsonl", base / "again.jsonl"
    rows = [{"text": "t", **row} for row in rows]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_table(read_table(source).table, target, TableFormat.JSONL, overwrite=True)
    again = [json.loads(line) for line in target.read_text("utf-8").split("\n")[:-1]]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    assert again == [{key: row.get(key) for key in keys} for row in rows]
    assert all(list(row) == keys for row in again)


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("form", sorted(set(TableFormat) - {TableFormat.EXCEL_CSV, TableFormat.TEXT}))
def test_every_compression(tmp_path, form, compression):
    path = tmp_path / f"a.{form}{SUFFIX[compression]}"
    table = pa.table({"text": [f"a text {i % 7}" for i in range(30_000)]})
    write_table(table, path, form)
    found = read_table(path)
    assert found.table.equals(table)
    assert (found.format, found.compression) == (form, compression)


@pytest.mark.parametrize("compression", COMPRESS)
def test_compression_by_content(save, compression):
    found = read_table(save("a.csv", COMPRESS[compression](b"id,text\n1,a\n")))
    assert (found.texts(), found.compression) == (["a"], compression)


def test_csv_bytes_are_kept(save):
    content = b'id;text;when\n007;"a;b";NA\n; x ;\n1e5;"two\nlines";2024-01-01\n'
    found = read_table(save("a.csv", content))
    write_table(found.table, Path("b.csv"), found.format, delimiter=found.delimiter)
    assert Path("b.csv").read_bytes() == content


def test_types_in_csv_and_json(tmp_path):
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
    write_table(table, tmp_path / "a.csv", TableFormat.CSV)
    assert (tmp_path / "a.csv").read_text() == (
        'text,share,yes,n,day,raw,list,none\na,0.1,true,100000000000000000,2024-02-29,aGk=,"[1.0, null]",\n,nan,,,,,,\n'
    )
    write_table(table, tmp_path / "a.jsonl", TableFormat.JSONL)
    first, second = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert list(first.values()) == ["a", 0.1, True, 10**17, "2024-02-29", "aGk=", [1.0, None], None]
    assert set(second.values()) == {None}


def test_spreadsheet_safe(tmp_path):
    cells = ["=1", "+1", "-1", "@a", "\tx", "\rx", "a=1", "", "'=1"]
    path = tmp_path / "a.csv"
    table = pa.table({"=text": cells, "n": list(range(-4, 5))})
    write_table(table, path, TableFormat.CSV, spreadsheet_safe=True)
    found = read_table(path, text_column="'=text").table
    assert found.column("'=text").to_pylist() == [f"'{cell}" for cell in cells[:6]] + cells[6:]
    assert found.column("n").to_pylist() == [str(n) for n in range(-4, 5)]
