"""The first and last sections of the page: the claims, and how the study ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..algorithms import DEFAULT, PAPERS_SIX, TITLES
from ..results import Cell, Manifest
from . import paper
from .blocks import Block, Bullets, Code, Heading, Paragraph, Row, Span, Style, Table, Text
from .claims import JudgedClaim
from .findings import Findings
from .statistics import summarize
from .verdicts import RULES, Verdict
from .wording import NOTHING, count, listing, number

STYLES: dict[Verdict, Style] = {
    "holds": "holds",
    "holds in part": "part",
    "does not hold": "fails",
    "not enough data": "unknown",
}


def summary(findings: Findings, claims: Sequence[JudgedClaim]) -> list[Block]:
    """Return what the study covers, whether it is complete, and the main results."""
    results = findings.results
    manifest = results.manifest
    sets = listing(facts.title for facts in manifest.datasets)
    blocks: list[Block] = [
        Heading(1, "The paper’s experiments, run again"),
        Paragraph(
            (
                "This study repeats the experiments of ",
                Span(paper.TITLE, link=paper.ADDRESS),
                f" on {sets}, with embeddings from {listing(manifest.models)}; it has "
                f"{count(len(manifest.variants), 'variant')} and {count(results.n_planned, 'cell')}. A cell is one "
                "algorithm, or the data of one figure, on one variant with one model.",
            )
        ),
    ]
    if len(results.cells) < results.n_planned:
        blocks.append(
            Paragraph(
                Span(
                    f"This study is not complete: {len(results.cells):,} of {results.n_planned:,} cells are finished. "
                    "The numbers will change.",
                    "strong",
                )
            )
        )
    tally = Counter(claim.outcome.verdict for claim in claims)
    judged = len(claims) - tally["not enough data"]
    verdicts: list[str | Span] = []
    for verdict, style in STYLES.items():
        if tally[verdict] and verdict != "not enough data":
            verdicts += [", " if verdicts else ": ", Span(f"{tally[verdict]} {_many(verdict, tally[verdict])}", style)]
    rest = f" There is not enough data for the other {len(claims) - judged}." if judged < len(claims) else ""
    sentence = (f"{judged} of {len(claims)} claims of the paper were tested", *verdicts, f".{rest}")
    return [*blocks, Paragraph(sentence), Bullets(_headlines(findings))]


def _many(verdict: Verdict, n: int) -> str:
    words = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}
    return verdict if n == 1 or verdict not in words else words[verdict]


def _headlines(findings: Findings) -> list[Text]:
    """Return the few numbers that most readers look for."""
    blocks = findings.complete_blocks
    if not blocks:
        return ["No block has results of all six algorithms of the paper yet."]
    lines: list[Text] = []
    for metric, name, best in (
        ("k_relative_error", "Lowest relative error of k", min),
        ("ari", "Highest ARI", max),
        ("nmi", "Highest NMI", max),
        ("cohesion_ratio", "Highest Cohesion Ratio (it grows with the number of clusters)", max),
    ):
        cells = {
            task: [block.cells[task] for block in blocks if task in block.cells] for task in (*PAPERS_SIX, DEFAULT)
        }
        scores = {task: summarize(of_task, metric) for task, of_task in cells.items()}
        means = {task: value.mean for task, value in scores.items() if value is not None}
        default = means.pop(DEFAULT, None)
        if means:
            winner = best(means, key=lambda task: means[task])
            paper_winner = best(PAPERS_SIX, key=lambda task: paper.OVERALL[task][metric])
            lines.append(
                f"{name} among the paper’s six algorithms: {TITLES[winner]}, {number(means[winner])} (in the paper: "
                f"{TITLES[paper_winner]}, {number(paper.OVERALL[paper_winner][metric])}). textspectra’s default has "
                f"{number(default)}."
            )
    return lines


def claims_table(claims: Sequence[JudgedClaim]) -> list[Block]:
    """Return every claim with its verdict."""
    rows = []
    for claim in claims:
        outcome = claim.outcome
        rows.append(
            Row(
                (
                    (claim.sentence, Span(f" ({_where(claim.where)})", "muted")),
                    Span(outcome.verdict, STYLES[outcome.verdict]),
                    outcome.measured,
                    claim.holds_if,
                    outcome.basis or NOTHING,
                )
            )
        )
    return [
        Heading(2, "Claim by claim"),
        Paragraph(RULES),
        Table("", ("Claim", "Verdict", "Measured here", "Holds if", "On"), rows, wordy=True),
    ]


def _where(where: str) -> str:
    return f"Section {where}" if where[0].isdigit() else where


def without_numbers(findings: Findings) -> list[Block]:
    """Return the cells without numbers, and why they have none."""
    missing: dict[str, Counter[str]] = {}
    for cell in findings.results.cells:
        if not cell.ok:
            missing.setdefault(cell.status, Counter())[TITLES.get(cell.task, cell.task)] += 1
    n_missing = sum(tally.total() for tally in missing.values())
    rows = [
        Row((status, f"{tally.total():,}", ", ".join(f"{task} {n:,}" for task, n in tally.items())))
        for status, tally in sorted(missing.items())
    ]
    unfinished = findings.results.n_planned - len(findings.results.cells)
    return [
        Heading(2, "Cells without numbers"),
        Paragraph(
            f"{n_missing:,} of {count(len(findings.results.cells), 'finished cell')} have no numbers; "
            f"{unfinished:,} of {count(findings.results.n_planned, 'planned cell')} are unfinished."
        ),
        *([Table("", ("Reason", "Cells", "Tasks"), rows, wordy=True)] if rows else []),
    ]


def resources(findings: Findings) -> list[Block]:
    """Return run times and memory."""
    tasks = dict.fromkeys([*TITLES, *(cell.task for cell in findings.results.cells)])
    rows = [row for task in tasks if (row := _resources_row(task, findings.ok(task))) is not None]
    return [
        Heading(2, "Run time and memory"),
        Table(
            "Over cells with numbers. Seconds of CPU time, without embedding and scoring; memory is the peak of the "
            "cell’s process.",
            ("Task", "Cells", "Median seconds", "Most seconds", "on", "Median MB", "Highest MB"),
            rows,
        ),
    ]


def _resources_row(task: str, cells: Sequence[Cell]) -> Row | None:
    if not cells:
        return None
    slowest = max(cells, key=lambda cell: cell.seconds)
    memory = [cell.peak_mb for cell in cells]
    return Row(
        (
            TITLES.get(task, task),
            f"{len(cells):,}",
            number(float(np.median([cell.seconds for cell in cells]))),
            number(slowest.seconds),
            f"{slowest.variant.name}, {slowest.model}",
            number(float(np.median(memory)), 0),
            number(max(memory), 0),
        )
    )


def again(findings: Findings) -> list[Block]:
    """Return versions, files and commands."""
    manifest = findings.results.manifest
    sets = ",".join(facts.name for facts in manifest.datasets)
    installed = [f"{name} {version}" for name, version in manifest.versions.items() if version != "not installed"]
    return [
        Heading(2, "Run it again"),
        Code(
            f"textspectra-study run STUDY --data FOLDER --sets {sets} \\\n"
            f"    --models {','.join(manifest.models)} --seed {manifest.seed}{_limits(manifest)}\n"
            "textspectra-study report STUDY"
        ),
        Paragraph(
            (
                "The same seed gives the same samples and the same results. ",
                Span("results.csv", link="results.csv"),
                " has the status and all metrics of each algorithm in each block; ",
                Span("resources.csv", link="resources.csv"),
                " has run time and memory of all cells.",
            )
        ),
        Paragraph(f"Computed with {listing(installed)}."),
    ]


def _limits(manifest: Manifest) -> str:
    for_all = [] if manifest.max_size is None else [str(manifest.max_size)]
    limits = [*for_all, *(f"{model}={size}" for model, size in manifest.max_size_of.items())]
    return "".join(f" --max-size {limit}" for limit in limits)
