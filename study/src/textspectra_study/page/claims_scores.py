"""Judge the paper's claims about algorithms and metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import fmean

from scipy import stats

from ..algorithms import PAPERS_SIX, RIVALS, TITLES
from ..results import METRICS, Cell
from .findings import Findings
from .paper import SCORED
from .statistics import AGREEMENT, Block, Comparison, score, spearman, summarize
from .verdicts import Outcome, Verdict, all_of, most_of, unknown, within
from .wording import METRIC_TITLES, number, p_value, share, signed_title, span

KMEANS, HAC, LEIDEN, AFFINITY = "kmeans_kest", "hac_kest", "leiden", "affinity_propagation"
STRONG = 0.5
"""Correlations of at least this are called strong."""


def friedman(findings: Findings) -> Outcome:
    """Judge by Friedman's test on every metric."""
    tests = [test for test in findings.comparisons.values() if test.p is not None]
    if len(tests) < len(METRICS):
        return unknown()
    parts = [test.p is not None and test.p < 0.001 for test in tests]
    weakest = max(tests, key=lambda test: test.p or 0)
    measured = (
        f"p < 0.001 on {share(sum(parts), len(parts))} metrics; the largest p is for {METRIC_TITLES[weakest.metric]}: "
        f"{p_value(weakest.p)}"
    )
    return Outcome(all_of(parts), measured, _blocks_basis(findings, weakest.blocks))


def error_of_k(findings: Findings) -> Outcome:
    """Judge by the mean relative errors over complete blocks."""
    blocks = findings.complete_blocks
    means = {task: summarize((b.cells[task] for b in blocks), "k_relative_error") for task in PAPERS_SIX}
    known = {task: value.mean for task, value in means.items() if value is not None}
    if len(known) < len(PAPERS_SIX):
        return unknown()
    parts = [known[ours] < known[rival] for ours in (KMEANS, HAC) for rival in RIVALS]
    measured = ", ".join(f"{TITLES[task]} {number(value)}" for task, value in known.items())
    return Outcome(all_of(parts), measured, _blocks_basis(findings, blocks))


def outperform(findings: Findings) -> Outcome:
    """Judge by significant wins on the metrics of the paper's Table 3."""
    tests = [findings.comparisons[metric] for metric in SCORED]
    if any(test.p is None for test in tests):
        return unknown()
    wins = {
        (ours, rival): sum(test.beats(ours, rival) for test in tests)
        for ours in (KMEANS, HAC)
        for rival in ("hdbscan", "optics", LEIDEN)
    }
    counts = ", ".join(f"{TITLES[ours]} over {TITLES[rival]} {n}" for (ours, rival), n in wins.items())
    parts = [2 * n > len(tests) for n in wins.values()]
    measured = f"significant wins on {len(tests)} metrics: {counts}"
    return Outcome(all_of(parts), measured, _blocks_basis(findings, tests[0].blocks))


def ranking(metric: str, parts: Callable[[Comparison], list[bool]]) -> Callable[[Findings], Outcome]:
    """Return a function that judges a claim about ranks by one metric; `parts` says which of its parts hold."""

    def judge(findings: Findings) -> Outcome:
        test = findings.comparisons[metric]
        if test.p is None:
            return unknown()
        checks = parts(test)
        ranks = ", ".join(f"{TITLES[task]} {number(test.ranks[task])}" for task in test.order)
        true = share(sum(checks), len(checks))
        measured = f"{true} parts hold; mean ranks {ranks}; critical difference {number(test.critical_difference)}"
        return Outcome(all_of(checks), measured, _blocks_basis(findings, test.blocks))

    return judge


def beats_all(test: Comparison, winner: str, *, but: Sequence[str] = ()) -> list[bool]:
    """Return for each other algorithm whether `winner` is significantly better."""
    return [test.beats(winner, task) for task in PAPERS_SIX if task != winner and task not in but]


def best_but_kmeans(test: Comparison) -> list[bool]:
    """Return whether HAC beats each rival, and ties with K-Means."""
    return [*beats_all(test, HAC, but=[KMEANS]), not test.differ(HAC, KMEANS)]


def hac_beats_all(test: Comparison) -> list[bool]:
    """Return whether HAC beats each of the five others."""
    return beats_all(test, HAC)


