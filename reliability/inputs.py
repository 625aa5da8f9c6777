"""Inputs that are damaged or strange: one for each kind and number, always the same."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import random
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TOKENS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b'"', b'""', b"'", b",", b";", b"\t", b"[", b"]" * 9,
    b"{" * 200, b"NaN", b"Infinity", b"-0", b"1e999", b"9" * 400, b"\\ud800", b"\xed\xa0\x80", b"null", b"true",
    b"\xf0\x9f\x98\x80", b"text", b"=cmd|' /C calc'!A0", b"\x1b[2J", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY",
    b"\x7f\xff\xff\xff",
]  # fmt: skip
"""What has broken programs before, of this kind or another."""

WORDS = [
    "parcel",
    "password",
    "",
    " ",
    "käse",
    "東京",
    "\u202e",
    "x" * 3000,
    "a,b",
    'say "so"',
    "two\nlines",
    "=1",
    "\x07",
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes: flip, cut, repeat, remove, or put in a token."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        place = rng.randrange(len(found) + 1)
        length = min(rng.choice([1, 2, 8, 64, 1024]), len(found) - place)
        change = rng.randrange(6)
        if change == 0 and place < len(found):
            found[place] ^= 1 << rng.randrange(8)
        elif change == 1:
            del found[place : place + length]
        elif change == 2:
            found[place:place] = found[place : place + length] * rng.choice([1, 3, 50])
        elif change == 3:
            found[place:place] = rng.choice(TOKENS)
        elif change == 4 and rng.random() < 0.3:
            del found[place:]
        elif place < len(found):
            found[place] = rng.randrange(256)
    return bytes(found)


def value(rng: random.Random, depth: int = 0) -> Any:
    """Return a value of JSON, often an awkward one."""
    kind = rng.randrange(10 if depth < 4 else 7)
    plain = [
        None, True, rng.choice([0, -1, 7, 2**63, -(2**70), 10**40]), rng.choice([0.5, 1e308, -0.0, 5e-324]),
        rng.choice(WORDS), rng.choice(WORDS), rng.choice(["2026-01-02", "13/12/2026", "99999-01-01", "\ud800"]),
    ]  # fmt: skip
    if kind < 7:
        return plain[kind]
    if kind < 9:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "text", "", "ä" * 40]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def nested(rng: random.Random) -> str:
    depth = rng.choice([3, 99, 101, 600, 3000])
    return rng.choice(["[", '{"a":']) * depth + "1" + rng.choice(["", "]" * depth, "}" * depth])


def text_file(rng: random.Random) -> tuple[str, bytes]:
    """Return the name and the content of a CSV, TSV, JSON Lines or text file, compressed or not."""
    suffix = rng.choice([".csv", ".tsv", ".jsonl", ".txt", ""])
    rows = rng.randrange(1, 30)
    if suffix == ".jsonl":
        lines = [json.dumps({"text": rng.choice(WORDS), "x": value(rng)}) for _ in range(rows)]
        if rng.random() < 0.1:
            lines.append('{"text": "deep", "x": ' + nested(rng) + "}")
    else:
        sign = "\t" if suffix == ".tsv" else rng.choice(",;|")
        header = sign.join(rng.sample(["text", "id", "note", "Text ", "", "date"], 3))
        lines = [header] + [
            sign.join(f'"{word}"' if rng.random() < 0.5 else word for word in rng.choices(WORDS, k=3))
            for _ in range(rows)
        ]
    encoding = rng.choice(["utf-8"] * 6 + ["utf-16", "utf-32", "latin-1", "utf-8-sig"])
    content = rng.choice(["\n", "\n", "\r\n", "\r"]).join(lines).encode(encoding, "replace")
    if rng.random() < 0.7:
        content = mutated(content, rng)
    packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    if rng.random() < 0.25:
        ending = rng.choice(list(packed))
        content, suffix = packed[ending](content), suffix + ending
        if rng.random() < 0.5:
            content = mutated(content, rng)
    return f"a{suffix}", content


TYPES = [
    pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.uint8(), pa.float32(), pa.bool_(), pa.date32(),
    pa.date64(),
    pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("ms", "Mars/Olympus"), pa.duration("s"), pa.time64("ns"),
    pa.list_(pa.float32()), pa.list_(pa.string()), pa.struct([("a", pa.timestamp("s"))]), pa.decimal128(38, 9),
    pa.null(),
    pa.list_(pa.list_(pa.int8())), pa.map_(pa.string(), pa.int32()),
]  # fmt: skip


def column(kind: pa.DataType, rows: int, rng: random.Random) -> pa.Array:
    """Return a column of any type with extreme values, and strings that are no text."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        raw = [rng.choice(WORDS).encode() if rng.random() < 0.95 else b"\xff\xfe" for _ in range(rows)]
        return pa.array(raw, pa.binary() if pa.types.is_string(kind) else pa.large_binary()).view(kind)
    if pa.types.is_temporal(kind):
        wide = pa.int32() if kind in (pa.date32(),) else pa.int64()
        numbers = [rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 10**6]) for _ in range(rows)]
        if pa.types.is_time(kind):
            numbers = [abs(number) % 1000 for number in numbers]
        if kind == pa.date64():
            numbers = [number * 86_400_000 for number in numbers]
        elif pa.types.is_timestamp(kind) and rng.random() < 0.3:
            numbers = [rng.choice([2**62, -(2**62), 0]) for _ in range(rows)]
        return pa.array(numbers, wide).view(kind)
    if pa.types.is_list(kind):
        sizes = [rng.randrange(4) for _ in range(rows)]
        inner = column(kind.value_type, sum(sizes), rng)
        return pa.ListArray.from_arrays(pa.array(np.cumsum([0, *sizes]), pa.int32()), inner)
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([column(field.type, rows, rng) for field in kind], fields=list(kind))
    some: Any = {"int64": 2**62, "uint8": 255, "float": float("inf"), "bool": True, "binary": b"\x00\xff"}.get(
        str(kind)
    )
    values = [None if rng.random() < 0.3 else some for _ in range(rows)]
    return pa.array(values if some is not None else [None] * rows, kind)


