"""The page of a study, as files and in a browser, made of cells as a run leaves them."""

import csv
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import launch, needs_browser
from markdown_it import MarkdownIt
from study_factory import changed, make_results

from textspectra import UserError
from textspectra_study.algorithms import PAPERS_SIX, TITLES
from textspectra_study.page import OUTPUTS, write_page
from textspectra_study.page.paper import CLAIMS
from textspectra_study.page.write import results_csv

HOSTILE = "<img src=x onerror=globalThis.hacked=1> | *a* _b_ $c$ `d` & [e](f)"


SECTIONS = [
    "The paper’s experiments, run again",
    "Sample size",
    "The number of clusters",
    "Claim by claim",
    "Datasets",
    "The spectrum",
    "The window",
    "The sample cap",
    "Z-scored similarities",
    "Overall scores",
    "Do the algorithms differ?",
    "Intrinsic and extrinsic metrics",
    "Metrics over the number of clusters",
    "Readings of the Cohesion Ratio",
    "Settings of the rivals",
    "Cells without numbers",
    "Run time and memory",
    "Run it again",
]


@pytest.fixture(scope="module")
def results():
    return make_results(titles=("BLESS", "Reddit", HOSTILE), models=("word/llama",))


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "page"
    write_page(results, folder)
    return folder


