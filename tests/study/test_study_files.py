"""Files of a study appear complete or not at all."""

import pytest

from textspectra import UserError
from textspectra_study.files import make_folder, whole_file


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
    with pytest.raises(UserError, match=r"a cannot be written: Is a directory\.$"), whole_file(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_below_a_file_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"^The folder .*below cannot be made: Not a directory\.$"):
        make_folder(tmp_path / "file" / "below")
