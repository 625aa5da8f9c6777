"""Files in a folder of their own."""

from pathlib import Path

import pytest


@pytest.fixture
def save(tmp_path, monkeypatch):
    """Write bytes to a file in the current folder and return its name, so that messages are short."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write
