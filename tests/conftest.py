"""Planted groups, files of texts, the command as a person runs it, and a Dask cluster."""

import logging
import os
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from on_cluster import crew_of
from random_points import planted_rows

from textspectra.cli.main import run as run_command

# Times depend on the machine; speed is measured in benchmarks/.
settings.register_profile("textspectra", deadline=None)
settings.load_profile("textspectra")


@pytest.fixture(scope="session")
def planted():
    return planted_rows


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(tmp_path, cache_folder):
    def call(*arguments, code=0, stdin=b"", **environment):
        env = {**os.environ, "TEXTSPECTRA_CACHE": str(cache_folder), "COLUMNS": "120", **environment}
        command = [sys.executable, "-m", "textspectra", *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=env, input=stdin, capture_output=True, check=False)  # noqa: S603
        assert done.returncode == code, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        return done

    return call


@pytest.fixture
def start(tmp_path, cache_folder):
    """Start the command, and return its process once a condition holds or it has ended.

    It hears Ctrl-C even where the tests run in the background.
    """

    def call(*arguments, until, cache=cache_folder, output=subprocess.DEVNULL):
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "textspectra", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "TEXTSPECTRA_CACHE": str(cache)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        while process.poll() is None and not until():
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        return process

    return call


@pytest.fixture
def texts(tmp_path):
    """Write the example to three Parquet files."""
    table = pc.read_csv(Path(__file__).parents[1] / "examples" / "customer_messages.csv")
    folder = tmp_path / "texts"
    folder.mkdir()
    for part in range(3):
        pq.write_table(table.slice(340 * part, 340), folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")  # no longer, because Dask would hand all that follows to them
def crew():
    """Start two worker processes."""
    pytest.importorskip("distributed")
    with crew_of("", "") as crew:
        yield crew


@pytest.fixture
def client(crew):
    """Have two living workers, whatever the test before did to them."""
    crew.replace_the_dead()
    return crew.client


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run the command in this process, in a folder of its own; return what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command replaces it
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    for name in [name for name in os.environ if name.startswith("TEXTSPECTRA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "cache"))
    for name in ("HF_HUB_OFFLINE", "TEXTSPECTRA_OFFLINE", "TEXTSPECTRA_ALLOW_SERVER"):  # flags set them
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def call(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["textspectra", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run_command()
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        return said

    yield call
    logger = logging.getLogger("textspectra")
    for handler in logger.handlers[1:]:  # the first one is there from the start
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)
