import inspect
import subprocess
import sys

import pytest

import textspectra as ts


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_import_loads_nothing_heavy():
    loaded = run_python("import sys, textspectra; print(*sorted(sys.modules))").stdout.split()
    assert "textspectra" in loaded
    assert not {"numpy", "scipy", "sklearn", "matplotlib", "pandas"} & set(loaded)


def test_everything_public_is_there_and_documented():
    for name in ts.__all__:
        value = getattr(ts, name)
        is_example_due = inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
        assert not is_example_due or ">>>" in value.__doc__, f"{name} has no example"


@pytest.mark.parametrize("name", ["estimate_k", "AutoKMeans", "evaluate"])
def test_dir_lists_the_public_names(name):
    assert name in dir(ts)


def test_a_missing_extra_names_its_install_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\nimport textspectra as ts; ts.estimate_k([[1, 0], [0, 1]]).plot()"
    )
    message = 'matplotlib.pyplot is needed for this and is not installed: pip install "textspectra[plot]"'
    assert message in run_python(code).stderr
