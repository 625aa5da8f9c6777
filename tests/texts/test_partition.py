"""One file of many: what it leaves for others, and messages that name it."""

from functools import partial

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


@pytest.fixture
def job(tmp_path):
    """Describe a run over files with a column of vectors."""
    (tmp_path / "work").mkdir()
    return partition.Job(
        work=tmp_path / "work", read=partial(read_table, text_column="text"), model="", settings="", offline=True,
        embeddings="v", cache=False, half=False, keep_all=True, wanted=Wanted(), truth=None, table_format=None,
        spreadsheet_safe=False,
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
    embedded = [partition.embed_partition(job, file) for file in files]
    assert [(part.rows, part.blank, part.usable, part.dimension) for part in embedded] == [(4, 1, 2, 2), (3, 0, 2, 2)]
    texts = partition.find_distinct(job, files, embedded)
    assert texts.counts.tolist() == [2, 2, 1]
    assert texts.starts.tolist() == [0, 2, 3]
    assert texts.totals == (7, 3, 1, 1, 0)
    assert partition.load_new_vectors(job, files[1]).tolist() == [[1, 1]]
    job.save("labels", None, np.array([0, 1, 2], np.int32))
    assert partition._spread(job, files[0], "labels", -1).tolist() == [0, 1, 0, -1]
    assert partition._spread(job, files[1], "labels", -1).tolist() == [1, 2, -1]


def test_a_file_without_rows_is_left_out(job, tmp_path):
    path = write(tmp_path, "a.parquet", pa.array([], pa.string()), pa.array([], pa.list_(pa.float64())))
    assert partition.embed_partition(job, partition.File.at(0, path)) is None
    assert partition.survey_partition(job, partition.File.at(0, path)).filled == 0


def test_a_file_that_changes_during_the_run_is_named(texts, tmp_path, monkeypatch):
    def change(*arguments, **options):
        pq.write_table(pq.read_table(texts / "1.parquet")[::-1], texts / "1.parquet")
        return partition.save_clusters(*arguments, **options)

    monkeypatch.setattr("textspectra.texts.many_files.save_clusters", change)
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
    with pytest.raises(ts.UserError, match=r"1\.parquet': X has a NaN or an infinite value in row 3 \(counting"):
        cluster_files(files, tmp_path / "out", embeddings="v", n_clusters=2)
    with pytest.raises(ts.UserError, match=r"0\.parquet': there is no column 'w'"):
        cluster_files(files, tmp_path / "out", embeddings="w", n_clusters=2)
