"""`textspectra config`: the settings that hold here, and where each comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import reduce
from typing import Any, cast

import click

from .output import json_option, print_json
from .settings import (
    CACHE_VARIABLE,
    PREFIX,
    SettingsFile,
    default_map,
    leaves,
    nearest,
    options_of,
    own_file,
    settings_files,
    variables_of,
)


@click.command("config")
@click.argument("name", metavar="[COMMAND]", nargs=-1)
@json_option
@click.pass_context
def command(context: click.Context, name: tuple[str, ...], as_json: bool) -> None:
    """Show the settings that hold in this folder, and where each comes from.

    Without COMMAND, all that differ from the defaults are shown; with it, all settings of that command. They come from
    your own settings file, then from textspectra.toml in this folder (or [tool.textspectra] in pyproject.toml), then
    from variables such as TEXTSPECTRA_MODEL or TEXTSPECTRA_CLUSTER_MODEL, then from flags; the last one counts. The
    file in this folder may come from somebody else, so it can set only what changes the result.
    """
    files = settings_files()
    file = next((one for one in files if not one.is_own), None)
    found = [one for one in _settings(context, files) if not name or one["command"] == name]
    if name and not found:
        raise click.BadParameter(f"there is no command {' '.join(name)!r}.", param_hint="COMMAND")
    shown = [{**one, "command": " ".join(one["command"])} for one in found if name or one["from"] != "default"]
    unknown = _unknown_variables(context)
    if as_json:
        described = {"file": file.name if file else None, "own_file": str(own_file())}
        print_json({**described, "settings": shown, "unknown_variables": unknown})
        return
    click.echo(f"settings file: {file.name if file else 'none here (textspectra.toml)'}")
    click.echo(f"your own settings: {own_file()}{'' if any(one.is_own for one in files) else ' (not there)'}")
    width = max((len(_label(one)) for one in shown), default=0)
    for one in shown:
        click.echo(f"{_label(one):<{width}}   # {one['from']}")
    for variable in unknown:
        click.echo(f"warning: {variable['name']} is no setting{variable['hint']}", err=True)


def _settings(context: click.Context, files: list[SettingsFile]) -> Iterator[dict[str, Any]]:
    """Yield the settings of all commands: the command, the key, the value and its origin."""
    root = cast("click.Group", context.find_root().command)
    maps = [(file.name, default_map(file, root)) for file in reversed(files)]
    for path, leaf in leaves(root):
        saved = [(origin, reduce(lambda values, part: values.get(part, {}), path, values)) for origin, values in maps]
        for key, option in options_of(leaf).items():
            variable = next((one for one in variables_of(path, key) if os.environ.get(one)), None)
            if variable is not None:
                value, origin = os.environ[variable], variable
            else:
                default = option.to_info_dict()["default"], "default"
                value, origin = next(
                    ((values[option.name], name) for name, values in saved if option.name in values), default
                )
            yield {"command": path, "key": key, "value": value, "from": origin}


def _label(one: dict[str, Any]) -> str:
    return f"{one['command']}: {one['key']} = {json.dumps(one['value'], ensure_ascii=False)}"


def _unknown_variables(context: click.Context) -> list[dict[str, str]]:
    """Return the variables that look like settings and are none, with a hint at the nearest one."""
    known = {CACHE_VARIABLE}
    for path, leaf in leaves(context.find_root().command):
        known.update(name for key in options_of(leaf) for name in variables_of(path, key))
    there = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    return [{"name": name, "hint": nearest(name, known)} for name in there]
