"""No code of ours runs what it reads, and no package comes with a license that nobody has looked at."""

import ast
from importlib.metadata import version
from pathlib import Path

import pytest
from licenses import ALWAYS, DEVELOPMENT, Package, found, listed, locked

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("src", "study/src") for path in (ROOT / folder).rglob("*.py"))

RUNNING = {"eval", "exec", "compile", "__import__"}
LOADING = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "subprocess"}
TRUSTING = {"trust_remote_code", "shell", "allow_pickle"}


def forbidden(tree):
    """Yield the places where code runs code, loads objects, or trusts what was fetched."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNNING:
            yield node.lineno, node.func.id
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("system", "popen")
        ):
            yield node.lineno, node.func.attr
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from ((node.lineno, name) for name in names if name.partition(".")[0] in LOADING)
        elif isinstance(node, ast.keyword) and node.arg in TRUSTING and not is_false(node.value):
            yield node.value.lineno, node.arg


def is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


def test_no_source_runs_what_it_reads():
    found = [
        (path.relative_to(ROOT).as_posix(), *place)
        for path in SOURCES
        for place in forbidden(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    ["eval('1')", "import pickle", "from subprocess import run", "f(shell=True)", "os.system('ls')",
     "load(x, trust_remote_code=True)", "np.load(x, allow_pickle=flag)"],
)  # fmt: skip
def test_the_rule_sees(code):
    assert list(forbidden(ast.parse(code)))


GIVEN_ON = {"igraph"}
"""Packages under the GPL: a rival in the study, which textspectra itself never installs."""


def test_the_license_of_every_locked_package_is_listed():
    assert {package.name: package.version for package in listed()} == locked()


def test_what_textspectra_needs_binds_no_program_that_uses_it():
    used = [package for package in listed() if package.needed != DEVELOPMENT]
    assert sum(package.needed == ALWAYS for package in used) > 15
    assert {package.name for package in used if not package.is_harmless} == GIVEN_ON
    assert {package.needed for package in used if package.name in GIVEN_ON} == {"study"}


def test_the_list_says_what_the_packages_say():
    here = {package.name: package.license for package in found() if version(package.name) == package.version}
    assert len(here) > 15
    assert {package.name: package.license for package in listed() if package.name in here} == here


@pytest.mark.parametrize(
    ("stated", "harmless"),
    [("MIT License", True), ("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1", True), ("LGPL-2.1", True),
     ("GPL-3.0-only", False), ("GNU General Public License (GPL)", False), ("", False), ("ask us", False)],
)  # fmt: skip
def test_a_license_is_judged(stated, harmless):
    assert Package("a", "1", stated, ALWAYS).is_harmless == harmless
