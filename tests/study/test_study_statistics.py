"""The statistics of a study against scipy, hand-worked cases and the words of the claims."""

import math

import numpy as np
import pytest
from scipy import stats
from study_factory import changed, make_results, with_values

from textspectra_study.algorithms import PAPERS_SIX, TITLES
from textspectra_study.page.claims import RULES, judge_claims
from textspectra_study.page.claims_estimate import contrast
from textspectra_study.page.evidence import Evidence
from textspectra_study.page.paper import CLAIMS, DATASETS, OVERALL, SCORED
from textspectra_study.page.statistics import compare, correlations, score, size_tests, summarize
from textspectra_study.page.sweeps import grouped, mean_error, zscore_test
from textspectra_study.results import METRICS, Cell, Manifest, Results, Variant


@pytest.fixture(scope="module")
def results():
    return make_results()


@pytest.fixture(scope="module")
def evidence(results):
    return Evidence(results)


def verdicts(results):
    return {claim.name: claim.outcome.verdict for claim in judge_claims(results)}


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


@pytest.mark.parametrize(("metric", "sign"), [("ari", -1), ("davies_bouldin", 1), ("k_relative_error", 1)])
def test_friedman_and_ranks_are_scipys_with_1_for_the_best(results, evidence, metric, sign):
    found = evidence.comparisons[metric]
    table = sign * table_of(results, metric)
    assert len(found.blocks) == len(table) == 50
    assert found.left_out == {"an algorithm has no result": 2}
    statistic, p = stats.friedmanchisquare(*table.T)
    assert (found.statistic, found.p) == pytest.approx((statistic, p))
    assert list(found.ranks.values()) == pytest.approx(stats.rankdata(table, axis=1).mean(axis=0))
    assert np.mean(list(found.ranks.values())) == pytest.approx(3.5)


def test_nemenyi_calls_different_what_is_farther_apart_than_the_critical_difference(evidence):
    for found in evidence.comparisons.values():
        # 2.850 is the tabled quantile for six algorithms at 0.05 (Demsar 2006)
        assert found.critical_difference == pytest.approx(2.850 * math.sqrt(6 * 7 / (6 * len(found.blocks))), rel=1e-3)
        for a in PAPERS_SIX:
            for b in PAPERS_SIX:
                gap = abs(found.ranks[a] - found.ranks[b])
                assert found.differ(a, b) == (gap > found.critical_difference)
                assert found.beats(a, b) == (found.differ(a, b) and found.ranks[a] < found.ranks[b])


def test_a_metric_that_is_not_defined_takes_its_block_out_and_is_told(results):
    def change(cell):
        return with_values(cell, silhouette=None) if cell.task == "optics" and cell.model == "minilm" else cell

    found = Evidence(changed(results, change)).comparisons["silhouette"]
    assert len(found.blocks) == 25
    assert found.left_out == {"an algorithm has no result": 2, "the metric is not defined": 25}


def test_algorithms_that_always_tie_do_not_differ(results):
    tied = changed(results, lambda cell: with_values(cell, ari=0.5) if cell.task in TITLES and cell.ok else cell)
    found = Evidence(tied).comparisons["ari"]
    assert (found.statistic, found.p) == (0, 1)
    assert not any(found.differ(a, b) for a in PAPERS_SIX for b in PAPERS_SIX)


def test_too_few_blocks_give_no_test(results):
    few = changed(results, lambda cell: cell if cell.variant.dataset == "bless" else None)
    found = Evidence(few).comparisons["ari"]
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
    groups = [
        [cell.values["k"] for cell in results.of("kmeans_kest") if cell.variant[:1] + cell.variant[2:3] == key]
        for key in [("reddit", 500), ("reddit", 1000), ("reddit", 2000)]
    ]
    assert list(found.by_size.values()) == groups
    assert [len(group) for group in groups] == [4, 4, 4]
    assert (found.statistic, found.p) == pytest.approx(tuple(stats.kruskal(*groups)))


def test_one_estimate_at_each_size_is_no_test():
    # With eight groups of one value each, p is 0.429 whatever the values are: the paper's number.
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


