"""What machines read: every --json output against the published schema, errors as JSON, a reader that goes away."""

import contextlib
import copy
import io
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import click
import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from targets import downloaded_state

from textspectra import TextClustering, __version__
from textspectra.cli.main import describe, root
from textspectra.cli.options import COMMANDS
from textspectra.cli.output import SCHEMA_VERSION, Manner, stages
from textspectra.cli.summary import Terminal
from textspectra.cli.system import read_schema, schema_of
from textspectra.errors import ExternalError, MissingExtraError, UsageError, UserError

COLORS = ["red", "green", "blue"]


def closed(schema):
    """Return a schema in which every key must be described: the published one lets consumers ignore new keys."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **inner} if schema.get("type") == "object" else inner


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a file of 60 dated texts with a segment, their classes and their vectors, and a second file."""
    folder = tmp_path_factory.mktemp("outputs")
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((4, 8))
    for name, classes in {"a": np.arange(60) % 3, "b": np.arange(40) % 4}.items():
        colors = [(*COLORS, "yellow")[one] for one in classes]
        rows = [f"2026-0{1 + i % 3}-11,{'ab'[i % 2]},{color},{color} thing {i}" for i, color in enumerate(colors)]
        (folder / f"{name}.csv").write_text("day,side,color,text\n" + "\n".join(rows))
        X = centers[classes] + 0.2 * rng.standard_normal((len(classes), 8))
        np.save(folder / f"{name}.npy", X.astype(np.float32))
    return folder


@pytest.fixture(scope="module")
def outputs(folder):
    """Run every command with --json, each on what those before it wrote."""
    found = {}

    def run(name, *arguments):
        done = CliRunner().invoke(root, [name, *arguments, "--json"], standalone_mode=False, catch_exceptions=False)
        found.setdefault(name, []).append(json.loads(done.stdout))

    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the second file is meant to drift
        options = ["--embeddings", "a.npy", "--no-report", "--overwrite", "--text-column", "text"]
        run("cluster", "a.csv", *options)
        run("cluster", "a.csv", *options, "--by", "side", "--out", "sides")
        run("cluster", "a.csv", *options, "--time", "day", "--every", "month", "--by", "side", "--clusters", "3")
        run("estimate", "a.csv", "--embeddings", "a.npy", "--text-column", "text")
        run("score", "a.csv", "--labels", "side", "--embeddings", "a.npy", "--text-column", "text")
        run("score", "a.csv", "--labels", "color", "--truth", "side", "--embeddings", "a.npy", "--text-column", "text")
        second = ["b.csv", "--embeddings", "b.npy", "--text-column", "text"]
        run("predict", "a.model", *second)
        run("compare", "a.model", *second, "--no-report")
        run("report", "a.model", "--embeddings", "a.npy")
        applied = TextClustering.load(folder / "a.model", embeddings=np.load(folder / "a.npy"))
        (folder / "state.json").write_text(downloaded_state(applied))
        run("apply", "state.json", "a.model", "--embeddings", "a.npy")
        run("update", "a.model", *second, "--no-report")
        for name in ("models", "cache", "config", "doctor"):
            run(name)
        run("config", "cluster")
    return found


TESTED = ["cluster", "estimate", "score", "predict", "compare", "update", "report", "apply", "models", "cache",
          "config", "doctor"]  # fmt: skip


@pytest.mark.parametrize("name", TESTED)
def test_the_output_is_what_the_schema_says_and_nothing_else(outputs, name):
    for output in outputs[name]:
        jsonschema.validate(output, closed(schema_of(name)))
        assert (output["schema_version"], output["textspectra_version"]) == (1, __version__)


@pytest.mark.parametrize("name", ["embed", pytest.param("demo", marks=pytest.mark.slow)])
def test_the_output_of_commands_that_need_a_model(run, tmp_path, name):
    pytest.importorskip("wordllama")
    (tmp_path / "t.csv").write_text("message\nred car\nblue car\nred bus\n")
    arguments = ["t.csv", "t.npy"] if name == "embed" else ["--out", "demo"]
    output = json.loads(run(name, *arguments, "--json", TEXTSPECTRA_MODEL="wordllama").out)
    jsonschema.validate(output, closed(schema_of(name)))


