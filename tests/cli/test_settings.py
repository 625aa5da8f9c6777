"""Settings: from a file, from variables, from flags; mistakes are named with the nearest key."""

import json
import os
import subprocess
import sys

import pytest

from textspectra.cli.options import COMMANDS, options_of
from textspectra.cli.settings import default_map, own_file, read_settings
from textspectra.embedding.registry import load_model
from textspectra.errors import UsageError


def settings_of(call):
    """Return what holds for a command, and where it comes from."""

    def found(*command):
        shown = json.loads(call("config", *command, "--json").out)["settings"]
        return {one["key"]: (one["value"], one["from"]) for one in shown}

    return found


@pytest.fixture
def own(call):
    """Write the user's own settings."""

    def write(content):
        own_file().parent.mkdir(parents=True, exist_ok=True)
        own_file().write_text(content)
        return str(own_file())

    return write


def test_flags_over_variables_over_the_files_over_defaults(call, own, tmp_path, monkeypatch):
    mine = own('seed = 5\noverwrite = true\nmodel = "openai:mine"\n[cluster]\nevery = "day"\n')
    (tmp_path / "textspectra.toml").write_text(
        'model = "wordllama"\nseed = 1\n[cluster]\nseed = 2\nby = ["channel", "product"]\n'
    )
    monkeypatch.setenv("TEXTSPECTRA_MODEL", "minilm")
    monkeypatch.setenv("TEXTSPECTRA_CLUSTER_ALGORITHM", "hac")
    found = settings_of(call)
    cluster = found("cluster")
    assert cluster["model"] == ("minilm", "TEXTSPECTRA_MODEL")
    assert cluster["algorithm"] == ("hac", "TEXTSPECTRA_CLUSTER_ALGORITHM")
    assert cluster["seed"] == (2, "textspectra.toml")
    assert cluster["overwrite"] == (True, mine)
    assert cluster["every"] == ("day", mine)
    assert cluster["by"] == (["channel", "product"], "textspectra.toml")
    assert cluster["clusters"] == ("auto", "default")
    assert found("estimate")["seed"] == (1, "textspectra.toml")
    assert found("score")["model"] == ("minilm", "TEXTSPECTRA_MODEL")
    shown = call("config").out
    assert 'cluster: model = "minilm"' in shown
    assert "default" not in shown

    seen = {}

    def remember(**values):
        seen.update(values)

    monkeypatch.setattr("textspectra.cli.cluster.cluster_command", remember)
    call("cluster", "a.csv", "--seed", "3")
    assert seen["sources"] == ("a.csv",)
    assert (seen["model"], seen["algorithm"], seen["seed"]) == ("minilm", "hac", 3)
    assert seen["by"] == ("channel", "product")
    assert seen["overwrite"] is True


def test_the_table_format_can_be_set(call, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.textspectra.cluster]\nformat = "xlsx"\nclusters = 12\n')
    seen = {}
    monkeypatch.setattr("textspectra.cli.cluster.cluster_command", lambda **values: seen.update(values))
    call("cluster", "a.csv")
    assert (seen["table_format"], seen["clusters"]) == ("xlsx", "12")
    call("cluster", "a.csv", "--excel-csv")
    assert seen["table_format"] == "excel-csv"
    assert settings_of(call)("cluster")["format"] == ("xlsx", "pyproject.toml, [tool.textspectra]")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('modle = "minilm"', "unknown setting 'modle'; did you mean 'model'?"),
        ('text_column = "a"', "unknown setting 'text_column'; did you mean 'text-column'?"),
        ('[cluster]\nalgoritm = "hac"', "unknown setting 'algoritm' in [cluster]; did you mean 'algorithm'?"),
        ("[clutser]\nseed = 1", "unknown command 'clutser'; did you mean 'cluster'?"),
        ("zzz = 1", "unknown setting 'zzz'; `textspectra config COMMAND` lists all."),
        ('seed = "x"', 'seed must be a whole number, but it is "x".'),
        ("seed = 1.5", "seed must be a whole number, but it is 1.5."),
        ("seed = true", "seed must be a whole number, but it is true."),
        ('no-report = "yes"', 'no-report must be true or false, but it is "yes".'),
        ('model = ["a", "b"]', 'model must be a text in quotes, but it is ["a", "b"].'),
        ("[cluster]\nby = true", "by must be a list of texts, but it is true."),
        ("seed = -1", "seed cannot be used: -1 is not in the range x>=0."),
        ('[cluster]\nalgorithm = "dbscan"', "algorithm cannot be used: 'dbscan' is not one of 'kmeans', 'hac'."),
    ],
)
def test_a_mistake_in_the_file_is_named_with_the_nearest_key(tmp_path, content, message):
    (tmp_path / "textspectra.toml").write_text(content)
    with pytest.raises(UsageError) as error:
        default_map(read_settings(tmp_path))
    assert str(error.value) == f"textspectra.toml: {message}"


