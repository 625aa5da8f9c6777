"""Every rule that judges a claim of the paper, on a study where the claim holds and on one where it does not."""

import math
from dataclasses import replace

import pytest
from study_factory import changed, make_results, with_values

from textspectra_study.algorithms import PAPERS_SIX, TITLES
from textspectra_study.page.claims import RULES, judge_claims
from textspectra_study.page.findings import Findings
from textspectra_study.page.paper import CLAIMS, DATASETS, OVERALL, SCORED
from textspectra_study.results import LOWER_IS_BETTER, METRICS

HDBSCAN, OPTICS, AFFINITY, LEIDEN, KMEANS, HAC = PAPERS_SIX
RIVALS = (HDBSCAN, OPTICS, AFFINITY, LEIDEN)
MODELS = tuple("abcdefghij")


@pytest.fixture(scope="module")
def all_sets():
    """Build a study of the six datasets: for claims about the estimate of k."""
    return make_results()


@pytest.fixture(scope="module")
def many_blocks():
    """Build a study of 60 blocks, with which mean ranks differ significantly if they differ by 1."""
    study = make_results(titles=("Reddit",), models=MODELS)
    return changed(study, lambda cell: cell if cell.task in TITLES else None)


def cells(*tasks, **values):
    """Set values of the cells of some tasks; a function is called with the cell."""

    def change(cell):
        if not cell.task.startswith(tasks):
            return cell
        return with_values(cell, **{name: value(cell) if callable(value) else value for name, value in values.items()})

    return change


def times_classes(factor):
    return lambda cell: factor * cell.variant.classes


def sweeps(error=lambda window, tau, zscore: 0.5, fallback=lambda window: 0.1, seconds=lambda tau: 1.0):
    """Set what the sweeps found."""

    def change(cell):
        if not cell.task.startswith("sweep-"):
            return cell
        tau, zscore, classes = cell.values["tau"], cell.values["zscore"], cell.variant.classes
        rows = [
            {"window": w, "k": classes * (1 + error(w, tau, zscore)), "fallback": fallback(w)} for w in range(3, 16)
        ]
        return replace(with_values(cell, windows=rows), seconds=seconds(tau))

    return change


def ranked(*orders, metrics):
    """Rank the six algorithms, best first, equal ones in a group; orders take turns from model to model."""

    def change(cell):
        if cell.task not in PAPERS_SIX:
            return cell
        order = orders[MODELS.index(cell.model) % len(orders)]
        place = next(place for place, cluster in enumerate(order) if cell.task in cluster)
        return with_values(cell, **{metric: place if metric in LOWER_IS_BETTER else -place for metric in metrics})

    return change


def along(**signs):
    """Let metrics rise (1) or fall (-1) together over the cells."""
    numbers = iter(range(10_000))

    def change(cell):
        number = next(numbers)
        return with_values(cell, **{metric: sign * number for metric, sign in signs.items()})

    return change


def curves(**values):
    """Set metrics over k: each is a function of the dataset and k."""

    def change(cell):
        if not cell.task.startswith("profile-"):
            return cell
        points = [
            {**point, **{metric: value(cell.variant.dataset, point["k"]) for metric, value in values.items()}}
            for point in cell.values["points"]
        ]
        return with_values(cell, points=points)

    return change


def both(*changes):
    def change(cell):
        for one in changes:
            cell = one(cell)
        return cell

    return change


def readings(**values):
    """Set what was read of every clustering; a function is called with the reading."""

    def change(cell):
        if cell.task != "readings":
            return cell
        rows = [
            {**row, **{name: value(row) if callable(value) else value for name, value in values.items()}}
            for row in cell.values["clusterings"]
        ]
        return with_values(cell, clusterings=rows)

    return change


def chosen(rival, **values):
    """Set the scores of the setting that the paper chose for a rival; the others have 0.3."""

    def change(cell):
        if cell.task != "settings":
            return cell
        first, *others = cell.values[rival].items()
        return with_values(cell, **{rival: dict([(first[0], {**first[1], **values}), *others])})

    return change


def timed(part, **values):
    """Set CPU times; each is a function of the row."""

    def change(cell):
        if cell.task != "times":
            return cell
        rows = [{**row, **{name: value(row) for name, value in values.items()}} for row in cell.values[part]]
        return with_values(cell, **{part: rows})

    return change


