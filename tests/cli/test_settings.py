"""Settings: from a file, from variables, from flags; mistakes are named with the nearest key."""

import json

import pytest

from textspectra.cli.main import group
from textspectra.cli.settings import default_map, read_settings
from textspectra.errors import UsageError


def settings_of(call):
    """Return what holds for a command, and where it comes from."""

    def found(*command):
        shown = json.loads(call("config", *command, "--json").out)["settings"]
        return {one["key"]: (one["value"], one["from"]) for one in shown}

    return found


def test_flags_over_variables_over_the_file_over_defaults(call, tmp_path, monkeypatch):
    (tmp_path / "textspectra.toml").write_text(
        'model = "wordllama"\nseed = 1\noverwrite = true\n[cluster]\nseed = 2\nby = ["channel", "product"]\n'
        "[study.run]\njobs = 2\n"
    )
    monkeypatch.setenv("TEXTSPECTRA_MODEL", "minilm")
    monkeypatch.setenv("TEXTSPECTRA_CLUSTER_ALGORITHM", "hac")
    found = settings_of(call)
    cluster = found("cluster")
    assert cluster["model"] == ("minilm", "TEXTSPECTRA_MODEL")
    assert cluster["algorithm"] == ("hac", "TEXTSPECTRA_CLUSTER_ALGORITHM")
    assert cluster["seed"] == (2, "textspectra.toml")
    assert cluster["overwrite"] == (True, "textspectra.toml")
    assert cluster["by"] == (["channel", "product"], "textspectra.toml")
    assert cluster["clusters"] == ("auto", "default")
    assert found("estimate")["seed"] == (1, "textspectra.toml")
    assert found("study", "run")["jobs"] == (2, "textspectra.toml")
    shown = call("config").out
    assert 'cluster: model = "minilm"' in shown
    assert "default" not in shown

    seen = {}

    def remember(**values):
        seen.update(values)

    monkeypatch.setattr(group.get_command(None, "cluster"), "callback", remember)
    call("cluster", "a.csv", "--seed", "3")
    assert seen["sources"] == ("a.csv",)
    assert (seen["model"], seen["algorithm"], seen["seed"]) == ("minilm", "hac", 3)
    assert seen["by"] == ("channel", "product")
    assert seen["overwrite"] is True


def test_the_table_format_can_be_set(call, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.textspectra.cluster]\nformat = "xlsx"\nclusters = 12\n')
    seen = {}
    monkeypatch.setattr(group.get_command(None, "cluster"), "callback", lambda **values: seen.update(values))
    call("cluster", "a.csv")
    assert (seen["table_format"], seen["clusters"]) == ("xlsx", "12")
    call("cluster", "a.csv", "--excel-csv")
    assert seen["table_format"] == "excel-csv"
    assert settings_of(call)("cluster")["format"] == ("xlsx", "pyproject.toml, [tool.textspectra]")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('modle = "minilm"', "there is no setting 'modle'; did you mean 'model'?"),
        ('text_column = "a"', "there is no setting 'text_column'; did you mean 'text-column'?"),
        ('[cluster]\nalgoritm = "hac"', "there is no setting 'algoritm' in [cluster]; did you mean 'algorithm'?"),
        ("[clutser]\nseed = 1", "there is no command 'clutser'; did you mean 'cluster'?"),
        ("[study.rnu]\nseed = 1", "there is no command 'study rnu'; did you mean 'run'?"),
        ("zzz = 1", "there is no setting 'zzz'; `textspectra config COMMAND` lists all."),
        ('seed = "x"', 'seed must be a whole number, but it is "x".'),
        ("seed = 1.5", "seed must be a whole number, but it is 1.5."),
        ("seed = true", "seed must be a whole number, but it is true."),
        ('overwrite = "yes"', 'overwrite must be true or false, but it is "yes".'),
        ('model = ["a", "b"]', 'model must be a text in quotes, but it is ["a", "b"].'),
        ("[cluster]\nby = true", "by must be a list of texts, but it is true."),
        ("seed = -1", "seed cannot be used: -1 is not in the range x>=0."),
        ('[cluster]\nalgorithm = "dbscan"', "algorithm cannot be used: 'dbscan' is not one of 'kmeans', 'hac'."),
    ],
)
def test_a_mistake_in_the_file_is_named_with_the_nearest_key(tmp_path, content, message):
    (tmp_path / "textspectra.toml").write_text(content)
    with pytest.raises(UsageError) as error:
        default_map(read_settings(tmp_path), group)
    assert str(error.value) == f"textspectra.toml: {message}"


def test_errors_are_json_if_a_setting_asks_for_it(call, tmp_path):
    (tmp_path / "textspectra.toml").write_text("[cluster]\njson = true\n")
    assert json.loads(call("cluster", "no.csv", code=3).err)["error"]["code"] == 3
    assert call("estimate", "no.csv", code=3).err == "error: there is no file 'no.csv'\n"


def test_help_is_there_in_spite_of_a_wrong_setting(call, tmp_path):
    (tmp_path / "textspectra.toml").write_text('modle = "minilm"')
    assert "--model" in call("cluster", "--help").out


def test_a_file_that_is_no_toml_and_a_wrong_variable(call, tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_SEED", "many")
    assert "It comes from TEXTSPECTRA_SEED." in call("estimate", "a.csv", code=2).err
    monkeypatch.setenv("TEXTSPECTRA_MODLE", "minilm")
    assert "TEXTSPECTRA_MODLE is no setting; did you mean 'TEXTSPECTRA_MODEL'?" in call("config").err
    (tmp_path / "textspectra.toml").write_text("seed = \n")
    said = call("config", code=2).err
    assert said.startswith("error: textspectra.toml is not valid TOML: Invalid value (at line 1")
    (tmp_path / "textspectra.toml").write_bytes(b"\xff\xfe")
    assert "textspectra.toml is not valid TOML" in call("config", code=2).err
    assert "textspectra" in call("--version").out  # help and version need no settings


def test_own_file_counts_and_the_other_is_not_read(call, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.textspectra]\nmodle = "x"\n')
    assert "pyproject.toml, [tool.textspectra]: there is no setting 'modle'" in call("config", code=2).err
    (tmp_path / "pyproject.toml").write_text("[tool]\ntextspectra = 3\n")
    assert "tool.textspectra must be a table" in call("config", code=2).err
    (tmp_path / "textspectra.toml").write_text("seed = 1\n")
    assert "settings file: textspectra.toml\n" in call("config").out
    (tmp_path / "textspectra.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 1\n")
    assert call("config").out == "settings file: none here (textspectra.toml)\n"
    assert "there is no command 'clutser'." in call("config", "clutser", code=2).err