def parquet(rng: random.Random) -> tuple[str, bytes]:
    """Return a Parquet file of random columns, often damaged."""
    rows = rng.choice([0, 1, 5, 40])
    names = rng.sample(["text", "id", "note", "when", "", "ä"], rng.randrange(1, 5))
    columns = {name: column(rng.choice(TYPES), rows, rng) for name in names}
    columns["text"] = column(pa.string(), rows, rng)
    stream = io.BytesIO()
    try:
        pq.write_table(
            pa.table(columns), stream, compression=rng.choice(["none", "zstd", "snappy"]),
            use_dictionary=rng.random() < 0.7, row_group_size=rng.choice([1, 3, 100]), store_schema=rng.random() < 0.8,
        )  # fmt: skip
    except (pa.ArrowException, ValueError):  # not every type can be written
        return parquet(rng)
    content = stream.getvalue()
    return "a.parquet", mutated(content, rng) if rng.random() < 0.6 else content


@cache
def _workbook() -> bytes:
    from textspectra.tables.excel import write_workbook

    stream = io.BytesIO()
    write_workbook({"texts": pa.table({"id": [1, 2, 3], "text": ["a parcel", "my password", None]})}, stream)
    return stream.getvalue()


def workbook(rng: random.Random) -> tuple[str, bytes]:
    """Return a workbook with changes inside its parts, or in the archive."""
    import zipfile

    if rng.random() < 0.5:
        return "a.xlsx", mutated(_workbook(), rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_workbook())) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = rng.choice(old.namelist())
        for name in old.namelist():
            new.writestr(name, mutated(old.read(name), rng) if name == chosen else old.read(name))
    return "a.xlsx", stream.getvalue()


def npy(rng: random.Random) -> tuple[str, bytes]:
    """Return a matrix whose header was changed as text, or whose bytes were changed."""
    stream = io.BytesIO()
    kind = rng.choice(["<f4", "<f8", "<i2", ">f4", "<f2", "<c8", "<U3", "?"])
    array = (np.arange(12).reshape(rng.choice([(4, 3), (12,), (2, 2, 3), (12, 1)])) - 5).astype(kind)
    np.save(stream, array)
    content = stream.getvalue()
    if rng.random() < 0.5:
        return "a.npy", mutated(content, rng)
    header = rng.choice([
        "{'descr': %s, 'fortran_order': %s, 'shape': %s}", "{'descr': %s, 'fortran_order': %s, 'shape': %s",
        "[%s, %s, %s]",
        "{'descr': %s, 'fortran_order': %s, 'shape': %s, 'x': 1}",
    ]) % (
        rng.choice(["'<f4'", "'|O'", "[]", "('<f4', (2,))", "[('a', '<f4')]", "'x'", "None", "'<f99'",
                    "1" + "0" * 400]),
        rng.choice(["False", "True", "None", "0", "'"]),
        rng.choice(["(4, 3)", "(-1, 3)", "(10**9, 10**9)", "(4,)", "4", "()", "('a', 2)", "(99999999999999999999, 1)",
                    "(" * 200 + ")" * 200, "(4, 3"]),
    )  # fmt: skip
    raw = header.encode("latin-1") + b" " * rng.randrange(9) + b"\n"
    version = rng.choice([1, 1, 2, 3, 9])
    size = len(raw).to_bytes(2 if version == 1 else 4, "little")
    return "a.npy", b"\x93NUMPY" + bytes([version, 0]) + size + raw + bytes(rng.choice([48, 0, 7]))