def test_every_command_has_a_schema_or_prints_no_result():
    assert set(COMMANDS) - set(read_schema()["properties"]) == {"schema", "open"}
    for name in COMMANDS.keys() - {"schema", "open"}:
        options = {one for parameter in root.get_command(None, name).params for one in parameter.opts}
        assert {"--json", "--verbose", "--log-file"} <= options


def test_the_schema_is_valid_and_explains_every_key():
    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)

    def keys(part):
        if isinstance(part, dict):
            yield from part.get("properties", {}).items()
            for value in part.values():
                yield from keys(value)

    for key, value in keys(schema["$defs"]):
        assert value.get("description") or "$ref" in value, key


def test_the_published_schema_is_printed(call):
    assert json.loads(call("schema").out) == read_schema()
    assert json.loads(call("schema", "predict").out) == schema_of("predict")
    assert "unknown schema 'predcit'; known are cluster, " in call("schema", "predcit", code=2).err


def test_a_new_key_is_allowed_and_what_breaks_consumers_is_not(outputs):
    schema, output = schema_of("predict"), outputs["predict"][0]
    jsonschema.validate({**output, "a_key_of_the_next_version": 1}, schema)
    for key in output:
        without = {name: value for name, value in output.items() if name != key}
        with pytest.raises(jsonschema.ValidationError, match=f"'{key}' is a required property"):
            jsonschema.validate(without, schema)
    other = copy.deepcopy(output)
    other["novelty"]["median"] = "high"
    for wrong in (other, {**output, "schema_version": 2}, {**output, "texts": "40"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def promises(schema):
    """Yield a line for each key of each definition: its type, and whether it is always there."""
    for name, part in schema["$defs"].items():
        for key, value in part.get("properties", {}).items():
            kind = value.get("type") or value.get("$ref") or "one of a list, which may grow"
            yield f"{name}.{key}: {kind}{' always' if key in part['required'] else ''}"
        if "$ref" in part:
            yield f"{name}: {part['$ref']}"


def test_what_version_1_promised_holds_until_the_version_is_raised():
    """New lines may be added to the list when a version is released; a line that fails needs a new schema_version."""
    schema = read_schema()
    if schema["$defs"]["schema_version"]["const"] == 1:
        promised = (Path(__file__).parent / "schema_1.txt").read_text().splitlines()
        assert not set(promised) - set(promises(schema))
    assert schema["$defs"]["schema_version"]["const"] == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "message"),
    [
        (["cluster", "missing.csv", "--json"], 3, "input", "file not found: 'missing.csv'"),
        (["cluster", "--json"], 2, "usage", "Missing argument 'FILE...'."),
        (["cluster", "a.csv", "--json", "--clusters", "x"], 2, "usage", "Invalid value for --clusters: 'x' is not"),
    ],
)
def test_an_error_is_one_json_object_on_standard_error(call, arguments, code, kind, message):
    done = call(*arguments, code=code)
    (line,) = done.err.splitlines()
    error = json.loads(line)
    jsonschema.validate(error, closed(schema_of("error")))
    assert (error["error"]["code"], error["error"]["kind"]) == (code, kind)
    assert error["error"]["message"].startswith(message)
    assert done.out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("x"), 3),
        (UsageError("x"), 2),
        (ExternalError("x"), 4),
        (MissingExtraError('x is not installed: pip install "textspectra[x]"'), 2),
        (ModuleNotFoundError("No module named 'x'"), 1),
        (OSError(28, "No space left on device"), 4),
        (PermissionError(13, "Permission denied"), 2),
        (ConnectionResetError("reset"), 4),
        (MemoryError(), 4),
        (ValueError("x"), 1),
    ],
)
def test_the_exit_code_of_an_error(error, code):
    assert describe(error)[0] == code


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_bug_has_its_traceback_and_exit_code_1(call, monkeypatch, options):
    def broken():
        raise RuntimeError("broken")

    monkeypatch.setattr("textspectra.embedding.registry.list_models", broken)
    err = call("models", *options, code=1).err
    assert "Traceback" in err
    assert "Please report it with what `textspectra doctor` prints." in err
    if options:
        error = json.loads(err.splitlines()[-1])["error"]
        assert error == {"code": 1, "kind": "bug", "message": "RuntimeError: broken"}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize("arguments", [["schema"], ["models", "--json"]])
