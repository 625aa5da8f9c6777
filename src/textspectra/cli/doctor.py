"""`textspectra doctor`: what is installed, what is missing, and the line that installs it."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

from .output import json_option, print_json

REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*(;.*extra == ['"](?P<extra>[\w-]+)['"])?""")
"""A line of the package's requirements, as the metadata have it."""

COLLECTIONS = ("all",)
"""Extras that name no packages of their own."""


@click.command("doctor")
@json_option
def command(as_json: bool) -> None:
    """Tell which versions, models, cores and BLAS are here, what is missing, and the line that installs it."""
    found = examine()
    if as_json:
        print_json(found)
    else:
        _print(found)


def examine() -> dict[str, Any]:
    """Return the state of this installation, as --json prints it."""
    from ..embedding import known_models

    installed, extras = _packages()
    models = [asdict(model) for model in known_models()]
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
    from ..embedding import EmbeddingCache
    from .cache import cache_sizes

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


def _print(found: Mapping[str, Any]) -> None:
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