def answer(rng: random.Random) -> tuple[str, bytes]:
    """Return what a server sends: a status, headers and a body."""
    data = [{"index": i, "embedding": [0.5, float(i)]} for i in range(2)]
    if rng.random() < 0.3:
        _edit(data, rng)
    body = rng.choice([
        *[json.dumps({"data": rng.sample(data, len(data))})] * 8, json.dumps({"data": value(rng)}),
        json.dumps(value(rng)), nested(rng), "",
        json.dumps({"data": [{"index": value(rng), "embedding": value(rng)} for _ in range(2)]}),
        json.dumps({"error": {"message": value(rng)}}), "<html>busy</html>",
        '{"data": [{"index": Infinity, "embedding": [1]}]}',
    ]).encode("utf-8", "surrogatepass")  # fmt: skip
    if rng.random() < 0.3:
        body = mutated(body, rng)
    packed = rng.random() < 0.2
    body = gzip.compress(body) if packed and rng.random() < 0.6 else body
    status = rng.choice(
        [b"200 OK"] * 6 + [b"400 Bad", b"401 No", b"404 None", b"418 \x1b[2J", b"301 Moved", b"204 Nothing"]
    )
    headers = [
        b"Content-Type: " + rng.choice([b"application/json"] * 4 + [b"text/html", b"application/json; charset=x"])
    ]
    headers += [b"Content-Encoding: gzip"] if packed else []
    headers += [b"Content-Length: %d" % (len(body) + rng.choice([0] * 8 + [5, -3]))] if rng.random() < 0.8 else []
    headers += (
        [b"Retry-After: " + rng.choice([b"599", b"nan", b"-1", b"Thu, 01 Jan 2099 00:00:00 GMT"])]
        if rng.random() < 0.2
        else []
    )
    whole = b"HTTP/1.1 " + status + b"\r\n" + b"\r\n".join(headers) + b"\r\nConnection: close\r\n\r\n" + body
    return "answer", mutated(whole, rng) if rng.random() < 0.2 else whole


def state(rng: random.Random) -> tuple[str, bytes]:
    """Return the settings that a report downloads, changed."""
    from targets import state_of_model

    kept = json.loads(state_of_model())
    for _ in range(rng.choice([0, 1, 1, 2])):
        _edit(kept, rng)
    content = json.dumps(kept).encode("utf-8", "surrogatepass")
    return "state.json", mutated(content, rng) if rng.random() < 0.4 else content


def _edit(holder: Any, rng: random.Random) -> None:
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.7:
            holder = holder[key]
            continue
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice([value(rng), float("inf"), float("nan"), [[[]]], {}, "\ud800", -1, 10**30])
        return


def model(rng: random.Random) -> tuple[str, bytes]:
    """Return a part of a model folder, changed; the target puts the other parts beside it, with valid checksums."""
    from targets import model_parts

    parts = model_parts()
    name = rng.choice(list(parts))
    if name.endswith(".json") and rng.random() < 0.8:
        summary = json.loads(parts[name])
        _edit(summary, rng)
        return name, json.dumps(summary).encode("utf-8", "surrogatepass")
    return name, mutated(parts[name], rng)


def bomb(rng: random.Random) -> tuple[str, bytes]:
    """Return a part of a model folder that is small and claims to be huge."""
    from targets import model_parts

    name = rng.choice(["texts.parquet", "texts.parquet", "arrays.safetensors", "clustering.json"])
    content = {"texts.parquet": _huge_table, "arrays.safetensors": _huge_arrays, "clustering.json": _huge_summary}
    return name, content[name](model_parts()[name], rng)


