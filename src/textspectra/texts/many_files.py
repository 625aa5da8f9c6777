"""Many files as one input: embed every file, group all texts, describe the groups, write every table."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..core.clusters import Algorithm, Clusters
from ..core.validation import Level
from ..embedding.base import Backend
from ..embedding.embed import Forecast
from ..embedding.hub import is_offline
from ..embedding.registry import DEFAULT_MODEL, FEW_TEXTS, PRESETS, chosen_backend, is_auto
from ..errors import NoRowsError, UsageError, UserError
from ..files import Outputs
from ..tables.columns import ClusterColumns, TextTable, notes_on_columns
from ..tables.read import read_table
from ..tables.source import TableFormat
from ..words.languages import language_shares
from .clustered import FINEST, clusters_of
from .corpus import Corpus, EmbeddedTexts
from .details import Details, Period, Wanted
from .history import DIGESTS
from .notes import is_foreign
from .partition import (
    DistinctTexts,
    Embedded,
    File,
    Job,
    embed_partition,
    find_distinct,
    named_in_errors,
    sample_partition,
    save_array,
    save_clusters,
    settings_of,
    write_partition,
)
from .pipeline import check_algorithm, describe_clustering, fit_clusters, recipe_of
from .result import TextClustering
from .work_folder import HALF_ABOVE, Need, check_space, is_quick, remove_work, work_of, working
from .workers import Workers, count_files, survey_files

RESULT_TEXTS = 100_000
"""Distinct texts in the result. If there are more, they are a random sample of about this size."""

RESULT_LEAST = 100
"""Texts of each cluster in such a sample, or all that it has."""

NOTED_FILES = 3
"""Number of files whose notes on how they were read are given."""

MANIFEST = ".textspectra.json"
"""The file in an output folder that lists the tables, so that nothing else is ever overwritten."""

Progress = Callable[[str, int, int], None]
Refine = Callable[[TextClustering, "list[Any] | None"], TextClustering]


class ClusteredFiles(NamedTuple):
    """What a run over many files produced."""

    result: TextClustering  # over the distinct texts of all files, or a sample of them
    folder: Path  # the output tables
    text_column: str
    reused: int  # files that an earlier, interrupted run had embedded already


def cluster_files(
    files: Sequence[str],
    folder: Path,
    *,
    scheduler: str | None = None,
    text_column: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    model: str = DEFAULT_MODEL,
    embeddings: str | None = None,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    seed: int = 0,
    cache: bool = True,
    keep_all: bool = False,
    time: str | None = None,
    by: Sequence[str] = (),
    show: Sequence[str] = (),
    every: Period | None = None,
    truth: str | None = None,
    table_format: TableFormat | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
    restart: bool = False,
    refine: Refine | None = None,
    together: Outputs | None = None,
    progress: Progress | None = None,
) -> ClusteredFiles:
    """Group the texts of many files together, which need not fit into memory.

    It is the same job as :func:`cluster_texts` over the texts of all files, sorted by path, with the same answer. Above
    268 MB, vectors of a model wait on the disk in half precision; the groups are as good, but not the very same.
    Each file that has rows becomes a table with the columns cluster, cluster_name and similarity, in its own format or
    in the given one.
    Finished steps are kept beside `folder` until all is done, so a run that was stopped goes on where it was, or begins
    anew with `restart`. An ExternalError is raised before the work begins if the disk has too little room for it.

    The options are those of ``textspectra cluster``; `embeddings` names a column of lists of numbers. The workers of
    `scheduler` must see the same files ("local": workers on this machine). Without it, this process goes through the
    files and keeps vectors in memory maps. ``refine(result, truth)`` is called before the tables are written, with the
    true class of each distinct text or None, and returns the result to write, for example with other names. The folder
    takes its place with the outputs of `together`, or at the end of this function.
    """
    check_algorithm(algorithm)
    wanted = Wanted(time, tuple(by), tuple(show), every)
    wanted.check()
    tell: Progress = progress or (lambda stage, done, total: None)
    folder_free(folder, overwrite=overwrite)
    given = _without_own(files, folder)
    place, first = _first_table(given, text_column, encoding, sheet, header_row)
    read_notes = notes_on_columns(first.table, first.text_column) if text_column is None else ()
    text_column = first.text_column
    if model.lower() not in PRESETS and Path(model).is_dir():  # relative to this process, not to a worker
        model = str(Path(model).absolute())
    distinct: set[str] = set()
    if is_auto(model) and not embeddings:
        distinct = some_distinct(given, text_column, encoding, sheet, header_row=header_row, keep_all=keep_all)
    foreign = is_foreign(language_shares(sorted(distinct)))
    encoder, reason = (None, "") if embeddings else chosen_backend(model, len(distinct), is_foreign=foreign)
    model = encoder.name if encoder and reason else model
    settings = settings_of(encoder) if encoder else ""
    every_file = [File.at(number, name) for number, name in enumerate(given)]
    need = Need.of(first, place, every_file, encoder, embeddings)
    job = Job(
        work_of(folder), text_column, encoding, model, settings, is_offline(), embeddings,
        cache and not is_quick(model), truth, spreadsheet_safe, sheet, table_format, wanted,
        half=encoder is not None and need.full_precision > HALF_ABOVE, keep_all=keep_all, header_row=header_row,
    )  # fmt: skip
    with working(job, every_file, restart=restart), Workers.at(scheduler) as workers:
        reused = sum(job.embedded("done.json", file).exists() for file in every_file)
        check_space(job, need)
        reading = survey_files(job, every_file, workers)
        tasks = [(job, file) for file in every_file]
        embedded = workers.each(embed_partition, tasks, _telling(tell, encoder))
        found = {file: one for file, one in zip(every_file, embedded, strict=True) if one.rows}
        _check_same_length(found)
        tell("grouping", 0, 1)
        texts = find_distinct(job, list(found), list(found.values()))
        fitted, labels, leaves = _cluster(job, found, texts, workers, algorithm, n_clusters, seed)
        tell("describing", 0, 1)
        sample, rows, classes, details = _sample(job, list(found), texts, _finest(fitted, leaves), workers, seed)
        result = describe_clustering(
            sample,
            labels[rows].astype(np.intp),
            fitted,
            leaves=leaves[rows],
            algorithm=algorithm,
            totals=texts.totals,
            encoder=encoder,
            cache=cache,
            languages=language_shares(sample.corpus.distinct),
            without_content=sum((Counter(one.without_content) for one in found.values()), Counter()),
            recipe={
                "read": f"{len(given):,} {'file' if len(given) == 1 else 'files'}, column {text_column!r}",
                DIGESTS: " ".join(one.digest for one in found.values() if one.digest),
                **recipe_of(encoder, reason, algorithm, n_clusters, seed, keep_all),
            },
        )
        tally, notes = count_files(job, list(found), workers, reading, result.n_clusters)
        result = replace(
            result, details=details, tally=tally, notes=(*read_notes, *_notes_on_files(found), *result.notes, *notes)
        )
        result = refine(result, classes) if refine else result
        _write(job, found, result, workers, tell)
    with nullcontext(together) if together else Outputs(folder) as outputs:
        with outputs.folder(folder) as waiting:
            waiting.rmdir()
            job.tables.rename(waiting)
        outputs.then(partial(remove_work, job.work))
    return ClusteredFiles(result, folder, text_column, reused)


def folder_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if the output folder holds something that must stay."""
    if not folder.exists():
        return
    if not overwrite:
        raise UsageError(f"'{folder}' exists already; use --overwrite or another --out")
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    with suppress(OSError, ValueError, TypeError):
        there -= {MANIFEST, *json.loads((folder / MANIFEST).read_text())}
    if there or not folder.is_dir():
        raise UsageError(f"'{folder}' holds files that no earlier run wrote; it is not overwritten.")


