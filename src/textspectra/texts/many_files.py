"""Many files as one input: embed every file, group all texts, describe the groups, write every table."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Rows
from ..core.clusters import Algorithm, Clusters
from ..core.estimate import Method, check_method
from ..core.rows import cosines_to_centers, keep
from ..core.validation import Level
from ..embedding.base import Backend
from ..embedding.embed import Forecast
from ..embedding.hub import is_offline
from ..embedding.registry import DEFAULT_MODEL, FEW_TEXTS, PRESETS, as_backend, chosen_backend, is_auto
from ..errors import ExternalError, NoRowsError, UsageError, UserError
from ..files import Outputs
from ..hygiene import plural
from ..tables.columns import TextTable, notes_on_columns
from ..tables.dates import Reading, Survey, joined_problems, notes_on_dates
from ..tables.read import read_table
from ..tables.source import TableFormat
from ..words.ignore import Ignored, check_stop_words
from ..words.languages import language_shares
from ..words.naming import NameWith, check_name_with
from . import partition
from .clustered import FINEST, clusters_of
from .corpus import Corpus, EmbeddedTexts
from .details import Details, Period, Wanted
from .history import DIGESTS
from .notes import KEEP_ALL, is_foreign, notes_on_ignored, notes_on_reading
from .pipeline import StageProgress, check_algorithm, check_dimension, describe_clustering, fit_clusters, recipe_of
from .result import TextClustering
from .tally import Tally, notes_on_segments

RESULT_TEXTS, RESULT_LEAST = 100_000, 100  # distinct texts in a result with a sample, and texts of each cluster in it
NOTED_FILES = 3  # files whose notes on how they were read are given
HALF_ABOVE = 2**28  # bytes of vectors above which they wait in half precision, which changes cosines by 0.000015
BYTES_PER_TEXT, BYTES_PER_ROW = 48, 40  # on the disk, beside the vector of a text and the columns of the input
ANNOUNCED = 10**8  # bytes; a smaller need is not announced
QUICK = ("wordllama", "model2vec:")  # models that compute vectors as quickly as a cache could be read
MANIFEST = ".textspectra.json"  # lists the tables of an output folder, so that nothing else is ever overwritten

_logger = logging.getLogger(__name__)


class ClusteredFiles(NamedTuple):
    """What :func:`cluster_files` returns."""

    result: TextClustering  # over the distinct texts of all files, or a sample of them
    folder: Path  # of the output tables
    text_column: str


def cluster_files(
    files: Sequence[str],
    folder: str | Path,
    *,
    text_column: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    model: str = DEFAULT_MODEL,
    embeddings: str | None = None,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    method: Method = "auto",
    refine: bool = True,
    random_state: int = 0,
    cache: bool = True,
    keep_all: bool = False,
    ignore: Sequence[str] = (),
    stop_words: Sequence[str] = (),
    time: str | None = None,
    by: Sequence[str] = (),
    show: Sequence[str] = (),
    every: Period | None = None,
    name_with: NameWith | None = None,
    truth: str | None = None,
    table_format: TableFormat | None = None,
    spreadsheet_safe: bool = False,
    add_map: bool = False,
    overwrite: bool = False,
    scheduler: str | None = None,
    finish: Callable[[TextClustering, list[object] | None], TextClustering] | None = None,
    outputs: Outputs | None = None,
    progress: StageProgress | None = None,
) -> ClusteredFiles:
    """Group the texts of many files together, which need not fit into memory.

    The answer is the one of :func:`cluster_texts` for the texts of all files, sorted by path. Each file that has rows
    becomes a table with the further columns cluster, cluster_name and similarity. All tables appear together, or none
    does. Above 268 MB, the vectors of a model wait on the disk in half precision: the groups are as good, but not
    exactly the same. A run that was stopped takes the vectors that it has computed from the cache.

    Parameters
    ----------
    files : sequence of str
        The files, in any order; those in `folder` are left out.
    folder : path
        Where the tables go.
    text_column, encoding, sheet, header_row
        How each file is read, as in :func:`read_table`. The first file decides on the column of the texts.
    embeddings : str, optional
        A column of lists of numbers by which the texts are grouped, as in :func:`cluster_texts`.
    model, algorithm, n_clusters, method, refine, random_state, cache, keep_all, ignore, stop_words
        As in :func:`cluster_texts`.
    time, by, show, every, name_with, progress
        As in :func:`cluster_texts`; columns are given by their names.
    truth : str, optional
        A column of true classes for `finish`.
    table_format : TableFormat, optional
        The format of the tables; by default each file keeps its own.
    spreadsheet_safe : bool, default=False
        Escape cells of CSV and TSV that a spreadsheet would run.
    add_map : bool, default=False
        Also add the columns map_x and map_y, the points of :meth:`TextClustering.map`. Texts that are not in the
        result, because it has a sample, are placed among those that are.
    overwrite : bool, default=False
        Replace the tables of an earlier run.
    scheduler : str, optional
        The address of a Dask scheduler whose workers see the same files, or "local" for workers on this machine.
        Without it, this process goes through the files and keeps vectors in memory maps.
    finish : callable, optional
        Called as ``finish(result, truth)`` before the tables are written, with the true class of each distinct text or
        None. It returns the result to write, for example with other names.
    outputs : Outputs, optional
        Other outputs with which the folder takes its place.

    Returns
    -------
    ClusteredFiles
        With `result`, a :class:`TextClustering` of the distinct texts or of a sample of them, `folder` and
        `text_column`.

    Raises
    ------
    ExternalError
        If the disk has too little room, before the work begins.

    See Also
    --------
    cluster_texts : Group texts that are in memory.

    Examples
    --------
    >>> import json, tempfile, textspectra as ts
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name, (text, vector) in {"a": ("my parcel", [1, 0]), "b": ("my password", [0, 1])}.items():
    ...         line = json.dumps({"text": text, "vector": vector})
    ...         _ = Path(place, f"{name}.jsonl").write_text(line)
    ...     files = [f"{place}/{name}.jsonl" for name in "ab"]
    ...     done = cluster_files(files, f"{place}/out", embeddings="vector", text_column="text", n_clusters=2)
    ...     print(done.result.n_clusters, sorted(path.name for path in done.folder.glob("*.jsonl")))
    2 ['a.jsonl', 'b.jsonl']
    """
    check_algorithm(algorithm)
    check_method(method)
    ignore, stop_words = Ignored.of(ignore).patterns, check_stop_words(stop_words)
    if name_with is not None:
        check_name_with(name_with)
    wanted = Wanted(time, tuple(by), tuple(show), every)
    wanted.check()
    tell: StageProgress = progress or (lambda stage, done, total: None)
    folder = Path(folder)
    folder_free(folder, overwrite=overwrite)
    paths = _inputs(files, folder)
    read = partial(read_table, text_column=text_column, encoding=encoding, sheet=sheet, header_row=header_row)
    place, first = _first_table(paths, read)
    notes = notes_on_columns(first.table, first.text_column) if text_column is None else ()
    read = partial(read, text_column=first.text_column)
    encoder, reason = None, ""
    if not embeddings:
        if model.lower() not in PRESETS and Path(model).is_dir():  # relative to this process, not to a worker
            model = str(Path(model).absolute())
        distinct = _enough_texts(paths, read, keep_all=keep_all, ignore=ignore) if is_auto(model) else {}
        foreign = is_foreign(language_shares([text for _, text in sorted(distinct.items())]))
        encoder, reason = chosen_backend(model, len(distinct), is_foreign=foreign)
        model = encoder.name if reason else model
    namer = encoder
    if embeddings and not is_auto(model):
        namer = as_backend(model)
    every_file = [partition.File.at(number, path) for number, path in enumerate(paths)]
    sizes = [file.state[0] for file in every_file]
    n_vectors, n_others = _expected_bytes(first, sum(sizes) / max(sizes[place], 1), encoder, embeddings)
    half, is_cached = bool(encoder) and n_vectors > HALF_ABOVE, cache and not model.startswith(QUICK)
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    n_bytes = n_vectors // (2 if half else 1) + n_others + sum(sizes)
    check_space(n_bytes, parent, n_vectors if is_cached and encoder else 0)
    with nullcontext(outputs) if outputs else Outputs(folder) as together, together.folder(folder) as waiting:
        job = partition.Job(
            work=waiting / ".textspectra-work", read=read, model=model, offline=is_offline(),
            settings=partition.settings_of(encoder) if encoder else "", embeddings=embeddings,
            cache=is_cached, dtype=np.float16 if half else np.float32, keep_all=keep_all,
            wanted=wanted, truth=truth, table_format=table_format, spreadsheet_safe=spreadsheet_safe,
            add_map=add_map, ignore=ignore,
        )  # fmt: skip
        job.work.mkdir()
        with partition.Workers.at(scheduler) as workers:
            reading = _survey(job, every_file, workers)
            parts = _embed(job, every_file, workers, encoder, tell)
            tell("grouping", 0, 1)
            texts = partition.find_distinct(job, parts)
            new = {file: int(size) for file, size in zip(parts, np.diff(texts.starts), strict=True) if size}
            X = workers.rows(job, new, next(parts[file].dimension for file in new))
            if namer is not None and embeddings:
                check_dimension(namer, X.shape[1], cache)
            fitted = fit_clusters(
                X, texts.counts.astype(float), algorithm, n_clusters, random_state, method=method, refine=refine
            )
            of_rows = keep(fitted.labels[: len(X)])  # a single text was fitted as two
            labels, leaves = np.asarray(of_rows), np.asarray(fitted.leaves)[: len(X)]
            job.save("labels", None, labels.astype(np.int32))
            job.save("similarity", None, np.asarray(keep(cosines_to_centers(X, of_rows, fitted.centers))))
            tell("describing", 0, 1)
            sample = _sample(job, parts, texts, fitted, leaves, workers, reading, random_state)
            options: dict[str, object] = {
                "algorithm": algorithm, "n_clusters": n_clusters, "method": method, "refine": refine,
                "ignore": list(ignore), "stop_words": list(stop_words), **wanted._asdict(), "name_with": name_with,
            }  # fmt: skip
            recipe = {
                "read": f"{plural(len(paths), 'file')}, column {first.text_column!r}",
                DIGESTS: " ".join(part.digest for part in parts.values()),
                **recipe_of(
                    "cluster_files(files, folder",
                    namer,
                    reason,
                    random_state,
                    keep_all,
                    options,
                    is_given=bool(embeddings),
                ),
            }
            result = describe_clustering(
                sample.texts, labels[sample.rows].astype(np.intp), fitted, leaves=leaves[sample.rows],
                algorithm=algorithm, totals=texts.totals, encoder=namer, is_given=bool(embeddings), cache=cache,
                content_notes=_notes_on_content(parts.values(), ignore, is_given=bool(embeddings)),
                languages=language_shares(sample.texts.corpus.read), recipe=recipe, stop_words=stop_words,
            )  # fmt: skip
            notes = (*notes, *_notes_on_files(parts), *result.notes, *sample.notes)
            result = replace(result, details=sample.details, tally=sample.tally, notes=notes)
            result = result if name_with is None else result.name(name_with)
            result = finish(result, sample.classes) if finish else result
            if add_map:
                tell("mapping", 0, 1)
                job.save("map", None, _map_of_all(result, sample.rows, X))
            names = _output_names(parts)
            tasks = [(job, file, waiting / name) for file, name in names.items()]
            workers.each(partial(partition.write_file, clusters=clusters_of(result)), tasks, partial(tell, "writing"))
        shutil.rmtree(job.work)
        for path in waiting.rglob(".textspectra-*"):  # half-written by a worker that was killed
            path.unlink()
        write_manifest(waiting, names.values())
    return ClusteredFiles(result, folder, first.text_column)


def folder_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if the output folder holds something that must stay."""
    if not folder.exists():
        return
    if not overwrite:
        raise UsageError(f"'{folder}' exists already; use --overwrite or another --out")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    with suppress(OSError, ValueError, TypeError):
        files -= {MANIFEST, *json.loads((folder / MANIFEST).read_text())}
    if files or not folder.is_dir():
        raise UsageError(f"'{folder}' holds files that no earlier run wrote; it is not overwritten.")