@pytest.fixture(scope="module")
def markdown(folder):
    return (folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def html(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_section_is_there_with_k_first(markdown, html):
    tokens = MarkdownIt("commonmark").parse(markdown)
    headings = [b.children[0].content for a, b in pairwise(tokens) if a.type == "heading_open"]
    assert headings == SECTIONS
    assert re.findall(r"<h[12] id=[^>]*>([^<]*)</h", html) == SECTIONS


def test_markdown_shows_every_figure_and_none_is_left_over(folder, markdown):
    shown = re.findall(r"\]\((figures/[^)]*)\)", markdown)
    assert sorted(shown) == sorted(str(path.relative_to(folder)) for path in (folder / "figures").iterdir())
    names = {Path(name).stem for name in shown}
    wanted = {"spectrum", "window", "tau", "grid", "similarity", "correlation", "k", "sizes", "profiles-1-word-llama"}
    assert wanted | {"cd-ari", "cd-cohesion-ratio", "cd-k-relative-error"} <= names
    assert len(names) == len(wanted) + 10


def test_figures_are_well_formed_compact_and_all_in_the_page(folder, html):
    for path in (folder / "figures").iterdir():
        root = ElementTree.parse(path).getroot()  # noqa: S314 - our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        svg = path.read_text(encoding="utf-8")
        assert not re.search(r"<script|<!--|<metadata", svg)
        values = [value for element in root.iter() for value in element.attrib.values()]
        assert not [value for value in values if re.search(r"\d\.\d{3}", value)]  # coordinates have two decimals
    assert html.count("<svg ") == len(list((folder / "figures").iterdir()))


def test_markdown_tables_survive_any_name(markdown, html):
    parsed = MarkdownIt("commonmark").enable("table").parse(markdown)
    assert [token.type for token in parsed].count("table_open") == html.count("<table")
    texts = ["".join(child.content for child in token.children or []) for token in parsed if token.type == "inline"]
    assert HOSTILE in texts  # as a cell of its own, sign for sign
    assert not [token for token in parsed if token.type in ("html_block", "html_inline")]


def test_names_are_escaped_in_html(html):
    assert "<img" not in html
    assert "&lt;img src=x" in html


def test_nothing_that_is_not_a_number_is_printed(markdown):
    assert not re.search(r"\b(nan|None|inf)\b", markdown, re.IGNORECASE)


def test_a_second_page_has_the_same_bytes_and_no_stale_figure(tmp_path):
    few_figures = changed(
        make_results(titles=("BLESS",), models=("m",)),
        lambda cell: cell if cell.task in ("spectrum", "similarity", "optics") else None,
    )
    write_page(few_figures, tmp_path / "first")
    foreign = tmp_path / "second" / "figures" / "mine.svg"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("<svg/>")
    stale = tmp_path / "second" / "figures" / "profiles-9-other.svg"
    stale.write_bytes((tmp_path / "first" / "figures" / "k.svg").read_bytes())
    written = write_page(few_figures, tmp_path / "second")
    assert [path.name for path in written[:4]] == list(OUTPUTS)
    assert foreign.exists()
    assert not stale.exists()
    foreign.unlink()
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")


def test_somebody_elses_picture_is_not_replaced(tmp_path):
    (tmp_path / "figures").mkdir()
    theirs = tmp_path / "figures" / "cd-ari.svg"
    theirs.write_text("<svg/>")
    small = changed(
        make_results(titles=("my texts",), models=("m",)), lambda cell: cell if cell.task in PAPERS_SIX else None
    )
    with pytest.raises(UserError, match=r"cd-ari\.svg exists and is not a figure of a study; choose another folder\.$"):
        write_page(small, tmp_path)
    assert theirs.read_text() == "<svg/>"
    assert not (tmp_path / "index.html").exists()


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    empty = make_results(titles=(), models=())
    with pytest.raises(UserError, match=r"^The folder .*page.figures cannot be made: Not a directory\.$"):
        write_page(empty, tmp_path / "file" / "page")


def test_an_empty_study_has_a_page_that_says_so(tmp_path):
    empty = replace(make_results(titles=(), models=("m",)), n_planned=120)
    write_page(empty, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "not complete: 0 of 120 cells are finished" in text
    assert f"0 of {len(CLAIMS)} claims of the paper were tested. There is not enough data for the other" in text
    assert list((tmp_path / "figures").iterdir()) == []


def test_the_table_of_results_has_every_algorithm_cell_and_no_times(results, folder):
    rows = list(csv.DictReader((folder / "results.csv").read_text(encoding="utf-8").splitlines()))
    cells = list(results.of(*TITLES))
    assert len(rows) == len(cells)
    for row, cell in zip(rows, cells, strict=True):
        assert (row["dataset"], row["algorithm"], row["status"]) == (cell.variant.dataset, cell.task, cell.status)
        assert float(row["ari"]) == pytest.approx(cell.values["ari"], abs=1e-6)
        assert int(row["k"]) == cell.values["k"]
    slower = changed(results, lambda cell: replace(cell, seconds=9 * cell.seconds, peak_mb=1.0))
    assert results_csv(slower) == results_csv(results)


def test_cells_without_numbers_are_rows_of_the_table_too():
    study = make_results(titles=("20 Newsgroups",), models=("m",))
    row = next(row for row in csv.DictReader(results_csv(study).splitlines()) if row["algorithm"] == PAPERS_SIX[2])
    assert (row["status"], row["k"], row["ari"]) == ("not run: n > 5,000", "", "")


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_opens_without_network_script_or_error(folder, width, scheme):
    playwright = pytest.importorskip("playwright.sync_api")
    problems = []
    with playwright.sync_playwright() as api:
        browser = launch(api)
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if line.type in ("error", "warning") else None)
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else problems.append(request.url),
        )
        page.goto((folder / "index.html").as_uri())
        assert page.title() == SECTIONS[0]
        assert page.evaluate("globalThis.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth") == width
        ink, paper = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
        light = sum(map(int, re.findall(r"\d+", paper)[:3])) > sum(map(int, re.findall(r"\d+", ink)[:3]))
        assert light == (scheme == "light")
        label = page.locator(".picture text", has_text="eigenvalue").first
        assert label.evaluate("one => getComputedStyle(one).fill") == ink
        page.get_by_role("navigation").get_by_text("Sample size").click()
        assert page.url.endswith("#sample-size")
        browser.close()
    assert problems == []