def speedup(factor):
    """Let the silhouette take a multiple of the time of the Cohesion Ratio, in both forms."""
    both_forms = {"silhouette": factor, "silhouette_formula": factor}
    return timed("metrics", ratio=lambda row: 1, ratio_formula=lambda row: 1, **both_forms)


GOOD_LABELS = dict.fromkeys(("ari", "nmi", "homogeneity", "completeness", "fowlkes_mallows"), 1)
STACKEXCHANGE_LOW = (lambda name, k: 0.1 if name == "stackexchange" else k / 500, lambda name, k: k / 500)

ON_ALL_SETS = {
    "eigengap": (cells("kmeans_eigengap", k=4), cells("kmeans_eigengap", k=5)),
    "negative_cosines": (cells("similarity", negative=0.04), cells("similarity", negative=0.06)),
    "window_error": (sweeps(lambda w, tau, z: w), sweeps(lambda w, tau, z: 16 - w)),
    "window_fallback": (sweeps(fallback=lambda w: w / 16), sweeps(fallback=lambda w: 1 - w / 16)),
    "window_moderate": (
        sweeps(lambda w, tau, z: 1 + (w > 7), lambda w: 0.1 * (w > 7)),
        sweeps(lambda w, tau, z: 1 + (w <= 7), lambda w: 0.1 * (w <= 7)),
    ),
    "window_default": (
        sweeps(lambda w, tau, z: 1.09 if w == 3 else 1, lambda w: 0.009 * (w == 3)),
        sweeps(lambda w, tau, z: 1.11 if w == 3 else 1, lambda w: 0.011 * (w == 3)),
    ),
    "tau_time": (sweeps(seconds=lambda tau: tau), sweeps(seconds=lambda tau: 1 / tau)),
    "tau_larger": (
        sweeps(lambda w, tau, z: 1000 / tau if tau < 2000 else 1),
        sweeps(lambda w, tau, z: 1000 / tau),
    ),
    "tau_range": (
        sweeps(lambda w, tau, z: 1.09 if tau == 500 else 2 - (tau == 2000)),
        sweeps(lambda w, tau, z: 1.11 if tau in (500, 1000) else 1),
    ),
    "tau_default": (
        sweeps(lambda w, tau, z: 1.09 if tau == 1000 else 1, seconds=lambda tau: tau),
        sweeps(lambda w, tau, z: 1.11 if tau == 1000 else 1, seconds=lambda tau: 1 / tau),
    ),
    "tau_small": (
        sweeps(lambda w, tau, z: 1.11 if tau == 200 else 1),
        sweeps(lambda w, tau, z: 1.09 if tau == 200 else 1),
    ),
    "zscore_overall": (sweeps(lambda w, tau, z: 1 - z / 2), sweeps(lambda w, tau, z: 1 + z / 2)),
    "zscore_better": (sweeps(lambda w, tau, z: 1 - z / 2), sweeps(lambda w, tau, z: 1 + z / 2)),
    "zscore_worse": (sweeps(lambda w, tau, z: 1 + z / 2), sweeps(lambda w, tau, z: 1 - z / 2)),
    "zscore_blocks": (
        cells("similarity", contrast_raw=0.4, contrast_zscored=0.5),
        cells("similarity", contrast_raw=0.5, contrast_zscored=0.4),
    ),
    "estimate_cost": (
        timed("estimates", estimate=lambda row: 1.19 * 19 if row["n"] > 10_000 else 19),
        timed("estimates", estimate=lambda row: 2 * row["n"] / 1000 + 1),
    ),
    "cohesion_range": (
        readings(ratio=19.9, ratio_unrectified=0.0),
        readings(ratio=20.1, ratio_unrectified=None),
    ),
    "cohesion_singletons": (
        readings(ratio_with_singletons=lambda row: 1.009 * row["ratio"]),
        readings(ratio_with_singletons=lambda row: 0.989 * row["ratio"]),
    ),
    "cohesion_random": (
        readings(permuted_mean=1.009, permuted_low=0.91, permuted_high=1.09),
        readings(permuted_high=1.11),
    ),
    "cohesion_null": (readings(permuted_p=0.04), readings(permuted_p=0.06)),
    "cohesion_across_datasets": (
        cells(*PAPERS_SIX, cohesion_ratio=lambda c: c.variant.classes, nmi=lambda c: c.variant.classes),
        cells(*PAPERS_SIX, cohesion_ratio=lambda c: c.variant.classes, nmi=lambda c: -c.variant.classes),
    ),
    "sparse_similarities": (readings(mu_global=0.1, ratio=2), readings(mu_global=0.11)),
    "divergence_first_term": (
        readings(mu_global=0.01, mu_intra=0.08, ratio=8),
        readings(mu_global=0.01, mu_intra=0.02, ratio=2),
    ),
    "mutual_information": (
        readings(pmi_expected=lambda row: math.log(row["ratio"]) + 0.09),
        readings(pmi_expected=lambda row: math.log(row["ratio"]) + 0.11, pmi_nearest=lambda row: -row["ratio"]),
    ),
    "cohesion_shape": (readings(silhouette=-0.01, ratio=1.01), readings(silhouette=0.01, ratio=0.99)),
    "hdbscan_setting": (chosen(HDBSCAN, ari=0.2, nmi=0.41), chosen(HDBSCAN, ari=0.2, nmi=0.39)),
    "optics_setting": (chosen(OPTICS, nmi=0.311), chosen(OPTICS, nmi=0.309)),
    "leiden_setting": (chosen(LEIDEN, ari=0.31, nmi=0.31), chosen(LEIDEN, ari=0.29, nmi=0.29)),
    "cohesion_faster": (
        timed("metrics", ratio=lambda row: row["silhouette"] / 2),
        timed("metrics", ratio=lambda row: 2 * row["silhouette"], ratio_formula=lambda row: 99),
    ),
    "cohesion_scales": (
        speedup(lambda row: row["n"] * row["k"]),
        speedup(lambda row: 1 / (row["n"] * row["k"])),
    ),
    "clusters_time": (
        timed("metrics", ratio_formula=lambda row: 1 / row["k"]),
        timed("metrics", ratio_formula=lambda row: row["k"]),
    ),
    "affinity_k": (cells(AFFINITY, k=times_classes(3)), cells(AFFINITY, k=times_classes(2.9))),
    "closest_k": (
        both(cells(KMEANS, k=times_classes(0.5)), cells(*RIVALS, k=times_classes(2.1))),
        both(cells(KMEANS, k=times_classes(0.5)), cells(*RIVALS, k=times_classes(1.9))),
    ),
    "sizes": (cells(KMEANS, k=12), cells(KMEANS, k=lambda cell: cell.variant.size)),
    "error_sizes": (
        cells(KMEANS, k_relative_error=0.5),
        cells(KMEANS, k_relative_error=lambda cell: cell.variant.size),
    ),
    "stackexchange_flat": (
        curves(ari=STACKEXCHANGE_LOW[0], fowlkes_mallows=STACKEXCHANGE_LOW[0]),
        curves(ari=STACKEXCHANGE_LOW[1], fowlkes_mallows=STACKEXCHANGE_LOW[1]),
    ),
    "stackexchange_peak": (
        both(cells(KMEANS, k=140), curves(silhouette=lambda name, k: -abs(k - 200))),
        both(cells(KMEANS, k=130), curves(silhouette=lambda name, k: -abs(k - 200))),
    ),
    "cohesion_profile": (
        curves(cohesion_ratio=lambda name, k: k, homogeneity=lambda name, k: k**2),
        curves(cohesion_ratio=lambda name, k: -k, homogeneity=lambda name, k: k**2),
    ),
}
"""For each claim that needs no ranks, changes of a study: one with which it holds, one with which it does not."""

