"""Files of a study appear complete or not at all."""

import sys

import pytest

from textspectra import ExternalError, UserError
from textspectra_study.files import make_folder, remove_unfinished, whole_file


def write_half(path):
    with whole_file(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt


def test_an_interrupted_file_leaves_the_older_one_and_nothing_else(tmp_path):
    (tmp_path / "a").write_bytes(b"older")
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "a")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"older")]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ExternalError, match=r"a cannot be written: Is a directory\.$"), whole_file(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_below_a_file_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"^The folder .*below cannot be made: Not a directory\.$"):
        make_folder(tmp_path / "file" / "below")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such locks")
def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left = tmp_path / ".0123456789abcdef.tmp"
    left.write_bytes(b"half")
    (tmp_path / ".other.tmp").write_bytes(b"not ours")
    with whole_file(tmp_path / "a") as stream:
        stream.write(b"new")
        remove_unfinished(tmp_path)
        assert not left.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.tmp", "a"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr("os.fsync", lambda _: sizes.append([path.stat().st_size for path in tmp_path.iterdir()]))
    with whole_file(tmp_path / "a") as stream:
        stream.write(b"new")
    assert sizes == [[3]]