def write_manifest(folder: Path, names: Iterable[str]) -> None:
    """List the tables of an output folder in it, for :func:`folder_free`."""
    (folder / MANIFEST).write_text(json.dumps(list(names)))


def _inputs(files: Sequence[str], folder: Path) -> list[str]:
    """Return the files sorted by path, without what an earlier run wrote, which a wide pattern matches too."""
    others = sorted(files, key=lambda name: str(Path(name).absolute()))
    others = [name for name in others if folder.absolute() not in Path(name).absolute().parents]
    if not others:
        raise UsageError(f"All of the files are in '{folder}', where the output goes. Give another --out.")
    return others


def _first_table(paths: Sequence[str], read: Callable[[str], TextTable]) -> tuple[int, TextTable]:
    """Return the position and the table of the first file that has rows."""
    for place, path in enumerate(paths):
        with suppress(NoRowsError):
            return place, read(path)
    raise NoRowsError("None of the files has any rows.")


def _enough_texts(
    paths: Sequence[str], read: Callable[[str], TextTable], *, keep_all: bool, ignore: Sequence[str] = ()
) -> dict[str, str]:
    """Return the distinct texts, and as they are read, of as many files as have too many for a slow model."""
    distinct: dict[str, str] = {}
    for path in paths:
        with suppress(NoRowsError), partition.named_in_errors(path):
            corpus = Corpus.from_texts(read(path).texts(), keep_all=keep_all, ignore=ignore)
            distinct.update(zip(corpus.distinct, corpus.read, strict=True))
        if len(distinct) > FEW_TEXTS:
            break
    return distinct