def leiden_beats_all(test: Comparison) -> list[bool]:
    """Return whether Leiden beats each of the five others."""
    return beats_all(test, LEIDEN)


def three_tie(test: Comparison) -> list[bool]:
    """Return whether K-Means, HAC and Affinity Propagation tie, pair by pair."""
    return [not test.differ(a, b) for a, b in combinations((KMEANS, HAC, AFFINITY), 2)]


def affinity_then_leiden(test: Comparison) -> list[bool]:
    """Return whether Affinity Propagation beats all others, Leiden is second, K-Means and HAC tie for third."""
    order = test.order
    return [
        *beats_all(test, AFFINITY),
        order[1] == LEIDEN,
        set(order[2:4]) == {KMEANS, HAC},
        not test.differ(KMEANS, HAC),
    ]


def three_then_affinity(test: Comparison) -> list[bool]:
    """Return whether K-Means, HAC and Leiden rank before Affinity Propagation, and this before the two others."""
    before = [test.ranks[task] < test.ranks[AFFINITY] for task in (KMEANS, HAC, LEIDEN)]
    return [*before, *(test.ranks[AFFINITY] < test.ranks[task] for task in ("hdbscan", "optics"))]


def hac_leads(test: Comparison) -> list[bool]:
    """Return whether HAC beats all others, and Affinity Propagation beats only OPTICS and HDBSCAN."""
    low = [test.beats(AFFINITY, task) for task in ("optics", "hdbscan")]
    return [*beats_all(test, HAC), *low, *(not test.beats(AFFINITY, task) for task in (KMEANS, HAC, LEIDEN))]


def silhouette_order(test: Comparison) -> list[bool]:
    """Return whether K-Means and HAC tie and beat the others, except that HAC ties with Affinity Propagation."""
    ties = [not test.differ(KMEANS, HAC), not test.differ(HAC, AFFINITY)]
    return [*ties, *beats_all(test, KMEANS, but=[HAC]), *beats_all(test, HAC, but=[KMEANS, AFFINITY])]


def kmeans_then_hac(test: Comparison) -> list[bool]:
    """Return whether K-Means beats all others and HAC is second."""
    return [*beats_all(test, KMEANS), test.order[1] == HAC]


def affinity_mixed(findings: Findings) -> Outcome:
    """Judge by whether Affinity Propagation is in the better half of the ranks."""
    good, poor = ("homogeneity", "cohesion_ratio", "silhouette"), "completeness"
    tests = {metric: findings.comparisons[metric] for metric in (*good, poor)}
    if any(test.p is None for test in tests.values()):
        return unknown()
    ranks = {metric: test.ranks[AFFINITY] for metric, test in tests.items()}
    middle = (1 + len(PAPERS_SIX)) / 2
    parts = [*(ranks[metric] < middle for metric in good), ranks[poor] > middle]
    measured = "mean rank " + ", ".join(f"{number(rank)} ({METRIC_TITLES[metric]})" for metric, rank in ranks.items())
    return Outcome(all_of(parts), measured, _blocks_basis(findings, tests[poor].blocks))


def cohesion_homogeneity(findings: Findings) -> Outcome:
    """Judge by whether both metrics give the same result for each pair: better, worse or a tie."""
    rho, other = (findings.comparisons[metric] for metric in ("cohesion_ratio", "homogeneity"))
    if rho.p is None or other.p is None:
        return unknown()
    same = [rho.beats(a, b) == other.beats(a, b) and rho.beats(b, a) == other.beats(b, a) for a, b in _pairs()]
    measured = f"same result for {share(sum(same), len(same))} pairs of algorithms"
    return Outcome(all_of(same), measured, _blocks_basis(findings, rho.blocks))


def cohesion_completeness(findings: Findings) -> Outcome:
    """Judge by Kendall's τ of the two orders of mean ranks."""
    rho, other = (findings.comparisons[metric] for metric in ("cohesion_ratio", "completeness"))
    if rho.p is None or other.p is None:
        return unknown()
    ranks = [[test.ranks[task] for task in PAPERS_SIX] for test in (rho, other)]
    tau = round(float(stats.kendalltau(*ranks).statistic), 12)
    verdict = within(round(abs(tau - 0.5), 12), 0.3, 0.45)
    return Outcome(
        verdict, f"Kendall’s rank correlation of the mean ranks is {number(tau)}", _blocks_basis(findings, rho.blocks)
    )


