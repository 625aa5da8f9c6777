"""File name patterns."""

from __future__ import annotations

import glob
from pathlib import Path

from ..errors import UserError


def is_pattern(source: str) -> bool:
    """Tell whether a name is a pattern for several files."""
    return glob.has_magic(source) and not Path(source).exists()


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted by name."""
    files = sorted(name for name in glob.iglob(pattern, recursive=True) if Path(name).is_file())  # noqa: PTH207 - the pattern may be absolute
    if not files:
        raise UserError(f"no file matches '{pattern}'")
    return files
