"""`textspectra models`, `cache`, `config`, `schema` and `doctor`: the installation, and the settings that hold."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import __version__
from .options import COMMANDS, VARIABLE_PREFIX, command, options_of, variables_of
from .output import Summary, present
from .settings import SettingsFile, default_map, nearest, own_file, settings_files
from .summary import count_of

if TYPE_CHECKING:
    from ..embedding.cache import EmbeddingCache

CACHE_VARIABLE = f"{VARIABLE_PREFIX}CACHE"
"""Names the folder of the cache; the one variable that is not an option."""

REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*(;.*extra == ['"](?P<extra>[\w-]+)['"])?""")
"""A line of the package's requirements in its metadata."""

STATUS = {"ready": "ready", "download": "download of ", "missing": "needs: "}


@command("models")
def models_command() -> None:
    """List the embedding models that can be used, and what each needs."""
    from ..embedding.registry import list_models

    models = list_models()

    def show() -> None:
        for model in models:
            dimension = f", {model.dimension:,} dimensions" if model.dimension else ""
            click.secho(model.name, bold=True, nl=False)
            click.echo(f" ({STATUS[model.status]}{model.needs}{dimension})\n    {model.summary}")

    present({"models": [asdict(model) for model in models]}, show)


@command("cache")
def cache_command(clear: bool, limit: int | None) -> None:
    """Show the folder and the size of the cache of embeddings and converted models; --clear empties it."""
    from ..embedding.cache import EmbeddingCache
    from ..embedding.hub import in_megabytes
    from ..embedding.weights import clear_weights
    from ..errors import UsageError

    cache = EmbeddingCache()
    if limit is not None:
        cache.set_limit(limit)
    sizes = _cache_sizes(cache)
    if clear:
        cache.clear()
        clear_weights()
        left = _cache_sizes(cache)
        if left["embeddings_bytes"] or left["converted_models_bytes"]:
            raise UsageError(f"{cache.folder} could not be cleared; check who may write there.")
    embeddings, most, weights = (
        in_megabytes(sizes[name]) for name in ("embeddings_bytes", "limit_bytes", "converted_models_bytes")
    )
    lines = [
        f"{count_of(sizes['embeddings'], 'embedding')}, {embeddings} of at most {most}, in {sizes['folder']}",
        *(f"  {name}" for name in sizes["models"]),
        f"{count_of(sizes['converted_models'], 'converted model')}, {weights}",
        *["cleared"] * clear,
    ]
    present({**sizes, "cleared": clear}, lambda: click.echo("\n".join(lines)))


def _cache_sizes(cache: EmbeddingCache) -> Summary:
    """Return where a cache is, and how much it holds, as --json prints it."""
    from ..embedding.weights import weights_size

    size, (n_models, n_bytes) = cache.size(), weights_size()
    return {
        "folder": str(cache.folder),
        "embeddings": size.entries,
        "embeddings_bytes": size.bytes,
        "limit_bytes": cache.limit(),
        "models": list(size.models),
        "converted_models": n_models,
        "converted_models_bytes": n_bytes,
    }


@command("config")
def config_command(name: str | None) -> None:
    """Show the settings that hold in this folder, and where each comes from.

    Without COMMAND, all that differ from the defaults are shown; with it, all settings of that command. They come from
    your own settings file, then from textspectra.toml in this folder (or [tool.textspectra] in pyproject.toml), then
    from variables such as TEXTSPECTRA_MODEL or TEXTSPECTRA_CLUSTER_MODEL, then from flags; the last one counts. The
    file in this folder may come from somebody else, so it can set only what changes the result.
    """
    if name is not None and name not in COMMANDS:
        raise click.BadParameter(f"unknown command {name!r}.", param_hint="COMMAND")
    files = settings_files()
    project = next((file.name for file in files if not file.is_own), None)
    settings = [s for s in _settings(files) if (s["from"] != "default" if name is None else s["command"] == name)]
    known = {CACHE_VARIABLE}
    known.update(*(variables_of(command, key) for command in COMMANDS for key in options_of(command)))
    others = sorted(name for name in set(os.environ) - known if name.startswith(VARIABLE_PREFIX))
    unknown = [{"name": variable, "hint": nearest(variable, known)} for variable in others]
    labels = [f"{s['command']}: {s['key']} = {json.dumps(s['value'], ensure_ascii=False)}" for s in settings]

    def show() -> None:
        click.echo(f"settings file: {project or 'none here (textspectra.toml)'}")
        click.echo(f"your own settings: {own_file()}{'' if any(file.is_own for file in files) else ' (not there)'}")
        width = max(map(len, labels), default=0)
        for label, setting in zip(labels, settings, strict=True):
            click.echo(f"{label:<{width}}   # {setting['from']}")
        for variable in unknown:
            click.echo(f"warning: {variable['name']} is not a setting{variable['hint']}", err=True)

    described = {"file": project, "own_file": str(own_file())}
    present({**described, "settings": settings, "unknown_variables": unknown}, show)