def _expected_bytes(first: TextTable, share: float, encoder: Backend | None, embeddings: str | None) -> tuple[int, int]:
    """Return the bytes of all vectors in float32, and of texts and new columns on the disk.

    All files have `share` times as many texts as the first one with rows.
    """
    corpus = Corpus.from_texts(first.texts())
    if encoder is not None:  # a vector tells how long all of them are
        dimension = np.shape(encoder.embed(corpus.distinct[:1] or ["a"]))[-1]
    else:  # whatever is wrong with given vectors is reported where they are read
        vector = first.table.column(embeddings)[0].as_py() if embeddings in first.table.column_names else None
        dimension = len(vector) if isinstance(vector, list) else 0
    others = len(corpus.distinct) * BYTES_PER_TEXT + len(corpus.rows) * BYTES_PER_ROW
    return int(4 * share * len(corpus.distinct) * dimension), int(share * others)


def check_space(n_bytes: int, place: Path, n_cached: int) -> None:
    """Say how much of the disk and of the cache the run needs; raise an ExternalError if the disk has too little."""
    n_free = shutil.disk_usage(place).free
    needed, free = _in_bytes(n_bytes), _in_bytes(n_free)
    if n_bytes > ANNOUNCED:
        more = f", and up to {_in_bytes(n_cached)} in the cache" if n_cached else ""
        _logger.info("This needs about %s of the disk in '%s'%s; %s are free.", needed, place, more, free)
    if n_bytes > n_free:
        raise ExternalError(
            f"This needs about {needed} of the disk in '{place}', but only {free} are free. Delete something, or "
            "choose another --out."
        )