OURS, OTHERS = [[HAC, KMEANS], RIVALS], [RIVALS, [KMEANS], [HAC]]
IN_LINE = [[task] for task in PAPERS_SIX]
GOOD_FOR_AFFINITY = ["homogeneity", "cohesion_ratio", "silhouette"]

ON_MANY_BLOCKS = {
    "friedman": (ranked(IN_LINE, metrics=METRICS), ranked([PAPERS_SIX], metrics=METRICS)),
    "error_of_k": (
        both(cells(KMEANS, HAC, k_relative_error=0.9), cells(*RIVALS, k_relative_error=1)),
        both(cells(KMEANS, HAC, k_relative_error=1), cells(*RIVALS, k_relative_error=0.9)),
    ),
    "outperform": (ranked(OURS, metrics=SCORED[:5]), ranked(OTHERS, metrics=SCORED)),
    "ari": (ranked(OURS, metrics=["ari"]), ranked(OTHERS, metrics=["ari"])),
    "k_relative_error": (
        ranked(OURS, metrics=["k_relative_error"]),
        ranked(OTHERS, metrics=["k_relative_error"]),
    ),
    "fowlkes_mallows": (
        ranked([[HAC], [KMEANS, *RIVALS]], metrics=["fowlkes_mallows"]),
        ranked([[HAC, KMEANS, *RIVALS]], metrics=["fowlkes_mallows"]),
    ),
    "nmi_leiden": (
        ranked([[LEIDEN], [HDBSCAN, OPTICS, AFFINITY, KMEANS, HAC]], metrics=["nmi"]),
        ranked([[KMEANS], [LEIDEN, HDBSCAN, OPTICS, AFFINITY, HAC]], metrics=["nmi"]),
    ),
    "nmi_ties": (
        ranked([[KMEANS, HAC, AFFINITY], [LEIDEN, OPTICS, HDBSCAN]], metrics=["nmi"]),
        ranked([[KMEANS], [HAC], [AFFINITY], [LEIDEN, OPTICS, HDBSCAN]], metrics=["nmi"]),
    ),
    "homogeneity": (
        ranked([[AFFINITY], [LEIDEN], [KMEANS, HAC], [HDBSCAN, OPTICS]], metrics=["homogeneity"]),
        ranked([[HDBSCAN], [OPTICS], [KMEANS], [HAC], [LEIDEN], [AFFINITY]], metrics=["homogeneity"]),
    ),
    "completeness_top": (
        ranked([[KMEANS, HAC, LEIDEN], [AFFINITY], [HDBSCAN, OPTICS]], metrics=["completeness"]),
        ranked([[HDBSCAN, OPTICS], [AFFINITY], [KMEANS, HAC, LEIDEN]], metrics=["completeness"]),
    ),
    "completeness_hac": (
        ranked([[HAC], [KMEANS, LEIDEN, AFFINITY], [HDBSCAN, OPTICS]], metrics=["completeness"]),
        ranked([[HDBSCAN, OPTICS], [AFFINITY], [KMEANS, LEIDEN], [HAC]], metrics=["completeness"]),
    ),
    "affinity_mixed": (
        both(
            ranked([[AFFINITY], [*PAPERS_SIX[:2], LEIDEN, KMEANS, HAC]], metrics=GOOD_FOR_AFFINITY),
            ranked([[LEIDEN, KMEANS, HAC], [AFFINITY], [HDBSCAN, OPTICS]], metrics=["completeness"]),
        ),
        both(
            ranked([[LEIDEN, KMEANS, HAC], [AFFINITY], [HDBSCAN, OPTICS]], metrics=GOOD_FOR_AFFINITY),
            ranked([[AFFINITY], [*PAPERS_SIX[:2], LEIDEN, KMEANS, HAC]], metrics=["completeness"]),
        ),
    ),
    "cohesion_homogeneity": (
        ranked(IN_LINE, metrics=["cohesion_ratio", "homogeneity"]),
        both(ranked(IN_LINE, metrics=["cohesion_ratio"]), ranked(IN_LINE[::-1], metrics=["homogeneity"])),
    ),
    "cohesion_completeness": (
        both(
            ranked(IN_LINE, metrics=["cohesion_ratio"]),
            ranked([*IN_LINE[2::-1], *IN_LINE[:2:-1]], metrics=["completeness"]),  # 6 of 15 pairs turned: τ = 0.2
        ),
        ranked(IN_LINE, metrics=["cohesion_ratio", "completeness"]),  # τ = 1 is more than moderate
    ),
    "silhouette": (
        ranked(
            [[KMEANS], [HAC], [AFFINITY], [LEIDEN, OPTICS, HDBSCAN]],
            [[KMEANS, HAC, AFFINITY], [LEIDEN, OPTICS, HDBSCAN]],
            metrics=["silhouette"],
        ),
        ranked([[LEIDEN, OPTICS, HDBSCAN], [AFFINITY], [HAC], [KMEANS]], metrics=["silhouette"]),
    ),
    "calinski_harabasz": (
        ranked([[KMEANS], [HAC], RIVALS], metrics=["calinski_harabasz"]),
        ranked([[KMEANS, HAC, *RIVALS]], metrics=["calinski_harabasz"]),
    ),
    "cohesion_above_one": (
        both(cells("", ari=0.2, cohesion_ratio=1.01), cells(OPTICS, ari=0.04, cohesion_ratio=1.09)),
        both(cells("", ari=0.2, cohesion_ratio=1.0), cells(OPTICS, ari=0.04, cohesion_ratio=1.11)),
    ),
    "cohesion_best": (
        along(cohesion_ratio=1, silhouette=-1, davies_bouldin=1, calinski_harabasz=-1, **GOOD_LABELS),
        along(cohesion_ratio=-1, silhouette=1, davies_bouldin=1, calinski_harabasz=-1, **GOOD_LABELS),
    ),
    "cohesion_strong": (along(cohesion_ratio=1, **GOOD_LABELS), along(cohesion_ratio=-1, **GOOD_LABELS)),
    "cohesion_ari": (along(cohesion_ratio=1, silhouette=1, ari=1), along(cohesion_ratio=1, silhouette=-1, ari=1)),
    "silhouette_strong": (along(silhouette=1, **GOOD_LABELS), along(silhouette=-1, **GOOD_LABELS)),
    "davies_bouldin": (along(davies_bouldin=1, **GOOD_LABELS), along(davies_bouldin=-1, **GOOD_LABELS)),
}
"""The same for each claim about ranks and correlations."""