def _pairs() -> list[tuple[str, str]]:
    return list(combinations(PAPERS_SIX, 2))


Worth = dict[str, float]
"""What the paper chose a setting by, from the metrics of a clustering."""


def setting(rival: str, worth: Callable[[Worth], Worth], margin: float = 0.0) -> Callable[[Findings], Outcome]:
    """Return a function that judges the setting the paper chose for a rival, the first: each mean worth is the highest.

    Parameters
    ----------
    rival : str
    worth : callable
    margin : float
        How much higher it must be.
    """

    def judge(findings: Findings) -> Outcome:
        cells = findings.ok("settings")
        if not cells:
            return unknown()
        means: dict[str, Worth] = {}
        for name in cells[0].values[rival]:
            rows = [worth(cell.values[rival][name]) for cell in cells]
            means[name] = {what: fmean(row[what] for row in rows) for what in rows[0]}
        chosen, *others = means.values()
        parts = [chosen[what] - other[what] > margin for other in others for what in chosen]
        clusters = {name: fmean(cell.values[rival][name]["k"] for cell in cells) for name in means}
        measured = "; ".join(
            [
                f"mean {what} " + ", ".join(f"{number(mean[what], 3)} ({name})" for name, mean in means.items())
                for what in chosen
            ]
            + ["mean k " + ", ".join(f"{number(k, 0)} ({name})" for name, k in clusters.items())]
        )
        return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))

    return judge


def balance(row: Worth) -> Worth:
    """Return the mean of ARI and NMI."""
    return {"of ARI and NMI": (row["ari"] + row["nmi"]) / 2}


def nmi_alone(row: Worth) -> Worth:
    """Return NMI."""
    return {"NMI": row["nmi"]}


def both_scores(row: Worth) -> Worth:
    """Return ARI and NMI."""
    return {"ARI": row["ari"], "NMI": row["nmi"]}


def cohesion_above_one(findings: Findings) -> Outcome:
    """Judge by clusterings that agree with the classes and by those that do not."""
    cells = [c for c in findings.ok(*TITLES) if score(c, "cohesion_ratio") is not None and score(c, "ari") is not None]
    good = [c.values["cohesion_ratio"] > 1 for c in cells if c.values["ari"] >= 0.2]
    poor = [abs(c.values["cohesion_ratio"] - 1) <= 0.1 for c in cells if c.values["ari"] < 0.05]
    if not good or not poor:
        return unknown()
    measured = (
        f"ρ > 1 in {share(sum(good), len(good))} cells with ARI ≥ 0.2; ρ within 0.1 of 1 in "
        f"{share(sum(poor), len(poor))} with ARI < 0.05"
    )
    parts = [2 * sum(good) > len(good), 2 * sum(poor) > len(poor)]
    return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))


def cohesion_best(findings: Findings) -> Outcome:
    """Judge by which intrinsic metric correlates most with NMI and with homogeneity."""
    parts, measured = [], []
    for outer in ("nmi", "homogeneity"):
        row = {inner: value for (inner, other), (value, _) in findings.correlations_of_six.items() if other == outer}
        known = {inner: value for inner, value in row.items() if value is not None}
        if len(known) < len(row):
            return unknown()
        order = sorted(known, key=lambda inner: -known[inner])
        parts.append(order[0] == "cohesion_ratio")
        values = ", ".join(f"{signed_title(inner)} {number(known[inner], 3)}" for inner in order)
        measured.append(f"{METRIC_TITLES[outer]}: {values}")
    return Outcome(all_of(parts), "; ".join(measured), _six_basis(findings))


def cohesion_strong(findings: Findings) -> Outcome:
    """Judge by the two correlations."""
    return _correlation_outcome(findings, "cohesion_ratio", ("nmi", "homogeneity"), _is_strong, all_of)


def silhouette_strong(findings: Findings) -> Outcome:
    """Judge by the correlations with all metrics that need the classes."""
    return _correlation_outcome(findings, "silhouette", AGREEMENT, _is_strong, most_of)


def _is_strong(correlation: float) -> bool:
    return correlation >= STRONG


