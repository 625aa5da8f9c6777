"""The sets of a study, their samples and their vectors."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_sets import DATA, needs_data

from textspectra.embedding import embed_texts, load_backend
from textspectra.errors import UserError
from textspectra_study.datasets import PAPER_SETS, Dataset, describe, load_datasets
from textspectra_study.results import Variant
from textspectra_study.variants import plan_variants, variant_rows
from textspectra_study.vectors import make_vectors, vector_source


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make an empty folder for sets, with no other place to find one."""
    monkeypatch.delenv("TEXTSPECTRA_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    place = tmp_path / "data"
    place.mkdir()
    return place


def write_set(path, texts, labels):
    pq.write_table(pa.table({"text": texts, "label": labels}), path)


def pets(path):
    write_set(path, ["cat", "lion", "dog", "wolf"], ["feline", "feline", "canine", "canine"])


def synthetic(name, n, classes, sizes):
    return Dataset(name, name, [""] * n, np.arange(n) % classes, sizes, "x", None, np.arange(n))


def test_every_file_of_a_folder_is_a_set(folder):
    pets(folder / "pets.parquet")
    (folder / "tools.csv").write_text("id,label,text\n1,cut,saw\n2,cut,knife\n3,hit,hammer\n4,hit,club\n")
    (folder / "notes.md").write_text("not a set")
    found = load_datasets(folder=folder)
    assert [(dataset.name, dataset.texts, dataset.labels.tolist()) for dataset in found] == [
        ("pets", ["cat", "lion", "dog", "wolf"], [1, 1, 0, 0]),
        ("tools", ["saw", "knife", "hammer", "club"], [0, 0, 1, 1]),
    ]


def test_the_environment_names_the_folder(folder, monkeypatch):
    pets(folder / "pets.parquet")
    monkeypatch.setenv("TEXTSPECTRA_DATA", str(folder))
    assert load_datasets()[0].source == "pets.parquet"


def test_a_set_of_the_paper_is_found_by_any_of_its_file_names_the_largest_first(folder):
    pets(folder / "reddit50_s.parquet")
    assert load_datasets(["reddit"], folder)[0].source == "reddit50_s.parquet"
    pets(folder / "reddit50.parquet")
    dataset = load_datasets(["reddit"], folder)[0]
    assert (dataset.source, dataset.title) == ("reddit50.parquet", "Reddit")


def hub_repository(cache, repository, folder, table):
    """Lay out files as the hub's own cache does, so that the real code finds them without a network."""
    place = cache / f"datasets--{repository.replace('/', '--')}"
    commit = "0123456789abcdef0123456789abcdef01234567"
    target = place / "snapshots" / commit / folder
    target.mkdir(parents=True)
    reference = place / "refs" / "refs" / "convert" / "parquet"
    reference.parent.mkdir(parents=True)
    reference.write_text(commit)
    half = len(table) // 2
    pq.write_table(table[:half], target / "0000.parquet")
    pq.write_table(table[half:], target / "0001.parquet")


def test_a_set_that_is_not_local_comes_from_the_hub(folder, tmp_path):
    pets(folder / "pets.parquet")
    rows = pa.table({"sentences": [["cat", "lion"], ["dog"], ["wolf"]], "labels": [["f", "f"], ["c"], ["c"]]})
    hub_repository(tmp_path / "hub", "mteb/reddit-clustering", "default/test", rows)
    titles = pa.table({"label": [1, 1, 0, 0], "title": ["A", "B", "C", "D"], "content": ["a a", "b b", "c c", "d d"]})
    hub_repository(tmp_path / "hub", "fancyzhx/dbpedia_14", "dbpedia_14/train", titles)
    reddit, text = load_datasets(["reddit", "dbpedia_text"], folder)
    assert (reddit.texts, reddit.labels.tolist()) == (["cat", "lion", "dog", "wolf"], [1, 1, 0, 0])
    assert reddit.source == "mteb/reddit-clustering"
    assert text.texts == ["a a", "b b", "c c", "d d"]


def test_what_the_hub_does_not_give_is_told_with_the_way_out(folder):
    with pytest.raises(
        UserError, match=r"^mteb/reddit-clustering could not be fetched .* Put the set into a folder that --data names"
    ):
        load_datasets(["reddit"])
    with pytest.raises(UserError, match=r"^BLESS is not on the Hugging Face hub: put bless.parquet, with the columns "):
        load_datasets(["bless"])


def test_bad_folders_and_names(folder, tmp_path):
    with pytest.raises(UserError, match=r"^There is no folder .*nowhere. Give the folder of the labelled sets with "):
        load_datasets(folder=tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"has no data: put files with the columns text and label there \(.parquet, "):
        load_datasets(folder=folder)
    pets(folder / "pets.parquet")
    with pytest.raises(
        UserError, match=r"^There is no set 'cars'. Known are: dbpedia_title, .*, stackexchange, pets.$"
    ):
        load_datasets(["cars"], folder)


def test_a_file_without_label(folder):
    (folder / "a.csv").write_text("text,topic\na,b\n")
    with pytest.raises(UserError, match=r"a.csv has no column 'label' \(it has text, topic\); rename the column that "):
        load_datasets(folder=folder)


def test_a_file_without_text(folder):
    (folder / "a.csv").write_text("title,label\na,b\n")
    with pytest.raises(UserError, match=r"a.csv: there is no column 'text'. The columns are: 'title', 'label'$"):
        load_datasets(folder=folder)


def test_two_files_of_one_name(folder):
    pets(folder / "pets.parquet")
    (folder / "pets.csv").write_text("text,label\na,b\n")
    with pytest.raises(
        UserError, match=r"pets.parquet and pets.csv would be sets of the same name; rename one of them"
    ):
        load_datasets(folder=folder)


def test_a_label_with_one_member(folder):
    write_set(folder / "a.parquet", ["a", "b", "c"], ["x", "lonely", "x"])
    with pytest.raises(UserError, match=r"^a.parquet: the label 'lonely' has one member \(row 2\); a class needs at"):
        load_datasets(folder=folder)


def test_a_single_class(folder):
    write_set(folder / "a.parquet", ["a", "b"], ["x", "x"])
    with pytest.raises(UserError, match=r"^a.parquet: at least 2 different labels are needed, and it has x.$"):
        load_datasets(folder=folder)


def test_rows_without_text_or_label_are_left_out_and_counted(folder):
    write_set(folder / "a.parquet", ["a", " ", "b", "c", None, "d"], ["x", "x", "x", "y", "y", "y"])
    with pytest.warns(UserWarning, match=r"^a.parquet: 2 of 6 rows without text or label are left out.$"):
        dataset = load_datasets(folder=folder)[0]
    assert dataset.texts == ["a", "b", "c", "d"]
    assert dataset.file_rows.tolist() == [0, 2, 3, 5]


def test_facts_are_counted(folder):
    write_set(folder / "b.parquet", ["one two", "three", "four", "five six"], ["x", "x", "y", "y"])
    facts = describe(load_datasets(folder=folder)[0])
    assert (facts.instances, facts.classes, facts.mean_words, facts.imbalance) == (4, 2, 1.5, 0.0)


@needs_data
def test_table_1_of_bless_is_the_papers():
    facts = describe(load_datasets(["bless"], DATA)[0])
    assert (facts.instances, facts.classes, facts.mean_words, facts.imbalance) == (200, 17, 1.0, 0.36)


def test_the_full_sets_give_62_variants():
    instances = {"dbpedia_title": 560_000, "dbpedia_text": 560_000, "newsgroups": 11_314, "bless": 200}
    instances |= {"reddit": 420_464, "stackexchange": 373_850}
    sets = [synthetic(one.name, instances[one.name], 14, one.sizes) for one in PAPER_SETS]
    variants = plan_variants(sets)
    assert len(variants) == 62
    counts = {name: sum(variant.dataset == name for variant in variants) for name in instances}
    assert list(counts.values()) == [16, 16, 1, 1, 14, 14]


def test_a_small_set_has_fewer_variants_and_the_largest_can_be_left_out():
    small = synthetic("a", 1500, 3, (500, 1000, 2000))
    assert [variant.size for variant in plan_variants([small])] == [500, 500, 1000, 1000]
    assert [variant.size for variant in plan_variants([small], max_size=700)] == [500, 500]
    assert [variant.kind for variant in plan_variants([synthetic("b", 300, 3, (500,))], max_size=100)] == ["whole"]


def test_the_rows_of_a_variant_are_the_same_on_any_machine():
    labels = np.repeat([0, 1, 2], [600, 300, 100])
    digests = {
        kind: hashlib.sha256(variant_rows(Variant("a", kind, 200, 3, 7), labels).astype("<i8").tobytes()).hexdigest()
        for kind in ("random", "stratified")
    }
    expected = json.loads(Path(__file__).with_name("variant_rows.json").read_text())
    assert digests == expected


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(1, 200), st.integers(0, 5))
def test_a_stratified_sample_keeps_every_class_in_proportion(members, size, seed):
    labels = np.repeat(np.arange(len(members)), members)
    size = min(max(size, len(members)), len(labels))
    rows = variant_rows(Variant("a", "stratified", size, 0, seed), labels)
    assert len(rows) == len(set(rows.tolist())) == size
    taken = np.bincount(labels[rows], minlength=len(members))
    assert (taken >= 1).all()
    shares = np.array(members) * size / len(labels)
    lifted = np.maximum(1 - shares, 0).sum()  # what the smallest classes get beyond their share
    assert (np.abs(taken - shares) <= 1 + lifted).all()


