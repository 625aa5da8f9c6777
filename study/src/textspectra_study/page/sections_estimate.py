"""The first half of the page: the datasets, and the settings of the paper's estimate of k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from ..algorithms import DEFAULT, TITLES
from ..datasets import PAPER_SETS
from ..results import DatasetFacts, Manifest, Variant
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
    with_results = {(cell.variant, cell.model) for cell in findings.results.cells if cell.ok}
    n_blocks, filled = len(with_results), {variant for variant, _ in with_results}
    places = list(_places(findings, filled))
    return [
        Heading(2, "Datasets"),
        Table(
            "The datasets of this study, each with the paper’s Table 1 below. Imbalance is the coefficient of "
            "variation of the class sizes.",
            ("Dataset", "Instances", "Classes", "Mean words", "Imbalance", "Source"),
            rows,
        ),
        Table(
            f"{sum(n for _, n in places):,} of the paper’s {paper.N_VARIANTS} variants are filled (seed "
            f"{manifest.seed}). A sampled dataset has a random and a stratified sample of each size.",
            ("Dataset", "Variants", "Filled", "Rows", "Why the others are missing"),
            [row for row, _ in places],
            wordy=True,
        ),
        Paragraph(
            f"Embeddings by {listing(manifest.models)}; the paper used {listing(paper.MODELS)}. A block is a variant "
            f"with a model: {n_blocks:,} have results here, {paper.N_BLOCKS} in the paper.{_left_out(manifest)}",
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
    theirs = paper.DATASETS.get(facts.title)
    if theirs is None:
        return [ours]
    printed = (
        f"{theirs.instances:,}",
        f"{theirs.classes:,}",
        number(theirs.mean_words),
        number(theirs.imbalance, 3),
    )
    return [ours, Row(("in the paper", *printed, "Table 1"), from_paper=True)]


def _places(findings: Findings, filled: set[Variant]) -> Iterator[tuple[Row, int]]:
    """Yield for each dataset the paper's variants, how many have results, and what hinders the others."""
    sizes_of = {one.name: one.sizes for one in PAPER_SETS}
    for facts in findings.results.manifest.datasets:
        mine = [variant for variant in filled if variant.dataset == facts.name]
        rows = sorted({variant.size for variant in mine})
        sizes = sizes_of.get(facts.name)
        total = 0 if sizes is None else 2 * len(sizes) or 1
        n = 0 if sizes is None else sum(variant.size in sizes or not sizes for variant in mine)
        missing = [size for size in sizes or () if size not in rows]
        reasons = _hindrances(findings.results.manifest, facts, missing)
        hindered = reasons or ("no cell is finished" if n < total else NOTHING)
        yield Row((facts.title, f"{total:,}", f"{n:,}", listing(f"{size:,}" for size in rows), hindered)), n


def _hindrances(manifest: Manifest, facts: DatasetFacts, missing: Sequence[int]) -> str:
    """Say why sizes have no results: the dataset has too few rows, a limit, or the run is not finished."""
    here = [size for size in missing if size < facts.instances]
    absent = [size for size in missing if size >= facts.instances]
    limited = [size for size in here if manifest.max_size is not None and size > manifest.max_size]
    unfinished = [size for size in here if size not in limited]
    of_paper = paper.DATASETS.get(facts.title)
    whole = f" of the paper’s {of_paper.instances:,}" if of_paper else ""
    reasons = {
        f"the dataset here has {facts.instances:,}{whole} rows": absent,
        f"--max-size {manifest.max_size}": limited,
        "no cell is finished": unfinished,
    }
    said = [f"{listing(f'{size:,}' for size in sizes)}: {reason}" for reason, sizes in reasons.items() if sizes]
    return "; ".join(said)


def spectrum(findings: Findings) -> list[Block]:
    """Return the paper's Figure 1."""
    return [
        Heading(2, "The spectrum"),
        Paragraph(
            "k is the number of eigenvalues before the last jump above the threshold. The paper’s text searches the "
            "upper half of the spectrum, but its figure shows the first half. Only the first half reproduces the "
            "paper’s numbers, so it is used here."
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
        rows.append(Row([*cells, *(number(mean_error(some)) if some else NOTHING for some in of_sets)]))
    rows += _default_row(findings, points, [NOTHING] * (1 + seconds), sets)
    time = ("Seconds",) if seconds else ()
    columns = (sign, "Mean RE of k", "Without an answer", *time, *map(findings.title, sets))
    return [
        Table(
            "Relative error of k (RE), overall and for each dataset; the lowest mean of "
            "the paper’s rule is bold. The last row is textspectra’s own rule.",
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
            "The last column is the error of textspectra’s own rule on the same samples.",
            ("Dataset", "Raw", "Z-scored", "Pairs", "Wilcoxon", "Better", TITLES[DEFAULT]),
            rows,
        )
    ]
    return [
        Heading(2, "Z-scored similarities"),
        Paragraph(
            "Windows and caps of one dataset share their data. The pairs are therefore not independent, and p is too "
            "small, here and in the paper. Caps above the number of rows give the same sample and count once."
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
