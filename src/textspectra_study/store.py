"""The folder of a study: its manifest, and one small file for each finished cell, written once and never changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from textspectra import __version__
from textspectra.errors import UserError
from textspectra.io.writing import replacing

from .results import Cell, DatasetFacts, Manifest, Results, Variant
from .tasks import TASKS

FORMAT = 1
MANIFEST, CELLS, VECTORS, REPORT = "study.json", "cells", "vectors", "report"

DECIDING = (
    "textspectra/arrays/**/*.py", "textspectra/clustering/*.py", "textspectra/granularity/*.py",
    "textspectra/metrics/*.py", "textspectra/estimators/*.py", "textspectra/validation.py",
    "textspectra_study/variants.py",
)  # fmt: skip
"""The modules whose code decides the numbers of every cell."""


class Planned(NamedTuple):
    """A cell that a study consists of, and the key under which its outcome is kept."""

    variant: Variant
    model: str
    task: str
    key: str


def cell_key(variant: Variant, source: str, task: str) -> str:
    """Return the key of a cell: a digest of its inputs and of the code that computes it.

    Parameters
    ----------
    variant : Variant
    source : str
        Stands for the vectors; see :class:`~textspectra_study.vectors.Source`.
    task : str

    Examples
    --------
    >>> bless = Variant("bless", "whole", 200, 17, 0)
    >>> cell_key(bless, "m", "optics") == cell_key(bless._replace(seed=1), "m", "optics")
    False
    """
    packages = package_versions("numpy", "scikit-learn", "scipy", *TASKS[task].packages)
    inputs = [FORMAT, list(variant), source, task, code_digest(TASKS[task].code), packages]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]


@cache
def code_digest(of_task: tuple[str, ...]) -> str:
    """Return a digest of the code that decides the numbers of a task, beginning with what decides all.

    Examples
    --------
    >>> code_digest(("textspectra_study/ablations.py",)) == code_digest(("textspectra_study/algorithms.py",))
    False
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in (*DECIDING, *of_task):
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


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

    Every finished cell is a file of its own, under a name that follows from its inputs, written under another name
    and renamed. So a run can be killed anywhere and two runs cannot disturb each other.

    Parameters
    ----------
    folder : Path
        Where it is, or will be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vectors = folder / VECTORS

    def check(self) -> None:
        """Raise where a study cannot be written or continued in the folder."""
        if (self.folder / MANIFEST).exists():
            written_by = self._read_manifest()["textspectra"]
            if written_by != __version__:
                raise UserError(
                    f"{self.folder} was written by textspectra {written_by}, and this is {__version__}: one table must "
                    "not mix them. Choose another folder, or install that version. `textspectra study report` still "
                    "reads it."
                )
        elif self.folder.is_dir() and {path.name for path in self.folder.iterdir()} - {CELLS, VECTORS, REPORT}:
            raise UserError(f"{self.folder} has other files in it; choose a new or an empty folder for the study.")

    def begin(self, manifest: Manifest, plan: Sequence[Planned]) -> None:
        """Write down what the study consists of; what is finished already is kept."""
        (self.folder / CELLS).mkdir(parents=True, exist_ok=True)
        variants = list(manifest.variants)
        described = {
            "format": FORMAT,
            "textspectra": __version__,
            "seed": manifest.seed,
            "models": list(manifest.models),
            "max_size": manifest.max_size,
            "max_size_of": dict(manifest.max_size_of),
            "versions": dict(manifest.versions),
            "datasets": [facts._asdict() for facts in manifest.datasets],
            "variants": [variant._asdict() for variant in variants],
            "cells": [[variants.index(cell.variant), cell.model, cell.task, cell.key] for cell in plan],
        }
        _write_json(self.folder / MANIFEST, described)

    def get(self, planned: Planned) -> Cell | None:
        """Return the outcome of a cell, or None where there is none yet, or what is there is damaged."""
        try:
            stored = json.loads((self.folder / CELLS / f"{planned.key}.json").read_text(encoding="utf-8"))
            return Cell(planned.variant, planned.model, planned.task, **stored)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def put(self, planned: Planned, outcome: Mapping[str, Any]) -> None:
        """Keep the outcome of a cell: status, values, seconds, peak_mb."""
        _write_json(self.folder / CELLS / f"{planned.key}.json", outcome)

    def read(self) -> Results:
        """Return what is finished, in the order of the manifest.

        Raises
        ------
        UserError
            If there is no study in the folder, or one in a format of another version.
        """
        described = self._read_manifest()
        try:
            manifest, plan = _understood(described)
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
                f"There is no study in {self.folder}: make one with `textspectra study run {self.folder}`."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error
        if format_version != FORMAT:
            raise UserError(
                f"{self.folder} was written by textspectra {described.get('textspectra')} in format {format_version}, "
                f"and this is {__version__} with format {FORMAT}. Choose another folder, or install that version."
            )
        return described

    def _damaged(self) -> UserError:
        return UserError(
            f"{self.folder / MANIFEST} is damaged; remove it and run the study again. Finished cells stay."
        )


def _understood(described: Mapping[str, Any]) -> tuple[Manifest, list[Planned]]:
    variants = tuple(Variant(**variant) for variant in described["variants"])
    manifest = Manifest(
        datasets=tuple(DatasetFacts(**facts) for facts in described["datasets"]),
        variants=variants,
        models=tuple(described["models"]),
        seed=described["seed"],
        max_size=described["max_size"],
        max_size_of=described["max_size_of"],
        versions=described["versions"],
    )
    return manifest, [Planned(variants[place], *rest) for place, *rest in described["cells"]]


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as stream:
        stream.write(json.dumps(content, ensure_ascii=False, allow_nan=False).encode())
