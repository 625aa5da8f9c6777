"""Files and folders that appear complete or not at all, and what stays where that fails."""

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from textspectra import files
from textspectra.errors import ExternalError, TextspectraError, UserError
from textspectra.files import lock, read_folder, replacing_file, replacing_folder, replacing_together


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def names(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


def permissions(path):
    return Path(path).stat().st_mode & 0o777


def recover(*paths):
    """Do what any command does first that writes these outputs."""
    with replacing_together(*map(Path, paths)):
        pass


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
    expected = ExternalError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected) as caught, replacing_file(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise failure
    if isinstance(failure, OSError):
        assert str(caught.value) == "'a.txt' cannot be written: No space left on device"
    assert names() == (["a.txt"] if old else [])
    assert not old or path.read_text() == old


def test_an_error_without_a_reason_is_taken_for_a_full_disk():
    with pytest.raises(TextspectraError) as caught, replacing_file(Path("a.txt")):
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
    with pytest.raises(TextspectraError) as caught, replacing_file(Path("none/a.txt")):
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

    with pytest.raises(KeyboardInterrupt), lock(Path("model")):
        monkeypatch.setattr(Path, "unlink", interrupted)
    assert names() == []


def test_old_outputs_come_back_where_a_new_one_cannot_take_its_place(monkeypatch):
    folder_with("model", old="1")
    Path("table").write_text("old")
    with pytest.raises(TextspectraError) as caught, replacing_together(Path("model")) as outputs:  # noqa: PT012
        with outputs.folder(Path("model")) as temporary:
            (temporary / "new").write_text("2")
        with outputs.file(Path("table")):
            pass
        temporary = next(path for path in Path().iterdir() if path.name.endswith("-table"))
        monkeypatch.setattr(Path, "rename", refusing(temporary.resolve(), Path.rename))
        monkeypatch.setattr(files, "_exchange", refusing(temporary.resolve(), files._exchange, exchanged=False))
    assert str(caught.value) == "'model' cannot be written: Permission denied"
    assert (names(), names("model"), Path("table").read_text()) == (["model", "table"], ["old"], "old")


def refusing(path, rename, exchanged=None):
    def call(self, target):
        if self != path:
            return rename(self, target)
        if exchanged is None:
            raise PermissionError(13, "Permission denied")
        return exchanged

    return call


def test_what_a_killed_process_left_of_an_output_is_removed_by_the_next_one():
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    program = (
        "from pathlib import Path; from textspectra.files import *\n"
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
from textspectra import files

os.fsync = lambda descriptor: None  # a kill loses nothing that was written
exchange = files._exchange
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.rmtree")
OUTPUTS = ("a.model", "a.csv", "sub/a.html")
PATHS = [Path(name) for name in OUTPUTS]

def write(kind):
    with files.replacing_together(*PATHS) as outputs:
        with outputs.folder(PATHS[0]) as folder:
            (folder / "content").write_text(kind)
        for path in PATHS[1:]:
            with outputs.file(path) as file:
                file.write_text(kind)

def found():
    paths = [path / "content" if path.name == "a.model" else path for path in PATHS]
    return [path.read_text() if path.exists() else None for path in paths]

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

for old, can_exchange in ((None, True), ("old", True), ("old", False)):
    files._exchange = exchange if can_exchange else lambda one, other: False
    number, mixed = 1, 0
    while True:
        Path("run").mkdir()
        os.chdir("run")
        Path("sub").mkdir()
        if old:
            write(old)
        killed = killed_before(number)
        if can_exchange:  # then nobody ever sees an output that is missing or half
            assert set(found()) <= {old, "new"}, (old, number, found())
        mixed += len(set(found())) > 1
        with files.replacing_together(*PATHS):
            assert set(found()) in ({old}, {"new"}), (old, number, found())
        if old and set(found()) == {"new"} and can_exchange:  # then there is no reason to write them again
            left = [path.name for path in Path().rglob(".*")]
            assert not left, (number, left)
        write("again")
        assert set(found()) == {"again"}
        left = sorted(str(path) for path in Path().rglob("*"))
        assert left == ["a.csv", "a.model", "a.model/content", "sub", "sub/a.html"], (old, number, left)
        os.chdir("..")
        shutil.rmtree("run")
        if not killed:
            break
        number += 1
    print(number - 1, mixed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a child that goes on where its parent is needs fork")
def test_outputs_are_all_old_or_all_new_whatever_the_moment_of_a_kill():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED_AT_EVERY_STEP], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        kills, mixed = map(int, line.split())
        assert kills > 10
        assert mixed >= 2  # the kills between the steps of the switch, after which there is something to finish


def killed_between_outputs(**outputs):
    """Let a process be killed after the first of two outputs took its place; the files keep what `outputs` says."""
    program = (
        "import os, signal; from pathlib import Path; from textspectra import files\n"
        "swap = files._swap\n"
        "def once(hidden, target):\n"
        "    swap(hidden, target)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "files._swap = once\n"
        "with files.replacing_together(Path('a'), Path('b')) as outputs:\n"
        "    for name in 'ab':\n"
        "        with outputs.file(Path(name)) as file: file.write_text('new')\n"
    )
    for name, content in outputs.items():
        Path(name).write_text(content)
    subprocess.run([sys.executable, "-c", program], check=False)  # noqa: S603


def test_only_who_writes_an_output_finishes_it():
    killed_between_outputs(a="old", b="old")
    assert (Path("a").read_text(), Path("b").read_text()) == ("new", "old")
    recover("b")
    with replacing_file(Path("c")):
        pass
    assert Path("b").read_text() == "old"
    recover("a", "b")
    assert (Path("a").read_text(), Path("b").read_text(), names()) == ("new", "new", ["a", "b", "c"])


def test_a_copy_of_what_a_killed_process_left_is_ignored():
    """An archive can hold a marker and waiting outputs, but not their numbers in the file system."""
    killed_between_outputs(a="old", b="old")
    left = {path.name: path.read_text() for path in Path().iterdir()}
    folder_with("copied", **left)
    os.chdir("copied")
    recover("a", "b")
    assert (Path("a").read_text(), Path("b").read_text()) == ("new", "old")


def hostile_marker(content=None):
    """Write a marker as an attacker would who knows the numbers of everything."""
    paths = [path for path in Path().rglob("*") if path.name != "a"]
    known = " ".join(files._inode(path.resolve()) or "-" for path in paths)
    Path(".textspectra-commit-0123456789abcdef-a").write_text(known if content is None else content)


@pytest.mark.parametrize("content", [None, "", "../victim", "x" * 100_000, "\0"])
@pytest.mark.parametrize("kind", ["link to a folder", "link to a file", "pipe", "missing"])
def test_hidden_files_lead_nowhere_else(content, kind, tmp_path_factory):
    victim = tmp_path_factory.mktemp("victim")
    (victim / "kept").write_text("kept")
    Path("a").write_text("old")
    hidden = Path(".textspectra-0123456789abcdef-a")
    if kind == "pipe":
        os.mkfifo(hidden)
    elif kind != "missing":
        hidden.symlink_to(victim if kind == "link to a folder" else victim / "kept")
    Path(".textspectra-lock-a").symlink_to(victim / "lock")
    hostile_marker(content)
    recover("a")
    assert (Path("a").read_text(), names(victim)) == ("old", ["kept"])
    with replacing_file(Path("a")) as temporary:
        temporary.write_text("new")
    assert not Path("a").is_symlink()
    assert (Path("a").read_text(), names(victim), (victim / "kept").read_text()) == ("new", ["kept"], "kept")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_hidden_files_of_another_user_are_ignored():
    killed_between_outputs(a="old", b="old")
    for path in Path().iterdir():
        os.chown(path, 65534, 65534)
    left = {*names()} - {".textspectra-lock-a"}
    recover("a", "b")
    assert Path("b").read_text() == "old"
    assert {*names()} == left


def test_a_folder_that_is_replaced_while_it_is_read_is_read_again():
    folder_with("model", a="old", b="old")

    def read():
        first = Path("model/a").read_text()
        if first == "old":
            with replacing_folder(Path("model")) as temporary:
                for name in "ab":
                    (temporary / name).write_text("new")
        return first, Path("model/b").read_text()

    assert read_folder(Path("model"), read) == ("new", "new")


def test_a_folder_that_is_replaced_all_the_time_is_given_up():
    def read():
        with replacing_folder(Path("model")):
            pass

    with pytest.raises(ExternalError, match="'model' is being replaced all the time; try again later"):
        read_folder(Path("model"), read)


def test_an_error_of_a_folder_that_stays_is_the_error():
    with pytest.raises(UserError, match="damaged"):
        read_folder(folder_with("model"), lambda: (_ for _ in ()).throw(UserError("damaged")))


def test_the_name_of_a_hidden_file_is_never_shown():
    with pytest.raises(TextspectraError) as caught, replacing_file(Path("a.csv")) as outer, replacing_file(outer):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"'{Path.cwd() / 'a.csv'}' cannot be written: No space left on device"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission():
    folder_with("locked").chmod(0o500)
    with pytest.raises(TextspectraError) as caught, replacing_folder(Path("locked/model")):
        pytest.fail("there is no folder to write to")
    assert str(caught.value) == "'locked/model' cannot be written: Permission denied"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize(("mode", "message"), [(0o755, "Permission denied"), (0o777, None)])
def test_a_folder_and_a_lock_of_another_user(mode, message):
    """A lock that another user's killed process left does not keep others out of a folder that they share."""
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        Path(place).chmod(mode)
        path = Path(place, "a")
        if message is None:
            Path(place, ".textspectra-lock-a").touch(0o644)
        os.seteuid(65534)
        try:
            with nullcontext() if message is None else pytest.raises(TextspectraError) as caught, lock(path):
                pass
        finally:
            os.seteuid(0)
        assert message is None or str(caught.value) == f"'{path}' cannot be written: {message}"
        assert not list(Path(place).iterdir())