SETTINGS = [setting for name in COMMANDS for setting in options_of(name).items()]
SHARED = {key for key, option in SETTINGS if option.shared}
PRIVATE = sorted({key for key, _ in SETTINGS} - SHARED)


@pytest.mark.parametrize("key", PRIVATE)
def test_a_file_that_comes_with_the_data_sets_only_what_changes_the_result(call, tmp_path, key):
    (tmp_path / "textspectra.toml").write_text(f"{key} = 'x'\n")
    said = call("estimate", "no.csv", code=2).err
    variable = "TEXTSPECTRA_" + key.upper().replace("-", "_")
    assert said == (
        f'error: textspectra.toml: {key} = "x" is refused. A file in the working folder may come from somebody else, '
        "so it can set only what changes the result, not where anything is read, written or sent. Use the flag "
        f"--{key}, the variable {variable}, or your own settings in {own_file()}.\n"
    )
    (tmp_path / "textspectra.toml").unlink()
    (tmp_path / "pyproject.toml").write_text(f"[tool.textspectra.cluster]\n{key} = 'x'\n")
    assert call("cluster", "no.csv", code=2).err.startswith("error: pyproject.toml, [tool.textspectra]: ")


def test_every_option_that_only_changes_the_result_may_come_with_the_data(call, tmp_path):
    (tmp_path / "textspectra.toml").write_text("header-row = 2\nkeep-all = true\n")
    found = settings_of(call)("cluster")
    assert found["header-row"] == (2, "textspectra.toml")
    assert found["keep-all"] == (True, "textspectra.toml")


def test_only_options_that_change_the_result_are_shared():
    assert {
        "algorithm", "by", "clusters", "encoding", "every", "format", "header-row", "ignore", "keep-all", "labels",
        "map", "method", "model", "no-report", "offline", "seed", "sheet", "show", "spreadsheet-safe", "text-column",
        "time", "truth",
    } == SHARED  # fmt: skip
    assert {key for key, option in SETTINGS if option.protects} == {"offline", "spreadsheet-safe"}


def test_a_settings_file_imports_no_command(tmp_path):
    (tmp_path / "textspectra.toml").write_text('seed = 1\n[cluster]\nalgorithm = "hac"\n')
    code = (
        "import sys; sys.argv = ['textspectra', 'models']\n"
        "from textspectra.cli.main import run\n"
        "try:\n    run()\n"
        "finally:\n    print([name for name in sys.modules if name.startswith('textspectra.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603
    assert "textspectra.cli.system" in done.stdout
    assert "textspectra.cli.cluster" not in done.stdout
    assert "textspectra.cli.months" not in done.stdout


@pytest.mark.parametrize(
    "model", ["openai:text-embedding-3-small", "./evil", "owner/evil", "model2vec:evil", "plug:in"]
)
def test_a_file_that_comes_with_the_data_names_only_known_models(call, tmp_path, model):
    (tmp_path / "textspectra.toml").write_text(f'[cluster]\nmodel = "{model}"\n')
    said = call("cluster", "no.csv", code=2).err
    assert f'model = "{model}" is refused' in said
    assert "model to auto, minilm, wordllama or multilingual, but not to a folder, a download or a server." in said


def test_a_file_that_comes_with_the_data_can_protect_but_not_expose(call, tmp_path):
    for key in ("offline", "spreadsheet-safe"):
        (tmp_path / "textspectra.toml").write_text(f"{key} = true\nmodel = 'Float32:minilm'")
        assert settings_of(call)("cluster")[key] == (True, "textspectra.toml")
        (tmp_path / "textspectra.toml").write_text(f"{key} = false\n")
        assert f"{key} = false is refused." in call("config", code=2).err


def test_a_folder_cannot_pose_as_a_known_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "config.json").write_text('{"model_type": "model2vec"}')
    assert load_model("wordllama").name == "wordllama"