@pytest.mark.parametrize("shipped_rows", [[], [1, 3], [0, 1, 2, 3]])
def test_vectors_that_come_with_a_set_are_used_and_the_others_made(folder, tmp_path, shipped_rows):
    pytest.importorskip("wordllama")
    pets(folder / "pets.parquet")
    (folder / "wordllama").mkdir()
    if shipped_rows:
        marked = np.arange(1, len(shipped_rows) + 1)[:, None] * np.ones((1, 256))
        np.savez(folder / "wordllama" / "pets.npz", embedding=marked.astype(np.float16), row=shipped_rows)
    dataset = load_datasets(folder=folder)[0]
    source = vector_source(dataset, describe(dataset), "wordllama", load_backend("wordllama"))
    rows = np.array([3, 0, 1])
    vectors = np.load(make_vectors(dataset, source, rows, tmp_path / "vectors"))
    own = embed_texts(dataset.texts, cache=False)
    for vector, row in zip(vectors, rows.tolist(), strict=True):
        expected = np.full(256, shipped_rows.index(row) + 1.0) if row in shipped_rows else own[row]
        assert np.allclose(vector, expected, atol=1e-6)


def test_other_vectors_are_another_source(folder):
    pets(folder / "pets.parquet")
    dataset = load_datasets(folder=folder)[0]
    backend = load_backend("wordllama")
    plain = vector_source(dataset, describe(dataset), "wordllama", backend)
    (folder / "wordllama").mkdir()
    np.savez(folder / "wordllama" / "pets.npz", embedding=np.ones((1, 256)), row=[0])
    assert vector_source(dataset, describe(dataset), "wordllama", backend).key != plain.key
    (folder / "wordllama" / "pets.npz").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"pets.npz cannot be used: it must hold `embedding` and `row`"):
        vector_source(dataset, describe(dataset), "wordllama", backend)
