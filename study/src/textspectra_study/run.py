"""Run a study: plan it, embed the texts, and compute every cell that is missing."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from textspectra import Backend, UsageError, load_model

from .algorithms import DEFAULT, RIVALS
from .cells import CellProcess, Limits, Work, failure
from .datasets import Dataset, describe, load_datasets
from .forecast import value_at
from .results import OK, Cell, Manifest, Results, Variant
from .store import Planned, Store, cell_key, package_versions
from .tasks import TASKS, tasks_of
from .variants import plan_variants, variant_rows
from .vectors import Source, make_vectors, vector_source

DEFAULT_LIMITS = Limits(seconds=1800, gigabytes=8)

PACKAGES = (
    "textspectra", "numpy", "scipy", "scikit-learn", "igraph", "pynndescent", "evoc", "umap-learn",
    "wordllama", "ctranslate2", "tokenizers", "sentence-transformers",
)  # fmt: skip
"""The packages behind the numbers; the manifest records their versions."""

FIRST = ("kmeans_kest", DEFAULT)
"""The tasks that run before all others: k against the size of the sample, by the paper and by default."""


class Progress(Protocol):
    """Receives the progress of a study."""

    def embedding(self, what: str, done: int, total: int) -> None:
        """Report how many texts of a dataset are embedded."""

    def computing(self, done: int, total: int, seconds_left: float | None) -> None:
        """Report how many cells are finished."""


class _Quiet:
    def embedding(self, what: str, done: int, total: int) -> None: ...

    def computing(self, done: int, total: int, seconds_left: float | None) -> None: ...


def run_study(
    folder: Path,
    *,
    data: Path | None = None,
    sets: Sequence[str] | None = None,
    models: Sequence[str] = ("wordllama",),
    max_size: int | None = None,
    max_size_of: Mapping[str, int] | None = None,
    seed: int = 0,
    jobs: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
    retry: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Compare the algorithms on labeled datasets, or continue an earlier run.

    Parameters
    ----------
    folder : Path
        The folder of the study; it need not exist yet.
    data, sets
        The labeled datasets; see :func:`~textspectra_study.datasets.load_datasets`.
    models : sequence of str, default=("wordllama",)
        Embedding models.
    max_size : int, optional
        Leave out samples with more rows. Datasets without subsampling are always included.
    max_size_of : mapping of str to int, optional
        The same for single models; the cells of larger samples are stored as not run.
    seed : int, default=0
        The same seed gives the same numbers.
    jobs : int, optional
        How many cells run in parallel, one core each; by default one per core.
    limits : Limits
        Time and memory of one cell.
    retry : bool, default=False
        Compute cells again that failed, crashed or hit a limit.
    progress : Progress, optional

    Returns
    -------
    Results
    """
    store = Store(folder)
    store.check()
    study = read_study(data=data, sets=sets, models=models, max_size=max_size, max_size_of=max_size_of, seed=seed)
    store.begin(study.manifest, study.plan)
    progress = progress or _Quiet()
    waiting = []
    for planned in study.plan:
        cell = store.get(planned)
        if not is_missing(cell, retry=retry):
            continue
        reason = study.why_not(planned)
        if reason is None:
            waiting.append(planned)
        else:
            store.put(planned, failure(reason))
    works = study.works(waiting, store.vectors, progress)
    _Pool(store, works, jobs or os.cpu_count() or 1, limits, progress).run(waiting)
    return store.read()


def read_study(
    *,
    data: Path | None,
    sets: Sequence[str] | None,
    models: Sequence[str],
    max_size: int | None,
    max_size_of: Mapping[str, int] | None,
    seed: int,
) -> Study:
    """Load the models and the datasets, and plan the cells; the parameters are those of `run_study`."""
    backends = {name: load_model(name) for name in models}
    unknown = set(max_size_of or {}) - set(backends)
    if unknown:
        raise UsageError(
            f"--max-size names {', '.join(sorted(unknown))}, which is not among the models: {', '.join(backends)}."
        )
    return Study(load_datasets(sets, data), backends, seed, max_size, max_size_of or {})


def is_missing(cell: Cell | None, *, retry: bool = False) -> bool:
    """Return whether a cell is to be computed; a cell that was skipped is, because limits may have changed."""
    return cell is None or cell.status.startswith("not run") or (retry and cell.status != OK)


