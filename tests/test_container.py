"""The container without a daemon: its RUN lines are run, and its command as it would run in it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "Dockerfile"
COPIED = ("src", "weights", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")


def instructions():
    """Return the instructions of the Dockerfile, each on one line."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines() if line]


def test_the_last_stage_is_slim_not_root_and_needs_no_cache():
    said = instructions()
    last = said[max(i for i, (word, _) in enumerate(said) if word == "FROM") :]
    assert last[0][1].endswith("-slim")
    settings = dict(pair.split("=", 1) for word, rest in last if word == "ENV" for pair in rest.split())
    assert settings["TEXTSPECTRA_NO_CACHE"] == "1"
    user = next(rest for word, rest in last if word == "USER")
    assert int(user) > 0  # a number, so that a cluster can check that it is not root
    lines = (ROOT / ".dockerignore").read_text().split()
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(COPIED)


def in_a_box(data):
    """Return what to put before a command to run it without a network, on a read-only root, and not as root.

    The command runs in /mnt, which is the folder `data`. The user may read what only root may read, because that is
    where the Python of this machine may be.
    """
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        return None
    mounts = f'mount --bind {data} /mnt && mount -o remount,bind,ro / && cd /mnt && exec "$@"'
    user = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--inh-caps=+dac_read_search",
            "--ambient-caps=+dac_read_search"]  # fmt: skip
    box = ["unshare", "--mount", "--net", "sh", "-c", mounts, "sh", *user]
    works = subprocess.run([*box, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    return box if works else None


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="the container is Linux")
def test_the_steps_build_an_installation_that_works_offline_and_read_only(tmp_path):
    source, image, data = tmp_path / "source", tmp_path / "image", tmp_path / "data"
    source.mkdir()
    data.mkdir()
    for name in COPIED:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, source / name)
    places = {"/opt/textspectra": image, "/constraints.txt": source / "requirements.lock"}
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    own["PATH"] = f"{Path(sys.executable).resolve().parent}{os.pathsep}{own['PATH']}"
    for word, line in instructions():
        if word == "RUN" and "useradd" not in line:
            for inside, here in places.items():
                line = line.replace(inside, str(here))
            subprocess.run(["sh", "-ec", line], cwd=source, env=own, check=True)  # noqa: S603, S607

    box = in_a_box(data)
    if box is None:
        pytest.skip("the steps work; running them without a network and on a read-only root needs root and unshare")
    texts = [f"my {thing} is {state}" for thing in ("bike", "car", "bus") for state in ("late", "red", "new", "lost")]
    (data / "t.csv").write_text("message\n" + "\n".join(texts) + "\n")
    data.chmod(0o777)
    runtime = {"PATH": own["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    runtime |= {"TEXTSPECTRA_NO_CACHE": "1"}
    command = [*box, str(image / "bin" / "textspectra"), "cluster", "t.csv", "--model", "minilm", "--json"]
    done = subprocess.run(command, env=runtime, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert json.loads(done.stdout)["texts"] == 12
    assert sorted(path.name for path in data.iterdir()) == ["t.clusters.csv", "t.csv", "t.model", "t.report.html"]
    elsewhere = subprocess.run([*box, "touch", "/tmp/a"], capture_output=True, check=False)  # noqa: S108, S603
    assert elsewhere.returncode != 0  # anybody may write there, but the root is read-only
