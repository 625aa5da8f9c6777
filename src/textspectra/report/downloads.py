"""Find the file that "Download JSON" of a report saved: the newest state of a model in the downloads folder."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import platformdirs

from ..errors import UserError
from ..hygiene import plural

HEAD = 1000  # bytes; a state begins with its format and with the fingerprint of its texts
STATE = re.compile(rb'^\s*\{\s*"format"\s*:\s*"textspectra-state-')
FINGERPRINT = re.compile(rb'"fingerprint"\s*:\s*"([0-9a-f]+)"')


def newest_state(fingerprint: str, folder: Path | None = None) -> Path:
    """Return the newest state of the texts with a fingerprint, whatever the name of the file is.

    The folder is the one in which browsers save files, unless another one is given. States of other texts, and files
    that cannot be read, are passed over; a UserError says what to do if nothing is left.
    """
    folder = folder or platformdirs.user_downloads_path()
    states: list[tuple[int, str, Path]] = []
    n_others = 0
    for path in folder.glob("*.[jJ][sS][oO][nN]"):
        with suppress(OSError):  # a file without permission, or one that was just moved away
            if not path.is_file() or not STATE.match(head := _head(path)):
                continue
            known = FINGERPRINT.search(head)
            if known and known[1].decode() == fingerprint:
                states.append((path.stat().st_mtime_ns, path.name, path))
            else:
                n_others += 1
    if states:
        return max(states)[-1]
    others = f", only {plural(n_others, 'state')} of other texts" if n_others else ""
    raise UserError(
        f"No state of this model is in {folder}{others}. Press “Download JSON” in its report, or name the file if you "
        "saved it elsewhere: textspectra apply STATE.json MODEL."
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)
