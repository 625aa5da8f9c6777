"""What happened when, line by line; and no progress bars where there is no terminal."""

import json
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

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

    monkeypatch.setattr("textspectra.embedding.known_models", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert call("models", "--log-file", "job.log").err == "warning: two\\nlines\n"
    said = call("cluster", "no.csv", "--log-file", "job.log", code=3).err
    assert said == "error: there is no file 'no.csv'\n"
    told = [event for event in events((tmp_path / "job.log").read_text()) if event[0] != "INFO"]
    assert told[0] == ("WARNING", "two\\nlines")
    assert told[-1] == ("ERROR", "exit code 3 (input): there is no file 'no.csv'")


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
