"""Settings: the options of all commands, from files.

The option ``--text-column`` is the key ``text-column`` of `textspectra.toml`, or of ``[tool.textspectra]`` in
`pyproject.toml`: at the top for all commands that have it, or in a table such as ``[cluster]`` for one of them. Its
variables are ``TEXTSPECTRA_TEXT_COLUMN`` and ``TEXTSPECTRA_CLUSTER_TEXT_COLUMN``. A flag takes precedence over a
variable, a variable over a file, the working folder's file over the user's, and a setting for one command over one for
all.

A file in the working folder may come from a stranger, together with the data. It can set only the options that are
declared as shared. The user's own file can set every option.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import click
import platformdirs

from ..errors import UsageError
from .options import COMMANDS, Setting, options_of, variables_of

SETTINGS_FILE = "textspectra.toml"

LARGEST_BYTES = 2**18  # of a settings file
MOST_DOTS = 100  # in a key of it: Python's parser takes 43 s and gigabytes for a key ``a.a.a...`` of 64 KB
DOTTED_KEY = re.compile(
    rb"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % (MOST_DOTS + 1)
)
"""A key of more dots than that; dots of a value, such as a list of versions, do no harm."""


class SettingsFile(NamedTuple):
    """A settings file: its name for messages, its content, and whether it is the user's own."""

    name: str
    content: Mapping[str, object]
    is_own: bool = False

    def error(self, message: str) -> UsageError:
        """Return the error for a mistake in the file."""
        return UsageError(f"{self.name}: {message}")


def own_file() -> Path:
    """Return where the user's own settings are, if there are any."""
    return platformdirs.user_config_path("textspectra", appauthor=False) / SETTINGS_FILE


def settings_files() -> list[SettingsFile]:
    """Read the user's own settings and the working folder's; the last file counts most."""
    content = _read_toml(own_file())
    personal = None if content is None else SettingsFile(str(own_file()), content, is_own=True)
    project = None if Path(SETTINGS_FILE).absolute() == own_file() else read_settings(Path())
    return [file for file in (personal, project) if file is not None]


def read_settings(folder: Path) -> SettingsFile | None:
    """Read `textspectra.toml`, or ``[tool.textspectra]`` of `pyproject.toml`, or return None if there is neither."""
    single = _read_toml(folder / SETTINGS_FILE)
    if single is not None:
        return SettingsFile(SETTINGS_FILE, single)
    tools = (_read_toml(folder / "pyproject.toml") or {}).get("tool")
    shared = tools.get("textspectra") if isinstance(tools, dict) else None
    if shared is None:
        return None
    if not isinstance(shared, dict):
        raise UsageError("pyproject.toml: tool.textspectra must be a table of settings.")
    return SettingsFile("pyproject.toml, [tool.textspectra]", shared)


def _read_toml(path: Path) -> dict[str, object] | None:
    try:
        if not path.is_file():  # opening a pipe would wait for a writer, and reading a device would never end
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}.") from None
    if path.name != SETTINGS_FILE and b"textspectra" not in content:
        return None
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path.name} is larger than {LARGEST_BYTES // 2**10} KB, so it is not read.")
    if DOTTED_KEY.search(content):
        raise UsageError(f"{path.name} has a key with more than {MOST_DOTS} dots, so it is not read.")
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # also if it is not UTF-8
        raise UsageError(f"{path.name} is not valid TOML: {error}.") from None


def default_map(file: SettingsFile) -> dict[str, dict[str, object]]:
    """Return the settings of a file by command and parameter, as click takes them.

    A wrong key or a wrong value raises a UsageError. Commands without settings are left out.
    """
    tables = {key: value for key, value in file.content.items() if isinstance(value, dict)}
    general = {key: value for key, value in file.content.items() if key not in tables}
    _check_keys(file, general, {key for name in COMMANDS for key in options_of(name)})
    for name, table in tables.items():
        if name not in COMMANDS:
            raise file.error(f"unknown command {name!r}{nearest(name, COMMANDS)}")
        _check_keys(file, table, options_of(name), f" in [{name}]")
    values: dict[str, dict[str, object]] = {}
    for name in COMMANDS:
        given = general | tables.get(name, {})
        for key, option in options_of(name).items():
            if key in given:
                values.setdefault(name, {})[str(option.name)] = _checked(file, option, given[key])
    return values


def _check_keys(file: SettingsFile, table: Mapping[str, object], known: Iterable[str], where: str = "") -> None:
    for key, value in table.items():
        if key not in known:
            raise file.error(f"unknown setting {key!r}{where}{nearest(key, known)}")
        if not file.is_own:
            _check_shared(file, key, value)


def _check_shared(file: SettingsFile, key: str, value: object) -> None:
    """Refuse what a stranger's file must not decide; without it, the command would not do what its author meant."""
    options = [options_of(name)[key] for name in COMMANDS if key in options_of(name)]
    if not any(option.shared for option in options):
        reason = "only what changes the result, not where anything is read, written or sent"
    elif value is False and any(option.protects for option in options):
        reason = f"{key} to true, but not to false"
    elif key == "model" and isinstance(value, str) and not _is_preset(value):
        reason = "model to auto, minilm, wordllama or multilingual, but not to a folder, a download or a server"
    else:
        return
    raise file.error(
        f"{key} = {json.dumps(value, default=str)} is refused. A file in the working folder may come from somebody "
        f"else, so it can set {reason}. Use the flag --{key}, the variable {variables_of('', key)[-1]}, or your own "
        f"settings in {own_file()}."
    )


def _is_preset(model: str) -> bool:
    from ..embedding.registry import PRESETS

    return model.lower().removeprefix("float32:") in PRESETS


def _checked(file: SettingsFile, option: Setting, value: object) -> object:
    """Return a value of the type that an option takes."""
    kind = option.type
    expected, allowed = (
        ("true or false", (bool,)) if option.is_flag
        else ("a list of texts", (str, int)) if option.multiple
        else ("a whole number", (int,)) if isinstance(kind, click.types.IntParamType)
        else ("a text in quotes", (str, int))
    )  # fmt: skip
    values = value if option.multiple and isinstance(value, list) else [value]
    if isinstance(value, bool) != (bool in allowed) or not all(isinstance(part, allowed) for part in values):
        raise file.error(f"{option.key} must be {expected}, but it is {json.dumps(value, default=str)}.")
    try:
        for part in values:
            kind.convert(part if option.is_flag else str(part), option, None)
    except click.BadParameter as error:
        raise file.error(f"{option.key} cannot be used: {error.message}") from None
    return values if option.multiple else value


def nearest(key: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest of the known keys, if one is near."""
    by_plain = {name.lower().replace("_", "-"): name for name in known}
    near = difflib.get_close_matches(key.lower().replace("_", "-"), list(by_plain), n=1)
    return f"; did you mean {by_plain[near[0]]!r}?" if near else "; `textspectra config COMMAND` lists all."
