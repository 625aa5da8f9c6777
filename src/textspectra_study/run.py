"""A study from its beginning to its end: plan, embed, and compute every cell that is not there yet."""

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

from textspectra.embedding import load_backend
from textspectra.embedding.base import Backend
from textspectra.errors import UserError

from .cells import CellProcess, Limits, Work, failure
from .datasets import Dataset, describe, load_datasets
from .results import OK, Manifest, Results, Variant
from .store import Planned, Store, cell_key, package_versions
from .tasks import TASKS, tasks_of
from .variants import plan_variants, variant_rows
from .vectors import Source, make_vectors, vector_source

DEFAULT_LIMITS = Limits(seconds=1800, gigabytes=8)

PACKAGES = (
    "textspectra", "numpy", "scipy", "scikit-learn", "igraph", "leidenalg", "evoc", "umap-learn", "wordllama",
    "sentence-transformers",
)  # fmt: skip
"""What the numbers come from; their versions are written down."""


class Progress(Protocol):
    """What is told while a study runs."""

    def embedding(self, what: str, done: int, total: int) -> None:
        """So many texts of a set have their vectors."""

    def computing(self, done: int, total: int, seconds_left: float | None) -> None:
        """So many cells are finished."""


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
    """Compare the algorithms on labelled sets, or go on where an earlier run stopped.

    Parameters
    ----------
    folder : Path
        Where the study is, or will be.
    data, sets
        Which labelled sets; see :func:`~textspectra_study.datasets.load_datasets`.
    models : sequence of str, default=("wordllama",)
        Embedding models.
    max_size : int, optional
        Leave out samples with more rows; a set that is taken whole is none.
    max_size_of : mapping of str to int, optional
        The same for some models: their cells say that they were not run.
    seed : int, default=0
        The same seed gives the same numbers.
    jobs : int, optional
        Cells at a time, a core each; as many as there are cores by default.
    limits : Limits
        What one cell may use.
    retry : bool, default=False
        Compute cells again that failed, crashed or ran into a limit.
    progress : Progress, optional

    Returns
    -------
    Results
    """
    store = Store(folder)
    store.check()
    backends = {name: load_backend(name) for name in models}
    strangers = set(max_size_of or {}) - set(backends)
    if strangers:
        raise UserError(
            f"There is a size for {', '.join(sorted(strangers))}, but the models are {', '.join(backends)}."
        )
    study = _Study(load_datasets(sets, data), backends, seed, max_size, max_size_of or {})
    store.begin(study.manifest, study.plan)
    telling = progress or _Quiet()
    waiting = []
    for planned in study.plan:
        cell = store.get(planned)
        if cell is not None and not (retry and _went_wrong(cell.status)):
            continue
        reason = study.why_not(planned)
        if reason is None:
            waiting.append(planned)
        else:
            store.put(planned, failure(reason))
    works = study.works(waiting, store.vectors, telling)
    _Pool(store, works, jobs or os.cpu_count() or 1, limits, telling).run(waiting)
    return store.read()


def _went_wrong(status: str) -> bool:
    return status != OK and not status.startswith("not run")


