"""Settings: the options of all commands, from files and from variables of the environment.

The option ``--text-column`` is the key ``text-column`` of `textspectra.toml`, or of ``[tool.textspectra]`` in
`pyproject.toml`: at the top for all commands that have it, or in a table such as ``[cluster]`` for one of them. Its
variables are ``TEXTSPECTRA_TEXT_COLUMN`` and ``TEXTSPECTRA_CLUSTER_TEXT_COLUMN``. A flag counts more than a variable, a
variable more than a file, the working folder's file more than the user's, and what is for one command more than what
is for all.

A file in the working folder may come from a stranger, together with the data. It can set only what changes the result
(`PROJECT_KEYS`), never where anything is read, written or sent. The user's own file can set every option.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import platformdirs

from ..errors import UsageError

PREFIX = "TEXTSPECTRA_"

CACHE_VARIABLE = f"{PREFIX}CACHE"
"""Names the folder of the cache; the one variable that is no option."""

PROJECT_KEYS = frozenset({
    "algorithm", "by", "clusters", "encoding", "every", "format", "header-row", "keep-all", "labels", "method",
    "model", "no-report", "offline", "seed", "sheet", "show", "spreadsheet-safe", "text-column", "time",
    "truth",
})  # fmt: skip
"""What a file in the working folder may set. A new option is not among them until somebody decides that it is safe."""

PROTECTIONS = frozenset({"offline", "spreadsheet-safe"})
"""Options that the working folder's file may switch on, but not off."""

FILE = "textspectra.toml"

LARGEST_BYTES = 2**18
"""Size of a settings file."""

MOST_DOTS = 100
"""Dots in a key of it: Python's parser takes 43 s and gigabytes for a key ``a.a.a...`` of 64 KB."""

DOTTED_KEY = re.compile(
    rb"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % (MOST_DOTS + 1)
)
"""A key of more than that; dots of a value, such as a list of versions, do no harm."""

Place = tuple[str, ...]
"""Where a command is, such as ("cluster",)."""


class SettingsFile(NamedTuple):
    """A settings file: its name for messages, what it holds, and whether it is the user's own."""

    name: str
    content: Mapping[str, Any]
    is_own: bool = False


def own_file() -> Path:
    """Return where the user's own settings are, if there are any."""
    return platformdirs.user_config_path("textspectra", appauthor=False) / FILE


def settings_files() -> list[SettingsFile]:
    """Read the user's own settings and those of the working folder; the last file counts most."""
    own = _read_toml(own_file())
    files = [] if own is None else [SettingsFile(str(own_file()), own, is_own=True)]
    project = None if Path(FILE).absolute() == own_file() else read_settings(Path())
    return files if project is None else [*files, project]


def read_settings(folder: Path) -> SettingsFile | None:
    """Read `textspectra.toml`, or ``[tool.textspectra]`` of `pyproject.toml`, or return None if there is neither."""
    single = _read_toml(folder / FILE)
    if single is not None:
        return SettingsFile(FILE, single)
    tools = (_read_toml(folder / "pyproject.toml") or {}).get("tool")
    shared = tools.get("textspectra") if isinstance(tools, dict) else None
    if shared is None:
        return None
    if not isinstance(shared, dict):
        raise UsageError("pyproject.toml: tool.textspectra must be a table of settings.")
    return SettingsFile("pyproject.toml, [tool.textspectra]", shared)


def _read_toml(path: Path) -> dict[str, Any] | None:
    try:
        if not path.is_file():  # opening a pipe would wait for a writer, and reading a device would never end
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}.") from None
    if path.name != FILE and b"textspectra" not in content:
        return None
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path.name} is larger than {LARGEST_BYTES // 2**10} KB, so it is not read.")
    if DOTTED_KEY.search(content):
        raise UsageError(f"{path.name} has a key with more than {MOST_DOTS} dots, so it is not read.")
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # also if it is not UTF-8
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
    """Return the variables of an option, the one for this command first."""
    names = ("_".join((*path, key)), key)
    return [PREFIX + name.upper().replace("-", "_") for name in names]


def listen_to_variables(command: click.Command, path: Place) -> None:
    """Let the options of a command listen to their variables."""
    for leaf_path, leaf in leaves(command, path):
        for key, option in options_of(leaf).items():
            option.envvar = variables_of(leaf_path, key)


def default_map(file: SettingsFile, cluster: click.Group) -> dict[str, Any]:
    """Return what a settings file says, as click takes it; a wrong key or a wrong value raises a UsageError.

    Commands for which it says nothing are left out.
    """
    commands = dict(leaves(cluster))
    tables = _Tables(file, commands)
    result: dict[str, Any] = {}
    for path, command in commands.items():
        values = tables.of(path, command)
        if values:
            place = result
            for name in path[:-1]:
                place = place.setdefault(name, {})
            place[path[-1]] = values
    return result


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two files say, as click takes it; the second counts more."""
    common = {key: merged(first[key], value) for key, value in second.items() if isinstance(first.get(key), Mapping)}
    return {**first, **second, **common}


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
                if not file.is_own:
                    self._check_harmless(key, table[key])

    def _check_harmless(self, key: str, value: Any) -> None:
        """Refuse what a stranger's file must not decide.

        It is not enough to warn and go on: with `out` or `offline` left out, the command would do something else than
        the author of the file meant.
        """
        if key not in PROJECT_KEYS:
            reason = "only what changes the result, not where anything is read, written or sent"
        elif key in PROTECTIONS and value is False:
            reason = f"{key} to true, but not to false"
        elif key == "model" and isinstance(value, str) and not _is_preset(value):
            reason = "model to auto, minilm, wordllama or multilingual, but not to a folder, a download or a server"
        else:
            return
        shown = f"{key} = {json.dumps(value, default=str)}"
        raise self._error(
            f"{shown} is refused. A file in the working folder may come from somebody else, so it can set {reason}. "
            f"Use the flag --{key}, the variable {variables_of((), key)[-1]}, or your own settings in {own_file()}."
        )

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


def _is_preset(model: str) -> bool:
    from ..embedding.registry import PRESETS

    return model.lower().removeprefix("float32:") in PRESETS


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
    """Return the end of a message that names the nearest of the known keys, if one is near."""
    by_plain = {_plain(one): one for one in known}
    found = difflib.get_close_matches(_plain(key), list(by_plain), n=1)
    return f"; did you mean {by_plain[found[0]]!r}?" if found else "; `textspectra config COMMAND` lists all."


def _plain(key: str) -> str:
    return key.lower().replace("_", "-")
