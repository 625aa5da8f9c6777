"""Every notebook of the examples runs, and can be read without running it."""

import importlib.util
import shutil
import sys

import nbformat
import pytest
from pages import ROOT

spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "docs" / "run_notebooks.py")
run_notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_notebooks)


SLOW = {"own_embeddings", "tickets"}


def notebook(path):
    return pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else ())


@pytest.mark.filterwarnings("ignore")  # those of the kernel's packages
@pytest.mark.xdist_group("pages")  # they share the vectors of the example
@pytest.mark.parametrize("path", [notebook(path) for path in run_notebooks.NOTEBOOKS])
def test_a_notebook_runs(path, tmp_path, cache_folder, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(cache_folder))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    shutil.copy(ROOT / "examples" / "customer_messages.csv", tmp_path)
    run_notebooks.executed(path, tmp_path)


@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert any(cell.outputs for cell in code)
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert sys.prefix not in path.read_text()
