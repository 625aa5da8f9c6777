"""The second half of the page: algorithms, metrics, and the number of clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from ..algorithms import DEFAULT, PAPERS_SIX, TITLES
from ..results import LOWER_IS_BETTER, METRICS, Cell
from . import figures, paper
from .blocks import Block, Figures, Heading, Paragraph, Row, Span, Table, Text
from .findings import Findings
from .sections_estimate import best, pictured
from .statistics import MIN_BLOCKS, Score, place_among, summarize
from .wording import METRIC_TITLES, NOT_ENOUGH, NOTHING, count, number, p_value, span

ORDER = tuple(sorted(METRICS, key=lambda metric: list(METRIC_TITLES).index(metric)))
LARGE = ("kmeans_kest", "hac_kest", DEFAULT, "hdbscan_knn", "leiden_knn", "evoc")
"""Algorithms that choose k themselves, and cluster samples of 50,000 rows or more."""

COLUMNS = tuple(METRIC_TITLES[metric] for metric in ORDER)


def overall(findings: Findings) -> list[Block]:
    """Return the paper's Table 3: over complete blocks, and over all cells."""
    in_blocks = {
        task: [block.cells[task] for block in findings.complete_blocks if task in block.cells] for task in TITLES
    }
    everywhere = {task: list(findings.results.of(task)) for task in TITLES}
    n_blocks = count(len(findings.complete_blocks), "block")
    return [
        Heading(2, "Overall scores"),
        Paragraph(
            (
                "Mean ± standard deviation. Among the paper’s six algorithms, the best value of a column is ",
                Span("bold", "strong"),
                " and the worst is ",
                Span("italic", "em"),
                ", also in the paper’s rows (the paper marks HAC’s error of k as the best, but K-Means’ is lower). RE "
                "of k (relative error) and DBI are better when lower. ρ grows with the number of clusters, so a "
                "higher value does not mean better clusters. After the six come textspectra’s default (its own k, "
                "refined groups) and reference algorithms. The words in parentheses say where k comes from: “k-est” "
                "is the paper’s rule, “auto k” is estimate_k, “true k” is the number of classes, “eigengap k” and "
                "“silhouette k” are the maxima of those criteria. “Neighbors” means that the algorithm runs on a "
                "graph of 15 nearest neighbors, so it clusters larger samples. Noise is scored as one more cluster.",
            )
        ),
        Paragraph(
            (
                "HAC uses Ward’s linkage; the paper does not say which. On large samples some steps are approximate: "
                "K-Means learns its centers from 16,384 rows, and HAC merges 4,096 small clusters above 10,000 rows. "
                "ρ is computed from sampled pairs above 4,096 rows, and the silhouette from 10,000 rows. Leiden "
                "maximizes the constant Potts model on all pairs, as in the paper, but modularity on neighbors.",
            )
        ),
        _scores_table(
            f"Over the {n_blocks} (variant and model) in which all of the paper’s six algorithms have numbers, so that "
            "all of them are judged by the same data.",
            in_blocks,
        ),
        _scores_table(
            "Over all cells with numbers. Algorithms differ in the samples they can cluster, so do not compare rows.",
            everywhere,
            marked=False,
        ),
    ]


def _scores_table(caption: str, cells: Mapping[str, Sequence[Cell]], *, marked: bool = True) -> Table:
    scores = {task: {metric: summarize(cells[task], metric) for metric in ORDER} for task in TITLES}
    printed = {task: {metric: paper.OVERALL[task].get(metric) for metric in ORDER} for task in PAPERS_SIX}
    means = {task: {m: score.mean if score else None for m, score in row.items()} for task, row in scores.items()}
    extremes, paper_extremes = _extremes(means), _extremes(printed)
    rows = []
    for task in TITLES:
        n = sum(cell.ok for cell in cells[task])
        compared = marked and task in PAPERS_SIX
        columns = [_marked(_score(scores[task][m], n), means[task][m], extremes[m], compared) for m in ORDER]
        rows.append(Row([TITLES[task], f"{n:,}", *columns]))
        if task in PAPERS_SIX:
            values = [_marked(number(printed[task][m], 3), printed[task][m], paper_extremes[m], True) for m in ORDER]
            rows.append(Row(["in the paper", f"{paper.N_BLOCKS}", *values], from_paper=True))
    return Table(caption, ("Algorithm", "Cells", *COLUMNS), rows)