def test_a_file_in_this_folder_is_announced_where_it_is_used(call, own, tmp_path):
    own("[estimate]\nseed = 1\n")
    assert call("estimate", "no.csv", code=3).err == "error: file not found: 'no.csv'\n"
    (tmp_path / "textspectra.toml").write_text("[estimate]\nseed = 1\n")
    line = "settings from textspectra.toml in this folder (`textspectra config` shows them)\n"
    assert call("estimate", "no.csv", "-q", code=3).err == line + "error: file not found: 'no.csv'\n"
    assert call("cluster", "no.csv", code=3).err == "error: file not found: 'no.csv'\n"
    assert json.loads(call("estimate", "no.csv", "--json", code=3).err)["error"]["code"] == 3


def test_strange_files_are_no_trap(call, tmp_path):
    path = tmp_path / "textspectra.toml"
    os.mkfifo(path)
    assert "none here" in call("config").out
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "none here" in call("config").out
    path.unlink()
    path.write_text("a" + ".a" * 100_000 + " = 1")
    assert (
        call("config", code=2).err == "error: textspectra.toml has a key with more than 100 dots, so it is not read.\n"
    )
    path.write_text("x = {b = '''\n''', 'a'" + """ . "=\\"a" """ * 200 + " = 1, c = '''\n'''}")
    assert "has a key with more than 100 dots" in call("config", code=2).err
    for quotes in ('"' * 200_000, '"\\' * 100_000, "a" * 200_000, '"a".' * 50_000):
        path.write_text(quotes)  # looking for such keys takes no time either
        assert "textspectra.toml" in call("config", code=2).err
    path.write_text("#" * 300_000)
    assert call("config", code=2).err == "error: textspectra.toml is larger than 256 KB, so it is not read.\n"
    path.write_text("a = " + "[" * 100_000)
    assert call("config", code=2).err.startswith("error: textspectra.toml is not valid TOML: maximum recursion depth")
    path.unlink()
    (tmp_path / "pyproject.toml").write_text("tool = 'textspectra'")
    assert "none here" in call("config").out
    versions = ", ".join(f'"package-{i}==1.{i}.0"' for i in range(99))
    (tmp_path / "pyproject.toml").write_text(f"[project]\nrequired = [{versions}]\n[tool.textspectra]\nseed = 7\n")
    assert settings_of(call)("cluster")["seed"][0] == 7


def test_own_settings_in_the_working_folder_stay_own(call, own, monkeypatch):
    own('out = "elsewhere"')
    monkeypatch.chdir(own_file().parent)
    assert settings_of(call)("cluster")["out"] == ("elsewhere", str(own_file()))


def test_errors_are_json_if_a_setting_asks_for_it(call, own):
    own("[cluster]\njson = true\n")
    assert json.loads(call("cluster", "no.csv", code=3).err)["error"]["code"] == 3
    assert call("estimate", "no.csv", code=3).err == "error: file not found: 'no.csv'\n"


def test_help_is_there_in_spite_of_a_wrong_setting(call, tmp_path):
    (tmp_path / "textspectra.toml").write_text('modle = "minilm"')
    assert "--model" in call("cluster", "--help").out


def test_a_file_that_is_no_toml_and_a_wrong_variable(call, tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_SEED", "many")
    assert "It comes from TEXTSPECTRA_SEED." in call("estimate", "a.csv", code=2).err
    monkeypatch.setenv("TEXTSPECTRA_MODLE", "minilm")
    assert "TEXTSPECTRA_MODLE is not a setting; did you mean 'TEXTSPECTRA_MODEL'?" in call("config").err
    (tmp_path / "textspectra.toml").write_text("seed = \n")
    said = call("config", code=2).err
    assert said.startswith("error: textspectra.toml is not valid TOML: Invalid value (at line 1")
    (tmp_path / "textspectra.toml").write_bytes(b"\xff\xfe")
    assert "textspectra.toml is not valid TOML" in call("config", code=2).err
    assert "textspectra" in call("--version").out  # help and version need no settings


def test_own_file_counts_and_the_other_is_not_read(call, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.textspectra]\nmodle = "x"\n')
    assert "pyproject.toml, [tool.textspectra]: unknown setting 'modle'" in call("config", code=2).err
    (tmp_path / "pyproject.toml").write_text("[tool]\ntextspectra = 3\n")
    assert "tool.textspectra must be a table" in call("config", code=2).err
    (tmp_path / "textspectra.toml").write_text("seed = 1\n")
    assert "settings file: textspectra.toml\n" in call("config").out
    (tmp_path / "textspectra.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 1\n")
    assert call("config").out == (
        f"settings file: none here (textspectra.toml)\nyour own settings: {own_file()} (not there)\n"
    )
    assert "unknown command 'clutser'." in call("config", "clutser", code=2).err