def verdict(name, study, change):
    return RULES[name].judge(Findings(changed(study, change))).verdict


@pytest.mark.parametrize("name", ON_ALL_SETS)
def test_a_claim_about_the_estimate_follows_the_numbers(name, all_sets):
    holds, fails = ON_ALL_SETS[name]
    assert verdict(name, all_sets, holds) == "holds"
    assert verdict(name, all_sets, fails) == "does not hold"


@pytest.mark.parametrize("name", ON_MANY_BLOCKS)
def test_a_claim_about_scores_follows_the_numbers(name, many_blocks):
    holds, fails = ON_MANY_BLOCKS[name]
    assert verdict(name, many_blocks, holds) == "holds"
    assert verdict(name, many_blocks, fails) == "does not hold"


def test_every_claim_has_a_rule_and_two_cases():
    assert RULES.keys() == CLAIMS.keys() == ON_ALL_SETS.keys() | ON_MANY_BLOCKS.keys()
    assert len(CLAIMS) == 60


def test_the_papers_numbers_are_complete():
    assert tuple(OVERALL) == PAPERS_SIX == tuple(TITLES)[:6]
    assert set(SCORED) <= set(METRICS)
    assert [facts.classes for facts in DATASETS.values()] == [14, 14, 20, 17, 50, 121]


