"""Read the data of a report as the page does."""

import base64
import json
import re
import zlib
from contextlib import contextmanager

import numpy as np
import pytest

from textspectra.core import map as core_map
from textspectra.report import build


def unpack(block):
    return zlib.decompress(base64.b64decode(block))


@contextmanager
def quick_map():
    """Arrange the map in a few iterations, for tests that do not look at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_map, "PHASES", ((5, 12.0, 0.5), (5, 1.0, 0.8)))
        yield


def contents(result, **options):
    """Return the meta data, the texts and all blocks of the report of a result."""
    with quick_map():
        return parsed(build.report_blocks(result, **options))


def read_page(path):
    """Return the same from a file."""
    return parsed(dict(re.findall(r'id="block-(\w+)">([^<]*)<', path.read_text(encoding="utf-8"))))


def parsed(blocks):
    return json.loads(unpack(blocks["meta"])), json.loads(unpack(blocks["texts"])), blocks


def cut_labels(meta, k):
    """Label every shown text at k, and return the node of each label, as the page does."""
    top, merges, nodes, base = meta["levels"]["k"], meta["levels"]["merges"], meta["nodes"], meta["base"]
    gone = {child for pair in merges[: top - k] for child in pair}
    alive = {node for node in range(top + top - k) if node not in gone}
    own = {label: node for label, node in zip(base["labels"], base["nodes"], strict=True) if node in alive}
    others = sorted(alive - set(own.values()), key=lambda node: (-nodes["size"][node], nodes["first"][node]))
    of_label = own | {base["next"] + number: node for number, node in enumerate(others)}
    labels = np.empty(meta["about"]["shown"], int)
    for label, node in of_label.items():
        labels[slice(*meta["levels"]["ranges"][node])] = label
    return labels, of_label


def similarities(meta, blocks):
    """Return the similarity of each shown text of each node."""
    values = np.frombuffer(unpack(blocks["similarity"]), "<u2") / 32767.5 - 1
    return np.split(values, np.cumsum([end - start for start, end in meta["levels"]["ranges"]])[:-1])