def _settings(files: list[SettingsFile]) -> Iterator[Summary]:
    """Yield the settings of all commands: the command, the key, the value and its origin."""
    maps = [(file.name, default_map(file)) for file in files]
    for name in COMMANDS:
        for key, option in options_of(name).items():
            value, origin = option.to_info_dict()["default"], "default"
            for file, values in maps:
                if option.name in values.get(name, {}):
                    value, origin = values[name][str(option.name)], file
            variable = next((variable for variable in variables_of(name, key) if os.environ.get(variable)), None)
            if variable is not None:
                value, origin = os.environ[variable], variable
            yield {"command": name, "key": key, "value": value, "from": origin}


@command("schema")
def schema_command(name: str | None) -> None:
    """Print the JSON Schema of what COMMAND --json prints, or of all commands.

    `error` is the schema of an error. New keys keep the schema_version; it is raised if a key goes, or gets another
    name or type.
    """
    schema = read_schema()
    known = list(schema["properties"])
    if name is not None and name not in known:
        raise click.BadParameter(f"unknown schema {name!r}; known are {', '.join(known)}.", param_hint="COMMAND")
    click.echo(json.dumps(schema if name is None else schema_of(name), indent=1))


def read_schema() -> Summary:
    """Return the whole schema, from the file that is in the package."""
    schema: Summary = json.loads((files("textspectra") / "data" / "schema.json").read_text(encoding="utf-8"))
    return schema


def schema_of(name: str) -> Summary:
    """Return the schema of one command, complete in itself."""
    schema = read_schema()
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}


@command("doctor")
def doctor_command() -> None:
    """Say which versions, models, cores and BLAS are here, what is missing, and the line that installs it."""
    state = examine()
    cores, cache = state["cores"], state["cache"]
    blas = ", ".join(f"{part['library']} {part['version']} ({part['threads']} threads)" for part in state["blas"])
    ready = [model["name"] for model in state["models"] if model["status"] == "ready"]
    lines = [
        f"textspectra {__version__}, Python {state['python']}, {state['platform']}",
        f"cores: {cores['usable']} of {cores['machine']}; BLAS: {blas or 'none found'}",
        f"cache: {cache['folder']}{'' if cache['writable'] else ', which cannot be written'}: "
        f"{cache['embeddings']:,} embeddings",
        f"models at hand: {', '.join(ready) or 'none'}",
        f"packages: {', '.join(f'{name} {number}' for name, number in state['packages'].items())}",
        *(f"missing: {part['name']}: {part['install']}" for part in state["missing"]),
    ]
    present(state, lambda: click.echo("\n".join(lines)))


def examine() -> Summary:
    """Return the state of this installation, as --json prints it."""
    import scipy.linalg  # noqa: F401  loads the BLAS libraries of NumPy and SciPy
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    from ..embedding.cache import EmbeddingCache
    from ..embedding.registry import list_models

    installed, extras = _packages()
    models = [asdict(model) for model in list_models()]
    missing = {f'pip install "textspectra[{name}]"': name for name in extras}
    for model in models:
        if model["status"] == "missing":
            missing.setdefault(model["needs"], model["name"])  # the extra of many models is named once
    cache = EmbeddingCache()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": installed,
        "models": models,
        "cache": {**_cache_sizes(cache), "writable": _is_writable(cache.folder)},
        "cores": {"machine": os.cpu_count() or 1, "usable": int(cpu_count())},
        "blas": [
            {"library": part["internal_api"], "version": part["version"], "threads": part["num_threads"]}
            for part in threadpool_info()
            if part["user_api"] == "blas"
        ],
        "missing": [{"name": name, "install": line} for line, name in missing.items()],
    }


def _packages() -> tuple[dict[str, str], list[str]]:
    """Return the versions of the packages that textspectra can use, and the extras that are not complete."""
    installed, incomplete = {}, set()
    requirements: list[str] = []
    with suppress(PackageNotFoundError):  # run from its sources
        requirements = requires("textspectra") or []
    for requirement in map(REQUIREMENT.match, requirements):
        if requirement is None or requirement["extra"] == "all":  # which names other extras
            continue
        try:
            installed[requirement["package"]] = version(requirement["package"])
        except PackageNotFoundError:
            incomplete.add(requirement["extra"])
    return dict(sorted(installed.items())), sorted(filter(None, incomplete))


def _is_writable(folder: Path) -> bool:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False
