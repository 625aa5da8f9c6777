"""The newest state of a model in the downloads folder is found, whatever else is there."""

import json
import os
import sys

import pytest

from textspectra.errors import UserError
from textspectra.report.downloads import newest_state
from textspectra.report.state import FORMAT

OURS, OTHERS = "0123456789abcdef", "fedcba9876543210"


def write(path, fingerprint=OURS, *, age, content=None, **how):
    """Write a file that is some seconds old; by default a state."""
    state = {"format": FORMAT, "version": "0.1", "fingerprint": fingerprint, "grouping": "", "clusters": []}
    path.write_text(json.dumps(state, **how) if content is None else content)
    os.utime(path, (1_700_000_000 - age,) * 2)
    return path


def test_the_newest_one_of_the_model_is_found_by_its_content(tmp_path):
    write(tmp_path / "x.state.json", age=30)
    wanted = write(tmp_path / "x.state (1).JSON", age=20, separators=(",", ":"))
    write(tmp_path / "y.state.json", OTHERS, age=10)
    write(tmp_path / "x.state.json.part", age=1)
    write(tmp_path / "a.json", age=2, content='{"fingerprint": "%s"}' % OURS)  # noqa: UP031
    write(tmp_path / "b.json", age=2, content="")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    assert newest_state(OURS, tmp_path) == wanted
    again = write(tmp_path / "renamed by hand.json", age=5, indent=2)
    assert newest_state(OURS, tmp_path) == again


def test_two_of_the_same_moment_have_an_order(tmp_path):
    write(tmp_path / "a.json", age=5)
    second = write(tmp_path / "b.json", age=5)
    assert newest_state(OURS, tmp_path) == second


@pytest.mark.parametrize(("n_others", "told"), [(0, ""), (1, ", only 1 state of other texts"), (2, ", only 2 states")])
def test_the_error_says_what_to_do(tmp_path, n_others, told):
    for number in range(n_others):
        write(tmp_path / f"{number}.json", OTHERS, age=1)
    with pytest.raises(UserError) as caught:
        newest_state(OURS, tmp_path)
    assert str(caught.value).startswith(f"No state of this model is in {tmp_path}{told}")
    assert str(caught.value).endswith(
        "Press “Download JSON” in its report, or name the file if you saved it elsewhere: "
        "textspectra apply STATE.json MODEL."
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the variables of Linux desktops")
def test_the_folder_is_that_of_the_desktop(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("XDG_DOWNLOAD_DIR", raising=False)
    with pytest.raises(UserError, match=rf"^No state of this model is in {tmp_path / 'Downloads'}\. "):
        newest_state(OURS)
    (tmp_path / "Downloads").mkdir()
    ours = write(tmp_path / "Downloads" / "x.json", age=1)
    assert newest_state(OURS) == ours
    (tmp_path / "Geladen").mkdir()
    moved = write(tmp_path / "Geladen" / "x.json", age=9)
    monkeypatch.setenv("XDG_DOWNLOAD_DIR", str(tmp_path / "Geladen"))
    assert newest_state(OURS) == moved
    monkeypatch.delenv("XDG_DOWNLOAD_DIR")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "user-dirs.dirs").write_text('XDG_DOWNLOAD_DIR="$HOME/Geladen"\n')
    assert newest_state(OURS) == moved
