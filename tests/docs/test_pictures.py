"""The pictures of the site are made by code that runs."""

import subprocess
import sys

import pytest
from pages import ROOT


@pytest.mark.slow
def test_every_picture_can_be_drawn_again(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "pictures.py", tmp_path], check=True)  # noqa: S603
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    page = (ROOT / "docs" / "how.md").read_text(encoding="utf-8")
    assert all(f"](pictures/{name})" in page for name in drawn)
