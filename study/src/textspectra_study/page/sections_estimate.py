"""The first half of the page: the datasets, and the settings of the paper's estimate of k."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from ..algorithms import DEFAULT, TITLES
from ..datasets import PAPER_SETS
from ..results import DatasetFacts, Manifest
from . import figures, paper
from .blocks import Block, Figures, Heading, Paragraph, Row, Span, Table, Text
from .drawing import Picture
from .findings import Findings
from .statistics import ALPHA
from .sweeps import MODERATE_WINDOWS, PairTest, SweepPoint, grouped, mean_error
from .wording import NOT_ENOUGH, NOTHING, listing, number, p_value


def pictured(picture: Picture | None, caption: str) -> list[Block]:
    """Return a figure, or a sentence if there is none."""
    if picture is None:
        return [Paragraph(Span(f"There is {NOT_ENOUGH} for this figure.", "muted"))]
    return [Figures([picture], caption)]


def best(values: list[float | None], *, lowest: bool) -> float | None:
    """Return the best of some values; None does not count."""
    known = [value for value in values if value is not None]
    return (min if lowest else max)(known, default=None)


def datasets(findings: Findings) -> list[Block]:
    """Return the paper's Table 1, and the samples."""
    manifest = findings.results.manifest
    rows = [row for facts in manifest.datasets for row in _dataset_rows(facts)]
    n_blocks = len({(cell.variant, cell.model) for cell in findings.results.cells if cell.ok})
    coverage = list(_coverage(findings))
    return [
        Heading(2, "Datasets"),
        Table(
            "The datasets of this study, each with the paper’s Table 1 below. Imbalance is the coefficient of "
            "variation of the class sizes.",
            ("Dataset", "Instances", "Classes", "Mean words", "Imbalance", "Source"),
            rows,
        ),
        Table(
            f"{sum(n for _, n in coverage):,} of {paper.N_VARIANTS} variants have results (seed {manifest.seed}). The "
            "paper has as many, but prints only the range of their sizes, so the sizes are a reconstruction. A "
            "sampled dataset has a random and a stratified sample of each size.",
            ("Dataset", "Variants", "With results", "Of all six algorithms", "Rows", "Why others are missing"),
            [row for row, _ in coverage],
            wordy=True,
        ),
        Paragraph(
            f"Embeddings are from {listing(manifest.models)}; the paper used {listing(paper.MODELS)}. A block is one "
            f"variant with one model: {n_blocks:,} have results here, {paper.N_BLOCKS} in the "
            f"paper.{_left_out(manifest)}",
        ),
    ]


def _left_out(manifest: Manifest) -> str:
    limits = [] if manifest.max_size is None else [f"of more than {manifest.max_size:,} rows"]
    limits += [f"of more than {size:,} rows with {model}" for model, size in manifest.max_size_of.items()]
    return f" Samples {listing(limits)} were left out." if limits else ""


def _dataset_rows(facts: DatasetFacts) -> list[Row]:
    ours = Row(
        (
            facts.title,
            f"{facts.instances:,}",
            f"{facts.classes:,}",
            number(facts.mean_words),
            number(facts.imbalance, 3),
            facts.source,
        )
    )
    paper_facts = paper.DATASETS.get(facts.title)
    if paper_facts is None:
        return [ours]
    printed = (
        f"{paper_facts.instances:,}",
        f"{paper_facts.classes:,}",
        number(paper_facts.mean_words),
        number(paper_facts.imbalance, 3),
    )
    return [ours, Row(("in the paper", *printed, "Table 1"), from_paper=True)]


