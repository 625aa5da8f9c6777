"""Each distinct text of many files once: which file has it first, and how many rows have it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..corpus import Totals
from .partition import Embedded, File, Job, save_array


class DistinctTexts(NamedTuple):
    """The texts of all files that count, each once, in the order in which they occur first."""

    counts: NDArray[np.intp]  # how many rows of all files have each of them
    starts: NDArray[np.intp]  # file i is the first to have the texts from starts[i] to starts[i + 1]
    totals: Totals


def find_distinct(job: Job, files: Sequence[File], found: Sequence[Embedded]) -> DistinctTexts:
    """Find the distinct texts of all files, and leave for each file what it needs to know.

    That is `own`, the positions among its usable texts of those that no earlier file has, and `rows`, the position of
    each of its texts among all that count (-1 for a text that does not).
    """
    digests, counts, usable = [], [], []
    for file in files:
        digests.append(np.load(job.embedded("digests.npy", file)))
        counts.append(np.load(job.embedded("counts.npy", file)))
        usable.append(np.isin(np.arange(len(counts[-1])), np.load(job.embedded("usable.npy", file))))
    codes, first = _encode(np.concatenate(digests))
    # A text counts if the file that has it first could represent it.
    counting = np.concatenate(usable)[first]
    positions = np.where(counting, np.cumsum(counting) - 1, -1)
    ends = np.cumsum([0, *map(len, counts)])
    starts = [0]
    for file, of_file, (low, high) in zip(files, usable, pairwise(ends), strict=True):
        own = np.isin(np.arange(low, high), first)[of_file]
        save_array(job.grouped("own", file), np.flatnonzero(own).astype(np.int32))
        save_array(job.grouped("rows", file), positions[codes[low:high]].astype(np.int32))
        starts.append(starts[-1] + int(own.sum()))
    all_counts = np.bincount(codes, np.concatenate(counts)).astype(np.intp)
    rows, blank = (sum(getattr(one, name) for one in found) for name in ("rows", "blank"))
    without_content = sum(sum(one.without_content.values()) for one in found)
    unknown = rows - blank - without_content - int(all_counts[counting].sum())
    totals = Totals(rows, int(counting.sum()), blank, unknown, without_content)
    return DistinctTexts(all_counts[counting], np.array(starts), totals)


def _encode(digests: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a number for each digest, in the order of first appearance, and where each number appears first.

    Examples
    --------
    >>> _encode(np.array([[7] * 16, [5] * 16, [7] * 16], np.uint8))
    (array([0, 1, 0]), array([0, 1]))
    """
    buffer = pa.py_buffer(np.ascontiguousarray(digests))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(digests), [None, buffer])
    codes = array.dictionary_encode().indices.to_numpy().astype(np.intp)
    highest = np.maximum.accumulate(np.append(-1, codes))
    return codes, np.flatnonzero(codes > highest[:-1])
