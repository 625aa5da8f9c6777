"""What the sections of the page say."""

from dataclasses import replace

import numpy as np
import pytest
from study_factory import changed, make_results, with_values

from textspectra_study.algorithms import DEFAULT, TITLES
from textspectra_study.page.blocks import Span, Table
from textspectra_study.page.claims import judge_claims
from textspectra_study.page.findings import Findings
from textspectra_study.page.render import to_markdown
from textspectra_study.page.sections_cohesion import readings, settings, times
from textspectra_study.page.sections_estimate import datasets, tau, window, zscore
from textspectra_study.page.sections_run import again, claims_table, summary, without_numbers
from textspectra_study.page.sections_scores import found_k, overall, ranks, sizes


@pytest.fixture(scope="module")
def results():
    return make_results(titles=("BLESS", "Reddit"), models=("wordllama",))


def test_an_incomplete_study_says_how_far_it_is(results):
    half = replace(results, cells=results.cells[: len(results.cells) // 2])
    said = to_markdown(summary(Findings(half), judge_claims(half)))
    assert f"{len(half.cells)} of {results.n_planned} cells are finished" in said
    assert "not complete" not in to_markdown(summary(Findings(results), judge_claims(results)))


def test_the_verdict_follows_the_numbers(results):
    def verdict_of(study):
        table = next(block for block in claims_table(judge_claims(study)) if isinstance(block, Table))
        return next(row.cells[1] for row in table.rows if "lower relative error of k" in row.cells[0][0])

    assert verdict_of(results) == Span("holds", "holds")
    ours = ("kmeans_kest", "hac_kest")
    worse = changed(results, lambda cell: with_values(cell, k_relative_error=99.0) if cell.task in ours else cell)
    assert verdict_of(worse) == Span("does not hold", "fails")


def test_overall_scores_have_the_papers_row_under_ours_and_mark_the_ends(results):
    fair, everywhere = (block for block in overall(Findings(results)) if isinstance(block, Table))
    assert fair.columns == everywhere.columns
    names = [row.cells[0] for row in everywhere.rows]
    assert names[:4] == ["HDBSCAN", "in the paper", "OPTICS", "in the paper"]
    assert [name for name in names if name != "in the paper"] == list(TITLES.values())
    column = fair.columns.index("RE of k")
    of_paper = [row.cells[column] for row in fair.rows if row.from_paper]
    assert of_paper[4:] == [Span("0.520", "strong"), Span("0.522")]  # the paper prints the second in bold
    assert of_paper[1] == Span("33.321", "em")
    ours = {row.cells[0]: row.cells for row in everywhere.rows if not row.from_paper}
    values = [cell.values["ari"] for cell in results.of("leiden")]
    assert ours["Leiden"][1] == str(len(values))
    assert ours["Leiden"][2] == f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.2f}"


def test_cells_that_did_not_run_are_counted_with_the_reason(results):
    cells = [replace(cell, status="timed out after 900 s", values={}) for cell in results.of("optics")]
    blocks = without_numbers(Findings(replace(results, cells=[*cells, *results.of("leiden")])))
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row.cells for row in table.rows] == [("timed out after 900 s", str(len(cells)), f"OPTICS {len(cells)}")]


def test_limits_are_on_the_page_and_in_its_command(results):
    limited = replace(results.manifest, max_size=5000, max_size_of={"minilm": 2000})
    findings = Findings(replace(results, manifest=limited))
    text = " ".join(to_markdown(datasets(findings)).split())
    assert "Samples of more than 5,000 rows and of more than 2,000 rows with minilm were left out." in text
    assert "--seed 0 --max-size 5000 --max-size minilm=2000\n" in to_markdown(again(findings))


