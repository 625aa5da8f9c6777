"""A model folder with a valid checksum and wrong content is refused, or what it says can be used."""

import copy
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import print_summary, summarize
from textspectra.errors import UserError
from textspectra.tables import source
from textspectra.texts.history import ClusterChange, Update
from textspectra.texts.storage import ARRAYS, SUMMARY, TEXTS, _digest_of_summary

WRONG = [None, True, -1, 10**30, 0.5, float("nan"), "", "x", "\ud800", [], [None], {}, {"a": [1]}, [[[]]]]

GROUPS = np.repeat([0, 1, 2], 20)
X = (np.eye(3, 8)[GROUPS] + 0.1 * np.random.default_rng(0).uniform(size=(60, 8))).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save a model that has everything: an estimate, a tree, dates, segments, shown columns and a history."""
    from dataclasses import replace

    texts = [f"{('parcel', 'password', 'refund')[cluster]} number {i}" for i, cluster in enumerate(GROUPS)]
    result = ts.cluster_texts(
        texts, embeddings=X, algorithm="hac", time=[f"2026-{1 + i % 4:02}-03" for i in range(60)],
        by={"channel": ["web", "post"] * 30}, show={"id": [str(i) for i in range(60)]},
    )  # fmt: skip
    change = ClusterChange(0, "parcel", "growing", 3, 9, 0.1, 0.3, 0.01)
    history = (Update("2026-01-31", 60, (change,)),)
    path = tmp_path_factory.mktemp("models") / "a.model"
    replace(result, history=history, notes=("A note.",)).save(path)
    return path


def places(value, at=()):
    """Yield the way to every value of nested objects and lists."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        if isinstance(one, dict | list):
            yield from places(one, (*at, key))


def edited(summary, place, value):
    changed = copy.deepcopy(summary)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    if value is places:  # stands for nothing at all
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    changed["sha256"][SUMMARY] = _digest_of_summary(changed)
    return changed


def use(result):
    """Do what commands do with a model."""
    result.to_frame(), result.cluster_table(), result.by("channel"), result.over_time(), result.trends()
    str(result), result.changes
    summary = summarize(Done(result, "text", {"model": Path("a.model")}), "a.csv", {})
    json.dumps(summary)
    print_summary(summary)
    for cluster in result.clusters:
        result.typical_texts(cluster)
        cluster.name.encode()


def test_every_edit_of_the_summary_is_refused_or_harmless(folder, capsys):
    path = folder / SUMMARY
    before = path.read_text(encoding="utf-8")
    summary = json.loads(before)
    use(ts.TextClustering.load(folder, embeddings=X))
    n_edits = refused = 0
    rng = np.random.default_rng(0)
    for place in places(summary):
        if place[0] in ("sha256", "written_by") or any(isinstance(key, int) and key > 1 for key in place):
            continue
        for value in rng.permutation(len(WRONG) + 1)[:2]:
            changed = edited(summary, place, places if value == len(WRONG) else WRONG[value])
            path.write_text(json.dumps(changed), encoding="utf-8")
            n_edits += 1
            refused += 1
            try:
                result = ts.TextClustering.load(folder, embeddings=X)
                refused -= 1
                use(result)
            except UserError:
                pass
            except Exception as error:
                raise AssertionError(f"{place} = {WRONG[value] if value < len(WRONG) else 'gone'!r}") from error
    path.write_text(before, encoding="utf-8")
    assert refused > 0.7 * n_edits > 100


@pytest.mark.parametrize(
    "content", ["[" * 200_000, '{"format": Infinity, "sha256": {}}', '{"format": 4, "sha256": 7}', "7"]
)
def test_a_summary_that_is_no_summary(folder, tmp_path, content):
    import shutil

    copied = tmp_path / "b.model"
    shutil.copytree(folder, copied)
    (copied / SUMMARY).write_text(content)
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(copied)


def with_part(folder, place, name, content):
    """Copy a model folder with another part, behind valid checksums."""
    import shutil

    shutil.copytree(folder, place)
    (place / name).write_bytes(content)
    summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
    summary["sha256"] = {part: hashlib.sha256((place / part).read_bytes()).hexdigest() for part in (ARRAYS, TEXTS)}
    summary["sha256"][SUMMARY] = _digest_of_summary(summary)
    (place / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    return place


def parquet(columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(source, "MAX_ROWS", 1000)
    monkeypatch.setattr(source, "MAX_BYTES", 2**20)


LONG = pa.DictionaryArray.from_arrays(np.zeros(60, np.int8), ["x" * 50_000])


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"text": pa.nulls(1001, pa.string())}, "has more than 1,000 rows"),
        ({"text": LONG}, "holds more than 1 MB once it is unpacked"),
        ({"text": pa.array(["x" * 50_000] * 60, pa.large_string())}, "holds more than 1 MB once it is unpacked"),
        ({"text": ["x"] * 60, "show:a": LONG}, "holds more than 1 MB once it is unpacked"),
        ({"text": pa.array([["x" * 50_000] * 60], pa.list_(pa.string()))}, "holds more than 1 MB once it is unpacked"),
        (
            {"text": ["x"] * 900, **{f"show:{i}": pa.nulls(900, pa.int64()) for i in range(200)}},
            "holds more than 1 MB once it is unpacked",
        ),
    ],
    ids=["rows", "dictionary", "text", "shown", "list", "columns"],
)
def test_texts_that_unfold_to_more_than_a_table_may_hold_are_refused(folder, tmp_path, columns, what):
    content = parquet(columns)
    assert len(content) < 120_000
    place = with_part(folder, tmp_path / "b.model", TEXTS, content)
    with pytest.raises(UserError) as error:
        ts.TextClustering.load(place)
    advice = "A model is never that large: fetch it again, or cluster the texts again."
    assert str(error.value) == f"{place / TEXTS} {what}. {advice}"


