"""Labeled datasets: the paper's six, from a folder or the Hugging Face hub, or any files of texts and labels."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from textspectra import ExternalError, UsageError, UserError, read_table

from .results import DatasetFacts

DATA_VARIABLE = "TEXTSPECTRA_DATA"
"""The environment variable with the folder of the datasets."""

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz")

SIZES = (500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 350_000)
"""Sample sizes of a large dataset. The paper names only the ends: below 1,000, and above 300,000."""


class HubSource(NamedTuple):
    """A dataset on the Hugging Face hub: its repository, the folder of its Parquet files, and their columns."""

    repository: str
    folder: str
    text: str
    label: str


class PaperSet(NamedTuple):
    """One of the paper's datasets: possible file names, largest first; its place on the hub; its sample sizes."""

    name: str
    title: str
    files: tuple[str, ...]
    hub: HubSource | None
    sizes: tuple[int, ...]


PAPER_SETS = (
    PaperSet(
        "dbpedia_title", "DBpedia Title", ("dbpedia_title", "dbpedia14_titleonly"),
        HubSource("fancyzhx/dbpedia_14", "dbpedia_14/train", "title", "label"), SIZES,
    ),
    PaperSet(
        "dbpedia_text", "DBpedia Text", ("dbpedia_text", "dbpedia14"),
        HubSource("fancyzhx/dbpedia_14", "dbpedia_14/train", "content", "label"), SIZES,
    ),
    PaperSet(
        "newsgroups", "20 Newsgroups", ("newsgroups", "ng20_train_clean"),
        HubSource("SetFit/20_newsgroups", "default/train", "text", "label_text"), (),
    ),
    PaperSet("bless", "BLESS", ("bless",), None, ()),
    PaperSet(
        "reddit", "Reddit", ("reddit", "reddit50", "reddit50_s"),
        HubSource("mteb/reddit-clustering", "default/test", "sentences", "labels"), SIZES[1:],
    ),
    PaperSet(
        "stackexchange", "StackExchange", ("stackexchange", "stackexchange121", "stackexchange121_s"),
        HubSource("mteb/stackexchange-clustering", "default/test", "sentences", "labels"), SIZES[1:],
    ),
)  # fmt: skip
"""In the order of the paper's Table 1. BLESS is not on the hub."""


class Dataset(NamedTuple):
    """Texts with their classes.

    Attributes
    ----------
    name, title : str
        Its name in files, and on the page.
    texts : list of str
    labels : ndarray of int
        The class of each text.
    sizes : tuple of int
        The sizes of its samples; empty for a dataset without subsampling.
    source : str
        The name of its file, or of its repository on the hub.
    file : Path or None
        The file.
    file_rows : ndarray of int
        The row of each text in the source.
    """

    name: str
    title: str
    texts: list[str]
    labels: NDArray[np.intp]
    sizes: tuple[int, ...]
    source: str
    file: Path | None
    file_rows: NDArray[np.intp]


def load_datasets(names: Sequence[str] | None = None, folder: Path | None = None) -> list[Dataset]:
    r"""Read the datasets of a study.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the paper's datasets, or of files in the folder without their suffixes. The default is the paper's
        six, or every file of a folder that has none of them.
    folder : Path, optional
        The folder of the files; by default the environment variable TEXTSPECTRA_DATA. If a dataset of the paper is
        not there, it is downloaded from the Hugging Face hub.

    Returns
    -------
    list of Dataset

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pets.csv").write_text("text,label\ncat,a\nlion,a\ndog,b\nwolf,b\n")
    ...     load_datasets(folder=Path(folder))[0].labels
    array([0, 0, 1, 1])
    """
    place = folder or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    files = _files(place) if place is not None else {}
    if names is None:
        known = any(stem in files for paper_set in PAPER_SETS for stem in paper_set.files)
        names = list(files) if files and not known else [paper_set.name for paper_set in PAPER_SETS]
    return [_find(name, files, place) for name in dict.fromkeys(names)]


def describe(dataset: Dataset) -> DatasetFacts:
    """Count what the paper's Table 1 shows.

    Examples
    --------
    >>> texts, labels = ["one", "two words", "x", "y"], np.array([0, 0, 0, 1])
    >>> facts = describe(Dataset("a", "A", texts, labels, (), "a.csv", None, np.arange(4)))
    >>> facts.instances, facts.classes, facts.mean_words, facts.imbalance
    (4, 2, 1.25, 0.5)
    """
    members = np.bincount(dataset.labels)
    digest = hashlib.sha256()
    for text, label in zip(dataset.texts, dataset.labels.tolist(), strict=True):
        digest.update(f"{label}\0{text}\0".encode("utf-8", "surrogatepass"))
    return DatasetFacts(
        name=dataset.name,
        title=dataset.title,
        instances=len(dataset.texts),
        classes=len(members),
        mean_words=round(sum(len(text.split()) for text in dataset.texts) / len(dataset.texts), 2),
        imbalance=round(float(members.std() / members.mean()), 3),
        source=dataset.source,
        digest=digest.hexdigest()[:32],
    )