def test_a_claim_of_which_most_parts_are_true_holds_in_part(all_sets):
    better_than_three_of_four = cells(HAC, k_relative_error=15.0)
    assert verdict("error_of_k", all_sets, better_than_three_of_four) == "holds in part"


@pytest.mark.parametrize("titles", [(), ("BLESS",), ("my texts",)])
def test_a_small_study_has_claims_without_enough_data_and_no_number_that_is_none(titles):
    claims = judge_claims(make_results(titles=titles, models=("wordllama",)))
    assert not any("nan" in claim.outcome.measured.lower() for claim in claims)
    found = {claim.name: claim.outcome.verdict for claim in claims}
    assert found["stackexchange_peak"] == "not enough data"
    assert (found["ari"] == "not enough data") == (titles != ("my texts",))


def test_samples_that_rivals_cannot_cluster_do_not_count_against_them(all_sets):
    closest = both(cells(KMEANS, k=times_classes(0.5)), cells(*RIVALS, k=times_classes(1.9)))

    def without_rivals(cell):
        """Let the paper's k be perfect on the larger samples, which no rival can cluster."""
        if cell.variant.size <= 1000:
            return closest(cell)
        return None if cell.task in RIVALS else cells(KMEANS, k=times_classes(1))(cell)

    assert verdict("closest_k", all_sets, without_rivals) == verdict("closest_k", all_sets, closest) == "does not hold"
