"""How reliable the probabilities of ``predict_proba`` are; ``make bench-groups`` runs it and rewrites ``soft.md``.

Clusters are found on two thirds of the rows of a set. For the other third, the probability of the predicted cluster is
compared with how often a clustering of all rows puts the row there. Clusters are matched by the rows they share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from harness import ROOT
from k_recovery import FAMILIES, load, set_names
from scipy.optimize import linear_sum_assignment, minimize_scalar
from scipy.special import log_softmax, softmax

import textspectra as ts
from textspectra.core.kmeans import TEMPERATURE

SMALLEST, BINS, LOG_FLOOR = 400, 10, -12.0
ALGORITHMS: dict[str, Any] = {
    "AutoKMeans": lambda k: ts.AutoKMeans(k),
    "AutoKMeans, refine=False": lambda k: ts.AutoKMeans(k, refine=False),
    "AutoAgglomerative": lambda k: ts.AutoAgglomerative(k),
}

START = f"""# Probabilities of groups

Written by `benchmarks/soft.py`, with MiniLM, at the estimated k and at half and twice that number.
Groups are found on two thirds of the rows.
For the other third, the probability of the predicted group is compared with how often a clustering of all rows puts the
row there.
The calibration error is the mean difference between the two over {BINS} bins of equally many rows.

The probabilities are the softmax of the scores, divided by a temperature.
The temperature is a constant times the spread of a center's scores over the groups, times the variance within groups.
"Left out" chooses the constant on all other families of sets; the library has {TEMPERATURE}, rounded from all sets.
Fourteen forms of the temperature were tried on 20 of these sets and on artificial clouds. This one needs nothing but
the centers, and it also fits clear groups.
"Best" is the temperature that fits the held-out rows of a set best, which nobody can know.

"""


class Cell(NamedTuple):
    """Scores of held-out rows, their clusters in a clustering of all rows, and the scale of the scores."""

    name: str
    scores: Any
    truth: Any
    scale: float

    @property
    def family(self) -> str:
        return FAMILIES.get(self.name, self.name)

    def loss(self, temperature: float) -> float:
        logs = log_softmax(self.scores / temperature, axis=1)[np.arange(len(self.truth)), self.truth]
        return -float(np.maximum(logs, LOG_FLOOR).mean())

    def best(self) -> float:
        """Return the constant with the least loss on these rows."""
        fit = minimize_scalar(lambda log: self.loss(np.exp(log) * self.scale), bounds=(-5, 3), method="bounded")
        return float(np.exp(fit.x))

    def errors(self, constant: float) -> tuple[float, float, float]:
        """Return the calibration error, the mean probability of the predicted cluster, and how often it is right."""
        probabilities = softmax(self.scores / (constant * self.scale), axis=1)
        highest, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == self.truth
        bins = np.array_split(np.argsort(highest), BINS)
        error = sum(len(rows) * abs(highest[rows].mean() - right[rows].mean()) for rows in bins) / len(highest)
        return error, float(highest.mean()), float(right.mean())


def measure(name: str, algorithm: str) -> list[Cell]:
    X = np.unique(load("minilm", name)[0], axis=0)
    X = X[np.random.default_rng(0).permutation(len(X))]
    cut, k = len(X) * 2 // 3, ts.estimate_k(X).k
    cells = []
    for n_clusters in {max(2, k // 2), k, 2 * k} if len(X) >= SMALLEST and k > 1 else ():
        seen, whole = (ALGORITHMS[algorithm](n_clusters).fit(rows) for rows in (X[:cut], X))
        shared = np.zeros((max(seen.n_clusters_, whole.n_clusters_),) * 2)
        np.add.at(shared, (whole.labels_[:cut], seen.labels_), 1)
        match = linear_sum_assignment(-shared)[1]
        truth = np.minimum(match[whole.labels_[cut:]], seen.n_clusters_ - 1)
        scale = seen.rule_.score_scale(seen.cluster_centers_)
        cells.append(Cell(name, seen.decision_function(X[cut:]), truth, scale))
    return cells


def main() -> None:
    """Measure every set, and write a table of means for each algorithm and one of sets for the default."""
    summary = [
        "| algorithm | predicted group is right | mean probability | calibration error, left out | library | best |"
    ]
    summary.append("|---|---:|---:|---:|---:|---:|")
    sets = [
        "| set | predicted group is right | mean probability | calibration error, left out |",
        "|---|---:|---:|---:|",
    ]
    for algorithm in ALGORITHMS:
        cells = [cell for name in set_names() for cell in measure(name, algorithm)]
        best = np.array([cell.best() for cell in cells])
        left_out = [
            float(np.exp(np.log(best[[other.family != cell.family for other in cells]]).mean())) for cell in cells
        ]
        errors = np.array([cell.errors(constant) for cell, constant in zip(cells, left_out, strict=True)])
        library = np.mean([cell.errors(TEMPERATURE)[0] for cell in cells])
        least = np.mean([cell.errors(constant)[0] for cell, constant in zip(cells, best, strict=True)])
        error, probability, right = errors.mean(axis=0)
        values = f"{right:.0%} | {probability:.2f} | {error:.3f} | {library:.3f} | {least:.3f}"
        summary.append(f"| {algorithm} | {values} |")
        print(summary[-1], "constant", np.exp(np.log(best).mean()), flush=True)
        if algorithm == "AutoKMeans":
            for name in sorted({cell.name for cell in cells}):
                of_set = errors[[cell.name == name for cell in cells]].mean(axis=0)
                sets.append(f"| {name} | {of_set[2]:.0%} | {of_set[1]:.2f} | {of_set[0]:.3f} |")
    text = START + "\n".join(summary) + "\n\n## AutoKMeans, each set\n\n" + "\n".join(sets) + "\n"
    (ROOT / "benchmarks" / "soft.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
