"""Tasks of a pass over a Dask array: how many there are, and how often chunks are read."""

from collections import Counter

import numpy as np
import pytest

from textspectra.core.blocks import fold_blocks
from textspectra.core.memory_blocks import Folded

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
callbacks = pytest.importorskip("dask.callbacks")
chunks = pytest.importorskip("textspectra.core.dask_blocks")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(chunks, "n_threads", lambda: 1)
    with dask.config.set(scheduler="sync"):
        yield


def made_of(read, sizes):
    parts = [da.from_delayed(dask.delayed(read, pure=False)(n), (n, 2), dtype=float) for n in sizes]
    return da.concatenate(parts)


def total(first_row, part):
    return Folded((part.sum(), first_row * len(part)))


@pytest.mark.parametrize(("n_chunks", "n_readers"), [(8, 8), (24, 8), (5, 5)])
def test_a_chunk_is_read_and_folded_in_one_task(n_chunks, n_readers):
    reads = []

    def read(n):
        reads.append(n)
        return np.ones((n, 2))

    array = chunks.with_known_chunks(made_of(read, [3] * n_chunks))
    tasks = Counter()
    with callbacks.Callback(pretask=lambda key, graph, state: tasks.update([str(key).partition("-")[0].strip("_")])):
        found = fold_blocks(total, array).statistics
    assert found[0] == 6 * n_chunks
    assert len(reads) == n_chunks
    assert tasks["chunk_statistics"] == n_readers
    assert tasks.total() <= n_readers + 3  # and the function, the sum, and what combines


def test_a_task_that_chunks_share_runs_once():
    reads = []

    def read():
        reads.append(1)
        return np.arange(12.0).reshape(6, 2)

    array = da.from_delayed(dask.delayed(read)(), (6, 2), dtype=float).rechunk((2, 2))
    assert fold_blocks(total, chunks.with_known_chunks(array)).statistics == (66, 12)
    assert reads == [1]


def test_large_chunks_are_not_read_together(monkeypatch):
    monkeypatch.setattr(chunks, "GROUP_BYTES", 100)
    array = chunks.with_known_chunks(da.ones((24 * 3, 2), chunks=(3, 2)))
    assert set(array.chunks[0]) == {6}