def _in_bytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"


def _survey(job: partition.Job, files: Sequence[partition.File], workers: partition.Workers) -> Reading:
    """Check that the files have the wanted columns, and decide how the dates of all of them are read."""
    if not job.wanted.names:
        return Survey().reading()
    dates = sum(workers.each(partition.survey_file, [(job, file) for file in files]), Survey())
    if job.wanted.time is not None and not dates.readable:
        raise UserError(f"the column {job.wanted.time!r} holds no dates; all of its values are missing.")
    return dates.reading()


def _embed(
    job: partition.Job, files: Sequence[partition.File], workers: partition.Workers, encoder: Backend | None,
    tell: StageProgress,
) -> dict[partition.File, partition.Embedded]:  # fmt: skip
    """Embed all files; return those with rows."""
    forecast = None if encoder is None else Forecast(encoder.name)

    def report(done: int, total: int) -> None:
        tell("embedding", done, total)
        if forecast is not None:
            forecast(done, total)

    embedded = workers.each(partition.embed_file, [(job, file) for file in files], report)
    parts = {file: part for file, part in zip(files, embedded, strict=True) if part is not None}
    dimensions = {file: part.dimension for file, part in parts.items() if part.totals.distinct}
    if not dimensions and any(part.emptied for part in parts.values()):
        raise UserError("None of the texts has a word left after --ignore; ignore fewer words.")
    if not dimensions:
        raise UserError(
            "None of the texts could be represented; all are blank, say nothing or are unknown to the model."
        )
    first, expected = next(iter(dimensions.items()))
    for file, dimension in dimensions.items():
        if dimension != expected:
            raise UserError(
                f"'{file.path}' has vectors of {dimension} numbers, but the vectors of '{first.path}' have "
                f"{expected}; they must be equally long."
            )
    return parts


def _notes_on_content(
    parts: Collection[partition.Embedded], ignore: Sequence[str], *, is_given: bool
) -> tuple[str, ...]:
    """Return notes on texts that say nothing, and on words to ignore, over all files."""
    without_content, emptied = (
        sum(map(Counter, texts), Counter[str]())
        for texts in zip(*((part.without_content, part.emptied) for part in parts), strict=True)
    )
    unmatched = [pattern for pattern in ignore if all(pattern in part.unmatched for part in parts)]
    on_reading = notes_on_reading(without_content, emptied, hint=KEEP_ALL)
    return (*on_reading, *notes_on_ignored(ignore, unmatched, is_given=is_given))


