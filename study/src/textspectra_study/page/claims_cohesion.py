"""Judge what the paper says about the Cohesion Ratio itself: its range, its readings, and its time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from ..algorithms import PAPERS_SIX
from ..results import Cell
from .findings import Findings
from .statistics import ALPHA, MIN_BLOCKS, score, spearman
from .verdicts import Outcome, Verdict, all_of, most_of, unknown
from .wording import number, share, span

Reading = dict[str, Any]
"""The Cohesion Ratio of one clustering, read in several ways; see `readings.readings`."""


def cohesion_range(findings: Findings) -> Outcome:
    """Judge by the ratio of every clustering; with negative cosines as they are, it is only reported."""

    def lies_within(row: Reading) -> bool:
        return bool(0 <= row["ratio"] <= 1 / row["mu_global"])

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        raw = [row["ratio_unrectified"] for row in rows if row["ratio_unrectified"] is not None]
        undefined = len(rows) - len(raw)
        return (
            f"{share(sum(parts), len(parts))} clusterings; ρ {span([row['ratio'] for row in rows])}, with negative "
            f"cosines kept {span(raw) if raw else 'not defined'} ({undefined} not defined)"
        )

    return _judge(findings, lies_within, measured, all_of)


def cohesion_random(findings: Findings) -> Outcome:
    """Judge by random permutations of the labels of every clustering."""

    def is_near_one(row: Reading) -> bool:
        return bool(
            abs(row["permuted_mean"] - 1) <= 0.01 and row["permuted_low"] >= 0.9 and row["permuted_high"] <= 1.1
        )

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        return (
            f"{share(sum(parts), len(parts))} clusterings; mean ρ of permutations "
            f"{span([row['permuted_mean'] for row in rows], 4)}, 95% of them "
            f"{span([row[end] for row in rows for end in ('permuted_low', 'permuted_high')])}"
        )

    return _judge(findings, is_near_one, measured, most_of)


def cohesion_null(findings: Findings) -> Outcome:
    """Judge by permutation tests of clusterings with a ratio above 1."""

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        highest = max(row["permuted_p"] for row in rows)
        return f"p < {ALPHA} in {share(sum(parts), len(parts))} clusterings with ρ > 1; highest p {number(highest)}"

    return _judge(findings, lambda row: row["permuted_p"] < ALPHA, measured, all_of, _above_one)


def cohesion_singletons(findings: Findings) -> Outcome:
    """Judge by how much clusters of one row change the ratio of the others."""

    def change(row: Reading) -> float:
        return float(100 * abs(row["ratio_with_singletons"] / row["ratio_without_singletons"] - 1))

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        changes = [change(row) for row in rows]
        return (
            f"at most 1% in {share(sum(parts), len(parts))} clusterings; median "
            f"{number(float(np.median(changes)))}%, highest {number(max(changes), 1)}%"
        )

    return _judge(
        findings, lambda row: change(row) <= 1, measured, all_of, lambda row: bool(row["ratio_without_singletons"])
    )


def sparse_similarities(findings: Findings) -> Outcome:
    """Judge by the mean similarity of all pairs, and of pairs inside clusters."""

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        return (
            f"{share(sum(parts), len(parts))} clusterings; μ_G {span([row['mu_global'] for row in rows], 3)}, median ρ "
            f"{number(float(np.median([row['ratio'] for row in rows])))}"
        )

    return _judge(findings, _is_sparse, measured, most_of)


def divergence_terms(mu_intra: float, mu_global: float) -> tuple[float, float]:
    """Return the two terms of the Kullback-Leibler divergence between two Bernoulli distributions.

    Examples
    --------
    >>> [round(term, 3) for term in divergence_terms(0.5, 0.25)]
    [0.347, -0.203]
    """
    other = (1 - mu_intra) * math.log((1 - mu_intra) / (1 - mu_global)) if mu_intra < 1 else 0.0
    return mu_intra * math.log(mu_intra / mu_global), other


def divergence_first_term(findings: Findings) -> Outcome:
    """Judge by the terms of the divergence for sparse similarities and coherent clusters."""

    def factor(row: Reading) -> float:
        first, second = divergence_terms(row["mu_intra"], row["mu_global"])
        return first / abs(second) if second else math.inf

    def measured(rows: Sequence[Reading], parts: Sequence[bool]) -> str:
        factors = [factor(row) for row in rows]
        return (
            f"{share(sum(parts), len(parts))} clusterings; the first term is {span(factors)} times the second, "
            f"median {number(float(np.median(factors)))}"
        )

    return _judge(findings, lambda row: factor(row) >= 2, measured, most_of, _is_sparse)


def mutual_information(findings: Findings) -> Outcome:
    """Judge by two readings of "similar": with a probability equal to the similarity, and yes or no."""
    rows = [row for _, row in _readings(findings) if row["ratio"] > 0]
    known = [row for row in rows if row["pmi_expected"] is not None and row["pmi_nearest"] is not None]
    if not known:
        return unknown()
    off = [abs(math.log(row["ratio"]) - row["pmi_expected"]) for row in known]
    order = spearman([row["ratio"] for row in known], [row["pmi_nearest"] for row in known])
    near = sum(value <= 0.1 for value in off)
    measured = (
        f"log ρ within 0.1 of the PMI in {share(near, len(off))} clusterings if similarities are probabilities, "
        f"off by at most {number(max(off))}; Spearman with the PMI if the most similar 5% count: {number(order)}"
    )
    parts = [near == len(off), order is not None and order >= 0.9]
    return Outcome(all_of(parts), measured, findings.basis_of_cells([cell for cell, _ in _readings(findings)]))


def cohesion_shape(findings: Findings) -> Outcome:
    """Judge by the classes themselves, which are well-formed groups of any shape."""
    readings = [(cell, row) for cell, row in _readings(findings) if row["of"] == "classes"]
    silhouettes = [row["silhouette"] for _, row in readings if row["silhouette"] is not None]
    if not silhouettes:
        return unknown()
    ratios = [row["ratio"] for _, row in readings]
    penalized = sum(value < 0 for value in silhouettes)
    measured = (
        f"silhouette of the classes below 0 in {share(penalized, len(silhouettes))} cells ({span(silhouettes)}); "
        f"their ρ above 1 in {share(sum(ratio > 1 for ratio in ratios), len(ratios))} ({span(ratios)})"
    )
    parts = [penalized > 0, all(ratio > 1 for ratio in ratios)]
    return Outcome(all_of(parts), measured, findings.basis_of_cells([cell for cell, _ in readings]))


def cohesion_across_datasets(findings: Findings) -> Outcome:
    """Judge by whether the ratio orders datasets as NMI does, for each algorithm and model."""
    cells = [c for c in findings.cells_of_six if None not in (score(c, "cohesion_ratio"), score(c, "nmi"))]
    correlations = []
    for task in PAPERS_SIX:
        for model in findings.results.manifest.models:
            by_dataset: dict[str, list[Cell]] = {}
            for cell in cells:
                if (cell.task, cell.model) == (task, model):
                    by_dataset.setdefault(cell.variant.dataset, []).append(cell)
            if len(by_dataset) >= MIN_BLOCKS:
                columns = [
                    [fmean(cell.values[metric] for cell in members) for members in by_dataset.values()]
                    for metric in ("cohesion_ratio", "nmi")
                ]
                correlations.append(spearman(*columns))
    known = [value for value in correlations if value is not None]
    if not known:
        return unknown()
    parts = [value >= 0.5 for value in known]
    measured = f"at least 0.5 in {share(sum(parts), len(parts))} cases; {span(known)}"
    return Outcome(most_of(parts), measured, findings.basis_of_cells(cells))


FORMS = {"by the formulas": ("ratio_formula", "silhouette_formula"), "as implemented": ("ratio", "silhouette")}
"""The times of the Cohesion Ratio and of the silhouette in two forms."""


def cohesion_faster(findings: Findings) -> Outcome:
    """Judge by CPU times at every n, in both forms."""
    cells = findings.ok("times")
    rows = [row for cell in cells for row in cell.values["metrics"]]
    if not rows:
        return unknown()
    parts = [row[slow] > row[fast] for row in rows for fast, slow in FORMS.values()]
    factors = {form: [_factor(row, *columns) for row in rows] for form, columns in FORMS.items()}
    factors["unrectified, in O(n·d),"] = [_factor(row, "ratio_linear", "silhouette") for row in rows]
    described = [f"{form} {span(values, 1)} times as fast" for form, values in factors.items()]
    where = span([row["n"] for row in rows], 0)
    return Outcome(all_of(parts), f"n = {where}: {'; '.join(described)}", findings.basis_of_cells(cells))


def cohesion_scales(findings: Findings) -> Outcome:
    """Judge by how the advantage grows with the number of rows and of clusters, in both forms."""
    cells = [cell for cell in findings.ok("times") if len(cell.values["metrics"]) >= 4]
    parts, measured = [], []
    for cell in cells:
        (small, _), *_, (large, many) = zip(cell.values["metrics"][::2], cell.values["metrics"][1::2], strict=True)
        for form, columns in FORMS.items():
            factors = [_factor(row, *columns) for row in (small, large, many)]
            parts += [factors[1] > factors[0], factors[2] > factors[1]]
            measured.append(
                f"{cell.model} {form}: {number(factors[0], 1)} times as fast at n = {small['n']:,} with {small['k']} "
                f"clusters, {number(factors[1], 1)} at {large['n']:,}, {number(factors[2], 1)} with {many['k']:,} "
                "clusters"
            )
    return Outcome(all_of(parts), "; ".join(measured), findings.basis_of_cells(cells)) if parts else unknown()


def clusters_time(findings: Findings) -> Outcome:
    """Judge by the time of the formula with few and with many clusters, at every n."""
    cells = findings.ok("times")
    rows = [row for cell in cells for row in cell.values["metrics"]]
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    if not pairs:
        return unknown()
    parts = [many["ratio_formula"] < few["ratio_formula"] for few, many in pairs]
    factors = [few["ratio_formula"] / max(many["ratio_formula"], 1e-6) for few, many in pairs]
    measured = f"{share(sum(parts), len(parts))} cases; {span(factors, 1)} times as fast with many clusters"
    return Outcome(all_of(parts), measured, findings.basis_of_cells(cells))


def _factor(row: dict[str, float], fast: str, slow: str) -> float:
    return row[slow] / max(row[fast], 1e-6)


def _judge(
    findings: Findings,
    holds: Callable[[Reading], bool],
    measured: Callable[[Sequence[Reading], Sequence[bool]], str],
    rule: Callable[[Sequence[bool]], Verdict],
    counts: Callable[[Reading], bool] = lambda row: True,
) -> Outcome:
    """Judge a claim about each clustering that counts."""
    readings = [(cell, row) for cell, row in _readings(findings) if counts(row)]
    if not readings:
        return unknown()
    rows = [row for _, row in readings]
    parts = [holds(row) for row in rows]
    return Outcome(rule(parts), measured(rows, parts), findings.basis_of_cells([cell for cell, _ in readings]))


def _above_one(row: Reading) -> bool:
    return bool(row["ratio"] > 1)


def _is_sparse(row: Reading) -> bool:
    return bool(row["mu_global"] <= 0.1 and row["ratio"] >= 2)


def _readings(findings: Findings) -> list[tuple[Cell, Reading]]:
    return [(cell, row) for cell in findings.ok("readings") for row in cell.values["clusterings"]]
