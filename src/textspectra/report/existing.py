"""What a page that was written before has, and a new one of the same model would not have."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..texts.result import TextClustering
from .write import fingerprint

META = re.compile(rb'id="block-meta">([A-Za-z0-9+/=]+)<')


def what_only_it_has(path: Path, result: TextClustering) -> str:
    """Say why a page should not be replaced by a new one of this result; an empty string if there is no reason."""
    meta = _read_meta(path)
    try:
        known, classes, changes = meta["about"]["fingerprint"], meta["profile"]["classes"], meta["changes"]
    except (KeyError, TypeError):  # another file, or a page of an older version
        return "is no report of these texts"
    if known != fingerprint(result.corpus):
        return "is no report of these texts"
    if classes is not None:
        return "compares with a ground truth, which the model does not have"
    return "" if changes is None else "says what changed, which the model does not know"


def _read_meta(path: Path) -> Any:
    """Return the data about a report; None if the file is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    found = META.search(content)
    try:
        return None if found is None else json.loads(zlib.decompress(base64.b64decode(found[1])))
    except (ValueError, zlib.error):
        return None