@pytest.mark.parametrize("name", [SUMMARY, ARRAYS, TEXTS])
def test_a_sparse_file_is_refused_before_it_is_read(folder, tmp_path, name):
    import shutil

    place = tmp_path / "b.model"
    shutil.copytree(folder, place)
    with (place / name).open("r+b") as file:
        file.truncate(2**40)
    expected = "32 MB" if name == SUMMARY else "1,024 MB once it is unpacked"
    with pytest.raises(UserError, match=f"{name} holds more than {expected}. A model is never that large"):
        ts.TextClustering.load(place)


@pytest.mark.parametrize(
    "columns",
    [
        {"text": [1] * 60},
        {"text": [None] * 60},
        {"text": [f"text {i}" for i in range(60)], "count": [-1] * 60},
        {"text": [f"text {i}" for i in range(60)], "count": [2**62] * 60},
        {"text": [f"text {i}" for i in range(60)], "count": [None] * 60},
    ],
)
def test_texts_and_counts_of_another_kind(folder, tmp_path, columns):
    place = with_part(folder, tmp_path / "b.model", TEXTS, parquet(columns))
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(place)


def test_an_array_of_countless_empty_rows(folder, tmp_path):
    """It takes no bytes, but a loop over its rows would not end."""
    arrays = load_file(folder / ARRAYS)
    arrays["replicates"] = np.zeros((10**15, 0), np.int64)
    place = with_part(folder, tmp_path / "b.model", ARRAYS, save(arrays))
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(place)


def test_a_recipe_of_many_levels(folder, tmp_path):
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    summary["recipe"]["seed"] = json.loads("[" * 500 + "]" * 500)
    place = with_part(folder, tmp_path / "b.model", SUMMARY, json.dumps(summary).encode())
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(place)


@pytest.mark.parametrize("place", [("keep_all",), ("embedding", "settings"), ("notes",), ("tally", "by")])
@pytest.mark.parametrize("value", ["\ud800", ["\ud800"], {"a": "\ud800"}, [["\ud800", ["web", "post"]]]])
def test_half_a_character_is_refused_wherever_it_is(folder, tmp_path, place, value):
    """A model that was loaded with it could not be saved."""
    summary = edited(json.loads((folder / SUMMARY).read_text(encoding="utf-8")), place, value)
    damaged = with_part(folder, tmp_path / "b.model", SUMMARY, json.dumps(summary).encode())
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(damaged)


def test_the_name_of_a_group_has_a_largest_length(folder, tmp_path):
    result = ts.TextClustering.load(folder, embeddings=X)
    label = result.clusters[0].label
    assert result.rename(label, "n" * 200).clusters[0].name == "n" * 200
    message = f"The name '{'n' * 40}'... has 201 characters; the name of a group has at most 200."
    with pytest.raises(UserError) as error:
        result.rename(label, "n" * 201)
    assert str(error.value) == message
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    summary["clusters"][0]["name"] = "n" * 201
    place = with_part(folder, tmp_path / "b.model", SUMMARY, json.dumps(summary).encode())
    with pytest.raises(UserError) as error:
        ts.TextClustering.load(place)
    assert str(error.value) == f"{place}: {message}"


def test_words_that_are_very_long_give_names_that_can_be_loaded(tmp_path):
    texts = [f"{word * 250} {word * 240}{i}" for word in "ab" for i in range(6)]
    result = ts.cluster_texts(texts, embeddings=np.repeat(np.eye(2), 6, axis=0), n_clusters=2)
    result.save(tmp_path / "a.model")
    assert max(len(cluster.name) for cluster in ts.TextClustering.load(tmp_path / "a.model").clusters) <= 200


