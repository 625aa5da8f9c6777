"""The files of a run: what each leaves for others, messages that name it, and who does the work."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_cluster import group_files

import textspectra as ts
from textspectra.tables.read import matching_files, read_table
from textspectra.texts import partition
from textspectra.texts.details import Wanted
from textspectra.texts.many_files import cluster_files
from textspectra.texts.pipeline import fit_clusters


@pytest.fixture
def job(tmp_path):
    """Describe a run over files with a column of vectors."""
    (tmp_path / "work").mkdir()
    return partition.Job(
        work=tmp_path / "work", read=partial(read_table, text_column="text"), model="", settings="", offline=True,
        embeddings="v", cache=False, dtype=np.float32, keep_all=True, wanted=Wanted(), truth=None, table_format=None,
        spreadsheet_safe=False, add_map=False,
    )  # fmt: skip


def write(folder, name, texts, vectors):
    pq.write_table(pa.table({"text": texts, "v": vectors}), folder / name)
    return str(folder / name)


def test_a_text_belongs_to_the_file_that_has_it_first(job, tmp_path):
    paths = [
        write(tmp_path, "a.parquet", ["car", "bus", "car", " "], [[1.0, 0], [0, 1], [1, 0], [0, 0]]),
        write(tmp_path, "b.parquet", ["bus", "van", "odd"], [[0.0, 1], [1, 1], [0, 0]]),
    ]
    files = [partition.File.at(number, path) for number, path in enumerate(paths)]
    embedded = {file: partition.embed_file(job, file) for file in files}
    assert [part.totals for part in embedded.values()] == [(4, 2, 1, 0, 0, 0), (3, 2, 0, 1, 0, 0)]
    texts = partition.find_distinct(job, embedded)
    assert texts.counts.tolist() == [2, 2, 1]
    assert texts.starts.tolist() == [0, 2, 3]
    assert texts.totals == (7, 3, 1, 1, 0, 0)
    assert partition.load_new_vectors(job, files[1]).tolist() == [[1, 1]]
    job.save("labels", None, np.array([0, 1, 2], np.int32))
    assert partition._spread(job, files[0], "labels", -1).tolist() == [0, 1, 0, -1]
    assert partition._spread(job, files[1], "labels", -1).tolist() == [1, 2, -1]


def test_a_file_without_rows_is_left_out(job, tmp_path):
    path = write(tmp_path, "a.parquet", pa.array([], pa.string()), pa.array([], pa.list_(pa.float64())))
    assert partition.embed_file(job, partition.File.at(0, path)) is None
    assert partition.survey_file(job, partition.File.at(0, path)).filled == 0


def test_a_file_that_changes_during_the_run_is_named(texts, tmp_path, monkeypatch):
    def change(*arguments, **options):
        pq.write_table(pq.read_table(texts / "1.parquet")[::-1], texts / "1.parquet")
        return fit_clusters(*arguments, **options)

    monkeypatch.setattr("textspectra.texts.many_files.fit_clusters", change)
    with pytest.raises(ts.ExternalError, match=r"1\.parquet' has changed since the run began\. Run it again\."):
        group_files(texts, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_vector_that_cannot_be_used_is_reported_with_its_file(tmp_path):
    for number in range(2):
        vectors = np.random.default_rng(number).standard_normal((5, 4))
        vectors[3, 2] = np.nan if number else 0
        table = pa.table({"text": [f"text {n}" for n in range(5)], "v": vectors.tolist()})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    files = matching_files(f"{tmp_path}/*.parquet")
    with pytest.raises(ts.UserError, match=r"1\.parquet': embeddings has a NaN or an infinite value in row 3,"):
        cluster_files(files, tmp_path / "out", embeddings="v", n_clusters=2)
    with pytest.raises(ts.UserError, match=r"0\.parquet': unknown column 'w'"):
        cluster_files(files, tmp_path / "out", embeddings="w", n_clusters=2)


def test_rows_of_many_files_read_as_one_array(monkeypatch):
    monkeypatch.setattr(partition, "OPEN_FILES", 1)
    rng = np.random.default_rng(0)
    vectors = [rng.random((5, 3), np.float32) for _ in range(3)]
    new = [np.array([0, 2, 4]), np.arange(5), np.array([1])]
    job = SimpleNamespace(dtype=np.float32, load=lambda what, file, **_: new[file] if what == "new" else vectors[file])
    rows = partition.JoinedRows(job, {file: len(positions) for file, positions in enumerate(new)}, 3)
    expected = np.concatenate([part[positions] for part, positions in zip(vectors, new, strict=True)])
    assert (len(rows), rows.shape) == (9, (9, 3))
    assert np.array_equal(np.asarray(rows), expected)
    assert np.array_equal(rows[2:7], expected[2:7])
    assert np.array_equal(rows[np.array([8, 0, 3])], expected[[8, 0, 3]])


def test_this_process_does_one_task_after_the_other():
    seen = []
    with partition.Workers.at(None) as workers:
        assert workers.each(pow, [(2, 3), (3, 2)], lambda *step: seen.append(step)) == [8, 9]
    assert seen == [(0, 2), (1, 2)]


def test_a_wrong_address_is_explained(texts, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(partition, "CONNECT_SECONDS", 1)
    with pytest.raises(ts.ExternalError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        group_files(texts, tmp_path / "out", scheduler="tcp://127.0.0.1:9")
