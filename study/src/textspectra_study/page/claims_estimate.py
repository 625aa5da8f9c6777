"""Judge the paper's claims about the estimate of k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from ..algorithms import RIVALS
from .findings import Findings
from .statistics import ALPHA, SizeTest, spearman
from .sweeps import DEFAULT_TAU, DEFAULT_WINDOW, MODERATE_WINDOWS, SweepPoint, grouped, mean_error
from .verdicts import Outcome, Verdict, all_of, most_of, some_of, unknown
from .wording import listing, number, p_value, share, span

MANY_CLASSES = 50
NEAR = 1.1
"""Errors up to this many times the lowest count as equally good."""


def eigengap(findings: Findings) -> Outcome:
    """Judge by all cells with at least 10 classes."""
    cells = [cell for cell in findings.ok("kmeans_eigengap") if cell.variant.classes >= 10]
    parts = [cell.values["k"] < 5 for cell in cells]
    if not parts:
        return unknown()
    k_span = span([cell.values["k"] for cell in cells], 0)
    measured = f"k < 5 in {share(sum(parts), len(parts))} cells; k is {k_span}"
    return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))


def negative_cosines(findings: Findings) -> Outcome:
    """Judge by the share of negative cosines on each dataset with each model."""
    cells = findings.ok("similarity")
    shares = [cell.values["negative"] for cell in cells]
    if not shares:
        return unknown()
    parts = [value < 0.05 for value in shares]
    percent = span([100 * value for value in shares], 1)
    measured = f"{percent}% of the cosines are negative; below 5% in {share(sum(parts), len(parts))} cases"
    return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))


def window_error(findings: Findings) -> Outcome:
    """Judge by the trend of the mean error over windows."""
    return _window_trend(findings, mean_error, "mean error")


def window_fallback(findings: Findings) -> Outcome:
    """Judge by the trend of the share of samples without an answer."""
    return _window_trend(findings, _fallback, "share without an answer")


def _fallback(points: Sequence[SweepPoint]) -> float:
    return fmean(point.fallback for point in points)


def _window_trend(findings: Findings, what: Callable[[Sequence[SweepPoint]], float], noun: str) -> Outcome:
    points = findings.window_sweep
    clusters = grouped(points, lambda point: point.window)
    if len(clusters) < 5:
        return unknown()
    values = [what(cluster) for cluster in clusters.values()]
    windows = [float(cluster[0].window) for cluster in clusters.values()]
    trend = spearman(windows, values)
    measured = (
        f"{noun} {number(values[0])} at w = {windows[0]:.0f}, {number(values[-1])} at w = {windows[-1]:.0f}; "
        f"Spearman {number(trend)}"
    )
    parts = [trend is not None and trend >= 0.5, values[-1] > values[0]]
    return Outcome(all_of(parts), measured, _sweep_basis(findings, points))


def window_moderate(findings: Findings) -> Outcome:
    """Compare windows up to 7 with larger ones."""
    points = findings.window_sweep
    small = [point for point in points if point.window in MODERATE_WINDOWS]
    large = [point for point in points if point.window not in MODERATE_WINDOWS]
    if not small or not large:
        return unknown()
    errors, fallbacks = (mean_error(small), mean_error(large)), (_fallback(small), _fallback(large))
    measured = (
        f"mean error {number(errors[0])} up to w = 7, {number(errors[1])} above; "
        f"without an answer {number(fallbacks[0])} and {number(fallbacks[1])}"
    )
    parts = [errors[0] < errors[1], fallbacks[0] < fallbacks[1]]
    return Outcome(all_of(parts), measured, _sweep_basis(findings, points))


def window_default(findings: Findings) -> Outcome:
    """Compare w = 3 with the best window."""
    points = findings.window_sweep
    clusters = grouped(points, lambda point: point.window)
    if DEFAULT_WINDOW not in clusters or len(clusters) < 2:
        return unknown()
    errors = {cluster[0].window: mean_error(cluster) for cluster in clusters.values()}
    fallbacks = {cluster[0].window: _fallback(cluster) for cluster in clusters.values()}
    best = min(errors, key=lambda window: errors[window])
    measured = (
        f"mean error {number(errors[DEFAULT_WINDOW])} at w = 3, lowest {number(errors[best])} at w = {best}; "
        f"without an answer {number(fallbacks[DEFAULT_WINDOW])} at w = 3, lowest {number(min(fallbacks.values()))}"
    )
    parts = [
        errors[DEFAULT_WINDOW] <= NEAR * errors[best],
        fallbacks[DEFAULT_WINDOW] <= min(fallbacks.values()) + 0.01,
    ]
    return Outcome(all_of(parts), measured, _sweep_basis(findings, points))


def tau_time(findings: Findings) -> Outcome:
    """Judge by the mean run time at each cap."""
    points = findings.tau_sweep
    clusters = list(grouped(points, lambda point: point.tau).values())
    if len(clusters) < 2:
        return unknown()
    seconds = [fmean(point.seconds for point in cluster) for cluster in clusters]
    measured = ", ".join(f"{number(s, 1)} s at {g[0].tau:,}" for s, g in zip(seconds, clusters, strict=True))
    rises = [after > before for before, after in pairwise(seconds)]
    return Outcome(all_of(rises), measured, _sweep_basis(findings, points))


def tau_larger(findings: Findings) -> Outcome:
    """Judge by whether the error of a dataset falls with every step."""
    errors = _tau_errors(findings)
    parts = [not all(np.diff(list(row.values())) < 0) for row in errors.values()]
    measured = f"error falls with every step on {share(len(parts) - sum(parts), len(parts))} datasets"
    return _tau_outcome(findings, parts, measured, all_of)


def tau_range(findings: Findings) -> Outcome:
    """Judge by whether 500 or 1,000 is about as good as the best cap of a dataset."""
    errors = _tau_errors(findings)
    parts = [min(row[500], row[1000]) <= NEAR * min(row.values()) for row in errors.values() if {500, 1000} <= {*row}]
    measured = f"500 or 1,000 within 10% of the lowest error on {share(sum(parts), len(parts))} datasets"
    return _tau_outcome(findings, parts, measured, most_of)


def tau_default(findings: Findings) -> Outcome:
    """Compare the error at 1,000 with the lowest error, and its time with the time at the largest cap."""
    clusters = grouped(findings.tau_sweep, lambda point: point.tau)
    errors = {cluster[0].tau: mean_error(cluster) for cluster in clusters.values()}
    seconds = {cluster[0].tau: fmean(point.seconds for point in cluster) for cluster in clusters.values()}
    slowest = max(errors, default=0)
    if DEFAULT_TAU not in errors or slowest == DEFAULT_TAU:
        return unknown()
    best = min(errors, key=lambda tau: errors[tau])
    measured = (
        f"mean error {number(errors[DEFAULT_TAU])} at 1,000, lowest {number(errors[best])} at {best:,}; "
        f"{number(seconds[DEFAULT_TAU], 1)} s against {number(seconds[slowest], 1)} s at {slowest:,}"
    )
    parts = [errors[DEFAULT_TAU] <= NEAR * errors[best], seconds[DEFAULT_TAU] < seconds[slowest]]
    return _tau_outcome(findings, parts, measured, all_of)


def tau_small(findings: Findings) -> Outcome:
    """Compare the caps 200 and 1,000 on datasets with at least 50 classes."""
    many = {point.dataset for point in findings.tau_sweep if point.classes >= MANY_CLASSES}
    rows = {name: row for name, row in _tau_errors(findings).items() if name in many and {200, 1000} <= {*row}}
    parts = [row[200] >= NEAR * row[1000] for row in rows.values()]
    measured = "; ".join(
        f"{findings.title(name)}: error {number(row[200])} at 200, {number(row[1000])} at 1,000"
        for name, row in rows.items()
    )
    points = [point for point in findings.tau_sweep if point.dataset in rows]
    return Outcome(all_of(parts), measured, _sweep_basis(findings, points)) if parts else unknown()


def _tau_errors(findings: Findings) -> dict[str, dict[int, float]]:
    """Return the mean error of each dataset at each cap, for datasets with all caps of the study."""
    rows: dict[str, dict[int, float]] = {}
    for cluster in grouped(findings.tau_sweep, lambda point: (point.dataset, point.tau)).values():
        rows.setdefault(cluster[0].dataset, {})[cluster[0].tau] = mean_error(cluster)
    most = max((len(row) for row in rows.values()), default=0)
    return {name: row for name, row in rows.items() if len(row) == most > 1}


def _tau_outcome(
    findings: Findings, parts: list[bool], measured: str, rule: Callable[[Sequence[bool]], Verdict]
) -> Outcome:
    return Outcome(rule(parts), measured, _sweep_basis(findings, findings.tau_sweep)) if parts else unknown()


def estimate_cost(findings: Findings) -> Outcome:
    """Judge by the growth of the time with n, and by the time of all eigenvalues."""
    cells = findings.ok("times")
    parts, measured = [], []
    for cell in cells:
        rows = cell.values["estimates"]
        whole = [row for row in rows if "all_eigenvalues" in row]
        if not whole:
            continue
        first, last, full = rows[0], rows[-1], whole[-1]
        growth = last["estimate"] / first["estimate"] / (math.log(last["n"]) / math.log(first["n"]))
        part = full["estimate"] / full["all_eigenvalues"]
        parts += [growth <= 1.2, part <= 0.5]
        measured.append(
            f"{cell.model}: from n = {first['n']:,} to {last['n']:,}, {number(growth)} times the growth of log n; at "
            f"{full['n']:,}, {number(part)} of the time of all eigenvalues"
        )
    return Outcome(all_of(parts), "; ".join(measured), findings.basis_of_cells(cells)) if parts else unknown()


def zscore_overall(findings: Findings) -> Outcome:
    """Judge by the means and Wilcoxon's test over all settings."""
    test = findings.zscore_overall
    if test is None or test.p is None:
        return unknown()
    lower = test.zscored < test.raw
    measured = f"mean error {number(test.zscored, 3)} z-scored, {number(test.raw, 3)} raw; {p_value(test.p)}"
    return Outcome(all_of([lower, lower and test.p < ALPHA]), measured, _sweep_basis(findings, findings.sweep))


