"""The page of a study, as files and in a browser, made of cells as a run leaves them."""

import csv
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import launch, needs_browser
from markdown_it import MarkdownIt
from study_factory import changed, make_results, with_values

from textspectra.errors import UserError
from textspectra_study.algorithms import PAPERS_SIX, TITLES
from textspectra_study.page import OUTPUTS, write_page
from textspectra_study.page.blocks import Bullets, Heading, Paragraph, Row, Span, Table
from textspectra_study.page.claims import judge_claims
from textspectra_study.page.evidence import Evidence
from textspectra_study.page.figures import indistinct_groups
from textspectra_study.page.paper import CLAIMS
from textspectra_study.page.render import to_html, to_markdown
from textspectra_study.page.sections_estimate import datasets
from textspectra_study.page.sections_run import again, claims_table, summary, without_numbers
from textspectra_study.page.sections_scores import overall
from textspectra_study.page.statistics import Comparison
from textspectra_study.page.write import results_csv

HOSTILE = "<img src=x onerror=globalThis.hacked=1> | *a* _b_ $c$ `d` & [e](f)"
SECTIONS = [
    "The paper’s experiments, run again",
    "Claim by claim",
    "Datasets",
    "The spectrum",
    "The window",
    "The sample cap",
    "Z-scored similarities",
    "Overall scores",
    "Do the algorithms differ?",
    "Intrinsic and extrinsic metrics",
    "The number of clusters",
    "Sample size",
    "Metrics over the number of clusters",
    "What was not run, and why",
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


def test_every_section_is_there_in_the_papers_order(markdown, html):
    tokens = MarkdownIt("commonmark").parse(markdown)
    headings = [b.children[0].content for a, b in pairwise(tokens) if a.type == "heading_open"]
    assert headings == SECTIONS
    assert re.findall(r"<h[12] id=[^>]*>([^<]*)</h", html) == SECTIONS


def test_markdown_shows_every_figure_and_none_is_left_over(folder, markdown):
    shown = re.findall(r"\]\((figures/[^)]*)\)", markdown)
    assert sorted(shown) == sorted(str(path.relative_to(folder)) for path in (folder / "figures").iterdir())
    names = {Path(name).stem for name in shown}
    wanted = {"spectrum", "window", "tau", "grid", "similarity", "correlation", "k", "profiles-1-word-llama"}
    assert wanted | {"cd-ari", "cd-cohesion-ratio", "cd-k-relative-error"} <= names
    assert len(names) == len(wanted) + 10


def test_figures_are_small_well_formed_and_the_same_in_the_page(folder, html):
    for path in (folder / "figures").iterdir():
        root = ElementTree.parse(path).getroot()  # noqa: S314 - our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert path.stat().st_size < 300_000
        assert b"<script" not in path.read_bytes()
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


def test_a_second_page_has_the_same_bytes_and_no_stale_figure(results, folder, tmp_path):
    foreign = tmp_path / "figures" / "mine.svg"
    foreign.parent.mkdir()
    foreign.write_text("<svg/>")
    stale = tmp_path / "figures" / "profiles-9-other.svg"
    stale.write_bytes((folder / "figures" / "k.svg").read_bytes())
    written = write_page(results, tmp_path)
    assert [path.name for path in written[:4]] == list(OUTPUTS)
    assert foreign.exists()
    assert not stale.exists()
    foreign.unlink()
    assert files_of(tmp_path) == files_of(folder)


def test_somebody_elses_picture_is_not_replaced(tmp_path):
    (tmp_path / "figures").mkdir()
    theirs = tmp_path / "figures" / "cd-ari.svg"
    theirs.write_text("<svg/>")
    small = changed(
        make_results(titles=("my texts",), models=("m",)), lambda cell: cell if cell.task in PAPERS_SIX else None
    )
    with pytest.raises(UserError, match=r"cd-ari\.svg is there already and is not a figure of a study"):
        write_page(small, tmp_path)
    assert theirs.read_text() == "<svg/>"
    assert not (tmp_path / "index.html").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    empty = make_results(titles=(), models=())
    with pytest.raises(UserError, match="cannot be made"):
        write_page(empty, tmp_path / "file" / "page")


def test_an_empty_study_has_a_page_that_says_so(tmp_path):
    empty = replace(make_results(titles=(), models=("m",)), n_planned=120)
    write_page(empty, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "not complete: 0 of 120 cells are finished" in text
    assert f"{len(CLAIMS)} not enough data" in text
    assert list((tmp_path / "figures").iterdir()) == []


def test_an_incomplete_study_says_how_far_it_is(results):
    half = replace(results, cells=results.cells[: len(results.cells) // 2])
    said = to_markdown(summary(Evidence(half), judge_claims(half)))
    assert f"{len(half.cells)} of {results.n_planned} cells are finished" in said
    assert "not complete" not in to_markdown(summary(Evidence(results), judge_claims(results)))


def test_the_verdict_follows_the_numbers(results):
    def verdict_of(study):
        table = next(block for block in claims_table(judge_claims(study)) if isinstance(block, Table))
        return next(row.cells[1] for row in table.rows if "lower relative error of k" in row.cells[0][0])

    assert verdict_of(results) == Span("holds", "holds")
    ours = ("kmeans_kest", "hac_kest")
    worse = changed(results, lambda cell: with_values(cell, k_relative_error=99.0) if cell.task in ours else cell)
    assert verdict_of(worse) == Span("does not hold", "fails")


def test_overall_scores_have_the_papers_row_under_ours_and_mark_the_ends(results):
    fair, everywhere = (block for block in overall(Evidence(results)) if isinstance(block, Table))
    assert fair.columns == everywhere.columns
    names = [row.cells[0] for row in everywhere.rows]
    assert names[:4] == ["HDBSCAN", "in the paper", "OPTICS", "in the paper"]
    assert [name for name in names if name != "in the paper"] == list(TITLES.values())
    column = everywhere.columns.index("RE of k")
    of_paper = [row.cells[column] for row in everywhere.rows if row.from_paper]
    assert of_paper[4:] == [Span("0.520", "strong"), Span("0.522")]  # the paper prints the second in bold
    assert of_paper[1] == Span("33.321", "em")
    ours = {row.cells[0]: row.cells for row in everywhere.rows if not row.from_paper}
    values = [cell.values["ari"] for cell in results.of("leiden")]
    assert ours["Leiden"][1] == str(len(values))
    assert ours["Leiden"][2].text == f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.2f}"


def test_cells_that_did_not_run_are_counted_with_the_reason(results):
    cells = [replace(cell, status="timed out after 900 s", values={}) for cell in results.of("optics")]
    blocks = without_numbers(Evidence(replace(results, cells=[*cells, *results.of("leiden")])))
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row.cells for row in table.rows] == [("timed out after 900 s", str(len(cells)), f"OPTICS {len(cells)}")]


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


def test_bars_join_neighbours_that_do_not_differ():
    ranks = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.5, "e": 6.0}
    pairs = {(x, y): 0.5 if abs(ranks[x] - ranks[y]) <= 1.2 else 0.01 for x in ranks for y in ranks}
    test = Comparison("ari", [], {}, ranks, 9.0, 0.001, pairs, 1.2)
    assert indistinct_groups(test) == [["a", "b"], ["b", "c"], ["d", "e"]]


def test_blocks_mean_the_same_in_both_languages():
    blocks = [
        Heading(2, "A & B"),
        Paragraph(("see ", Span("the paper", link="https://example.org"), Span("x_y", "code"))),
        Bullets(["one", ("two ", Span("three", "em"))]),
        Table("Caption", ("Name", "Value"), [Row(("a|b", Span("1", "strong"))), Row(("paper", "2"), from_paper=True)]),
    ]
    markdown = to_markdown(blocks)
    assert "see [the paper](https://example.org)`x_y`" in markdown
    assert "| a\\|b | **1** |" in markdown
    assert "- two *three*" in markdown
    html = to_html("T", blocks)
    assert '<h2 id="a-b">A &amp; B</h2>' in html
    assert 'see <a href="https://example.org">the paper</a><code>x_y</code>' in html
    assert '<tr class="paper">' in html


def test_a_missing_extra_names_its_install_line(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "textspectra\[study\]"'):
        judge_claims(results)


def test_limits_are_told_and_are_part_of_the_command(results):
    limited = replace(results.manifest, max_size=5000, max_size_of={"minilm": 2000})
    evidence = Evidence(replace(results, manifest=limited))
    assert "Samples of more than 5,000 rows and of more than 2,000 rows with minilm were left out." in to_markdown(
        datasets(evidence)
    )
    assert "--seed 0 --max-size 5000 --max-size minilm=2000\n" in to_markdown(again(evidence))


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
