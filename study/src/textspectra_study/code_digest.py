"""A digest of the code behind a cell: the source files that a task's modules import."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import textspectra

PACKAGES = (Path(textspectra.__file__).parent, Path(__file__).parent)
"""The folders of our two packages. Other imports are not followed: their versions are part of a cell's key."""


@cache
def code_digest(*modules: str, packages: tuple[Path, ...] = PACKAGES) -> str:
    """Return a digest of some modules and of everything of ours that they import.

    Parameters
    ----------
    *modules : str
    packages : tuple of Path
        The folders of the packages whose imports are followed.

    Examples
    --------
    >>> code_digest("textspectra_study.ablations") == code_digest("textspectra_study.algorithms")
    False
    """
    digest = hashlib.sha256()
    for name, path in sorted(reached_files(*modules, packages=packages).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def reached_files(*modules: str, packages: tuple[Path, ...] = PACKAGES) -> dict[str, Path]:
    """Return the files of some modules, of what they import, and so on, by module name; nothing is executed.

    Raises
    ------
    ModuleNotFoundError
        If one of the modules, or one that they import, has no file.

    Examples
    --------
    >>> sorted(reached_files("textspectra_study.variants"))
    ['textspectra_study', 'textspectra_study.results', 'textspectra_study.variants']
    """
    files: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in files or _place(name, packages) is None:
            continue
        path = _file(name, packages)
        if path is None:
            raise ModuleNotFoundError(f"There is no source file of {name}.", name=name)
        files[name] = path
        waiting += [name.rpartition(".")[0], *_imports(name, path, packages)]
    return files


def _imports(name: str, path: Path, packages: tuple[Path, ...]) -> Iterator[str]:
    """Yield the modules that a file imports, in functions too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in _executable(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                yield from _lazy_names(alias.name, packages).values()
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            lazy = _lazy_names(base, packages)
            for alias in node.names:
                member = lazy.get(alias.name, f"{base}.{alias.name}")
                if _file(member, packages) is not None:  # otherwise it is a name that the module itself defines
                    yield member


def _executable(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below another except those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse):
            yield node
            yield from _executable(node)


def _lazy_names(package: str, packages: tuple[Path, ...]) -> dict[str, str]:
    """Return the modules of the names that a package loads on first use, according to its ``__init__.pyi``."""
    place = _place(package, packages)
    if place is None or not (stub := place / "__init__.pyi").is_file():
        return {}
    return {
        alias.asname or alias.name: resolve_name("." * node.level + (node.module or ""), package)
        for node in ast.parse(stub.read_bytes()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _file(module: str, packages: tuple[Path, ...]) -> Path | None:
    place = _place(module, packages)
    files = () if place is None else (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in files if path.is_file()), None)


def _place(module: str, packages: tuple[Path, ...]) -> Path | None:
    """Return where a module of ours would be, without a suffix; None if it belongs to another package."""
    top, *below = module.split(".")
    return next((package.joinpath(*below) for package in packages if package.name == top), None)
