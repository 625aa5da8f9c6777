"""What the rest of a study will take on this machine: time, memory and disk."""

from __future__ import annotations

import csv
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from textspectra import UsageError, UserError, evaluate

from .algorithms import RIVALS
from .cells import MEGABYTE
from .forecast import value_at
from .run import Study, is_missing, read_study
from .store import MANIFEST, Planned, Store
from .tasks import TASKS
from .vectors import vectors_file

SAMPLE = 128
"""The texts of each dataset that are embedded to measure a model."""

SCORED_ROWS = (1000, 10_000)
"""The rows of which the scores are computed to measure them; with more rows, they take hardly longer."""

CELL_BYTES = 4096


class Forecast(NamedTuple):
    """What is left of a study.

    Attributes
    ----------
    cells, planned : int
        Cells to compute, and all cells.
    embedding : dict
        For each model the texts to embed, and the seconds.
    seconds : float
        Time of the cells on all cores.
    slowest, largest : tuple of (str, float)
        The cell that takes longest, with its seconds, and the one with most memory, with its megabytes.
    megabytes : float
        Memory if the largest cells run at the same time.
    disk, free : float
        Bytes of vectors and cells, and bytes that are free.
    unknown : list of str
        Tasks that were not measured, and are not counted.
    """

    cells: int
    planned: int
    embedding: dict[str, tuple[int, float]]
    seconds: float
    slowest: tuple[str, float]
    largest: tuple[str, float]
    megabytes: float
    disk: float
    free: float
    unknown: list[str]


def plan_study(folder: Path, *, jobs: int | None = None, measured: Path | None = None, **options: Any) -> Forecast:
    """Estimate what `run_study` will still take with the same options; nothing is written.

    Parameters
    ----------
    folder : Path
        The folder of the study.
    jobs : int, optional
        How many cells run in parallel; by default one per core.
    measured : Path, optional
        The ``resources.csv`` of another study. By default, the finished cells of this one are the measure.
    **options
        See :func:`~textspectra_study.run.read_study`.
    """
    store = Store(folder)
    store.check()
    known = _measured(store, measured)
    study = read_study(**options)
    waiting = [cell for cell in study.plan if study.why_not(cell) is None and is_missing(store.get(cell))]
    cores = jobs or os.cpu_count() or 1
    scoring = _scoring_seconds() if waiting else []
    embedding, widths, disk = _embedding(study, waiting, store.vectors)
    seconds, megabytes = {}, {}
    for cell in (cell for cell in waiting if cell.task in known):
        size, of_task, all_pairs = cell.variant.size, known[cell.task], cell.task in RIVALS
        seconds[cell] = value_at(size, [(rows, took) for rows, took, _ in of_task], all_pairs=all_pairs)
        if TASKS[cell.task].score is not None:
            seconds[cell] += value_at(min(size, SCORED_ROWS[-1]), scoring)
        megabytes[cell] = value_at(size, [(rows, peak) for rows, _, peak in of_task], all_pairs=all_pairs)
        # one more copy of the vectors, because those that were measured may be narrower
        megabytes[cell] += 4 * size * widths.get(cell.model, 0) / MEGABYTE
    place = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return Forecast(
        cells=len(waiting),
        planned=len(study.plan),
        embedding=embedding,
        seconds=max([sum(seconds.values()) / cores, *seconds.values()], default=0.0),
        slowest=_highest(seconds),
        largest=_highest(megabytes),
        megabytes=sum(sorted(megabytes.values())[-cores:]),
        disk=disk + CELL_BYTES * len(waiting),
        free=shutil.disk_usage(place).free,
        unknown=sorted({cell.task for cell in waiting} - known.keys()),
    )


def _highest(values: Mapping[Planned, float]) -> tuple[str, float]:
    if not values:
        return "", 0.0
    cell = max(values, key=lambda planned: values[planned])
    return f"{cell.task} on {cell.variant.name} with {cell.model}", values[cell]


def _measured(store: Store, file: Path | None) -> dict[str, list[tuple[int, float, float]]]:
    """Return rows, seconds and megabytes of finished cells by task."""
    known: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    if file is not None:
        try:
            with file.open(newline="", encoding="utf-8") as stream:
                for row in csv.DictReader(stream):
                    if row["status"] == "ok":
                        known[row["task"]].append((int(row["size"]), float(row["seconds"]), float(row["peak_mb"])))
        except (OSError, KeyError, ValueError) as error:
            raise UserError(f"{file} is not the resources.csv of a study; give another --measured.") from error
    elif (store.folder / MANIFEST).exists():
        for cell in store.read().cells:
            if cell.ok:
                known[cell.task].append((cell.variant.size, cell.seconds, cell.peak_mb))
    if not known:
        raise UsageError(
            f"Nothing is measured yet. Run the smallest samples first, `textspectra-study run {store.folder} "
            "--max-size 1000`, or name the resources.csv of another study with --measured."
        )
    return dict(known)


def _scoring_seconds() -> list[tuple[int, float]]:
    """Measure how long the scores of a clustering take; `resources.csv` does not count them."""
    rng, measured = np.random.default_rng(0), []
    for rows in SCORED_ROWS:
        X, labels = rng.standard_normal((rows, 256), np.float32), np.arange(rows) % 50
        start = time.process_time()  # as the seconds of cells
        evaluate(X, labels, labels[::-1], random_state=0)
        measured.append((rows, time.process_time() - start))
    return measured


def _embedding(
    study: Study, waiting: Sequence[Planned], folder: Path
) -> tuple[dict[str, tuple[int, float]], dict[str, int], float]:
    """Return texts and seconds for each model, its width, and the bytes of all vectors that are not there yet."""
    texts_of: dict[str, tuple[int, float]] = {}
    widths: dict[str, int] = {}
    size = 0.0
    for name, model in dict.fromkeys((cell.variant.dataset, cell.model) for cell in waiting):
        source, dataset = study.sources[name, model], study.datasets[name]
        rows = np.unique(np.concatenate(list(study.rows_of(name, model).values())))
        if vectors_file(source, rows, folder).is_file():
            continue
        sample = [dataset.texts[row] for row in rows[:: max(1, len(rows) // SAMPLE)][:SAMPLE]]
        source.backend.embed(sample[:1])  # loads the model
        start = time.perf_counter()
        widths[model] = source.backend.embed(sample).shape[1]
        took = (time.perf_counter() - start) / len(sample)
        n = len(np.setdiff1d(rows, source.ready_rows))
        texts, seconds = texts_of.get(model, (0, 0.0))
        texts_of[model] = texts + n, seconds + n * took
        size += 4.0 * len(rows) * widths[model]
    return texts_of, widths, size