def _coverage(findings: Findings) -> Iterator[tuple[Row, int]]:
    """Yield for each dataset the paper's variants, how many have results, and why others have none."""
    variants = {cell.variant for cell in findings.results.cells if cell.ok}
    complete = {cell.variant for cell in findings.cells_of_six}
    sizes_of = {dataset.name: dataset.sizes for dataset in PAPER_SETS}
    for facts in findings.results.manifest.datasets:
        with_results = [variant for variant in variants if variant.dataset == facts.name]
        sizes = sizes_of.get(facts.name)
        planned = 0 if sizes is None else 2 * len(sizes) or 1
        papers = [] if sizes is None else [variant for variant in with_results if variant.size in sizes or not sizes]
        kinds = Counter(variant.size for variant in with_results)
        reasons = _reasons(findings.results.manifest, facts, [size for size in sizes or () if kinds[size] < 2])
        counts = (planned, len(papers), sum(variant in complete for variant in papers))
        rows = listing(f"{size:,}" for size in sorted(kinds))
        yield (
            Row(
                (
                    facts.title,
                    *(f"{n:,}" for n in counts),
                    rows,
                    reasons or ("not finished" if len(papers) < planned else NOTHING),
                )
            ),
            len(papers),
        )


def _reasons(manifest: Manifest, facts: DatasetFacts, missing: Sequence[int]) -> str:
    """Say why samples have no results: the dataset has too few rows, a limit, or the run is not finished."""
    limits = [manifest.max_size_of.get(model, math.inf) for model in manifest.models]
    highest = min(max(limits, default=math.inf), manifest.max_size or math.inf)
    absent = [size for size in missing if size >= facts.instances]
    limited = [size for size in missing if size not in absent and size > highest]
    unfinished = [size for size in missing if size not in absent and size not in limited]
    printed = paper.DATASETS.get(facts.title)
    whole = f" of the paper’s {printed.instances:,}" if printed else ""
    reasons = {
        f"the dataset here has {facts.instances:,}{whole} rows": absent,
        "--max-size": limited,
        "not finished": unfinished,
    }
    return "; ".join(f"{listing(f'{n:,}' for n in sizes)}: {reason}" for reason, sizes in reasons.items() if sizes)


def spectrum(findings: Findings) -> list[Block]:
    """Return the paper's Figure 1."""
    return [
        Heading(2, "The spectrum"),
        Paragraph(
            "k is the number of eigenvalues before the last jump above the threshold. The paper’s text searches the "
            "upper half of the spectrum, but its figure shows the first half. The second half would give a k above "
            "half the number of rows, far from the paper’s numbers, so the first half is used here."
        ),
        *pictured(
            figures.spectrum_figure(findings),
            "The first half of the Laplacian spectrum of the smallest dataset, the normalized differences and the "
            "adaptive threshold (the paper’s Figure 1).",
        ),
    ]


def window(findings: Findings) -> list[Block]:
    """Return the paper's Figure 2 and its numbers."""
    points = findings.window_sweep
    return [
        Heading(2, "The window"),
        Paragraph(
            "Raw similarities, τ = 1,000, one sample of each dataset with each model. If no jump is above the "
            "threshold, a sample has no answer and k = 5 is used."
        ),
        *pictured(figures.window_figure(findings), "Error of k over the window (the paper’s Figure 2)."),
        *_by_setting(findings, points, "window", "w"),
    ]


def tau(findings: Findings) -> list[Block]:
    """Return the ablation of the sample cap."""
    return [
        Heading(2, "The sample cap"),
        Paragraph(
            "Raw similarities, w = 3, datasets with more rows than the smallest cap. The paper prints no numbers for "
            "this ablation. Times are for one core and for all windows together, because they share the spectra."
        ),
        *pictured(figures.tau_figure(findings), "Error of k and run time over the sample cap τ."),
        *_by_setting(findings, findings.tau_sweep, "tau", "τ", seconds=True),
    ]


