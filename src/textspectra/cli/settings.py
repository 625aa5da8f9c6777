"""Settings: the options of all commands, from a file in the folder and from variables of the environment.

The option ``--text-column`` is the key ``text-column`` of `textspectra.toml`, or of ``[tool.textspectra]`` in
`pyproject.toml`: at the top for all commands that have it, or in a table such as ``[cluster]`` for one of them. Its
variables are ``TEXTSPECTRA_TEXT_COLUMN`` and ``TEXTSPECTRA_CLUSTER_TEXT_COLUMN``. A flag counts more than a variable, a
variable more than the file, and what is for one command more than what is for all.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..errors import UsageError

PREFIX = "TEXTSPECTRA_"

CACHE_VARIABLE = f"{PREFIX}CACHE"
"""Names the folder of the cache; the one variable that is no option."""

Place = tuple[str, ...]
"""Where a command is: ("cluster",), or ("study", "run")."""


class SettingsFile(NamedTuple):
    """A settings file: its name for messages, and what it holds."""

    name: str
    content: Mapping[str, Any]


def read_settings(folder: Path) -> SettingsFile | None:
    """Read `textspectra.toml`, or ``[tool.textspectra]`` of `pyproject.toml`, or return None if there is neither."""
    own = _read_toml(folder / "textspectra.toml")
    if own is not None:
        return SettingsFile("textspectra.toml", own)
    shared = (_read_toml(folder / "pyproject.toml") or {}).get("tool", {}).get("textspectra")
    if shared is None:
        return None
    if not isinstance(shared, dict):
        raise UsageError("pyproject.toml: tool.textspectra must be a table of settings.")
    return SettingsFile("pyproject.toml, [tool.textspectra]", shared)


def _read_toml(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # also if it is not UTF-8
        raise UsageError(f"{path.name} is not valid TOML: {error}.") from None


def key_of(option: click.Option) -> str:
    """Return the name of an option in a settings file: its long flag, without the dashes."""
    return max(option.opts, key=len).lstrip("-")


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that can be set, by their keys."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    return {key_of(one): one for one in options if not one.is_flag or one.is_bool_flag}


def leaves(command: click.Command, path: Place = ()) -> Iterator[tuple[Place, click.Command]]:
    """Yield the commands of a group, and of the groups in it, with their paths."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None:
            yield from leaves(found, (*path, name))


def variables_of(path: Place, key: str) -> list[str]:
    """Return the variables of an option, the one for this command first.

    Examples
    --------
    >>> variables_of(("cluster",), "text-column")
    ['TEXTSPECTRA_CLUSTER_TEXT_COLUMN', 'TEXTSPECTRA_TEXT_COLUMN']
    """
    names = ("_".join((*path, key)), key)
    return [PREFIX + name.upper().replace("-", "_") for name in names]


def listen_to_variables(command: click.Command, path: Place) -> None:
    """Let the options of a command listen to their variables."""
    for leaf_path, leaf in leaves(command, path):
        for key, option in options_of(leaf).items():
            option.envvar = variables_of(leaf_path, key)


def default_map(file: SettingsFile | None, group: click.Group) -> dict[str, Any]:
    """Return what a settings file says, as click takes it; a wrong key or a wrong value raises a UsageError."""
    if file is None:
        return {}
    commands = dict(leaves(group))
    tables = _Tables(file, commands)
    result: dict[str, Any] = {}
    for path, command in commands.items():
        place = result
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = tables.of(path, command)
    return result


class _Tables:
    """The tables of a settings file, with every key checked."""

    def __init__(self, file: SettingsFile, commands: Mapping[Place, click.Command]) -> None:
        self._file = file
        self._tables: dict[Place, dict[str, Any]] = {}
        self._collect(file.content, (), {path[:end] for path in commands for end in range(len(path) + 1)})
        everywhere = {key for command in commands.values() for key in options_of(command)}
        for path, table in self._tables.items():
            known = options_of(commands[path]) if path in commands else everywhere if not path else set()
            for key in table:
                if key not in known:
                    where = f" in [{'.'.join(path)}]" if path else ""
                    raise self._error(f"there is no setting {key!r}{where}{nearest(key, known)}")

    def _collect(self, table: Mapping[str, Any], path: Place, known: set[Place]) -> None:
        below = {key: value for key, value in table.items() if isinstance(value, dict)}
        self._tables[path] = {key: value for key, value in table.items() if key not in below}
        for key, value in below.items():
            if (*path, key) not in known:
                names = [one[-1] for one in known if len(one) == len(path) + 1 and one[:-1] == path]
                raise self._error(f"there is no command {' '.join((*path, key))!r}{nearest(key, names)}")
            self._collect(value, (*path, key), known)

    def of(self, path: Place, command: click.Command) -> dict[str, Any]:
        """Return the values for a command, by the names of its parameters."""
        found = self._tables[()] | self._tables.get(path, {})
        return {
            str(option.name): self._checked(option, key, found[key])
            for key, option in options_of(command).items()
            if key in found
        }

    def _checked(self, option: click.Option, key: str, value: Any) -> Any:
        expected, allowed = _expectation(option)
        values = value if option.multiple and isinstance(value, list) else [value]
        if isinstance(value, bool) != (allowed is bool) or not all(isinstance(one, allowed) for one in values):
            raise self._error(f"{key} must be {expected}, but it is {json.dumps(value, default=str)}.")
        try:
            for one in values:
                option.type.convert(one if allowed is bool else str(one), option, None)
        except click.BadParameter as error:
            raise self._error(f"{key} cannot be used: {error.message}") from None
        return values if option.multiple else value

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{self._file.name}: {message}")


def _expectation(option: click.Option) -> tuple[str, Any]:
    """Return the type that a value must have, in words and for `isinstance`."""
    if option.is_flag:
        return "true or false", bool
    if option.multiple:
        return "a list of texts", (str, int)
    if isinstance(option.type, click.types.IntParamType):
        return "a whole number", int
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", (int, float)
    return "a text in quotes", (str, int)


def nearest(key: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest of the known keys, if one is near.

    Examples
    --------
    >>> nearest("modle", ["model", "seed"])
    "; did you mean 'model'?"
    """
    by_plain = {_plain(one): one for one in known}
    found = difflib.get_close_matches(_plain(key), list(by_plain), n=1)
    return f"; did you mean {by_plain[found[0]]!r}?" if found else "; `textspectra config COMMAND` lists all."


def _plain(key: str) -> str:
    return key.lower().replace("_", "-")