def zscore_better(findings: Findings) -> Outcome:
    """Judge four datasets by their means and Wilcoxon's tests."""
    return _zscore_on(
        findings,
        ("DBpedia Title", "DBpedia Text", "20 Newsgroups", "BLESS"),
        lambda raw, zscored, p: zscored < raw and p is not None and p < ALPHA,
    )


def zscore_worse(findings: Findings) -> Outcome:
    """Judge two datasets by their means."""
    return _zscore_on(findings, ("Reddit", "StackExchange"), lambda raw, zscored, p: zscored > raw)


def _zscore_on(
    findings: Findings, titles: tuple[str, ...], expected: Callable[[float, float, float | None], bool]
) -> Outcome:
    tests = {name: t for name, t in findings.zscore_by_dataset.items() if findings.title(name) in titles}
    if 2 * len(tests) < len(titles):
        return unknown()
    parts = [expected(test.raw, test.zscored, test.p) for test in tests.values()]
    measured = "; ".join(
        f"{findings.title(name)} {number(test.raw)} → {number(test.zscored)} ({p_value(test.p)})"
        for name, test in tests.items()
    )
    points = [point for point in findings.sweep if point.dataset in tests]
    return Outcome(all_of(parts), measured, _sweep_basis(findings, points))


def zscore_blocks(findings: Findings) -> Outcome:
    """Judge by the contrast of the classes in the matrices."""
    cells = [cell for cell in findings.ok("similarity") if cell.values["contrast_raw"] is not None]
    contrasts = [(cell.values["contrast_raw"], cell.values["contrast_zscored"]) for cell in cells]
    if not contrasts:
        return unknown()
    parts = [after > before for before, after in contrasts]
    before, after = (fmean(values) for values in zip(*contrasts, strict=True))
    measured = (
        f"contrast rises in {share(sum(parts), len(parts))} cases; mean {number(before)} raw, {number(after)} z-scored"
    )
    return Outcome(some_of(parts), measured, findings.basis_of_cells(cells))


