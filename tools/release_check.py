"""Check a release: the same bytes twice, and a demo in empty environments of old and new Pythons and dependencies.

`make release-check` runs it. The wheels of textspectra, of its weights and of the study stay in dist/, with the source
distributions.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
PACKAGES = (ROOT, ROOT / "study")
OLDEST = 11
"""The oldest Python 3 that is supported, as `requires-python` says."""

NEWEST = 14
"""The newest Python 3 that all packages of the demo have wheels for."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> None:
    """Run a command, show it, and end with its exit code if it fails."""
    print("$", *command, flush=True)
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env={**own, **environment}, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed with exit code {done.returncode}")


def build(folder: Path) -> dict[str, str]:
    """Build the wheels and the source distributions of all packages; return their digests."""
    stamp = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()  # noqa: S607
    for source in PACKAGES:
        run(BIN / "uv", "build", "--quiet", "--out-dir", folder, source, SOURCE_DATE_EPOCH=stamp)
    run(BIN / "python", ROOT / "weights" / "build.py", folder)
    built = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built}


def check_build() -> dict[str, Path]:
    """Build twice, compare the bytes, check the metadata, and return the wheel of each package."""
    shutil.rmtree(DIST, ignore_errors=True)
    first = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        second = build(Path(folder))
    if first != second:
        sys.exit(f"two builds of the same sources differ: {first} and {second}")
    print("the same bytes twice:", *first)
    run(BIN / "twine", "check", "--strict", *(DIST / name for name in first))
    return {name.partition("-")[0]: DIST / name for name in first if name.endswith(".whl")}


def pythons() -> Iterator[tuple[int, Path]]:
    """Yield the supported Pythons on this machine, the oldest first."""
    for minor in range(OLDEST, NEWEST + 1):
        on_path = shutil.which(f"python3.{minor}")
        by_pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))
        for found in [*([Path(on_path)] if on_path else []), *by_pyenv]:
            code = f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
            if subprocess.run([found, "-c", code], capture_output=True, check=False).returncode == 0:  # noqa: S603
                yield minor, found
                break


def check_install(python: Path, resolution: str, wheels: dict[str, Path]) -> None:
    """Install the wheels with the lowest or the highest versions into an empty environment, and run the demo.

    Nothing may be downloaded, so the demo runs first without the weights of MiniLM, and then with them.
    """
    links = [f"--find-links={place}" for place in os.environ.get("PIP_FIND_LINKS", "").split()]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        inside = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run(BIN / "uv", "venv", "--quiet", "--python", python, place / "venv")
        install = [BIN / "uv", "pip", "install", "--quiet", "--python", inside / "python", *links]
        run(*install, "--only-binary=:all:", "--resolution", resolution, "--requirements", ROOT / "pyproject.toml")
        run(*install, wheels["textspectra"])  # its dependencies are there
        settings = {"TEXTSPECTRA_CACHE": str(place / "cache"), "HF_HUB_OFFLINE": "1"}
        if any(place.glob("venv/**/site-packages/wordllama")):  # it has no wheels for the newest Python
            run(inside / "textspectra", "demo", cwd=place, **settings)
        run(*install, wheels["textspectra_minilm"])
        run(BIN / "uv", "pip", "check", "--python", inside / "python")
        run(inside / "textspectra", "doctor", cwd=place)
        run(inside / "textspectra", "demo", cwd=place, **settings)
        if not (place / "textspectra-demo" / "customer_messages.report.html").is_file():
            sys.exit("the demo wrote no report")


def check_study(python: Path, wheels: dict[str, Path]) -> None:
    """Install both wheels into an empty environment, and run a small study."""
    links = [f"--find-links={place}" for place in (DIST, *os.environ.get("PIP_FIND_LINKS", "").split())]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        inside = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run(BIN / "uv", "venv", "--quiet", "--python", python, place / "venv")
        run(BIN / "uv", "pip", "install", "--quiet", "--python", inside / "python", *links, wheels["textspectra_study"])
        rows = [f"{word} {number},{word}" for word in ("parcel", "refund") for number in range(9)]
        (place / "set.csv").write_text("\n".join(["text,label", *rows]))
        run(inside / "textspectra-study", "run", "study", "--data", place, "--timeout", "60", cwd=place)
        run(inside / "textspectra-study", "report", "study", cwd=place)


def check_wheels() -> None:
    """Check that every package of the demo has wheels for the newest Python, which need not be on this machine."""
    links = [f"--find-links={place}" for place in os.environ.get("PIP_FIND_LINKS", "").split()]
    with tempfile.TemporaryDirectory() as folder:
        run(
            BIN / "uv", "pip", "compile", "--quiet", "--python-version", f"3.{NEWEST}", "--only-binary=:all:", *links,
            "pyproject.toml", "--output-file", Path(folder, "requirements.txt"),
        )  # fmt: skip


def main() -> None:
    """Check everything, and say what was checked."""
    files = [ROOT / "src/textspectra/__init__.py", ROOT / "study/src/textspectra_study/__init__.py"]
    version, of_study = (re.search(r'__version__ = "(.+)"', path.read_text())[1] for path in files)
    if version != of_study:
        sys.exit(f"textspectra has version {version}, but the study has {of_study}")
    if sys.argv[1:] not in ([], [f"v{version}"]):
        sys.exit(f"the tag is {sys.argv[1]}, but the version is {version}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if project["requires-python"] != f">=3.{OLDEST}":
        sys.exit("requires-python and OLDEST in tools/release_check.py differ")
    wheels = check_build()
    check_wheels()
    found = list(pythons())
    if not found:
        sys.exit("no supported Python with venv was found")
    # Old versions of compiled packages have no wheels for new Pythons, so the lowest go with the oldest.
    plan = dict.fromkeys([(found[0], "lowest-direct"), (found[0], "highest"), (found[-1], "highest")])
    for (minor, python), resolution in plan:
        print(f"\nPython 3.{minor}, {resolution} versions", flush=True)
        check_install(python, resolution, wheels)
    print(f"\nPython 3.{found[0][0]}, the study", flush=True)
    check_study(found[0][1], wheels)
    print("\nchecked:", ", ".join(f"Python 3.{minor} with {resolution}" for (minor, _), resolution in plan))


if __name__ == "__main__":
    main()
