"""Write the page of a study: Markdown with figures, one HTML file, and the numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from textspectra import UsageError

from ..algorithms import TITLES
from ..files import make_folder, whole_file
from ..results import METRICS, Cell, Results
from . import sections_cohesion as cohesion
from . import sections_estimate as estimate
from . import sections_run as run
from . import sections_scores as scores
from .blocks import Block, Figures, Heading
from .claims import judge_by
from .drawing import MARK
from .findings import Findings
from .render import FIGURES, to_html, to_markdown
from .statistics import score

INDEX, README, RESULTS, RESOURCES = "index.html", "README.md", "results.csv", "resources.csv"
OUTPUTS = (INDEX, README, RESULTS, RESOURCES)
"""The files beside the folder of figures."""


def page_blocks(results: Results) -> list[Block]:
    """Return the content of the page: k first, then the claims, then all experiments in the paper's order.

    Parameters
    ----------
    results : Results
        They may be incomplete.

    Examples
    --------
    >>> from textspectra_study.results import Manifest
    >>> page_blocks(Results(Manifest((), (), (), 0), [], 0))[0]
    Heading(level=1, text='The paper’s experiments, run again')
    """
    findings = Findings(results)
    claims = judge_by(findings)
    return [
        *run.summary(findings, claims),
        *scores.sizes(findings),
        *scores.found_k(findings),
        *run.claims_table(claims),
        *estimate.datasets(findings),
        *estimate.spectrum(findings),
        *estimate.window(findings),
        *estimate.tau(findings),
        *estimate.zscore(findings),
        *scores.overall(findings),
        *scores.ranks(findings),
        *scores.correlation(findings),
        *scores.profiles(findings),
        *cohesion.readings(findings),
        *cohesion.times(findings),
        *cohesion.settings(findings),
        *run.without_numbers(findings),
        *run.resources(findings),
        *run.again(findings),
    ]


def write_page(results: Results, folder: Path) -> list[Path]:
    """Write the page of a study, which may be incomplete.

    Each file appears complete or not at all; an older file stays until then.

    Parameters
    ----------
    results : Results
    folder : Path
        It is made if it does not exist.

    Returns
    -------
    list of Path
        The files, the HTML page first.

    Raises
    ------
    UsageError
        If the folder cannot be made or written to, or holds other pictures with the names of ours.

    Examples
    --------
    >>> import tempfile
    >>> from textspectra_study.results import Manifest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_page(Results(Manifest((), (), (), 0), [], 0), Path(folder))]
    ['index.html', 'README.md', 'results.csv', 'resources.csv']
    """
    blocks = page_blocks(results)
    pictures = {
        folder / FIGURES / f"{picture.name}.svg": picture.svg
        for block in blocks
        if isinstance(block, Figures)
        for picture in block.pictures
    }
    title = next(block.text for block in blocks if isinstance(block, Heading))
    contents = {
        folder / INDEX: to_html(title, blocks),
        folder / README: to_markdown(blocks),
        folder / RESULTS: results_csv(results),
        folder / RESOURCES: resources_csv(results),
        **pictures,
    }
    make_folder(folder / FIGURES)
    figures = {path: _is_ours(path) for path in (folder / FIGURES).glob("*.svg")}
    foreign = [path for path, ours in figures.items() if path in pictures and not ours]
    if foreign:
        raise UsageError(f"{foreign[0]} exists and is not a figure of a study; choose another folder.")
    for path, content in reversed(contents.items()):  # the page comes last, when all files it links to exist
        with whole_file(path) as stream:
            stream.write(content.encode("utf-8"))
    for path, ours in figures.items():
        if ours and path not in pictures:
            path.unlink()
    return list(contents)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as stream:
        return MARK.encode() in stream.read(1000)


def results_csv(results: Results) -> str:
    """Return the cells of all algorithms as CSV; the same seed gives the same bytes.

    Examples
    --------
    >>> from textspectra_study.results import Manifest
    >>> results_csv(Results(Manifest((), (), (), 0), [], 0)).split(",")[:3]
    ['dataset', 'kind', 'size']
    """
    header = ("dataset", "kind", "size", "classes", "seed", "model", "algorithm", "status", "k", "noise", *METRICS)
    return _csv(header, (_result_row(cell) for cell in results.of(*TITLES)))


def _result_row(cell: Cell) -> list[object]:
    known = [score(cell, name) for name in ("noise", *METRICS)]
    numbers = ["" if value is None else f"{value:.6f}" for value in known]
    return [*cell.variant, cell.model, cell.task, cell.status, cell.values["k"] if cell.ok else "", *numbers]


def resources_csv(results: Results) -> str:
    """Return run time and peak memory of all cells as CSV."""
    header = ("dataset", "kind", "size", "model", "task", "status", "seconds", "peak_mb")
    rows = (
        [*cell.variant[:3], cell.model, cell.task, cell.status, f"{cell.seconds:.3f}", f"{cell.peak_mb:.1f}"]
        for cell in results.cells
    )
    return _csv(header, rows)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