def _huge_table(_: bytes, rng: random.Random) -> bytes:
    """Return a table whose equal values are stored once; its columns are those of a model, of any type."""
    rows = rng.choice([24, 24, 2_000, 20_000, 120_000])
    long = pa.array(["x" * rng.choice([1, 1000, 50_000, 1_000_000])])
    same = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), long)
    kinds = [
        lambda: same, lambda: pa.nulls(rows, rng.choice(TYPES)), lambda: pa.array(np.zeros(rows, np.int64)),
        lambda: pa.ListArray.from_arrays(np.array([*[0] * rows, rows], np.int32), same),
        lambda: pa.StructArray.from_arrays([same], ["a"]),
        lambda: pa.array(np.full(rows, 2**62)),
    ]  # fmt: skip
    columns = {name: rng.choice(kinds)() for name in rng.sample(["count", "time", "by:channel", "show:id", "x"], 2)}
    columns |= {f"show:{number}": kinds[1]() for number in range(rng.choice([0, 0, 0, 150]) if rows < 10**5 else 0)}
    columns["text"] = rng.choice([kinds[0], kinds[0], rng.choice(kinds)])()
    table = pa.table(columns)
    if rng.random() < 0.7:  # what the schema says that the strings are
        wide = pa.field("text", rng.choice([pa.large_string(), pa.string(), pa.string_view(), pa.large_binary()]))
        place = table.schema.get_field_index("text")
        shrunk = table.set_column(place, wide, pa.nulls(rows, wide.type)).schema.serialize().to_pybytes()
        table = table.replace_schema_metadata({b"ARROW:schema": base64.b64encode(shrunk)})
    stream = io.BytesIO()
    try:
        pq.write_table(
            table, stream, compression="zstd", store_schema=rng.random() < 0.5,
            row_group_size=rng.choice([1_000_000, 50_000])
        )  # fmt: skip
    except (pa.ArrowException, ValueError):  # not every type can be written
        return _huge_table(_, rng)
    return mutated(stream.getvalue(), rng) if rng.random() < 0.3 else stream.getvalue()


def _huge_arrays(content: bytes, rng: random.Random) -> bytes:
    """Return arrays whose header tells of other shapes, types and places."""
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    for name in rng.sample(list(header), rng.choice([1, 1, 3, len(header)])):
        change = rng.randrange(5)
        if change == 0:
            header[name]["shape"] = rng.choice([[10**12, 0], [0, 10**12], [0], [], [2**63], [2**32, 2**32], [-1]])
            header[name]["data_offsets"] = rng.choice([[0, 0], header[name]["data_offsets"]])
        elif change == 1:
            header[name]["dtype"] = rng.choice(["F64", "BF16", "F8_E4M3", "BOOL", "U64", "I8", "C64", "x"])
        elif change == 2:
            header[name]["data_offsets"] = rng.choice([[0, 2**62], [0, len(data)], [8, 0], header[name]["shape"]])
        elif change == 3:
            header |= {f"{name}.{number}": header[name] for number in range(rng.choice([1, 20_000]))}
        else:
            del header[name]
    raw = json.dumps(header).encode()
    size = rng.choice([len(raw)] * 8 + [2**40, 2**63, 0])
    return size.to_bytes(8, "little") + raw + rng.choice([data, data, b"", bytes(2**20)])


