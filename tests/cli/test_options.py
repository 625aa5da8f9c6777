"""One declaration for each option: what click, settings and the recipe make of it."""

import click
import pytest

from textspectra.cli.cluster import _command_line
from textspectra.cli.main import root
from textspectra.cli.options import COMMANDS, LOG, Setting, defaults_of, options_of, variables_of


def test_an_option_is_declared_as_it_is_typed():
    number = Setting("--seed N", "A number.", "result", type=click.IntRange(min=0), default=0)
    assert (number.opts, number.metavar, number.key, number.is_flag) == (["--seed"], "N", "seed", False)
    assert (number.shared, number.protects, number.recipe) == (True, False, True)
    choice = Setting("--every day|week", "A period.")
    assert list(choice.type.choices) == ["day", "week"]
    assert (choice.shared, choice.recipe) == (False, False)
    assert Setting("--scheduler tcp://HOST:PORT|local", "An address.").metavar == "tcp://HOST:PORT|local"
    flag = Setting("--quiet -q", "Say nothing.", "protection")
    assert (flag.is_flag, flag.key, flag.protects, flag.recipe) == (True, "quiet", True, False)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "study"])
def test_a_command_has_what_is_declared_for_it(name):
    command = root.get_command(None, name)
    declared = [parameter.name for parameter in (*COMMANDS[name].parameters, *LOG)]
    assert [parameter.name for parameter in command.params] == declared
    for parameter in command.params:
        if isinstance(parameter, Setting) and parameter.key in options_of(name) and parameter.key != "limit":
            assert parameter.envvar == variables_of(name, parameter.key)


def test_what_is_not_given_has_its_default():
    defaults = defaults_of("cluster")
    assert (defaults["clusters"], defaults["seed"], defaults["by"], defaults["out"]) == ("auto", 0, (), None)
    assert defaults["no_report"] is False
    assert not {"quiet", "json", "offline", "sources"} & defaults.keys()


def test_the_recipe_has_the_options_that_decide_the_result(planted):
    import textspectra as ts

    X, _ = planted(2, 20)
    result = ts.cluster_texts([f"text {i}" for i in range(20)], embeddings=X, n_clusters=2)
    options = {**defaults_of("cluster"), "embeddings": "v", "by": ("a", "b c"), "keep_all": True, "out": "elsewhere"}
    assert _command_line(["x y.csv"], options, result) == (
        "textspectra cluster 'x y.csv' --algorithm kmeans --clusters auto --method auto --embeddings v --seed 0 --by a "
        "--by 'b c' --keep-all"
    )
