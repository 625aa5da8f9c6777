"""Who does the work on many files: the same results from this process and from Dask."""

from types import SimpleNamespace

import numpy as np
import pytest
from on_cluster import group_files

import textspectra as ts
from textspectra.texts.workers import JoinedRows, Workers


def test_rows_of_many_files_read_as_one_array(monkeypatch):
    monkeypatch.setattr("textspectra.texts.workers.OPEN_FILES", 1)
    rng = np.random.default_rng(0)
    vectors = [rng.random((5, 3), np.float32) for _ in range(3)]
    new = [np.array([0, 2, 4]), np.arange(5), np.array([1])]
    job = SimpleNamespace(dtype=np.float32, load=lambda what, file, **_: new[file] if what == "new" else vectors[file])
    rows = JoinedRows(job, {file: len(positions) for file, positions in enumerate(new)}, 3)
    expected = np.concatenate([part[positions] for part, positions in zip(vectors, new, strict=True)])
    assert (len(rows), rows.shape) == (9, (9, 3))
    assert np.array_equal(np.asarray(rows), expected)
    assert np.array_equal(rows[2:7], expected[2:7])
    assert np.array_equal(rows[np.array([8, 0, 3])], expected[[8, 0, 3]])


def test_this_process_does_one_task_after_the_other():
    with Workers.at(None) as workers:
        seen = []
        assert workers.each(pow, [(2, 3), (3, 2)], lambda *step: seen.append(step)) == [8, 9]
    assert seen == [(0, 2), (1, 2)]
    saved = {}
    workers.save_parts(
        lambda job, file, part: saved.update({file: part.tolist()}), None, np.arange(5), {"a": 2, "b": 3}
    )
    assert saved == {"a": [0, 1], "b": [2, 3, 4]}


def test_a_wrong_address_is_explained(texts, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("textspectra.texts.workers.CONNECT_SECONDS", 1)
    with pytest.raises(ts.ExternalError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        group_files(texts, tmp_path / "out", scheduler="tcp://127.0.0.1:9")