def closest_k(findings: Findings) -> Outcome:
    """Judge by the median factor between found and true k on each dataset, on samples that all five can cluster."""
    factors: dict[str, dict[str, list[float]]] = {}
    cells = [cell for cell in findings.cells_of_six if cell.variant.kind != "random" and cell.task != "hac_kest"]
    for cell in cells:
        off = abs(math.log(max(cell.values["k"], 1) / cell.variant.classes))
        factors.setdefault(cell.variant.dataset, {}).setdefault(cell.task, []).append(off)
    if not factors:
        return unknown()
    won = {
        name: all(np.median(by_task["kmeans_kest"]) < np.median(by_task[rival]) for rival in RIVALS)
        for name, by_task in factors.items()
    }
    where = listing(findings.title(name) for name, first in won.items() if first)
    return Outcome(
        most_of(list(won.values())),
        f"closest on {share(sum(won.values()), len(won))} datasets: {where}",
        findings.basis_of_cells(cells),
    )


def sizes(findings: Findings) -> Outcome:
    """Judge k by Kruskal-Wallis on each sampled dataset."""
    return _over_sizes(findings, findings.size_tests, "k", 0)


def error_sizes(findings: Findings) -> Outcome:
    """Judge the relative error of k by Kruskal-Wallis on each sampled dataset."""
    return _over_sizes(findings, findings.error_size_tests, "error", 2)


def _over_sizes(findings: Findings, size_tests: Sequence[SizeTest], noun: str, digits: int) -> Outcome:
    tests = [test for test in size_tests if test.p is not None]
    parts = [test.p is not None and test.p >= ALPHA for test in tests]
    if not parts:
        return unknown("not enough data: the test needs several estimates per size")
    measured = "; ".join(
        f"{findings.title(test.dataset)} {p_value(test.p)} (within models {p_value(test.p_within)}), mean {noun} "
        f"{span([fmean(values) for values in test.by_size.values()], digits)}"
        for test in tests
    )
    names = {test.dataset for test in tests}
    cells = [c for c in findings.ok("kmeans_kest") if c.variant.dataset in names and c.variant.kind != "whole"]
    return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))


def affinity_k(findings: Findings) -> Outcome:
    """Judge by all cells of Affinity Propagation."""
    cells = findings.ok("affinity_propagation")
    factors = [cell.values["k"] / cell.variant.classes for cell in cells]
    if not factors:
        return unknown()
    parts = [factor >= 3 for factor in factors]
    often = share(sum(parts), len(parts))
    measured = f"k at least 3 times the classes in {often} cells; median factor {number(float(np.median(factors)), 1)}"
    return Outcome(most_of(parts), measured, findings.basis_of_cells(cells))


def _sweep_basis(findings: Findings, points: Sequence[SweepPoint]) -> str:
    pairs = {(point.dataset, point.model) for point in points}
    return findings.basis(pairs, len(pairs), "pair of dataset and model", "pairs of dataset and model")