def _correlation_outcome(
    findings: Findings,
    inner: str,
    outers: Sequence[str],
    holds: Callable[[float], bool],
    rule: Callable[[Sequence[bool]], Verdict],
) -> Outcome:
    """Judge by the correlations of one intrinsic metric with others."""
    correlations = {outer: findings.correlations_of_six[inner, outer].value for outer in outers}
    known = {outer: value for outer, value in correlations.items() if value is not None}
    if len(known) < len(correlations):
        return unknown()
    values = ", ".join(f"{signed_title(outer)} {number(value, 3)}" for outer, value in known.items())
    return Outcome(rule([holds(value) for value in known.values()]), f"Spearman with {values}", _six_basis(findings))


def cohesion_ari(findings: Findings) -> Outcome:
    """Judge by the difference of the two correlations with ARI."""
    rho, silhouette = (findings.correlations_of_six[m, "ari"].value for m in ("cohesion_ratio", "silhouette"))
    if rho is None or silhouette is None:
        return unknown()
    measured = f"Spearman with ARI: ρ {number(rho, 3)}, silhouette {number(silhouette, 3)}"
    return Outcome(within(abs(rho - silhouette), 0.1, 0.2), measured, _six_basis(findings))


def davies_bouldin(findings: Findings) -> Outcome:
    """Judge by the signs of the correlations."""
    return _correlation_outcome(findings, "davies_bouldin", AGREEMENT, lambda value: value < 0, most_of)


def stackexchange_flat(findings: Findings) -> Outcome:
    """Compare the height and the range of the curves with the mean of the other datasets."""
    ours = [cell for cell in findings.profiles if findings.title(cell.variant.dataset) == "StackExchange"]
    others = [cell for cell in findings.profiles if cell not in ours]
    if not ours or not others:
        return unknown()
    parts, measured = [], []
    for metric in ("ari", "fowlkes_mallows"):
        for noun, measure in (("highest", max), ("range", lambda values: max(values) - min(values))):
            mean, mean_elsewhere = (fmean(measure(_curve(cell, metric)) for cell in cells) for cells in (ours, others))
            parts.append(mean < mean_elsewhere)
            measured.append(f"{METRIC_TITLES[metric]} {noun} {number(mean)}, elsewhere {number(mean_elsewhere)}")
    return Outcome(all_of(parts), "; ".join(measured), findings.basis_of_cells(findings.profiles))


def stackexchange_peak(findings: Findings) -> Outcome:
    """Judge by the factor between the estimate and the k with the best silhouette."""
    parts, measured, cells = [], [], []
    for cell in findings.profiles:
        points = [point for point in cell.values["points"] if point["silhouette"] is not None]
        estimate = findings.estimated_k(cell)
        if findings.title(cell.variant.dataset) != "StackExchange" or not points or estimate is None:
            continue
        peak = max(points, key=lambda point: point["silhouette"])["k"]
        parts.append(max(peak, estimate) <= 1.5 * min(peak, estimate))
        beyond = " or more" if peak == points[-1]["k"] else ""  # the end of the grid
        algorithm = "HAC" if cell.task == "profile-hac" else "K-Means"
        measured.append(f"{cell.model} {algorithm}: k {estimate}, peak at {peak}{beyond}")
        cells.append(cell)
    return Outcome(all_of(parts), "; ".join(measured), findings.basis_of_cells(cells)) if parts else unknown()


def cohesion_profile(findings: Findings) -> Outcome:
    """Judge by Spearman's correlation of the two curves."""
    correlations = [spearman(*_curves(cell, "cohesion_ratio", "homogeneity")) for cell in findings.profiles]
    known = [value for value in correlations if value is not None]
    if not known:
        return unknown()
    parts = [value >= 0.9 for value in known]
    measured = f"Spearman of the curves {span(known)}; at least 0.9 in {share(sum(parts), len(parts))}"
    return Outcome(all_of(parts), measured, findings.basis_of_cells(findings.profiles))


def _curve(cell: Cell, metric: str) -> list[float]:
    return [point[metric] for point in cell.values["points"] if point[metric] is not None]


def _curves(cell: Cell, first: str, second: str) -> tuple[list[float], list[float]]:
    points = [p for p in cell.values["points"] if p[first] is not None and p[second] is not None]
    return [p[first] for p in points], [p[second] for p in points]


def _six_basis(findings: Findings) -> str:
    return findings.basis_of_cells(findings.cells_of_six)


def _blocks_basis(findings: Findings, blocks: Sequence[Block]) -> str:
    return findings.basis(((block.dataset, block.model) for block in blocks), len(blocks), "block")