def _extremes(table: Mapping[str, Mapping[str, float | None]]) -> dict[str, tuple[float | None, float | None]]:
    """Return the best and the worst value of the paper's six algorithms by each metric."""
    extremes = {}
    for metric in ORDER:
        column = [table[task][metric] for task in PAPERS_SIX]
        lowest = metric in LOWER_IS_BETTER
        extremes[metric] = (best(column, lowest=lowest), best(column, lowest=not lowest))
    return extremes


def _marked(text: str, value: float | None, ends: tuple[float | None, float | None], of_six: bool) -> Text:
    if not of_six or value is None or ends[0] == ends[1]:
        return text
    return Span(text, "strong" if value == ends[0] else "em" if value == ends[1] else "plain")


def _score(score: Score | None, n: int) -> str:
    if score is None:
        return NOTHING
    spread = "" if score.deviation is None else f" ± {number(score.deviation)}"
    of = "" if score.n == n else f" (n = {score.n:,})"
    return f"{number(score.mean, 3)}{spread}{of}"


def ranks(findings: Findings) -> list[Block]:
    """Return Friedman, Nemenyi and the critical-difference diagrams."""
    tests = [findings.comparisons[metric] for metric in ORDER]
    rows = []
    for test in tests:
        friedman = (number(test.statistic, 1), p_value(test.p))
        lowest = best(list(test.ranks.values()), lowest=True)
        marked = [
            Span(number(test.ranks.get(task)), "strong" if test.ranks.get(task) == lowest is not None else "plain")
            for task in PAPERS_SIX
        ]
        default = number(place_among(test, DEFAULT))
        rows.append(Row([METRIC_TITLES[test.metric], f"{len(test.blocks):,}", *friedman, *marked, default]))
    pictures = [picture for test in tests if (picture := figures.critical_difference_figure(test)) is not None]
    diagrams: list[Block] = [
        Figures(
            pictures,
            "Critical-difference diagrams: mean ranks, 1 is best; a bar joins algorithms that do not differ "
            "significantly (Nemenyi, α = 0.05).",
        )
    ]
    return [
        Heading(2, "Do the algorithms differ?"),
        Paragraph(
            f"Friedman’s test over blocks in which all six have a value; it needs at least {MIN_BLOCKS}. The paper had "
            f"{paper.N_BLOCKS} blocks and found p far below 0.05 for all metrics. {_left_out(findings)} Samples of one "
            "dataset are not independent, here and in the paper. A tie does not prove equality: with fewer blocks, "
            "fewer differences are significant."
        ),
        Table(
            "Friedman’s test, and the mean rank of each algorithm; the best is bold. The last column is the mean place "
            "of textspectra’s default among the six in the same blocks, from 1 to 7; it takes no part in the test.",
            ("Metric", "Blocks", "χ²", "Friedman", *(TITLES[task] for task in (*PAPERS_SIX, DEFAULT))),
            rows,
        ),
        *(diagrams if pictures else [Paragraph(Span(f"There is {NOT_ENOUGH} for the diagrams.", "muted"))]),
    ]


def _left_out(findings: Findings) -> str:
    without = len(findings.blocks) - len(findings.complete_blocks)
    undefined = [test for test in findings.comparisons.values() if "the metric is not defined" in test.left_out]
    reason = f"{without:,} of {count(len(findings.blocks), 'block')} were left out because an algorithm has no result"
    more = "".join(
        f"; {test.left_out['the metric is not defined']} more where {METRIC_TITLES[test.metric]} is not defined"
        for test in undefined
    )
    return f"{reason}{more}."


def correlation(findings: Findings) -> list[Block]:
    """Return the paper's Figure 3."""
    return [
        Heading(2, "Intrinsic and extrinsic metrics"),
        Paragraph(
            "Spearman’s correlation over the cells of all datasets and models: of the paper’s six algorithms in blocks "
            "in which all six have numbers, and of all algorithms in all blocks. Metrics that are better when lower "
            "are negated (−DBI, −RE of k), so a positive number always means agreement. The paper prints a picture "
            "without numbers."
        ),
        *pictured(figures.correlation_figure(findings), "Spearman correlations (the paper’s Figure 3)."),
    ]


