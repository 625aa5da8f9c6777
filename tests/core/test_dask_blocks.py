"""The same calls on Dask arrays: the same results as on arrays in memory, wherever the rows are."""

import subprocess
import sys
import weakref
from collections import Counter
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import textspectra as ts
from textspectra.core import clusters, cohesion, discriminants, kmeans
from textspectra.core.rows import fold_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
callbacks = pytest.importorskip("dask.callbacks")
dask_blocks = pytest.importorskip("textspectra.core.dask_blocks")

CHUNKS = {
    "even": (700,) * 4,
    "uneven": (1, 1999, 300, 500),
    "with empty ones": (0, 1500, 0, 1300, 0),
    "one": (2800,),
}
ANY_CHUNKS = pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Let the paths for many rows be taken by few."""
    monkeypatch.setattr(kmeans, "TRAINING_ROWS", 1500)
    monkeypatch.setattr(discriminants, "REFINED_ROWS", 1200)
    for name in ("EXACT_ROWS", "HAC_EXACT_ROWS"):
        monkeypatch.setattr(clusters, name, 2000)
    for name in ("MICRO_CLUSTERS", "HAC_MICRO_CLUSTERS"):
        monkeypatch.setattr(clusters, name, 150)
    monkeypatch.setattr(cohesion, "ALL_PAIRS_ROWS", 300)


@pytest.fixture(scope="module")
def blobs(planted):
    return planted(8, 2800, d=20, noise=0.4)


def cut(X, sizes):
    return da.from_array(X, chunks=(sizes, X.shape[1]))


def assert_same_report(ours, theirs):
    assert ours.ratio == pytest.approx(theirs.ratio, rel=1e-5)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-3)
    assert [part.label for part in ours.per_cluster] == [part.label for part in theirs.per_cluster]
    assert [part.size for part in ours.per_cluster] == [part.size for part in theirs.per_cluster]
    assert [part.ratio for part in ours.per_cluster] == pytest.approx(
        [part.ratio for part in theirs.per_cluster], rel=1e-4
    )


@pytest.mark.parametrize("level", ["coarse", "fine"])
@pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])
def test_levels_are_those_of_the_array_in_memory_and_of_a_memory_map(blobs, model, level, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "X.npy", X)
    ours, theirs = model(level).fit(cut(X, CHUNKS["uneven"])), model(level).fit(X)
    assert (ours.labels_.compute() == theirs.labels_).all()
    assert (ours.predict(cut(X, CHUNKS["uneven"])).compute() == theirs.predict(X)).all()
    mapped = model(level).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert (mapped.labels_ == theirs.labels_).all()


@ANY_CHUNKS
@pytest.mark.parametrize("model", [ts.AutoKMeans, partial(ts.AutoKMeans, refine=False), ts.AutoAgglomerative])
def test_clusters_are_those_of_the_array_in_memory(blobs, model, sizes):
    X, _ = blobs
    here, there = (model(8, random_state=3).fit(array) for array in (X, cut(X, sizes)))
    assert isinstance(there.labels_, da.Array)
    assert there.labels_.chunks == (sizes,)
    assert (there.labels_.compute() == here.labels_).all()
    assert there.cluster_centers_ == pytest.approx(here.cluster_centers_, abs=1e-5)
    assert_same_report(there.cohesion_report_, here.cohesion_report_)
    predicted = there.predict(cut(X, sizes))
    assert isinstance(predicted, da.Array)
    assert (predicted.compute() == here.predict(X)).all()
    if model is ts.AutoAgglomerative:
        assert (there.cut(5).compute() == here.cut(5)).all()
    else:
        assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-5)


@pytest.mark.parametrize("method", ["auto", partial(ts.spectral_k, max_sample=200, n_replicates=6)])
def test_k_is_that_of_the_array_in_memory(planted, method):
    X, _ = planted(5, 1300, d=8, noise=0.3)
    here = ts.estimate_k(X, method=method, random_state=1)
    there = ts.estimate_k(cut(X, (400, 0, 600, 300)), method=method, random_state=1)
    assert (there.k, there.interval, there.n_samples) == (here.k, here.interval, here.n_samples)
    assert there.confidence == pytest.approx(here.confidence, rel=1e-5)
    assert (there.replicates == here.replicates).all()


def test_k_is_found_on_the_way_to_clusters(planted):
    X, truth = planted(5, 900, d=8, noise=0.1)
    there = ts.AutoKMeans(random_state=0).fit(cut(X, (300, 600)))
    assert there.n_clusters_ == there.k_estimate_.k == 5
    assert adjusted_rand_score(truth, there.labels_.compute()) == 1


@pytest.mark.parametrize("rectify", [True, False])
@pytest.mark.parametrize("kind", ["int", "str", "float", "unaligned", "in memory"])
def test_cohesion_is_that_of_the_array_in_memory(blobs, rectify, kind):
    X, truth = blobs
    labels = {"str": np.array(list("hgfedcba"))[truth], "float": truth * 1.5 - 2}.get(kind, truth)
    sizes = CHUNKS["uneven"]
    there = labels if kind == "in memory" else da.from_array(labels, chunks=431 if kind == "unaligned" else (sizes,))
    found = ts.cohesion_report(cut(X, sizes), there, rectify=rectify, random_state=0)
    assert_same_report(found, ts.cohesion_report(X, labels, rectify=rectify, random_state=0))
    ratio = ts.cohesion_ratio(cut(X, sizes), there, rectify=rectify, random_state=0)
    assert ratio == pytest.approx(found.ratio)


@ANY_CHUNKS
def test_every_metric_is_that_of_the_array_in_memory(blobs, sizes):
    X, truth = blobs
    labels = ts.AutoKMeans(6, random_state=0).fit(X).labels_
    here = ts.evaluate(X, labels, truth, random_state=0)
    there = ts.evaluate(cut(X, sizes), da.from_array(labels, chunks=900), truth, random_state=0)
    assert list(here) == list(there)
    assert list(there.values()) == pytest.approx(list(here.values()), rel=1e-4)


@pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])
@pytest.mark.parametrize("counting", [0.9, 0.3])
def test_weights_count_as_they_do_in_memory(blobs, model, counting):
    X, _ = blobs
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(len(X)) < counting, rng.integers(1, 4, len(X)), 0)
    here = model(8, random_state=0).fit(X, sample_weight=weights)
    for given in (weights, da.from_array(weights, chunks=999)):
        there = model(8, random_state=0).fit(cut(X, CHUNKS["with empty ones"]), sample_weight=given)
        assert (there.labels_.compute() == here.labels_).all()


def test_weights_count_for_the_estimate(planted):
    X, _ = planted(5, 300, d=8, noise=0.1)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    here = ts.AutoKMeans(random_state=0).fit(X, sample_weight=weights)
    there = ts.AutoKMeans(random_state=0).fit(cut(X, (100, 200)), sample_weight=weights)
    assert there.k_estimate_ == here.k_estimate_


def unknown(X, sizes):
    array = cut(X, sizes)
    return array[da.ones(len(X), chunks=(sizes,)) > 0]


FORMS = {
    "unknown chunk sizes": unknown,
    "persisted": lambda X, sizes: cut(X, sizes).persist(),
    "columns in several chunks": lambda X, sizes: da.from_array(X, chunks=(sizes, 7)),
    "float64": lambda X, sizes: cut(X.astype(np.float64), sizes),
    "made by a function": lambda X, sizes: cut(X, sizes).map_blocks(lambda block: block * 2.0).astype(np.float32),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_array_works(blobs, form):
    X, _ = blobs
    here = ts.AutoKMeans(8, random_state=0).fit(X)
    array = form(X, CHUNKS["with empty ones"])
    known = array.chunks
    there = ts.AutoKMeans(8, random_state=0).fit(array)
    assert (there.labels_.compute() == here.labels_).all()
    assert str(array.chunks) == str(known)  # NaN is not equal to itself


def test_float16_works(blobs):
    X = blobs[0].astype(np.float16)
    here = ts.AutoKMeans(8, random_state=0).fit(X)
    there = ts.AutoKMeans(8, random_state=0).fit(cut(X, CHUNKS["uneven"]))
    assert (there.labels_.compute() == here.labels_).all()


def test_only_chunks_with_sampled_rows_are_read(planted):
    X, _ = planted(4, 4000, d=8)
    read = set()

    def read_chunk(block, block_info=None):
        read.add(block_info[0]["chunk-location"][0])
        return block

    lazy = cut(X, (1,) * 40 + (3960,)).map_blocks(read_chunk, dtype=X.dtype, meta=X[:0])
    with dask.config.set(scheduler="sync"):
        ts.spectral_k(lazy, max_sample=8, n_replicates=2, random_state=0)
    assert read
    assert len(read) < 20


def test_labels_that_were_changed_in_place_count_as_they_are_now(blobs):
    X, _ = blobs
    labels = ts.AutoKMeans(8, random_state=0).fit(cut(X, CHUNKS["even"])).labels_
    changed = labels.compute()
    changed[changed == 7] = 0
    labels[labels == 7] = 0
    there = ts.cohesion_report(cut(X, CHUNKS["even"]), labels, random_state=0)
    assert_same_report(there, ts.cohesion_report(X, changed, random_state=0))


def test_chunks_that_are_read_together_are_released_with_their_task():
    made = []

    def read(n):
        chunk = np.arange(n)
        made.append(weakref.ref(chunk))
        return chunk

    reader = dask_blocks.ChunkReader([({"chunk": (read, n)}, "chunk") for n in (3, 2)], (3, 2), np.empty(0, int))
    assert reader.open()[1:4].tolist() == [1, 2, 0]
    assert [one() for one in made] == [None] * 2


@pytest.mark.parametrize("call", [lambda X: ts.AutoKMeans(2, random_state=0).fit(X), lambda X: ts.estimate_k(X)])
def test_a_row_that_cannot_be_used_is_named_by_its_number_in_all_rows(blobs, call):
    X = blobs[0].copy()
    X[1777] = 0
    with pytest.raises(ts.UserError, match=r"X is all zeros in row 1777 \(counting from 0\)"):
        call(cut(X, CHUNKS["uneven"]))


def test_mistakes_are_explained(blobs):
    X, truth = blobs
    array = cut(X, CHUNKS["even"])
    with pytest.raises(ts.UserError, match="labels has 2,799 entries but X has 2,800 rows"):
        ts.cohesion_ratio(array, da.from_array(truth[1:], chunks=700))
    labels = truth.astype(float)
    labels[[5, 1234]] = np.nan
    for given in (labels, da.from_array(labels, chunks=100)):
        with pytest.raises(ts.UserError, match=r"labels has a missing value at row 5 \(and 1 more\)"):
            ts.cohesion_ratio(array, given)
    with pytest.raises(ts.UserError, match=r"sample_weight is -1.0 at row 2000"):
        ts.AutoKMeans(2).fit(array, sample_weight=da.from_array(np.where(np.arange(2800) < 2000, 1, -1), chunks=700))
    with pytest.raises(ts.UserError, match="X must hold numbers"):
        ts.estimate_k(da.from_array(np.array([["a"], ["b"]]), chunks=1))
    with pytest.raises(ts.UserError, match="Expected 2D array, got 1D array"):
        ts.estimate_k(da.ones(5))
    with pytest.raises(ts.UserError, match="X has 3 features, but AutoKMeans is expecting 20 features"):
        ts.AutoKMeans(2, random_state=0).fit(array).predict(da.ones((4, 3)))


def test_dask_is_not_imported_for_arrays_in_memory():
    code = (
        "import sys, numpy as np, textspectra as ts\n"
        "ts.AutoKMeans(random_state=0).fit(np.repeat(np.eye(8), 20, axis=0))\n"
        "assert not any(name.partition('.')[0] in ('dask', 'distributed') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_leaves_and_cuts_have_the_chunks_of_the_data(planted):
    X, _ = planted(4, 600, d=8)
    model = ts.AutoAgglomerative(4).fit(da.from_array(X, chunks=(5, 8)))
    assert model.labels_.chunks == model.leaves_.chunks == model.cut(3).chunks == ((5,) * 120,)


def test_a_single_weight_counts_for_every_row(planted):
    X, _ = planted(4, 100, d=8)
    model = ts.AutoKMeans(4).fit(da.from_array(X, chunks=(50, 8)), sample_weight=da.asarray(2.0))
    assert (model.labels_.compute() == ts.AutoKMeans(4).fit(X, sample_weight=2.0).labels_).all()


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setattr(dask_blocks, "n_threads", lambda: 1)
    with dask.config.set(scheduler="sync"):
        yield


def made_of(read, sizes):
    parts = [da.from_delayed(dask.delayed(read, pure=False)(n), (n, 2), dtype=float) for n in sizes]
    return da.concatenate(parts)


def total(first_row, part):
    return part.sum(), first_row * len(part)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("n_chunks", "n_readers"), [(8, 8), (24, 8), (5, 5)])
def test_a_chunk_is_read_and_folded_in_one_task(n_chunks, n_readers):
    reads = []

    def read(n):
        reads.append(n)
        return np.ones((n, 2))

    array = dask_blocks.with_known_chunks(made_of(read, [3] * n_chunks))
    tasks = Counter()
    with callbacks.Callback(pretask=lambda key, graph, state: tasks.update([str(key).partition("-")[0].strip("_")])):
        found = fold_blocks(total, array)
    assert found[0] == 6 * n_chunks
    assert len(reads) == n_chunks
    assert tasks.total() <= n_readers + 3  # and the function, the sum, and what combines


@pytest.mark.usefixtures("one_thread")
def test_a_task_that_chunks_share_runs_once():
    reads = []

    def read():
        reads.append(1)
        return np.arange(12.0).reshape(6, 2)

    array = da.from_delayed(dask.delayed(read)(), (6, 2), dtype=float).rechunk((2, 2))
    assert fold_blocks(total, dask_blocks.with_known_chunks(array)) == (66, 12)
    assert reads == [1]


@pytest.mark.usefixtures("one_thread")
def test_large_chunks_are_not_read_together(monkeypatch):
    monkeypatch.setattr(dask_blocks, "GROUP_BYTES", 100)
    array = dask_blocks.with_known_chunks(da.ones((24 * 3, 2), chunks=(3, 2)))
    assert set(array.chunks[0]) == {6}
