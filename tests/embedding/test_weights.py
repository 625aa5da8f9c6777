"""Converted weights on disk: many processes, kills, damage, and disks that cannot be written."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from embedding_helpers import write_checkpoint

from textspectra.embedding.registry import load_model
from textspectra.embedding.weights import CHECKSUMS, clear_weights, weights_size

EMBED = """
import sys, hashlib
from importlib.machinery import PathFinder

class Blocked:
    @staticmethod
    def find_spec(name, *more):
        if name.partition(".")[0] in ("torch", "transformers", "sentence_transformers"):
            raise RuntimeError(name + " was imported")
sys.meta_path.insert(0, Blocked)
from textspectra.embedding.transformer import TransformerBackend
from textspectra.embedding.weights import read_checkpoint
from pathlib import Path
backend = TransformerBackend(read_checkpoint(Path(sys.argv[1])), name="tiny", version={})
{before}
print("ready", flush=True)
sys.stdin.readline()
print(hashlib.sha256(backend.embed(["red cat", "dog"]).tobytes()).hexdigest())
"""

KILLED_WHILE_WRITING = """
import os, signal, ctranslate2
sys.meta_path.remove(Blocked)
from textspectra.embedding import weights
model = weights._specs().TransformerEncoderModelSpec
save = model.save
def killed(self, folder):
    save(self, folder)
    os.kill(os.getpid(), signal.SIGKILL)
model.save = killed
"""

NO_SPACE = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
"""


@pytest.fixture
def folder(tmp_path):
    return write_checkpoint(tmp_path / "model")


@pytest.fixture
def vectors(folder, tmp_path, monkeypatch):
    """Embed in this process with another cache."""
    with monkeypatch.context() as patched:
        patched.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "other"))
        return load_model(str(folder)).embed(["red cat", "dog"])


def start(folder, before=""):
    command = [sys.executable, "-c", EMBED.replace("{before}", before), str(folder)]
    return subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)  # noqa: S603


def weights():
    return Path(os.environ["TEXTSPECTRA_CACHE"], "weights")


def written(kept):
    found = (kept / "model.bin").stat()
    return found.st_ino, found.st_mtime_ns


def embed(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_model(str(folder)).embed(["red cat", "dog"])


def test_weights_are_converted_once_per_format_and_without_pytorch(folder, vectors):
    process = start(folder)
    _, err = process.communicate("\n")
    assert process.returncode == 0, err
    [kept] = weights().iterdir()
    before = written(kept)
    assert np.array_equal(embed(folder), vectors)
    assert written(kept) == before
    load_model(f"float32:{folder}").embed(["red"])
    assert len(list(weights().iterdir())) == 2


def test_several_processes_convert_at_the_same_time(folder, vectors):
    processes = [start(folder) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    printed = []
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        printed.append(out)
    assert len(set(printed)) == 1
    assert np.array_equal(embed(folder), vectors)
    assert len(list(weights().iterdir())) == 1


def test_a_process_that_is_killed_while_it_converts_leaves_nothing_that_is_used(folder, vectors):
    process = start(folder, KILLED_WHILE_WRITING)
    process.communicate("\n")
    assert process.returncode == -signal.SIGKILL
    [left] = weights().iterdir()
    assert left.name.startswith(".textspectra-")
    assert np.array_equal(embed(folder), vectors)
    assert not left.exists()


def test_converted_weights_are_counted_and_deleted(folder):
    clear_weights()
    assert weights_size() == (0, 0)
    embed(folder)
    (weights() / ".textspectra-left").mkdir()
    (weights() / ".textspectra-left" / "model.bin").write_bytes(b"half")
    [kept] = [path for path in weights().iterdir() if path.name[0] != "."]
    assert weights_size() == (1, 4 + sum(path.stat().st_size for path in kept.iterdir()))
    clear_weights()
    assert weights_size() == (0, 0)
    assert not weights().exists()


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: flip(kept / "model.bin"),
        lambda kept: (kept / "model.bin").write_bytes(b""),
        lambda kept: (kept / "vocabulary.json").unlink(),
        lambda kept: (kept / CHECKSUMS).unlink(),
        lambda kept: (kept / CHECKSUMS).write_text("{}"),
        lambda kept: (kept / CHECKSUMS).write_text("[7]"),
    ],
)
def test_damaged_weights_are_converted_again(damage, folder, vectors):
    embed(folder)
    [kept] = weights().iterdir()
    damage(kept)
    assert np.array_equal(embed(folder), vectors)
    [again] = weights().iterdir()
    assert again == kept
    before = written(kept)
    embed(folder)
    assert written(kept) == before


def test_a_changed_model_is_converted_again(folder):
    embed(folder)
    flip(folder / "model.safetensors")
    embed(folder)
    assert len(list(weights().iterdir())) == 2


def test_a_cache_that_cannot_be_written_costs_a_conversion_per_run(folder, vectors, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match=r"^The converted weights cannot be kept, so every run converts them"):
        found = load_model(str(folder)).embed(["red cat", "dog"])
    assert np.array_equal(found, vectors)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_no_space_anywhere_is_an_error_of_one_line(folder):
    process = start(folder, NO_SPACE)
    _, err = process.communicate("\n")
    last = err.splitlines()[-1]
    assert last.startswith("textspectra.errors.ExternalError: No space is left for the converted weights, not even in ")
    assert not weights().exists() or not list(weights().iterdir())