def _huge_summary(content: bytes, rng: random.Random) -> bytes:
    """Return a summary with large numbers, long names and lists, or many levels."""
    summary = json.loads(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        holder: Any = summary
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            key = rng.choice(keys) if keys else None
            if key is None or not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.2:
                break
            holder = holder[key]
        if key is None:
            continue
        known = holder[key]
        if isinstance(known, str):
            holder[key] = (known[:100] * rng.choice([2, 1000, 10**5]))[: 10**7]
        elif isinstance(known, int | float):
            holder[key] = rng.choice([2**31, 2**40, 2**52, -(2**52), 10**300, 1e300])
        elif isinstance(known, list) and known:
            times = rng.choice([2, 1000, 10**4])
            part = json.dumps(known[:10])[1:-1]  # copied as text: a later edit is made in one copy, not in all
            holder[key] = json.loads(f"[{', '.join([part] * min(times, 1 + 2**24 // len(part)))}]")
        else:
            holder[key] = (
                json.loads("[" * 900 + "]" * 900) if rng.random() < 0.5 else dict.fromkeys(map(str, range(9999)))
            )
    return json.dumps(summary).encode()


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, {} FROM n"
_COLUMNS = "1 AS checksum, zeroblob(16) AS keys, zeroblob(8) AS vectors, 'x' AS name, '{}' AS settings"
SPOILING = [
    f"DROP TABLE block; CREATE VIEW block AS {ENDLESS.format(_COLUMNS)}",
    f"DROP TABLE model; CREATE VIEW model AS {ENDLESS.format(_COLUMNS)}",
    f"CREATE VIEW e AS {ENDLESS.format('1 AS x')};"  # noqa: S608
    "CREATE TRIGGER t BEFORE INSERT ON block BEGIN SELECT sum(id) FROM e; END",
    "CREATE TRIGGER t AFTER INSERT ON block BEGIN DELETE FROM block; END",
    "CREATE TABLE more (x)", "CREATE INDEX i ON block (length(keys))", "ALTER TABLE block ADD COLUMN more",
    "UPDATE block SET keys = zeroblob(0)", "UPDATE block SET vectors = zeroblob(7)", "UPDATE block SET id = -id",
    "UPDATE block SET keys = zeroblob(1000000)", "UPDATE block SET id = 9223372036854775807",
    "INSERT INTO model VALUES (x'ff', zeroblob(9))", "PRAGMA user_version = 7", "PRAGMA encoding = 'UTF-16'",
    "PRAGMA journal_mode = DELETE", "DELETE FROM block", "DROP TABLE model",
]  # fmt: skip
"""What a hostile database can be made of; checksums are made valid again."""


def vectors(rng: random.Random) -> tuple[str, bytes]:
    """Return a cache of vectors whose database was changed."""
    from targets import cache_database, spoiled

    content = cache_database()
    if rng.random() < 0.3:
        return "cache", spoiled(content, rng.sample(SPOILING, rng.choice([1, 2])))
    return "cache", mutated(content, rng)


SETTINGS = {
    "--clusters": ["auto", "coarse", "fine", "0", "-1", "2", "99999999999999999999", "²", "1e3", "x" * 5000, ""],
    "--seed": ["0", "-1", "7", "1" * 30, "a", ""],
    "--algorithm": ["kmeans", "hac", "HAC", ""],
    "--text-column": ["text", "Text", "id", "", "\n", "x" * 5000, "\udcff"],
    "--encoding": ["utf-8", "latin-1", "utf-7", "idna", "base64", "rot13", "", "utf-16", "unicode_escape"],
    "--sheet": ["1", "0", "-1", "texts", "9" * 30, ""],
    "--time": ["when", "text", "id", "no"],
    "--every": ["day", "month", "year", "hour"],
    "--by": ["id", "when", "text", "no", ""],
    "--show": ["id", "no", ""],
    "--truth": ["id", "text", "no"],
    "--format": ["csv", "jsonl", "parquet", "xlsx", "tsv", "excel-csv", "pdf"],
    "--embeddings": ["v.npy", "no.npy", "text", "id", "a.csv", ".", "v.parquet"],
    "--model": ["wordllama", "no-such", "openai", "openai:", "./", "/dev/null", "float32:wordllama", ""],
    "--out": [".", "a.csv", "new/deep", "/proc", "x" * 300, ""],
    "--scheduler": ["local:", "tcp://127.0.0.1:1", "x"],
}


def settings(rng: random.Random) -> tuple[str, bytes]:
    """Return the options of a command, one a line."""
    chosen = rng.sample(list(SETTINGS), rng.choice([1, 2, 3]))
    words = [part for name in chosen for part in (name, rng.choice(SETTINGS[name]))]
    return "options", json.dumps(words).encode()


PLACES = [
    "VICTIM", "VICTIM/notes.txt", "VICTIM/a.csv", "VICTIM/a.model", "../victim", "../victim/notes.txt",
    "../victim/new/deep", ".", "~", "file://VICTIM/notes.txt",
]  # fmt: skip
HOSTS = ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "http://127.0.0.1:9/v1", "local", "inproc://x", "//127.0.0.1/share"]
HOSTILE: dict[str, list[Any]] = {
    "out": PLACES, "log-file": PLACES, "embeddings": PLACES, "data": PLACES, "overwrite": [True], "open": [True],
    "clear": [True], "no-cache": [True], "scheduler": HOSTS, "name-with": ["x"], "offline": [False],
    "model": ["openai:x", "OpenAI:x", "model2vec:VICTIM", "VICTIM", "../victim", "owner/name", "encoder:x"],
}  # fmt: skip
HARMLESS: dict[str, list[Any]] = {
    "seed": [0, 7], "clusters": ["auto", "fine", 2, 3], "format": ["csv", "jsonl", "parquet", "tsv"],
    "by": [["channel"]], "show": [["channel"]], "text-column": ["text"], "no-report": [True], "offline": [True],
    "algorithm": ["kmeans", "hac"], "model": ["minilm", "wordllama", "AUTO"], "encoding": ["utf-8", "latin-1"],
}  # fmt: skip
PROJECT_SECTIONS = [
    (),
    (),
    ("cluster",),
    ("cluster",),
    ("cache",),
    ("config",),
    ("update",),
    ("no",),
    ("cluster", "x"),
]


