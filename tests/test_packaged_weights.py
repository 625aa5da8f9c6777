"""The package of MiniLM's weights: the same bytes every time, and the same vectors as weights converted here."""

import hashlib
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from textspectra.embedding.registry import load_model
from textspectra.embedding.transformer import TransformerBackend, minilm_fingerprint, minilm_folder
from textspectra.embedding.weights import converted_files, read_checkpoint
from textspectra.errors import UserError

ROOT = Path(__file__).parents[1]
TEXTS = ["Where is my parcel?", "", "naïve café 你好", "refund " * 400]

needs_both = pytest.mark.skipif(
    not (find_spec("textspectra_minilm") and minilm_folder("float32")), reason="needs textspectra-minilm and its source"
)


@needs_both
def test_packaged_weights_are_those_that_are_converted_from_the_original_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path))
    packaged, original = load_model("minilm"), minilm_folder("float32")
    version = {"fingerprint": minilm_fingerprint(original)}
    converted = TransformerBackend(read_checkpoint(original), name="minilm", version=version)
    assert (packaged.name, packaged.settings) == (converted.name, converted.settings)
    assert np.array_equal(packaged.embed(TEXTS), converted.embed(TEXTS))
    here = converted_files(read_checkpoint(minilm_folder(), "int8"), "int8")
    assert here == converted_files(read_checkpoint(original), "int8")


@needs_both
def test_damaged_packaged_weights_are_an_error_that_says_what_to_do(tmp_path):
    folder = shutil.copytree(minilm_folder(), tmp_path / "model")
    (folder / "int8" / "model.bin").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"int8 is damaged; install the package that it belongs to again\.$"):
        converted_files(read_checkpoint(folder, "int8"), "int8")


def test_the_package_has_no_dependencies_and_says_whose_work_it_is():
    project = tomllib.loads((ROOT / "weights" / "pyproject.toml").read_text())["project"]
    assert "dependencies" not in project
    assert "Apache License" in (ROOT / "weights" / "LICENSE").read_text()
    assert "sentence-transformers/all-MiniLM-L6-v2" in (ROOT / "weights" / "NOTICE").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["offline"] == [f"{project['name']}>={project['version']}"]
    assert f"textspectra_minilm-{project['version']}-py3" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_the_wheel_has_the_same_bytes_every_time(tmp_path):
    digests = set()
    for place in ("a", "b"):
        command = [sys.executable, ROOT / "weights" / "build.py", tmp_path / place]
        subprocess.run([*map(str, command)], check=True)  # noqa: S603
        [wheel] = (tmp_path / place).iterdir()
        assert wheel.stat().st_size < 25_000_000
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1