def _by_setting(
    findings: Findings, points: list[SweepPoint], setting: str, sign: str, *, seconds: bool = False
) -> list[Block]:
    clusters = list(grouped(points, lambda point: getattr(point, setting)).values())
    if not clusters:
        return []
    sets = [name for name in findings.titles if any(point.dataset == name for point in points)]
    lowest = best([mean_error(cluster) for cluster in clusters], lowest=True)
    rows = []
    for cluster in clusters:
        error = mean_error(cluster)
        of_sets = [[point for point in cluster if point.dataset == name] for name in sets]
        cells: list[Text] = [
            f"{getattr(cluster[0], setting):,}",
            Span(number(error), "strong" if error == lowest else "plain"),
            number(fmean(point.fallback for point in cluster)),
        ]
        if seconds:
            cells.append(number(fmean(point.seconds for point in cluster), 1))
        rows.append(Row([*cells, *(number(mean_error(of_set)) if of_set else NOTHING for of_set in of_sets)]))
    rows += _default_row(findings, points, [NOTHING] * (1 + seconds), sets)
    time = ("Seconds",) if seconds else ()
    columns = (sign, "Mean RE of k", "Without an answer", *time, *map(findings.title, sets))
    return [
        Table(
            "Relative error of k (RE), overall and for each dataset; the lowest mean of "
            "the paper’s rule is bold. The last row is estimate_k, textspectra’s rule.",
            columns,
            rows,
        )
    ]


def _default_row(
    findings: Findings, points: list[SweepPoint], between: Sequence[str], sets: Sequence[str]
) -> list[Row]:
    """Return the error of k by default on the same samples, or nothing."""
    errors = findings.default_errors(points)
    if not errors:
        return []
    mean = number(fmean(error for of_set in errors.values() for error in of_set))
    return [Row([TITLES[DEFAULT], mean, *between, *(number(fmean(errors[s])) if errors[s] else NOTHING for s in sets)])]


def zscore(findings: Findings) -> list[Block]:
    """Return the comparison of z-scored with raw similarities, and the matrices."""
    overall = findings.zscore_overall
    default = findings.default_errors(findings.sweep)

    def mean(*names: str) -> str:
        errors = [error for name in names for error in default.get(name, [])]
        return number(fmean(errors), 3) if errors else NOTHING

    rows = [Row((findings.title(name), *_pair(test), mean(name))) for name, test in findings.zscore_by_dataset.items()]
    if overall is not None:
        printed = (number(paper.RAW_ERROR, 3), number(paper.ZSCORED_ERROR, 3), NOTHING, f"p < {ALPHA}", "z-scored")
        rows += [
            Row(("All datasets", *_pair(overall), mean(*default))),
            Row(("in the paper", *printed, NOTHING), from_paper=True),
        ]
    windows = f"{MODERATE_WINDOWS[0]} to {MODERATE_WINDOWS[-1]}"
    table: list[Block] = [
        Table(
            f"Mean relative error of k over windows {windows} and all caps, and Wilcoxon’s signed-rank test over "
            "pairs. The paper finds z-scores significantly better on four datasets, worse on Reddit and StackExchange. "
            "The last column is the error of estimate_k on the same samples.",
            ("Dataset", "Raw", "Z-scored", "Pairs", "Wilcoxon", "Better", TITLES[DEFAULT]),
            rows,
        )
    ]
    return [
        Heading(2, "Z-scored similarities"),
        Paragraph(
            "Windows and caps of one dataset share their data. The pairs are therefore not independent, and p is too "
            "small, here and in the paper. Caps above the number of rows give the same sample and count once in the "
            "test."
        ),
        *(table if rows else [Paragraph(Span(NOT_ENOUGH, "muted"))]),
        *pictured(figures.grid_figure(findings), "Mean relative error of k for every window and cap."),
        *pictured(
            figures.similarity_figure(findings),
            "Cosine similarities of rows sorted by class: raw, and z-scored and rectified (the paper’s Appendix B). "
            "Bright means similar.",
        ),
    ]


def _pair(test: PairTest) -> tuple[str, ...]:
    better = "z-scored" if test.zscored < test.raw else "raw"
    better = better if test.p is not None and test.p < ALPHA else f"({better})"
    return (number(test.raw, 3), number(test.zscored, 3), f"{test.n:,}", p_value(test.p), better)
