"""Write down the license of every package in requirements.lock: `python tools/licenses.py`, where all are installed.

`tools/licenses.csv` says for each package which version was looked at, its license, and who gets it: every
installation (`always`), those that ask for an extra of textspectra or for the study (`study`), or those who develop it.
The tests compare the list with the lock file and with what is installed, and refuse licenses that bind the programs of
our users.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK, LIST = ROOT / "requirements.lock", ROOT / "tools" / "licenses.csv"
STUDY = "study/pyproject.toml"

ALWAYS, DEVELOPMENT = "always", "development"

HARMLESS = re.compile(
    r"\b(MIT(-0|-CMU)?|BSD|[023]-?BSD|BSD-[23]-Clause|Apache|PSF|Python Software Foundation|MPL|Mozilla|ISC|Unlicense|"
    r"Zlib|CNRI|HPND|CC0|Public Domain|LGPL)\b",
    re.IGNORECASE,
)
"""Licenses that allow any use; MPL and LGPL ask only that changes of the package itself are given on."""

BINDING = re.compile(r"\b(A?GPL|GNU (Affero )?General Public|EUPL|SSPL|BUSL|CC-BY-NC|proprietary)", re.IGNORECASE)
"""Licenses that would bind a program which contains the package."""

RUNTIME_LIBRARY = re.compile(r"GPL-3\.0-or-later WITH GCC-exception-3\.1", re.IGNORECASE)
"""The Fortran library in the wheels of SciPy and NumPy; the exception lets any program contain it."""


class Package(NamedTuple):
    """A line of the list."""

    name: str
    version: str
    license: str
    needed: str

    @property
    def is_harmless(self) -> bool:
        """Whether the license is known and binds no program that uses the package."""
        named = RUNTIME_LIBRARY.sub("", self.license)
        return HARMLESS.search(named) is not None and BINDING.search(named) is None


def locked() -> dict[str, str]:
    """Return the version of each package in the lock file."""
    pairs = (line.split("==") for line in LOCK.read_text().splitlines() if "==" in line)
    return {canonicalize_name(name): version for name, version in pairs}


def license_of(name: str) -> str:
    """Return what an installed package says about its license, shortened to a line; nothing if it says nothing."""
    about = distribution(name).metadata
    classifiers = about.get_all("Classifier") or []
    classified = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    stated = (about.get("License-Expression"), " and ".join(classified), about.get("License"))
    first = next((one for one in stated if one and one not in ("UNKNOWN", "OSI Approved")), "")
    return " ".join(first.split()).partition(" Copyright ")[0][:200]  # some give the whole text


def reached(start: Iterable[str]) -> set[str]:
    """Return the packages that requirements bring, with what these need on this system."""
    waiting = [(Requirement(text), "") for text in start]
    seen: set[tuple[str, str]] = set()
    while waiting:
        need, of_extra = waiting.pop()
        if need.marker and not need.marker.evaluate({"extra": of_extra}):
            continue
        for extra in ("", *need.extras):
            one = (canonicalize_name(need.name), extra)
            if one not in seen:
                seen.add(one)
                waiting += [(Requirement(text), extra) for text in _requires(need.name)]
    return {name for name, _ in seen}


def _requires(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []


def found() -> Iterator[Package]:
    """Yield the locked packages that are installed here."""
    project, study = (tomllib.loads((ROOT / path).read_text())["project"] for path in ("pyproject.toml", STUDY))
    always = reached(project["dependencies"])
    extras = {name: reached(needs) for name, needs in project["optional-dependencies"].items() if name != "all"}
    extras["study"] = reached(study["dependencies"])
    for name, version in locked().items():
        asked = [extra for extra, names in extras.items() if name in names]
        needed = ALWAYS if name in always else " ".join(asked) or DEVELOPMENT
        try:
            yield Package(name, version, license_of(name), needed)
        except PackageNotFoundError:
            continue


def listed() -> list[Package]:
    """Return the list as it is."""
    with LIST.open(newline="", encoding="utf-8") as file:
        return [Package(**row) for row in csv.DictReader(file)]


def main() -> None:
    """Write the list, and name what is missing here."""
    packages = list(found())
    with LIST.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(Package._fields)
        lines.writerows(packages)
    missing = sorted(locked().keys() - {package.name for package in packages})
    if missing:
        sys.exit(f"not installed, so their license is not known: {', '.join(missing)}")


if __name__ == "__main__":
    main()