def test_every_table_about_k_or_scores_has_the_default_beside_the_papers(results):
    findings = Findings(changed(results, lambda cell: with_values(cell, k_relative_error=0.25)
                                if cell.task == DEFAULT else cell))  # fmt: skip
    for section in (window, tau, found_k, overall):
        for table in (block for block in section(findings) if isinstance(block, Table)):
            assert [row.cells[0] for row in table.rows].count(TITLES[DEFAULT]) == 1, section
    last = {section: _table(section(findings)).rows[-1].cells for section in (window, tau)}
    assert last[window] == [TITLES[DEFAULT], "0.25", "–", "0.25", "0.25"]
    assert last[tau] == [TITLES[DEFAULT], "0.25", "–", "–", "0.25"]
    assert [row.cells[-1] for row in _table(zscore(findings)).rows] == ["0.250", "0.250", "0.250", "–"]
    assert _table(ranks(findings)).columns[-1] == TITLES[DEFAULT]


def test_k_over_sizes_is_tested_for_the_paper_and_for_the_default(results):
    planted = changed(results, lambda cell: with_values(cell, k=cell.variant.size) if cell.task == DEFAULT else cell)
    tests, scores = (block for block in sizes(Findings(planted)) if isinstance(block, Table))
    assert [row.cells[0] for row in tests.rows] == ["Reddit, paper’s k", "Reddit, Default", "in the paper"]
    assert tests.rows[1].cells[1:4] == ["500.0", "1,000.0", "2,000.0"]
    assert tests.rows[1].cells[-1] == "1.00"
    ari, rho = (np.mean([c.values[m] for c in results.of("leiden_knn") if c.variant.size == 500 and
                c.variant.dataset == "reddit"]) for m in ("ari", "cohesion_ratio"))  # fmt: skip
    row = next(row for row in scores.rows if row.cells[1] == TITLES["leiden_knn"])
    assert row.cells[2] == f"{ari:.2f} / {rho:.2f}"


def test_the_page_says_which_of_the_papers_variants_have_results_and_why_others_have_none(results):
    def rows(study):
        table = [block for block in datasets(Findings(study)) if isinstance(block, Table)][1]
        return table.caption, [row.cells for row in table.rows]

    few = tuple(facts._replace(instances=7600) for facts in results.manifest.datasets)
    caption, (bless, reddit) = rows(replace(results, manifest=replace(results.manifest, datasets=few, max_size=3000)))
    assert caption.startswith("5 of 62 variants have results")
    assert bless == ("BLESS", "1", "1", "1", "200", "–")
    assert reddit == (
        "Reddit", "14", "4", "4", "500, 1,000 and 2,000",
        "10,000, 50,000, 100,000 and 350,000: the dataset here has 7,600 of the paper’s 420,464 rows; "
        "5,000: --max-size",
    )  # fmt: skip
    nothing = replace(results, cells=[cell for cell in results.cells if cell.variant.dataset == "bless"])
    assert rows(replace(results, cells=[]))[1][0] == ("BLESS", "1", "0", "0", "none", "not finished")
    assert rows(nothing)[1][1] == (
        "Reddit", "14", "0", "0", "none",
        "1,000, 2,000, 5,000, 10,000, 50,000, 100,000 and 350,000: not finished",
    )  # fmt: skip


def test_the_experiments_about_the_cohesion_ratio_and_its_rivals_are_tables():
    study = Findings(make_results(titles=("BLESS", "20 Newsgroups"), models=("wordllama",)))
    assert [row.cells for row in _table(settings(study)).rows][:2] == [
        ("HDBSCAN", "2", "0.400", "0.400", "9"), ("HDBSCAN", "5", "0.300", "0.300", "9"),
    ]  # fmt: skip
    classes, *algorithms = (row.cells for row in _table(readings(study)).rows)
    values = [row["ratio"] for cell in study.ok("readings") for row in cell.values["clusterings"][:1]]
    assert classes[:3] == ("Classes", "2", "0.050")
    assert classes[4] == f"{np.mean(values):.3f}"
    assert [row[0] for row in algorithms][:2] == ["HDBSCAN", "OPTICS"]
    first = _table(times(study)).rows[0].cells
    assert first[:5] == ("wordllama", "1,000", "10", "0.0100", "0.1000")
    nothing = Findings(replace(study.results, cells=[]))
    assert settings(nothing) == readings(nothing) == times(nothing) == []


def _table(blocks):
    return next(block for block in blocks if isinstance(block, Table))
