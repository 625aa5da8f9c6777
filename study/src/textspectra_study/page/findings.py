"""All statistics of a study, each computed once, on first use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from ..algorithms import DEFAULT, PAPERS_SIX, TITLES
from ..results import METRICS, Cell, Results
from .statistics import (
    Block,
    Comparison,
    Correlation,
    SizeTest,
    blocks_of,
    compare,
    correlations,
    is_complete,
    size_tests,
)
from .sweeps import PairTest, SweepPoint, sweep_points, tau_points, window_points, zscore_test
from .wording import count, listing


class Findings:
    """The statistics that the page shows and by which claims are judged.

    Parameters
    ----------
    results : Results

    Examples
    --------
    >>> from textspectra_study.results import Manifest
    >>> Findings(Results(Manifest((), (), (), 0), [], 0)).comparisons["ari"].p is None
    True
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.titles = {facts.name: facts.title for facts in results.manifest.datasets}

    def title(self, dataset: str) -> str:
        """Return the title of a dataset."""
        return self.titles.get(dataset, dataset)

    def ok(self, *tasks: str) -> list[Cell]:
        """Return the cells of some tasks, if they have values."""
        return [cell for cell in self.results.of(*tasks) if cell.ok]

    def basis(self, used: Iterable[tuple[str, str]], n: int, noun: str, plural: str | None = None) -> str:
        """Name the datasets and models behind a number.

        Parameters
        ----------
        used : iterable of (dataset, model)
        n : int
            The number of cells, blocks or pairs.
        noun, plural : str
            What `n` counts.
        """
        pairs = set(used)
        manifest = self.results.manifest
        sets = [facts.title for facts in manifest.datasets if any(facts.name == dataset for dataset, _ in pairs)]
        models = [model for model in manifest.models if any(model == name for _, name in pairs)]
        missing = [facts.title for facts in manifest.datasets if facts.title not in sets]
        which = listing(sets)
        if len(sets) > 2 and len(missing) < 2:
            which = f"all datasets but {missing[0]}" if missing else f"all {len(sets)} datasets"
        return f"{which}; {listing(models)} ({count(n, noun, plural)})"

    def basis_of_cells(self, cells: Sequence[Cell]) -> str:
        """Name the datasets and models behind some cells; a cell that occurs more than once is counted once."""
        distinct = {(cell.variant, cell.model, cell.task) for cell in cells}
        return self.basis(((variant.dataset, model) for variant, model, _ in distinct), len(distinct), "cell")

    @cached_property
    def blocks(self) -> list[Block]:
        """Return the cells of the algorithms, one block per variant and model."""
        return blocks_of(self.results)

    @cached_property
    def complete_blocks(self) -> list[Block]:
        """Return the blocks in which all of the paper's six algorithms have numbers."""
        return [block for block in self.blocks if is_complete(block)]

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """Return the tests of Friedman and Nemenyi for each metric."""
        return {metric: compare(self.blocks, metric) for metric in METRICS}

    @cached_property
    def cells_of_six(self) -> list[Cell]:
        """Return the cells of the paper's six algorithms in complete blocks, so that each counts equally often."""
        return [block.cells[task] for block in self.complete_blocks for task in PAPERS_SIX]

    @cached_property
    def correlations_of_six(self) -> dict[tuple[str, str], Correlation]:
        """Return Spearman correlations over the cells of the paper's six algorithms."""
        return correlations(self.cells_of_six)

    @cached_property
    def correlations_of_all(self) -> dict[tuple[str, str], Correlation]:
        """Return Spearman correlations over the cells of all algorithms."""
        return correlations(self.results.of(*TITLES))

    @cached_property
    def size_tests(self) -> list[SizeTest]:
        """Return tests of the estimated k over sample sizes."""
        return size_tests(self.results)

    @cached_property
    def default_size_tests(self) -> list[SizeTest]:
        """Return the same tests of the k that textspectra finds by default."""
        return size_tests(self.results, task=DEFAULT)

    @cached_property
    def error_size_tests(self) -> list[SizeTest]:
        """Return the same tests of the relative error of the estimated k."""
        return size_tests(self.results, metric="k_relative_error")

    def default_errors(self, points: Iterable[SweepPoint]) -> dict[str, list[float]]:
        """Return the relative errors of k by default, by dataset, on the samples and models of some points."""
        samples = {(point.dataset, point.model, point.size) for point in points}
        errors: dict[str, list[float]] = defaultdict(list)
        for cell in self.ok(DEFAULT):
            variant = cell.variant
            if variant.kind != "random" and (variant.dataset, cell.model, variant.size) in samples:
                errors[variant.dataset].append(float(cell.values["k_relative_error"]))
        return errors

    @cached_property
    def sweep(self) -> list[SweepPoint]:
        """Return the paper's estimate at all settings."""
        return sweep_points(self.results)

    @cached_property
    def window_sweep(self) -> list[SweepPoint]:
        """Return the estimates that differ in the window only."""
        return window_points(self.sweep)

    @cached_property
    def tau_sweep(self) -> list[SweepPoint]:
        """Return the estimates that differ in the sample cap only."""
        return tau_points(self.sweep)

    @cached_property
    def zscore_overall(self) -> PairTest | None:
        """Return the test of z-scored against raw similarities on all datasets."""
        return zscore_test(self.sweep)

    @cached_property
    def zscore_by_dataset(self) -> dict[str, PairTest]:
        """Return the same test for each dataset."""
        tests = {name: zscore_test(p for p in self.sweep if p.dataset == name) for name in self.titles}
        return {name: test for name, test in tests.items() if test is not None}

    @cached_property
    def profiles(self) -> list[Cell]:
        """Return the cells with metrics over k."""
        return self.ok("profile-hac", "profile-kmeans")

    def estimated_k(self, profile: Cell) -> int | None:
        """Return the paper's estimate for the variant and model of a profile, or None if that cell has no numbers."""
        cells = [
            cell for cell in self.ok("kmeans_kest") if (cell.variant, cell.model) == (profile.variant, profile.model)
        ]
        return int(cells[0].values["k"]) if cells else None
