"""Files and folders that appear complete or not at all, and what stays where that fails."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from textspectra.atomic import move_folder, replacing_file, replacing_folder
from textspectra.errors import UserError


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def names(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


def permissions(path):
    return Path(path).stat().st_mode & 0o777


def folder_with(name, **files):
    folder = Path(name)
    folder.mkdir()
    for file, content in files.items():
        (folder / file).write_text(content)
    return folder


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("no"), OSError(28, "No space left on device")])
@pytest.mark.parametrize("old", [None, "old"])
def test_a_file_that_fails_leaves_the_old_one(failure, old):
    path = Path("a.txt")
    if old:
        path.write_text(old)
    expected = UserError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected) as caught, replacing_file(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise failure
    if isinstance(failure, OSError):
        assert str(caught.value) == "'a.txt' cannot be written: No space left on device"
    assert names() == (["a.txt"] if old else [])
    assert not old or path.read_text() == old


def test_an_error_without_a_reason_is_taken_for_a_full_disk():
    with pytest.raises(UserError) as caught, replacing_file(Path("a.txt")):
        raise OSError
    assert str(caught.value) == "'a.txt' cannot be written: the disk may be full"


def test_permissions_are_those_of_the_old_file_or_of_a_new_one():
    Path("plain").touch()
    Path("old").touch()
    Path("old").chmod(0o604)
    for name in ("old", "new"):
        with replacing_file(Path(name)) as temporary:
            temporary.write_text("x")
            temporary.chmod(0o600)
    assert permissions("old") == 0o604
    assert permissions("new") == permissions("plain")


def test_a_link_stays_a_link():
    Path("a.txt").write_text("old")
    Path("link").symlink_to("a.txt")
    with replacing_file(Path("link")) as temporary:
        temporary.write_text("new")
    assert Path("link").is_symlink()
    assert Path("a.txt").read_text() == "new"


def test_several_files_are_renamed_after_all_are_written():
    with pytest.raises(ValueError, match="second"), ExitStack() as stack:  # noqa: PT012
        stack.enter_context(replacing_file(Path("a"))).write_text("a")
        assert names() != ["a"]
        stack.enter_context(replacing_file(Path("b")))
        raise ValueError("the second one")
    assert names() == []


def test_no_such_folder():
    with pytest.raises(UserError) as caught, replacing_file(Path("none/a.txt")):
        pytest.fail("there is no file to write to")
    assert str(caught.value) == "'none/a.txt' cannot be written: No such file or directory"


def test_a_folder_is_replaced_as_a_whole():
    folder_with("model", old="1")
    with replacing_folder(Path("model")) as temporary:
        (temporary / "new").write_text("2")
        (temporary / "new").chmod(0o600)
        assert names("model") == ["old"]
    Path("plain").touch()
    assert (names(), names("model")) == (["model", "plain"], ["new"])
    assert permissions("model/new") == permissions("plain")


def test_parents_of_a_folder_are_created():
    with replacing_folder(Path("a/b/model")):
        pass
    assert (names("a"), names("a/b")) == (["b"], ["model"])


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("no")])
def test_a_folder_that_fails_leaves_the_old_one(failure):
    folder_with("model", old="1")
    with pytest.raises(type(failure)), replacing_folder(Path("model")) as temporary:  # noqa: PT012
        (temporary / "new").write_text("2")
        raise failure
    assert (names(), names("model")) == (["model"], ["old"])


def test_the_old_folder_comes_back_where_the_new_one_cannot_take_its_place():
    folder_with("model", old="1")
    with pytest.raises(UserError) as caught:
        move_folder(Path("no such folder"), Path("model"))
    assert str(caught.value) == "'model' cannot be written: No such file or directory"
    assert (names(), names("model")) == (["model"], ["old"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission():
    folder_with("locked").chmod(0o500)
    with pytest.raises(UserError) as caught, replacing_folder(Path("locked/model")):
        pytest.fail("there is no folder to write to")
    assert str(caught.value) == "'locked/model' cannot be written: Permission denied"
