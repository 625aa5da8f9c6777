"""`textspectra doctor`: what is installed, what is missing, and the line that installs it."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import reduce
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
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
from .summary import count_of


def _size(context: click.Context, option: click.Parameter, chosen: str | None) -> int | None:
    from ..embedding.cache import parse_size

    return None if chosen is None else parse_size(chosen)


@click.command("cache")
@click.option(
    "--clear", type=click.Choice(["cache", "work"]), is_flag=False, flag_value="cache",
    help="Delete all of it; with the word work, what runs over many files left when they failed.",
)  # fmt: skip
@click.option(
    "--limit",
    metavar="SIZE",
    callback=_size,
    allow_from_autoenv=False,  # TEXTSPECTRA_CACHE_LIMIT is a limit for now, this one is kept
    help="Room for embeddings from now on, such as 500MB or 20GB; 5GB by default. The least recently used go first.",
)
@json_option
def cache_command(clear: str | None, limit: int | None, as_json: bool) -> None:
    """Show the folder and the size of the cache of embeddings and converted models; --clear empties it."""
    from ..embedding.cache import EmbeddingCache
    from ..embedding.weights import clear_weights
    from ..errors import UsageError

    cache = EmbeddingCache()
    if limit is not None:
        cache.set_limit(limit)
    found = cache_sizes(cache)
    if not as_json:
        _print(found)
    told = "cleared"
    if clear == "work":
        from ..texts.work_folder import clear_work, in_bytes

        n_folders, n_bytes = clear_work()
        told = f"{count_of(n_folders, 'work folder')} of failed runs, {in_bytes(n_bytes)}, removed"
    elif clear:
        cache.clear()
        clear_weights()
        left = cache_sizes(cache)
        if left["embeddings_bytes"] or left["converted_models_bytes"]:
            raise UsageError(f"{cache.folder} could not be cleared; check who may write there.")
    if as_json:
        print_json({**found, "cleared": clear is not None})
    elif clear:
        click.echo(told)


def cache_sizes(cache: Any) -> dict[str, Any]:
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


def _print(found: dict[str, Any]) -> None:
    from ..embedding.hub import in_megabytes

    size, limit = (in_megabytes(found[name]) for name in ("embeddings_bytes", "limit_bytes"))
    click.echo(f"{count_of(found['embeddings'], 'embedding')}, {size} of at most {limit}, in {found['folder']}")
    for name in found["models"]:
        click.echo(f"  {name}")
    size = in_megabytes(found["converted_models_bytes"])
    click.echo(f"{count_of(found['converted_models'], 'converted model')}, {size}")


@click.command("config")
@click.argument("name", metavar="[COMMAND]", nargs=-1)
@json_option
@click.pass_context
def config_command(context: click.Context, name: tuple[str, ...], as_json: bool) -> None:
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


REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*(;.*extra == ['"](?P<extra>[\w-]+)['"])?""")
"""A line of the package's requirements, as the metadata have it."""

COLLECTIONS = ("all",)
"""Extras that name no packages of their own."""


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """Tell which versions, models, cores and BLAS are here, what is missing, and the line that installs it."""
    found = examine()
    if as_json:
        print_json(found)
    else:
        _print_checks(found)


def examine() -> dict[str, Any]:
    """Return the state of this installation, as --json prints it."""
    from ..embedding.registry import list_models

    installed, extras = _packages()
    models = [asdict(model) for model in list_models()]
    missing = {f'pip install "textspectra[{name}]"': name for name in extras}
    for one in models:
        if one["status"] == "missing":
            missing.setdefault(one["needs"], one["name"])  # the extra of many models is named once
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": installed,
        "models": models,
        "cache": _cache(),
        "cores": _cores(),
        "blas": _blas(),
        "missing": [{"name": name, "install": line} for line, name in missing.items()],
    }


def _packages() -> tuple[dict[str, str], list[str]]:
    """Return the versions of the packages that textspectra can use, and the extras that are not complete."""
    installed, incomplete = {}, set()
    for line in _requirements():
        found = REQUIREMENT.match(line)
        if found is None or found["extra"] in COLLECTIONS:
            continue
        try:
            installed[found["package"]] = version(found["package"])
        except PackageNotFoundError:
            incomplete.add(found["extra"])
    return dict(sorted(installed.items())), sorted(filter(None, incomplete))


def _requirements() -> list[str]:
    try:
        return requires("textspectra") or []
    except PackageNotFoundError:  # run from its sources
        return []


def _cache() -> dict[str, Any]:
    from ..embedding.cache import EmbeddingCache

    cache = EmbeddingCache()
    return {**cache_sizes(cache), "writable": _is_writable(cache.folder)}


def _is_writable(folder: Any) -> bool:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False


def _cores() -> dict[str, int]:
    from joblib import cpu_count

    return {"machine": os.cpu_count() or 1, "usable": int(cpu_count())}


def _blas() -> list[dict[str, Any]]:
    import scipy.linalg  # noqa: F401  loads the BLAS libraries of NumPy and SciPy
    from threadpoolctl import threadpool_info

    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return [
        {"library": one["internal_api"], "version": one["version"], "threads": one["num_threads"]} for one in libraries
    ]


def _print_checks(found: Mapping[str, Any]) -> None:
    from .. import __version__

    click.echo(f"textspectra {__version__}, Python {found['python']}, {found['platform']}")
    cores = found["cores"]
    blas = ", ".join(f"{one['library']} {one['version']} ({one['threads']} threads)" for one in found["blas"])
    click.echo(f"cores: {cores['usable']} of {cores['machine']}; BLAS: {blas or 'none found'}")
    cache = found["cache"]
    writable = "" if cache["writable"] else ", which cannot be written"
    click.echo(f"cache: {cache['folder']}{writable}: {cache['embeddings']:,} embeddings")
    ready = [one["name"] for one in found["models"] if one["status"] == "ready"]
    click.echo(f"models at hand: {', '.join(ready) or 'none'}")
    click.echo(f"packages: {', '.join(f'{name} {number}' for name, number in found['packages'].items())}")
    for one in found["missing"]:
        click.echo(f"missing: {one['name']}: {one['install']}")


LABELS = {"ready": "ready", "download": "download of ", "missing": "needs: "}


@click.command("models")
@json_option
def models_command(as_json: bool) -> None:
    """List the embedding models that can be used, and what each needs."""
    from ..embedding.registry import list_models

    models = list_models()
    if as_json:
        print_json({"models": [asdict(model) for model in models]})
        return
    for model in models:
        dimension = f", {model.dimension:,} dimensions" if model.dimension else ""
        click.secho(model.name, bold=True, nl=False)
        click.echo(f" ({LABELS[model.status]}{model.needs}{dimension})")
        click.echo(f"    {model.summary}")


@click.command("schema")
@click.argument("name", metavar="[COMMAND]", required=False)
def schema_command(name: str | None) -> None:
    """Print the JSON Schema of what COMMAND --json prints, or of all commands.

    `error` is the schema of an error. New keys keep the schema_version; it is raised if a key goes, or gets another
    name or type.
    """
    schema = read_schema()
    known = list(schema["properties"])
    if name is not None and name not in known:
        raise click.BadParameter(f"there is no schema {name!r}; there are {', '.join(known)}.", param_hint="COMMAND")
    click.echo(json.dumps(schema if name is None else schema_of(name), indent=1))


def read_schema() -> dict[str, Any]:
    """Return the whole schema, from the file that is in the package."""
    schema: dict[str, Any] = json.loads((files("textspectra") / "data" / "schema.json").read_text(encoding="utf-8"))
    return schema


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of one command, complete in itself."""
    schema = read_schema()
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