def found_k(findings: Findings) -> list[Block]:
    """Return the paper's Figure 4 and its numbers."""
    cells = [cell for cell in findings.ok(*TITLES) if cell.variant.kind != "random"]
    sets = [name for name in findings.titles if any(cell.variant.dataset == name for cell in cells)]
    classes = {name: max(c.variant.classes for c in cells if c.variant.dataset == name) for name in sets}
    rows = []
    for task in figures.WAYS_TO_K:
        of_sets = [[c.values["k"] for c in cells if (c.task, c.variant.dataset) == (task, name)] for name in sets]
        rows.append(Row([TITLES[task], *(number(float(np.median(k)), 0) if k else NOTHING for k in of_sets)]))
    return [
        Heading(2, "The number of clusters"),
        *pictured(
            figures.k_figure(findings),
            "Number of clusters on the stratified samples and whole datasets that each algorithm can cluster, on a "
            "log axis: range, interquartile range and median; diamonds mark the true number (the paper’s Figure 4).",
        ),
        Table(
            "Median number of clusters on the same samples; the first row is the number of classes.",
            ("Algorithm", *map(findings.title, sets)),
            [Row(["Classes", *(Span(f"{classes[name]:,}", "strong") for name in sets)]), *rows],
        ),
    ]


def sizes(findings: Findings) -> list[Block]:
    """Return k and scores over sizes, and Kruskal-Wallis."""
    rules = {"paper’s k": findings.size_tests, TITLES[DEFAULT]: findings.default_size_tests}
    columns = sorted({size for tests in rules.values() for test in tests for size in test.by_size})
    rows = []
    for dataset in findings.titles:
        for rule, test in ((rule, test) for rule, tests in rules.items() for test in tests if test.dataset == dataset):
            means = [number(fmean(test.by_size[size]), 1) if size in test.by_size else NOTHING for size in columns]
            counts = span([len(ks) for ks in test.by_size.values()], 0)
            tests_of_k = (p_value(test.p), p_value(test.p_within), number(test.trend))
            rows.append(Row([f"{findings.title(dataset)}, {rule}", *means, counts, *tests_of_k]))
    empty = [NOTHING] * (len(columns) + 1)
    paper_row = Row(["in the paper", *empty, f"p = {paper.SIZES_P}", NOTHING, NOTHING], from_paper=True)
    at_sizes = tuple(f"n = {size:,}" for size in columns)
    tables: list[Block] = [
        Table(
            "Mean k at each sample size, over models, random and stratified samples; Kruskal-Wallis over sizes, "
            "Friedman’s test over sizes within each model and kind of sample, and Spearman’s correlation of size and "
            "k.",
            ("Dataset", *at_sizes, "Estimates per size", "Kruskal-Wallis", "Friedman", "Trend"),
            [*rows, paper_row],
        ),
        Table(
            "ARI / Cohesion Ratio at each sample size, means over models, random and stratified samples.",
            ("Dataset", "Algorithm", *at_sizes),
            list(_scores_by_size(findings, columns)),
        ),
    ]
    return [
        Heading(2, "Sample size"),
        *pictured(
            figures.sizes_figure(findings),
            "k over the sample size, by the paper’s rule and by estimate_k; means of a random and a stratified sample. "
            "The dashed line is the number of classes.",
        ),
        Paragraph(
            f"The paper reports p = {paper.SIZES_P} for all four datasets. This is exactly the p of eight groups with "
            "one value each, whatever the values (χ² = 7 with 7 degrees of freedom), so the test was probably run on "
            "one estimate per size. In that case it says nothing about the estimator. Here each size has an estimate "
            "for every model and kind of sample. Models differ more than sizes, which hides effects of the size from "
            "Kruskal-Wallis; Friedman’s test, which compares sizes within each model and kind of sample, finds "
            "smaller ones."
        ),
        *(tables if rows else [Paragraph(Span(NOT_ENOUGH, "muted"))]),
    ]


def _scores_by_size(findings: Findings, columns: Sequence[int]) -> Iterator[Row]:
    """Yield the scores of the algorithms that cluster large samples."""
    for dataset in findings.titles:
        for task in LARGE:
            cells = [c for c in findings.ok(task) if c.variant.dataset == dataset and c.variant.kind != "whole"]
            scored = []
            for size in columns:
                scores = [summarize([c for c in cells if c.variant.size == size], m) for m in ("ari", "cohesion_ratio")]
                scored.append(" / ".join(number(score.mean) for score in scores if score) or NOTHING)
            if cells:
                yield Row([findings.title(dataset), TITLES[task], *scored])


def profiles(findings: Findings) -> list[Block]:
    """Return the paper's Appendix D."""
    pictures = figures.profile_figures(findings)
    blocks: list[Block] = [
        Figures(
            [picture],
            f"Metrics over k with {model} (the paper’s Appendix D). Dashed lines: the true k (black) and the paper’s "
            "estimate (gray).",
        )
        for picture, model in pictures
    ]
    return [
        Heading(2, "Metrics over the number of clusters"),
        *(blocks or [Paragraph(Span(f"There is {NOT_ENOUGH} for this figure.", "muted"))]),
    ]