def _without_own(files: Sequence[str], folder: Path) -> list[str]:
    """Leave out what an earlier run wrote to the same place, which a wide pattern matches too, and sort by path.

    So the order in which files are given changes nothing.
    """
    others = sorted(files, key=lambda name: str(Path(name).absolute()))
    others = [name for name in others if folder.absolute() not in Path(name).absolute().parents]
    if not others:
        raise UsageError(f"All of the files are in '{folder}', where the output goes. Give another --out.")
    return others


def _first_table(
    files: Sequence[str], text_column: str | None, encoding: str | None, sheet: str | None, header_row: int | None
) -> tuple[int, TextTable]:
    """Return the first file that has rows, by its position and its table, which decides the column of the texts."""
    for place, name in enumerate(files):
        with suppress(NoRowsError):
            table = read_table(name, text_column=text_column, encoding=encoding, sheet=sheet, header_row=header_row)
            return place, table
    raise NoRowsError("None of the files has any rows.")


def _notes_on_files(found: Mapping[File, Embedded]) -> list[str]:
    """Return notes on how the files were read: those of a few files, and how many more have some."""
    noted = [one.notes for one in found.values() if one.notes]
    more = len(noted) - NOTED_FILES
    counted = [f"{more:,} more {'file was' if more == 1 else 'files were'} read with such notes."] if more > 0 else []
    return [*chain.from_iterable(noted[:NOTED_FILES]), *counted]