def test_zscores_are_compared_pair_by_pair_over_small_windows(evidence):
    points = [p for p in evidence.sweep if p.dataset == "reddit" and p.window <= 7]
    raw = [p.error for p in points if not p.zscore]
    zscored = [p.error for p in points if p.zscore]
    found = evidence.zscore_by_dataset["reddit"]
    assert (found.raw, found.zscored, found.n) == pytest.approx((np.mean(raw), np.mean(zscored), 40))
    assert found.p == pytest.approx(stats.wilcoxon(raw, zscored).pvalue)


def test_caps_above_the_number_of_rows_count_once_in_the_test(evidence):
    # BLESS has 200 rows: the four caps are one. Two models and five windows are left.
    assert evidence.zscore_by_dataset["bless"].n == 10
    assert evidence.zscore_overall.n == 5 * 40 + 10


def test_a_set_without_its_zscored_side_is_not_compared(evidence):
    assert zscore_test(p for p in evidence.sweep if not p.zscore) is None


def test_errors_of_k_in_the_sweep_are_relative_to_the_classes(results, evidence):
    cell = next(cell for cell in results.cells if cell.task == "sweep-raw-500")
    point = next(p for p in evidence.sweep if (p.dataset, p.tau, p.zscore) == (cell.variant.dataset, 500, False))
    k = cell.values["windows"][0]["k"]
    assert point.error == pytest.approx(abs(k - 14) / 14)


def test_the_window_is_judged_at_the_default_cap_and_the_cap_at_the_default_window(evidence):
    assert {(p.tau, p.zscore) for p in evidence.window_sweep} == {(1000, False)}
    assert {(p.window, p.zscore) for p in evidence.tau_sweep} == {(3, False)}
    assert "bless" not in {p.dataset for p in evidence.tau_sweep}  # where every cap is the same sample
    errors = [mean_error(group) for group in grouped(evidence.window_sweep, lambda p: p.window).values()]
    assert errors == sorted(errors)


def test_contrast_is_the_gap_of_means_over_the_deviation():
    matrix = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert contrast(matrix.tolist(), [2]) == pytest.approx(1 / matrix.std())
    assert contrast([[1, 1], [1, 1]], [1]) == 0


def test_every_claim_has_a_rule_and_the_papers_numbers_are_whole():
    assert RULES.keys() == CLAIMS.keys()
    assert tuple(OVERALL) == PAPERS_SIX == tuple(TITLES)[:6]
    assert set(SCORED) <= set(METRICS)
    assert [facts.classes for facts in DATASETS.values()] == [14, 14, 20, 17, 50, 121]


def test_claims_follow_the_numbers(results):
    before = verdicts(results)
    assert before["error_of_k"] == before["ari"] == before["sizes"] == before["window_error"] == "holds"

    def worse(cell):
        if cell.task in ("kmeans_kest", "hac_kest"):
            k = cell.variant.size // 3
            return with_values(cell, k_relative_error=50.0, ari=0.0, k=k)
        if cell.task.startswith("sweep-"):
            rows = [{**row, "k": cell.variant.classes * (3 - row["window"] / 10)} for row in cell.values["windows"]]
            return with_values(cell, windows=rows)
        return cell

    after = verdicts(changed(results, worse))
    assert after["error_of_k"] == after["ari"] == after["sizes"] == after["window_error"] == "does not hold"
    assert after["zscore_overall"] == "does not hold"


def test_claims_that_are_true_of_some_hold_in_part(results):
    def change(cell):
        if cell.task == "hac_kest":
            return with_values(cell, k_relative_error=15.0)  # still better than three of four
        return cell

    assert verdicts(changed(results, change))["error_of_k"] == "holds in part"


@pytest.mark.parametrize("titles", [(), ("BLESS",), ("my texts",)])
def test_small_studies_are_judged_without_a_number_that_is_none(titles):
    claims = judge_claims(make_results(titles=titles, models=("wordllama",)))
    assert not any("nan" in claim.outcome.measured.lower() for claim in claims)
    found = {claim.name: claim.outcome.verdict for claim in claims}
    assert found["stackexchange_peak"] == "not enough data"
    assert (found["ari"] == "not enough data") == (titles != ("my texts",))


def test_one_study_compared_twice_gives_the_same(results, evidence):
    again = compare(Evidence(results).blocks, "nmi")
    assert again == evidence.comparisons["nmi"]
