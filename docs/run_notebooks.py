"""Executes the notebooks of `examples/` and keeps their outputs, to be read without running. Run by `make picture`."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in `folder`; what differs from run to run is left out."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    return notebook


if __name__ == "__main__":
    for each in NOTEBOOKS:
        nbformat.write(executed(each, each.parent), each)
