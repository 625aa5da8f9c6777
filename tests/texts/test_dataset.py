"""Many files: what is kept when a run is stopped, what is not, and what is said of a file that is not right."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_cluster import group_files, read_all

import textspectra as ts
from textspectra.io import matching_files
from textspectra.texts.files import cluster_files, partition


def stop_at_file(monkeypatch, number):
    def stop(job, file, **options):
        if file.number == number:
            raise KeyboardInterrupt
        partition.write_partition(job, file, **options)

    monkeypatch.setattr("textspectra.texts.files.run.write_partition", stop)


def test_a_run_with_other_options_takes_over_vectors_alone(texts, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at_file(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            group_files(texts, tmp_path / "out")
    work = tmp_path / ".out-work"
    assert len(list((work / "table").glob("part-*"))) == 2

    def write_and_leave_something(job, file, **options):
        (job.table / ".textspectra-0.tmp").write_bytes(b"what a process leaves that is killed while it writes")
        partition.write_partition(job, file, **options)

    monkeypatch.setattr("textspectra.texts.files.run.write_partition", write_and_leave_something)
    found = cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out", n_clusters=4, cache=False)
    assert found.reused == 3
    assert len(set(read_all(found.folder)["cluster"].to_pylist()) - {None}) == 4
    assert sorted(path.name for path in found.folder.iterdir()) == [f"part-0000{n}.parquet" for n in range(3)]
    assert not work.exists()


def test_a_file_is_written_again_where_another_one_changes_the_names(tmp_path, monkeypatch):
    def write(number, *words):
        texts = [f"{words[row % 2]} {row}" for row in range(10)]
        pq.write_table(
            pa.table({"text": texts, "v": np.eye(2)[np.arange(10) % 2].tolist()}), tmp_path / f"{number}.parquet"
        )

    def group():
        files = matching_files(f"{tmp_path}/*.parquet")
        return cluster_files(files, tmp_path / "out", embeddings="v", text_column="text", n_clusters=2)

    write(0, "apple", "pear")
    write(1, "apple", "pear")
    with monkeypatch.context() as patch:
        stop_at_file(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            group()
    write(1, "mango", "grape")
    found = read_all(group().folder)
    names = set(zip(found["cluster"].to_pylist(), found["cluster_name"].to_pylist(), strict=True))
    assert len(names) == 2, names


def test_after_a_file_was_mended_the_others_are_not_embedded_again(texts, tmp_path):
    whole = (texts / "1.parquet").read_bytes()
    (texts / "1.parquet").write_bytes(whole[:900])
    with pytest.raises(ts.UserError, match="damaged or cut short"):
        group_files(texts, tmp_path / "out")
    (texts / "1.parquet").write_bytes(whole)
    found = group_files(texts, tmp_path / "out")
    assert found.reused == 1
    assert read_all(found.folder)["message"].equals(read_all(texts)["message"])


def test_a_file_that_changes_during_the_run_is_named(texts, tmp_path, monkeypatch):
    def change(*arguments):
        pq.write_table(pq.read_table(texts / "1.parquet")[::-1], texts / "1.parquet")
        return partition.save_labels(*arguments)

    monkeypatch.setattr("textspectra.texts.files.run.save_labels", change)
    with pytest.raises(ts.UserError, match=r"1\.parquet' has changed since the run began\. Run it again\."):
        group_files(texts, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_output_of_an_earlier_run_is_no_input(texts, tmp_path):
    pytest.importorskip("wordllama")
    for overwrite in (False, True):
        files = matching_files(f"{texts}/**/*.parquet")
        found = cluster_files(files, texts / "out", n_clusters=9, cache=False, overwrite=overwrite)
        assert found.rows == 1019
    with pytest.raises(ts.UserError, match=r"All of the files are in .*, where the output goes"):
        cluster_files(matching_files(f"{texts}/out/*.parquet"), texts / "out", overwrite=True)


def test_a_vector_that_cannot_be_used_is_told_with_its_file(tmp_path):
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
