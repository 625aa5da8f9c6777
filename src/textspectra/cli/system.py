"""`textspectra open`, `models`, `cache`, `config`, `schema` and `doctor`: what is here, and the settings that hold."""

from __future__ import annotations

import json
import os
import platform
import re
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..errors import UsageError, UserError
from ..hygiene import plural
from . import interrupted_code
from .options import COMMANDS, VARIABLE_PREFIX, options_of, variables_of
from .output import Summary, manner, present, stages
from .settings import SettingsFile, default_map, nearest, own_file, settings_files

if TYPE_CHECKING:
    from ..texts.result import TextClustering

CACHE_VARIABLE = f"{VARIABLE_PREFIX}CACHE"  # names the folder of the cache; the one variable that is not an option
REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*(;.*extra == ['"](?P<extra>[\w-]+)['"])?""")
"""A line of the package's requirements in its metadata."""

NO_BROWSER = "No browser could be opened; open this file in one: {}"
STATUS = {"ready": "ready", "download": "download of ", "missing": "needs: "}


def open_command(name: str, embeddings: str | None, no_save: bool) -> int:
    """Open the report of a file or a model, and save what is edited in it."""
    return open_report(find_report(name), embeddings=embeddings, no_save=no_save)


def open_report(
    path: Path, *, result: TextClustering | None = None, embeddings: str | None = None, no_save: bool = False
) -> int:
    """Open a report so that it can save into the model beside it, until it is closed; return the exit code.

    `result` is what the model folder holds, if it is in memory.
    """
    from ..report.saving import report_path
    from ..report.serving import OPENING_SECONDS, serve_report
    from .report import load_saved

    model = path.with_name(f"{path.name.removesuffix('.report.html')}.model")
    if no_save or report_path(model) != path:
        open_in_browser(path)
        return 0
    if not model.is_dir():
        _say(f"The folder {model} is not there, so the report is opened as a file, which cannot save.")
        open_in_browser(path)
        return 0

    bars = ExitStack()

    def show(address: str) -> bool:
        bars.close()
        is_open = webbrowser.open(address)
        if is_open:
            _say(f"The report is at {address} and saves into {model}. Close it or press Ctrl-C to end.")
        return is_open

    try:
        with bars:
            tell = bars.enter_context(stages())
            load = partial(load_saved, str(model), embeddings)
            served = serve_report(model, show, result=result, load=load, progress=tell)
    except UserError as error:
        _say(f"{error} So the report is opened as a file, which cannot save.")
        open_in_browser(path)
        return 0
    if served.reason == "no browser":
        click.echo(NO_BROWSER.format(path), err=True)
        return 0
    times = {0: "nothing was saved", 1: "saved once"}.get(served.saves, f"saved {served.saves:,} times")
    begin = {
        "closed": "The page was closed",
        "stopped": "Stopped",
        "not opened": f"No browser opened the page within {OPENING_SECONDS:.0f} seconds",
    }
    _say(f"{begin[served.reason]}; {times}.")
    return interrupted_code() if served.reason == "stopped" else 0


def _say(line: str) -> None:
    if not manner().quiet:
        click.echo(line, err=True)


def find_report(name: str) -> Path:
    """Return the report that belongs to a file, a model folder or the beginning of their names."""
    path = Path(name)
    if path.suffix == ".html" and path.is_file():
        return path
    words = path.name.split(".")  # such as tickets.csv.gz
    stems = filter(None, (".".join(words[:n]) for n in range(len(words), 0, -1)))
    places = [path.with_name(f"{stem}.report.html") for stem in stems]
    for place in filter(Path.is_file, places):
        return place
    example = f", such as {places[-1]}" if places else ""
    raise UserError(
        f"No report found for {name!r}{example}. "
        "Make one with `textspectra cluster FILE` or `textspectra report MODEL`."
    )


def open_in_browser(path: Path) -> None:
    """Open a page in the user's browser; if there is none, say so and name the file."""
    if not webbrowser.open(path.absolute().as_uri()):
        click.echo(NO_BROWSER.format(path), err=True)


def models_command() -> None:
    """List the embedding models, and what each needs."""
    from ..embedding.registry import list_models

    models, lines = list_models(), []
    for model in models:
        dimension = f", {model.dimension:,} dimensions" if model.dimension else ""
        status = f"{STATUS[model.status]}{model.needs}{dimension}"
        lines.append(f"{click.style(model.name, bold=True)} ({status})\n    {model.summary}")
    present({"models": [asdict(model) for model in models]}, "\n".join(lines))


def cache_command(clear: bool, limit: str | None) -> None:
    """Show the cache, limit it or empty it."""
    from ..embedding.cache import EmbeddingCache, parse_size
    from ..embedding.hub import in_megabytes
    from ..embedding.weights import clear_weights

    if limit is not None:
        EmbeddingCache().set_limit(parse_size(limit))
    sizes = _cache_sizes()
    if clear:
        EmbeddingCache().clear()
        clear_weights()
        left = _cache_sizes()
        if left["embeddings_bytes"] or left["converted_models_bytes"]:
            raise UsageError(f"{left['folder']} could not be cleared; check who may write there.")
    embeddings, most, weights = (
        in_megabytes(sizes[name]) for name in ("embeddings_bytes", "limit_bytes", "converted_models_bytes")
    )
    lines = [
        f"{plural(sizes['embeddings'], 'embedding')}, {embeddings} of at most {most}, in {sizes['folder']}",
        *(f"  {name}" for name in sizes["models"]),
        f"{plural(sizes['converted_models'], 'converted model')}, {weights}",
        *["cleared"] * clear,
    ]
    present({**sizes, "cleared": clear}, "\n".join(lines))


def _cache_sizes() -> Summary:
    """Return where the cache is, and how much it holds, as --json prints it."""
    from ..embedding.cache import EmbeddingCache
    from ..embedding.weights import weights_size

    cache = EmbeddingCache()
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


def config_command(name: str | None) -> None:
    """Show the settings that differ from the defaults, or all of a command, and where each comes from."""
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
    width = max(map(len, labels), default=0)
    lines = [
        f"settings file: {project or 'none here (textspectra.toml)'}",
        f"your own settings: {own_file()}{'' if any(file.is_own for file in files) else ' (not there)'}",
        *(f"{label:<{width}}   # {setting['from']}" for label, setting in zip(labels, settings, strict=True)),
    ]
    described = {"file": project, "own_file": str(own_file())}
    present({**described, "settings": settings, "unknown_variables": unknown}, "\n".join(lines))
    for variable in unknown if not manner().json else ():
        click.echo(f"warning: {variable['name']} is not a setting{variable['hint']}", err=True)


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


def schema_command(name: str | None) -> None:
    """Print the JSON Schema of what a command prints with --json, or of all commands."""
    known = read_schema()["properties"]
    if name is not None and name not in known:
        raise click.BadParameter(f"unknown schema {name!r}; known are {', '.join(known)}.", param_hint="COMMAND")
    click.echo(json.dumps(read_schema() if name is None else schema_of(name), indent=1))


def read_schema() -> Summary:
    """Return the whole schema, from the file that is in the package."""
    schema: Summary = json.loads((files("textspectra") / "data" / "schema.json").read_text(encoding="utf-8"))
    return schema


def schema_of(name: str) -> Summary:
    """Return the schema of one command, complete in itself."""
    schema = read_schema()
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}


def doctor_command() -> None:
    """Say what is installed and what is missing."""
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
    present(state, "\n".join(lines))


def examine() -> Summary:
    """Return the state of this installation, as --json prints it."""
    import scipy.linalg  # noqa: F401  loads the BLAS libraries of NumPy and SciPy
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    from ..embedding.registry import list_models

    installed, extras = _packages()
    models = [asdict(model) for model in list_models()]
    missing = {f'pip install "textspectra[{name}]"': name for name in extras}
    for model in models:
        if model["status"] == "missing":
            missing.setdefault(model["needs"], model["name"])  # the extra of many models is named once
    cache = _cache_sizes()
    folder = Path(cache["folder"])
    ancestor = next(path for path in (folder, *folder.parents) if path.exists())
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": installed,
        "models": models,
        "cache": {**cache, "writable": ancestor.is_dir() and os.access(ancestor, os.W_OK | os.X_OK)},
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
