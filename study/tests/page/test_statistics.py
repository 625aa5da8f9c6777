"""Scores, ranks, tests and correlations against scipy and cases computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from study_factory import changed, with_values

from textspectra_study.algorithms import DEFAULT, PAPERS_SIX, TITLES
from textspectra_study.page.findings import Findings
from textspectra_study.page.statistics import compare, correlations, place_among, score, size_tests, summarize
from textspectra_study.results import Cell, Manifest, Results, Variant


def table_of(results, metric):
    """Return complete blocks x six algorithms, found the slow way."""
    rows = []
    for variant in results.manifest.variants:
        for model in results.manifest.models:
            row = []
            for task in PAPERS_SIX:
                row += [
                    cell.values[metric]
                    for cell in results.cells
                    if (cell.variant, cell.model, cell.task, cell.status) == (variant, model, task, "ok")
                ]
            if len(row) == len(PAPERS_SIX):
                rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("ari", "error", "places"), [(0.9, 0.0, (1, 1)), (-1.0, 99.0, (7, 7)), (0.5, 1.0, (5.5, 2.5))])
def test_the_default_has_a_place_among_the_six_in_the_same_blocks(results, ari, error, places):
    of_six = dict(zip(PAPERS_SIX, (0.1, 0.5, 0.6, 0.7, 0.75, 0.8), strict=True))
    planted = changed(
        results,
        lambda cell: (
            with_values(cell, ari=of_six[cell.task], k_relative_error=2 * of_six[cell.task])
            if cell.task in PAPERS_SIX and cell.ok
            else with_values(cell, ari=ari, k_relative_error=error)
            if cell.task == DEFAULT
            else cell
        ),
    )
    found = [place_among(Findings(planted).comparisons[metric], DEFAULT) for metric in ("ari", "k_relative_error")]
    assert found == list(places)


def test_an_algorithm_that_lacks_a_block_has_no_place(results):
    without = changed(results, lambda cell: None if cell.task == DEFAULT and cell.variant.size == 500 else cell)
    assert place_among(Findings(without).comparisons["ari"], DEFAULT) is None
    assert place_among(compare([], "ari"), DEFAULT) is None


@pytest.mark.parametrize(("metric", "sign"), [("ari", -1), ("davies_bouldin", 1), ("k_relative_error", 1)])
def test_friedman_and_ranks_are_scipys_with_1_for_the_best(results, findings, metric, sign):
    found = findings.comparisons[metric]
    table = sign * table_of(results, metric)
    assert len(found.blocks) == len(table) == 50
    assert found.left_out == {"an algorithm has no result": 2}
    statistic, p = stats.friedmanchisquare(*table.T)
    assert (found.statistic, found.p) == pytest.approx((statistic, p))
    assert list(found.ranks.values()) == pytest.approx(stats.rankdata(table, axis=1).mean(axis=0))
    assert np.mean(list(found.ranks.values())) == pytest.approx(3.5)


def test_nemenyi_calls_different_what_is_farther_apart_than_the_critical_difference(findings):
    for found in findings.comparisons.values():
        # 2.850 is the tabled quantile for six algorithms at 0.05 (Demsar 2006)
        assert found.critical_difference == pytest.approx(2.850 * math.sqrt(6 * 7 / (6 * len(found.blocks))), rel=1e-3)
        for a in PAPERS_SIX:
            for b in PAPERS_SIX:
                gap = abs(found.ranks[a] - found.ranks[b])
                assert found.differ(a, b) == (gap > found.critical_difference)
                assert found.beats(a, b) == (found.differ(a, b) and found.ranks[a] < found.ranks[b])


def test_a_block_with_an_undefined_metric_is_left_out_and_counted(results):
    def change(cell):
        return with_values(cell, silhouette=None) if cell.task == "optics" and cell.model == "minilm" else cell

    found = Findings(changed(results, change)).comparisons["silhouette"]
    assert len(found.blocks) == 25
    assert found.left_out == {"an algorithm has no result": 2, "the metric is not defined": 25}


def test_algorithms_that_always_tie_do_not_differ(results):
    tied = changed(results, lambda cell: with_values(cell, ari=0.5) if cell.task in TITLES and cell.ok else cell)
    found = Findings(tied).comparisons["ari"]
    assert (found.statistic, found.p) == (0, 1)
    assert not any(found.differ(a, b) for a in PAPERS_SIX for b in PAPERS_SIX)


def test_too_few_blocks_give_no_test(results):
    few = changed(results, lambda cell: cell if cell.variant.dataset == "bless" else None)
    found = Findings(few).comparisons["ari"]
    assert (found.p, found.ranks, len(found.blocks)) == (None, {}, 2)


def test_scores_are_mean_deviation_and_number_of_cells(results):
    cells = list(results.of("optics"))
    values = [cell.values["nmi"] for cell in cells]
    found = summarize(cells, "nmi")
    assert found == pytest.approx((np.mean(values), np.std(values, ddof=1), len(values)))
    assert summarize(cells[:1], "nmi") == pytest.approx((values[0], None, 1))
    assert summarize([], "nmi") is None


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_a_number_is_no_score(value):
    cell = Cell(Variant("a", "whole", 10, 2, 0), "m", "optics", "ok", {"ari": value})
    assert score(cell, "ari") is None
    assert summarize([cell], "ari") is None


def test_correlations_are_spearmans_with_lower_is_better_negated(results):
    cells = list(results.of(*PAPERS_SIX))
    found = correlations(cells)
    ok = [cell.values for cell in cells if cell.ok]
    for inner, outer, sign in [
        ("cohesion_ratio", "nmi", 1),
        ("davies_bouldin", "ari", -1),
        ("silhouette", "k_relative_error", -1),
        ("davies_bouldin", "k_relative_error", 1),
    ]:
        expected = sign * stats.spearmanr([v[inner] for v in ok], [v[outer] for v in ok]).statistic
        assert found[inner, outer].value == pytest.approx(expected)
        assert found[inner, outer].n == len(ok) == 310


def test_sizes_are_compared_by_kruskal_wallis_over_kinds_and_models(results):
    (found,) = [test for test in size_tests(results) if test.dataset == "reddit"]
    clusters = [
        [cell.values["k"] for cell in results.of("kmeans_kest") if cell.variant[:1] + cell.variant[2:3] == key]
        for key in [("reddit", 500), ("reddit", 1000), ("reddit", 2000)]
    ]
    assert list(found.by_size.values()) == clusters
    assert [len(cluster) for cluster in clusters] == [4, 4, 4]
    assert (found.statistic, found.p) == pytest.approx(tuple(stats.kruskal(*clusters)))
    assert found.p_within == pytest.approx(stats.friedmanchisquare(*clusters).pvalue)


def test_a_small_effect_of_the_size_is_found_within_models_that_differ_more():
    variants = [Variant("a", kind, size, 5, 0) for size in (100, 200, 400, 800) for kind in ("random", "stratified")]
    cells = [
        Cell(v, model, "kmeans_kest", "ok", {"k": base + v.size // 100})
        for v in variants
        for model, base in (("m", 10), ("n", 50))
    ]
    (found,) = size_tests(Results(Manifest((), tuple(variants), ("m", "n"), 0), cells, 16))
    assert found.p > 0.05
    assert found.p_within < 0.01


def test_one_estimate_at_each_size_is_no_test():
    # With eight groups of one value each, p is 0.429 for any values: the paper's number.
    for values in (range(8), np.random.default_rng(0).random(8)):
        assert stats.kruskal(*([value] for value in values)).pvalue == pytest.approx(0.429, abs=5e-4)
    variants = [Variant("a", "stratified", size, 5, 0) for size in range(100, 900, 100)]
    cells = [Cell(v, "m", "kmeans_kest", "ok", {"k": v.size}) for v in variants]
    (found,) = size_tests(Results(Manifest((), tuple(variants), ("m",), 0), cells, 8))
    assert (found.p, found.trend) == (None, 1.0)


def test_equal_estimates_do_not_depend_on_the_size():
    variants = [Variant("a", kind, size, 5, 0) for size in (100, 200) for kind in ("random", "stratified")]
    cells = [Cell(v, "m", "kmeans_kest", "ok", {"k": 7}) for v in variants]
    (found,) = size_tests(Results(Manifest((), tuple(variants), ("m",), 0), cells, 4))
    assert (found.p, found.trend) == (1.0, None)
    assert found.p_within is None  # of two sizes