def some_distinct(
    files: Sequence[str],
    text_column: str,
    encoding: str | None,
    sheet: str | None = None,
    enough: int = FEW_TEXTS,
    *,
    header_row: int | None = None,
    keep_all: bool = False,
) -> set[str]:
    """Return the distinct texts of the files; files are read only until there are more than `enough`."""
    distinct: set[str] = set()
    for name in files:
        with suppress(NoRowsError), named_in_errors(name):
            table = read_table(name, text_column=text_column, encoding=encoding, sheet=sheet, header_row=header_row)
            distinct.update(Corpus.from_texts(table.texts(), keep_all=keep_all).distinct)
        if len(distinct) > enough:
            break
    return distinct


def _telling(tell: Progress, encoder: Backend | None) -> Callable[[int, int], None]:
    """Return the function that is called with the number of embedded files and of all files."""
    forecast = None if encoder is None else Forecast(encoder.name)

    def report(done: int, total: int) -> None:
        tell("embedding", done, total)
        if forecast is not None:
            forecast(done, total)

    return report


def _check_same_length(found: Mapping[File, Embedded]) -> None:
    with_vectors = [(file, one) for file, one in found.items() if one.usable]
    if not with_vectors:
        raise UserError(
            "None of the texts could be represented; all are blank, say nothing or are unknown to the model."
        )
    first, expected = with_vectors[0]
    for file, one in with_vectors:
        if one.dimension != expected.dimension:
            raise UserError(
                f"'{file.path}' has vectors of {one.dimension} numbers, but those of '{first.path}' have "
                f"{expected.dimension}; they must be equally long."
            )


def _cluster(
    job: Job, files: Mapping[File, Embedded], texts: DistinctTexts, workers: Workers, algorithm: Algorithm,
    n_clusters: int | Level, seed: int,
) -> tuple[Clusters, NDArray[np.int32], NDArray[np.intp]]:  # fmt: skip
    """Group all texts that count, and keep the label and the similarity of each where every worker finds it.

    Return the groups, and the label and the leaf in the tree of each text.
    """
    sizes = {file: int(size) for file, size in zip(files, np.diff(texts.starts), strict=True) if size}
    X = workers.rows(job, sizes, next(files[file].dimension for file in sizes))
    fitted = fit_clusters(X, texts.counts.astype(float), algorithm, n_clusters, seed)
    workers.save_parts(partial(save_clusters, centers=fitted.centers), job, fitted.labels[: len(X)], sizes)
    for what in ("labels", "similarity"):
        save_array(job.grouped(what), np.concatenate([np.load(job.grouped(what, file)) for file in sizes]))
        for file in sizes:
            job.grouped(what, file).unlink()
    return fitted, np.load(job.grouped("labels")), np.asarray(fitted.leaves)[: len(X)]


