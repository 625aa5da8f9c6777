"""Statistics of the algorithms over cells: mean scores, ranks, tests and correlations."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import stats

from ..algorithms import PAPERS_SIX, TITLES
from ..results import EXTRINSIC, INTRINSIC, LOWER_IS_BETTER, Cell, Results

ALPHA = 0.05
MIN_BLOCKS = 5
"""A rank test needs at least this many blocks or pairs."""

AGREEMENT = (*EXTRINSIC, "k_relative_error")
"""The metrics that need the classes."""


def score(cell: Cell, metric: str) -> float | None:
    """Return a metric of a cell, or None if it is not defined.

    Examples
    --------
    >>> from textspectra_study.results import Variant
    >>> cell = Cell(Variant("bless", "whole", 200, 17, 0), "minilm", "optics", "ok", {"ari": 0.25, "silhouette": None})
    >>> score(cell, "ari"), score(cell, "silhouette")
    (0.25, None)
    """
    value = cell.values.get(metric) if cell.ok else None
    return None if value is None or not math.isfinite(value) else float(value)


class Block(NamedTuple):
    """The cells of one variant with one model, by task."""

    dataset: str
    model: str
    cells: Mapping[str, Cell]


def blocks_of(results: Results) -> list[Block]:
    """Group the cells of the algorithms by variant and model."""
    cells: dict[tuple[object, str], dict[str, Cell]] = defaultdict(dict)
    for cell in results.of(*TITLES):
        cells[cell.variant, cell.model][cell.task] = cell
    return [Block(next(iter(block.values())).variant.dataset, model, block) for (_, model), block in cells.items()]


def is_complete(block: Block, tasks: Sequence[str] = PAPERS_SIX) -> bool:
    """Return whether all of the tasks have numbers."""
    return all(task in block.cells and block.cells[task].ok for task in tasks)


class Score(NamedTuple):
    """A metric of an algorithm over cells.

    Attributes
    ----------
    mean : float
    deviation : float or None
        The standard deviation over the cells; None for a single cell.
    n : int
        The number of cells.
    """

    mean: float
    deviation: float | None
    n: int


def summarize(cells: Iterable[Cell], metric: str) -> Score | None:
    """Return mean, standard deviation and number of cells of a metric, or None if no cell has it."""
    values = [value for cell in cells if (value := score(cell, metric)) is not None]
    if not values:
        return None
    return Score(fmean(values), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


class Comparison(NamedTuple):
    """The paper's six algorithms, ranked by one metric within each block.

    Attributes
    ----------
    metric : str
    blocks : list of Block
        The blocks in which all six have a value.
    left_out : dict
        The number of other blocks, by reason.
    ranks : dict
        The mean rank of each algorithm, 1 for the best; empty if there are too few blocks.
    statistic, p : float or None
        Friedman's test; None if there are too few blocks.
    pairs : dict
        The p-value of Nemenyi's test for each ordered pair.
    critical_difference : float
        Algorithms differ significantly if their mean ranks differ by more.
    """

    metric: str
    blocks: list[Block]
    left_out: dict[str, int]
    ranks: dict[str, float]
    statistic: float | None
    p: float | None
    pairs: dict[tuple[str, str], float]
    critical_difference: float

    @property
    def order(self) -> list[str]:
        """The algorithms from best to worst mean rank."""
        return sorted(self.ranks, key=lambda task: self.ranks[task])

    def differ(self, a: str, b: str) -> bool:
        """Return whether two algorithms differ significantly."""
        return self.pairs[a, b] < ALPHA

    def beats(self, a: str, b: str) -> bool:
        """Return whether `a` is significantly better than `b`."""
        return self.differ(a, b) and self.ranks[a] < self.ranks[b]


def compare(blocks: Sequence[Block], metric: str) -> Comparison:
    """Rank the paper's six algorithms by a metric, and test whether they differ: Friedman, then Nemenyi."""
    usable, rows = [], []
    left_out: Counter[str] = Counter()
    for block in blocks:
        values = [score(block.cells[task], metric) if task in block.cells else None for task in PAPERS_SIX]
        if None not in values:
            usable.append(block)
            rows.append(values)
        else:
            left_out["the metric is not defined" if is_complete(block) else "an algorithm has no result"] += 1
    if len(usable) < MIN_BLOCKS:
        return Comparison(metric, usable, dict(left_out), {}, None, None, {}, math.nan)
    from scikit_posthocs import posthoc_nemenyi_friedman  # slow to import

    table = np.array(rows, float) * (1 if metric in LOWER_IS_BETTER else -1)
    ranks = stats.rankdata(table, axis=1)
    if np.ptp(ranks) == 0:  # all algorithms tie in every block
        statistic, p = 0.0, 1.0
    else:
        statistic, p = stats.friedmanchisquare(*table.T)
    nemenyi = np.asarray(posthoc_nemenyi_friedman(table))
    size = len(PAPERS_SIX)
    pairs = {(a, b): float(nemenyi[i, j]) for i, a in enumerate(PAPERS_SIX) for j, b in enumerate(PAPERS_SIX)}
    quantile = stats.studentized_range.ppf(1 - ALPHA, size, np.inf) / math.sqrt(2)
    width = float(quantile * math.sqrt(size * (size + 1) / (6 * len(rows))))
    means = dict(zip(PAPERS_SIX, (fmean(column) for column in ranks.T), strict=True))
    return Comparison(metric, usable, dict(left_out), means, float(statistic), float(p), pairs, width)


