import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import textspectra as ts

SOURCE = Path(ts.__file__).parent


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_import_loads_nothing_heavy():
    loaded = run_python("import sys, textspectra; print(*sorted(sys.modules))").stdout.split()
    assert "textspectra" in loaded
    assert not {"numpy", "scipy", "sklearn", "matplotlib", "pandas"} & set(loaded)


def test_the_command_does_without_scikit_learn(tmp_path):
    """Importing it takes longer than most of what the command does."""
    source = tmp_path / "texts.csv"
    source.write_text("text\n" + "".join(f"{word} {n}\n" for word in ("parcel", "refund") for n in range(20)))
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(40, 5)) + np.repeat(np.eye(2, 5) * 9, 20, axis=0))
    words = ["textspectra", "cluster", str(source), "--embeddings", str(tmp_path / "X.npy"), "--quiet"]
    code = (
        f"import atexit, sys; sys.argv = {words}; atexit.register(lambda: print(*sys.modules))\n"
        "from textspectra.cli import main; main()"
    )
    done = run_python(code)
    loaded = done.stdout.split()
    assert "textspectra.core.map" in loaded, done.stderr
    assert not {"sklearn", "scipy.stats", "matplotlib", "plotly.graph_objs"} & set(loaded)


def test_everything_public_is_there_and_documented():
    for name in ts.__all__:
        value = getattr(ts, name)
        is_example_due = inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
        assert not is_example_due or ">>>" in value.__doc__, f"{name} has no example"


def test_there_are_few_public_names():
    assert len(ts.__all__) <= 28


def public_signatures():
    """Yield the public functions and methods, with their annotations; also the fields of classes."""
    for name in ts.__all__:
        thing = getattr(ts, name)
        yield name, inspect.get_annotations(thing) if inspect.isclass(thing) else {}
        functions = inspect.getmembers(thing) if inspect.isclass(thing) else [(name, thing)]
        for member, function in functions:
            function = getattr(function, "fget", None) or getattr(function, "__func__", function)
            is_ours = str(getattr(function, "__module__", "")).startswith("textspectra")
            if inspect.isfunction(function) and is_ours and not member.startswith("_"):
                yield f"{name}.{member}", inspect.get_annotations(function)


def test_no_public_signature_has_any():
    vague = {
        name
        for name, annotations in public_signatures()
        for annotation in annotations.values()
        if re.search(r"\bAny\b", str(annotation))
    }
    assert not vague


def modules():
    return [path for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]


def public_definitions(path):
    """Return the public names that a module defines at its top level."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_no_public_name_is_defined_in_two_modules():
    defined = Counter(name for path in modules() for name in public_definitions(path))
    assert not {name for name, times in defined.items() if times > 1}


def test_every_module_has_a_test_file_of_its_name():
    tests = {path.stem for path in Path(__file__).parent.rglob("test_*.py")}
    assert not {str(path.relative_to(SOURCE)) for path in modules() if f"test_{path.stem}" not in tests}


@pytest.mark.parametrize("name", ["estimate_k", "AutoKMeans", "evaluate"])
def test_dir_lists_the_public_names(name):
    assert name in dir(ts)


def test_a_missing_extra_names_its_install_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\nimport textspectra as ts; ts.estimate_k([[1, 0], [0, 1]]).plot()"
    )
    message = 'matplotlib.pyplot is needed for this and is not installed: pip install "textspectra[plot]"'
    assert message in run_python(code).stderr