def _files(folder: Path) -> dict[str, Path]:
    """Return the tables in a folder by their names without suffixes."""
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Give the folder of the labeled datasets with --data.")
    paths: dict[str, Path] = {}
    for suffix in SUFFIXES:
        for path in sorted(folder.glob(f"[!.]*{suffix}")):
            other = paths.setdefault(path.name.removesuffix(suffix), path)
            if other != path:
                raise UserError(f"{other} and {path.name} would be datasets of the same name; rename one of them.")
    if not paths:
        raise UserError(
            f"The folder {folder} has no data. Put files with the columns text and label there "
            f"({', '.join(SUFFIXES[:4])})."
        )
    return paths


def _find(name: str, files: dict[str, Path], folder: Path | None) -> Dataset:
    paper_set = next((candidate for candidate in PAPER_SETS if candidate.name == name), None)
    if paper_set is None:
        if name not in files:
            known = ", ".join([*(candidate.name for candidate in PAPER_SETS), *files])
            raise UsageError(f"There is no dataset {name!r}; there are {known}.")
        return _dataset(name, name, _local_table(files[name]), SIZES, files[name])
    stem = next((stem for stem in paper_set.files if stem in files), None)
    if stem is not None:
        return _dataset(name, paper_set.title, _local_table(files[stem]), paper_set.sizes, files[stem])
    if paper_set.hub is None:
        raise UsageError(
            f"{paper_set.title} is not on the Hugging Face hub. Put {paper_set.files[0]}.parquet, with the columns "
            f"text and label, into {folder or 'a folder and name it with --data'}, or choose others with --sets."
        )
    return _dataset(name, paper_set.title, _hub_table(paper_set.hub), paper_set.sizes, paper_set.hub.repository)


def _local_table(path: Path) -> pa.Table:
    try:
        table = read_table(str(path), text_column="text").table
    except (UserError, ExternalError) as error:
        raise type(error)(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    if "label" not in table.column_names:
        raise UserError(
            f"{path} has no column 'label' (it has {', '.join(table.column_names)}); rename the column that holds "
            "the class of each text."
        )
    return table.select(["text", "label"])


def _hub_table(hub: HubSource) -> pa.Table:
    """Download a dataset, or find it in the local cache of the hub; the hub has every dataset as Parquet files."""
    from huggingface_hub import snapshot_download

    try:
        snapshot = snapshot_download(
            hub.repository,
            repo_type="dataset",
            revision="refs/convert/parquet",
            allow_patterns=f"{hub.folder}/*.parquet",
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ExternalError(
            f"{hub.repository} could not be downloaded from the Hugging Face hub ({type(error).__name__}). Put the "
            "dataset into a folder and name it with --data, or choose other datasets with --sets."
        ) from error
    parts = sorted(Path(snapshot, hub.folder).glob("*.parquet"))
    if not parts:
        raise UserError(f"{hub.repository} has no folder {hub.folder} on the Hugging Face hub any more.")
    table = pa.concat_tables(pq.read_table(part, columns=[hub.text, hub.label]) for part in parts)
    columns = [table.column(name).combine_chunks() for name in (hub.text, hub.label)]
    if pa.types.is_list(columns[0].type):  # MTEB's clustering datasets hold many texts per row
        columns = [pc.list_flatten(column) for column in columns]
    return pa.table(dict(zip(("text", "label"), columns, strict=True)))


def _dataset(name: str, title: str, table: pa.Table, sizes: tuple[int, ...], origin: Path | str) -> Dataset:
    source = origin.name if isinstance(origin, Path) else origin
    texts = pc.fill_null(table.column("text").cast(pa.large_string()), "").to_pylist()
    labels = pc.fill_null(table.column("label").cast(pa.large_string()), "").to_pylist()
    rows = [row for row, (text, label) in enumerate(zip(texts, labels, strict=True)) if text.strip() and label]
    if len(rows) < len(texts):
        warnings.warn(
            f"{source}: {len(texts) - len(rows):,} of {len(texts):,} rows without text or label are left out.",
            stacklevel=2,
        )
    members = Counter(labels[row] for row in rows)
    alone = next((label for label, count in members.items() if count == 1), None)
    if alone is not None:
        row = next(row for row in rows if labels[row] == alone)
        raise UserError(
            f"{source}: only row {row + 1:,} has the label {alone!r}; a class needs at least 2 rows. Remove that row, "
            "or give it another label."
        )
    if len(members) < 2:
        raise UserError(f"{source}: at least 2 different labels are needed; it has {', '.join(members) or 'none'}.")
    codes = {label: code for code, label in enumerate(sorted(members))}
    return Dataset(
        name=name,
        title=title,
        texts=[texts[row] for row in rows],
        labels=np.array([codes[labels[row]] for row in rows], np.intp),
        sizes=sizes,
        source=source,
        file=origin if isinstance(origin, Path) else None,
        file_rows=np.array(rows, np.intp),
    )