class Study:
    """The plan of a study, and the rows of every cell."""

    def __init__(
        self,
        datasets: Sequence[Dataset],
        backends: Mapping[str, Backend],
        seed: int,
        max_size: int | None,
        max_size_of: Mapping[str, int],
    ) -> None:
        self.datasets = {dataset.name: dataset for dataset in datasets}
        facts = {dataset.name: describe(dataset) for dataset in datasets}
        variants = plan_variants(datasets, seed=seed, max_size=max_size)
        if not variants:
            smallest = min(variant.size for variant in plan_variants(datasets, seed=seed))
            raise UsageError(
                f"No sample has at most {max_size:,} rows; the smallest has {smallest:,}. Use a larger --max-size."
            )
        self.manifest = Manifest(
            datasets=tuple(facts.values()),
            variants=tuple(variants),
            models=tuple(backends),
            seed=seed,
            max_size=max_size,
            max_size_of=dict(max_size_of),
            versions={"Python": platform.python_version(), **package_versions(*PACKAGES)},
        )
        self.sources: dict[tuple[str, str], Source] = {
            (dataset.name, model): vector_source(dataset, facts[dataset.name], model, backend)
            for dataset in datasets
            for model, backend in backends.items()
        }
        self.plan = [
            Planned(variant, model, task, cell_key(variant, self.sources[variant.dataset, model].key, task))
            for variant in variants
            for model in backends
            for task in tasks_of(variant, [other for other in variants if not self._too_large(other, model)])
        ]

    def why_not(self, planned: Planned) -> str | None:
        """Return the reason why a cell is skipped, or None."""
        if self._too_large(planned.variant, planned.model):
            return f"not run: n > {self.manifest.max_size_of[planned.model]:,} for {planned.model}"
        limit = TASKS[planned.task].max_rows
        return f"not run: n > {limit:,}" if limit is not None and planned.variant.size > limit else None

    def _too_large(self, variant: Variant, model: str) -> bool:
        limit = self.manifest.max_size_of.get(model)
        return limit is not None and variant.size > limit and variant.kind != "whole"

    def rows_of(self, name: str, model: str) -> dict[Variant, NDArray[np.intp]]:
        """Return the rows of a dataset's variants; finished ones too, so that a continued study finds its vectors."""
        return {
            variant: variant_rows(variant, self.datasets[name].labels)
            for variant in self.manifest.variants
            if variant.dataset == name and not self._too_large(variant, model)
        }

    def works(self, waiting: Sequence[Planned], folder: Path, progress: Progress) -> dict[Planned, Work]:
        """Embed the rows of all waiting cells, one dataset and model at a time, and return the input of each cell."""
        cells_of: dict[tuple[str, str], list[Planned]] = defaultdict(list)
        for planned in waiting:
            cells_of[planned.variant.dataset, planned.model].append(planned)
        works = {}
        for (name, model), cells in cells_of.items():
            dataset = self.datasets[name]
            rows_of = self.rows_of(name, model)
            rows = np.unique(np.concatenate(list(rows_of.values())))

            def report(done: int, total: int, what: str = f"{dataset.title} with {model}") -> None:
                progress.embedding(what, done, total)

            file = make_vectors(dataset, self.sources[name, model], rows, folder, progress=report)
            for cell in cells:
                cell_rows = rows_of[cell.variant]
                positions = np.searchsorted(rows, cell_rows)
                works[cell] = Work(cell.task, file, positions, dataset.labels[cell_rows], cell.variant.seed)
        return works


class _Running(NamedTuple):
    planned: Planned
    process: CellProcess
    start: float


class _Pool:
    """Computes cells in parallel processes, those about k and small ones first, and stores the outcomes."""

    def __init__(
        self, store: Store, works: Mapping[Planned, Work], jobs: int, limits: Limits, progress: Progress
    ) -> None:
        self._store, self._works, self._jobs, self._limits, self._progress = store, works, jobs, limits, progress
        self._running: list[_Running] = []
        self._taken: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for cell in store.read().cells:
            if cell.ok:
                self._taken[cell.task].append((cell.variant.size, cell.seconds))

    def run(self, waiting: Sequence[Planned]) -> None:
        queue = sorted(waiting, key=lambda planned: (planned.task not in FIRST, planned.variant.size), reverse=True)
        try:
            while queue or self._running:
                while queue and len(self._running) < self._jobs:
                    planned = queue.pop()
                    process = CellProcess(self._works[planned], self._limits)
                    self._running.append(_Running(planned, process, time.monotonic()))
                self._collect()
                unfinished = len(queue) + len(self._running)
                self._progress.computing(len(waiting) - unfinished, len(waiting), self._seconds_left(queue))
        finally:  # leave no process behind after an error or Ctrl-C
            for running in self._running:
                running.process.stop()

    def _collect(self) -> None:
        """Wait until a cell ends or its time is over."""
        next_deadline = min(running.process.deadline for running in self._running)
        ready = wait(
            [running.process.connection for running in self._running], max(0, next_deadline - time.monotonic())
        )
        for running in list(self._running):
            if running.process.connection in ready:
                self._finish(running, running.process.outcome())
            elif time.monotonic() >= running.process.deadline:
                running.process.stop()
                self._finish(running, failure(f"timed out after {self._limits.seconds:g} s"))

    def _finish(self, running: _Running, outcome: Mapping[str, object]) -> None:
        self._running.remove(running)
        self._store.put(running.planned, outcome)
        took = time.monotonic() - running.start
        self._taken[running.planned.task].append((running.planned.variant.size, took))

    def _seconds_left(self, queue: Sequence[Planned]) -> float | None:
        """Estimate from the finished cells how long the others take."""
        if not self._taken:
            return None
        finished = [cell for cells in self._taken.values() for cell in cells]

        def seconds(planned: Planned) -> float:
            measured = self._taken.get(planned.task, finished)
            guess = value_at(planned.variant.size, measured, all_pairs=planned.task in RIVALS)
            return min(self._limits.seconds, guess)

        total = sum(map(seconds, queue)) + sum(seconds(running.planned) / 2 for running in self._running)
        return total / self._jobs