def test_a_reader_that_goes_away_is_no_error_message(tmp_path, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "textspectra", *arguments]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False)  # noqa: S603
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_summary_for_people_may_lose_its_reader_too():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    console = Terminal(file=Gone())
    with pytest.raises(BrokenPipeError):
        console.print("a line")


LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d (INFO|WARNING|ERROR) (.+)")


def events(text):
    lines = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(lines), text
    return [(line[1], line[2]) for line in lines]


def test_a_log_has_the_start_the_stages_and_the_end(call, tmp_path):
    (tmp_path / "a.csv").write_text("text,cluster\n" + "".join(f"thing {i},{i % 2}\n" for i in range(8)))
    (tmp_path / "a.parquet").write_bytes(vectors())
    arguments = ["score", "a.csv", "--labels", "cluster", "--text-column", "text", "--embeddings", "a.parquet"]
    done = call(*arguments, "--log-file", "job.log", "-v")
    told = events(done.err)
    assert told[0] == ("INFO", f"textspectra 0.1.0: {' '.join(arguments)} --log-file job.log -v")
    assert told[1] == ("INFO", "reading the texts")
    assert re.fullmatch(r"reading the texts: done in \d+\.\d{3} s", told[2][1])
    assert told[-1] == ("INFO", "done")
    assert events((tmp_path / "job.log").read_text()) == told


def vectors():
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    rows = np.random.default_rng(0).standard_normal((8, 4)).tolist()
    pq.write_table(pa.table({"embedding": rows}), sink)
    return sink.getvalue().to_pybytes()


def test_runs_are_appended_and_errors_and_warnings_are_in_it(call, tmp_path, monkeypatch):
    def warn():
        warnings.warn("two\nlines", stacklevel=1)
        return []

    monkeypatch.setattr("textspectra.embedding.registry.list_models", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert call("models", "--log-file", "job.log").err == "warning: two\\nlines\n"
    said = call("cluster", "no.csv", "--log-file", "job.log", code=3).err
    assert said == "error: file not found: 'no.csv'\n"
    told = [event for event in events((tmp_path / "job.log").read_text()) if event[0] != "INFO"]
    assert told[0] == ("WARNING", "two\\nlines")
    assert told[-1] == ("ERROR", "exit code 3 (input): file not found: 'no.csv'")


def test_a_log_that_cannot_be_written_is_explained(call):
    said = call("models", "--log-file", "no/such/job.log", code=2).err
    assert "Invalid value for --log-file: 'no/such/job.log' cannot be written: No such file or directory" in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_any_more_does_not_stop_the_job(call):
    done = call("models", "--log-file", "/dev/full", "--json")
    assert json.loads(done.out)["models"]
    assert done.err == "warning: '/dev/full' cannot be written any more: [Errno 28] No space left on device\n"


def test_a_job_may_close_standard_error(tmp_path):
    command = f"{shlex.quote(sys.executable)} -m textspectra models -v 2>&-"
    assert subprocess.run(command, shell=True, cwd=tmp_path, stdout=subprocess.DEVNULL, check=False).returncode == 0  # noqa: S602


@pytest.mark.parametrize("arguments", [["-v", "--json"], ["-v", "-q"]])
def test_verbose_is_heard_with_json_and_quiet(call, tmp_path, arguments):
    (tmp_path / "a.csv").write_text("text\n\n")
    assert "reading the texts" in call("estimate", "a.csv", *arguments, code=3).err


@pytest.mark.parametrize("quiet", [False, True])
def test_what_takes_long_is_said_on_standard_error_unless_quiet(capsys, quiet):
    with click.Context(click.Command("cluster"), obj=Manner(quiet=quiet)), stages():
        logging.getLogger("textspectra.embedding.embed").info("Embedding takes %s.", "hours")
    logging.getLogger("textspectra.embedding.embed").info("nobody listens")
    assert capsys.readouterr() == ("", "" if quiet else "Embedding takes hours.\n")
