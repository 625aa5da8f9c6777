"""Where the labeled text sets are, and the mark of tests that need them."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("TEXTSPECTRA_DATA", Path(__file__).parents[2] / "shared" / "data"))

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the labeled text sets are not here; point TEXTSPECTRA_DATA to their folder"
)