@pytest.mark.usefixtures("small_limits")
def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    texts = [f"{'word ' * 10}{i}" for i in range(1001)]
    result = ts.cluster_texts(texts, embeddings=np.eye(2)[np.arange(1001) % 2], n_clusters=2)
    with pytest.raises(UserError, match=r"The table of texts has more than 1,000 rows\. A model cannot be that large"):
        result.save(tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_a_model_of_every_format_is_loaded_or_refused_with_a_sentence(folder, tmp_path, version):
    import shutil

    place = tmp_path / "old.model"
    shutil.copytree(folder, place)
    summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
    summary["format"] = version
    if version < 5:
        summary["topics"] = summary.pop("clusters")
    if version < 4:  # these had labels in the place of codes, and none that was retired
        arrays = load_file(place / ARRAYS)
        arrays["labels"] = arrays.pop("codes")
        (place / ARRAYS).write_bytes(save(arrays))
        del summary["next_label"]
    (place / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    with_part(place, tmp_path / "b.model", TEXTS, (place / TEXTS).read_bytes())
    if version < 3:
        expected = f"in format {version}, which this version does not read; cluster the texts again."
        with pytest.raises(UserError, match=expected):
            ts.TextClustering.load(tmp_path / "b.model")
    else:
        loaded = ts.TextClustering.load(tmp_path / "b.model", embeddings=X)
        assert loaded.labels.tolist() == ts.TextClustering.load(folder).labels.tolist()
        use(loaded)


def test_the_map_and_the_colors_are_saved(folder, tmp_path):
    """They are in the file of arrays and in the summary; without a map, it is made again."""
    loaded = ts.TextClustering.load(folder, embeddings=X)
    assert loaded.row_map.known is None  # no map was asked for before the model was saved
    assert [cluster.color for cluster in loaded.clusters] == [cluster.label for cluster in loaded.clusters]
    points = loaded.map_points()
    merged = loaded.merge(loaded.clusters[2].label, loaded.clusters[1].label)
    merged.save(tmp_path / "with.model")
    again = ts.TextClustering.load(tmp_path / "with.model")  # without the vectors
    np.testing.assert_array_equal(again.map_points(), points)
    assert [cluster.color for cluster in again.clusters] == [cluster.color for cluster in merged.clusters]
    size = len(save({"map": again.row_map.known})) - len(save({"map": again.row_map.known[:0]}))
    assert size == pytest.approx(8 * 60, abs=16)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((59, 2), np.float32),
        np.zeros((60, 3), np.float32),
        np.zeros(60, np.float32),
        np.zeros((60, 2), np.int16),
        np.full((60, 2), np.inf, np.float32),
        np.full((60, 2), -1e6, np.float32),  # a grid over such a map would fill the memory
        np.column_stack([np.zeros(60), np.full(60, np.nan)]).astype(np.float32),
        np.column_stack([np.append(np.nan, np.zeros(59)), np.zeros(60)]).astype(np.float32),
    ],
)
def test_a_damaged_map_is_refused(folder, tmp_path, points):
    place = with_part(folder, tmp_path / "b.model", ARRAYS, save({**load_file(folder / ARRAYS), "map": points}))
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(place)


def test_a_text_of_a_group_without_a_leaf_of_the_tree_is_refused(folder, tmp_path):
    arrays = load_file(folder / ARRAYS)
    arrays["leaves"][7] = -1
    place = with_part(folder, tmp_path / "b.model", ARRAYS, save(arrays))
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(place)
    arrays["codes"][7] = -1  # it has no group either
    ts.TextClustering.load(with_part(folder, tmp_path / "c.model", ARRAYS, save(arrays)))


def test_groups_of_an_old_model_have_the_lowest_colors_whatever_their_labels(folder, tmp_path):
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    for cluster, label in zip(summary["clusters"], (3, 57, 60), strict=True):
        del cluster["color"]
        cluster["label"] = label
    summary.update(next_label=61, themes=[])
    place = with_part(folder, tmp_path / "b.model", SUMMARY, json.dumps(summary).encode())
    loaded = ts.TextClustering.load(place)
    assert [(cluster.label, cluster.color) for cluster in loaded.clusters] == [(3, 0), (57, 1), (60, 2)]


def test_a_map_may_lack_texts(folder, tmp_path):
    points = np.full((60, 2), np.nan, np.float32)
    points[:50] = np.random.default_rng(0).normal(size=(50, 2))
    place = with_part(folder, tmp_path / "b.model", ARRAYS, save({**load_file(folder / ARRAYS), "map": points}))
    shown = ts.TextClustering.load(place, embeddings=X).map_points()
    np.testing.assert_allclose(shown[:50], points[:50] / np.nanmax(np.abs(points)))
    assert not np.isnan(shown).any()


def test_a_color_of_any_number_has_a_page(folder, tmp_path):
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    for cluster, color in zip(summary["clusters"], (-5, 2**50, 1999), strict=True):
        cluster["color"] = color
    place = with_part(folder, tmp_path / "b.model", SUMMARY, json.dumps(summary).encode())
    assert ts.TextClustering.load(place, embeddings=X).report().startswith("<!doctype html>")
