"""Files and folders that appear complete or not at all, and what stays where that fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from textspectra.atomic import only_one, replacing_file, replacing_folder, replacing_together, settle
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


def test_several_outputs_are_renamed_after_all_are_written():
    with pytest.raises(ValueError, match="second"), replacing_together(Path("a")) as outputs:  # noqa: PT012
        with outputs.file(Path("a")) as temporary:
            temporary.write_text("a")
        assert "a" not in names()
        with outputs.file(Path("b")):
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


def test_ctrl_c_at_the_end_leaves_no_lock(monkeypatch):
    unlink = Path.unlink

    def interrupted(path, **options):
        monkeypatch.setattr(Path, "unlink", unlink)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), only_one(Path("model")):
        monkeypatch.setattr(Path, "unlink", interrupted)
    assert names() == []


def test_old_outputs_come_back_where_a_new_one_cannot_take_its_place(monkeypatch):
    folder_with("model", old="1")
    Path("table").write_text("old")
    with pytest.raises(UserError) as caught, replacing_together(Path("model")) as outputs:  # noqa: PT012
        with outputs.folder(Path("model")) as temporary:
            (temporary / "new").write_text("2")
        with outputs.file(Path("table")):
            pass
        temporary = next(path for path in Path().iterdir() if path.name.endswith("-table"))
        monkeypatch.setattr(Path, "rename", refusing(temporary.resolve(), Path.rename))
    assert str(caught.value) == "'model' cannot be written: Permission denied"
    assert (names(), names("model"), Path("table").read_text()) == (["model", "table"], ["old"], "old")


def refusing(path, rename):
    def call(self, target):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    return call


def test_what_a_killed_process_left_of_an_output_is_removed_by_the_next_one():
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    program = (
        "from pathlib import Path; from textspectra.atomic import *\n"
        f"with replacing_file(Path('a.csv')), replacing_folder(Path('a.model')): {kill}"
    )
    subprocess.run([sys.executable, "-c", program], check=False)  # noqa: S603
    assert len(names()) == 2
    # What is being written by someone else, here twice, stays.
    with replacing_file(Path("a.csv")), replacing_folder(Path("a.model")), replacing_file(Path("a.csv")):
        assert len(names()) == 3
    assert names() == ["a.csv", "a.model"]


KILLED_AT_EVERY_STEP = """
import os, shutil, signal, sys
from pathlib import Path
from textspectra.atomic import replacing_together, settle

os.fsync = lambda descriptor: None  # a kill loses nothing that was written
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.rmtree")
OUTPUTS = ("a.model", "a.csv", "sub/a.html")

def write(kind):
    with replacing_together(Path("a.model")) as outputs:
        with outputs.folder(Path("a.model")) as folder:
            (folder / "content").write_text(kind)
        for name in OUTPUTS[1:]:
            with outputs.file(Path(name)) as file:
                file.write_text(kind)

def found():
    paths = [Path(name, "content") if name == "a.model" else Path(name) for name in OUTPUTS]
    return {path.read_text() if path.exists() else None for path in paths}

def killed_before(number):
    child = os.fork()
    if child == 0:
        seen = 0
        def watch(event, arguments):
            nonlocal seen
            seen += event in CHANGES or (event == "open" and bool(set(str(arguments[1])) & set("wax+")))
            if seen == number:
                seen += 1  # the kill is an event, too
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(watch)
        write("new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

for old in (None, "old"):
    number = 1
    while True:
        Path("run").mkdir()
        os.chdir("run")
        Path("sub").mkdir()
        if old:
            write(old)
        killed = killed_before(number)
        settle(Path("a.model"))
        assert found() in ({old}, {"new"}), (old, number, found())
        write("again")
        assert found() == {"again"}
        left = sorted(str(path) for path in Path().rglob("*"))
        assert left == ["a.csv", "a.model", "a.model/content", "sub", "sub/a.html"], (old, number, left)
        os.chdir("..")
        shutil.rmtree("run")
        if not killed:
            break
        number += 1
    print(number - 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a child that goes on where its parent is needs fork")
def test_outputs_are_all_old_or_all_new_whatever_the_moment_of_a_kill():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED_AT_EVERY_STEP], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(int(kills) > 10 for kills in done.stdout.split())


def test_a_model_that_was_being_replaced_is_found_again():
    """Killed between the two renames of a folder, the model was gone, and hidden for good."""
    program = (
        "import os, signal; from pathlib import Path; from textspectra.atomic import *\n"
        "rename = Path.rename\n"
        "def once(self, target):\n"
        "    rename(self, target)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Path.rename = once\n"
        "with replacing_folder(Path('a.model')) as folder: (folder / 'new').touch()"
    )
    folder_with("a.model", old="1")
    subprocess.run([sys.executable, "-c", program], check=False)  # noqa: S603
    assert "a.model" not in names()
    settle(Path("a.model"))
    assert (names(), names("a.model")) == (["a.model"], ["new"])


@pytest.mark.parametrize(
    "journal",
    [
        "[" * 100_000,
        "{}",
        "[1]",
        '[{"folder": ".", "output": "a", "new": "b", "old": "c"}]',
        '[{"folder": "..", "output": "../a", "new": ".textspectra-0123456789abcdef-a", "old": "c"}]',
        '[{"folder": ".", "output": 1, "new": 2, "old": 3}]',
    ],
)
def test_a_journal_can_name_nothing_but_outputs_and_their_hidden_files(journal):
    for name in "abc":
        Path(name).write_text(name)
    Path(".textspectra-a.switch").write_text(journal)
    if journal == "{}":
        settle(Path("a"))
    else:
        with pytest.raises(UserError, match="is not what textspectra wrote; remove it"):
            settle(Path("a"))
    assert [Path(name).read_text() for name in "abc"] == ["a", "b", "c"]


def test_the_name_of_a_hidden_file_is_never_shown():
    with pytest.raises(UserError) as caught, replacing_file(Path("a.csv")) as outer, replacing_file(outer):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"'{Path.cwd() / 'a.csv'}' cannot be written: No space left on device"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission():
    folder_with("locked").chmod(0o500)
    with pytest.raises(UserError) as caught, replacing_folder(Path("locked/model")):
        pytest.fail("there is no folder to write to")
    assert str(caught.value) == "'locked/model' cannot be written: Permission denied"