def _finest(fitted: Clusters, leaves: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the finest cluster of each text that a report can show: in a sample, all of them keep their sizes."""
    assert fitted.tree is not None  # noqa: S101 - for the type checker
    levels = [one.k for one in fitted.estimate.suggestions] if fitted.estimate else []
    finest: NDArray[np.intp] = fitted.tree.cut(min(max(FINEST, len(fitted.centers), *levels), fitted.tree.n_leaves))
    return finest[leaves]


def _sample(
    job: Job, files: Sequence[File], texts: DistinctTexts, labels: NDArray[np.intp], workers: Workers, seed: int
) -> tuple[EmbeddedTexts, NDArray[np.intp], list[Any] | None, Details | None]:
    """Bring the texts here, or a sample of them: with their vectors, positions, true classes and shown columns.

    `labels` are clusters that all have some texts in the sample.
    """
    rows = np.arange(len(labels))
    if len(labels) > RESULT_TEXTS:
        sizes = np.bincount(labels)
        share = np.maximum(RESULT_TEXTS / len(labels), RESULT_LEAST / sizes)
        rows = np.flatnonzero(np.random.default_rng(seed).random(len(labels)) < share[labels])
    cuts = np.searchsorted(rows, texts.starts)
    tasks = [
        (job, file, rows[low:high] - start)
        for file, start, low, high in zip(files, texts.starts[:-1], cuts[:-1], cuts[1:], strict=True)
        if high > low
    ]
    sampled, vectors, truth, columns = zip(*workers.each(sample_partition, tasks), strict=True)
    counts = counts_of_sample(texts.counts, labels, rows)
    corpus = Corpus.from_counts(list(chain.from_iterable(sampled)), counts, keep_all=job.keep_all)
    classes = list(chain.from_iterable(truth)) if job.truth else None
    shown = {name: list(chain(*parts)) for name, parts in zip(job.wanted.show, zip(*columns, strict=True), strict=True)}
    details = Details(shown=shown) if shown else None
    return EmbeddedTexts(corpus, np.concatenate(vectors)), rows, classes, details


def counts_of_sample(counts: NDArray[np.intp], labels: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many rows each sampled text stands for, so that every cluster keeps its number of rows."""
    cluster = labels[rows]
    scale = np.bincount(labels, counts) / np.maximum(np.bincount(cluster, counts[rows], labels.max() + 1), 1)
    scaled: NDArray[np.intp] = np.floor(counts[rows] * scale[cluster]).astype(np.intp)
    first = np.unique(cluster, return_index=True)[1]
    scaled[first] += (np.bincount(labels, counts) - np.bincount(cluster, scaled)).round().astype(np.intp)
    return scaled


def _write(job: Job, files: Mapping[File, Embedded], result: TextClustering, workers: Workers, tell: Progress) -> None:
    outputs = _output_names(files)
    clusters = clusters_of(result)
    _forget_other_tables(job, outputs, clusters)
    tasks = [(job, file, name) for file, name in outputs.items()]
    workers.each(partial(write_partition, clusters=clusters), tasks, lambda *done: tell("writing", *done))
    for path in job.tables.rglob(".textspectra-*"):  # half-written by a process that was killed
        path.unlink()
    (job.tables / MANIFEST).write_text(json.dumps(list(outputs.values())))


def _output_names(files: Mapping[File, Embedded]) -> dict[File, str]:
    """Return the name of each output, in folders as those of the input; two of the same name get numbers."""
    parents = {file: Path(file.path).parent for file in files}
    common = os.path.commonpath(parents.values())
    names: dict[File, str] = {}
    for file, one in files.items():
        name = parents[file].relative_to(common) / one.name
        number = 2
        while str(name) in names.values():
            name, number = name.with_name(f"{number}-{one.name}"), number + 1
        names[file] = str(name)
    return names


def _forget_other_tables(job: Job, outputs: Mapping[File, str], clusters: ClusterColumns) -> None:
    """Remove what an earlier run wrote, unless this one would write the same."""
    decisive = json.dumps([__version__, list(outputs.items()), clusters, vars(job)], default=str)
    digest = hashlib.sha256(decisive.encode())
    for what in ("labels", "similarity"):
        digest.update(job.grouped(what).read_bytes())
    mark = job.work / "written.txt"
    if not mark.exists() or mark.read_text() != digest.hexdigest():
        shutil.rmtree(job.tables)
        job.tables.mkdir()
        mark.write_text(digest.hexdigest())
