"""When the answer is 1: clouds without groups, single classes, and false alarms on sets that have groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from k_recovery import MODELS, Case, cases, load

from textspectra.arrays.rows import CountedRows
from textspectra.granularity.reproducible import _first_view, _nearness

CLOUDS: dict[str, Callable[[Any, int, int], Any]] = {
    "round Gaussian cloud": lambda rng, n, d: rng.standard_normal((n, d)),
    "Gaussian cloud off centre": lambda rng, n, d: 0.5 + 0.1 * rng.standard_normal((n, d)),
    "Gaussian cloud with a falling spectrum": lambda rng, n, d: (
        rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.7
    ),
    "cloud with heavy tails (t, 3 degrees of freedom)": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "uniform cube": lambda rng, n, d: rng.random((n, d)),
}


def nearness(X: Any) -> float:
    rows, rng = CountedRows(np.asarray(X, np.float32)), np.random.default_rng(0)
    view = _first_view(rows.draw(min(len(rows), 6000), rng))
    return _nearness(rows, view, rng) if view else 0.0


def structure_table(cells: dict[tuple[Case, str], dict[str, Any]], threshold: float) -> str:
    groups: list[tuple[str, str, list[float]]] = []
    for name, make in CLOUDS.items():
        rng = np.random.default_rng(1)
        values = [nearness(make(rng, n, d)) for n in (200, 1000, 5000) for d in (16, 64, 256) for _ in range(3)]
        groups.append((name, "1", values))
    groups += [(f"single classes of 200 rows or more, {model}", "1?", _single_classes(model)) for model in MODELS]
    for kind, what in (("natural", "natural sets"), ("classes", "subsets of classes"), ("rows", "300 or 1,000 rows")):
        for model in MODELS:
            values = [
                cell["nearness"]
                for (case, method), cell in cells.items()
                if method == "reproducible" and (case.model, case.kind) == (model, kind) and "nearness" in cell
            ]
            groups.append((f"{what}, {model}", "more", values))
    lines = ["| data | should be | cases | answered 1 | nearness, lowest to highest |", "|---|---|---|---|---|"]
    for name, expected, values in groups:
        ones = sum(value <= threshold for value in values)
        lines.append(f"| {name} | {expected} | {len(values)} | {ones} | {min(values):.2f} to {max(values):.2f} |")
    return "\n".join(lines)


def _single_classes(model: str) -> list[float]:
    values = []
    for name in sorted({case.name for case in cases() if case.model == model and case.kind == "natural"}):
        X, y = load(model, name)
        classes, sizes = np.unique(y, return_counts=True)
        chosen = np.random.default_rng(3).permutation(classes[sizes >= 200])[:2]
        values += [nearness(X[y == one]) for one in chosen]
    return values
