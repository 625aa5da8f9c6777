"""The folder of a study: its manifest, and one small file per finished cell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from textspectra import UsageError, UserError, __version__

from . import variants
from .code_digest import code_digest
from .files import UNFINISHED, make_folder, remove_unfinished, whole_file
from .results import Cell, DatasetFacts, Manifest, Results, Variant
from .tasks import TASKS

FORMAT = 1
MANIFEST, CELLS, VECTORS, REPORT = "study.json", "cells", "vectors", "report"


class Planned(NamedTuple):
    """A cell of a study, and the key under which its outcome is stored."""

    variant: Variant
    model: str
    task: str
    key: str


def cell_key(variant: Variant, source: str, task: str) -> str:
    """Return the key of a cell: a digest of its inputs, its code and the versions of the packages it uses.

    Parameters
    ----------
    variant : Variant
    source : str
        The key of the vectors; see :class:`~textspectra_study.vectors.Source`.
    task : str

    Examples
    --------
    >>> bless = Variant("bless", "whole", 200, 17, 0)
    >>> cell_key(bless, "m", "optics") == cell_key(bless._replace(seed=1), "m", "optics")
    False
    """
    packages = package_versions("numpy", "scikit-learn", "scipy", *TASKS[task].packages)
    code = code_digest(variants.__name__, *TASKS[task].modules)
    inputs = [FORMAT, list(variant), source, task, code, packages]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of some packages.

    Examples
    --------
    >>> package_versions("no-such-package")
    {'no-such-package': 'not installed'}
    """

    def version_of(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    return {name: version_of(name) for name in names}


class Store:
    """A study on disk.

    Every finished cell is a file that is named after its key and never changes. A run can be killed at any time, and
    two runs do not disturb each other.

    Parameters
    ----------
    folder : Path
        It need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vectors = folder / VECTORS

    def check(self) -> None:
        """Raise an error if a study cannot be written or continued in the folder."""
        if (self.folder / MANIFEST).exists():
            written_by = self._read_manifest()["textspectra"]
            if written_by != __version__:
                raise UserError(
                    f"{self.folder} was written by textspectra {written_by}, and this is {__version__}; a study must "
                    "not mix versions. Choose another folder, or install that version. `textspectra-study report` "
                    "still reads the folder."
                )
        elif {path.name for path in self.folder.glob("*") if not path.match(UNFINISHED)} - {CELLS, VECTORS, REPORT}:
            raise UsageError(f"{self.folder} holds other files; choose a new or an empty folder for the study.")

    def begin(self, manifest: Manifest, plan: Sequence[Planned]) -> None:
        """Write the manifest; finished cells are kept, and what a killed run had not finished is removed."""
        make_folder(self.folder / CELLS)
        for folder in (self.folder, self.folder / CELLS, self.vectors):
            remove_unfinished(folder)
        place = {variant: number for number, variant in enumerate(manifest.variants)}
        described = {
            "format": FORMAT,
            "textspectra": __version__,
            "seed": manifest.seed,
            "models": list(manifest.models),
            "max_size": manifest.max_size,
            "max_size_of": dict(manifest.max_size_of),
            "versions": dict(manifest.versions),
            "datasets": [facts._asdict() for facts in manifest.datasets],
            "variants": [variant._asdict() for variant in manifest.variants],
            "cells": [[place[cell.variant], cell.model, cell.task, cell.key] for cell in plan],
        }
        _write_json(self.folder / MANIFEST, described)

    def get(self, planned: Planned) -> Cell | None:
        """Return a finished cell, or None if there is none or its file is damaged."""
        try:
            stored = json.loads((self.folder / CELLS / f"{planned.key}.json").read_text(encoding="utf-8"))
            return Cell(planned.variant, planned.model, planned.task, **stored)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def put(self, planned: Planned, outcome: Mapping[str, Any]) -> None:
        """Store the outcome of a cell: status, values, seconds, peak_mb."""
        _write_json(self.folder / CELLS / f"{planned.key}.json", outcome)

    def read(self) -> Results:
        """Return the finished cells, in the order of the manifest.

        Raises
        ------
        UserError
            If the folder has no study, or one in another format.
        """
        described = self._read_manifest()
        try:
            manifest, plan = _parsed(described)
        except (KeyError, TypeError, IndexError) as error:
            raise self._damaged() from error
        cells = [cell for planned in plan if (cell := self.get(planned)) is not None]
        return Results(manifest, cells, len(plan))

    def _read_manifest(self) -> dict[str, Any]:
        try:
            described: dict[str, Any] = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            format_version, _ = described["format"], described["textspectra"]
        except FileNotFoundError:
            raise UserError(
                f"There is no study in {self.folder}. Make one with `textspectra-study run {self.folder}`."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error
        if format_version != FORMAT:
            raise UserError(
                f"{self.folder} was written by textspectra {described.get('textspectra')} in format {format_version}, "
                f"but this is {__version__} with format {FORMAT}. Choose another folder, or install that version."
            )
        return described

    def _damaged(self) -> UserError:
        return UserError(
            f"{self.folder / MANIFEST} is damaged. Remove it and run the study again; finished cells are kept."
        )


def _parsed(described: Mapping[str, Any]) -> tuple[Manifest, list[Planned]]:
    listed = tuple(Variant(**variant) for variant in described["variants"])
    manifest = Manifest(
        datasets=tuple(DatasetFacts(**facts) for facts in described["datasets"]),
        variants=listed,
        models=tuple(described["models"]),
        seed=described["seed"],
        max_size=described["max_size"],
        max_size_of=described["max_size_of"],
        versions=described["versions"],
    )
    return manifest, [Planned(listed[place], *rest) for place, *rest in described["cells"]]


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with whole_file(path) as stream:
        stream.write(json.dumps(content, ensure_ascii=False, allow_nan=False).encode())