@cache
def _all_keys() -> list[str]:
    from textspectra.cli.options import COMMANDS, options_of

    return sorted({key for name in COMMANDS for key in options_of(name)})


def _toml(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, float) else repr(value)


def project_settings(rng: random.Random) -> tuple[str, bytes]:
    """Return a settings file that wants to write, read or send elsewhere; `VICTIM` becomes a folder to spare."""
    shared = rng.random() < 0.4
    lines = []
    for section in rng.sample(PROJECT_SECTIONS, rng.choice([1, 1, 2])):
        path = (("tool", "textspectra") if shared else ()) + section
        lines += [f"[{'.'.join(path)}]"] if path else []
        for _ in range(rng.choice([1, 1, 2, 4])):
            kind = rng.random()
            known = HOSTILE if kind < 0.3 else HARMLESS if kind < 0.85 else {}
            key = rng.choice(list(known) or _all_keys())
            drawn = rng.choice(known.get(key, [*PLACES, *HOSTS, True, False, 1, 0.5, ["channel"], [PLACES[0]]]))
            spelled = rng.choice([key] * 20 + [f'"{key}"', key.replace("-", "_"), key.upper(), f"{key}.{key}"])
            lines.append(f"{spelled} = {_toml(drawn)}")
    content = "\n".join(lines).encode()
    if rng.random() < 0.1:
        content = mutated(content, rng)
    if rng.random() < 0.02:
        content = rng.choice([b"a" + b".a" * 40_000 + b"=1", b"a=" + b"[" * 30_000, b"a={a=" * 9000, b"#" * 10**6])
    return "pyproject.toml" if shared else "textspectra.toml", content


FOLDERS = [
    "../victim",
    "ABSOLUTE/victim",
    "link",
    "..",
    ".",
    "/",
    "",
    "../victim/Documents",
    "a.model",
    "\0",
    "x" * 300,
]
FREQUENCIES = {"load": 64, "predict": 8, "compare": 8, "update": 12, "apply": 8, "cluster": 12, "report": 1}
"""How often each command is tried: a page takes as long as many loads."""


def journal(rng: random.Random) -> tuple[str, bytes]:
    """Return a command, and hidden files that came along with the data which it is run on."""
    from targets import COMMANDS

    outputs = sorted({output for _, written in COMMANDS.values() for output in written})
    planted = []
    for _ in range(rng.choice([1, 2, 4, 9])):
        token = rng.choice(["0123456789abcdef"] * 6 + ["fedcba9876543210", "0123456789ABCDEF", "0", "*", "../victim"])
        output = rng.choice(outputs)
        name = rng.choice([f"{output}.switch", f"commit-{token}-{output}", f"{token}-{output}", f"lock-{output}"])
        kind = rng.choice(["file", "file", "file", "folder", "model", "link", "hard link", "pipe"])
        names = {key: rng.choice(["Documents", "../victim/Documents", output]) for key in ("output", "new", "old")}
        listed = json.dumps([{"folder": rng.choice(FOLDERS), **names}])
        content = rng.choice([listed, "NUMBERS", "NUMBERS", rng.choice(FOLDERS), json.dumps(value(rng))])
        if rng.random() < 0.2:
            content = mutated(content.encode("utf-8", "surrogatepass"), rng).decode("latin-1")
        target = rng.choice(["../victim/Documents", "../victim/Documents/letter.txt", "../victim/new", "a.csv", "."])
        planted.append({"name": f".textspectra-{name}", "kind": kind, "content": content, "target": target})
    [command] = rng.choices(list(FREQUENCIES), list(FREQUENCIES.values()))
    return command, json.dumps(planted).encode()


KINDS = {
    "text": text_file, "parquet": parquet, "workbook": workbook, "npy": npy, "model": model, "bombs": bomb,
    "cache": vectors, "state": state, "settings": settings, "project settings": project_settings, "server": answer,
    "journal": journal,
}  # fmt: skip


def case(kind: str, number: int) -> tuple[str, bytes]:
    """Return the name and the content of a case."""
    return KINDS[kind](random.Random(f"{kind} {number}"))  # noqa: S311 - no secrets here
