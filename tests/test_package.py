import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import textspectra as ts


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
    assert "textspectra.report.map" in loaded, done.stderr
    assert not {"sklearn", "scipy.stats", "matplotlib", "plotly.graph_objs"} & set(loaded)


def test_everything_public_is_there_and_documented():
    for name in ts.__all__:
        value = getattr(ts, name)
        is_example_due = inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
        assert not is_example_due or ">>>" in value.__doc__, f"{name} has no example"


def test_every_type_in_a_public_signature_is_public():
    def annotations(thing):
        functions = [thing] if inspect.isfunction(thing) else [m for _, m in inspect.getmembers(thing)]
        for function in functions:
            function = getattr(function, "fget", None) or getattr(function, "__func__", function)
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                for annotation in inspect.get_annotations(function).values():
                    yield from ((word, function) for word in re.findall(r"\w+", str(annotation)))

    missing = set()
    for name in ts.__all__:
        for word, function in annotations(getattr(ts, name)):
            found = function.__globals__.get(word)
            if inspect.isclass(found) and found.__module__.startswith("textspectra") and word not in ts.__all__:
                missing.add(f"{word} of {function.__qualname__}")
    assert not missing


@pytest.mark.parametrize("name", ["estimate_k", "AutoKMeans", "evaluate"])
def test_dir_lists_the_public_names(name):
    assert name in dir(ts)


def test_a_missing_extra_names_its_install_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\nimport textspectra as ts; ts.estimate_k([[1, 0], [0, 1]]).plot()"
    )
    message = 'matplotlib.pyplot is needed for this and is not installed: pip install "textspectra[plot]"'
    assert message in run_python(code).stderr