def _notes_on_files(parts: Mapping[partition.File, partition.Embedded]) -> list[str]:
    """Return the notes on how a few files were read, and how many more files have notes."""
    noted = [part.notes for part in parts.values() if part.notes]
    more = len(noted) - NOTED_FILES
    counted = [f"{plural(more, 'more file was', 'more files were')} read with such notes."] if more > 0 else []
    return [*chain.from_iterable(noted[:NOTED_FILES]), *counted]


class Sample(NamedTuple):
    """The texts of the result, their positions among all, and what else is known of them and of all rows."""

    texts: EmbeddedTexts
    rows: NDArray[np.intp]
    classes: list[object] | None
    details: Details | None
    tally: Tally | None
    notes: list[str]


def _sample(
    job: partition.Job, files: Iterable[partition.File], texts: partition.DistinctTexts, fitted: Clusters,
    leaves: NDArray[np.intp], workers: partition.Workers, reading: Reading, seed: int,
) -> Sample:  # fmt: skip
    """Bring the texts here, or a sample that keeps the sizes of the finest clusters of a report, and count all rows."""
    assert fitted.tree is not None  # noqa: S101 - for the type checker
    levels = [level.k for level in fitted.estimate.suggestions] if fitted.estimate else []
    n_finest = min(max(FINEST, len(fitted.centers), *levels), fitted.tree.n_leaves)
    clusters = fitted.tree.cut(n_finest)[leaves]
    rows = np.arange(len(clusters))
    if len(clusters) > RESULT_TEXTS:
        share = np.maximum(RESULT_TEXTS / len(clusters), RESULT_LEAST / np.bincount(clusters))
        rows = np.flatnonzero(np.random.default_rng(seed).random(len(clusters)) < share[clusters])
    cuts = np.searchsorted(rows, texts.starts)
    tasks = [
        (job, file, rows[low:high] - start)
        for file, start, low, high in zip(files, texts.starts[:-1], cuts[:-1], cuts[1:], strict=True)
    ]
    task = partial(partition.sample_file, reading=reading, n_clusters=len(fitted.centers))
    parts = [part for part in workers.each(task, tasks) if part is not None]
    counts = counts_of_sample(texts.counts, clusters, rows)
    corpus = Corpus.from_counts(list(chain.from_iterable(p.texts for p in parts)), counts, keep_all=job.keep_all)
    corpus = replace(corpus, ignore=job.ignore)
    embedded = EmbeddedTexts(corpus, np.concatenate([part.vectors for part in parts]))
    classes = list(chain.from_iterable(part.classes for part in parts)) if job.truth else None
    columns = [list(chain(*values)) for values in zip(*(part.shown for part in parts), strict=True)]
    details = Details(shown=dict(zip(job.wanted.show, columns, strict=True))) if columns else None
    tally, notes = None, []
    if job.wanted.time is not None or job.wanted.by:
        counted = [part.counts for part in parts]
        tally = Tally.of(counted, job.wanted)
        if job.wanted.time is not None:
            problems = joined_problems(part.problems for part in parts)
            notes += notes_on_dates(job.wanted.time, reading, sum(part.missing for part in parts), problems)
        notes += [*notes_on_segments(counted, job.wanted.by), *tally.notes()]
    return Sample(embedded, rows, classes, details, tally, notes)


def _map_of_all(result: TextClustering, rows: NDArray[np.intp], X: Rows) -> NDArray[np.float32]:
    """Return a point on the map for each row of `X`, of which the result has some `rows`."""
    of_result = result.map_points()
    if len(rows) == len(X):
        return of_result
    points = np.array(result.row_map.place(X))
    points[rows] = of_result
    return points


def counts_of_sample(counts: NDArray[np.intp], clusters: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many rows each sampled text stands for, so that every cluster keeps its number of rows."""
    sampled, total = clusters[rows], np.bincount(clusters, counts)
    scale = total / np.maximum(np.bincount(sampled, counts[rows], len(total)), 1)
    scaled: NDArray[np.intp] = np.floor(counts[rows] * scale[sampled]).astype(np.intp)
    first = np.unique(sampled, return_index=True)[1]
    scaled[first] += (total - np.bincount(sampled, scaled)).round().astype(np.intp)
    return scaled


def _output_names(parts: Mapping[partition.File, partition.Embedded]) -> dict[partition.File, str]:
    """Return the name of each output, in the folders of the input; two of the same name get numbers."""
    parents = {file: Path(file.path).parent for file in parts}
    common = os.path.commonpath(parents.values())
    names: dict[partition.File, str] = {}
    for file, part in parts.items():
        name = parents[file].relative_to(common) / part.name
        number = 2
        while str(name) in names.values():
            name, number = name.with_name(f"{number}-{part.name}"), number + 1
        names[file] = str(name)
    return names