def place_among(comparison: Comparison, task: str) -> float | None:
    """Return the mean place of another algorithm among the six in the same blocks: 1 if all six are worse.

    A tie counts half. None if the algorithm has no value in one of the blocks, or there are too few blocks.
    """
    sign = 1 if comparison.metric in LOWER_IS_BETTER else -1
    places = []
    for block in comparison.blocks:
        value = score(block.cells[task], comparison.metric) if task in block.cells else None
        if value is None:
            return None
        gaps = [sign * (value - (score(block.cells[other], comparison.metric) or 0.0)) for other in PAPERS_SIX]
        places.append(1 + sum((gap > 0) + (gap == 0) / 2 for gap in gaps))
    return fmean(places) if comparison.ranks else None


class Correlation(NamedTuple):
    """Spearman's correlation of two metrics over n cells; None if it is not defined."""

    value: float | None
    n: int


def correlations(cells: Iterable[Cell]) -> dict[tuple[str, str], Correlation]:
    """Correlate each intrinsic metric with each metric that needs the classes.

    Metrics that are better when lower (Davies-Bouldin, the relative error of k) are negated.
    """
    cells = list(cells)
    table = {}
    for inner in INTRINSIC:
        for outer in AGREEMENT:
            both = [(score(cell, inner), score(cell, outer)) for cell in cells]
            points = np.array([pair for pair in both if None not in pair], float).reshape(-1, 2)
            signs = [-1 if metric in LOWER_IS_BETTER else 1 for metric in (inner, outer)]
            table[inner, outer] = Correlation(spearman(*(points * signs).T), len(points))
    return table


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Spearman's correlation, or None if there are too few points or one variable is constant.

    Examples
    --------
    >>> spearman([1, 2, 3, 4, 5], [1, 4, 9, 16, 25]), spearman([1, 2, 3, 4, 5], [7, 7, 7, 7, 7])
    (1.0, None)
    """
    if len(x) < MIN_BLOCKS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return round(float(stats.spearmanr(x, y).statistic), 12)


class SizeTest(NamedTuple):
    """Tests of whether a value, such as the estimated k, depends on the sample size.

    Attributes
    ----------
    dataset : str
    by_size : dict
        The values at each size.
    statistic, p : float or None
        Kruskal-Wallis, as in the paper. None if there are fewer than two sizes, or only one value per size: p would be
        the same for any values.
    p_within : float or None
        Friedman's test over sizes within each model and kind of sample. Kruskal-Wallis overlooks small effects of the
        size, because models differ more than sizes. None with fewer than three sizes or two blocks.
    trend : float or None
        Spearman's correlation of size and value.
    """

    dataset: str
    by_size: dict[int, list[float]]
    statistic: float | None
    p: float | None
    p_within: float | None
    trend: float | None


def size_tests(results: Results, *, task: str = "kmeans_kest", metric: str = "k") -> list[SizeTest]:
    """Test for each sampled dataset whether a value of an algorithm depends on the sample size."""
    by_dataset: dict[str, dict[int, dict[tuple[str, str], float]]] = defaultdict(lambda: defaultdict(dict))
    for cell in results.of(task):
        variant = cell.variant
        if cell.ok and variant.kind != "whole":
            by_dataset[variant.dataset][variant.size][cell.model, variant.kind] = float(cell.values[metric])
    return [_size_test(dataset, dict(sorted(values.items()))) for dataset, values in by_dataset.items()]


def _size_test(dataset: str, values: Mapping[int, Mapping[tuple[str, str], float]]) -> SizeTest:
    by_size = {size: list(of_size.values()) for size, of_size in values.items()}
    pooled = [value for of_size in by_size.values() for value in of_size]
    statistic = p = None
    if len(by_size) > 1 and len(pooled) > len(by_size):
        # scipy refuses values that are all equal
        statistic, p = (0.0, 1.0) if len(set(pooled)) == 1 else map(float, stats.kruskal(*by_size.values()))
    sizes = [float(size) for size, of_size in by_size.items() for _ in of_size]
    return SizeTest(dataset, by_size, statistic, p, _p_within(values), spearman(sizes, pooled))


def _p_within(values: Mapping[int, Mapping[tuple[str, str], float]]) -> float | None:
    blocks = set.intersection(*(set(of_size) for of_size in values.values()))
    if len(values) < 3 or len(blocks) < 2:
        return None
    columns = [[of_size[block] for block in sorted(blocks)] for of_size in values.values()]
    if all(column == columns[0] for column in columns):  # scipy divides by zero if all values of a block tie
        return 1.0
    return float(stats.friedmanchisquare(*columns).pvalue)