class _Study:
    """What there is to do, and where its rows come from."""

    def __init__(
        self,
        datasets: Sequence[Dataset],
        backends: Mapping[str, Backend],
        seed: int,
        max_size: int | None,
        max_size_of: Mapping[str, int],
    ) -> None:
        self._datasets = {dataset.name: dataset for dataset in datasets}
        facts = {dataset.name: describe(dataset) for dataset in datasets}
        variants = plan_variants(datasets, seed=seed, max_size=max_size)
        if not variants:
            smallest = min(variant.size for variant in plan_variants(datasets, seed=seed))
            raise UserError(
                f"There is no sample with at most {max_size:,} rows; the smallest has {smallest:,}. Give a larger "
                "--max-size."
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
        self._sources: dict[tuple[str, str], Source] = {
            (dataset.name, model): vector_source(dataset, facts[dataset.name], model, backend)
            for dataset in datasets
            for model, backend in backends.items()
        }
        self.plan = [
            Planned(variant, model, task, cell_key(variant, self._sources[variant.dataset, model].key, task))
            for variant in variants
            for model in backends
            for task in tasks_of(variant, [one for one in variants if not self._too_large(one, model)])
        ]

    def why_not(self, planned: Planned) -> str | None:
        """Return the reason why a cell is not to be computed, if there is one."""
        if self._too_large(planned.variant, planned.model):
            return f"not run: n > {self.manifest.max_size_of[planned.model]:,} for {planned.model}"
        limit = TASKS[planned.task].max_rows
        return f"not run: n > {limit:,}" if limit is not None and planned.variant.size > limit else None

    def _too_large(self, variant: Variant, model: str) -> bool:
        limit = self.manifest.max_size_of.get(model)
        return limit is not None and variant.size > limit and variant.kind != "whole"

    def works(self, waiting: Sequence[Planned], folder: Path, progress: Progress) -> dict[Planned, Work]:
        """Embed the rows of all waiting cells, a set and a model at a time, and say which rows each cell has."""
        groups: dict[tuple[str, str], list[Planned]] = defaultdict(list)
        for planned in waiting:
            groups[planned.variant.dataset, planned.model].append(planned)
        works = {}
        for (name, model), cells in groups.items():
            dataset = self._datasets[name]
            # Of finished variants too, so that a study that goes on finds the file of its beginning.
            rows_of = {
                variant: variant_rows(variant, dataset.labels)
                for variant in self.manifest.variants
                if variant.dataset == name and not self._too_large(variant, model)
            }
            rows = np.unique(np.concatenate(list(rows_of.values())))

            def tell(done: int, total: int, what: str = f"{dataset.title} with {model}") -> None:
                progress.embedding(what, done, total)

            file = make_vectors(dataset, self._sources[name, model], rows, folder, progress=tell)
            for cell in cells:
                mine = rows_of[cell.variant]
                positions = np.searchsorted(rows, mine)
                works[cell] = Work(cell.task, file, positions, dataset.labels[mine], cell.variant.seed)
        return works


class _Running(NamedTuple):
    planned: Planned
    process: CellProcess
    start: float


class _Pool:
    """Keeps some processes busy with cells, small ones first, and stores what comes back."""

    def __init__(
        self, store: Store, works: Mapping[Planned, Work], jobs: int, limits: Limits, progress: Progress
    ) -> None:
        self._store, self._works, self._jobs, self._limits, self._progress = store, works, jobs, limits, progress
        self._running: list[_Running] = []
        self._taken: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def run(self, waiting: Sequence[Planned]) -> None:
        queue = sorted(waiting, key=lambda planned: planned.variant.size, reverse=True)
        try:
            while queue or self._running:
                while queue and len(self._running) < self._jobs:
                    planned = queue.pop()
                    process = CellProcess(self._works[planned], self._limits)
                    self._running.append(_Running(planned, process, time.monotonic()))
                self._collect()
                unfinished = len(queue) + len(self._running)
                self._progress.computing(len(waiting) - unfinished, len(waiting), self._seconds_left(queue))
        finally:  # an error or Ctrl-C must leave no process behind
            for running in self._running:
                running.process.stop()

    def _collect(self) -> None:
        """Wait until a cell has ended or has had its time."""
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
        """Guess from the finished cells how long the others take."""
        if not self._taken:
            return None
        finished = [cell for cells in self._taken.values() for cell in cells]

        def seconds(planned: Planned) -> float:
            guess = _time_at(planned.variant.size, self._taken.get(planned.task, finished))
            return min(self._limits.seconds, guess)

        total = sum(map(seconds, queue)) + sum(seconds(one.planned) / 2 for one in self._running)
        return total / self._jobs


def _time_at(size: int, finished: Sequence[tuple[int, float]]) -> float:
    """Guess the time of a cell by a power of its size, fitted to those that are finished; linear with a single size.

    Above 1.5 the power would be that of small samples, which grows faster than the larger ones that are still to come.

    Examples
    --------
    >>> round(_time_at(4000, [(1000, 1.0), (2000, 2.0)])), round(_time_at(4000, [(1000, 1.0)]))
    (4, 4)
    """
    sizes, took = np.array(finished, float).T
    power = 1.0
    if len(np.unique(sizes)) > 1:
        power = float(np.clip(np.polyfit(np.log(sizes), np.log(np.maximum(took, 1e-3)), 1)[0], 0, 1.5))
    nearest = np.argsort(np.abs(np.log(sizes / size)), kind="stable")[:3]
    return float(np.mean(took[nearest] * (size / sizes[nearest]) ** power))
