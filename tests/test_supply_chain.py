"""No code of ours runs what it reads, and no package comes with a licence that nobody has looked at."""

import ast
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

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


def required():
    """Return the packages that `pip install textspectra` brings, with what these need."""
    waiting, seen = ["textspectra"], set()
    while waiting:
        try:
            needs = distribution(waiting.pop()).requires or []
        except PackageNotFoundError:
            continue
        for need in needs:
            name = re.match(r"[\w.-]+", need)[0].lower().replace("_", "-")
            if "extra ==" not in need and name not in seen:
                seen.add(name)
                waiting.append(name)
    return sorted(seen)


PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|MPL|Mozilla|ISC|Unlicense|0BSD|Zlib)\b", re.IGNORECASE
)


def licence_of(name):
    about = distribution(name).metadata
    classified = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    return " ".join([about.get("License-Expression") or "", *classified, (about.get("License") or "")[:200]])


def test_what_every_installation_needs_is_permissively_licensed():
    names = [name for name in required() if _is_installed(name)]
    assert len(names) > 15
    assert [name for name in names if not PERMISSIVE.search(licence_of(name))] == []


def _is_installed(name):
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
