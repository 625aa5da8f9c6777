"""Reading the labeled datasets of a study: files, the hub, and everything that can be wrong with them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from labeled_sets import DATA, needs_data

from textspectra import ExternalError, UserError
from textspectra_study.datasets import describe, load_datasets


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


def test_a_failed_download_says_what_to_do(folder):
    with pytest.raises(
        ExternalError,
        match=r"^mteb/reddit-clustering could not be downloaded .* Put the dataset into a folder and name it with ",
    ):
        load_datasets(["reddit"])
    with pytest.raises(UserError, match=r"^BLESS is not on the Hugging Face hub. Put bless.parquet, with the columns "):
        load_datasets(["bless"])


def test_bad_folders_and_names(folder, tmp_path):
    with pytest.raises(
        UserError, match=r"^There is no folder .*nowhere. Give the folder of the labeled datasets with "
    ):
        load_datasets(folder=tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"has no data. Put files with the columns text and label there \(.parquet, "):
        load_datasets(folder=folder)
    pets(folder / "pets.parquet")
    with pytest.raises(
        UserError, match=r"^There is no dataset 'cars'; there are dbpedia_title, .*, stackexchange, pets\.$"
    ):
        load_datasets(["cars"], folder)


def test_a_file_without_label(folder):
    (folder / "a.csv").write_text("text,topic\na,b\n")
    with pytest.raises(UserError, match=r"a.csv has no column 'label' \(it has text, topic\); rename the column that "):
        load_datasets(folder=folder)


def test_a_file_without_text(folder):
    (folder / "a.csv").write_text("title,label\na,b\n")
    with pytest.raises(UserError, match=r"a.csv: unknown column 'text'. The columns are: 'title', 'label'$"):
        load_datasets(folder=folder)


def test_two_files_of_one_name(folder):
    pets(folder / "pets.parquet")
    (folder / "pets.csv").write_text("text,label\na,b\n")
    with pytest.raises(
        UserError, match=r"pets.parquet and pets.csv would be datasets of the same name; rename one of them"
    ):
        load_datasets(folder=folder)


def test_a_label_with_one_member(folder):
    write_set(folder / "a.parquet", ["a", "b", "c"], ["x", "lonely", "x"])
    with pytest.raises(UserError, match=r"^a.parquet: only row 2 has the label 'lonely'; a class needs at least 2 "):
        load_datasets(folder=folder)


def test_a_single_class(folder):
    write_set(folder / "a.parquet", ["a", "b"], ["x", "x"])
    with pytest.raises(UserError, match=r"^a.parquet: at least 2 different labels are needed; it has x\.$"):
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
